#!/usr/bin/env python3
"""Times casts from Python beside astype (numpy with ml_dtypes), torch and ONNX Runtime.

    python_speed.py [--csv bench/results/python_speed.csv]

Twenty pairs that people use, on one thread: a call on 16 elements and one on a million, the least
of many, in CPU time. A library that has no such cast is left empty; what is missing here altogether, too.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", default="/dev/stdout")
    arguments = parser.parse_args()
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
