"""What float32 values become under this product's defaults, worked out with numpy and ml_dtypes.

SPDX-License-Identifier: Apache-2.0
"""
import numpy as np

from element_types import FLOAT8, TYPES
from libraries import NumpyCast


def finite_values(name):
    """The finite values of a type of at most 8 bits, in ascending order."""
    codes = np.arange(1 << TYPES[name].bits, dtype=np.uint8)
    values = TYPES[name].values(codes).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


def expected_codes(values, target):
    """The codes of `target` for an array of finite float32 values."""
    values = np.ascontiguousarray(values, np.float32).ravel()
    to = TYPES[target]
    if to.is_integer:
        # numpy leaves out-of-range values to C, and ml_dtypes truncates where ONNX rounds.
        whole = np.rint(values) if to.bits < 8 else np.trunc(values)
        assert np.all(np.abs(whole) < 2.0**63)
        low_bits = whole.astype(np.int64).view(np.uint64) & np.uint64((1 << to.bits) - 1)
        return low_bits.astype(to.code_dtype)
    if target == "float8e8m0":
        return _least_power_of_two(values)
    if target in FLOAT8:
        top = np.float32(finite_values(target)[-1])
        values = np.clip(values, -top, top)
    return NumpyCast.cast("float32", values.view(np.uint32), target, None)


def _least_power_of_two(values):
    """E8M0's code of the least power of two that is no less; 00 for 0 and negatives."""
    fraction, exponent = np.frexp(values.astype(np.float64))
    code = exponent - (fraction == 0.5) + 127
    return np.where(values > 0, np.clip(code, 0, 254), 0).astype(np.uint8)


def first_differences(values, data, want, target):
    """In words, the first five elements of packed `data` that are not the codes `want`."""
    to = TYPES[target]
    size = (want.size * to.bits + 7) // 8
    if len(data) != size:
        return f"{len(data)} bytes, expected {size}"
    got = to.unpacked(data, want.size)
    differ = np.flatnonzero(got != want)
    if not differ.size:
        return "the bits after the last element are not zero"
    digits = (to.bits + 3) // 4
    shown = [f"[{i}] {float(np.ravel(values)[i])!r} gives {got[i]:0{digits}X}, "
             f"numpy {want[i]:0{digits}X}" for i in differ[:5]]
    return f"{differ.size} of {want.size} codes differ: " + "; ".join(shown)
