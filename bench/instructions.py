#!/usr/bin/env python3
"""Counts the instructions that every pair takes for an element, on every target this machine has.

    instructions.py path/to/libtensorcast.so [--csv ROWS] [--from T]... [--to T]...

One run of a bound plan is stepped through by the processor itself (ptrace), which runs AVX-512 too,
as the emulator of scripts/neon count does not; what the call takes without elements is subtracted.
Linux on x86-64. Where a pair is memcpy by a string instruction every byte counts. Values between -4 and 4, or 0 and 4 where a type has no sign. A minute or two.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import array
import csv
import ctypes
import pathlib
import random
import subprocess
import sys
import tempfile

from peers import commit

FLOAT64 = 11  # the number of the type in ONNX, as of all these
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
         "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16, "float8e4m3fn": 17,
         "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22,
         "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26, "float6e2m3": 27, "float6e3m2": 28}
TARGETS = {"avx3_dl": 6, "avx3": 4, "avx2": 3}
ELEMENTS = 2048
u64 = ctypes.c_uint64


def storage(library, kind):
    size = u64()
    assert library.tensorcast_storage_bytes(kind, u64(ELEMENTS), ctypes.byref(size)) == 0
    return ctypes.create_string_buffer(size.value), size


def values(library, kind, signed):
    """The numbers in a type's own codes."""
    rng = random.Random(1)
    numbers = array.array("d", (rng.uniform(-4 if signed else 0, 4) for _ in range(ELEMENTS))).tobytes()
    codes, size = storage(library, kind)
    assert library.tensorcast_cast(FLOAT64, numbers, u64(len(numbers)), kind, codes, size, u64(ELEMENTS),
                                   None, None) == 0
    return codes, size


def has_sign(name):
    return not name.startswith("uint") and name not in ("bool", "float8e8m0")


def count(library, counter, source, pair, target):
    """Instructions for an element, or None where the target is not there."""
    plan = ctypes.c_void_p()
    if library.tensorcast_plan_create(TYPES[pair[0]], TYPES[pair[1]], None, target, ctypes.byref(plan)) != 0:
        return None
    after, size = storage(library, TYPES[pair[1]])
    run = ctypes.cast(library.tensorcast_plan_run, ctypes.c_void_p)
    steps = [counter.count_plan(run, plan, *source, after, size, u64(n)) for n in (0, ELEMENTS)]
    library.tensorcast_plan_destroy(plan)
    assert min(steps) >= 0, pair
    return (steps[1] - steps[0]) / ELEMENTS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="libtensorcast.so")
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--from", action="append", choices=TYPES, dest="sources")
    parser.add_argument("--to", action="append", choices=TYPES, dest="destinations")
    parser.add_argument("--commit", help="of the library, where it is not this checkout's")
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "count_plan.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path,
                        pathlib.Path(__file__).with_name("count_plan.c")], check=True)
        counter = ctypes.CDLL(str(path))
    counter.count_plan.restype = ctypes.c_int64
    rows = []
    for source in arguments.sources or TYPES:
        codes = {signed: values(library, TYPES[source], signed) for signed in (False, True)}
        for to in arguments.destinations or TYPES:
            counts = [count(library, counter, codes[has_sign(source) and has_sign(to)], (source, to), target)
                      for target in TARGETS.values()]
            rows.append((source, to, *("" if c is None else f"{c:.3f}" for c in counts)))
    for file in filter(None, (sys.stdout, arguments.csv and arguments.csv.open("w", encoding="utf-8"))):
        file.write(f"# commit: {arguments.commit or commit()}\n# instructions for an element, {ELEMENTS} elements\n")
        csv.writer(file, lineterminator="\n").writerows([("from", "to", *TARGETS), *rows])


if __name__ == "__main__":
    main()
