"""Where outside opinions differ from this product, rule by rule; docs/semantics.md names each.

A difference that falls under no rule fails the tests; so does a rule under which nothing falls.
`python3 rules.py --markdown` prints the section of docs/semantics.md.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses
import sys
from typing import Callable

import numpy as np

_LOW_E8M0 = np.ldexp(np.longdouble(1), -127)  # the value of E8M0's code 00
_HIGH_E8M0 = np.ldexp(np.longdouble(1), 127)  # and of its code FE


class Differences:
    """The elements of one cast at which a library and the tool differ.

    `x` are the exact source values, `theirs` and `ours` the two codes; `cast` is what the tool,
    `library_cast` what the library gives for float32 values cast to the same type.
    """

    def __init__(self, source, target, options, x, theirs, ours, cast, library_cast):
        self.source, self.target, self.options = source, target, options
        self.x, self.theirs, self.ours = x, theirs, ours
        with np.errstate(all="ignore"):
            self.float32 = x.astype(np.float32)
        self._cast, self._library_cast = cast, library_cast
        self._by_way = None

    @property
    def saturate(self):
        return self.options.get("saturate", "true") == "true"

    def by_way_of_float32(self):
        """What the tool gives for the source values rounded to float32 first."""
        if self._by_way is None:
            self._by_way = self._cast(self.float32)
        return self._by_way

    def library_of_magnitude(self):
        """What the library gives for the magnitudes, as float32."""
        return self._library_cast(np.abs(self.float32))

    @property
    def nan(self):
        return np.isnan(self.x)

    @property
    def negative(self):
        return np.signbit(self.x)

    def code(self, positive, negative):
        """One of two codes, by the sign of the source."""
        return np.where(self.negative, negative, positive)


@dataclasses.dataclass(frozen=True)
class Rule:
    name: str
    libraries: tuple[str, ...]
    pairs: str  # in words
    applies: Callable  # (source, target, options) -> bool
    predicate: str  # in words
    holds: Callable  # Differences -> mask
    reason: str


# The shape of the IEEE types: code of Inf, quiet bit, sign bit.
_IEEE = {"float64": (0x7FF << 52, 1 << 51, 1 << 63), "float32": (0x7F800000, 1 << 22, 1 << 31),
         "float16": (0x7C00, 1 << 9, 1 << 15), "bfloat16": (0x7F80, 1 << 6, 1 << 15)}


def _not_quieted(d):
    infinity, quiet, sign = (d.theirs.dtype.type(v) for v in _IEEE[d.target.name])
    # A payload that is cut off entirely would leave Inf: they put a 1 at its end.
    one = d.theirs.dtype.type(1)
    kept = (d.theirs | quiet) == d.ours
    cut = ((d.theirs & ~sign) == infinity + one) & ((d.ours & ~sign) == infinity + quiet)
    return d.nan & (kept | cut & ((d.theirs & sign) == (d.ours & sign)))


def _canonical(d):
    infinity, quiet, sign = _IEEE[d.target.name]
    canonical = d.theirs.dtype.type(infinity | quiet)
    return d.nan & (d.theirs == d.ours & d.theirs.dtype.type(sign) | canonical)


def _low_bits(target, integers):
    return integers.astype(np.int64).astype(np.uint8) & np.uint8((1 << target.bits) - 1)


def _fits_int32(d):
    return (d.x >= -(2.0**31)) & (d.x <= 2.0**31 - 1)


def _truncated(d):
    inside = _fits_int32(d)
    return inside & (d.theirs == _low_bits(d.target, np.trunc(np.where(inside, d.x, 0))))


def _half_away(d):
    inside = _fits_int32(d)
    x = np.where(inside, d.x, 0)
    away = np.copysign(np.floor(np.abs(x) + np.longdouble(0.5)), x)
    return inside & (np.abs(x) % 1 == 0.5) & (d.theirs == _low_bits(d.target, away))


def _wrapped_where_ours_saturates(d):
    low, high = d.target.low, d.target.high
    nearest = np.rint(d.x)
    beyond = np.isfinite(d.x) & ((nearest < low) | (nearest > high))
    limit = _low_bits(d.target, np.where(d.x < 0, low, high))
    inside = _fits_int32(d)
    x = np.where(inside, d.x, 0)
    away = np.copysign(np.floor(np.abs(x) + np.longdouble(0.5)), x)
    theirs = ((d.theirs == _low_bits(d.target, np.trunc(x)))
              | (d.theirs == _low_bits(d.target, away)))
    return beyond & (d.ours == limit) & np.where(inside, theirs, d.theirs == 0)


def _to(*names):
    return lambda source, target, options: target.name in names


def _to_e8m0(source, target, options):
    return target.name == "float8e8m0"


def _narrow_integer(source, target, options):
    return source.is_float and target.is_integer and target.bits < 8


def _wider_than_float32(source, target, options):
    return (source.name == "float64" or source.is_integer and source.bits >= 32) and (
        target.is_float and target.bits <= 16)


RULES = (
    Rule("double-rounding", ("numpy", "onnx", "onnxruntime"),
         "float64 and (u)int32, (u)int64 → bfloat16, float8, float6, float4, float8e8m0; "
         "ONNX Runtime: float64 → float16 too",
         _wider_than_float32,
         "the source is not a float32 value, and theirs is what the source rounded to float32 gives",
         lambda d: (d.float32.astype(np.longdouble) != d.x) & ~d.nan
         & (d.theirs == d.by_way_of_float32()),
         "they cast by way of float32 and round twice; here every cast rounds once"),
    Rule("nan-not-quieted", ("numpy", "onnx", "onnxruntime"),
         "float64 → float16; float32 → float16; float16 → float32, float64; bfloat16 → float32",
         lambda s, t, o: (s.name, t.name) in {
             ("float64", "float16"), ("float32", "float16"), ("float16", "float32"),
             ("float16", "float64"), ("bfloat16", "float32")},
         "a signalling NaN: theirs is ours without the quiet bit (with a 1 at the end where no "
         "payload would be left)",
         _not_quieted,
         "they move the bits in software; here a NaN comes out quiet, as hardware does it"),
    Rule("nan-payload-dropped", ("numpy", "onnx", "onnxruntime"),
         "float64, float32, float16 → bfloat16; bfloat16 → float16; ONNX Runtime: float64 and "
         "float32 → float16 too",
         _to("float16", "bfloat16"),
         "NaN: theirs is the canonical NaN of the same sign",
         _canonical,
         "they give one NaN for each sign; here the payload is kept as far as it fits"),
    Rule("int4-opset-21-wraps", ("onnx", "onnxruntime"),
         "floating types → int4, uint4 at opsets 21 to 23",
         lambda s, t, o: _narrow_integer(s, t, o) and o.get("integer-overflow") == "saturate",
         "x beyond the type's range: theirs is low bits (8.0 → int4: −8), ours the limit (7)",
         _wrapped_where_ours_saturates,
         "they wrap at every opset; the official data of opsets 21 to 23 saturate, those of 24 and "
         "later wrap"),
    Rule("int4-int2-truncated", ("numpy", "onnx"),
         "floating types → int4, uint4, int2, uint2",
         _narrow_integer,
         "−2^31 ≤ x ≤ 2^31 − 1: theirs is the low bits of x truncated toward zero",
         _truncated,
         "ml_dtypes truncates; int4.md and int2.md of ONNX say nearest, ties to even"),
    Rule("int4-int2-beyond-int32", ("numpy", "onnx"),
         "float64, float32 → int4, uint4, int2, uint2",
         _narrow_integer,
         "any other finite x: theirs is 0",
         lambda d: np.isfinite(d.x) & ~_fits_int32(d) & (d.theirs == 0),
         "ml_dtypes goes by way of int32 and gives up there; here the low bits of the exact "
         "integer"),
    Rule("int4-int2-half-away", ("onnxruntime",),
         "floating types → int4, uint4, int2, uint2",
         _narrow_integer,
         "x lies halfway between two integers: theirs is the low bits of the one away from zero",
         _half_away,
         "C's round(); int4.md and int2.md of ONNX say ties to even"),
    Rule("e4m3fn-past-480", ("onnxruntime",),
         "all numbers → float8e4m3fn, saturate=false",
         lambda s, t, o: t.name == "float8e4m3fn" and o.get("saturate") == "false",
         "480 ≤ |x| < 496 (x as float32): theirs is ±448, ours NaN",
         lambda d: (np.abs(d.float32) >= 480) & (np.abs(d.float32) < 496)
         & (d.theirs == d.code(0x7E, 0xFE)) & (d.ours == d.code(0x7F, 0xFF)),
         "a fault of theirs: the operator's table gives NaN beyond the largest value"),
    Rule("e5m2-past-61440", ("onnxruntime",),
         "all numbers → float8e5m2, saturate=false",
         lambda s, t, o: t.name == "float8e5m2" and o.get("saturate") == "false",
         "61440 ≤ |x| < 65536, x as float32: theirs is NaN, ours ±Inf (±57344 where x itself "
         "lies below)",
         lambda d: (np.abs(d.float32) >= 61440) & (np.abs(d.float32) < 65536)
         & (d.theirs == d.code(0x7F, 0xFF))
         & (d.ours == np.where(np.abs(d.x) < 61440, d.code(0x7B, 0xFB), d.code(0x7C, 0xFC))),
         "a fault of theirs: the operator's table gives ±Inf beyond the largest value"),
    Rule("e5m2-nan-7f", ("onnxruntime",),
         "floating types → float8e5m2",
         _to("float8e5m2"),
         "NaN: theirs is 7F or FF, ours 7E or FE of the same sign",
         lambda d: d.nan & (d.theirs == (d.ours | 1)) & ((d.ours & 0x7F) == 0x7E),
         "both are NaN; the official data of opset 24 and later have 7E"),
    Rule("bfloat16-nan-sign", ("onnxruntime",),
         "bfloat16 → float8e4m3fn, float8e5m2, saturate=false",
         lambda s, t, o: s.name == "bfloat16" and o.get("saturate") == "false"
         and t.name in ("float8e4m3fn", "float8e5m2"),
         "negative NaN: theirs is 7F, ours a negative NaN",
         lambda d: d.nan & d.negative & (d.theirs == 0x7F),
         "they drop the sign of a NaN on this route alone; here it is kept"),
    Rule("float8-bool-by-bits", ("onnxruntime",),
         "float8 types → bool",
         lambda s, t, o: t.name == "bool" and s.is_float and s.bits == 8,
         "−0: theirs is true; float8e8m0's 2^−127 (code 00): theirs is false",
         lambda d: np.where(d.x == 0, (d.theirs == 1) & (d.ours == 0),
                            (d.source.name == "float8e8m0") & (d.x == _LOW_E8M0)
                            & (d.theirs == 0)),
         "they test the code, not the value"),
    Rule("e5m2-to-itself", ("onnx",),
         "float8e5m2 → float8e5m2, saturate=true",
         lambda s, t, o: s.name == t.name == "float8e5m2",
         "±Inf: theirs is ±57344; NaN: theirs is 7E or FE of the same sign",
         lambda d: np.where(d.nan, d.theirs == d.code(0x7E, 0xFE),
                            np.isinf(d.x) & (d.theirs == d.code(0x7B, 0xFB))),
         "they clip before a cast to the same type; here that is a copy"),
    Rule("e8m0-below-least", ("numpy", "onnx"),
         "all numbers → float8e8m0",
         _to_e8m0,
         "0 < x < 2^−127: theirs is 00 or 01; x = 2^−127 rounded up: theirs is 01",
         lambda d: np.where(d.x == _LOW_E8M0, (d.theirs == 1) & (d.ours == 0),
                            (d.x > 0) & (d.x < _LOW_E8M0) & (d.theirs <= 1)),
         "they judge by the exponent field of a float32 subnormal; here 2^−127 is in range, and "
         "below it saturation gives 00, no saturation NaN"),
    Rule("e8m0-subnormal-nearest", ("numpy", "onnx"),
         "all numbers → float8e8m0, round_mode=nearest",
         lambda s, t, o: t.name == "float8e8m0" and o.get("round-mode") == "nearest",
         "2^−127 < x < 1.5·2^−127: theirs is 01, ours 00",
         lambda d: (d.x > _LOW_E8M0) & (d.x < 1.5 * _LOW_E8M0) & (d.theirs == 1) & (d.ours == 0),
         "they round a float32 subnormal by the wrong bit; the midpoint is 1.5·2^−127"),
    Rule("e8m0-above-most", ("numpy", "onnx"),
         "all numbers → float8e8m0, saturate=false",
         lambda s, t, o: t.name == "float8e8m0" and o.get("saturate") == "false",
         "x > 2^127, finite: theirs is FE, ours FF",
         lambda d: np.isfinite(d.x) & (d.x > _HIGH_E8M0) & (d.theirs == 0xFE)
         & (d.ours == 0xFF),
         "they judge the range after rounding, ONNX's table before"),
    Rule("e8m0-zero", ("onnx",),
         "all numbers → float8e8m0, saturate=false",
         lambda s, t, o: t.name == "float8e8m0" and o.get("saturate") == "false",
         "±0: theirs is 00, ours FF",
         lambda d: (d.x == 0) & (d.theirs == 0) & (d.ours == 0xFF),
         "ONNX's table gives NaN for +0 without saturation"),
    Rule("e8m0-infinity", ("onnx",),
         "all numbers → float8e8m0, saturate=true",
         lambda s, t, o: t.name == "float8e8m0" and o.get("saturate") == "true",
         "±Inf (x as float32): theirs is FF, ours FE or 00",
         lambda d: np.isinf(d.float32) & (d.theirs == 0xFF)
         & (d.ours == d.code(0xFE, 0)),
         "ONNX's table gives the largest value for +Inf"),
    Rule("e8m0-negative", ("onnx",),
         "all numbers → float8e8m0",
         _to_e8m0,
         "x < 0: theirs is their result for |x|",
         lambda d: (d.x < 0) & (d.theirs == d.library_of_magnitude()),
         "they ignore the sign; ONNX leaves this open; here a negative is below the range"),
)


def markdown():
    """The rules as the table that docs/semantics.md carries."""
    lines = ["| rule | differs | where | when | why |", "|---|---|---|---|---|"]
    names = {"numpy": "numpy + ml_dtypes", "onnx": "ONNX reference",
             "onnxruntime": "ONNX Runtime"}
    for rule in RULES:
        who = ", ".join(names[library] for library in rule.libraries)
        cells = (f"`{rule.name}`", who, rule.pairs, rule.predicate.replace("|", "\\|"),
                 rule.reason)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    assert sys.argv[1:] == ["--markdown"], "usage: rules.py --markdown"
    print(markdown())
