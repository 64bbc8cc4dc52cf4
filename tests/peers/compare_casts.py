#!/usr/bin/env python3
"""Compares the tool with one library, bit for bit, on every pair of types the library has.

Every difference must fall under a rule of rules.py and every rule must have a witness. Inputs for
which C leaves the conversion undefined are counted apart.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import sys

import numpy as np

from element_types import TYPES
from inputs import codes_of
from libraries import LIBRARIES, Refused
from rules import RULES, Differences
from tool import Tool

_SHOWN = 5


def undefined(library, source, target, x):
    """Where the library's C conversion has no defined result: floating values an integer lacks."""
    if not (source.is_float and target.is_integer):
        return np.zeros(x.size, bool)
    if target.bits < 8:
        # ml_dtypes sees to large values itself, ONNX Runtime converts to int32 first.
        return ~np.isfinite(x) | (library.name == "onnxruntime") & (np.abs(x) >= 2.0**31 - 1)
    whole = np.trunc(x)
    return ~((whole >= target.low) & (whole <= target.high))


class Comparison:
    """One library against the tool, over all pairs."""

    def __init__(self, library, tool):
        self.library, self.tool = library, tool
        self.rules = [rule for rule in RULES if library.name in rule.libraries]
        self.witnesses = collections.Counter()
        self.pairs = self.refused = self.values = self.undefined = self.differences = 0
        self.failures = []

    def run(self, sources, targets):
        for source in sources:
            codes = codes_of(source)
            x = TYPES[source].values(codes)
            for target in targets:
                self._pair(source, target, codes, x)

    def _pair(self, source, target, codes, x):
        for options in self.library.option_sets(source, target):
            try:
                theirs = self.library.cast(source, codes, target, options)
            except Refused:
                self.refused += 1
                return
            self._cast(TYPES[source], TYPES[target], options, codes, x, theirs)
        self.pairs += 1

    def _cast(self, source, target, options, codes, x, theirs):
        flags = [part for name, value in options.items() for part in (f"--{name}", value)]
        ours = self.tool.cast(source.name, codes, target.name, flags)
        left_open = undefined(self.library, source, target, x)
        self.values += codes.size
        self.undefined += int(left_open.sum())
        differ = np.flatnonzero((theirs != ours) & ~left_open)
        if not differ.size:
            return
        self.differences += differ.size

        def cast_float32(values):
            return self.tool.cast("float32", values.view(np.uint32), target.name, flags)

        def library_float32(values):
            return self.library.cast("float32", values.view(np.uint32), target.name, options)

        differences = Differences(source, target, options, x[differ], theirs[differ],
                                  ours[differ], cast_float32, library_float32)
        explained = np.zeros(differ.size, bool)
        for rule in self.rules:
            if not explained.all() and rule.applies(source, target, options):
                with np.errstate(all="ignore"):
                    holds = rule.holds(differences) & ~explained
                self.witnesses[rule.name] += int(holds.sum())
                explained |= holds
        if not explained.all():
            self._fail(source, target, flags, codes, x, theirs, ours, differ[~explained])

    def _fail(self, source, target, flags, codes, x, theirs, ours, where):
        lines = [f"{source.name} → {target.name} {' '.join(flags)}: {where.size} differences "
                 "under no rule"]
        for i in where[:_SHOWN]:
            lines.append(f"  {codes[i]:0{source.dtype.itemsize * 2}X} ({float(x[i])!r}): "
                         f"{self.library.name} {theirs[i]:0{target.dtype.itemsize * 2}X}, "
                         f"ours {ours[i]:0{target.dtype.itemsize * 2}X}")
        self.failures.append("\n".join(lines))

    def report(self, everything):
        """Prints what was seen; returns whether all is well."""
        print(f"{self.library.name}: {self.pairs} pairs, {self.refused} it does not have, "
              f"{self.values} values; {self.undefined} whose result C leaves undefined; "
              f"{self.differences} differences")
        for rule in self.rules:
            print(f"  {rule.name}: {self.witnesses[rule.name]}")
            if everything and not self.witnesses[rule.name]:
                self.failures.append(f"rule {rule.name} has no witness")
        if everything and self.pairs != self.library.pairs:
            self.failures.append(f"{self.pairs} pairs compared, expected {self.library.pairs}: "
                                 "has another version of the library been installed?")
        for failure in self.failures:
            print(failure)
        return not self.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--from", dest="sources", nargs="+", choices=TYPES, help="only these")
    parser.add_argument("--to", dest="targets", nargs="+", choices=TYPES, help="only these")
    arguments = parser.parse_args()
    with Tool(arguments.tool) as tool:
        comparison = Comparison(LIBRARIES[arguments.library](), tool)
        comparison.run(arguments.sources or TYPES, arguments.targets or TYPES)
    everything = not (arguments.sources or arguments.targets)
    return 0 if comparison.report(everything) else 1


if __name__ == "__main__":
    sys.exit(main())
