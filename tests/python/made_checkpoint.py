"""A checkpoint of three files for the tests of many processes, and a directory's bytes.

SPDX-License-Identifier: Apache-2.0
"""
import json

import ml_dtypes
import numpy as np
import safetensors.numpy


def make(folder, rows=3000):
    """Tensors by name, as they are written: random ones, special values, some that stay."""
    rng = np.random.default_rng(7)
    folder.mkdir()
    everything, where = {}, {}
    for number in (1, 2, 3):
        weight = rng.standard_normal((rows, 512)).astype(np.float32) * 1000
        weight[0, :4] = np.nan, np.inf, -0.0, 1e-42
        tensors = {f"layers.{number}.weight": weight,
                   f"layers.{number}.half": rng.standard_normal(5001).astype(np.float16),
                   f"layers.{number}.norm": np.ones(8, ml_dtypes.bfloat16),
                   f"layers.{number}.none": np.zeros((0, 4), np.float32),
                   f"layers.{number}.ids": np.arange(3001)}
        file = f"model-0000{number}-of-00003.safetensors"
        safetensors.numpy.save_file(tensors, folder / file, metadata={"format": "pt"})
        where |= dict.fromkeys(tensors, file)
        everything |= tensors
    index = {"metadata": {"total_size": sum(each.nbytes for each in everything.values())}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text('{"model_type": "m", "torch_dtype": "float32"}')
    return everything


def contents(folder):
    """The bytes of every file of a directory, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_bfloat16(folder, tensors):
    """The output against ml_dtypes' own casts of the tensors, read with safetensors."""
    found = {}
    for path in folder.glob("*.safetensors"):
        found |= safetensors.numpy.load_file(path)
    assert sorted(found) == sorted(tensors)
    for name, tensor in tensors.items():
        want = tensor if tensor.dtype == np.int64 else tensor.astype(ml_dtypes.bfloat16)
        assert found[name].dtype == want.dtype
        neither = ~(np.isnan(want.astype(float)) & np.isnan(found[name].astype(float)))
        code = f"u{want.itemsize}"
        assert np.array_equal(found[name].view(code)[neither], want.view(code)[neither]), name
