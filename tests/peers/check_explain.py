#!/usr/bin/env python3
"""Every figure of `explain --json` against fractions, over the codes' values as ml_dtypes has them.

What a code is worth is numpy's and ml_dtypes' word. From these values alone the nearest code, its
neighbours, the errors and the kind of loss are worked out here in exact fractions, for texts and
for codes of every type, under several option sets, with what each other option would change.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import bisect
import functools
import json
import math
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np

from element_types import FINITE_ONLY, FLOAT8, TYPES
from expected import expected_codes
from tool import Tool, assumed, write_npy

_FNUZ = ("float8e4m3fnuz", "float8e5m2fnuz")
_HAVE_INFINITY = ("float64", "float32", "float16", "bfloat16", "float8e5m2")
_CHOICES = {"saturate": ("true", "false"), "round-mode": ("up", "down", "nearest"),
            "integer-overflow": ("wrap", "saturate"), "fnuz-infinity": ("max", "nan"),
            "finite-only-nan": ("zero", "max"), "string-style": ("numpy", "ort")}
_DEFAULTS = {option: values[0] for option, values in _CHOICES.items()}
_OPTION_SETS = (_DEFAULTS,
                _DEFAULTS | {"saturate": "false", "round-mode": "nearest",
                             "finite-only-nan": "max", "integer-overflow": "saturate"},
                _DEFAULTS | {"round-mode": "down", "fnuz-infinity": "nan"})
_TEXTS = """0 -0 1 -1 0.1 -0.1 0.5 -0.5 1.5 2.5 3.5 -1.5 -2.5 0.25 0.75 7 7.5 7.75 7.4999 8
    -8 -8.5 -8.51 15.5 15.4999 16 28 29 30 30.0001 100 126.999999 127 128 -128 -128.9 -129
    200 240 247.9999 248 255 256 -1e-9 1e-9 300 448 463.999 464 464.00001 465 480 57344
    61439.99 61440 65504 65519.99 65520 65535 65536 1e5 16777217 2147483647 2147483648
    -2147483649 4294967295.5 9007199254740993 9223372036854775807 -9223372036854775808
    9223372036854775808 18446744073709551615 18446744073709551616 -9223372036854775808.9
    -9223372036854775809 1e20 1e38 3.4028235e38 3.4028235677973366e38 3.4028235677973365e38
    1e39 -1e39 1e300 1.7976931348623158e308 1.7976931348623159e308 1e400 -1e400 1e-40 1e-45
    7.006492321624085e-46 1e-310 2.4703282292062327e-324 2.4703282292062328e-324 1e-400
    -1e-400 5.877471754111438e-39 5.8774717541114375e-39 2.9e-39 4.4e-39 8.8e-39
    1.7014118346046923e38 1.7014118346046924e38 2.5e38 0.0009765625 0.00048828125
    0.0000000596046447753906250000000001 0.000000029802322387695312499999 1.0625000000000001
    3.14159265358979323846264338327950288 nan -nan inf -inf +1.e2 .125
    1.000000059604644775390626 16973823 0.03125000000000001 0.0625 0.03125""".split()


class Values:
    """The values of a type's codes, in order."""

    def __init__(self, name):
        self.type = TYPES[name]
        self.name = name
        self.mask = (1 << self.type.bits) - 1
        if self.type.bits <= 16:
            codes = np.arange(self.mask + 1, dtype=self.type.code_dtype)
            values = [float(v) for v in self.type.values(codes)]
            known = {}
            for code, value in enumerate(values):  # of the two zeros, the first: 0
                if math.isfinite(value):
                    known.setdefault(Fraction(value), code)
            self.ascending = sorted(known)
            self.code_of = known

    def value(self, code):
        """A fraction, or a float that is not finite."""
        if self.type.is_integer and self.type.bits == 64:
            return Fraction(int(self.type.array([code])[0]))
        value = float(self.type.values(np.array([code], self.type.code_dtype))[0])
        return Fraction(value) if math.isfinite(value) else value

    @functools.cached_property
    def most(self):
        if self.type.is_integer:
            return Fraction(self.type.high)
        if self.type.bits <= 16:
            return self.ascending[-1]
        return Fraction(float(np.finfo(self.type.dtype).max))

    @functools.cached_property
    def most_code(self):
        return self.code(self.most)

    def code(self, value):
        """The code of one of the type's finite values, +0 for zero."""
        if self.type.is_integer:
            return int(value) & self.mask
        if self.type.bits <= 16:
            return self.code_of[value]
        array = np.array([float(value) + 0.0], self.type.dtype)
        assert Fraction(float(array[0])) == value
        return int(array.view(self.type.code_dtype)[0])

    def beside(self, value, up):
        """The next finite value in a direction, or None."""
        if self.type.kind == "bool":
            return Fraction(1) if up and value == 0 else Fraction(0) if not up and value else None
        if self.type.is_integer:
            next_value = value + (1 if up else -1)
            return next_value if self.type.low <= next_value <= self.type.high else None
        if self.type.bits <= 16:
            i = (bisect.bisect_right(self.ascending, value) if up
                 else bisect.bisect_left(self.ascending, value) - 1)
            return self.ascending[i] if 0 <= i < len(self.ascending) else None
        with np.errstate(all="ignore"):
            near = np.nextafter(np.array(float(value), self.type.dtype),
                                self.type.dtype.type(math.inf if up else -math.inf))
        return Fraction(float(near)) if np.isfinite(near) else None

    def around(self, x):
        """The finite values that enclose x, which lies within the range; x twice if it is one."""
        if self.type.bits <= 16:
            i = bisect.bisect_left(self.ascending, x)
            if self.ascending[i] == x:
                return x, x
            return self.ascending[i - 1], self.ascending[i]
        try:
            near = float(x)
        except OverflowError:
            near = math.copysign(float(self.most), x)
        with np.errstate(all="ignore"):
            near = float(np.clip(self.type.dtype.type(near), -float(self.most), float(self.most)))
        value = Fraction(near)
        if value == x:
            return x, x
        if value < x:
            return value, self.beside(value, True)
        return self.beside(value, False), value

    def ulp(self, value):
        if not self.type.is_float:
            return Fraction(1)
        if self.name == "float8e8m0":
            return value
        info = (np.finfo if self.type.native else ml_dtypes.finfo)(self.type.dtype)
        magnitude = max(abs(value), Fraction(float(info.smallest_normal)))
        exponent = math.frexp(float(magnitude))[1] - 1
        return Fraction(2) ** (exponent - info.nmant)


VALUES = {name: Values(name) for name in TYPES}


class Refused(Exception):
    """The text has no integer."""


class Source:
    def __init__(self, text, type_name=None, code=None):
        self.text, self.type_name, self.code = text, type_name, code
        if type_name is not None:
            x = VALUES[type_name].value(code)
            self.from_float = TYPES[type_name].is_float
            sign_bit = code >> (TYPES[type_name].bits - 1) & 1
            self.negative = x < 0 or bool(self.from_float and sign_bit
                                          and type_name != "float8e8m0")
        else:
            lower = text.lower()
            x = float(lower) if "n" in lower else Fraction(text)
            self.from_float = True
            self.negative = text.startswith("-")
        self.is_nan = isinstance(x, float) and math.isnan(x)
        self.is_infinite = isinstance(x, float) and math.isinf(x)
        self.x = x

    @property
    def is_finite(self):
        return not (self.is_nan or self.is_infinite)


def whole(x, bits):
    return round(x) if bits < 8 else int(x)


def cast(source, name, options):
    """(code, beyond): the result, and whether x, rounded without an end, lies beyond the range.

    The code of a NaN result is None: what its payload is, is compare_casts.py's to say.
    """
    values, to, x = VALUES[name], TYPES[name], source.x
    if source.type_name == name:
        return source.code, False
    if to.kind == "bool":
        return int(not source.is_finite or x != 0), False
    if to.is_integer:
        return integer(source, to, options)
    if name == "float8e8m0":
        return power_of_two(source, options)
    sign = 1 << (to.bits - 1) if source.negative else 0
    if source.is_nan:
        if name not in FINITE_ONLY:
            return None, False
        if options["finite-only-nan"] == "max":
            return values.most_code, False
        return (0 if source.negative else 1 << (to.bits - 1)), False
    saturate = name in FINITE_ONLY or name in FLOAT8 and options["saturate"] == "true"
    if source.is_infinite:
        if not saturate:
            return infinity(name, sign), False
        if name in _FNUZ and options["fnuz-infinity"] == "nan":
            return None, True
        return sign | values.most_code, True
    if x == 0:
        return (0 if name in _FNUZ else sign), False
    beyond_most = values.most + (values.most - values.beside(values.most, False)) / 2
    beyond = abs(x) > beyond_most or abs(x) == beyond_most and values.most_code % 2 == 1
    if beyond:
        return (sign | values.most_code if saturate else infinity(name, sign)), True
    magnitude = min(abs(x), values.most)
    low, high = values.around(magnitude)
    code = values.code(low)
    if low != high and (magnitude - low > high - magnitude
                        or magnitude - low == high - magnitude and code % 2 == 1):
        code = values.code(high)
    return (0 if code == 0 and name in _FNUZ else code | sign), False


def infinity(name, sign):
    if name not in _HAVE_INFINITY:
        return None
    array = np.array([-math.inf if sign else math.inf]).astype(TYPES[name].dtype)
    return int(TYPES[name].codes(array)[0])


def integer(source, to, options):
    saturate = options["integer-overflow"] == "saturate" and source.from_float
    if not source.is_finite:
        if source.type_name is None:
            raise Refused
        if source.is_nan or not saturate:
            return 0, source.is_infinite
        return (to.low if source.negative else to.high) & VALUES[to.name].mask, True
    n = whole(source.x, to.bits)
    if source.type_name is None and not -(1 << 63) <= n < 1 << 64:
        raise Refused
    beyond = not to.low <= n <= to.high
    if beyond and saturate:
        n = to.low if n < 0 else to.high
    return n & VALUES[to.name].mask, beyond


def power_of_two(source, options):
    x, saturate, mode = source.x, options["saturate"] == "true", options["round-mode"]
    if source.is_nan:
        return None, False
    least, most = Fraction(1, 1 << 127), Fraction(1 << 127)
    if source.is_infinite:
        code = (0 if source.negative else 254) if saturate else None
        return code, True
    if x <= 0:
        return (0 if saturate else None), True
    if not saturate and not least <= x <= most:
        return None, True
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > x
    down = Fraction(2) ** exponent
    if mode == "up" and x != down or mode == "nearest" and x >= down * 3 / 2:
        exponent += 1
    return min(max(exponent + 127, 0), 254), not 0 <= exponent + 127 <= 254


def loss_of(source, name, options, code, beyond):
    """The kind of loss as docs/semantics.md defines it."""
    to, x = TYPES[name], source.x
    y = math.nan if code is None else VALUES[name].value(code)
    y_is_nan = isinstance(y, float) and math.isnan(y)
    if source.is_nan:
        return "nan" if y_is_nan else "nan_lost"
    if y_is_nan:
        return "to_nan"
    if x == y:
        return "exact"
    if to.is_integer and beyond and source.is_finite and (
            not source.from_float or options["integer-overflow"] == "wrap"):
        return "wrapped"
    if isinstance(y, float):
        return "to_infinity"
    if beyond and not (to.is_integer and options["integer-overflow"] == "wrap"):
        return "to_limit"
    return "to_zero" if y == 0 else "rounded"


class Checker:
    def __init__(self):
        self.failures = []
        self.compared = 0

    def expect(self, where, what, got, want):
        self.compared += 1
        if got != want:
            self.failures.append(f"{where}: {what} {got!r}, worked out {want!r}")

    def result(self, source, options, entry):
        name = entry["type"]
        where = f"{source.text} of {source.type_name or 'text'} to {name}"
        if options != _DEFAULTS:
            where += f" with {options}"
        if name == "string":
            self.string(where, source, options, entry)
            return
        others = {}
        for option, choices in _CHOICES.items():
            for value in choices:
                if value != options[option]:
                    others[option, value] = self.outcome(source, name, options | {option: value})
        listed = {(other["option"], other["value"]): other
                  for other in entry["with_other_options"]}
        want = self.outcome(source, name, options)
        self.expect(where, "options that change it", sorted(listed),
                    sorted(key for key, outcome in others.items() if outcome[0] != want[0]))
        for key, other in listed.items():
            code, loss = others.get(key, (None, None))
            self.code(f"{where}, {key}", name, other["result"], code)
            self.expect(f"{where}, {key}", "loss", other["loss"], loss)
        code, loss = want
        if code == "refused":
            self.expect(where, "refused", "refused" in entry and "code" not in entry, True)
            return
        self.code(where, name, entry, code)
        self.expect(where, "loss", entry["loss"], loss)
        self.figures(where, source, name, entry)

    @staticmethod
    def outcome(source, name, options):
        try:
            code, beyond = cast(source, name, options)
        except Refused:
            return "refused", None
        loss = loss_of(source, name, options, code, beyond)
        # A NaN that is copied keeps its code; one that is made has a code the model does not know.
        is_nan = code is None or isinstance(VALUES[name].value(code), float) and math.isnan(
            VALUES[name].value(code))
        return ("nan" if is_nan else code), loss

    def code(self, where, name, result, want):
        got = int(result["code"], 16)
        value = VALUES[name].value(got)
        if isinstance(value, float) and math.isnan(value):
            got = "nan"
        self.expect(where, "code", got, want)
        if isinstance(value, Fraction):
            self.expect(where, "exact value", Fraction(result["exact"]), value)
        else:
            self.expect(where, "exact value", result["exact"], str(value))

    def figures(self, where, source, name, entry):
        values, to = VALUES[name], TYPES[name]
        code = int(entry["code"], 16)
        y = values.value(code)
        self.expect(where, "bits", entry["bits"].replace(" ", ""), f"{code:0{to.bits}b}")
        self.expect(where, "hex digits", len(entry["code"]) - 2, (to.bits + 3) // 4)
        if isinstance(y, float) and math.isnan(y):
            self.expect(where, "neighbours of NaN", (entry["below"], entry["above"]), (None, None))
            self.expect(where, "error of NaN", entry["absolute_error"], None)
            return
        for side, up in (("below", False), ("above", True)):
            self.neighbour(where, side, name, entry[side], y, up)
        if isinstance(y, float):
            self.expect(where, "error of Inf", entry["absolute_error"], None)
            return
        self.expect(where, "ulp", Fraction(entry["ulp"]), values.ulp(y))
        if to.is_float and name != "float8e8m0":
            info = (np.finfo if to.native else ml_dtypes.finfo)(to.dtype)
            self.expect(where, "to_subnormal", entry["to_subnormal"],
                        0 < abs(y) < Fraction(float(info.smallest_normal)))
        lost_sign = source.is_finite and source.x == 0 and source.negative and to.is_float and (
            y == 0 and code == 0)
        self.expect(where, "zero_sign_lost", entry["zero_sign_lost"], lost_sign)
        if not source.is_finite:
            self.expect(where, "error from what is not finite", entry["absolute_error"], None)
            return
        error = abs(source.x - y)
        self.expect(where, "absolute_error", Fraction(entry["absolute_error"]), error)
        self.expect(where, "absolute_error_is_exact", entry["absolute_error_is_exact"], True)
        self.rounded(where, "error_in_ulps", entry["error_in_ulps"], error / values.ulp(y),
                     source.text)
        if source.x == 0:
            self.expect(where, "relative_error", entry["relative_error"], None)
        else:
            self.rounded(where, "relative_error", entry["relative_error"], error / abs(source.x),
                         source.text)

    def neighbour(self, where, side, name, got, y, up):
        values = VALUES[name]
        want = None
        if isinstance(y, float):  # Inf
            if (y > 0) != up:
                want = values.most if y > 0 else -values.most
        else:
            want = values.beside(y, up)
            if want is None and name in _HAVE_INFINITY:
                want = math.inf if up else -math.inf
        if got is None or want is None:
            self.expect(where, side, got, want)
        else:
            self.expect(where, side, values.value(int(got["code"], 16)), want)

    def rounded(self, where, what, got, want, source):
        """A figure of 17 digits, rounded to the nearest."""
        close = abs(Fraction(got) - want) <= abs(want) * Fraction(1, 2 * 10**16)
        self.expect(where, f"{what} {got} is that of {source}", close, True)

    def string(self, where, source, options, entry):
        if source.type_name is None:
            self.expect(where, "text", entry["text"], source.text)
            return
        source_type = TYPES[source.type_name]
        if not source_type.native or options["string-style"] != "numpy":
            return
        self.expect(where, "text", entry["text"],
                    str(source_type.array([source.code])[0]))


def codes_to_try(element_type, random):
    """Codes at the ends of every field, and some anywhere."""
    bits, last = element_type.bits, (1 << element_type.bits) - 1
    if bits <= 4:
        return list(range(last + 1))
    codes = {0, 1, 2, last, last - 1, last >> 1, (last >> 1) + 1, (last >> 1) + 2, (last >> 1) - 1}
    codes |= {int(code) for code in random.integers(0, last, 8, dtype=np.uint64, endpoint=True)}
    if element_type.is_float:
        few = np.array([0.1, 1, 1.5, -2.5, 6, 240, 448, -464, 57344, 61440, 1e-3, math.inf,
                        -math.inf, math.nan])
        with np.errstate(all="ignore"):
            codes |= {int(code) for code in element_type.codes(few.astype(element_type.dtype))}
    if element_type.kind == "bool":
        codes = {0, 1, 2, 255}
    return sorted(codes)


def explain(tool, arguments, options):
    flags = [f"--{option}={value}" for option, value in options.items()]
    return json.loads(tool.run("explain", *arguments, *flags, "--json")[0])


def check_report(checker, report, sources, options):
    checker.expect("report", "schema_version", report["schema_version"], 1)
    checker.expect("report", "values", len(report["values"]), len(sources))
    for source, value in zip(sources, report["values"]):
        checker.expect(source.text, "types", len(value["results"]), len(TYPES) + 1)
        for entry in value["results"]:
            checker.result(source, options, entry)


def check_library(checker, sources, report):
    """float32 to every type as numpy and ml_dtypes themselves cast."""
    finite = [i for i, source in enumerate(sources) if source.is_finite]
    array = TYPES["float32"].array(np.array([sources[i].code for i in finite], np.uint32))
    for target in TYPES:
        if TYPES[target].is_integer:
            array_of_target = np.where(np.abs(array) < 2**62, array, 0).astype(np.float32)
        else:
            array_of_target = array
        if target == "float8e8m0" or target == "bool":
            continue
        with np.errstate(all="ignore"):
            want = expected_codes(array_of_target, target)
        for i, x, y in zip(finite, array_of_target, want):
            if x != array[finite.index(i)]:
                continue
            entry = next(e for e in report["values"][i]["results"] if e["type"] == target)
            checker.expect(f"{sources[i].text} of float32 to {target}", "code, the library's",
                           int(entry["code"], 16), int(y))


def check_loss_counts(checker, tool, name, codes, report):
    """explain's kinds, counted, are what loss counts of the same codes in a file."""
    path = tool.folder / "codes.npy"
    write_npy(path, TYPES[name], np.array(codes, TYPES[name].code_dtype))
    flags = [flag for target in TYPES if target != name for flag in ("--to", target)]
    counted = json.loads(tool.run("loss", path, *flags, "--all-types", "--json", "-q",
                                  *assumed(name))[0])
    for candidate in counted["types"]:
        kinds = {}
        for value in report["values"]:
            entry = next(e for e in value["results"] if e["type"] == candidate["to"])
            for kind in [entry["loss"]] + [beside for beside in (
                    "to_subnormal", "zero_sign_lost", "undefined") if entry[beside]]:
                kinds[kind] = kinds.get(kind, 0) + 1
        want = {kind: count for kind, count in candidate["total"]["counts"].items() if count}
        checker.expect(f"{name} to {candidate['to']}", "kinds beside loss --json", kinds, want)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    arguments = parser.parse_args()
    random = np.random.default_rng(20261121)
    texts = _TEXTS + [repr(float(x)) for x in
                      np.ldexp(random.uniform(-2, 2, 60), random.integers(-60, 60, 60))]
    checker = Checker()
    with Tool(arguments.tool) as tool:
        for options in _OPTION_SETS:
            report = explain(tool, texts, options)
            check_report(checker, report, [Source(text) for text in texts], options)
            for name, element_type in TYPES.items():
                codes = codes_to_try(element_type, random)
                report = explain(tool, [*map(hex, codes), "--bits", name], options)
                sources = [Source(hex(code), name, code) for code in codes]
                check_report(checker, report, sources, options)
                if options == _DEFAULTS and name == "float32":
                    check_library(checker, sources, report)
                if options == _DEFAULTS and name != "bool":  # numpy writes bools as 0 and 1
                    check_loss_counts(checker, tool, name, codes, report)
    for failure in checker.failures[:40]:
        print(failure)
    if len(checker.failures) > 40:
        print(f"and {len(checker.failures) - 40} more")
    print(f"{checker.compared} figures of explain compared, {len(checker.failures)} differ")
    return 1 if checker.failures or checker.compared < 100000 else 0


if __name__ == "__main__":
    sys.exit(main())
