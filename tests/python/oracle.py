"""What casts give, worked out with rationals: an oracle that knows nothing of tensorcast.

A type is read from ml_dtypes' or numpy's own values of its codes; a cast is the search for the
nearest of them, ties to the even code.

SPDX-License-Identifier: Apache-2.0
"""
import bisect
import functools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np

# The types, by tensorcast's names, and what numpy has for them.
DTYPES = {
    "float32": np.float32, "uint8": np.uint8, "int8": np.int8, "uint16": np.uint16,
    "int16": np.int16, "int32": np.int32, "int64": np.int64, "bool": np.bool_,
    "float16": np.float16, "float64": np.float64, "uint32": np.uint32, "uint64": np.uint64,
    "bfloat16": ml_dtypes.bfloat16, "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "uint4": ml_dtypes.uint4, "int4": ml_dtypes.int4,
    "float4e2m1": ml_dtypes.float4_e2m1fn, "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "uint2": ml_dtypes.uint2, "int2": ml_dtypes.int2, "float6e2m3": ml_dtypes.float6_e2m3fn,
    "float6e3m2": ml_dtypes.float6_e3m2fn,
}
DTYPES = {name: np.dtype(kind) for name, kind in DTYPES.items()}
INTEGERS = {f"{sign}int{bits}": (bits, sign == "") for bits in (2, 4, 8, 16, 32, 64)
            for sign in ("", "u")}
BITS = {"float4e2m1": 4, "float6e2m3": 6, "float6e3m2": 6, "int4": 4, "uint4": 4, "int2": 2,
        "uint2": 2}
SATURATING = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
NARROW_FLOATS = (*SATURATING, "float4e2m1", "float6e2m3", "float6e3m2", "bfloat16", "float16")


def every_code(name):
    """An array of a type's every code (of those of 16 bits and fewer)."""
    dtype = DTYPES[name]
    if name == "bool":
        return np.array([False, True])
    bits = BITS.get(name, 8 * dtype.itemsize)
    codes = np.arange(1 << bits, dtype=f"u{dtype.itemsize}")
    return codes.view(dtype)


@functools.cache
def _finite_values(name):
    """The finite magnitudes of a narrow float, in order, with the code of each."""
    array = every_code(name)
    values = {}
    for code, value in enumerate(array.astype(np.float64).tolist()):
        if math.isfinite(value) and math.copysign(1, value) > 0:
            values.setdefault(Fraction(value), code)
    ordered = sorted(values)
    return ordered, [values[value] for value in ordered]


def nearest_magnitude(x, name):
    """The float (Fraction) of `name` nearest to x >= 0, ties to the even code; None where x lies
    beyond the largest value by half a step or more."""
    values, codes = _finite_values(name)
    at = bisect.bisect_left(values, x)
    if at == len(values):
        top, below = values[-1], values[-2]
        reach = top + (top - below) / 2  # a tie goes beyond where the top code is odd
        if x > reach or (x == reach and codes[-1] % 2 == 1):
            return None
        return top
    if values[at] == x or at == 0:
        return values[at]
    low, high = values[at - 1], values[at]
    if x - low != high - x:
        return low if x - low < high - x else high
    return low if codes[at - 1] % 2 == 0 else high


def cast_to_narrow_float(value, name, saturate=True):
    """What a float becomes, as a float; ONNX's rules where the type has no Inf."""
    if math.isnan(value):
        return 0.0 if name in ("float4e2m1", "float6e2m3", "float6e3m2") else math.nan
    top = float(_finite_values(name)[0][-1])
    finite_only = name in ("float4e2m1", "float6e2m3", "float6e3m2")
    beyond = {"float16": math.inf, "bfloat16": math.inf}.get(name)
    if beyond is None:
        if finite_only or saturate:
            beyond = top
        else:
            beyond = math.inf if name == "float8e5m2" else math.nan
    magnitude = None if math.isinf(value) else nearest_magnitude(abs(Fraction(value)), name)
    result = beyond if magnitude is None else float(magnitude)
    return math.copysign(result, value)


def cast_to_integer(value, name):
    """What a float becomes, as an int: truncated (narrow types: to nearest even), the low bits of
    what does not fit, 0 of NaN and Inf."""
    bits, signed = INTEGERS[name]
    if not math.isfinite(value):
        return 0
    exact = Fraction(value)
    whole = round(exact) if bits < 8 else math.trunc(exact)
    low = whole % (1 << bits)
    return low - (1 << bits) if signed and low >= 1 << (bits - 1) else low
