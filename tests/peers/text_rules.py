"""Where outside opinions of string casts differ from this product, rule by rule.

docs/semantics.md names each. A difference that falls under no rule fails the tests; so does a rule
under which nothing falls. `python3 text_rules.py --markdown` prints the section of
docs/semantics.md.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses
import re
import sys
from typing import Callable

import numpy as np

from element_types import TYPES
from expected import expected_codes

REFUSED = "refused"  # by either side; ours says why: not-a-number, not-an-integer

_SPACE = " \t\n\v\f\r"
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_FLOATS = tuple(name for name, row in TYPES.items() if row.is_float)
_NARROW_INTEGERS = tuple(name for name, row in TYPES.items() if row.is_integer and row.bits < 8)
_WIDE_INTEGERS = tuple(name for name, row in TYPES.items() if row.is_integer and row.bits >= 8)


@dataclasses.dataclass(frozen=True)
class Read:
    """One text that a library and the tool read differently; outcomes are codes or words."""

    text: str
    target: str
    theirs: object
    ours: object

    @property
    def refused(self):
        return self.ours in ("not-a-number", "not-an-integer")


@dataclasses.dataclass(frozen=True)
class Printed:
    """One number that a library and the tool print differently."""

    source: str
    x: np.longdouble
    theirs: str
    ours: str


@dataclasses.dataclass(frozen=True)
class TextRule:
    name: str
    libraries: tuple[str, ...]
    casts: str  # in words
    kind: type  # Read or Printed
    predicate: str  # in words
    holds: Callable
    reason: str


def _code(value, target):
    return int(np.array(value, target).view(f"<u{np.dtype(target).itemsize}"))


def _stod(text):
    """What C++'s stod() makes of a text: the value of the longest number at its beginning, or None."""
    text = text.lstrip(_SPACE)
    hexadecimal = re.match(r"[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?[0-9]+)?", text, re.I)
    if hexadecimal:
        return float.fromhex(hexadecimal[0])
    start = re.match(rf"{_NUMBER}|[+-]?(infinity|inf|nan)", text, re.IGNORECASE)
    return float(start[0]) if start else None


def _by_way_of_float64(d):
    if d.target not in _FLOATS or d.target == "float64" or d.refused or d.theirs == REFUSED:
        return False
    with np.errstate(all="ignore"):
        wide = np.float64(float(d.text))
        narrow = wide.astype(np.float32)
        if TYPES[d.target].native:
            ways = {_code(wide.astype(d.target), d.target),
                    _code(narrow.astype(d.target), d.target)}
        else:
            ways = {int(expected_codes(narrow, d.target)[0])}
    return not np.isnan(wide) and d.theirs in ways


def _other_nan(d):
    if d.refused or d.theirs == REFUSED or not np.isnan(float(d.text)):
        return False
    if d.target == "bfloat16":
        return d.theirs == 0x7FC1
    return d.target == "float8e5m2" and d.theirs == d.ours | 1 and d.ours & 0x7F == 0x7E


def _integers_only(d):
    return (d.target in _WIDE_INTEGERS and d.theirs == REFUSED
            and re.fullmatch(r"[+-]?[0-9]+", d.text.strip(_SPACE)) is None)


def _in_range_only(d):
    if d.target not in _WIDE_INTEGERS:
        return False
    info = np.iinfo(d.target)
    text = d.text.strip(_SPACE)
    return (d.theirs == REFUSED and re.fullmatch(r"[+-]?[0-9]+", text) is not None
            and not info.min <= int(text) <= info.max)


def _python_spelling(d):
    """What Python's own float() or int() reads beyond the grammar: 1_000, other digits, spaces."""
    if d.target == "bool" or not d.refused or d.theirs == REFUSED:
        return False
    try:
        plain = repr(float(d.text)) if d.target in _FLOATS else repr(int(d.text))
    except ValueError:
        return False
    expected = float(plain) if d.target in _FLOATS else int(plain)
    return (re.fullmatch(_NUMBER, d.text.strip(_SPACE)) is None
            and d.theirs == _code(np.array(expected).astype(d.target), d.target))


def _any_text_is_true(d):
    return d.target == "bool" and d.theirs == int(d.text != "")


def _digits_in_front(d):
    """The integer that C++'s stoll() and stoull() find at the beginning of a text, or None."""
    start = re.match(rf"[{_SPACE}]*([+-]?[0-9]+)", d.text)
    return int(start[1]) if start else None


def _leading_integer(d):
    value = _digits_in_front(d)
    if d.theirs == REFUSED or value is None:
        return False
    if d.target == "bool":
        return d.theirs == int(value != 0)
    return d.target in _WIDE_INTEGERS and d.theirs == value % (1 << TYPES[d.target].bits)


def _no_leading_integer(d):
    if d.target not in _WIDE_INTEGERS + ("bool",) or d.theirs != REFUSED:
        return False
    value = _digits_in_front(d)
    # stoull() takes a sign, and the negative modulo 2^64.
    low, high = ((-(1 << 64) + 1, 1 << 64) if d.target == "bool" else
                 (0, 1 << 64) if d.target[0] == "u" else (-(1 << 63), 1 << 63))
    return value is None or not low <= value < high


def _by_stod(d):
    """Where ONNX Runtime reads the text with C++'s stod()."""
    return d.target in _FLOATS or d.target in _NARROW_INTEGERS


def _leading_number(d):
    """A number with something behind it, or a hexadecimal one."""
    return (_by_stod(d) and d.ours == "not-a-number" and d.theirs != REFUSED
            and _stod(d.text) is not None)


def _beyond_double(d):
    if not _by_stod(d) or d.theirs != REFUSED or d.refused:
        return False
    value = abs(float(d.text))
    digits = re.sub(r"[eE].*", "", d.text)
    return (value == np.inf or value < 2.0**-1022) and re.search("[1-9]", digits) is not None


def _half_away(d):
    if d.target not in _NARROW_INTEGERS or d.refused or d.theirs == REFUSED:
        return False
    value = _stod(d.text)
    if abs(value) >= 2.0**31 - 1:
        return False
    # C's round(), exactly: adding 0.5 could round in turn.
    away = int(value) + int(np.copysign(abs(value) % 1 >= 0.5, value))
    return d.theirs == away % (1 << TYPES[d.target].bits)


def _beyond_int32(d):
    if d.target not in _NARROW_INTEGERS or d.theirs == REFUSED or d.ours == "not-a-number":
        return False
    value = _stod(d.text)
    return not np.isfinite(value) or abs(value) >= 2.0**31 - 1


def _six_digits(d):
    return d.theirs == f"{float(d.x):g}"


TEXT_RULES = (
    TextRule("text-by-way-of-float64", ("numpy", "onnx", "onnxruntime"),
             "string → float32, float16; ONNX Runtime: string → bfloat16, float8, float8e8m0 too",
             Read,
             "theirs is the text rounded to float64, and then once or twice more "
             "(\"1.0625000001\" → float8e4m3fn: 38, ours 39)",
             _by_way_of_float64,
             "they round twice; here the exact decimal is rounded once"),
    TextRule("text-integers-only", ("numpy", "onnx"), "string → integers", Read,
             "the text is anything but digits with a sign: theirs is an error", _integers_only,
             "Python's int(); ONNX's operator has \"1e5\" and \"100.5\" as 100000 and 100"),
    TextRule("text-in-range-only", ("numpy", "onnx"), "string → integers", Read,
             "an integer outside the type's range: theirs is an error", _in_range_only,
             "Python refuses; here the low bits, or the limit with integer_overflow=saturate"),
    TextRule("text-python-spelling", ("numpy", "onnx"), "string → numbers", Read,
             "\"1_000\", digits and white space of other scripts: theirs is a number",
             _python_spelling, "Python's float() and int(); here these are not numbers"),
    TextRule("text-bool-not-empty", ("onnx", "numpy"), "string → bool", Read,
             "theirs is whether there is a text at all: \"0\" and \"false\" are true, \"\" is false",
             _any_text_is_true, "Python's bool(); here the text is read, and \"\" refused"),
    TextRule("text-leading-integer", ("onnxruntime",), "string → integers of 8 bits or more, bool",
             Read,
             "theirs is the digits that the text begins with, also in \"1e5\" and \"12abc\"; "
             "\"0.5\" → bool is false", _leading_integer,
             "C++'s stoll(), and stoull() for bool, which ignore what follows; here the whole text "
             "is read, or refused"),
    TextRule("text-no-leading-integer", ("onnxruntime",),
             "string → integers of 8 bits or more, bool", Read,
             "no digits in front (\".5\"; for bool \"true\", \"false\", \"nan\"), or more than 64 "
             "bits of them: theirs is an error",
             _no_leading_integer, "C++'s stoll() and stoull(); here the value counts, however it "
             "is written"),
    TextRule("text-leading-number", ("onnxruntime",),
             "string → floating types, 4- and 2-bit integers", Read,
             "a number and more behind it (\"1x\", \"1_0\", \"0x10\"): theirs is a number",
             _leading_number, "C++'s stod(), which ignores what follows and knows hexadecimal"),
    TextRule("text-beyond-double", ("onnxruntime",),
             "string → floating types, 4- and 2-bit integers", Read,
             "beyond float64's largest or below 2^−1022: theirs is an error", _beyond_double,
             "C++'s stod() throws; here overflow and subnormals are results"),
    TextRule("text-half-away", ("onnxruntime",), "string → int4, uint4, int2, uint2", Read,
             "halfway between two integers, as a float64: theirs is the low bits of the one away "
             "from zero (\"2.5\" → 3, ours 2)", _half_away,
             "C++'s stod(), then C's round(); int4.md and int2.md of ONNX say ties to even"),
    TextRule("text-beyond-int32", ("onnxruntime",), "string → int4, uint4, int2, uint2", Read,
             "nan, inf and what lies outside an int32: theirs is a number that C leaves undefined",
             _beyond_int32, "they convert to int32 without a check; here the low bits of the "
             "exact integer, or an error"),
    TextRule("text-other-nan", ("onnxruntime",), "string → bfloat16, float8e5m2", Read,
             "\"nan\": theirs is 7FC1 for either sign (bfloat16), 7F or FF (float8e5m2)", _other_nan,
             "both are NaN; here 7FC0 or FFC0, and 7E or FE, by the sign"),
    TextRule("text-six-digits", ("ml_dtypes",), "bfloat16, float8, float6, float4 → string",
             Printed, "theirs is C's %g: six digits, and no \".0\"", _six_digits,
             "str() of its scalars (it has no cast to string); here the fewest digits that read "
             "back"),
)


def markdown():
    """The rules as the table that docs/semantics.md carries."""
    lines = ["| rule | differs | where | when | why |", "|---|---|---|---|---|"]
    names = {"numpy": "numpy", "ml_dtypes": "ml_dtypes", "onnx": "ONNX reference",
             "onnxruntime": "ONNX Runtime"}
    for rule in TEXT_RULES:
        who = ", ".join(names[library] for library in rule.libraries)
        cells = (f"`{rule.name}`", who, rule.casts, rule.predicate.replace("|", "\\|"), rule.reason)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    assert sys.argv[1:] == ["--markdown"], "usage: text_rules.py --markdown"
    print(markdown())
