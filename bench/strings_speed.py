#!/usr/bin/env python3
"""Times texts to numbers and back beside ONNX Runtime, in one process, on one thread.

    strings_speed.py path/to/libtensorcast.so [--csv bench/results/strings.csv]

Run it with a Python that has tests/peers/requirements.txt. Both print and parse the same 100,000
normally distributed numbers, round by round in turn. ONNX Runtime runs a model whose strings stay inside: a Cast to
STRING whose only reader is Size, or a Cast of a constant of strings, nothing folded; its strings are std::string, made
anew in each run, ours are written into memory that has been written before, which is why the figure holds what
malloc takes, too. A figure is the median over all rounds of the thread's CPU time.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ctypes
import statistics
import sys
import time

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError as missing:
    sys.exit(f"strings_speed.py: {missing}: install tests/peers/requirements.txt")

COUNT = 100_000
ROUNDS = 15
STRING = TensorProto.STRING
TYPES = ("float32", "float64", "float16", "int32", "int64", "uint8")


def session(nodes, inputs, output, initializers=()):
    graph = helper.make_graph(nodes, "strings", inputs, [output], list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def printing_session(onnx_type):
    return session([helper.make_node("Cast", ["x"], ["s"], to=STRING), helper.make_node("Size", ["s"], ["n"])],
                   [helper.make_tensor_value_info("x", onnx_type, [COUNT])],
                   helper.make_tensor_value_info("n", TensorProto.INT64, []))


def parsing_session(onnx_type, texts):
    constant = helper.make_tensor("s", STRING, [COUNT], texts)
    return session([helper.make_node("Cast", ["s"], ["y"], to=onnx_type), helper.make_node("Size", ["y"], ["n"])], [],
                   helper.make_tensor_value_info("n", TensorProto.INT64, []), [constant])


def medians(works):
    samples = [[] for _ in works]
    for _ in range(ROUNDS):
        for sample, work in zip(samples, works):
            began = time.thread_time_ns()
            work()
            sample.append((time.thread_time_ns() - began) / COUNT)
    return [statistics.median(sample) for sample in samples]


def checked(code):
    if code != 0:
        raise SystemExit(f"a cast failed: {code}")


def measure(library, name):
    rng = np.random.default_rng(20261121)
    dtype = np.dtype(name)
    spread = 0.05 if dtype.kind == "f" else 3000 if dtype.itemsize > 1 else 40
    x = rng.normal(0, spread, COUNT)
    x = np.ascontiguousarray((np.abs(x) if dtype.kind == "u" else x).astype(dtype))
    onnx_type = helper.np_dtype_to_tensor_dtype(dtype)
    offsets = np.zeros(COUNT + 1, np.uint64)
    texts = np.zeros(COUNT * 32, np.uint8)
    back = np.zeros_like(x)
    u64 = ctypes.c_uint64

    def pointer(array):
        return ctypes.c_void_p(array.ctypes.data)

    def print_ours():
        checked(library.tensorcast_print_strings(onnx_type, pointer(x), u64(x.nbytes), u64(COUNT), pointer(offsets),
                                                 u64(COUNT + 1), pointer(texts), u64(texts.size), None, None))

    def parse_ours():
        checked(library.tensorcast_parse_strings(pointer(offsets), u64(COUNT + 1), pointer(texts), u64(texts.size),
                                                 onnx_type, pointer(back), u64(back.nbytes), None, None, None))

    print_ours()
    parse_ours()
    if not np.array_equal(back.view(np.uint8), x.view(np.uint8)):
        raise SystemExit(f"{name} does not come back")
    strings = [bytes(texts[offsets[i]:offsets[i + 1]]) for i in range(COUNT)]
    prints, parses = printing_session(onnx_type), parsing_session(onnx_type, strings)
    ours, theirs = medians([print_ours, lambda: prints.run(None, {"x": x})])
    row = [name, f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.1f}"]
    ours, theirs = medians([parse_ours, lambda: parses.run(None, {})])
    return row + [f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.1f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--csv")
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    lines = ["type,print_ns,onnxruntime_print_ns,onnxruntime_over_print,"
             "parse_ns,onnxruntime_parse_ns,onnxruntime_over_parse"]
    lines += [",".join(measure(library, name)) for name in TYPES]
    text = f"# ONNX Runtime {onnxruntime.__version__}, {COUNT} elements, one thread\n" + "\n".join(lines) + "\n"
    print(text, end="")
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
