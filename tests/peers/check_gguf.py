#!/usr/bin/env python3
"""GGUF files as gguf-py writes and reads them: its keys and plain tensors, whole and in parts, and random blocks of
every type that it decodes. Its values are float32, computed in float32; each difference must come of that, and of nothing
else: a sum of two products is rounded there before it is cast, and E2M1's -0 is +0 there.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import sys

import gguf
import ml_dtypes
import numpy as np
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import load_file, save_file

from tool import Tool, ToolError

# Types whose values are a difference or a sum of two products: gguf-py rounds it to float32.
_SUMS = (Type.Q4_1, Type.Q5_1, Type.Q2_K, Type.Q4_K, Type.Q5_K)
_PRODUCTS = (Type.Q4_0, Type.Q5_0, Type.Q8_0, Type.Q3_K, Type.Q6_K, Type.IQ4_NL, Type.IQ4_XS,
             Type.TQ1_0, Type.TQ2_0)
_E2M1 = (Type.MXFP4, Type.NVFP4)
# Where a block has float16 numbers.
_HALVES = {Type.Q4_0: (0,), Type.Q4_1: (0, 2), Type.Q5_0: (0,), Type.Q5_1: (0, 2), Type.Q8_0: (0,),
           Type.Q2_K: (80, 82), Type.Q3_K: (108,), Type.Q4_K: (0, 2), Type.Q5_K: (0, 2),
           Type.Q6_K: (208,), Type.IQ4_NL: (0,), Type.IQ4_XS: (0,), Type.TQ1_0: (52,),
           Type.TQ2_0: (64,), Type.MXFP4: (), Type.NVFP4: ()}
_ROWS, _BLOCKS = 16, 33


def _random_blocks(kind, rng, rows=_ROWS, blocks=_BLOCKS):
    """Random bytes, but for numbers that are Inf or NaN: float16 of all other exponents."""
    _, size = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (rows, blocks, size), np.uint8)
    for at in _HALVES[kind]:
        data[..., at + 1] &= 0xFB
    if kind == Type.MXFP4:  # gguf-py has no NaN, and float32 no more than 2^128
        data[..., 0] %= 250
    return data.reshape(rows, blocks * size)


def _expected(kind, data):
    """What gguf-py gives, and the exact values: of sums recomputed in float64."""
    theirs = gguf.quants.dequantize(data, kind)
    if kind not in _SUMS:
        exact = theirs.astype(np.float64)
        if kind in _E2M1:
            exact = np.where(exact == 0, 0.0, exact)
        return theirs, exact
    values, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = data.reshape(-1, size)

    # The same with one of the two numbers zero is one of the two products, exact in float32.
    def without(at):
        part = blocks.copy()
        part[:, at:at + 2] = 0
        return gguf.quants.dequantize(part, kind).astype(np.float64)

    first, second = _HALVES[kind]
    exact = without(second) + without(first)
    assert exact.shape == (len(blocks), values)
    exact = exact.reshape(theirs.shape)
    # Of a difference that is zero the sign is that of its terms.
    return theirs, np.where((exact == 0) & (theirs == 0), theirs, exact)


def _write(path, tensors, keys=(), **how):
    writer = gguf.GGUFWriter(path, "test", **how)
    for key, value in keys:
        writer.add_key_value(key, value, gguf.GGUFValueType.get_type(value))
    for name, data, kind in tensors:
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _same(got, want, what):
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"{what}: {got.dtype}, expected {want.dtype}"
    unsigned = np.dtype(f"u{got.dtype.itemsize}")
    differ = np.flatnonzero(got.reshape(-1).view(unsigned) != want.reshape(-1).view(unsigned))
    assert differ.size == 0, (f"{what}: {differ.size} of {got.size} differ, the first [{differ[0]}]:"
                              f" {got.reshape(-1)[differ[0]]}, expected"
                              f" {want.reshape(-1)[differ[0]]}")


def check_plain(tool):
    """Tensors that are no blocks, keys, names: as they were given to gguf-py."""
    rng = np.random.default_rng(1)
    arrays = {"f32": rng.normal(size=(3, 5)).astype(np.float32),
              "f16": rng.normal(size=(2, 3, 4)).astype(np.float16), "f64": rng.normal(size=7),
              "i8": rng.integers(-128, 128, (3, 3), np.int8),
              "i16": rng.integers(-99, 99, 5).astype(np.int16),
              "i32": rng.integers(-99, 99, (1, 4)).astype(np.int32), "i64": np.arange(6),
              "caf\u00e9": np.ones((2, 1, 2, 1), np.float32)}
    before, after = tool.folder / "p.gguf", tool.folder / "p.npz"
    _write(before, [(name, array, None) for name, array in arrays.items()],
           [("a.text", "caf\u00e9"), ("a.number", 7), ("a.real", 0.1),
            ("a.list", list(range(100)))])
    shown = json.loads(tool.run("inspect", before, "--json")[0])["metadata"]
    want = {"a.text": "caf\u00e9", "a.number": "7", "a.real": "0.1",
            "general.architecture": "test",
            "a.list": "[0, 1, 2, 3, 4, 5, 6, 7, \u2026 100 in all]"}
    assert shown == want, shown
    tool.run("convert", before, "-o", after, "--to", "float32", "--exclude", "*", "-q",
             "--no-report", "--force")
    with np.load(after) as loaded:
        assert loaded.files == list(arrays), loaded.files
        for name, array in arrays.items():
            _same(loaded[name], array, name)


def check_parts(tool):
    """A model that gguf-py writes in parts, given by each of them; version 2 of the same."""
    rng = np.random.default_rng(5)
    arrays = {f"t{i}": rng.normal(size=(i + 1, 32)).astype(np.float32) for i in range(5)}
    tensors = [(name, gguf.quants.quantize(array, Type.Q8_0), Type.Q8_0)
               for name, array in arrays.items()]
    _write(tool.folder / "m.gguf", tensors, [("a.number", 7)], split_max_tensors=2)
    parts = sorted(tool.folder.glob("m-*.gguf"))
    assert [part.name for part in parts] == [f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3)], parts
    want = {name: gguf.quants.dequantize(data, Type.Q8_0) for name, data, _ in tensors}
    _write(tool.folder / "v3.gguf", tensors)
    old = bytearray((tool.folder / "v3.gguf").read_bytes())
    assert old[4] == 3, old[:8]
    old[4] = 2
    (tool.folder / "v2.gguf").write_bytes(old)
    for before in (*parts, tool.folder / "v2.gguf"):
        after = tool.folder / "m.safetensors"
        tool.run("convert", before, "-o", after, "--to", "float32", "-q", "--no-report", "--force")
        loaded = load_file(after)
        assert sorted(loaded) == sorted(want), f"{before.name}: {sorted(loaded)}"
        for name, values in want.items():
            _same(loaded[name], values, f"{before.name} {name}")
    shown = json.loads(tool.run("inspect", parts[2], "--json")[0])["metadata"]
    assert shown["a.number"] == "7", shown


def check_blocks(tool):
    """Every type: float64 is the exact value, float32 and bfloat16 that rounded once."""
    rng = np.random.default_rng(2)
    before, after = tool.folder / "b.gguf", tool.folder / "b.safetensors"
    kinds = (*_PRODUCTS, *_SUMS, *_E2M1)
    data = {kind.name: _random_blocks(kind, rng) for kind in kinds}
    _write(before, [(kind.name, data[kind.name], kind) for kind in kinds])
    loaded = {}
    for target in ("float64", "float32", "bfloat16"):
        tool.run("convert", before, "-o", after, "--to", target, "-q", "--no-report", "--force")
        loaded[target] = load_file(after)
    rounded = sums = 0
    for kind in kinds:
        theirs, exact = _expected(kind, data[kind.name])
        got = loaded["float64"][kind.name]
        if kind in _E2M1:  # -0 is of the codes 8, which gguf-py has as +0
            zero = got == 0
            assert np.array_equal(zero, exact == 0) and np.signbit(got[zero]).any(), kind.name
            signed = np.where(zero, got, exact)
        else:
            signed = exact
        _same(got, signed, f"{kind.name} as float64")
        with np.errstate(over="ignore"):
            _same(loaded["float32"][kind.name], signed.astype(np.float32), f"{kind.name} as float32")
            if kind not in _SUMS:
                _same(loaded["bfloat16"][kind.name], signed.astype(ml_dtypes.bfloat16),
                      f"{kind.name} as bfloat16")
                continue
            # One rounding: numpy's way from float64 to bfloat16 has two, so by the halves between.
            near = _to_bfloat16(signed)
        _same(loaded["bfloat16"][kind.name], near, f"{kind.name} as bfloat16")
        _same(theirs, signed.astype(np.float32), f"gguf-py's {kind.name}")
        rounded += int(np.count_nonzero(theirs.astype(np.float64) != exact))
        sums += exact.size
    print(f"gguf-py rounds {rounded} of {sums} sums")


def _to_bfloat16(values):
    """float64 rounded once: to odd in 24 bits first, so that the second rounding sees no tie."""
    near = values.astype(np.float32)
    away = np.abs(near.astype(np.float64)) > np.abs(values)
    bits = near.view(np.uint32) - away.astype(np.uint32)  # towards zero
    inexact = bits.view(np.float32).astype(np.float64) != values
    return (bits | inexact.astype(np.uint32)).view(np.float32).astype(ml_dtypes.bfloat16)


def check_quantised(tool):
    """What gguf-py's own quantisers make, in real shapes: experts, wide rows; its float32 exactly."""
    rng = np.random.default_rng(3)
    before, after = tool.folder / "q.gguf", tool.folder / "q.safetensors"
    arrays = {Type.Q8_0: (4, 64, 512), Type.Q4_0: (300, 1024), Type.Q5_0: (7, 96),
              Type.TQ1_0: (5, 512), Type.TQ2_0: (5, 512), Type.MXFP4: (3, 8, 64)}
    data = {}
    for kind, shape in arrays.items():
        data[kind] = gguf.quants.quantize(rng.normal(size=shape).astype(np.float32), kind)
    _write(before, [(kind.name, data[kind], kind) for kind in arrays])
    tool.run("convert", before, "-o", after, "--to", "float32", "-q", "--no-report", "--force")
    loaded = load_file(after)
    for kind, shape in arrays.items():
        want = gguf.quants.dequantize(data[kind], kind)
        got = loaded[kind.name]
        assert got.shape == shape, f"{kind.name}: {got.shape}"
        _same(np.where(got == 0, np.float32(0), got), np.where(want == 0, np.float32(0), want),
              kind.name)


def check_second_scale(tool):
    """NVFP4 with the float32 that multiplies all of it, and with one for each expert."""
    rng = np.random.default_rng(4)
    before, after = tool.folder / "n.gguf", tool.folder / "n.safetensors"
    one = _random_blocks(Type.NVFP4, rng)
    experts = _random_blocks(Type.NVFP4, rng, 12).reshape(3, 4, -1)
    scales = rng.normal(size=3).astype(np.float32)
    _write(before, [("a.weight", one, Type.NVFP4), ("a.scale", scales[:1], None),
                    ("e.weight", experts, Type.NVFP4), ("e.scale", scales, None)])
    tool.run("convert", before, "-o", after, "--to", "float64", "-q", "--no-report", "--force")
    loaded = load_file(after)
    assert sorted(loaded) == ["a.weight", "e.weight"], sorted(loaded)
    for name, data, scale in (("a.weight", one, scales[:1]), ("e.weight", experts, scales)):
        exact = gguf.quants.dequantize(data, Type.NVFP4).astype(np.float64)
        exact *= scale.astype(np.float64).reshape((-1,) + (1,) * (exact.ndim - 1))
        got = loaded[name]
        zero = exact == 0
        _same(np.where(zero, 0.0, got), np.where(zero, 0.0, exact), name)


def _fields(reader):
    """Keys as they stand, but for what tells of the container alone."""
    ours = ("GGUF.version", "GGUF.tensor_count", "GGUF.kv_count", "general.alignment", "general.file_type",
            "split.no", "split.count", "split.tensors.count")
    return {name: (field.types, b"".join(part.tobytes() for part in field.parts))
            for name, field in reader.fields.items() if name not in ours}


def check_written(tool):
    """A file of its own keys and types: all keys and what is not cast byte for byte, given whole or in parts."""
    rng = np.random.default_rng(6)
    keys = [("a.text", "caf\u00e9"), ("a.number", 7), ("a.negative", -7), ("a.real", 0.1), ("a.truth", True),
            ("a.list", list(range(100))), ("a.words", [f"word {i}" for i in range(5000)]),
            ("general.file_type", 15), ("general.quantization_version", 2)]
    blocks = {kind.name: _random_blocks(kind, rng) for kind in (Type.Q8_0, Type.Q4_K, Type.Q6_K)}
    plain = {"matrix": rng.normal(size=(40, 33)).astype(np.float32), "norm": rng.normal(size=40).astype(np.float32),
             "half": rng.normal(size=(3, 5)).astype(np.float16), "index": np.arange(6, dtype=np.int32)}
    tensors = [(name, data, Type[name]) for name, data in blocks.items()]
    tensors += [(name, data, None) for name, data in plain.items()]
    for how in ({}, {"split_max_tensors": 3}):
        _write(tool.folder / "m.gguf", tensors, keys, **how)
        before = sorted(tool.folder.glob("m-*.gguf"))[1] if how else tool.folder / "m.gguf"
        after = tool.folder / "o.gguf"
        want = gguf.GGUFReader(tool.folder / "m-00001-of-00003.gguf" if how else before)
        tool.run("convert", before, "-o", after, "--to", "bfloat16", "--keep", "packed", "-q", "--no-report", "--force")
        got = gguf.GGUFReader(after)
        assert _fields(got) == _fields(want), "keys differ"
        assert got.fields["general.file_type"].contents() == 15
        assert [tensor.name for tensor in got.tensors] == [name for name, _, _ in tensors]
        for tensor in got.tensors:
            if tensor.name in blocks:
                _same(tensor.data.reshape(-1), blocks[tensor.name].reshape(-1), tensor.name)
            elif tensor.name == "matrix":
                assert tensor.tensor_type == Type.BF16, tensor.tensor_type
                _same(tensor.data.reshape(-1).view(ml_dtypes.bfloat16),
                      plain["matrix"].astype(ml_dtypes.bfloat16).reshape(-1), "matrix")
            elif tensor.name == "half":
                assert tensor.tensor_type == Type.BF16, tensor.tensor_type
            else:
                _same(tensor.data, plain[tensor.name], tensor.name)
        # Decoded: nothing is left of the mixture.
        tool.run("convert", before, "-o", after, "--to", "float16", "-q", "--no-report", "--force")
        got = gguf.GGUFReader(after)
        assert got.fields["general.file_type"].contents() == 1
        for tensor in got.tensors:
            if tensor.name in blocks:
                exact = _expected(Type[tensor.name], blocks[tensor.name])[1]
                with np.errstate(over="ignore"):
                    _same(tensor.data, exact.astype(np.float16), tensor.name)
    (tool.folder / "m.gguf").unlink()


def check_like(tool):
    """A file that was taken out, changed and goes back: the keys and the order are the first one's, parts or not."""
    rng = np.random.default_rng(9)
    keys = [("a.text", "caf\u00e9"), ("a.words", [f"word {i}" for i in range(3000)]), ("general.file_type", 7)]
    shapes = {f"blk.{i}.w": (8, 64) for i in range(5)} | {"blk.0.norm": (64,), "blk.0.router": (4, 64)}
    values = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    tensors = [(name, gguf.quantize(data, Type.Q8_0) if name.endswith(".w") else data,
                Type.Q8_0 if name.endswith(".w") else None) for name, data in values.items()]
    names = sorted(values, reverse=True)
    save_file({name: values[name] * np.float32(1.5) for name in names}, tool.folder / "tuned.safetensors")
    after = tool.folder / "o.gguf"
    for how in ({}, {"split_max_tensors": 3}):
        _write(tool.folder / "m.gguf", tensors, keys, **how)
        like = sorted(tool.folder.glob("m-*.gguf"))[1] if how else tool.folder / "m.gguf"
        want = gguf.GGUFReader(tool.folder / "m-00001-of-00003.gguf" if how else like)
        tool.run("convert", tool.folder / "tuned.safetensors", "-o", after, "--to", "q4_0", "--like", like, "-q",
                 "--no-report", "--force")
        got = gguf.GGUFReader(after)
        # The version of blocks is theirs where they have one, else added.
        fields = _fields(got)
        fields.pop("general.quantization_version", None)
        assert fields == _fields(want), "keys differ"
        assert [tensor.name for tensor in got.tensors] == list(values)
        for tensor in got.tensors:
            tuned = values[tensor.name] * np.float32(1.5)
            wanted = Type.Q4_0 if tensor.name.endswith(".w") else Type.F32
            assert tensor.tensor_type == wanted, (tensor.name, tensor.tensor_type)
            _same(tensor.data.reshape(-1), gguf.quantize(tuned, wanted).reshape(-1), tensor.name)


def check_diffusion(tool):
    """A model of Stable Diffusion by its tensors; its convolutions as ComfyUI-GGUF makes blocks of them."""
    rng = np.random.default_rng(7)
    conv = rng.normal(size=(64, 4, 3, 3)).astype(np.float32)
    arrays = {"model.diffusion_model.down_blocks.0.downsamplers.0.conv.weight": conv,
              "model.diffusion_model.conv_in.bias": rng.normal(size=64).astype(np.float32),
              "model.diffusion_model.small.weight": rng.normal(size=(32, 32)).astype(np.float32),
              "model.diffusion_model.volume.weight": rng.normal(size=(8, 4, 3, 7, 5)).astype(np.float32)}
    before, after = tool.folder / "d.safetensors", tool.folder / "d.gguf"
    save_file(arrays, before, {"format": "pt"})
    tool.run("convert", before, "-o", after, "--to", "float16", "-q", "--no-report", "--force")
    reader = gguf.GGUFReader(after)
    assert reader.fields["general.architecture"].contents() == "sd1"
    assert reader.fields["general.file_type"].contents() == int(gguf.LlamaFileType.MOSTLY_F16)
    for tensor in reader.tensors:
        array = arrays[tensor.name]
        small = array.ndim < 2 or array.size <= 1024
        assert tensor.tensor_type == (Type.F32 if small else Type.F16), tensor.name
        _same(tensor.data.reshape(array.shape), array if small else array.astype(np.float16), tensor.name)
    shape = reader.fields["comfy.gguf.orig_shape.model.diffusion_model.volume.weight"].contents()
    assert shape == [8, 4, 3, 7, 5], shape
    back = tool.folder / "d2.safetensors"
    tool.run("convert", after, "-o", back, "--to", "float32", "-q", "--no-report", "--force")
    for name, got in load_file(back).items():
        small = arrays[name].ndim < 2 or arrays[name].size <= 1024
        _same(got, arrays[name] if small else arrays[name].astype(np.float16).astype(np.float32), name)
    # Blocks of 256 values lie across the rows of 3; whoever reads them gets the convolution.
    flat = gguf.quants.quantize(conv.reshape(-1, 256), Type.Q8_0)
    name = "input.conv.weight"
    _write(before.with_suffix(".gguf"), [(name, flat, Type.Q8_0)], [(f"comfy.gguf.orig_shape.{name}", list(conv.shape))])
    want = gguf.quants.dequantize(flat, Type.Q8_0).reshape(conv.shape)
    tool.run("convert", before.with_suffix(".gguf"), "-o", back, "--to", "float32", "-q", "--no-report", "--force")
    _same(load_file(back)[name], want, name)
    again = tool.folder / "d3.gguf"
    tool.run("convert", before.with_suffix(".gguf"), "-o", again, "--to", "float16", "--keep", "packed", "-q",
             "--no-report", "--force")
    reader = gguf.GGUFReader(again)
    assert reader.fields[f"comfy.gguf.orig_shape.{name}"].contents() == list(conv.shape)
    _same(reader.tensors[0].data, flat, name)


def _nvfp4(rows):
    """ggml's rule, which gguf-py has no quantiser for, by the scales that it has: below 256 they are ggml's too."""
    runs = rows.reshape(-1, 4, 16)
    scales = gguf.quants.NVFP4.fp32_to_ue4m3(np.abs(runs).max(-1) / np.float32(6))
    factors = gguf.quants.NVFP4.ue4m3_to_fp32(scales).astype(np.float32)[..., None, None]
    kvalues = np.array(gguf.quants.NVFP4.kvalues, np.float32)
    codes = np.abs(factors * kvalues - runs[..., None]).argmin(-1).astype(np.uint8)
    packed = codes[..., :8] | codes[..., 8:] << 4
    return np.concatenate([scales, packed.reshape(-1, 32)], -1).reshape(*rows.shape[:-1], -1)


def _check_loss(tool, path, rows):
    """What blocks lose, against exact sums of what gguf-py decodes."""
    kinds = (Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1)
    told = json.loads(tool.run("loss", path, "--to", ",".join(kind.name.lower() for kind in kinds), "--tensor", "w",
                               "--json")[0])
    found = {one["to"]: one["total"] for one in told["types"]}
    x = rows.astype(np.float64)
    for kind in kinds:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            data = gguf.quants.quantize(rows, kind)
        y = _expected(kind, data)[1].reshape(x.shape) if kind in _SUMS else gguf.quants.dequantize(data, kind)
        error = x - y.astype(np.float64)
        snr = 10 * math.log10(math.fsum((x * x).ravel()) / math.fsum((error * error).ravel()))
        got = found[kind.name.lower()]
        assert abs(got["snr_db"] - snr) < 1e-9, f"{kind.name}: {got['snr_db']}, expected {snr}"
        assert got["max_abs_error"] == np.abs(error).max(), kind.name
        assert got["counts"]["to_zero"] == np.count_nonzero((x != 0) & (y == 0)), kind.name


def check_quantisers(tool):
    """Blocks made of weights: the bytes of gguf-py's quantisers, from each type, in whatever pieces and threads."""
    rng = np.random.default_rng(8)
    rows = rng.standard_t(3, size=(300, 512)) * np.exp(rng.normal(0, 4, (300, 1)))
    rows = np.clip(rows, -1400, 1400).astype(np.float32)  # NVFP4: beyond 1472 ggml has no scale but 448
    rows[0], rows[1], rows[2, :64] = 0, -0.0, 1e-7
    rows[3] = np.round(rows[3] * 8) / 8  # ties
    rows[4] = rng.integers(-128, 128, 512)
    rows[5, :32], rows[5, 32:64] = 1e-36, 1  # below, gguf-py divides by what overflows
    sources = {"f32": rows, "f16": rows.astype(np.float16), "bf16": rows.astype(ml_dtypes.bfloat16),
               "f64": rows * (1 + 2.0**-30)}
    for source, array in sources.items():
        before, after = tool.folder / "w.safetensors", tool.folder / "w.gguf"
        flux = np.ones((64, 64), array.dtype)
        save_file({"double_blocks.0.img_attn.proj.weight": flux, "w": array, "bias": array[7].copy(),
                   "experts": array[:60].reshape(3, 20, 512), "ragged": np.ones((64, 40), array.dtype)}, before)
        values = array.astype(np.float32)
        for kind in (Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.MXFP4, Type.NVFP4):
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                want = _nvfp4(values) if kind == Type.NVFP4 else gguf.quants.quantize(values, kind)
            for how in ((), ("--threads", "1")):
                tool.run("convert", before, "-o", after, "--to", kind.name.lower(), "-q", "--no-report", "--force", *how)
                tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(after).tensors}
                _same(tensors["w"].data.reshape(want.shape), want, f"{source} {kind.name}")
                _same(tensors["experts"].data.reshape(60, -1), want[:60], f"{source} {kind.name} experts")
                assert tensors["bias"].tensor_type == tensors["ragged"].tensor_type == Type.F32
        if source == "f32":
            _check_loss(tool, before, array)
    # A convolution of Stable Diffusion, as ComfyUI-GGUF cuts it; one that has no 256 values stays as it is.
    conv = rng.normal(size=(64, 8, 3, 3)).astype(np.float32)
    save_file({"down_blocks.0.downsamplers.0.conv.weight": conv, "other.weight": np.ones((45, 5, 3, 3), np.float32)},
              tool.folder / "sd.safetensors")
    tool.run("convert", tool.folder / "sd.safetensors", "-o", tool.folder / "sd.gguf", "--to", "q5_0", "-q", "--no-report")
    reader = gguf.GGUFReader(tool.folder / "sd.gguf")
    assert [tensor.tensor_type for tensor in reader.tensors] == [Type.Q5_0, Type.F32]
    key = "comfy.gguf.orig_shape.down_blocks.0.downsamplers.0.conv.weight"
    assert reader.fields[key].contents() == [64, 8, 3, 3]
    _same(reader.tensors[0].data, gguf.quants.quantize(conv.reshape(-1, 256), Type.Q5_0), "convolution")


_CHECKS = {"plain": check_plain, "parts": check_parts, "blocks": check_blocks, "quantised": check_quantised,
           "second_scale": check_second_scale, "written": check_written, "like": check_like, "diffusion": check_diffusion,
           "quantisers": check_quantisers}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    arguments = parser.parse_args()
    failures = 0
    with Tool(arguments.tool) as tool:
        for name, check in _CHECKS.items():
            try:
                check(tool)
            except (AssertionError, ToolError, ValueError, KeyError) as error:
                print(f"{name}: {type(error).__name__}: {error}")
                failures += 1
    print(f"gguf: {len(_CHECKS) - failures} of {len(_CHECKS)} checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
