"""`diff`: figures beside numpy's in float64, exactness beside Python's integers and rationals.

SPDX-License-Identifier: Apache-2.0
"""
import copy
import json
import pickle
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorcast as tc


def save(path, tensors):
    safetensors.numpy.save_file(tensors, path)
    return path


def test_kinds_and_order(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((64, 48)).astype(np.float32)
    a = save(tmp_path / "a.safetensors", {
        "same": x, "wider": x.astype(np.float16), "near": x, "far": x, "shape": x, "gone": x})
    b = save(tmp_path / "b.safetensors", {
        "same": x, "wider": x.astype(np.float16).astype(np.float64), "near": x.astype(ml_dtypes.bfloat16),
        "far": x.astype(ml_dtypes.float8_e4m3fn), "shape": x.reshape(48, 64), "added": x})
    found = tc.diff(a, b)
    assert not found.equal
    assert [(one.name, one.kind) for one in found.tensors] == [
        ("gone", "only_in_a"), ("added", "only_in_b"), ("shape", "shape"), ("far", "values"), ("near", "values"),
        ("wider", "same_values"), ("same", "same_bytes")]
    assert [one.name for one in found.differing] == ["gone", "added", "shape", "far", "near"]
    assert found["gone"].b is None and found["added"].a is None
    assert found["near"].a == tc.DiffSide("near", "F32", "float32", None, (64, 48), 4 * x.size)
    assert found["same"].loss is None and found["wider"].loss.snr_db == np.inf
    for name, dtype in (("near", ml_dtypes.bfloat16), ("far", ml_dtypes.float8_e4m3fn)):
        y = x.astype(dtype).astype(np.float64)
        wide = x.astype(np.float64)
        error = np.abs(wide - y)
        one = found[name]
        assert one.different == np.count_nonzero(error)
        assert one.first == np.flatnonzero(error)[0]
        assert one.loss.max_abs_error == error.max()
        assert one.loss.max_abs_example["index"] == error.argmax()
        assert one.loss.snr_db == pytest.approx(
            10 * np.log10(np.sum(wide**2) / np.sum(error**2)), rel=1e-12)
        assert one.loss.counts["to_zero"] == np.count_nonzero((wide != 0) & (y == 0))
    assert tc.diff(a, a).equal and tc.diff(a, a).counts == {"same_bytes": 6}


def test_integers_are_exact(tmp_path):
    big = np.int64([2**53 + 1, 2**63 - 1, -2**63, 5])
    near = big.astype(np.float64)  # rounds the first two
    a = save(tmp_path / "a.safetensors", {"x": big, "y": big})
    b = save(tmp_path / "b.safetensors", {"x": near, "y": big.astype(np.uint64)})
    found = tc.diff(a, b)
    wrong = [Fraction(int(i)) != Fraction(float(f)) for i, f in zip(big, near)]
    assert found["x"].different == sum(wrong) == 2
    assert found["x"].first == wrong.index(True)
    assert found["y"].different == 1 and found["y"].first == 2  # as numbers, and not as bits
    assert found["y"].loss.max_abs_error == float(2**64)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_nan_and_zeros(tmp_path, dtype):
    a = save(tmp_path / "a.safetensors", {"x": np.array([0.0, np.nan, np.inf, 1], dtype)})
    b = save(tmp_path / "b.safetensors", {"x": np.array([-0.0, -np.nan, np.inf, 1], dtype)})
    assert tc.diff(a, b).tensors[0].kind == "same_values"
    c = save(tmp_path / "c.safetensors", {"x": np.array([0.0, 2, 1, np.nan], dtype)})
    counts = tc.diff(a, c).tensors[0].loss.counts
    assert (counts["nan_lost"], counts["to_limit"], counts["to_nan"]) == (1, 1, 1)


def test_scales_are_applied(tmp_path):
    """fp8 with scales beside what their product is in float64, and that in bfloat16."""
    rng = np.random.default_rng(2)
    codes = rng.standard_normal((256, 192)).astype(ml_dtypes.float8_e4m3fn)
    scales = (rng.random((2, 2)) * 1e-2).astype(np.float32)
    spread = np.kron(scales.astype(np.float64), np.ones((128, 128)))[:256, :192]
    values = codes.astype(np.float64) * spread  # of 4 and 24 bits: exact
    folder = tmp_path / "fp8"
    folder.mkdir()
    save(folder / "model-00001-of-00002.safetensors", {"w.weight": codes})
    save(folder / "model-00002-of-00002.safetensors", {"w.weight_scale_inv": scales, "n": np.float32([1])})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {
        "w.weight": "model-00001-of-00002.safetensors", "w.weight_scale_inv": "model-00002-of-00002.safetensors",
        "n": "model-00002-of-00002.safetensors"}}))
    (folder / "config.json").write_text(json.dumps({"quantization_config": {
        "quant_method": "fp8", "weight_block_size": [128, 128]}}))
    exact = save(tmp_path / "exact.safetensors", {"w.weight": values, "n": np.float32([1])})
    found = tc.diff(folder, exact)
    assert found.equal and found["w.weight"].a.layout == "fp8-block"
    assert found["w.weight"].a.bytes == codes.size + scales.nbytes
    rounded = save(tmp_path / "rounded.safetensors", {
        "w.weight": values.astype(ml_dtypes.bfloat16), "n": np.float32([1])})
    loss = tc.diff(folder, rounded)["w.weight"].loss
    error = np.abs(values - values.astype(ml_dtypes.bfloat16).astype(np.float64))
    assert loss.max_abs_error == error.max()
    stored = tc.diff(folder, rounded, ignore_scales=True)
    assert stored["w.weight_scale_inv"].kind == "only_in_a"


def test_texts_and_names(tmp_path):
    np.savez(tmp_path / "a.npz", t=np.array(["one", "two", "three"]), n=np.arange(3))
    np.savez(tmp_path / "b.npz", t=np.array(["one", "2", "three"]), n=np.array(["0", "1", "2"]))
    found = tc.diff(tmp_path / "a.npz", tmp_path / "b.npz")
    assert (found["t"].different, found["t"].first, found["t"].loss) == (1, 1, None)
    assert found["n"].kind == "incomparable"
    np.savez(tmp_path / "c.npz", **{"model.t": np.array(["one", "two", "three"])})
    for rename in ({"t": "model.t"}, [("*", "model.*")], {r"re:(.)": r"model.\1"}):
        assert tc.diff(tmp_path / "a.npz", tmp_path / "c.npz", rename=rename, only=["t"]).equal
    with pytest.raises(tc.ArgumentError, match="matches no tensor"):
        tc.diff(tmp_path / "a.npz", tmp_path / "c.npz", rename={"x": "y"})
    with pytest.raises(tc.ArgumentError, match="a list of texts"):
        tc.diff(tmp_path / "a.npz", tmp_path / "c.npz", only="t")
    with pytest.raises(tc.FileError):
        tc.diff(tmp_path / "a.npz", tmp_path / "missing.npz")


@pytest.mark.parametrize("shape", [(3, 5), (300, 700), (2, 3, 4, 5), (1, 7), (7, 1), (2, 90_000), (3, 0)])
def test_fortran_order(tmp_path, shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.save(tmp_path / "c.npy", x)
    np.save(tmp_path / "f.npy", np.asfortranarray(x))
    assert tc.diff(tmp_path / "c.npy", tmp_path / "f.npy").equal
    y = x.copy()
    if x.size:
        y[-1, 0] += 3
        np.save(tmp_path / "f.npy", np.asfortranarray(y))
        one = tc.diff(tmp_path / "c.npy", tmp_path / "f.npy").tensors[0]
        assert (one.different, one.first) == (np.count_nonzero(x != y), np.flatnonzero(x != y)[0])
        assert one.loss.max_abs_error == 3


def test_threads_and_progress(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1500, 1000)).astype(np.float32)
    y = x.copy()
    y[900:, ::7] += 1e-3  # what stands before is the same bytes, and counts in the figures
    a, b = save(tmp_path / "a.safetensors", {"w": x}), save(tmp_path / "b.safetensors", {"w": y})
    told = []
    reports = [tc.diff(a, b, threads=threads, progress=lambda *now: told.append(now))["w"].loss
               for threads in (1, 2, 5)]
    assert reports[0] == reports[1] == reports[2]
    assert told[-1][0] == told[-1][1] >= 2 * x.nbytes
    error = np.abs(x.astype(np.float64) - y)
    assert reports[0].counts["exact"] == np.count_nonzero(error == 0)
    assert reports[0].snr_db == pytest.approx(
        10 * np.log10(np.sum(x.astype(np.float64)**2) / np.sum(error**2)), rel=1e-12)
    assert reports[0].amax == np.abs(x).max()
    with pytest.raises(ZeroDivisionError):
        tc.diff(a, b, progress=lambda *_: 1 / 0)


def test_reports_are_kept_not_merged(tmp_path):
    a = save(tmp_path / "a.safetensors", {"w": np.float32([1, 2])})
    b = save(tmp_path / "b.safetensors", {"w": np.float32([1, 3])})
    found = tc.diff(a, b)
    loss = found["w"].loss
    assert pickle.loads(pickle.dumps(found)).tensors == found.tensors
    assert copy.deepcopy(loss) == loss
    with pytest.raises(tc.ArgumentError, match="merged"):
        loss.merge(loss)


def test_types_that_npy_files_do_not_name(tmp_path):
    x = np.float32([1, 2, -0.5])
    np.save(tmp_path / "x.npy", x.astype(ml_dtypes.float8_e4m3fn))
    b = save(tmp_path / "b.safetensors", {"x": x})
    for pair in ((tmp_path / "x.npy", b), (b, tmp_path / "x.npy")):
        assert tc.diff(*pair, assume_type="float8_e4m3fn").equal
    with pytest.raises(tc.ArgumentError, match="a type is assumed only of"):
        tc.diff(b, b, assume_type="float8_e4m3fn")


def test_what_has_no_finite_error_comes_first(tmp_path):
    a = save(tmp_path / "a.safetensors", {"far": np.float32([1, 2]), "inf": np.float32([np.inf, 1, 2]),
                                          "nan": np.float32([np.nan, 1, 2])})
    b = save(tmp_path / "b.safetensors", {"far": np.float32([1, -2]), "inf": np.float32([-np.inf, 1, 2]),
                                          "nan": np.float32([0, 1, 2])})
    assert [one.name for one in tc.diff(a, b).tensors] == ["inf", "nan", "far"]
