"""Exponents beside numpy's frexp and the tool's, windows of types beside ml_dtypes' casts, and what is drawn of both.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import pathlib
import pickle
import subprocess
import sys

import matplotlib
import ml_dtypes
import numpy as np
import pytest
import tensorcast as tc

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def hold(found, values):
    """`found` counts what frexp says of the values, which are float64 or Python's own numbers."""
    powers = {}
    for value in values:
        if math.isfinite(value) and value != 0:
            power = math.frexp(value)[1] - 1 if isinstance(value, float) else abs(value).bit_length() - 1
            powers[power] = powers.get(power, 0) + 1
    assert found.elements == len(values)
    assert found.zeros == sum(value == 0 for value in values)
    assert found.not_finite == sum(not math.isfinite(value) for value in values)
    assert {found.first + place: n for place, n in enumerate(found.counts) if n} == powers
    assert not found.counts or found.counts[0] and found.counts[-1]


SPECIAL = [0.0, -0.0, 1.0, -1.5, 3.75, 448.0, 1e-40, -1e-45, 6e-8, 1e30, 1e-30, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
                                   ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e3m2fn])
def test_floats_beside_frexp(dtype):
    with np.errstate(over="ignore"):
        x = np.concatenate([SPECIAL, np.random.default_rng(3).standard_normal(3000) * 4]).astype(dtype)
    hold(tc.exponents(x), x.astype(np.float64).tolist())
    hold(tc.exponents(x.reshape(2, -1)[:, ::3]), x.reshape(2, -1)[:, ::3].ravel().astype(np.float64).tolist())


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64, ml_dtypes.int4, ml_dtypes.uint2])
def test_integers_beside_python(dtype):
    low, high = (int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max))
    numbers = [low, high, 0, 1, *(high >> shift for shift in range(high.bit_length()))] * 40
    hold(tc.exponents(np.array([number for number in numbers], object).astype(dtype)), numbers)


def test_other_inputs():
    assert tc.exponents([1, 2, 3]) == tc.exponents(np.arange(1, 4))
    codes = np.array([0x21, 0x43, 0xF8], np.uint8)  # 1, 2, 3, 4, -8, and what is no element
    hold(tc.exponents(codes, from_type="int4", packed=True, shape=5), [1, 2, 3, 4, -8])
    hold(tc.exponents(np.uint16([0x3F80, 0x7F80]), from_type="bfloat16"), [1.0, math.inf])
    none = tc.exponents([])
    assert none.counts == () and none.elements == 0 and "0 values" in none._repr_html_()
    assert pickle.loads(pickle.dumps(tc.exponents([1.0]))) == tc.exponents([1.0])
    with pytest.raises(tc.UnsupportedError, match="texts have no exponents"):
        tc.exponents(["1"])
    with pytest.raises(tc.KindError, match="exponents has no option 'from_typ': the nearest is from_type"):
        tc.exponents([1], from_typ="int8")


def test_of_files_and_as_the_tool(tmp_path):
    rng = np.random.default_rng(4)
    w = (rng.standard_normal((256, 512)) * 0.02).astype(np.float32)
    name = "model.layers.0.mlp.up_proj.weight"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json").write_text("{}", encoding="utf-8")
    tc.save_file({name: w, "n": np.arange(-5, 5)}, tmp_path / "a" / "model.safetensors")
    tc.convert(tmp_path / "a", tmp_path / "b", to="fp8-block")
    tool = pathlib.Path(sys.prefix) / "bin" / "tensorcast"
    for path, type_of_w in ((tmp_path / "a", "float32"), (tmp_path / "b", "float64")):
        with tc.open(path) as file:
            found = file.exponents(name)
            assert found.type == type_of_w
            hold(found, file.get(name, to="float64").ravel().tolist())
            hold(file.exponents("n"), list(range(-5, 5)))
            if type_of_w == "float64":
                hold(file.exponents(name, ignore_scales=True), file.raw.get(name, to="float64").ravel().tolist())
                assert file.raw.exponents(name) == file.exponents(name, ignore_scales=True)
            with pytest.raises(tc.ArgumentError, match="has no tensor"):
                file.exponents("x")
        done = subprocess.run([tool, "inspect", path, "--histogram", name, "--json"], capture_output=True, text=True, check=True)
        (said,) = json.loads(done.stdout)["histograms"]
        assert [said["exponents"][each] for each in ("first_exponent", "counts")] == [found.first, list(found.counts)]
        for each in said["types"]:
            beside = found.beside(each["type"])
            assert (beside.to_zero, beside.to_subnormal, beside.beyond) == (each["to_zero"], each["to_subnormal"], each["beyond"])


def test_texts_of_a_file(tmp_path):
    np.save(tmp_path / "t.npy", np.array(["1", "2"]))
    with tc.open(tmp_path / "t.npy") as file, pytest.raises(tc.UnsupportedError, match="which has no exponents"):
        file.exponents("t")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float6_e2m3fn", "float4_e2m1fn"])
def test_windows_beside_ml_dtypes(name):
    """Of each power of two what its least and greatest number become."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    limits = ml_dtypes.finfo(dtype)
    for power in range(-160, 120):
        low, high = math.ldexp(1.0, power), math.nextafter(math.ldexp(2.0, power), 0)
        with np.errstate(over="ignore"):
            becomes_zero = float(np.float64(high).astype(dtype)) == 0
        want = ("to_zero" if becomes_zero else "beyond" if low > float(limits.max) else
                "to_subnormal" if high < float(limits.smallest_normal) else None)
        beside = tc.exponents([low, high, high]).beside(name)
        assert {each: getattr(beside, each) for each in ("to_zero", "to_subnormal", "beyond")} == {
            each: 3 * (each == want) for each in ("to_zero", "to_subnormal", "beyond")}, power


def test_windows_of_integers():
    found = tc.exponents([0.4, 0.6, 1.5, 100, 300])
    assert (found.beside("int8").to_zero, found.beside("int8").beyond) == (2, 1)  # truncated
    assert (found.beside("int4").to_zero, found.beside("int4").beyond) == (1, 2)  # to the nearest
    for name in ("bool", "float8e8m0", "string"):
        with pytest.raises(tc.ArgumentError, match=f"{name} has no range to compare exponents with"):
            found.beside(name)


def test_a_page_draws_what_was_counted():
    found = tc.exponents(np.float32([0, math.nan, 0.25, 1, 1.5, 1e-9]))
    page = found._repr_html_()
    assert page.count("<rect") == 3 and "<title>2^0: 2</title>" in page and "6 values of float32, 1 zero, 1 Inf or NaN" in page
    assert '<tr><td>float4e2m1</td><td class="figure">16.7 %</td>' in page  # of all values
    frame = found.to_frame()
    assert frame.loc[0, "count"] == 2 and frame.loc[-2, "count"] == 1 and frame["count"].sum() == 4


def test_plot_loss():
    x = np.random.default_rng(5).standard_normal(1000).astype(np.float32)
    losses = tc.loss(x, ["float16", "float4_e2m1fn", "bfloat16"])
    ax = tc.plot_loss(losses)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["float4e2m1", "bfloat16", "float16"]  # the worst first
    drawn = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert drawn == [losses[name].snr_db for name in ("float4e2m1", "bfloat16", "float16")]
    told = [each.get_text() for each in ax.texts]
    zeros = int(np.sum(x.astype(ml_dtypes.float4_e2m1fn) == 0))
    assert told[0].startswith(f"{zeros} zero") or f"{zeros} zero" in told[0]
    _, mine = plt.subplots()
    assert tc.plot_loss(losses["float16"], ax=mine) is mine
    many = tc.Losses({f"$w_{place}$<b>": tc.loss(x[:50] * np.float32(4.0**-place), "float8_e4m3fn") for place in range(60)})
    many |= {"exact": tc.loss([1.0], "int8"), "none": tc.loss([math.nan], "float16")}
    ax = tc.plot_loss(many, most=10)
    assert len(ax.get_yticks()) == 10 and "the worst 10 of 62" in ax.get_title()
    ax.figure.canvas.draw()  # names are no formulas
    tc.plot_loss(many, most=100).figure.canvas.draw()
    for wrong, error, words in (({}, tc.ArgumentError, "no report to draw"), (x, tc.KindError, "plot_loss draws reports"),
                                ({"a": 1}, tc.KindError, "plot_loss draws reports")):
        with pytest.raises(error, match=words):
            tc.plot_loss(wrong)
    with pytest.raises(tc.ArgumentError, match="most is 0"):
        tc.plot_loss(losses, most=0)


def test_plot_exponents():
    x = np.float32([0, 0.25, 1, 1.5, 1e-9, 1000])
    ax = tc.plot_exponents(x, "float8_e4m3fn")
    bars = {patch.get_x() + patch.get_width() / 2 - 0.5: patch.get_height() for patch in ax.patches if patch.get_height() and patch.get_width() < 1}
    want = {float(power): 100 * n / 6 for power, n in ((-30, 1), (-2, 1), (0, 2), (9, 1))}
    assert {round(power, 6): height for power, height in bars.items()} == pytest.approx(want)
    spans = sorted((patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches if patch.get_width() > 1)
    # Zero up to half of the least, 2^-10; subnormal up to 2^-6; beyond from 448 on.
    assert [end for _, end in spans[:2]] == [-10, -6] and math.isclose(spans[2][0], math.log2(448))
    assert [each.get_text() for each in ax.texts] == ["→ zero\n16.7 %", "subnormal", "beyond\n≥ 16.7 %"]
    one_beyond = tc.plot_exponents(np.float32([*[1] * 9999, 1000]), "float8_e4m3fn")
    assert "beyond\n> 0 %" in [each.get_text() for each in one_beyond.texts]
    several = tc.plot_exponents(tc.exponents(x), ["float16", "int8"])
    assert [each.get_text() for each in several.texts] == ["float16: 16.7 % zero", "int8: 33.3 % zero, 16.7 % beyond"]
    assert len(tc.plot_exponents(x).texts) == 7
    assert tc.plot_exponents([2.0**-1074, 2.0**1023], "float64") is not None
    with pytest.raises(tc.ArgumentError, match="no number has an exponent"):
        tc.plot_exponents([0.0])
    with pytest.raises(tc.ArgumentError, match="string has no range"):
        tc.plot_exponents(x, "string")
