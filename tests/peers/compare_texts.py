#!/usr/bin/env python3
"""Compares the product's string casts with one library's, text by text and code by code.

Every difference must fall under a rule of text_rules.py and every rule must have a witness.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import ctypes
import fractions
import subprocess
import sys
import warnings

import numpy as np
import onnx
from onnx import helper

from element_types import TYPES
from inputs import codes_of
from text_rules import REFUSED, TEXT_RULES, Printed, Read

_SHOWN = 8
_READ_AS = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32",
            "uint16", "uint8")
_ODD_TEXTS = (
    "nan", "-nan", "NaN", "+nan", "inf", "-inf", "+Inf", "INFINITY", "-infinity", "inf.", "infx",
    "nan0", "na", "", " ", "  1.5", "1.5 ", "\t1\r", "+1", "+.5", "-.5", "1.", "1.e1", ".", "e5",
    "1e", "1e+", "1e5", "1E+5", "100.5", "2.718", "-0", "-0.0", "0e999999999999", "1e400", "-1e400",
    "1e-400", "1e-310", "4.9e-324", "2.4703282292062328e-324", "1e308", "0x10", "0x1p3", "1_000",
    "1_0", "1x", "1,5", "1 2", "12abc", "--1", "+-1", "٣", "१२", "１", "1\u00a0", "\u20031", "²",
    "300", "-1", "-300", "65536", "128", "255", "256", "4294967296", "9223372036854775807",
    "9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
    "-9223372036854775809", "99999999999999999999", "1e18", "1.9", "-1.9", "true", "none",
    # What bool, the 4- and 2-bit integers and the narrow floats turn on.
    "True", "FALSE", "false", "0", "00", "0.5", "-0.5", "1.5", "2.5", "-2.5", "3.5", "7.5", "8", "15.5",
    "2.5x", "0x0", "1e-999", "1.0625000001", "1.1250000001", "1.0039062500001", "464", "464.0001",
    "480", "61440", "16777217", "2.49999999999", "2.4999999999999999999", "0.1", "1.0000000001", "1e-40", "6e-39", "2e38")


def exact(value):
    """A float64's exact decimal."""
    ratio = fractions.Fraction(float(value))
    power = ratio.denominator.bit_length() - 1
    digits = str(abs(ratio.numerator) * 5**power)
    sign = "-" if ratio < 0 else ""
    if power == 0:
        return sign + digits
    digits = digits.rjust(power + 1, "0")
    return f"{sign}{digits[:-power]}.{digits[-power:]}"


def texts_to_read():
    """Odd texts; random numbers; exact midpoints of float32 and float16 and what lies beside."""
    rng = np.random.default_rng(20261121)
    texts = list(_ODD_TEXTS)
    for _ in range(6000):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, 25))))
        point = int(rng.integers(0, len(digits) + 1))
        exponent = f"e{rng.integers(-60, 60)}" if rng.integers(0, 2) else ""
        texts.append(f"{'-' * int(rng.integers(0, 2))}{digits[:point]}.{digits[point:]}{exponent}")
    for dtype in (np.float32, np.float16):
        bits = np.dtype(dtype).itemsize * 8
        codes = rng.integers(0, (0x7F7FFFFF, 0x7BFF)[bits == 16], 4000)
        values = codes.astype(f"u{bits // 8}").view(dtype).astype(np.float64)
        above = (codes + 1).astype(f"u{bits // 8}").view(dtype).astype(np.float64)
        for middle in (values + above) / 2:
            if not np.isfinite(middle):
                continue
            text = exact(middle)
            texts += [text, (text if "." in text else text + ".") + "0" * 30 + "1"]
    texts += [str(n) for n in rng.integers(-(1 << 62), 1 << 62, 2000)]
    return texts


class Product:
    """The executable cast_text."""

    def __init__(self, executable):
        self._executable = executable

    def _run(self, *arguments, data):
        done = subprocess.run([self._executable, *arguments], input=data, capture_output=True,
                              check=True)
        return done.stdout.decode("ascii").splitlines()

    def printed(self, source, codes, style):
        return self._run("print", source, style, data=codes.astype("<u8").tobytes())

    def read(self, target, texts):
        data = "".join(text + "\n" for text in texts).encode()
        return [word if word.startswith("not-") else int(word, 16)
                for word in self._run("parse", target, data=data)]


class Numpy:
    """numpy's astype to and from str; int, bool and its own floats."""

    name, style = "numpy", "numpy"
    prints = [t.name for t in TYPES.values() if t.native]

    @staticmethod
    def printed(source, codes):
        return TYPES[source].array(codes).astype(str).tolist()

    @staticmethod
    def read(target, text):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = np.array([text]).astype(TYPES[target].dtype)
            except (ValueError, OverflowError):
                return REFUSED
        return int(TYPES[target].codes(value)[0])

    reads = _READ_AS + ("bool",)

    def read_each(self, target, texts):
        return [self.read(target, text) for text in texts]


class MlDtypes:
    """str() of ml_dtypes' scalars; it casts neither from nor to str."""

    name, style = "ml_dtypes", "numpy"
    prints = [t.name for t in TYPES.values() if t.is_float and not t.native]
    reads = ()

    @staticmethod
    def printed(source, codes):
        return [str(value) for value in TYPES[source].array(codes)]


class OnnxReference:
    """ONNX's reference evaluator, at the opset of the stored string tests and at the newest."""

    name, style = "onnx", "numpy"
    prints = [t.name for t in TYPES.values() if t.name in ("float64", "float32", "float16")]
    reads = _READ_AS + ("bool",)

    @staticmethod
    def printed(source, codes):
        from onnx.reference import ReferenceEvaluator

        model = _cast(TYPES[source].onnx_type, onnx.TensorProto.STRING)
        result = ReferenceEvaluator(model).run(None, {"x": TYPES[source].array(codes)})[0]
        return [str(text) for text in result]

    @staticmethod
    def read_each(target, texts):
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(_cast(onnx.TensorProto.STRING, TYPES[target].onnx_type))

        def read(text):
            try:
                result = evaluator.run(None, {"x": np.array([text], object)})[0]
            except (ValueError, OverflowError):
                return REFUSED
            return int(TYPES[target].codes(np.asarray(result))[0])

        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [read(text) for text in texts]


class OnnxRuntime:
    """ONNX Runtime's Cast."""

    name, style = "onnxruntime", "ort"
    prints = ["float64", "float32", "float16", "bool", "int64", "int32", "int16", "int8", "uint64",
              "uint32", "uint16", "uint8"]
    reads = _READ_AS + ("bool", "int4", "uint4", "int2", "uint2", "bfloat16", "float8e4m3fn",
                        "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0")

    def __init__(self):
        from onnx_runs import open_session

        self._session = open_session

    def printed(self, source, codes):
        session = self._session(_cast(TYPES[source].onnx_type, onnx.TensorProto.STRING))
        return session.run(None, {"x": TYPES[source].array(codes)})[0].tolist()

    def read_each(self, target, texts):
        """One text at a time tells which are refused; those that are not are then cast at once."""
        to = TYPES[target]
        # numpy has no name for half of these types: a second Cast makes it float32 or int32.
        back = onnx.TensorProto.FLOAT if to.is_float else onnx.TensorProto.INT32
        session = self._session(_cast(onnx.TensorProto.STRING, to.onnx_type, back))

        def accepts(text):
            try:
                session.run(None, {"x": np.array([text], object)})
            except Exception as error:  # the library's exceptions have no base of their own
                if type(error).__module__.startswith("onnxruntime"):
                    return False
                raise
            return True

        accepted = [accepts(text) for text in texts]
        kept = [text.encode() for text, good in zip(texts, accepted) if good]
        constant = onnx.TensorProto(data_type=onnx.TensorProto.STRING, dims=[len(kept)], name="x",
                                    string_data=kept)
        model = _cast(onnx.TensorProto.STRING, to.onnx_type)
        del model.graph.input[:]
        model.graph.initializer.append(constant)
        result = self._session(model).run_with_ort_values(["y"], {})[0]
        size = (len(kept) * to.bits + 7) // 8
        data = ctypes.string_at(result._ortvalue.data_ptr(), size)
        codes = iter(to.unpacked(data, len(kept)))
        return [int(next(codes)) if good else REFUSED for good in accepted]


def _cast(source, target, back=None):
    """A model that is a Cast of x to y, or of x to a target and from there back to a third type."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=target)]
    if back is not None:
        nodes = [helper.make_node("Cast", ["x"], ["narrow"], to=target),
                 helper.make_node("Cast", ["narrow"], ["y"], to=back)]
    graph = helper.make_graph(nodes, "cast", [value("x", source, [None])],
                              [value("y", back or target, [None])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


LIBRARIES = {library.name: library for library in (Numpy, MlDtypes, OnnxReference, OnnxRuntime)}


class Comparison:
    def __init__(self, library, product):
        self.library, self.product = library, product
        self.rules = [rule for rule in TEXT_RULES if library.name in rule.libraries]
        self.witnesses = collections.Counter()
        self.differences = 0
        self.failures = []

    def _explain(self, difference):
        self.differences += 1
        for rule in self.rules:
            if isinstance(difference, rule.kind) and rule.holds(difference):
                self.witnesses[rule.name] += 1
                return
        self.failures.append(difference)

    def print_all(self):
        count = 0
        for source in self.library.prints:
            codes = codes_of(source)
            values = TYPES[source].values(codes)
            theirs = self.library.printed(source, codes)
            ours = self.product.printed(source, codes, self.library.style)
            assert len(theirs) == len(ours) == codes.size
            count += codes.size
            for i, (their, our) in enumerate(zip(theirs, ours)):
                if their != our:
                    self._explain(Printed(source, values[i], their, our))
        return count

    def read_all(self):
        texts = texts_to_read()
        # Lines are how the product is asked.
        assert not any("\n" in text for text in texts)
        for target in self.library.reads:
            ours = self.product.read(target, texts)
            theirs = self.library.read_each(target, texts)
            assert len(ours) == len(theirs) == len(texts)
            for text, their, our in zip(texts, theirs, ours):
                if isinstance(our, str) and their == REFUSED or their == our:
                    continue
                self._explain(Read(text, target, their, our))
        return len(texts) * len(self.library.reads)

    def report(self, printed, read):
        print(f"{self.library.name}: {printed} numbers printed, {read} texts read, "
              f"{self.differences} differences")
        for rule in self.rules:
            print(f"  {rule.name}: {self.witnesses[rule.name]}")
            if not self.witnesses[rule.name]:
                self.failures.append(f"rule {rule.name} has no witness")
        for failure in self.failures[:_SHOWN]:
            print(failure)
        if len(self.failures) > _SHOWN:
            print(f"... and {len(self.failures) - _SHOWN} more under no rule")
        return not self.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cast_text", help="the executable tests/text/cast_text")
    parser.add_argument("library", choices=LIBRARIES)
    arguments = parser.parse_args()
    comparison = Comparison(LIBRARIES[arguments.library](), Product(arguments.cast_text))
    with np.errstate(all="ignore"):
        return 0 if comparison.report(comparison.print_all(), comparison.read_all()) else 1


if __name__ == "__main__":
    sys.exit(main())
