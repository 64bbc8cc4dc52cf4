"""`Writer` and `save_file` with a layout: the bytes are those of `convert`, which the other tests hold against other libraries, of
the same tensors in a file; a few values stand beside numpy's own arithmetic here too.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorcast as tc

BFLOAT16 = ml_dtypes.bfloat16
MAKE = pathlib.Path(__file__).parents[1] / "cli" / "bin" / "make_gguf.py"
CONFIG = {"model_type": "llama", "torch_dtype": "bfloat16"}


def tensors_of_a_model():
    rng = np.random.default_rng(28)
    tensors = {"model.embed_tokens.weight": (512, 256), "model.norm.weight": (256,)}
    for layer in range(2):
        for name, shape in (("self_attn.q_proj", (256, 256)), ("self_attn.k_proj", (128, 256)), ("self_attn.v_proj", (128, 256)),
                            ("mlp.gate_proj", (384, 256)), ("mlp.up_proj", (384, 256)), ("mlp.down_proj", (256, 384))):
            tensors[f"model.layers.{layer}.{name}.weight"] = shape
    made = {name: (rng.standard_normal(shape) * rng.uniform(0.01, 5)).astype(BFLOAT16) for name, shape in tensors.items()}
    return made | {"model.ids": np.arange(5)}


@pytest.fixture(name="model")
def _model(tmp_path):
    """A checkpoint's directory, and its tensors."""
    tensors = tensors_of_a_model()
    folder = tmp_path / "model"
    folder.mkdir()
    safetensors.numpy.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2))
    (folder / "tokenizer.json").write_text('{"a": 1}')
    return folder, tensors


def declared(tensors):
    """In the order of the file that the tensors stand in: types first, then names."""
    return {name: (tensors[name].dtype, tensors[name].shape)
            for name in sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))}


def contents(folder):
    """The bytes of every file, but for the record, in which the input's name stands."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "tensorcast.json"}


def write(out, tensors):
    """In an order that is none of any file's."""
    for name in sorted(tensors, key=lambda name: name[::-1]):
        out.write(name, tensors[name])


@pytest.mark.parametrize("options", [
    {"layout": "fp8-block"}, {"layout": "fp8-row"}, {"layout": "fp8-tensor"}, {"layout": "int8-row"}, {"layout": "mxfp8"},
    {"layout": "mxfp4"}, {"layout": "nvfp4"}, {"to": "nvfp4", "layout": "modelopt"}, {"layout": "int4-group"},
    {"to": "int4-group", "layout": "gptq"}, {"to": "int4-group", "layout": "awq", "asymmetric": True},
    {"to": "int8-group", "layout": "mlx", "group": 64}, {"layout": "fp8-block", "scale_rule": "mse"},
    {"layout": "int8-row", "exclude": ["*.0.*"], "max_shard_bytes": 300_000},
    {"to": "bfloat16", "rules": {"*.q_proj.weight": "fp8-row"}}, {"to": "float16"}, {"to": "same", "max_shard_bytes": 200_000},
    {"to": "same", "select": ["*.1.*", "model.norm.weight"]}], ids=str)
def test_directories(model, tmp_path, options):
    folder, tensors = model
    asked = dict(options)
    if "to" not in asked:
        asked["to"] = asked.pop("layout")
    tc.convert(folder, tmp_path / "wanted", loss=False, **asked)
    with tc.Writer(tmp_path / "found", declared(tensors), {"format": "pt"}, config=folder, **options) as out:
        write(out, tensors)
    wanted, found = contents(tmp_path / "wanted"), contents(tmp_path / "found")
    assert sorted(found) == sorted(wanted) and found == wanted
    assert "tokenizer.json" in found and not list(tmp_path.glob(".*"))
    if options == {"to": "float16"}:  # save_file takes no plan for that, and so wants a file's ending
        with pytest.raises(tc.UnsupportedError, match="ending"):
            tc.save_file(tensors, tmp_path / "saved", **options)
    ordered = {name: tensors[name] for name in declared(tensors)}
    tc.save_file(ordered, tmp_path / "saved", {"format": "pt"}, config=folder, **options)
    assert contents(tmp_path / "saved") == wanted


def test_values(model, tmp_path):
    """fp8 in blocks, by numpy: each code is the nearest of the weight divided by its block's scale.

    ml_dtypes rounds float64 by way of float32, so that its nearest is looked for here."""
    table = np.unique(np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64))
    table = table[np.isfinite(table)]
    _, tensors = model
    single = {name: array.astype(np.float32) for name, array in tensors.items() if array.dtype != np.int64}
    with tc.Writer(tmp_path / "out", {name: ("bfloat16", array.shape) for name, array in single.items()}, layout="fp8-block",
                   config=CONFIG) as out:
        write(out, single)  # cast to what was declared first
    codes, scales = {}, {}
    for name, entry in safetensors.deserialize((tmp_path / "out" / "model.safetensors").read_bytes()):
        if entry["dtype"] == "F8_E4M3":
            codes[name] = np.frombuffer(bytes(entry["data"]), ml_dtypes.float8_e4m3fn).reshape(entry["shape"])
        elif name.endswith("_scale_inv"):
            scales[name.removesuffix("_scale_inv")] = np.frombuffer(bytes(entry["data"]), np.float32).reshape(entry["shape"])
    assert len(codes) == 12 and codes.keys() == scales.keys()
    for name, code in codes.items():
        weight = tensors[name].astype(np.float64)
        whole = np.repeat(np.repeat(scales[name].astype(np.float64), 128, 0), 128, 1)
        quotient, above = weight / whole, np.searchsorted(table, weight / whole).clip(1, len(table) - 1)
        least = np.minimum(np.abs(quotient - table[above]), np.abs(quotient - table[above - 1]))
        assert np.array_equal(np.abs(quotient - code.astype(np.float64)), least), name
        amax = np.abs(weight).reshape(weight.shape[0] // 128, 128, -1, 128).max((1, 3))
        assert np.array_equal(scales[name], (amax / 448).astype(np.float32)), name
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["model_type"] == "llama" and config["quantization_config"]["quant_method"] == "fp8"


def test_files(model, tmp_path):
    _, tensors = model
    source = tmp_path / "x" / "source.safetensors"
    source.parent.mkdir()
    safetensors.numpy.save_file(tensors, source)
    with tc.Writer(tmp_path / "found.safetensors", declared(tensors), layout="fp8-row") as out:
        write(out, tensors)
    tc.convert(source, tmp_path / "wanted.safetensors", to="fp8-row", loss=False)
    found, wanted = ({name: bytes(entry["data"]) for name, entry in safetensors.deserialize(path.read_bytes())}
                     for path in (tmp_path / "found.safetensors", tmp_path / "wanted.safetensors"))
    assert found == wanted
    with tc.open(source) as f:  # of which one tensor after the other is read
        tc.save_file(f, tmp_path / "saved.safetensors", layout="fp8-row", exclude=["*.0.*"])
    tc.convert(source, tmp_path / "other.safetensors", to="fp8-row", exclude=["*.0.*"], loss=False)
    assert (tmp_path / "saved.safetensors").read_bytes() == (tmp_path / "other.safetensors").read_bytes()


def test_narrow_types(tmp_path):
    """Elements of less than a byte go with the weights: a file of theirs says in which bytes."""
    rng = np.random.default_rng(4)
    weight = rng.standard_normal((256, 256)).astype(BFLOAT16)
    tensors = {"model.up.weight": weight, "codes": rng.integers(-8, 8, (3, 5)).astype(ml_dtypes.int4),
               "pairs": rng.integers(0, 4, (7,)).astype(ml_dtypes.uint2), "four": rng.integers(-6, 7, (4, 3)).astype(ml_dtypes.float4_e2m1fn)}
    tc.save_file(tensors, tmp_path / "plain.safetensors")
    source = tmp_path / "source"
    source.mkdir()
    (tmp_path / "plain.safetensors").rename(source / "model.safetensors")
    (source / "config.json").write_text(json.dumps(CONFIG, indent=2))
    tc.convert(source, tmp_path / "wanted", to="fp8-block", loss=False, only=["model.*"])
    with tc.Writer(tmp_path / "found", {name: (array.dtype, array.shape) for name, array in tensors.items()}, layout="fp8-block",
                   config=CONFIG, only=["model.*"]) as out:
        write(out, tensors)
    wanted, found = (safetensors.deserialize((tmp_path / name / "model.safetensors").read_bytes()) for name in ("wanted", "found"))
    assert {name: bytes(entry["data"]) for name, entry in found} == {name: bytes(entry["data"]) for name, entry in wanted}
    for name, array in tc.load_file(tmp_path / "found").items():
        if name != "model.up.weight":
            assert array.dtype == tensors[name].dtype and np.array_equal(array.astype(np.float32), tensors[name].astype(np.float32))
    flat = tensors["codes"].astype(np.int8).ravel() & 15
    (packed,) = (entry for name, entry in found if name == "codes")
    assert list(packed["data"]) == (flat[::2] | np.append(flat[1::2], 0) << 4).tolist()


def test_gguf(tmp_path):
    """Q8_0 beside numpy's blocks: an example has the keys."""
    weight = np.random.default_rng(1).standard_normal((6, 64)).astype(np.float32)
    example = tmp_path / "like.gguf"
    subprocess.run([sys.executable, MAKE, example], text=True, check=True, input=(
        "key general.architecture string llama\ntensor blk.0.ffn_up.weight F32 6x64 0\ntensor output_norm.weight F32 3 1 2 3\n"))
    tensors = {"output_norm.weight": np.float32([1, 2, 3]), "blk.0.ffn_up.weight": weight}
    with tc.Writer(tmp_path / "x.gguf", declared(tensors), layout="q8_0", like=example) as out:
        write(out, tensors)
    with tc.open(tmp_path / "x.gguf") as f:
        assert f.metadata["general.architecture"] == "llama" and np.array_equal(f["output_norm.weight"], [1, 2, 3])
        tc.save_file(tensors, tmp_path / "y.gguf", layout="q8_0", like=example)
        assert (tmp_path / "y.gguf").read_bytes() == (tmp_path / "x.gguf").read_bytes()
        blocks = np.asarray(f.raw["blk.0.ffn_up.weight"]).reshape(-1, 34)
        scales, codes = blocks[:, :2].copy().view(np.float16).astype(np.float64), blocks[:, 2:].view(np.int8)
        assert np.abs(scales * codes - weight.reshape(-1, 32)).max() <= scales.max() / 2 * 1.01
        assert np.array_equal(f.get("blk.0.ffn_up.weight", to="float64").reshape(-1, 32), scales * codes)


def test_whole_or_not_at_all(model, tmp_path):
    _, tensors = model
    before = sorted(tmp_path.iterdir())
    name = "model.layers.0.self_attn.q_proj.weight"

    def fails(error, line, write_some, planned=None, target="out", **options):
        with pytest.raises(error, match=line) as caught:
            with tc.Writer(tmp_path / target, declared(tensors) if planned is None else planned,
                           **({"layout": "nvfp4"} | options)) as out:
                write_some(out)
        assert "\n" not in str(caught.value) and sorted(tmp_path.iterdir()) == before

    def enough(out):
        out.write(name, tensors[name])
        raise RuntimeError("enough")

    def twice(out):
        out.write("model.norm.weight", tensors["model.norm.weight"])
        out.write("model.norm.weight", tensors["model.norm.weight"])

    fails(RuntimeError, "enough", enough)
    fails(tc.ArgumentError, "model.ids was not written", lambda out: out.write(name, tensors[name]))
    fails(tc.ArgumentError, "written already", twice)
    fails(tc.ArgumentError, "has shape", lambda out: out.write(name, tensors[name][:3]))
    fails(tc.ArgumentError, "'x' is not one of", lambda out: out.write("x", tensors[name]))
    fails(tc.ArgumentError, "layout is 'nvfp5': alone it is one of fp8-tensor, .*in to='int4-group', layout='gptq'; did you mean nvfp4", None, layout="nvfp5")
    fails(tc.ArgumentError, "layout is 'gptq'", None, layout="gptq")
    fails(tc.ArgumentError, "layout must be .*; did you mean deepseek", None, to="nvfp4", layout="deepsick")
    fails(tc.Error, "'x' matches no tensor", None, exclude=["x"])
    fails(tc.KindError, "Writer has no option 'exclud': the nearest is exclude", None, exclud=["x"])
    fails(tc.KindError, "config is not JSON", None, config={"a": object()})
    fails(tc.FileError, "config: .*nothing", None, config=tmp_path / "nothing")
    fails(tc.ArgumentError, "has no config.json", None, config=pathlib.Path(__file__).parent)
    fails(tc.UnsupportedError, "'w' holds strings", None, planned={"w": ("string", (3,))})
    for refused, line in ({"w": np.array(["a"])}, "out: tensor .w. is string"), ({"w": tensors[name], "__metadata__": tensors[name]}, "out: tensor"):
        with pytest.raises(tc.UnsupportedError, match=line):
            tc.save_file(refused, tmp_path / "out", layout="fp8-row")
    with pytest.raises(tc.KindError, match="save_file has no option 'exclud': the nearest is exclude"):
        tc.save_file({}, tmp_path / "out", layout="fp8-row", exclud=["x"])
    assert sorted(tmp_path.iterdir()) == before
    fails(tc.Error, "ending|directories", None, target="x.npz")
    with tc.Writer(tmp_path / "out", declared(tensors), layout="nvfp4") as out:
        write(out, tensors)
    with pytest.raises(FileExistsError):
        tc.Writer(tmp_path / "out", declared(tensors), layout="nvfp4")
    kept = contents(tmp_path / "out")
    with pytest.raises(RuntimeError), tc.Writer(tmp_path / "out", declared(tensors), layout="fp8-row", overwrite=True) as out:
        enough(out)
    assert contents(tmp_path / "out") == kept


def test_a_callers_memory_may_be_used_again(model, tmp_path):
    """Also of weights that wait for others, with which they share a scale."""
    folder, tensors = model
    names = [name for name in tensors if "_proj" in name and ".0." in name]
    scratch = np.empty(384 * 256, BFLOAT16)
    with tc.Writer(tmp_path / "found", {name: ("bfloat16", tensors[name].shape) for name in names}, layout="nvfp4", config=CONFIG) as out:
        for name in names:
            memory = scratch[:tensors[name].size].reshape(tensors[name].shape)
            memory[...] = tensors[name]
            out.write(name, memory)
            memory[...] = 7
    tc.convert(folder, tmp_path / "wanted", to="nvfp4", select=names, loss=False)
    with tc.open(tmp_path / "found") as found, tc.open(tmp_path / "wanted") as wanted:
        assert list(found) == names or set(found) == set(names)
        assert all(np.array_equal(found.get(name, to="float32"), wanted.get(name, to="float32")) for name in names)


def test_memory(tmp_path):
    """A checkpoint of 256 MiB, of which each tensor is let go before the next is made."""
    program = ("import resource, sys, numpy as np, tensorcast as tc\n"
               "names = [f'model.layers.{i}.mlp.up_proj.weight' for i in range(16)]\n"
               "tc.result_memory(limit=0)\n"
               "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
               "with tc.Writer(sys.argv[1], {name: ('float32', (2048, 2048)) for name in names}, layout='fp8-block') as out:\n"
               "    for i, name in enumerate(names):\n"
               "        out.write(name, np.full((2048, 2048), i, np.float32))\n"
               "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n")
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "out"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100 << 10  # KiB
    with tc.open(tmp_path / "out") as f:
        assert all((f.get(f"model.layers.{i}.mlp.up_proj.weight", to="float32") == i).all() for i in range(16))
