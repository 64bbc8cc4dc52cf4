#!/usr/bin/env python3
"""TensorProto files, between the tool and the onnx package: written ones read, and the reverse.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import sys

import google.protobuf.message
import numpy as np
import onnx

from element_types import TYPES
from expected import expected_codes
from inputs import codes_of
from tool import Tool, ToolError, assumed, read_npy, write_npy

# A scalar, no elements, odd counts: a tail in every packing.
_SHAPES = ((), (0, 3), (1,), (7,), (3, 5), (3, 5, 16))


def _codes_like_onnx(tensor, element_type):
    return element_type.codes(onnx.numpy_helper.to_array(tensor).ravel())


def check_written(tool, target):
    """Arrays cast to `target`: onnx reads them, and would have written the same bytes."""
    before, after = tool.folder / "in.npy", tool.folder / "out.pb"
    element_type = TYPES[target]
    for shape in _SHAPES:
        values = np.asarray(np.arange(np.prod(shape, dtype=int)) % 2 * 1.5, np.float32)
        np.save(before, values.reshape(shape))
        tool.run("convert", before, "-o", after, "--to", target, "--force", "--no-report", "-q")
        tensor = onnx.load_tensor(after)
        assert tensor.data_type == element_type.onnx_type, f"{shape}: type {tensor.data_type}"
        assert tuple(tensor.dims) == shape, f"{shape}: dims {tensor.dims}"
        onnx.checker.check_tensor(tensor)
        want = expected_codes(values, target)
        got = _codes_like_onnx(tensor, element_type)
        assert np.array_equal(got, want), f"{shape}: codes {got[:8]} for {want[:8]}"
        own = onnx.numpy_helper.from_array(element_type.array(want).reshape(shape), "in")
        assert after.read_bytes() == own.SerializeToString(), f"{shape}: other bytes than onnx's"


def _fields_of(element_type, codes):
    """TensorProtos of these codes in every field that may hold them, as onnx and others write."""
    kind, count = element_type.onnx_type, len(codes)
    array = element_type.array(codes)
    yield "raw", onnx.helper.make_tensor("t", kind, [count], element_type.packed(codes), raw=True)
    yield "array", onnx.numpy_helper.from_array(array, "t")
    yield "typed", onnx.helper.make_tensor("t", kind, [count], array, raw=False)
    if onnx.helper.tensor_dtype_to_field(kind) == "int32_data" and element_type.bits in (8, 16):
        # The sign of the carried byte extended, as a writer with signed characters does.
        signed = onnx.TensorProto(name="t", data_type=kind, dims=[count])
        signed.int32_data.extend(codes.view(np.dtype(f"i{codes.itemsize}")).tolist())
        yield "signed", signed


def check_read(tool, source):
    """TensorProtos of every code of `source`, in every field: the tool reads what onnx reads."""
    before, after = tool.folder / "in.pb", tool.folder / "out.npy"
    element_type = TYPES[source]
    codes = np.array(codes_of(source)[:4097])
    for field, tensor in _fields_of(element_type, codes):
        before.write_bytes(tensor.SerializeToString())
        tool.run("convert", before, "-o", after, "--to", source, "--all-types", "--force", "-q",
                 "--no-report")
        want = _codes_like_onnx(tensor, element_type)
        got = read_npy(after, element_type)
        assert np.array_equal(got, want), f"{field}: {_first_difference(got, want)}"
        if field in ("raw", "array", "signed"):  # make_tensor casts what it is given
            assert np.array_equal(got, codes), f"{field}: {_first_difference(got, codes)}"


def check_ways(tool, source):
    """.npy, .safetensors and .pb into each other: the same codes come out."""
    first, last = tool.folder / "a.npy", tool.folder / "z.npy"
    codes = np.array(codes_of(source)[:4097])
    write_npy(first, TYPES[source], codes)
    way = [first] + [tool.folder / f"{name}" for name in
                     ("b.pb", "c.safetensors", "d.pb", "e.pb")] + [last]
    for before, after in zip(way, way[1:]):
        assume = assumed(source) if before == first else ()
        tool.run("convert", before, "-o", after, "--to", source, "--all-types", "--force", "-q",
                 "--no-report", *assume)
    got = read_npy(last, TYPES[source])
    assert np.array_equal(got, codes), _first_difference(got, codes)
    assert way[1].read_bytes() == way[3].read_bytes() == way[4].read_bytes(), "other bytes"


def check_strings(tool, _):
    """Strings whose lengths take one to three bytes, between numpy's <U and string_data, and as numbers."""
    folder = tool.folder
    texts = ["", "1.5", "caf\u00e9", "\u4e2d\u6587", "\U0001F600", "x" * 127, "y" * 128,
             "z" * 16384]
    array = np.array(texts * 15).reshape(5, -1, 2)
    own = onnx.numpy_helper.from_array(array, "in")

    def convert(before, after, target):
        tool.run("convert", folder / before, "-o", folder / after, "--to", target, "--all-types",
                 "--force", "-q", "--no-report")

    np.save(folder / "in.npy", array)
    convert("in.npy", "out.pb", "string")
    assert (folder / "out.pb").read_bytes() == own.SerializeToString(), "other bytes than onnx's"
    got = onnx.numpy_helper.to_array(onnx.load_tensor(folder / "out.pb"))
    assert np.array_equal(got.astype(array.dtype), array), "other strings in string_data"
    convert("out.pb", "again.pb", "string")
    assert (folder / "again.pb").read_bytes() == own.SerializeToString(), "a copy differs"
    convert("out.pb", "back.npy", "string")
    assert np.array_equal(np.load(folder / "back.npy"), array), "other strings in .npy"

    numbers = np.array(["1", "-2.5", "1e3", " inf ", "0.1"])
    (folder / "in.pb").write_bytes(onnx.numpy_helper.from_array(numbers, "n").SerializeToString())
    convert("in.pb", "out.pb", "float32")
    got = onnx.numpy_helper.to_array(onnx.load_tensor(folder / "out.pb"))
    assert np.array_equal(got, numbers.astype(np.float32)), f"numbers {got}"


def _first_difference(got, want):
    if len(got) != len(want):
        return f"{len(got)} codes for {len(want)}"
    at = np.flatnonzero(got != want)[0]
    return f"code {got[at]:#x} for {want[at]:#x} at {at}"


_CHECKS = {"written": check_written, "read": check_read, "ways": check_ways,
           "strings": check_strings}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    parser.add_argument("check", choices=_CHECKS)
    arguments = parser.parse_args()
    names = ["string"] if arguments.check == "strings" else list(TYPES)
    failures = 0
    with Tool(arguments.tool) as tool:
        for name in names:
            try:
                _CHECKS[arguments.check](tool, name)
            except (AssertionError, ToolError, ValueError, TypeError,
                    google.protobuf.message.Error, onnx.checker.ValidationError) as error:
                print(f"{arguments.check} {name}: {type(error).__name__}: {error}")
                failures += 1
    print(f"{arguments.check}: {len(names) - failures} of {len(names)} types hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
