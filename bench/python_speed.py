#!/usr/bin/env python3
"""Times casts from Python beside astype (numpy with ml_dtypes), torch and ONNX Runtime.

    python_speed.py [--csv bench/results/python_speed.csv]
    python_speed.py --beside build/release/src/libtensorcast.so

With --beside: the same cast of a million elements called in the library itself, into memory that is
there beside `out=`, and into memory that is asked for at each call and given back, as an array's is,
beside a plain call. The four take turns, 400 times; medians, and the ratios of these.

Twenty pairs that people use, on one thread: a call on 16 elements and one on a million, the least
of many, in CPU time. A library that has no such cast is left empty; what is missing here altogether, too.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import ctypes
import sys
import time
import timeit

import ml_dtypes
import numpy as np
import tensorcast as tc

PAIRS = [
    ("float32", "bfloat16"), ("bfloat16", "float32"), ("float32", "float16"), ("float16", "float32"),
    ("float32", "float8_e4m3fn"), ("float8_e4m3fn", "float32"), ("bfloat16", "float8_e4m3fn"),
    ("float8_e4m3fn", "bfloat16"), ("float32", "float8_e5m2"), ("float16", "bfloat16"),
    ("bfloat16", "float16"), ("float64", "float32"), ("float32", "float64"), ("float32", "int8"),
    ("int8", "float32"), ("uint8", "float32"), ("int64", "int32"), ("int64", "float32"),
    ("int4", "float16"), ("float32", "int4")]
SIZES = (16, 1_000_000)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or getattr(np, name))


def seconds(call):
    """The least CPU time of a call: what other programs do on the machine counts little."""
    call()
    number = max(1, int(0.02 / max(1e-7, timeit.timeit(call, timer=time.process_time, number=1))))
    return min(timeit.repeat(call, timer=time.process_time, number=number, repeat=15)) / number


def of_numpy(x, to):
    def run():
        return x.astype(to)

    return run


def of_torch(x, to):
    import torch

    torch.set_num_threads(1)
    if "int4" in (str(x.dtype), str(to)):
        return None
    bits = {1: np.uint8, 2: np.int16}.get(x.dtype.itemsize)
    tensor = torch.from_numpy(x.view(bits) if x.dtype.name.startswith(("bfloat", "float8")) else x)
    source, kind = getattr(torch, x.dtype.name), getattr(torch, np.dtype(to).name)
    tensor = tensor.view(source)
    return lambda: tensor.to(kind)


def of_onnxruntime(x, to):
    import onnxruntime
    from onnx import helper

    kinds = tc.finfo(x.dtype).onnx_number, tc.finfo(to).onnx_number
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=kinds[1])], "cast",
                              [helper.make_tensor_value_info("x", kinds[0], x.shape)],
                              [helper.make_tensor_value_info("y", kinds[1], x.shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(x, kinds[0]))
    binding.bind_output("y")
    return lambda: session.run_with_iobinding(binding)


def of_library(path, x, out):
    """The library's call, by its C interface: into the memory of `out`, and into new memory. The
    caller keeps both arrays."""
    library = ctypes.CDLL(path)
    allocate, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
    allocate.restype, allocate.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    plan = ctypes.c_void_p()
    numbers = tc.finfo(x.dtype).onnx_number, tc.finfo(out.dtype).onnx_number
    bits = tc.finfo(x.dtype).bits, tc.finfo(out.dtype).bits
    if min(bits) < 8:
        return None  # packed there, one to a byte here
    if library.tensorcast_plan_create(*numbers, None, 0, ctypes.byref(plan)):
        sys.exit("the library has no such plan")
    run = library.tensorcast_plan_run
    size, source = ctypes.c_uint64(x.size), ctypes.c_void_p(x.ctypes.data)
    read, bytes_ = ctypes.c_uint64(x.nbytes), x.size * bits[1] // 8
    written, zero = ctypes.c_uint64(bytes_), ctypes.c_uint64(0)
    place = ctypes.c_void_p(out.ctypes.data)

    def into_memory():
        run(plan, source, read, zero, place, written, zero, size, None)

    def into_new_memory():
        made = allocate(bytes_)
        run(plan, source, read, zero, ctypes.c_void_p(made), written, zero, size, None)
        free(made)

    into_memory()
    if not np.array_equal(out.view(np.uint8), tc.cast(x, out.dtype).view(np.uint8)):
        sys.exit("the library and the package differ")
    return into_memory, into_new_memory


def beside_the_library(path, rounds=400):
    print(f"{'cast':32}{'C, out=':>10}{'out=':>10}{'ratio':>8}{'C, new':>10}{'plain':>10}{'ratio':>8}  µs, medians")
    for source, to in PAIRS:
        x = (np.random.default_rng(0).standard_normal(SIZES[1]) * 3).astype(dtype_of(source))
        kind = dtype_of(to)
        out = np.zeros(x.size, kind)
        calls = of_library(path, x, out)
        if calls is None:
            continue
        calls = (calls[0], lambda: tc.cast(x, out=out, threads=1), calls[1],
                 lambda: tc.cast(x, kind, threads=1))
        took = np.empty((rounds, len(calls)))
        for i in range(rounds):
            for j in np.roll(range(len(calls)), i):  # each goes first as often as the others
                begin = time.perf_counter_ns()
                calls[j]()
                took[i, j] = time.perf_counter_ns() - begin
        there, ours, new, plain = np.median(took, axis=0) / 1000
        print(f"{source + ' -> ' + to:32}{there:10.1f}{ours:10.1f}{ours / there:8.3f}"
              f"{new:10.1f}{plain:10.1f}{plain / new:8.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", default="/dev/stdout")
    parser.add_argument("--beside", metavar="LIBRARY")
    arguments = parser.parse_args()
    if arguments.beside:
        beside_the_library(arguments.beside)
        return
    rows = []
    for source, to in PAIRS:
        for size in SIZES:
            x = (np.random.default_rng(0).standard_normal(size) * 3).astype(dtype_of(source))
            kind = dtype_of(to)
            row = {"from": source, "to": to, "elements": size}
            row["tensorcast_us"] = f"{seconds(lambda: tc.cast(x, kind, threads=1) if size > 16 else tc.cast(x, kind)) * 1e6:.3f}"
            for name, make in (("astype", of_numpy), ("torch", of_torch), ("onnxruntime", of_onnxruntime)):
                try:
                    call = make(x, kind)
                    row[f"{name}_us"] = f"{seconds(call) * 1e6:.3f}" if call else ""
                except Exception as error:  # a library that is missing, or has no such cast
                    print(f"{source} -> {to}, {name}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
                    row[f"{name}_us"] = ""
            rows.append(row)
    with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
