"""Weights that files hold as codes and scales, read by `open`: beside rationals of numpy's values of
the codes, and beside the file that `convert` writes.

SPDX-License-Identifier: Apache-2.0
"""
import json
import shutil
from fractions import Fraction

import ml_dtypes
import numpy as np
import oracle
import pytest
import safetensors.numpy
import tensorcast as tc

E4M3 = ml_dtypes.float8_e4m3fn


def codes_of(rng, dtype, shape):
    """Random finite codes."""
    codes = rng.integers(0, 256, shape, dtype=np.uint8)
    if dtype == np.int8:
        return codes.view(np.int8)
    codes[codes & 0x7F == 0x7F] = 0
    return codes.view(dtype)


def fp4_codes(packed):
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)
    return codes.view(ml_dtypes.float4_e2m1fn)


def line_words(codes):
    """Codes of 4 bits, eight in a word of 32, from the lowest bits on."""
    eights = codes.reshape(codes.shape[0], -1, 8).astype(np.uint32)
    words = np.bitwise_or.reduce(eights << np.arange(0, 32, 4, dtype=np.uint32), -1)
    return np.ascontiguousarray(words).view(np.int32)


def text(said):
    return np.frombuffer(json.dumps(said).encode(), np.uint8)


def tiled(grid):
    """Scales as a matrix unit takes them, in tiles of 128 x 4."""
    rows, columns = -(-grid.shape[0] // 128) * 128, -(-grid.shape[1] // 4) * 4
    stored = np.zeros(rows * columns, grid.dtype)
    r, c = np.indices(grid.shape)
    stored[(r // 128 * (columns // 4) + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = grid
    return stored.reshape(rows, columns)


def rationals(codes, scales, rows, columns, factor=Fraction(1)):
    """code * scale * factor; each scale is that of rows x columns codes."""
    out = np.empty(codes.shape, object)
    for i, row in enumerate(codes.astype(np.float64)):
        for j, code in enumerate(row):
            scale = float(scales[i // rows, j // columns])
            out[i, j] = Fraction(float(code)) * Fraction(scale) * factor
    return out


def layouts(rng):
    """name -> (tensors, config.json's part, the weight's name, its codes' name, rationals)."""
    codes = codes_of(rng, E4M3, (200, 160))
    blocks = (rng.random((2, 2)) * 1e-2).astype(np.float32)
    rows = (rng.random((200, 1)) * 1e-2).astype(np.float32)
    small = codes_of(rng, np.int8, (200, 160))
    packed = rng.integers(0, 256, (64, 32), dtype=np.uint8)
    cells = codes_of(rng, E4M3, (64, 4))
    cells = np.abs(cells.astype(np.float32)).astype(E4M3)
    whole = np.float32([3.7])
    bytes_ = rng.integers(100, 140, (64, 2), dtype=np.uint8)
    yield ("deepseek", {"a.weight": codes, "a.weight_scale_inv": blocks},
           {"quant_method": "fp8", "weight_block_size": [128, 128]},
           "a.weight", "a.weight", rationals(codes, blocks, 128, 128))
    yield ("rows", {"a.weight": codes, "a.weight_scale": rows}, None,
           "a.weight", "a.weight", rationals(codes, rows, 1, 160))
    yield ("int8", {"a.weight": small, "a.weight_scale": rows},
           {"quant_method": "compressed-tensors", "format": "int-quantized", "config_groups": {
               "g": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "int",
                                                         "strategy": "channel", "symmetric": True}}}},
           "a.weight", "a.weight", rationals(small, rows, 1, 160))
    yield ("nvfp4", {"a.weight_packed": packed, "a.weight_scale": cells,
                     "a.weight_global_scale": whole}, None,
           "a.weight", "a.weight_packed",
           rationals(fp4_codes(packed), cells.astype(np.float64), 1, 16, 1 / Fraction(float(whole[0]))))
    yield ("mxfp4", {"a.weight_packed": packed, "a.weight_scale": bytes_}, None,
           "a.weight", "a.weight_packed",
           rationals(fp4_codes(packed), np.exp2(bytes_ - 127.0), 1, 32))


    # Integers of 4 bits in groups: GPTQ's, transposed and in an order of their own, and Kimi K2's.
    words = rng.integers(0, 16, (64, 160))
    zeros = rng.integers(1, 16, (64, 5))
    factors = (rng.random((64, 5)) * 1e-2).astype(np.float16)
    order = rng.permutation(np.repeat(np.arange(5), 32)).astype(np.int32)
    yield ("gptq", {"a.qweight": np.ascontiguousarray(line_words(words).T), "a.qzeros": line_words(zeros.T - 1),
                    "a.scales": np.ascontiguousarray(factors.T), "a.g_idx": order},
           {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True, "sym": False},
           "a.weight", "a.qweight", rationals(words - zeros[:, order], factors[:, order], 1, 1))
    bfloat16 = factors.astype(ml_dtypes.bfloat16)
    yield ("pack_quantized", {"a.weight_packed": line_words(words), "a.weight_scale": bfloat16,
                              "a.weight_shape": np.int64([64, 160])},
           {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {
               "g": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 32,
                                                         "strategy": "group", "symmetric": True}}}},
           "a.weight", "a.weight_packed", rationals(words - 8, bfloat16, 1, 32))
    # bitsandbytes' numbers of a table, the high half of a byte first; rows of int8.
    table = np.sort(rng.random(16)).astype(np.float32)
    absmax = (rng.random((64, 5)) * 1e-2).astype(np.float32)
    state = json.dumps({"quant_type": "nf4", "blocksize": 32, "dtype": "bfloat16", "shape": [64, 160]})
    halves = words.reshape(-1, 2).astype(np.uint8)
    yield ("nf4", {"a.weight": (halves[:, :1] << 4 | halves[:, 1:]), "a.weight.absmax": absmax.ravel(),
                   "a.weight.quant_map": table,
                   "a.weight.quant_state.bitsandbytes__nf4": np.frombuffer(state.encode(), np.uint8)},
           {"quant_method": "bitsandbytes", "load_in_4bit": True},
           "a.weight", "a.weight", rationals(table[words], absmax, 1, 32))
    yield ("llm_int8", {"a.weight": small, "a.SCB": rows.ravel(), "a.weight_format": np.array(0, np.uint8)},
           {"quant_method": "bitsandbytes", "load_in_8bit": True},
           "a.weight", "a.weight", rationals(small, rows, 1, 160, Fraction(1, 127)))
    # MLX's integers with biases, and its floats.
    biases = (-8 * bfloat16.astype(np.float32)).astype(ml_dtypes.bfloat16)
    yield ("mlx", {"a.weight": line_words(words).view(np.uint32), "a.scales": bfloat16, "a.biases": biases},
           {"group_size": 32, "bits": 4}, "a.weight", "a.weight",
           rationals(words, bfloat16, 1, 32) + rationals(np.ones_like(words), biases, 1, 32))
    yield ("mlx_mxfp4", {"a.weight": packed.view(np.uint32), "a.scales": bytes_},
           {"group_size": 32, "bits": 4, "mode": "mxfp4"}, "a.weight", "a.weight",
           rationals(fp4_codes(packed), np.exp2(bytes_ - 127.0), 1, 32))
    # ComfyUI's, described beside them: scales in tiles, the high half first; rows that were rotated.
    yield ("comfy_nvfp4", {"a.weight": packed << 4 | packed >> 4, "a.weight_scale": tiled(cells),
                           "a.weight_scale_2": whole, "a.comfy_quant": text({"format": "nvfp4"})}, None,
           "a.weight", "a.weight", rationals(fp4_codes(packed), cells.astype(np.float64), 1, 16,
                                             Fraction(float(whole[0]))))
    four = 1 - 2 * np.eye(4, dtype=np.int64)[::-1]
    sums = (small.astype(np.int64).reshape(200, 10, 16) @ np.kron(four, four)).reshape(200, 160)
    yield ("comfy_rotated", {"a.weight": small, "a.weight_scale": rows,
                             "a.comfy_quant": text({"format": "int8_tensorwise", "convrot": True,
                                                    "convrot_groupsize": 16})}, None,
           "a.weight", "a.weight", rationals(sums, rows, 1, 160, Fraction(1, 4)))


CASES = list(layouts(np.random.default_rng(14)))


@pytest.fixture(params=CASES, ids=[case[0] for case in CASES])
def checkpoint(request, tmp_path):
    """A directory with a scaled weight and a plain one."""
    _, tensors, config, *rest = request.param
    folder = tmp_path / "model"
    folder.mkdir()
    norm = np.float32([1.5, 0.1])
    safetensors.numpy.save_file({**tensors, "norm": norm}, folder / "model.safetensors")
    if config is not None:
        (folder / "config.json").write_text(json.dumps({"quantization_config": config}))
    return folder, tensors, *rest


@pytest.mark.parametrize("to", ["bfloat16", "float16", "float8_e5m2", "float64"])
def test_values_are_rounded_once(checkpoint, to):
    folder, _, name, _, exact = checkpoint
    if to == "float64":  # Python's division of integers rounds once
        want = [value.numerator / value.denominator for value in exact.flat]
    else:
        want = [oracle.cast_to_narrow_float(value, tc.type_name(to)) for value in exact.flat]
    for path in (folder, folder / "model.safetensors"):
        with tc.open(path) as f:
            assert list(f.scaled) == [name]
            got = f.get(name, to=to)
            assert got.shape == exact.shape and got.dtype == tc.finfo(to).dtype
            assert got.astype(np.float64).ravel().tolist() == want
            plain = np.float32([1.5, 0.1])
            assert np.array_equal(f.get("norm", to=to), tc.cast(plain, to))


def test_as_convert_writes_them(checkpoint, tmp_path):
    folder, tensors, name, codes, _ = checkpoint
    for to in ("bfloat16", "float4_e2m1fn", "float32", "int8"):
        plain = tmp_path / f"{to}.safetensors"
        losses = tc.convert(folder / "model.safetensors", plain, to=to)
        with tc.open(plain) as made, tc.open(folder) as f:
            assert set(f) == set(made) and f.info(name).shape == made[name].shape
            got, report = f.get(name, to=to, loss=True)
            assert np.array_equal(got.view(np.uint8), made[name].view(np.uint8))
            assert report.counts == losses[name].counts and report.rmse == losses[name].rmse
            values = f.get(name, to="float64")
            if to == "float4_e2m1fn":
                stream = f.get(name, to=to, packed=True)
                assert np.array_equal(stream, tc.cast(made[name], to, packed=True))
            assert f.get(name, to="string").tolist() == tc.cast(values, "string").tolist()


def test_loaded_and_saved(checkpoint, tmp_path):
    folder, tensors, name, codes, exact = checkpoint
    got = tc.load_file(folder, "bfloat16")
    assert set(got) == {name, "norm"} and {array.dtype.name for array in got.values()} == {"bfloat16"}
    assert got[name].astype(np.float64).ravel().tolist() == [oracle.cast_to_narrow_float(value, "bfloat16") for value in exact.flat]
    stored = tc.load_file(folder, ignore_scales=True)
    assert set(stored) == {*tensors, "norm"} and all(
        stored[each].dtype == array.dtype and np.array_equal(stored[each].view(np.uint8), array.view(np.uint8))
        for each, array in tensors.items())
    tc.convert(folder / "model.safetensors", tmp_path / "a.safetensors", to="float16", loss=False)
    with tc.open(folder) as f:
        tc.save_file({each: f.get(each, to="float16") for each in f}, tmp_path / "b.safetensors")
        tc.save_file({each: f.get(each, to="float64") for each in f}, tmp_path / "c.safetensors")
        tc.save_file(f.raw, tmp_path / "d.safetensors")
    made = safetensors.numpy.load_file(tmp_path / "b.safetensors")
    assert tc.diff(tmp_path / "a.safetensors", tmp_path / "b.safetensors").equal and set(made) == {name, "norm"}
    assert tc.load_file(tmp_path / "c.safetensors")[name].ravel().tolist() == [
        value.numerator / value.denominator for value in exact.flat]
    with tc.open(tmp_path / "d.safetensors") as again, tc.open(folder) as f:
        assert all(np.array_equal(again.raw[each].view(np.uint8), f.raw[each].view(np.uint8)) for each in f.raw)


def test_diff_reads_them(checkpoint, tmp_path):
    folder, _, name, _, _ = checkpoint
    plain = tmp_path / "plain.safetensors"
    tc.convert(folder, plain, to="float64")
    found = tc.diff(folder, plain)
    assert found.equal and found[name].a.layout and found[name].b.type == "float64"
    assert {one.name for one in tc.inspect(plain)} == {name, "norm"}


def test_codes_as_they_are_stored(checkpoint):
    folder, tensors, weight, codes, _ = checkpoint
    with tc.open(folder) as f:
        assert set(f.raw) == {*tensors, "norm"} and set(f) == {weight, "norm"}
        for name, tensor in tensors.items():
            assert np.array_equal(f.raw[name].view(np.uint8), tensor.view(np.uint8))
            if name != weight:
                assert name not in f and f.get(name) is None
                with pytest.raises(KeyError, match="stands in .raw"):
                    f[name]
        bare = f.get(codes, to="float32", ignore_scales=True)
        assert np.array_equal(bare, tensors[codes].astype(np.float32))
        assert np.array_equal(f.raw.get(codes, to="float32"), bare)


@pytest.mark.parametrize(("built_in", "wanted"), [(None, "float32"), ("bfloat16", "bfloat16"), ("half", "float32")])
def test_weights_are_what_the_model_is_built_in(checkpoint, built_in, wanted):
    folder, _, name, _, exact = checkpoint
    path = folder / "config.json"
    said = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**said, **({"torch_dtype": built_in} if built_in else {})}))
    want = [oracle.cast_to_narrow_float(value, wanted) if wanted == "bfloat16" else np.float32(
        rounded_to_float32(value)) for value in exact.flat]
    with tc.open(folder) as f:
        got = f[name]
        assert f.info(name).type == wanted == tc.type_name(got.dtype) and f.info(name).nbytes == got.nbytes
        assert got.astype(np.float64).ravel().tolist() == want and f["norm"].dtype == np.float32


@pytest.mark.parametrize("types", [("bfloat16", "float64", None), (None, "bfloat16", "float16"), ("float64", None, "bfloat16")])
def test_a_component_is_read_as_its_own_model_is_built_in(checkpoint, tmp_path, types):
    folder, _, name, _, exact = checkpoint
    pipeline, components = tmp_path / "pipe", ("text_encoder", "transformer", "vae")
    pipeline.mkdir()
    for component, built_in in zip(components, types, strict=True):
        shutil.copytree(folder, pipeline / component)
        path = pipeline / component / "config.json"
        said = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**said, **({"torch_dtype": built_in} if built_in else {})}))
    (pipeline / "model_index.json").write_text(json.dumps({"_class_name": "P"} | dict.fromkeys(components, ["transformers", "M"])))
    with tc.open(pipeline) as f:
        assert {*f} == {f"{component}/{each}" for component in components for each in (name, "norm")}
        for component, built_in in zip(components, types, strict=True):
            wanted, weight = built_in or "float32", f"{component}/{name}"
            got = f[weight]
            if wanted == "float64":  # Python's division of integers rounds once
                want = [value.numerator / value.denominator for value in exact.flat]
            elif wanted == "float32":
                want = [rounded_to_float32(value) for value in exact.flat]
            else:
                want = [oracle.cast_to_narrow_float(value, wanted) for value in exact.flat]
            assert f.info(weight).type == wanted == tc.type_name(got.dtype)
            assert got.astype(np.float64).ravel().tolist() == want
            assert np.array_equal(f.get_slice(weight)[:1], got[:1]) and f[f"{component}/norm"].dtype == np.float32
    assert tc.load_file(pipeline)[f"transformer/{name}"].dtype == tc.finfo(types[1] or "float32").dtype


def rounded_to_float32(value):
    """A rational, rounded once: to 24 bits, or to a multiple of 2^-149."""
    if value == 0:
        return 0.0
    top = abs(value).numerator.bit_length() - abs(value).denominator.bit_length()
    top -= Fraction(2) ** top > abs(value)
    unit = Fraction(2) ** max(top - 23, -149)
    return float(round(value / unit) * unit)  # round is to even where two are as near


def test_parts_of_scaled_weights(checkpoint):
    folder, _, name, _, exact = checkpoint
    with tc.open(folder) as f:
        whole, part = f.get(name, to="float16"), f.get_slice(name, to="float16")
        assert part.shape == exact.shape
        for index in (np.s_[3:17], np.s_[:, 32:64], np.s_[5], np.s_[..., 7], np.s_[::-3, 1::2], np.s_[-1, -1]):
            assert np.array_equal(part[index], whole[index])


def test_scales_that_cannot_be_applied(tmp_path):
    codes = np.zeros((64, 64), E4M3)
    path = tmp_path / "a.safetensors"
    safetensors.numpy.save_file({"a.weight": codes, "a.weight_scale": np.ones((3, 5), np.float32)}, path)
    # HQQ's, which is not read.
    hqq = {"b.W_q": np.ones((8, 64), np.uint8), "b.zero": np.ones((1, 64), np.float16),
           "b.scale": np.ones((1, 64), np.float16)}
    safetensors.numpy.save_file(hqq, tmp_path / "b.safetensors")
    for file, name, error in ((path, "a.weight", tc.ContentsError),
                              (tmp_path / "b.safetensors", "b.W_q", tc.UnsupportedError)):
        with tc.open(file) as f:
            with pytest.raises(error, match="give ignore_scales=True") as caught:
                f.get(name, to="float32")
            assert "\n" not in str(caught.value)
            assert f.get(name, to="float32", ignore_scales=True).shape == f.raw[name].shape
            with pytest.raises(error, match="ignore_scales"):
                f[name]


def test_scales_in_another_file(tmp_path):
    codes = codes_of(np.random.default_rng(3), E4M3, (32, 32))
    safetensors.numpy.save_file({"a.weight": codes}, tmp_path / "model-00001-of-00002.safetensors")
    safetensors.numpy.save_file({"a.weight_scale": np.float32([0.5])},
                                tmp_path / "model-00002-of-00002.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {
        "a.weight": "model-00001-of-00002.safetensors",
        "a.weight_scale": "model-00002-of-00002.safetensors"}}))
    with tc.open(tmp_path) as f:
        assert np.array_equal(f.get("a.weight", to="float32"), codes.astype(np.float32) / 2)
    with tc.open(tmp_path / "model-00001-of-00002.safetensors") as f:
        with pytest.raises(tc.ContentsError, match="open the directory"):
            f.get("a.weight", to="float32")


def test_scales_that_no_quantiser_writes_are_noted(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors.numpy.save_file({"a.weight": np.ones((32, 32), E4M3),
                                 "a.weight_scale": np.float32([np.nan])}, path)
    with tc.open(path) as f:
        assert not any("NaN" in note for note in f.notes)
        assert np.isnan(f.get("a.weight", to="float32")).all()
        assert any("a.weight" in note and "NaN" in note for note in f.notes)


def test_fused_weights_have_one_global_scale(tmp_path):
    rng = np.random.default_rng(15)
    weights = {f"l.0.{module}_proj.weight": (rng.standard_normal((32, 64)) * size).astype(np.float32)
               for module, size in (("q", 1), ("k", 7), ("v", 0.1), ("o", 3))}
    source, small = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    safetensors.numpy.save_file(weights, source)
    tc.convert(source, small, to="nvfp4")
    with tc.open(small) as f:
        made = {name: np.array(f.raw[name]) for name in f.raw}
    largest = max(np.abs(weights[f"l.0.{module}_proj.weight"]).max() for module in "qkv")
    for module in "qkv":
        assert made[f"l.0.{module}_proj.weight_global_scale"] == np.float32(2688) / largest
    own = np.abs(weights["l.0.o_proj.weight"]).max()
    assert made["l.0.o_proj.weight_global_scale"] == np.float32(2688) / own
    # Of several, each is applied by its own, and they are named.
    made["l.0.k_proj.weight_global_scale"] *= 2
    safetensors.numpy.save_file(made, small)
    with tc.open(small) as f:
        f.get("l.0.q_proj.weight", to="float32")
        assert any("l.0.k_proj.weight" in note and "one matrix" in note for note in f.notes)
    plan = tc.plan(small, tmp_path / "c.safetensors", to="float32")
    plan.run()
    assert any("l.0.k_proj.weight" in note and "one matrix" in note for note in plan.notes)
