"""GGUF files, read by `open` and `convert`: blocks beside the same numbers made with numpy.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import tensorcast as tc

MAKE = pathlib.Path(__file__).parents[1] / "cli" / "bin" / "make_gguf.py"


def make(path, description):
    subprocess.run([sys.executable, MAKE, path], input=description, text=True, check=True)


@pytest.fixture(name="model")
def _model(tmp_path):
    """A file, and the values of its weights: Q8_0 of a scale of 1/3, and Q4_0 of one of -2."""
    codes = np.arange(-64, 64, dtype=np.int8)
    third = np.float16(1 / 3)
    blocks = [third.tobytes().hex() + codes[i:i + 32].tobytes().hex() for i in range(0, 128, 32)]
    nibbles = np.arange(16, dtype=np.uint8)
    q4 = np.float16(-2).tobytes().hex() + (nibbles | (15 - nibbles) << 4).astype(np.uint8).tobytes().hex()
    path = tmp_path / "m.gguf"
    make(path, "key general.architecture string llama\nkey a [u32] 1 2\nkey b [u8] 1*100\n"
               f"tensor blk.0.attn_q.weight Q8_0 2x64 {' '.join(blocks)}\n"
               f"tensor q4 Q4_0 1x32 {q4}\ntensor norm F32 3 0.1 2 3\ntensor t IQ1_S 1x256 00\n")
    values = {"blk.0.attn_q.weight": (codes * np.float64(third)).reshape(2, 64),
              "q4": (-2.0 * (np.concatenate([nibbles, 15 - nibbles]).astype(np.float64) - 8))[None]}
    return path, values


def test_values(model):
    path, values = model
    with tc.open(path) as f:
        assert list(f) == ["blk.0.attn_q.weight", "q4", "norm", "t"]
        assert f.raw.info("q4").dtype == "Q4_0" and f.raw.info("q4").type is None
        assert f.info("q4").dtype == "q4_0 (GGUF)" and f.info("q4").shape == (1, 32)
        assert f.metadata["general.architecture"] == "llama" and f.metadata["a"] == "[1, 2]"
        assert f.metadata["b"].endswith("100 in all]")
        assert any("attn_q" in note for note in f.notes)
        for name, want in values.items():
            for to, dtype in (("float64", np.float64), ("float32", np.float32),
                              ("bfloat16", ml_dtypes.bfloat16)):
                got = f.get(name, to=to)
                assert got.dtype == dtype and got.shape == want.shape
                # Of at most 24 bits, so that numpy's way to bfloat16 rounds once.
                assert np.array_equal(got, want.astype(np.float32).astype(dtype)), (name, to)
        assert np.array_equal(f["norm"], np.float32([0.1, 2, 3]))
        with pytest.raises(tc.UnsupportedError, match="IQ1_S"):
            f.get("t", to="float32")


def test_conversion(model, tmp_path):
    path, values = model
    output = tmp_path / "plain.safetensors"
    with pytest.raises(tc.UnsupportedError, match="IQ1_S"):
        tc.convert(path, output, to="bfloat16")
    losses = tc.convert(path, output, to="bfloat16", exclude=["t"])
    assert set(losses) == {*values, "norm"} and losses["q4"].counts["exact"] == 32
    with tc.open(output) as f:
        assert f.metadata == {"general.architecture": "llama", "a": "[1, 2]"}
        for name, want in values.items():
            assert np.array_equal(f[name], want.astype(np.float32).astype(ml_dtypes.bfloat16))
