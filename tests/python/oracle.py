"""What casts give, worked out with rationals: an oracle that knows of tensorcast only
the names of its types.

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
import tensorcast


def _library_dtype(name):
    """The dtype that numpy or ml_dtypes has under tensorcast's name, but for "_" and a last "fn"."""
    for module in (np, ml_dtypes):
        for attribute in dir(module):
            if attribute.rstrip("_").replace("_", "") in (name, name + "fn", name + "fnu"):
                return np.dtype(getattr(module, attribute))
    raise LookupError(f"neither numpy nor ml_dtypes has {name}")


def _bits(name, dtype):
    """Of a code: ml_dtypes keeps those of less than a byte in one."""
    info = ml_dtypes.iinfo if name in INTEGERS else ml_dtypes.finfo
    return 8 if name == "bool" else info(dtype).bits


INTEGERS = {f"{sign}int{bits}": (bits, sign == "") for bits in (2, 4, 8, 16, 32, 64)
            for sign in ("", "u")}
DTYPES = {name: _library_dtype(name) for name in tensorcast.type_names() if name != "string"}
BITS = {name: _bits(name, dtype) for name, dtype in DTYPES.items() if _bits(name, dtype) < 8}
NARROW_FLOATS = tuple(name for name, dtype in DTYPES.items()
                      if "float" in name and dtype.itemsize <= 2 and name != "float8e8m0")
SATURATING = tuple(name for name in NARROW_FLOATS if name.startswith("float8"))
FINITE_ONLY = tuple(name for name in NARROW_FLOATS if name in BITS)


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
        return 0.0 if name in FINITE_ONLY else math.nan
    top = float(_finite_values(name)[0][-1])
    finite_only = name in FINITE_ONLY
    beyond = {"float16": math.inf, "bfloat16": math.inf}.get(name)
    if beyond is None:
        if finite_only or saturate:
            beyond = top
        else:
            beyond = math.inf if math.inf in every_code(name).astype(np.float64) else math.nan
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


def cast_to_scale(value):
    """What a number becomes as float8e8m0, as a float: the power of two not below it, within the type's range."""
    if math.isnan(value):
        return math.nan
    power = 2.0**-127
    while power < min(value, 2.0**127):
        power *= 2
    return power


def cast(value, name):
    """What a number becomes as a type that is no wide float, with every option at its default; a sign of zero may
    differ where the type has one zero, or where NaN becomes zero."""
    if name == "bool":
        return value != 0
    if name in INTEGERS:
        return cast_to_integer(value, name)
    return cast_to_scale(value) if name == "float8e8m0" else cast_to_narrow_float(value, name)
