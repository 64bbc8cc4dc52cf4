#!/usr/bin/env python3
"""The files the tool writes, read by their own libraries: safetensors and numpy with ml_dtypes.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import re
import sys

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

from element_types import TYPES
from expected import expected_codes, first_differences
from inputs import codes_of
from tool import Tool, ToolError, assumed, write_npy

# safetensors' word for each of our types; int4 and int2 have none.
_WORDS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
          "float8e4m3fn": "F8_E4M3", "float8e4m3fnuz": "F8_E4M3FNUZ", "float8e5m2": "F8_E5M2",
          "float8e5m2fnuz": "F8_E5M2FNUZ", "float8e8m0": "F8_E8M0", "float6e2m3": "F6_E2M3",
          "float6e3m2": "F6_E3M2", "float4e2m1": "F4", "bool": "BOOL", "int64": "I64",
          "uint64": "U64", "int32": "I32", "uint32": "U32", "int16": "I16", "uint16": "U16",
          "int8": "I8", "uint8": "U8"}

# Odd counts, a scalar, zero sizes; 0.5 and 1 bytes of tail in every packing.
_SHAPES = {"scalar": (), "one": (1,), "three": (3,), "five.by.seven": (5, 7), "none": (0,),
           "no.rows": (0, 4), "no.columns": (3, 0), "many": (3, 5, 16)}


def _tensors(seed):
    rng = np.random.default_rng(seed)
    return {name: np.asarray(rng.integers(0, 2, shape) * 1.5, np.float32)
            for name, shape in _SHAPES.items()}


def check_safetensors(tool, target):
    """Every shape cast to `target`: dtype, shape and bytes as safetensors reads them."""
    before, after = tool.folder / "in.safetensors", tool.folder / "out.safetensors"
    tensors = _tensors(7)
    safetensors.numpy.save_file(tensors, before)
    tool.run("convert", before, "-o", after, "--to", target, "--force", "--no-report", "-q")
    data = after.read_bytes()
    found = dict(safetensors.deserialize(data))
    header = json.loads(data[8: 8 + int.from_bytes(data[:8], "little")])
    packed = json.loads(header.get("__metadata__", {}).get("tensorcast.types", "{}"))
    element_type = TYPES[target]
    assert set(found) == set(tensors), f"tensors {sorted(found)}"
    for name, tensor in tensors.items():
        codes = expected_codes(tensor, target)
        want = element_type.packed(codes)
        got = found[name]
        whole_bytes = tensor.size * element_type.bits % 8 == 0
        if target in _WORDS and whole_bytes:
            want_shape, word = list(tensor.shape), _WORDS[target]
            assert name not in packed, f"{name} is in tensorcast.types without need"
        else:
            want_shape, word = [len(want)], "U8"
            entry = {"dtype": _onnx_name(target), "shape": list(tensor.shape)}
            assert packed.get(name) == entry, f"{name}: tensorcast.types says {packed.get(name)}"
        assert got["dtype"] == word, f"{name}: dtype {got['dtype']}, expected {word}"
        assert list(got["shape"]) == want_shape, f"{name}: shape {got['shape']} for {want_shape}"
        assert bytes(got["data"]) == want, (
            f"{name}: {first_differences(tensor, bytes(got['data']), codes, target)}")
    # And back: what fits every type comes back whole.
    back = tool.folder / "back.safetensors"
    tool.run("convert", after, "-o", back, "--to", "float32", "--all-types", "--force",
             "--no-report", "-q")
    found = safetensors.numpy.load_file(back)
    for name, tensor in tensors.items():
        want = element_type.values(expected_codes(tensor, target)).astype(np.float32)
        assert found[name].dtype == np.float32 and found[name].shape == tensor.shape, name
        again = found[name].ravel()
        assert np.array_equal(again, want), (
            f"{name} back as float32: "
            f"{first_differences(tensor, again.tobytes(), want.view(np.uint32), 'float32')}")


def _onnx_name(target):
    return {"float32": "FLOAT", "float64": "DOUBLE"}.get(target, target.upper())


def check_npy(tool, target):
    """Arrays cast to `target`: numpy.load and the printed view read them, shape and order kept."""
    element_type = TYPES[target]
    for shape, order in (((), "C"), ((0, 3), "C"), ((7,), "C"), ((3, 5), "C"), ((3, 5), "F")):
        before, after = tool.folder / "in.npy", tool.folder / "out.npy"
        values = np.asarray(np.arange(np.prod(shape, dtype=int)) % 2 * 1.5, np.float32)
        array = values.reshape(shape, order=order)
        np.save(before, array)
        said = "".join(tool.run("convert", before, "-o", after, "--to", target, "--force"))
        loaded = np.load(after, allow_pickle=False)
        assert loaded.shape == shape, f"{shape} {order}: shape {loaded.shape}"
        assert loaded.flags.f_contiguous if order == "F" else loaded.flags.c_contiguous, order
        want = element_type.array(expected_codes(array, target)).reshape(shape)
        if element_type.native:
            assert loaded.dtype == element_type.dtype, f"dtype {loaded.dtype}"
        else:
            hint = re.search(r"\.view\((ml_dtypes\.\w+)\)", said)
            assert hint, f"no .view hint printed in:\n{said}"
            loaded = loaded.view(getattr(ml_dtypes, hint.group(1).removeprefix("ml_dtypes.")))
            assert loaded.dtype == element_type.dtype, f"the hint reads {loaded.dtype}"
        got, want = element_type.codes(loaded.ravel()), element_type.codes(want.ravel())
        assert np.array_equal(got, want), (
            f"{shape} {order}: "
            f"{first_differences(array, element_type.packed(got), want, target)}")


def check_read(tool, source):
    """What numpy saves of `source` is read and, cast to the same type, written as it was."""
    before, after = tool.folder / "in.npy", tool.folder / "out.npy"
    codes = codes_of(source)[:4096]
    write_npy(before, TYPES[source], codes)
    tool.run("convert", before, "-o", after, "--to", source, "--all-types", "--force", "-q",
             *assumed(source))
    raw = np.load(after, allow_pickle=False)
    got = np.ascontiguousarray(raw).view(TYPES[source].code_dtype)
    assert np.array_equal(got, codes), "a copy of the same type has other codes"
    if TYPES[source].native:  # big-endian files become little-endian
        np.save(before, TYPES[source].array(codes).astype(TYPES[source].dtype.newbyteorder(">")))
        tool.run("convert", before, "-o", after, "--to", source, "--all-types", "--force", "-q")
        got = np.load(after).view(TYPES[source].code_dtype)
        assert np.array_equal(got, codes), "big-endian: other codes"


_CHECKS = {"safetensors": check_safetensors, "npy": check_npy, "read": check_read}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    parser.add_argument("check", choices=_CHECKS)
    arguments = parser.parse_args()
    failures = 0
    with Tool(arguments.tool) as tool:
        for name in TYPES:
            try:
                _CHECKS[arguments.check](tool, name)
            except (AssertionError, ToolError, ValueError, KeyError,
                    safetensors.SafetensorError) as error:
                print(f"{arguments.check} {name}: {type(error).__name__}: {error}")
                failures += 1
    print(f"{arguments.check}: {len(TYPES) - failures} of {len(TYPES)} types hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
