"""Weights written as codes and scales by `convert`: integers in groups, scales that are searched for,
and from one layout to another; what is written stands beside numpy's own arithmetic of the codes.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import pickle

import numpy as np
import pytest
import safetensors.numpy
import tensorcast as tc

NAME = "model.layers.0.mlp.up_proj"


@pytest.fixture
def model(tmp_path):
    weight = np.random.default_rng(26).normal(0, 0.02, (64, 256)).astype(np.float32)
    folder = tmp_path / "model"
    folder.mkdir()
    safetensors.numpy.save_file({NAME + ".weight": weight}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return folder, weight


def parts(folder):
    return safetensors.numpy.load_file(folder / "model.safetensors")


def fours(words):
    """Eight codes of a word of 32 bits, from the lowest bits on."""
    codes = words.view(np.uint32)[..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15
    return codes.reshape(*words.shape[:-1], -1).astype(np.int64)


def groups_of(table, columns):
    """A number of each group as one of each element."""
    return np.repeat(table.astype(np.float64), columns, -1)


def rmse(a, b):
    return math.sqrt(np.mean(np.square(a.astype(np.float64) - b)))


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("group", [32, "channel"])
def test_groups_of_integers(model, tmp_path, group, asymmetric):
    folder, weight = model
    out = tmp_path / "out"
    reports = tc.convert(folder, out, to="int4-group", group=group, asymmetric=asymmetric)
    held = parts(out)
    columns = 256 if group == "channel" else group
    zero = 8
    if asymmetric:
        zero = groups_of(fours(held[NAME + ".weight_zero_point"].T.copy()).T, columns)
    made = (fours(held[NAME + ".weight_packed"]) - zero) * groups_of(held[NAME + ".weight_scale"], columns)
    assert reports[NAME + ".weight"].rmse == pytest.approx(rmse(weight, made), rel=1e-9)
    assert reports[NAME + ".weight"].gain_db is None
    with tc.open(out) as tensors:
        np.testing.assert_array_equal(tensors.get(NAME + ".weight", to="float64"), made)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_a_search_gains_what_its_report_says(model, tmp_path, asymmetric):
    folder, weight = model
    errors = {}
    for rule in ("amax", "mse", "mse_fine"):
        out = tmp_path / rule
        report = tc.convert(folder, out, to="int4-group", layout="mlx", asymmetric=asymmetric,
                            scale_rule=rule)[NAME + ".weight"]
        held = parts(out)
        made = fours(held[NAME + ".weight"]) * groups_of(held[NAME + ".scales"], 64)
        errors[rule] = rmse(weight, made + groups_of(held[NAME + ".biases"], 64))
    assert errors["mse_fine"] <= errors["mse"] < errors["amax"]
    assert (errors["mse_fine"] < errors["mse"]) is not asymmetric  # by the scale's sign
    assert report.gain_db == pytest.approx(20 * math.log10(errors["amax"] / errors["mse_fine"]), rel=1e-6)
    assert pickle.loads(pickle.dumps(report)).gain_db == report.gain_db
    assert report.to_dict()["gain_db"] == report.gain_db


@pytest.mark.parametrize("layout", ["gptq", "awq", "mlx"])
def test_repacked_there_and_back(model, tmp_path, layout):
    folder, weight = model
    # In float16, in which AWQ and GPTQ have their scales.
    safetensors.numpy.save_file({NAME + ".weight": weight.astype(np.float16)}, folder / "model.safetensors")
    first, there, back = (tmp_path / name for name in ("first", "there", "back"))
    tc.convert(folder, first, to="int4-group")
    assert tc.convert(first, there, repack=layout) == {}
    tc.convert(there, back, repack="compressed-tensors")
    held, again = parts(first), parts(back)
    for part in (".weight_packed", ".weight_scale"):
        np.testing.assert_array_equal(held[NAME + part].view(np.uint8), again[NAME + part].view(np.uint8))
    with tc.open(first) as a, tc.open(there) as b:
        np.testing.assert_array_equal(a.get(NAME + ".weight", to="float64"),
                                      b.get(NAME + ".weight", to="float64"))


@pytest.mark.parametrize("wrong", [{"group": 16}, {"group": True}, {"group": "row"}, {"asymmetric": 1},
                                   {"repack": "gguf2"}, {"scale_rule": "least"}, {"layout": "modelopt"}])
def test_what_there_is_not(model, tmp_path, wrong):
    asked = wrong if "repack" in wrong else {"to": "int4-group", **wrong}
    with pytest.raises((tc.ArgumentError, TypeError)):
        tc.convert(model[0], tmp_path / "out", **asked)
    assert not (tmp_path / "out").exists()
