"""Tensors that are the file's memory: what they are held against is what numpy and safetensors read.

SPDX-License-Identifier: Apache-2.0
"""
import gc
import os
import pathlib
import struct

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorcast as tc

PAGE = os.sysconf("SC_PAGESIZE")


def is_mapped(path):
    return os.fspath(path) in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(3)
    tensors = {"a": rng.standard_normal((300, 70)).astype(np.float32), "b": rng.integers(0, 9, (5, 3000)),
               "half": rng.standard_normal(9001).astype(np.float16), "scalar": np.array(2.5, np.float32),
               "mask": np.array([True, False]), "none": np.zeros((0, 3), np.float32)}
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file(tensors, path)
    return path, tensors


def test_it_is_the_files_memory_until_it_goes(model):
    path, tensors = model
    with tc.open(path) as f:
        assert not is_mapped(path)
        got = dict(f)
        assert is_mapped(path)
    assert all(np.array_equal(got[name], array) and got[name].dtype == array.dtype for name, array in tensors.items())
    assert all(array.flags.writeable and array.flags.c_contiguous for array in got.values())
    one = got.pop("half")[5:9]
    del got
    gc.collect()
    assert is_mapped(path) and np.array_equal(one, tensors["half"][5:9])  # of a file that is closed
    path.unlink()
    assert np.array_equal(one, tensors["half"][5:9])
    del one
    gc.collect()
    assert not is_mapped(path)


def test_what_is_written_is_the_arrays_own(model):
    path, tensors = model
    before = path.read_bytes()
    with tc.open(path) as f:
        one, other, part = f["a"], f["a"], f.get_slice("a")[10:20]
        one *= 2
        part[:] = 0
        assert np.array_equal(one, tensors["a"] * 2) and np.array_equal(other, tensors["a"])
        assert np.array_equal(f["a"], tensors["a"]) and np.array_equal(f.raw["a"], tensors["a"])
        assert np.array_equal(f["b"], tensors["b"]) and np.array_equal(f["half"], tensors["half"])  # on the same pages
        del one
        assert np.array_equal(f["a"], tensors["a"])
        assert np.array_equal(f.get("a", out=np.empty_like(tensors["a"])), tensors["a"])
    assert path.read_bytes() == before


def test_what_others_write(model):
    path, tensors = model
    mapped, copied = tc.load_file(path), tc.load_file(path, mmap=False)
    assert all(np.array_equal(copied[name], array) for name, array in tensors.items())
    replaced = path.with_name("new")
    replaced.write_bytes(b"x" * 99)
    os.replace(replaced, path)  # as what saves a file whole does: the old one stays while it is mapped
    assert all(np.array_equal(mapped[name], array) for name, array in tensors.items())
    tc.save_file(mapped, path, overwrite=True)
    mapped, copied = tc.load_file(path), tc.load_file(path, mmap=False)
    with open(path, "r+b") as file:
        file.seek(-9 * PAGE, os.SEEK_END)
        file.write(bytes(9 * PAGE))
    assert all(np.array_equal(copied[name], array) for name, array in tensors.items())
    assert not all(np.array_equal(mapped[name], array) for name, array in tensors.items())
    with tc.open(path, mmap=False) as f:
        assert f["a"].shape == (300, 70) and f.get_slice("a")[3:5].shape == (2, 70)
    del mapped
    gc.collect()
    with tc.open(path, mmap=False) as f:
        kept = dict(f)
        assert kept and not is_mapped(path)
    with pytest.raises(tc.KindError, match="mmap must be True or False"):
        tc.open(path, mmap=1)
    with tc.open(path) as f:
        os.truncate(path, path.stat().st_size - PAGE)
        with pytest.raises(tc.FileError, match="model.safetensors"):
            dict(f)


def test_pages_that_were_written_go_with_their_array(tmp_path):
    """64 MiB are written to, 8 at a time."""
    path = tmp_path / "x.npy"
    np.save(path, np.ones((8, 1 << 20)))

    def resident():
        fields = pathlib.Path("/proc/self/statm").read_text(encoding="utf-8").split()
        return int(fields[1]) * PAGE

    with tc.open(path) as f:
        before, most = resident(), 0
        for row in range(8):
            part = f.get_slice("x")[row]
            part += 1
            assert part[-1] == 2
            most = max(most, resident())
            del part
    assert most - before < 40 << 20


def test_other_formats(tmp_path):
    rng = np.random.default_rng(5)
    square = rng.standard_normal((40, 70)).astype(np.float32)
    made = {"plain": square, "fortran": np.asfortranarray(square), "big": square.astype(">f4"), "bool": square > 0,
            "narrow": rng.integers(-8, 8, (3, 5)).astype(ml_dtypes.int4), "half": square.astype(ml_dtypes.bfloat16),
            "empty": np.zeros((3, 0), np.int16), "scalar": np.array(3.5)}
    for name, array in made.items():
        path = tmp_path / f"{name}.npy"
        np.save(path, array)
        options = {"assume_type": {"narrow": "int4", "half": "bfloat16"}[name]} if array.dtype.kind == "V" else {}
        with tc.open(path, **options) as f:
            got = f[name]
        assert np.array_equal(got, array) and got.shape == array.shape and got.flags.writeable, name
        assert is_mapped(path) == (name in ("plain", "fortran", "half", "scalar")), name
    plain = {name: array for name, array in made.items() if array.dtype.kind != "V"}
    for save, is_one in ((np.savez, True), (np.savez_compressed, False)):
        path = tmp_path / f"{save.__name__}.npz"
        save(path, **plain)
        with tc.open(path) as f:
            got = dict(f)
            assert all(np.array_equal(got[name], array) for name, array in plain.items())
            assert np.array_equal(f.get_slice("fortran")[3:5, 1:], square[3:5, 1:])
            assert f["fortran"].flags.f_contiguous and is_mapped(path) == is_one


def test_any_address(tmp_path):
    """Elements that stand at no multiple of their size are read."""
    path = tmp_path / "x.safetensors"
    wide = np.arange(3000.0)
    header = (b'{"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"w":{"dtype":"F64","shape":[3000],"data_offsets":'
              b'[3,24003]},"c":{"dtype":"C64","shape":[2],"data_offsets":[24003,24019]}}')
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"abc" + wide.tobytes() + b"0123456789abcdef")
    with tc.open(path) as f:
        assert np.array_equal(f["w"], wide) and f["w"].flags.aligned and f["b"].tobytes() == b"abc"
        assert f["c"].dtype == np.uint8 and f["c"].tobytes() == b"0123456789abcdef"


def test_selected(model):
    path, tensors = model
    with tc.open(path, select=["a", "dtype:float16"], exclude="half") as f:
        assert list(f) == ["a"] and "half" not in f and len(f.raw) == len(tensors)
        with pytest.raises(KeyError, match="'half' .*was not selected"):
            f["half"]
        with pytest.raises(KeyError, match="no tensor 'x'$"):
            f["x"]
    with pytest.raises(tc.ArgumentError, match="select: 'x' matches no tensor of 6"):
        tc.open(path, select="x")
    out = path.with_name("part.safetensors")
    tc.convert(path, out, to="same", select=["a", "half"])
    got = safetensors.numpy.load_file(out)
    assert got.keys() == {"a", "half"} and all(np.array_equal(got[name], tensors[name]) for name in got)
    with pytest.raises(tc.ArgumentError, match="'x' matches no tensor"):
        tc.plan(path, out, to="same", select=["x"])
    with pytest.raises(tc.ArgumentError, match="select must be a list of texts"):
        tc.convert(path, out, to="same", select="a")


def test_a_misspelt_name_is_answered_with_the_nearest(tmp_path):
    names = ["lm_head.weight", "model.layers.0.q.weight", "dense/kernel:0", "äöü.weight"]
    safetensors.numpy.save_file({name: np.ones(3, np.float32) for name in names}, tmp_path / "m.safetensors")
    pipeline = tmp_path / "pipe"
    for component in ("unet", "text_encoder"):
        (pipeline / component).mkdir(parents=True)
        safetensors.numpy.save_file({"w": np.ones(3, np.float32)}, pipeline / component / "diffusion_pytorch_model.safetensors")
    (pipeline / "model_index.json").write_text('{"_class_name": "P", "unet": ["diffusers", "U"], "text_encoder": ["diffusers", "T"]}')
    with tc.open(tmp_path / "m.safetensors") as f, tc.open(pipeline) as parts:
        for asked, meant in (("lm_haed.weight", "lm_head.weight"), ("MODEL.LAYER.0.Q.WEIGHT", "model.layers.0.q.weight"),
                             ("dense/kernal:0", "dense/kernel:0"), ("äöü.weigth", "äöü.weight")):
            for use in (f.__getitem__, f.get_slice, f.info, f.exponents, f.raw.__getitem__,
                        lambda name: f.get_tensor(name, ignore_scales=True)):
                with pytest.raises(KeyError) as caught:
                    use(asked)
                assert str(caught.value) == f"'m.safetensors' has no tensor {asked!r}; did you mean {meant}?"
        for asked in ("embed_tokens", "x", "", "\ud800", 3, None):
            with pytest.raises(KeyError) as caught:
                f[asked]
            assert str(caught.value) == f"'m.safetensors' has no tensor {asked!r}"
        with pytest.raises(KeyError, match="did you mean text_encoder/w"):
            parts["textencoder/w"]
    for where, pattern, meant in ((tmp_path / "m.safetensors", "lm_haed.weight", "; did you mean lm_head.weight?"),
                                  (tmp_path / "m.safetensors", "lm_haed.w*", ""), (tmp_path / "m.safetensors", "lm_haed.*", r"; did you mean lm_head.\*?"),
                                  (tmp_path / "m.safetensors", "dense", ""),
                                  (pipeline, "textencoder/*", r"; did you mean text_encoder/\*?"), (pipeline, "vae/*", "")):
        for how in ("select", "exclude"):
            for use in (tc.open, tc.load_file):
                with pytest.raises(tc.ArgumentError, match=rf"matches no tensor of \d+{meant}".replace("?", r"\?") + r" \(patterns"):
                    use(where, **{how: pattern})
    with tc.Writer(tmp_path / "o.safetensors", {"lm_head.weight": ("float32", (3,))}) as out:
        with pytest.raises(tc.ArgumentError, match="that were declared; did you mean lm_head.weight"):
            out.write("lm_haed.weight", np.ones(3, np.float32))
        out.write("lm_head.weight", np.ones(3, np.float32))
