"""Casts from and to string, in each of numpy's ways to hold texts.

SPDX-License-Identifier: Apache-2.0
"""
import math
from fractions import Fraction

import numpy as np
import oracle
import pytest
import tensorcast as tc
from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = ["1", "-0.5", "1e5", " 7 ", "inf", "-Infinity", "NaN", "1e-400", "1e400", "65519.99", "+.5", "2."]


def forms(words):
    """The same texts in every way."""
    yield list(words)
    yield np.array(words, object)
    yield np.array(words)
    yield np.array([word.encode() for word in words])
    yield np.array([word.encode() for word in words], object)
    yield np.array(words, np.dtypes.StringDType())
    yield np.array(words).astype(np.array(words).dtype.newbyteorder())
    yield np.array([words, words], object).T[:, 0]


def test_every_form_reads_alike():
    want = [float(word) for word in WORDS]  # Python's float is correctly rounded
    for form in forms(WORDS):
        got = tc.cast(form, "float64").tolist()
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(got, want)), form


@settings(max_examples=300, deadline=None)
@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=None), min_size=1, max_size=8),
       st.sampled_from(oracle.NARROW_FLOATS))
def test_decimals_are_rounded_once(numbers, to):
    texts = [str(number) for number in numbers]
    got = tc.parse(texts, to).astype(float).tolist()
    for text, result in zip(texts, got):
        exact = Fraction(text)
        magnitude = oracle.nearest_magnitude(abs(exact), to)
        if magnitude is None:
            assert abs(result) in (math.inf, float(oracle._finite_values(to)[0][-1]))
        else:
            assert abs(Fraction(result)) == magnitude, text


@pytest.mark.parametrize("name", [n for n in oracle.DTYPES if oracle.DTYPES[n].itemsize <= 2 and n != "float8e8m0"])
def test_every_code_prints_and_reads_back(name):
    x = oracle.every_code(name)
    texts = tc.format(x)
    assert texts.dtype == object and all(type(text) is str for text in texts)
    back = tc.parse(texts, name, saturate=False)  # or float8e5m2's inf would be its largest value
    value, again = x.astype(np.float64), back.astype(np.float64)
    assert np.array_equal(value, again, equal_nan=True)


def test_numbers_print_as_numpy_prints_them():
    x = np.random.default_rng(4).integers(0, 2**64, 2000, np.uint64).view(np.float64)
    x = np.concatenate([x, [0.1, 1e22, 1e16, -0.0, 5e-324, math.inf, math.nan, 123456789.0]])
    got = tc.format(x)
    assert got.tolist() == [str(value) for value in x.tolist()] or got.tolist() == [
        np.format_float_positional(v, trim="0") if 1e-4 <= abs(v) < 1e16 or v == 0 else
        np.format_float_scientific(v, trim="-") for v in x]
    assert tc.cast(np.int8([-128, 7]), "string").tolist() == ["-128", "7"]
    assert tc.cast([True, False], "string").tolist() == ["True", "False"]
    assert tc.format([1.5, -0.0], "ort").tolist() == ["1.5", "-0"]


def test_destinations_of_texts():
    x = np.float32([0.5, 100])
    assert tc.cast(x, "string").tolist() == ["0.5", "100.0"]
    assert tc.cast(x, str).dtype == "<U5" and tc.cast(x, np.str_).tolist() == ["0.5", "100.0"]
    assert tc.cast(x, bytes).tolist() == [b"0.5", b"100.0"]
    assert tc.cast(x, "U" and np.dtype("U9")).dtype == "<U9"
    assert tc.cast(x, np.dtypes.StringDType()).dtype == np.dtypes.StringDType()
    with pytest.raises(tc.KindError, match="the longest"):
        tc.cast(x, np.dtype("S3"))
    out = np.empty(2, object)
    assert tc.cast(x, out=out) is out and out.tolist() == ["0.5", "100.0"]
    wide = np.empty((2, 2), "U7")
    tc.cast([["1", "äöü€"], ["𝛑", ""]], out=wide)
    assert wide.tolist() == [["1", "äöü€"], ["𝛑", ""]]
    assert tc.cast(np.float32(0.5), "string") == "0.5"
    assert tc.cast(b"7", "int8") == 7


def test_narrow_and_packed():
    assert tc.parse(["1.5", "2.5", "-3"], "int4").astype(int).tolist() == [2, 2, -3]
    assert tc.parse(["1", "2", "3"], "uint4", packed=True).tolist() == [0x21, 0x03]
    assert tc.cast(np.uint8([0x21, 0x03]), "string", from_type="uint4", packed=True, shape=3).tolist() == ["1", "2", "3"]


def test_the_first_that_is_no_number_is_named():
    with pytest.raises(tc.ArgumentError, match=r'x\[1, 0\] is "zwei", which is not a number'):
        tc.cast(np.array([["1", "2"], ["zwei", "drei"]]), "float32", threads=2)


def test_many_on_several_threads():
    x = np.arange(300_000, dtype=np.int32)
    texts = tc.cast(x, "string", threads=3)
    assert texts[::1000].tolist() == [str(i) for i in range(0, 300_000, 1000)]
    assert np.array_equal(tc.parse(texts, "int32", threads=3), x)
