"""Files: opened, inspected, planned, converted; beside numpy and safetensors.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorcast as tc

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli" / "bin"))
import make_torch_file  # noqa: E402


@pytest.fixture
def checkpoint(tmp_path):
    """A file of four tensors, as safetensors writes it."""
    rng = np.random.default_rng(0)
    tensors = {"w": rng.standard_normal((300, 700)).astype(np.float32) * 100,
               "norm": np.ones(8, np.float32), "ids": np.arange(5),
               "b": np.float32([[0.1, 512]]).astype(ml_dtypes.bfloat16)}
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file(tensors, path, metadata={"made by": "a test"})
    return path, tensors


def test_reading(checkpoint):
    path, tensors = checkpoint
    with tc.open(path) as f:
        assert sorted(f) == sorted(tensors) and len(f) == 4 and "w" in f and "x" not in f
        assert f.metadata == {"made by": "a test"}
        for name, tensor in tensors.items():
            assert f[name].dtype == tensor.dtype and np.array_equal(f[name], tensor)
            info = f.info(name)
            assert info.shape == tensor.shape and info.nbytes == tensor.nbytes
            assert info.type == tc.type_name(tensor.dtype)
        for to in ("bfloat16", "int4", "float64", "float8_e4m3fn"):
            got = f.get("w", to=to)
            assert np.array_equal(got.view("u1"), tc.cast(tensors["w"], to).view("u1"))
        stream = f.get("w", to="int4", packed=True)
        assert np.array_equal(stream, tc.cast(tensors["w"], "int4", packed=True))
        small, report = f.get("w", to="float8_e4m3fn", loss=True, saturate=False)
        assert report == tc.loss(tensors["w"], "float8_e4m3fn", saturate=False)
        assert f.get("norm", to="string").tolist() == ["1.0"] * 8
        with pytest.raises(tc.ArgumentError, match="no tensor 'x'"):
            f["x"]
        with pytest.raises(KeyError, match="^'model.safetensors' has no tensor 'x'$"):
            f.get_tensor("x", to="int8")
        assert f.get("x", to="int8") is None and f.get("x", 1) == 1 and f.get(["w"]) is None
        with pytest.raises(tc.KindError, match="get has no option 'saturat': the nearest is saturate"):
            f.get("w", saturat=True)
        for arguments, error in (({"packed": "x"}, tc.ArgumentError), ({"threads": "x"}, tc.KindError),
                                 ({"nonsense": 1}, tc.KindError)):
            with pytest.raises(error) as caught:
                f.get("w", to="int8", **arguments)
            assert "\n" not in str(caught.value)
        with pytest.raises(tc.ArgumentError, match="no tensor"):
            f.get_tensor(["w"])
        assert f.get("w", to=">f8").dtype == ">f8" and f.get("w", to=">f8")[0, 0] == tensors["w"][0, 0]
        assert f.get("norm", to=str).dtype.kind == "U"
        held = f["w"]
    assert f.closed and np.array_equal(held, tensors["w"])
    for use in (lambda: f["w"], lambda: f.metadata):
        with pytest.raises(tc.ArgumentError, match="closed"):
            use()
    assert [info.name for info in tc.inspect(path)] == [info.name for info in f.infos()]


def test_numpys_files(tmp_path):
    fortran = np.asfortranarray(np.arange(6, dtype=np.float64).reshape(2, 3))
    texts = np.array([["1", "äö"], ["", "4"]])
    np.save(tmp_path / "f.npy", fortran)
    np.save(tmp_path / "t.npy", texts)
    np.save(tmp_path / "b.npy", np.arange(4, dtype=">i2"))
    np.savez_compressed(tmp_path / "z.npz", a=fortran, b=texts)
    assert np.array_equal(tc.open(tmp_path / "f.npy")["f"], fortran)
    assert np.array_equal(tc.open(tmp_path / "f.npy").get("f", to="int4").astype(int), fortran)
    assert tc.open(tmp_path / "t.npy")["t"].tolist() == texts.tolist()
    with tc.open(tmp_path / "z.npz") as f:
        assert np.array_equal(f["a"], fortran) and f["b"].tolist() == texts.tolist()
    np.save(tmp_path / "n.npy", np.array(["1", "2.5"]))
    assert tc.open(tmp_path / "n.npy").get("n", to="float16").tolist() == [1, 2.5]
    raw = np.array([0x3F80], np.uint16).view("V2")
    np.save(tmp_path / "v.npy", raw)
    np.save(tmp_path / "v1.npy", np.zeros(1, "V1"))
    with pytest.raises(tc.Error, match="say which with assume_type"):
        tc.open(tmp_path / "v1.npy")
    assert tc.open(tmp_path / "v.npy", assume_type="bfloat16").get("v", to="float32").tolist() == [1]


def test_a_file_of_an_unknown_type_is_bytes(tmp_path):
    header = json.dumps({"c": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    path = tmp_path / "c.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(range(8)))
    with tc.open(path) as f:
        assert f.info("c").type is None and f["c"].tolist() == list(range(8))
        with pytest.raises(tc.UnsupportedError):
            f.get("c", to="float32")


def test_broken_files(tmp_path):
    (tmp_path / "short.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (tmp_path / "no.safetensors").write_bytes(b"\xff" * 16)
    for name in ("short.npy", "no.safetensors"):
        with pytest.raises(tc.ContentsError, match=name) as caught:
            tc.open(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(tc.UnsupportedError):
        path = tmp_path / "x.gguf"
        path.write_bytes(b"GGUF" + bytes(60))
        tc.open(path)


def test_conversion(checkpoint, tmp_path):
    path, tensors = checkpoint
    output = tmp_path / "small.safetensors"
    seen = []
    losses = tc.convert(path, output, to="float8_e4m3fn", rules={"*norm": "bfloat16"},
                        progress=lambda done, total, name: seen.append((done, total, name)))
    assert set(losses) == {"w", "norm", "b"} and losses["w"] == tc.loss(tensors["w"], "float8_e4m3fn")
    with tc.open(output) as f:
        assert {name: f.info(name).type for name in f} == {
            "w": "float8e4m3fn", "norm": "bfloat16", "b": "float8e4m3fn", "ids": "int64"}
        for name in ("w", "b"):
            want = tc.cast(tensors[name], "float8_e4m3fn")
            assert np.array_equal(f[name].view(np.uint8), want.view(np.uint8))
    total = sum(tensor.nbytes for tensor in tensors.values())
    assert seen and seen[-1][0] == seen[-1][1] <= total
    with pytest.raises(tc.ArgumentError, match="small.safetensors"):
        tc.convert(path, output, to="float16")
    assert tc.convert(path, output, to="float16", overwrite=True, loss=False) == {}
    assert tc.inspect(output)[0].type in ("float16", "int64")


def test_plans(checkpoint, tmp_path):
    path, tensors = checkpoint
    output = tmp_path / "small.npz"
    plan = tc.plan(path, output, to="int8", exclude=["norm"], all_types=True, integer_overflow="saturate")
    assert plan.outputs == [str(output)] and plan.inputs == [str(path)]
    jobs = {job.name: job for job in plan.jobs}
    assert jobs["w"].action == "cast" and jobs["w"].to_type == "int8" and jobs["w"].shape == (300, 700)
    assert jobs["norm"].action == "copy" and jobs["norm"].reason == "excluded"
    assert "300 × 700" in plan.table() and plan.table().count("\n") == 4 and "<table>" in plan._repr_html_()
    again = tc.Plan.from_json(plan.to_json())
    assert again.jobs == plan.jobs and not output.exists()
    losses = again.run()
    assert losses["w"] == tc.loss(tensors["w"], "int8", integer_overflow="saturate")
    want = tc.cast(tensors["w"], "int8", integer_overflow="saturate")
    assert np.array_equal(np.load(output)["w"], want)


def test_renamed(tmp_path):
    tensors = {f"model.layers.{i}.w": np.full((2, 3), i, np.float32) for i in range(3)}
    safetensors.numpy.save_file(tensors, tmp_path / "a.safetensors")
    for rename in ({r"re:model\.layers\.(\d+)\.(.*)": r"blk.\1.\2"}, [("model.layers.*", "blk.*")]):
        plan = tc.plan(tmp_path / "a.safetensors", tmp_path / "b.safetensors", rename=rename)
        assert [(job.name, job.written_as) for job in plan.jobs] == [
            (f"model.layers.{i}.w", f"blk.{i}.w") for i in range(3)]
        assert tc.Plan.from_json(plan.to_json()).jobs == plan.jobs
        plan.run(overwrite=True)
        made = safetensors.numpy.load_file(tmp_path / "b.safetensors")
        assert sorted(made) == ["blk.0.w", "blk.1.w", "blk.2.w"]
        assert all(np.array_equal(made[f"blk.{i}.w"], tensors[f"model.layers.{i}.w"]) for i in range(3))
    with pytest.raises(tc.ArgumentError, match="would both be written as w"):
        tc.convert(tmp_path / "a.safetensors", tmp_path / "c.safetensors", rename={"*": "w"})
    with pytest.raises(TypeError, match="rename must be a mapping, or pairs"):
        tc.plan(tmp_path / "a.safetensors", tmp_path / "c.safetensors", rename=["w"])


def test_pipelines(tmp_path):
    source, output = tmp_path / "pipe", tmp_path / "out"
    x = np.float32([0.1, 2, 3])
    for name in ("unet", "vae"):
        (source / name).mkdir(parents=True)
        safetensors.numpy.save_file({"w": x}, source / name / "diffusion_pytorch_model.safetensors")
    (source / "model_index.json").write_text(
        '{"_class_name": "P", "unet": ["diffusers", "U"], "vae": ["diffusers", "V"]}')
    assert sorted(tc.convert(source, output, rules={"unet/*": "float16"})) == ["unet/w"]
    loaded = tc.load_file(output)
    assert loaded["unet/w"].dtype == np.float16 and np.array_equal(loaded["unet/w"], x.astype(np.float16))
    assert loaded["vae/w"].dtype == np.float32 and np.array_equal(loaded["vae/w"], x)
    made = safetensors.numpy.load_file(output / "unet" / "diffusion_pytorch_model.safetensors")
    assert list(made) == ["w"]


def test_scaled_formats(tmp_path):
    x = np.random.default_rng(1).standard_normal((256, 256)).astype(np.float32)
    safetensors.numpy.save_file({"model.layers.0.mlp.up_proj.weight": x}, tmp_path / "a.safetensors")
    plan = tc.plan(tmp_path / "a.safetensors", tmp_path / "b.safetensors", to="fp8-block")
    assert plan.jobs[0].action == "quantise" and plan.jobs[0].format == "fp8-block"
    plan.run()
    back = tc.plan(tmp_path / "b.safetensors", tmp_path / "c.safetensors", to="float32")
    back.run()
    with tc.open(tmp_path / "c.safetensors") as f:
        got = f["model.layers.0.mlp.up_proj.weight"]
    assert np.abs(got - x).max() <= np.abs(x).max() / 16  # float8e4m3fn has 3 mantissa bits


def test_progress(checkpoint, tmp_path):
    path, _ = checkpoint

    class Bar:
        total, n = 0, 0

        def update(self, more):
            self.n += more

    bar = Bar()
    tc.convert(path, tmp_path / "a.safetensors", to="float16", progress=bar)
    assert bar.n == bar.total > 0

    def stop(done, total, name):
        raise RuntimeError("enough")

    with pytest.raises(tc.ArgumentError, match="give Bar"):
        tc.convert(path, tmp_path / "b.safetensors", to="float16", progress=Bar)
    plan = tc.plan(path, tmp_path / "b.safetensors", to="float16")
    with pytest.raises(tc.ArgumentError, match="runs the plan that runs it"):
        plan.run(progress=lambda *_: plan.run())
    with pytest.raises(RuntimeError, match="enough"):
        tc.convert(path, tmp_path / "b.safetensors", to="float16", progress=stop)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.safetensors", "model.safetensors"]


def test_runs_that_are_resumed(tmp_path):
    """Ended by progress at some unit, by a process that is killed, changed, and gone on with; each unit is a file."""
    rng = np.random.default_rng(1)
    (tmp_path / "in").mkdir()
    names = [f"model-{i:05}-of-00008.safetensors" for i in range(1, 9)]
    for i, name in enumerate(names):
        safetensors.numpy.save_file({f"w{i}": rng.standard_normal((300, 512)).astype(np.float32)}, tmp_path / "in" / name)
    index = {"metadata": {}, "weight_map": {f"w{i}": name for i, name in enumerate(names)}}
    (tmp_path / "in" / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "in" / "config.json").write_text("{}")
    whole = tc.convert(tmp_path / "in", tmp_path / "whole", to="bfloat16")
    work = tmp_path / "out.partial"

    def stop(done, total, name):
        if name == "w3":
            raise RuntimeError("stop")

    for options in ({"resume": True}, {"resume": "strict"}):
        with pytest.raises(RuntimeError, match="^stop$"):
            tc.convert(tmp_path / "in", tmp_path / "out", to="bfloat16", progress=stop, **options)
        assert work.is_dir() and not (tmp_path / "out").exists()
        with pytest.raises(tc.ArgumentError, match="out.partial: was begun for another request"):
            tc.convert(tmp_path / "in", tmp_path / "out", to="float16", **options)
        with pytest.raises(tc.ArgumentError, match="was begun with a report"):
            tc.convert(tmp_path / "in", tmp_path / "out", to="bfloat16", loss=False, **options)
        begun = []
        losses = tc.convert(tmp_path / "in", tmp_path / "out", to="bfloat16",
                            progress=lambda done, total, name: begun.append((done, total)), **options)
        size = 300 * 512 * 4
        assert begun[0][0] > 3 * size and begun[-1] == (8 * size, 8 * size)
        assert losses == whole and not work.exists()
        for name in [*names, "config.json", "model.safetensors.index.json"]:
            assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
        with pytest.raises(FileExistsError):
            tc.convert(tmp_path / "in", tmp_path / "out", to="bfloat16", **options)
        shutil.rmtree(tmp_path / "out")

    code = ("import os, sys, tensorcast as tc\n"
            "tc.convert(sys.argv[1], sys.argv[2], to='bfloat16', resume=True, threads=1,\n"
            "           progress=lambda done, total, name: os.kill(os.getpid(), 9) if name == 'w5' else None)\n")
    killed = subprocess.run([sys.executable, "-c", code, tmp_path / "in", tmp_path / "out"], check=False)
    assert killed.returncode == -9 and work.is_dir() and not (tmp_path / "out").exists()
    assert tc.convert(tmp_path / "in", tmp_path / "out", to="bfloat16", resume=True) == whole
    assert (tmp_path / "out" / names[5]).read_bytes() == (tmp_path / "whole" / names[5]).read_bytes()
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(RuntimeError):
        tc.convert(tmp_path / "in", tmp_path / "out", to="bfloat16", progress=stop, resume=True)
    os.utime(tmp_path / "in" / names[7], ns=(0, 0))
    with pytest.raises(tc.FileError, match=rf"{names[7]}: has changed since the run in .* \(the time of its last write\)"):
        tc.convert(tmp_path / "in", tmp_path / "out", to="bfloat16", resume=True)
    with pytest.raises(tc.UnsupportedError, match="without --resume|resume"):
        tc.convert(tmp_path / "in" / names[0], tmp_path / "out.npz", to="bfloat16", resume=True)
    with pytest.raises(tc.ArgumentError, match="resume is 'fast'; expected True, False or 'strict'"):
        tc.convert(tmp_path / "in", tmp_path / "out2", to="bfloat16", resume="fast")
    with pytest.raises(tc.KindError, match="resume must be True or False"):
        tc.convert(tmp_path / "in", tmp_path / "out2", to="bfloat16", resume=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out.partial", "whole"]


def test_models_are_converted(tmp_path):
    import onnx
    from onnx import helper, numpy_helper

    w = numpy_helper.from_array(np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", 1, [1, 64])],
                              [helper.make_tensor_value_info("y", 1, [1, 64])], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), tmp_path / "m.onnx")
    losses = tc.convert(tmp_path / "m.onnx", tmp_path / "n.onnx", to="bfloat16")
    assert losses["w"] == tc.loss(numpy_helper.to_array(w), "bfloat16")
    onnx.checker.check_model(onnx.load(tmp_path / "n.onnx"))


def test_torch_files(tmp_path):
    path = tmp_path / "training.ckpt"
    values = make_torch_file.tensor("bfloat16", range(6), (2, 3))
    weights = {"w": values, "turned": make_torch_file.view(values, (3, 2), (1, 3))}
    path.write_bytes(make_torch_file.legacy_file(
        {"model": weights, "args": make_torch_file.Call("argparse.Namespace")}))
    wanted = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    with tc.open(path) as f:
        assert list(f) == ["w", "turned"]
        assert np.array_equal(f["w"], wanted) and np.array_equal(f["turned"], wanted.T)
        assert any("argparse.Namespace" in note for note in f.notes)
    tc.convert(path, tmp_path / "w.safetensors", to="float32")
    made = safetensors.numpy.load_file(tmp_path / "w.safetensors")
    assert np.array_equal(made["turned"], wanted.T.astype(np.float32))
    path.write_bytes(make_torch_file.legacy_file({"model": weights, "ema": {"w": values}}))
    with pytest.raises(tc.Error, match="choose with root=") as caught:
        tc.open(path)
    assert caught.value.remedy == "choose_root"
    assert [info.name for info in tc.inspect(path, root="ema")] == ["w"]
    tc.convert(path, tmp_path / "ema.npy", to="float32", root="ema")
    assert np.array_equal(np.load(tmp_path / "ema.npy"), wanted.astype(np.float32))
    assert tc.diff(path, tmp_path / "ema.npy", root="ema").equal
    found = tc.diff(path, path, root="model", root_of_b="ema")
    assert found.counts == {"only_in_a": 1, "same_bytes": 1} and found["turned"].b is None
    with pytest.raises(tc.ArgumentError, match="has no root to choose"):
        tc.diff(tmp_path / "ema.npy", tmp_path / "ema.npy", root="ema")
