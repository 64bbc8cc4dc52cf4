#!/usr/bin/env python3
"""Times casts from Python beside what numpy with ml_dtypes, torch, ONNX Runtime and JAX do.

    python_speed.py [--csv ROWS] [--pair FROM TO]... [--kind KIND]... [--size N]... [--rounds N]
    python_speed.py --beside build/release/src/libtensorcast.so

Every pair of types that a library has, at 16, 1,000, 32,768, 1 M and 16 M elements, on one thread:
`astype` and `.to` into new memory, `copyto` and `copy_` into memory that is there, ONNX Runtime
beside numpy into new memory, JAX's `astype` into new memory. Ours takes turns with theirs in one
process, each first as often as the other; a round is the least of some calls of each, and the ratio
theirs/ours the median of the rounds. Lowest first. A library that is not installed is left out.

With --beside: the same cast of a million elements called in the library itself, into memory that is
there beside `out=`, and into memory that is asked for at each call and given back, as an array's is,
beside a plain call. The four take turns, 400 times; medians, and the ratios of these.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import ctypes
import functools
import os
import sys
import time
import timeit
import warnings

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import peers  # noqa: E402
import tensorcast as tc  # noqa: E402

SIZES = (16, 1_000, 32_768, 1_000_000, 16_000_000)
PAIRS_BESIDE = [
    ("float32", "bfloat16"), ("bfloat16", "float32"), ("float32", "float16"), ("float16", "float32"),
    ("float32", "float8_e4m3fn"), ("float8_e4m3fn", "float32"), ("bfloat16", "float8_e4m3fn"),
    ("float8_e4m3fn", "bfloat16"), ("float32", "float8_e5m2"), ("float16", "bfloat16"),
    ("bfloat16", "float16"), ("float64", "float32"), ("float32", "float64"), ("float32", "int8"),
    ("int8", "float32"), ("uint8", "float32"), ("int64", "int32"), ("int64", "float32")]
TYPES = [tc.finfo(name).dtype for name in tc.type_names() if name != "string"]


@functools.lru_cache(maxsize=len(SIZES))
def values(dtype, size):
    """Numbers that every type holds, or rounds."""
    numbers = np.random.default_rng(0).standard_normal(size) * 3
    if dtype == np.bool_ or dtype.kind == "u" or dtype.name.startswith("uint") or "e8m0" in dtype.name:
        numbers = np.abs(numbers)
    return tc.cast(numbers, dtype)


# ------------------------------------------------------------------------------ what is compared
# Each kind gives, for an array and a dtype, our call and theirs; None where theirs has no such cast.


def numpy_new(x, to):
    return lambda: tc.cast(x, to, threads=1), lambda: x.astype(to)


def numpy_out(x, to):
    out = np.zeros(x.shape, to)
    return lambda: tc.cast(x, out=out, threads=1), lambda: np.copyto(out, x, casting="unsafe")


def tensor_of(x):
    import torch

    torch.set_num_threads(1)
    kind = getattr(torch, x.dtype.name, None)
    if kind is None or kind.itemsize != x.dtype.itemsize or "int4" in x.dtype.name or "int2" in x.dtype.name:
        return None
    # Memory of torch's own, which lies as a tensor's does.
    return torch.from_numpy(x.view(f"u{x.dtype.itemsize}")).clone().view(kind)


def torch_new(x, to):
    tensor, like = tensor_of(x), tensor_of(np.zeros(1, to))
    if tensor is None or like is None or tensor.dtype == like.dtype:  # .to gives x itself
        return None
    kind = like.dtype
    return lambda: tc.cast(tensor, kind, threads=1), lambda: tensor.to(kind)


def torch_out(x, to):
    tensor, out = tensor_of(x), tensor_of(np.zeros(x.shape, to))
    if tensor is None or out is None:
        return None
    return lambda: tc.cast(tensor, out=out, threads=1), lambda: out.copy_(tensor)


def onnxruntime_new(x, to):
    import onnxruntime
    from onnx import helper

    kinds = tc.finfo(x.dtype).onnx_number, tc.finfo(to).onnx_number
    if min(tc.finfo(x.dtype).bits, tc.finfo(to).bits) < 8:
        return None  # its own arrays are packed
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=kinds[1])], "cast",
                              [helper.make_tensor_value_info("x", kinds[0], x.shape)],
                              [helper.make_tensor_value_info("y", kinds[1], x.shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(x, kinds[0]))
    binding.bind_output("y")
    return lambda: tc.cast(x, to, threads=1), lambda: session.run_with_iobinding(binding)


def jax_new(x, to):
    import jax

    if 8 in (x.dtype.itemsize, to.itemsize):
        return None  # which it has only where it is told so
    array = jax.numpy.asarray(x)
    return (lambda: tc.cast(array, to, threads=1).block_until_ready(),
            lambda: array.astype(to).block_until_ready())


KINDS = {"numpy": numpy_new, "numpy out": numpy_out, "torch": torch_new, "torch out": torch_out,
         "onnxruntime": onnxruntime_new, "jax": jax_new}


# ------------------------------------------------------------------------------------- measuring


def timed(calls, rounds, seconds):
    """The median ratio theirs/ours, and the least of both."""
    number = []
    for call in calls:
        call()
        once = min(timeit.repeat(call, number=1, repeat=3))
        number.append(max(1, min(2000, int(seconds / max(once, 1e-7)))))
    ratios, least = [], [float("inf")] * 2
    for i in range(rounds):
        took = [0.0, 0.0]
        for j in ((0, 1), (1, 0))[i % 2]:
            took[j] = min(timeit.repeat(calls[j], number=max(1, number[j] // 3), repeat=3)) / max(1, number[j] // 3)
            least[j] = min(least[j], took[j])
        ratios.append(took[1] / took[0])
    return float(np.median(ratios)), least


def origin():
    """Where and of what the rows are."""
    return f"# cpu: {peers.processor()}\n# commit: {peers.commit()}\n"


def beside_peers(arguments):
    pairs = [tuple(tc.finfo(name).dtype for name in pair) for pair in arguments.pair or ()]
    pairs = pairs or [(x, to) for x in TYPES for to in TYPES if x != to]
    rows, missing = [], set()
    for source, to in pairs:
        for size in arguments.size or SIZES:
            x = values(source, size)
            for kind in arguments.kind or KINDS:
                try:
                    calls = KINDS[kind](x, to)
                    if calls is None:
                        continue
                    ratio, least = timed(calls, arguments.rounds, arguments.seconds)
                except ImportError as error:
                    missing.add(str(error))
                    continue
                except Exception:  # a library that has no such cast
                    continue
                rows.append({"from": tc.type_name(source), "to": tc.type_name(to), "elements": size,
                             "kind": kind, "theirs_us": f"{least[1] * 1e6:.4g}", "ours_us": f"{least[0] * 1e6:.4g}",
                             "ratio": f"{ratio:.3f}"})
    for line in sorted(missing):
        print(f"left out: {line}", file=sys.stderr)
    if not rows:
        sys.exit("there is nothing to compare with: install torch, onnxruntime, onnx or jax")
    rows.sort(key=lambda row: float(row["ratio"]))
    for row in rows:
        print(f"{row['ratio']:>8} {row['kind']:12} {row['from'] + ' -> ' + row['to']:32} {row['elements']:>10} "
              f"{row['theirs_us']:>10} {row['ours_us']:>10}")
    for kind in KINDS:
        ratios = [float(row["ratio"]) for row in rows if row["kind"] == kind]
        if ratios:
            print(f"{kind}: {len(ratios)} rows, median {np.median(ratios):.2f}, least {min(ratios):.2f}, "
                  f"{sum(ratio < 0.95 for ratio in ratios)} below 0.95")
    if arguments.csv:
        keep(arguments.csv, rows)


def keep(path, rows):
    """A row for each pair and kind, with the ratios by size, lowest first; rows that are kept there of other
    sizes and pairs stay."""
    kept = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                kept[row["from"], row["to"], row["kind"]] = {int(size): row[size] for size in row if size.isdigit()}
    for row in rows:
        kept.setdefault((row["from"], row["to"], row["kind"]), {})[row["elements"]] = row["ratio"]
    sizes = sorted({size for ratios in kept.values() for size in ratios})
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(origin())
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["from", "to", "kind", *sizes])
        for names, ratios in sorted(kept.items(), key=lambda item: min(float(r) for r in item[1].values() if r)):
            writer.writerow([*names, *(ratios.get(size, "") for size in sizes)])


# ------------------------------------------------------------------------- beside the library itself


def of_library(path, x, out):
    """The library's call, by its C interface: into the memory of `out`, and into new memory. The
    caller keeps both arrays."""
    library = ctypes.CDLL(path)
    allocate, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
    allocate.restype, allocate.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    plan = ctypes.c_void_p()
    numbers = tc.finfo(x.dtype).onnx_number, tc.finfo(out.dtype).onnx_number
    bits = tc.finfo(out.dtype).bits
    if library.tensorcast_plan_create(*numbers, None, 0, ctypes.byref(plan)):
        sys.exit("the library has no such plan")
    run = library.tensorcast_plan_run
    size, source = ctypes.c_uint64(x.size), ctypes.c_void_p(x.ctypes.data)
    read, bytes_ = ctypes.c_uint64(x.nbytes), x.size * bits // 8
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
    for source, to in PAIRS_BESIDE:
        x = values(tc.finfo(source).dtype, 1_000_000)
        kind = tc.finfo(to).dtype
        out = np.zeros(x.size, kind)
        calls = of_library(path, x, out)
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
    parser.add_argument("--csv", help="the ratios are kept in this file, beside those of other pairs and sizes")
    parser.add_argument("--pair", nargs=2, action="append", metavar=("FROM", "TO"), help="this pair alone")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="this comparison alone")
    parser.add_argument("--size", action="append", type=int, help="this many elements alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.003, help="of each side in a round")
    parser.add_argument("--beside", metavar="LIBRARY")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # numpy's, of values beyond a type
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    for name in (name for pair in arguments.pair or () for name in pair):
        try:
            tc.finfo(name)
        except Exception as error:  # its sentence names the nearest types
            parser.error(str(error))
    if arguments.csv and os.path.exists(arguments.csv):
        with open(arguments.csv, encoding="utf-8") as file:
            if not file.read().startswith(origin()):
                parser.error(f"{arguments.csv}: its rows are of another machine or commit; name another file")
    if arguments.beside:
        beside_the_library(arguments.beside)
    else:
        beside_peers(arguments)


if __name__ == "__main__":
    main()
