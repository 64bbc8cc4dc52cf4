#!/usr/bin/env python3
"""Weights that MLX quantised (integers of 2 to 8 bits, mxfp4, mxfp8, nvfp4; a model with settings of
its modules) become plain ones of float32, float16 and bfloat16.

    check_mlx.py --tool TENSORCAST

The expected value is the exact one, q * s + b in float64 (which holds it for scales of 16 bits) or
in Python's fractions, rounded once. What mlx.core.dequantize gives, in the type of the scales, is
held beside it, bit by bit; every difference has to be that it rounds the product, then the sum, to
the type.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import fractions
import json
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten

DTYPES = {"float32": (mx.float32, np.float32), "float16": (mx.float16, np.float16),
          "bfloat16": (mx.bfloat16, ml_dtypes.bfloat16)}
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
E2M1 = np.concatenate((E2M1, -E2M1))


def run(tool, *arguments):
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")


def array(value):
    """As numpy has it, bfloat16 too."""
    if value.dtype == mx.bfloat16:
        return np.array(value.view(mx.uint16)).view(ml_dtypes.bfloat16)
    return np.array(value)


def codes_of(words, bits):
    """Codes of a little-endian stream of bits for each row."""
    stream = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1, bitorder="little")
    stream = stream.reshape(*stream.shape[:-1], -1, bits)
    return (stream.astype(np.int64) << np.arange(bits)).sum(-1)


def factors(tensors, group, bits, mode):
    """Codes' values, the scale and the bias of each, as float64."""
    words, scales = array(tensors[0]), array(tensors[1])
    codes = codes_of(words, bits)
    bias = np.zeros(1)
    if mode == "affine":
        bias = np.repeat(array(tensors[2]).astype(np.float64), group, -1)
        return codes.astype(np.float64), np.repeat(scales.astype(np.float64), group, -1), bias
    scale = (scales.view(ml_dtypes.float8_e4m3fn).astype(np.float64) if mode == "nvfp4"
             else np.exp2(scales.astype(np.float64) - 127))
    values = (codes.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64) if bits == 8
              else E2M1[codes])
    return values, np.repeat(scale, group, -1), bias


def exact_sum(product, bias):
    """Product and bias added in float64, rounded to odd where it does not hold the sum."""
    total = product + bias
    part = total - product
    error = (product - (total - part)) + (bias - part)
    for i in np.argwhere(error != 0):
        i = tuple(i)
        exact = fractions.Fraction(product[i]) + fractions.Fraction(bias[i])
        if total.view(np.int64)[i] & 1 == 0:
            total[i] = np.nextafter(total[i], np.inf if exact > fractions.Fraction(total[i])
                                    else -np.inf)
    return total


def once(values, numpy_type):
    """Doubles rounded once; ml_dtypes goes by way of float32, which is rounded to odd first."""
    if numpy_type != ml_dtypes.bfloat16:
        return values.astype(numpy_type)
    near = values.astype(np.float32)
    inward = np.where(np.abs(near.astype(np.float64)) > np.abs(values),
                      np.nextafter(near, np.float32(0)), near)
    bits = inward.view(np.uint32)
    odd = np.where(inward.astype(np.float64) != values, bits | 1, bits)
    return odd.astype(np.uint32).view(np.float32).astype(numpy_type)


def differ(a, b):
    size = a.dtype.itemsize
    return (np.ascontiguousarray(a).view(f"u{size}") != np.ascontiguousarray(b).view(f"u{size}"))


def expected_of(weights):
    """name -> the float64 of each weight, by its tensors and settings."""
    found = {}
    for name, (tensors, group, bits, mode) in weights.items():
        value, scale, bias = factors(tensors, group, bits, mode)
        product = value * scale
        found[name] = exact_sum(product, np.broadcast_to(bias, product.shape)) \
            if mode == "affine" else product
    return found


def check(tool, folder, title, tensors, weights, config):
    """`weights`: name -> (its tensors, group, bits, mode); the others are as they were."""
    folder.mkdir()
    mx.save_safetensors(str(folder / "model.safetensors"), tensors, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps({
        "model_type": "llama", "torch_dtype": "float16", "quantization": config,
        "quantization_config": config}))
    failed = False
    exact = expected_of(weights)
    for word, (mlx_type, numpy_type) in DTYPES.items():
        out = folder.with_name(f"{folder.name}-{word}")
        run(tool, "convert", folder, "-o", out, "--to", word, "--no-report", "-q")
        made = mx.load(str(out / "model.safetensors"))
        plain = {name for name in tensors if not name.endswith((".scales", ".biases"))}
        failed |= set(made) != plain | set(weights)
        failed |= json.loads((out / "config.json").read_text()) != {"model_type": "llama",
                                                                   "torch_dtype": word}
        wrong = other = unexplained = values = 0
        compares = False
        for name, (parts, group, bits, mode) in weights.items():
            ours = array(made[name])
            values += ours.size
            wrong += int(differ(ours, once(exact[name], numpy_type)).sum())
            theirs = mx.dequantize(*parts, group_size=group, bits=bits, mode=mode)
            if theirs.dtype != mlx_type:
                continue
            compares = True
            theirs = array(theirs)
            different = differ(ours, theirs)
            other += int(different.sum())
            value, scale, bias = factors(parts, group, bits, mode)
            product = once(value * scale, numpy_type)
            twice = once(product.astype(np.float64) + bias, numpy_type) if mode == "affine" \
                else product
            unexplained += int((different & differ(twice, theirs)).sum())
        failed |= wrong > 0 or unexplained > 0 or values == 0
        print(f"{title:26} {word:9} {values:9} {wrong:6} {other if compares else '-':>12} "
              f"{unexplained if compares else '-':>12}")
    return failed


def quantised(weight, group, bits, mode):
    parts = mx.quantize(weight, group_size=group, bits=bits, mode=mode)
    names = ("l.weight", "l.scales", "l.biases")
    return dict(zip(names, parts)), {"l.weight": (parts, group, bits, mode)}


class Model(nn.Module):
    """Two linear layers, an embedding, experts in one tensor and a norm."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 256)
        self.up = nn.Linear(256, 128, bias=True)
        self.down = nn.Linear(128, 256, bias=False)
        self.head = nn.Linear(256, 64, bias=False)
        self.norm = nn.RMSNorm(256)


def of_model():
    """A model quantised by nn.quantize with settings for each module."""
    model = Model()
    model.set_dtype(mx.bfloat16)
    own = {"up": {"group_size": 128, "bits": 3}, "down": {"group_size": 32, "bits": 4,
                                                          "mode": "mxfp4"}, "head": False}
    usual = {"group_size": 64, "bits": 4}

    def predicate(path, module):
        return own.get(path, hasattr(module, "to_quantized"))

    nn.quantize(model, **usual, class_predicate=predicate)
    tensors = dict(tree_flatten(model.parameters()))
    weights = {}
    for path, said in {"embed": usual, **own}.items():
        if said:
            parts = tuple(tensors[f"{path}.{part}"] for part in ("weight", "scales", "biases")
                          if f"{path}.{part}" in tensors)
            weights[f"{path}.weight"] = (parts, said["group_size"], said["bits"],
                                         said.get("mode", "affine"))
    return tensors, weights, {**usual, **own}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    mx.random.seed(25)
    failed = False
    print(f"{'weights':26} {'to':9} {'values':>9} {'wrong':>6} {'theirs other':>12} "
          f"{'unexplained':>12}")
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for bits in (2, 3, 4, 5, 6, 8):
            for group in (32, 64, 128):
                for word, (dtype, _) in DTYPES.items():
                    weight = (mx.random.normal((3, 64, 256)) * 0.05).astype(dtype)
                    title = f"{bits} bits, {group}, {word}"
                    failed |= check(tool, root / f"{bits}_{group}_{word}", title,
                                    *quantised(weight, group, bits, "affine"),
                                    {"group_size": group, "bits": bits})
        for mode, group, bits in (("mxfp4", 32, 4), ("mxfp8", 32, 8), ("nvfp4", 16, 4)):
            weight = (mx.random.normal((3, 64, 256)) * 0.05).astype(mx.bfloat16)
            failed |= check(tool, root / mode, mode, *quantised(weight, group, bits, mode),
                            {"group_size": group, "bits": bits, "mode": mode})
        failed |= check(tool, root / "model", "a model, module by module", *of_model())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
