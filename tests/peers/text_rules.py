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

REFUSED = "refused"  # by either side; ours says why: not-a-number, not-an-integer

_SPACE = " \t\n\v\f\r"
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_FLOATS = ("float64", "float32", "float16")


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


def _by_way_of_float64(d):
    if d.target not in ("float32", "float16") or d.refused or d.theirs == REFUSED:
        return False
    with np.errstate(all="ignore"):
        wide = np.float64(float(d.text))
        ways = {_code(wide.astype(d.target), d.target),
                _code(wide.astype(np.float32).astype(d.target), d.target)}
    return d.theirs in ways


def _integers_only(d):
    return (d.target not in _FLOATS and d.theirs == REFUSED
            and re.fullmatch(r"[+-]?[0-9]+", d.text.strip(_SPACE)) is None)


def _in_range_only(d):
    if d.target in _FLOATS:
        return False
    info = np.iinfo(d.target)
    text = d.text.strip(_SPACE)
    return (d.theirs == REFUSED and re.fullmatch(r"[+-]?[0-9]+", text) is not None
            and not info.min <= int(text) <= info.max)


def _python_spelling(d):
    """What Python's own float() or int() reads beyond the grammar: 1_000, other digits, spaces."""
    if not d.refused or d.theirs == REFUSED:
        return False
    try:
        plain = repr(float(d.text)) if d.target in _FLOATS else repr(int(d.text))
    except ValueError:
        return False
    expected = float(plain) if d.target in _FLOATS else int(plain)
    return (re.fullmatch(_NUMBER, d.text.strip(_SPACE)) is None
            and d.theirs == _code(np.array(expected).astype(d.target), d.target))


def _leading_integer(d):
    if d.target in _FLOATS or d.theirs == REFUSED:
        return False
    start = re.match(rf"[{_SPACE}]*([+-]?[0-9]+)", d.text)
    bits = 8 * np.dtype(d.target).itemsize
    return start is not None and d.theirs == int(start[1]) % (1 << bits)


def _no_leading_integer(d):
    if d.target in _FLOATS or d.theirs != REFUSED:
        return False
    start = re.match(rf"[{_SPACE}]*([+-]?[0-9]+)", d.text)
    low, high = (0, 1 << 64) if d.target[0] == "u" else (-(1 << 63), 1 << 63)
    return start is None or not low <= int(start[1]) < high


def _leading_number(d):
    """A number with something behind it, or a hexadecimal one."""
    if d.target not in _FLOATS or not d.refused or d.theirs == REFUSED:
        return False
    return re.match(rf"[{_SPACE}]*({_NUMBER}|[+-]?(inf|nan))", d.text, re.IGNORECASE) is not None


def _beyond_double(d):
    if d.target not in _FLOATS or d.theirs != REFUSED or d.refused:
        return False
    value = abs(float(d.text))
    digits = re.sub(r"[eE].*", "", d.text)
    return (value == np.inf or value < 2.0**-1022) and re.search("[1-9]", digits) is not None


def _six_digits(d):
    return d.theirs == f"{float(d.x):g}"


TEXT_RULES = (
    TextRule("text-by-way-of-float64", ("numpy", "onnxruntime"), "string → float32, float16", Read,
             "theirs is the text rounded to float64, and then again", _by_way_of_float64,
             "they round twice; here the exact decimal is rounded once"),
    TextRule("text-integers-only", ("numpy",), "string → integers", Read,
             "the text is no row of digits: theirs is an error", _integers_only,
             "Python's int(); ONNX's operator has \"1e5\" and \"100.5\" as 100000 and 100"),
    TextRule("text-in-range-only", ("numpy",), "string → integers", Read,
             "an integer that the type lacks: theirs is an error", _in_range_only,
             "Python refuses; here the low bits, or the limit with integer_overflow=saturate"),
    TextRule("text-python-spelling", ("numpy",), "string → numbers", Read,
             "\"1_000\", digits and white space of other scripts: theirs is a number",
             _python_spelling, "Python's float() and int(); here these are not numbers"),
    TextRule("text-leading-integer", ("onnxruntime",), "string → integers", Read,
             "theirs is the digits that the text begins with, also in \"1e5\" and \"12abc\"",
             _leading_integer, "C++'s stoll(), which ignores what follows; here the whole text is "
             "read, or refused"),
    TextRule("text-no-leading-integer", ("onnxruntime",), "string → integers", Read,
             "no digits in front (\".5\"), or more than 64 bits of them: theirs is an error",
             _no_leading_integer, "C++'s stoll(); here the value counts, however it is written"),
    TextRule("text-leading-number", ("onnxruntime",), "string → floating types", Read,
             "a number and more behind it (\"1x\", \"1_0\", \"0x10\"): theirs is a number",
             _leading_number, "C++'s stod(), which ignores what follows and knows hexadecimal"),
    TextRule("text-beyond-double", ("onnxruntime",), "string → floating types", Read,
             "beyond float64's largest or below 2^−1022: theirs is an error", _beyond_double,
             "C++'s stod() throws; here overflow and subnormals are results"),
    TextRule("text-six-digits", ("ml_dtypes",), "bfloat16, float8, float6, float4 → string",
             Printed, "theirs is C's %g: six digits, and no \".0\"", _six_digits,
             "str() of its scalars (it has no cast to string); here the fewest digits that read "
             "back"),
)


def markdown():
    """The rules as the table that docs/semantics.md carries."""
    lines = ["| rule | differs | where | when | why |", "|---|---|---|---|---|"]
    names = {"numpy": "numpy", "ml_dtypes": "ml_dtypes", "onnxruntime": "ONNX Runtime"}
    for rule in TEXT_RULES:
        who = ", ".join(names[library] for library in rule.libraries)
        cells = (f"`{rule.name}`", who, rule.casts, rule.predicate.replace("|", "\\|"), rule.reason)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    assert sys.argv[1:] == ["--markdown"], "usage: text_rules.py --markdown"
    print(markdown())
