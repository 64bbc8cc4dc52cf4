"""What is cast: every code of the types up to 16 bits; planted and random codes of the wider ones.

SPDX-License-Identifier: Apache-2.0
"""
import functools

import numpy as np

from element_types import TYPES

_SEED = 20261120
_NARROW_FLOATS = [t for t in TYPES.values() if t.is_float and t.bits <= 16]


def _finite_values(element_type):
    """The finite values of a narrow floating type, as sorted float64 without duplicates."""
    codes = np.arange(1 << element_type.bits, dtype=element_type.code_dtype)
    values = element_type.values(codes).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


@functools.cache
def _landmarks():
    """Where casts to narrow floats and to integers turn: midpoints and limits, as float64."""
    parts = []
    for narrow in _NARROW_FLOATS:
        values = _finite_values(narrow)
        top = values[-1]
        step = top - values[-2]
        parts += [values, (values[:-1] + values[1:]) / 2, top + step * np.arange(1, 9) / 2]
        parts += [-(top + step * np.arange(1, 9) / 2)]
    powers = np.ldexp(1.0, np.arange(-160, 160))
    near = np.arange(-40, 41) / 4
    limits = np.ldexp(1.0, np.arange(0, 66))[:, None] + near
    parts += [powers, powers * 1.5, powers * 1.25, limits.ravel(), near]
    marks = np.concatenate(parts)
    return np.unique(np.concatenate([marks, -marks]))


def _random_codes(rng, dtype, count):
    return rng.integers(0, 1 << (8 * dtype.itemsize), count, dtype, endpoint=False)


def _neighbours(codes):
    """Codes and those next to them; at 0 and the last one they wrap to other legal codes."""
    one = codes.dtype.type(1)
    return np.concatenate([codes, codes + one, codes - one])


def _float32_codes(rng):
    marks = _landmarks()
    with np.errstate(all="ignore"):
        planted = marks.astype(np.float32).view(np.uint32)
    high_halves = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    halves = high_halves[::5] | np.uint32(0x8000)
    return np.concatenate([_neighbours(planted), high_halves, _neighbours(halves),
                           _random_codes(rng, np.dtype("<u4"), 60_000)])


def _float64_codes(rng):
    marks = _landmarks()
    # Beside a midpoint by less than float32 sees: what a cast by way of float32 gets wrong.
    beside = np.concatenate([marks * (1 + 2.0**-40), marks * (1 - 2.0**-40)])
    floats = rng.integers(0, 1 << 32, 20_000, np.uint32).view(np.float32)
    floats = floats[np.isfinite(floats)].astype(np.float64)
    between = floats * (1 + 2.0**-24)
    tiny = rng.integers(0, 1 << 53, 2_000, np.uint64)
    nans = np.array([0x7FF << 52 | 1, 0x7FF << 52 | 1 << 51, 0x7FF << 52 | 1 << 41,
                     0x7FF << 52 | 1 << 44, 0x7FF << 52 | (1 << 52) - 1], np.uint64)
    codes = np.concatenate([marks, beside, floats, between]).view(np.uint64)
    wide = rng.integers(0, 1 << 64, 60_000, np.uint64)
    # Exponents of everyday: uniform bits seldom fall into a narrow type's range.
    exponent = rng.integers(1023 - 160, 1023 + 160, 60_000, np.uint64) << np.uint64(52)
    everyday = wide & np.uint64(0x800FFFFFFFFFFFFF) | exponent
    return np.concatenate([codes, _neighbours(codes[::7]), tiny, nans, nans | np.uint64(1 << 63),
                           wide, everyday])


def _integer_codes(element_type, rng):
    bits = element_type.bits
    exact = []
    for shift in range(bits):
        exact += [(1 << shift) + d for d in range(-3, 4)]
    # Halfway between two floats of p significant bits, and one beside.
    for p in (1, 2, 3, 4, 8, 11, 24, 53):
        for shift in range(1, bits - p + 1):
            heads = {1 << (p - 1), (1 << p) - 1} | {
                int(h) for h in rng.integers(1 << (p - 1), 1 << p, 12)}
            exact += [(head << shift) + (1 << (shift - 1)) + d for head in heads
                      for d in (-1, 0, 1)]
    # The same a float32 apart: only one rounding gets these right.
    exact += [16973823, 33947647, (1 << 62) + 1, (1 << 64) - 1, (1 << 63) - 1]
    exact += [-value for value in exact]
    planted = np.array([value & ((1 << bits) - 1) for value in exact], element_type.code_dtype)
    wide = _random_codes(rng, element_type.code_dtype, 60_000)
    shifts = rng.integers(0, bits, wide.size).astype(element_type.code_dtype)
    return np.concatenate([planted, wide, wide >> shifts, ~(wide >> shifts)])


@functools.cache
def codes_of(name):
    """The codes to cast from the type of this name; the same on every call and machine."""
    element_type = TYPES[name]
    rng = np.random.default_rng([_SEED, element_type.bits])
    if name == "bool":
        codes = np.array([0, 1], np.uint8)
    elif element_type.bits <= 16:
        codes = np.arange(1 << element_type.bits, dtype=element_type.code_dtype)
    elif name == "float32":
        codes = _float32_codes(rng)
    elif name == "float64":
        codes = _float64_codes(rng)
    else:
        codes = _integer_codes(element_type, rng)
    codes.flags.writeable = False
    return codes
