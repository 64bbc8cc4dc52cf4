#!/usr/bin/env python3
"""Times eight casts beside numpy with ml_dtypes, ONNX Runtime and PyTorch, in one process.

    peers_speed.py path/to/libtensorcast.so [--csv bench/results/peers.csv]

Run it with a Python that has tests/peers/requirements.txt and, if PyTorch is to be asked, torch;
without torch its rows are left out. Every library casts the same values, 65,536 of them (in and out
lie in the second-level cache) and 1,048,576, into memory that has been written before, on one thread, round by round in turn; a figure is the
median over all rounds of the calling thread's CPU time, which other programs on the machine
disturb less than the clock on the wall.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ctypes
import pathlib
import platform
import statistics
import sys
import time

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper

try:
    import torch
except ImportError:
    torch = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "peers"))
from element_types import TYPES  # noqa: E402  (tests/peers/element_types.py)

PAIRS = (("float32", "bfloat16"), ("float32", "float16"), ("float32", "float8e4m3fn"),
         ("bfloat16", "float32"), ("float16", "float32"), ("float32", "int8"),
         ("float8e4m3fn", "bfloat16"), ("int4", "float16"))
COUNTS = (1 << 16, 1 << 20)
ROUNDS = 31
_TORCH_NAMES = {"float8e4m3fn": "float8_e4m3fn"}


def source_codes(name, count):
    """Values that are everyday for weights; for integers all codes."""
    rng = np.random.default_rng(1)
    if TYPES[name].is_integer:
        return rng.integers(0, 1 << TYPES[name].bits, count).astype(np.uint8)
    # Up to ±120, so that the cast to int8 fits too.
    values = (rng.standard_normal(count) * 25).clip(-120, 120).astype(np.float32)
    return TYPES[name].codes(values.astype(TYPES[name].dtype))


def tensorcast_cast(library, source, target, codes):
    """A bound plan, called through the C interface; packed types stay packed."""
    count = len(codes)
    data = TYPES[source].packed(codes)
    before = ctypes.create_string_buffer(data, len(data))
    after = ctypes.create_string_buffer((count * TYPES[target].bits + 7) // 8)
    plan = ctypes.c_void_p()
    status = library.tensorcast_plan_create(TYPES[source].onnx_type, TYPES[target].onnx_type, None,
                                            0, ctypes.byref(plan))
    assert status == 0, status
    u64 = ctypes.c_uint64
    arguments = (plan, before, u64(len(data)), u64(0), after, u64(len(after)), u64(0), u64(count),
                 None)

    def cast():
        assert library.tensorcast_plan_run(*arguments) == 0
    return cast


def numpy_cast(source, target, codes):
    before = TYPES[source].array(codes)
    after = np.zeros(len(codes), TYPES[target].dtype)

    def cast():
        np.copyto(after, before, casting="unsafe")
    return cast


def onnxruntime_cast(source, target, codes):
    """Packed types stay packed; the output goes into a tensor that stands ready."""
    constant = onnx.TensorProto(data_type=TYPES[source].onnx_type, dims=[len(codes)], name="x",
                                raw_data=TYPES[source].packed(codes))
    output = helper.make_tensor_value_info("y", TYPES[target].onnx_type, [len(codes)])
    node = helper.make_node("Cast", ["x"], ["y"], to=TYPES[target].onnx_type)
    model = helper.make_model(helper.make_graph([node], "cast", [], [output], [constant]),
                              opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    after = np.zeros(len(codes) * TYPES[target].bits // 8, np.uint8)
    binding = session.io_binding()
    binding.bind_output("y", "cpu", 0, TYPES[target].onnx_type, [len(codes)],
                        after.ctypes.data)

    def cast():
        session.run_with_iobinding(binding)
    cast.kept = after
    return cast


def torch_cast(source, target, codes):
    def type_of(name):
        return getattr(torch, _TORCH_NAMES.get(name, name), None)

    if TYPES[source].bits < 8:
        return None  # it has no casts of packed integers
    integers = {1: np.uint8, 2: np.int16, 4: np.int32}[TYPES[source].dtype.itemsize]
    before = torch.from_numpy(codes.view(integers).copy()).view(type_of(source))
    after = torch.zeros(len(codes), dtype=type_of(target))

    def cast():
        after.copy_(before)
    return cast


def casts_of(library, source, target, count):
    """{library: a function that casts once}, of those that have the pair."""
    codes = source_codes(source, count)
    casts = {"tensorcast": tensorcast_cast(library, source, target, codes),
             "numpy": numpy_cast(source, target, codes),
             "onnxruntime": onnxruntime_cast(source, target, codes),
             "torch": torch_cast(source, target, codes) if torch else None}
    return {name: cast for name, cast in casts.items() if cast}


def seconds_of_one(cast):
    """The CPU time of one call, in samples of at least 2 ms."""
    repeats = 1
    while True:
        begin = time.thread_time()
        for _ in range(repeats):
            cast()
        spent = time.thread_time() - begin
        if spent >= 0.002:
            return spent / repeats
        repeats *= 2


def measure(library, source, target, count):
    """{library: nanoseconds for an element, the median over the rounds}."""
    casts = casts_of(library, source, target, count)
    samples = {name: [] for name in casts}
    for _ in range(ROUNDS):
        for name, cast in casts.items():
            samples[name].append(seconds_of_one(cast))
    return {name: statistics.median(times) / count * 1e9 for name, times in samples.items()}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="libtensorcast.so")
    parser.add_argument("--csv", help="write the rows to this file too")
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    library.tensorcast_version.restype = ctypes.c_char_p
    versions = {"tensorcast": library.tensorcast_version().decode(),
                "numpy": f"{np.__version__} with ml_dtypes {ml_dtypes.__version__}",
                "onnxruntime": onnxruntime.__version__}
    if torch:
        torch.set_num_threads(1)
        versions["torch"] = torch.__version__
    lines = [f"# cpu: {processor()}",
             *(f"# {name}: {version}" for name, version in versions.items()),
             f"# one thread, CPU time, the median of {ROUNDS} rounds",
             "elements,from,to,library,ns_per_element,over_tensorcast"]
    for count in COUNTS:
        for source, target in PAIRS:
            figures = measure(library, source, target, count)
            for name, figure in figures.items():
                lines.append(f"{count},{source},{target},{name},{figure:.4f},"
                             f"{figure / figures['tensorcast']:.2f}")
    print("\n".join(lines))
    if arguments.csv:
        pathlib.Path(arguments.csv).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
