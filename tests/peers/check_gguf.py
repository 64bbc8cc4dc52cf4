#!/usr/bin/env python3
"""GGUF files as gguf-py writes them: its keys and plain tensors, whole and in parts, and random blocks of every
type that it decodes. Its values are float32, computed in float32; each difference must come of that, and of nothing
else: a sum of two products is rounded there before it is cast, and E2M1's -0 is +0 there.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import sys

import gguf
import ml_dtypes
import numpy as np
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import load_file

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


_CHECKS = {"plain": check_plain, "parts": check_parts, "blocks": check_blocks, "quantised": check_quantised,
           "second_scale": check_second_scale}


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
