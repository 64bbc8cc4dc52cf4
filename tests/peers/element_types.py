"""The 25 fixed-width types as these tests see them, and what numpy, ml_dtypes and ONNX call them.

Codes are arrays of unsigned integers, one element each, right-aligned: what the libraries keep in
memory and .npy files hold. Values are long doubles, which hold every value of every type.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses

import ml_dtypes
import numpy as np
import onnx

_FLOATS = {  # name: bits
    "float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "float8e4m3fn": 8,
    "float8e4m3fnuz": 8, "float8e5m2": 8, "float8e5m2fnuz": 8, "float8e8m0": 8, "float6e2m3": 6,
    "float6e3m2": 6, "float4e2m1": 4}
_INTEGERS = {sign + f"int{bits}": bits for bits in (64, 32, 16, 8, 4, 2) for sign in ("", "u")}


def _library_dtype(name):
    """The numpy dtype of a type: the one that numpy or ml_dtypes has under such a name."""
    for module in (np, ml_dtypes):
        for attribute in dir(module):
            if attribute.replace("_", "") in (name, name + "fn", name + "fnu"):
                try:
                    return np.dtype(getattr(module, attribute))
                except TypeError:
                    continue
    raise LookupError(f"neither numpy nor ml_dtypes has {name}")


@dataclasses.dataclass(frozen=True)
class ElementType:
    name: str
    bits: int
    kind: str  # "bool", "int", "uint" or "float"
    dtype: np.dtype
    onnx_type: int

    @property
    def native(self):
        """Whether the type is numpy's own, not one that ml_dtypes adds."""
        return self.dtype.isbuiltin == 1

    @property
    def is_float(self):
        return self.kind == "float"

    @property
    def is_integer(self):
        return self.kind in ("int", "uint")

    @property
    def code_dtype(self):
        return np.dtype(f"<u{self.dtype.itemsize}")

    @property
    def low(self):
        """The least integer of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def high(self):
        """The largest integer of an integer type."""
        return (1 << (self.bits - (self.kind == "int"))) - 1

    def codes(self, array):
        """The codes of an array of the library's dtype; high bits of sub-byte elements cleared."""
        codes = np.ascontiguousarray(array).view(self.code_dtype)
        return codes & self.code_dtype.type((1 << self.bits) - 1) if self.bits < 8 else codes

    def array(self, codes):
        """The library's array of some codes."""
        return np.ascontiguousarray(codes, self.code_dtype).view(self.dtype)

    def values(self, codes):
        """The values of some codes, exactly, NaN included."""
        array = self.array(codes)
        with np.errstate(all="ignore"):
            if self.is_float:
                return array.astype(np.float64).astype(np.longdouble)
            return (array.astype(np.int8) if self.bits < 8 and self.kind == "int" else
                    array.astype(np.uint8) if self.bits < 8 or self.kind == "bool" else
                    array).astype(np.longdouble)

    def packed(self, codes):
        """The dense little-endian bit stream: element i in bits i*w to i*w + w - 1."""
        if self.bits >= 8:
            return np.ascontiguousarray(codes, self.code_dtype).tobytes()
        bits = (np.asarray(codes, np.uint8)[:, None] >> np.arange(self.bits, dtype=np.uint8)) & 1
        return np.packbits(bits.ravel(), bitorder="little").tobytes()

    def unpacked(self, data, count):
        """The codes of the first `count` elements of a bit stream."""
        if self.bits >= 8:
            return np.frombuffer(data, self.code_dtype, count).copy()
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        bits = bits[: count * self.bits].reshape(count, self.bits)
        return (bits << np.arange(self.bits, dtype=np.uint8)).sum(1, dtype=np.uint8)


def _onnx_type(name):
    names = {"float32": "FLOAT", "float64": "DOUBLE"}
    return onnx.TensorProto.DataType.Value(names.get(name, name.upper()))


def _row(name, bits, kind):
    return ElementType(name, bits, kind, _library_dtype(name), _onnx_type(name))


TYPES = {name: _row(name, bits, "float") for name, bits in _FLOATS.items()}
TYPES |= {name: _row(name, bits, "uint" if name[0] == "u" else "int")
          for name, bits in _INTEGERS.items()}
TYPES["bool"] = _row("bool", 8, "bool")
assert len(TYPES) == 25

FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
FINITE_ONLY = ("float4e2m1", "float6e2m3", "float6e3m2")
