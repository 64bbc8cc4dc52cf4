"""Loss reports and explanations, beside figures worked out with rationals.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import oracle
import pytest
import tensorcast as tc


def figures(x, y):
    """Counts and sums of a cast of floats, in rationals."""
    finite = [(Fraction(a), Fraction(b)) for a, b in zip(x, y) if math.isfinite(a) and math.isfinite(b)]
    return {
        "exact": sum(a == b for a, b in zip(x, y)),
        "to_zero": sum(a != 0 and b == 0 for a, b in zip(x, y)),
        "sum_squares": float(sum(a * a for a, _ in finite)),
        "sum_squared_error": float(sum((a - b) ** 2 for a, b in finite)),
        "max_abs_error": float(max(abs(a - b) for a, b in finite)),
    }


@pytest.mark.parametrize("to", ["float8e4m3fn", "float8e5m2", "float4e2m1", "float16"])
def test_figures_beside_rationals(to):
    x = np.random.default_rng(9).standard_normal(3000).astype(np.float32) * 3
    y, report = tc.cast(x, to, loss=True)
    want = figures(x.tolist(), [oracle.cast_to_narrow_float(v, to) for v in x.tolist()])
    assert report.elements == 3000 and report.compared == 3000
    assert report.counts["exact"] == want["exact"] and report.counts["to_zero"] == want["to_zero"]
    assert report.max_abs_error == want["max_abs_error"]
    for name in ("sum_squares", "sum_squared_error"):  # blocks of 1,024 are summed in float64
        assert math.isclose(getattr(report, name), want[name], rel_tol=1e-13), name
    snr = 10 * math.log10(want["sum_squares"] / want["sum_squared_error"])
    assert math.isclose(report.snr_db, snr, rel_tol=1e-12)
    assert sum(list(report.counts.values())[:9]) == 3000
    assert tc.loss(x, to) == report and y.dtype == oracle.DTYPES[to]


def test_merging_is_as_one_cast():
    x = np.random.default_rng(2).standard_normal(4096).astype(np.float32)
    merged = tc.loss(x[:1024], "int4").merge(tc.loss(x[1024:], "int4"))
    whole = tc.loss(x, "int4")
    for name in ("elements", "counts", "rmse", "snr_db", "sum_squared_error", "amax"):
        assert getattr(merged, name) == getattr(whole, name)
    with pytest.raises(tc.ArgumentError):
        whole.merge(tc.loss(x, "int8"))
    with pytest.raises(tc.KindError):
        whole.merge(5)


@pytest.mark.parametrize("values", [[1e300] * 4, [math.nan], []])
def test_no_figure_is_of_nothing(values):
    report = tc.loss(np.array(values), "float16")
    assert report.compared == 0
    for name in ("snr_db", "rmse", "max_abs_error", "max_rel_error"):
        assert math.isnan(getattr(report, name)) and report.to_dict()[name] is None
    assert "SNR –" in repr(report) and 'SNR</th><td class="figure">–' in report._repr_html_()
    json.dumps(report.to_dict(), allow_nan=False)


def test_figures_at_the_ends():
    exact = tc.loss(np.float32([1, 2]), "float16")
    assert exact.snr_db == math.inf and "SNR ∞" in repr(exact)
    assert exact.to_dict()["snr_db"] is None
    beyond = tc.loss(np.array([1e200, 1.1e200]), "float32", from_type="float64")
    assert beyond.compared == 0
    squares = tc.loss(np.array([1.1e200]), "int8", like=None)
    assert squares.compared == 1 and math.isnan(squares.snr_db) and "SNR ?" in repr(squares)
    like = tc.loss(np.float32([0.1]), like=np.zeros(1, np.float16))
    assert like.to_type == "float16" and like.counts["rounded"] == 1
    with pytest.raises(tc.ArgumentError):
        tc.loss([1.0], "int8", loss=True)


def test_a_report_is_data():
    report = tc.loss(np.float32([0.1, 512, math.nan]), "float8e4m3fn")
    assert json.loads(json.dumps(report.to_dict()))["counts"]["to_limit"] == 1
    assert pickle.loads(pickle.dumps(report)) == report
    assert "snr_db" in dir(report)
    with pytest.raises(AttributeError):
        report.nonsense
    assert report.first["to_limit"] == {"index": 1, "source_code": 0x44000000, "result_code": 0x7E,
                                        "source": 512.0, "result": 448.0}


def test_explanations():
    e = tc.explain("0.1", "float8e4m3fn")
    assert Fraction(e.value) == oracle.nearest_magnitude(Fraction("0.1"), "float8e4m3fn")
    assert Fraction(e.error) == abs(Fraction("0.1") - Fraction(e.value))
    assert tc.explain(0.1, "float8e4m3fn").error != e.error  # every digit of the float64 counts
    assert Fraction(tc.explain(0.1, "float32").error) == abs(Fraction(0.1) - Fraction(float(np.float32(0.1))))
    assert tc.explain(np.float32(0.1), "float64").loss == "exact"
    assert tc.explain(512, "float8e4m3fn").others == [
        {"option": "saturate", "value": "false", "code": 0x7F, "loss": "to_nan"}]
    with pytest.raises(tc.RangeError):
        tc.explain(2**64, "int8")
    assert tc.explain(2**64 - 1, "int8").code == 0xFF
    assert tc.explain(np.array(-1, oracle.DTYPES["int4"])[()], "int8").code == 0xFF
    assert tc.explain("1.5", "string").code == "1.5" == tc.explain("1.5", "string").value
    assert tc.explain(10**5000, "float32").loss == "to_infinity"
    assert len({e, e}) == 1
    with pytest.raises(tc.ArgumentError, match='"half" is not a number'):
        tc.explain("half", "int8")
    with pytest.raises(tc.Error):
        tc.explain("1\ud800", "bfloat16")
    with pytest.raises(tc.KindError):
        tc.explain([1.0, 2.0], "int8")
    assert "<table>" in e._repr_html_()


def test_finfo_beside_ml_dtypes():
    import ml_dtypes

    for name, dtype in oracle.DTYPES.items():
        info = tc.finfo(name)
        assert info.dtype == dtype and tc.finfo(dtype).name == name == tc.type_name(dtype)
        if name == "bool":
            continue
        theirs = ml_dtypes.finfo(dtype) if info.kind == "float" else ml_dtypes.iinfo(dtype)
        assert info.max == theirs.max and info.bits == theirs.bits
        if name != "float8e8m0":
            assert info.min == theirs.min
        if info.kind == "float":
            assert info.smallest_normal == float(theirs.smallest_normal)
            assert info.eps == float(theirs.eps) and info.mantissa_bits == theirs.nmant
    assert len(tc.type_names()) == len(oracle.DTYPES) + 1 and tc.finfo("string").dtype == object


def test_names_of_types():
    import onnx

    for number in tc._core.type_numbers():
        name = onnx.TensorProto.DataType.Name(number)
        assert tc.finfo(number).onnx_name == name and tc.type_name(name) == tc.type_name(number)
    assert tc.type_name(float) == "float64" and tc.type_name(np.float16) == "float16"
    assert tc.type_name(int) == "int64" and tc.type_name(str) == "string" and tc.type_name(bool) == "bool"
    assert tc.type_name("<f4") == tc.type_name(np.dtype(">f4")) == "float32"
