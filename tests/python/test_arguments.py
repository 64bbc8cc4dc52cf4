"""The extension reads a call's arguments itself: by place, by name, None, options, whatever names them.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest
import tensorcast as tc

PACKAGE = str(pathlib.Path(tc.__file__).parent)
X = np.float32([[0.1, 448, 1000, -3.5], [7, -8, 0, 2.5]])


def same(first, second):
    return type(first) is type(second) and first.dtype == second.dtype and first.tobytes() == second.tobytes()


def test_every_way_to_say_one_call():
    want = tc.cast(X, "float8_e4m3fn")
    kind = ml_dtypes.float8_e4m3fn
    for call in (lambda: tc.cast(X, to="float8_e4m3fn"), lambda: tc.cast(x=X, to=kind), lambda: tc.cast(X, np.dtype(kind)),
                 lambda: tc.cast(X, 17), lambda: tc.cast(to=kind, x=X), lambda: tc.cast(X, like=want),
                 lambda: tc.cast(X, kind, like=want[:0]), lambda: tc.cast(X, out=np.zeros_like(want)),
                 lambda: tc.cast(X, kind, out=np.zeros_like(want), threads=1),
                 lambda: tc.cast(X, kind, like=None, out=None, packed=False, from_type=None, shape=None, loss=False,
                                 threads=None, saturate=True, round_mode="up", string_style="numpy"),
                 lambda: tc.cast(X, kind, **{"".join(["pack", "ed"]): False}), lambda: tc.cast(X, kind, packed=True),
                 lambda: tc.cast(X.view(np.uint32), kind, from_type="float32"), lambda: tc.cast(X.astype(">f4"), kind),
                 lambda: tc.cast(np.repeat(X, 2, 1)[:, ::2], kind), lambda: tc.cast(X, kind, loss=True)[0]):
        for _ in range(2):  # once more, when the type is remembered
            assert same(call(), want)


def test_options_are_each_calls_own():
    x = np.float32([1e6, -1e6, np.nan, 300])
    for _ in range(3):
        for overflow in ("wrap", "saturate"):
            for saturate in (True, False):
                assert tc.cast(x, "float8_e4m3fn", saturate=saturate, integer_overflow=overflow).tobytes() == \
                    tc.cast(x, "float8_e4m3fn", saturate=saturate, loss=True)[0].tobytes()
            assert tc.cast(x, "int8", integer_overflow=overflow).tolist() == \
                tc.cast(x, "int8", integer_overflow=overflow, loss=True)[0].tolist()
        for mode in ("up", "down", "nearest"):
            assert tc.cast(x[3:], "float8_e8m0", round_mode=mode).tobytes() == \
                tc.cast(x[3:], "float8_e8m0", round_mode=mode, loss=True)[0].tobytes()


@pytest.mark.parametrize("options", [{}, {"integer_overflow": "saturate"}, {"saturate": False}])
def test_narrow_types_of_a_byte_are_as_packed_ones(options):
    """Elements of less than a byte that take one, beside the library's own packed ones: every pair that has one,
    every code."""
    names = [name for name in tc.type_names() if name != "string"]
    for first in names:
        row = tc.finfo(first)
        codes = np.random.default_rng(1).integers(0, 2**64, 20_000, dtype=np.uint64).astype(f"u{row.dtype.itemsize}")
        codes[:256] = np.arange(256)
        x = codes.view(row.dtype) if first != "bool" else (codes & 1).view(bool)
        stream = {"from_type": first, "packed": "in", "shape": x.size} if row.bits < 8 else {}
        read = tc.cast(x, first, packed=True, loss=True)[0] if stream else x
        for second in names:
            if row.bits >= 8 and tc.finfo(second).bits >= 8:
                continue
            want = tc.cast(read, second, loss=True, **stream, **options)[0].tobytes()
            assert tc.cast(x, second, **options).tobytes() == want, (first, second)
            assert tc.cast(x, second, threads=2, **options).tobytes() == want, (first, second)


def test_no_python_is_on_the_way():
    out = np.zeros(X.shape, np.float16)
    calls = [lambda: tc.cast(X, "int8"), lambda: tc.cast(X, to=np.float64), lambda: tc.cast(X, out=out, threads=1),
             lambda: tc.cast(X.T, "int8"), lambda: tc.cast(X[:, ::-1], "int8", saturate=False),
             lambda: tc.cast(X.astype(">f4"), "int8"), lambda: tc.cast(X, like=out), lambda: tc.cast(X, "int4", packed=True)]
    for call in calls:
        call()
        seen = []
        sys.setprofile(lambda frame, event, _: seen.append(frame.f_code) if event == "call" else None)
        try:
            call()
        finally:
            sys.setprofile(None)
        assert [code.co_name for code in seen if code.co_filename.startswith(PACKAGE)] == []


def test_what_is_refused_by_name():
    with pytest.raises(TypeError, match="multiple values"):
        tc.cast(X, "int8", to="int8")
    with pytest.raises(tc.KindError, match="cast has no option 'sturate': the nearest is saturate"):
        tc.cast(X, "int8", sturate=False)
    with pytest.raises(TypeError):
        tc.cast()
    with pytest.raises(TypeError):
        tc.cast(X, "int8", X)
    for wrong, words in (({}, "needs a type"), ({"to": "int8", "like": X}, "like holds float32"),
                         ({"to": "int8", "out": X}, "out holds float32"), ({"out": X, "like": X}, "give one"),
                         ({"to": "int8", "threads": -1}, "threads is -1"), ({"to": "int8", "packed": "both"}, "packed must be"),
                         ({"to": "int8", "shape": 3}, "shape is for a packed x"),
                         ({"to": "int8", "from_type": "int8"}, "from_type int8 has 1")):
        with pytest.raises(tc.ArgumentError, match=words):
            tc.cast(X, **wrong)
