#!/usr/bin/env python3
"""Weights that comfy-kitchen quantised (nvfp4, mxfp8, int8 and int4, rotated or not; awq_w4a16 made by
hand, as it makes none) become plain ones of float32, float16 and bfloat16.

    check_comfyui.py --tool TENSORCAST

The expected value is the exact one in float64, rounded once: tensors as comfy-kitchen stores them, its
own from_blocked for the order of the scales. What its dequantize gives is held beside it, bit by bit.
Where the two differ it computes in float32 or in the narrow type and rounds on the way: the same steps
give the same bits. A rotation is a matrix product in float32, in whatever order: there a difference has
to be within what float32 may lose in it.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import sys
import tempfile

import comfy_kitchen
import torch
from comfy_kitchen.tensor import QuantizedTensor
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from exact_weights import E2M1, differ, once, run  # noqa: E402

WORDS = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
SIGNED = torch.tensor(E2M1 + [-value for value in E2M1], dtype=torch.float64)


def text(said):
    return torch.tensor(list(json.dumps(said).encode()), dtype=torch.uint8)


def nibbles(packed, high_first):
    low, high = packed.view(torch.uint8) & 15, packed.view(torch.uint8) >> 4
    return torch.stack((high, low) if high_first else (low, high), -1).flatten(-2).long()


def matrix(size):
    """The rotation's, of +1 and -1."""
    four = torch.ones(4, 4, dtype=torch.float64) - 2 * torch.eye(4, dtype=torch.float64).flip(0)
    made = four
    while made.shape[0] < size:
        made = torch.kron(made, four)
    return made


class Made:
    """Tensors, the exact values, and what comfy-kitchen's steps give in a type."""

    def __init__(self, tensors, said, exact, steps, slack=None):
        self.tensors, self.said, self.exact, self.steps, self.slack = tensors, said, exact, steps, slack


def state(quantised):
    tensors = {f"l.{key}": value for key, value in quantised.state_dict("weight").items()}
    for key, value in tensors.items():
        if value.dtype == torch.float8_e8m0fnu:
            tensors[key] = value.view(torch.uint8)  # as ComfyUI stores it
    return tensors


def blocks(quantised, kind):
    tensors = state(quantised)
    codes, stored = tensors["l.weight"], tensors["l.weight_scale"]
    group = 16 if kind == "nvfp4" else 32
    n, k = codes.shape[0], codes.shape[1] * (2 if kind == "nvfp4" else 1)
    grid = comfy_kitchen.from_blocked(stored.view(torch.uint8), n, k // group).contiguous()
    if kind == "nvfp4":
        numbers, scales = SIGNED[nibbles(codes, True)], grid.view(torch.float8_e4m3fn).double()
        whole = tensors["l.weight_scale_2"]
        exact = numbers * scales.repeat_interleave(group, 1) * whole.double()

        def steps(dtype):
            factor = whole.to(dtype) * scales.to(dtype)
            return numbers.to(dtype) * factor.repeat_interleave(group, 1)
    else:
        numbers, scales = codes.double(), torch.exp2(grid.double() - 127)
        exact = numbers * scales.repeat_interleave(group, 1)

        def steps(dtype):
            return exact.float().to(dtype)
    return Made(tensors, {"format": kind}, exact, steps)


def integers(quantised, said, size=None):
    tensors = state(quantised)
    codes, scales = tensors["l.weight"], tensors["l.weight_scale"]
    if said["format"] == "convrot_w4a4":
        numbers = nibbles(codes, False)
        numbers = torch.where(numbers < 8, numbers, numbers - 16).double()
    else:
        numbers = codes.double()
    scales = scales.reshape(-1, 1) if scales.numel() > 1 else scales
    if not size:
        return Made(tensors, said, numbers * scales.double(),
                    lambda dtype: (numbers.float() * scales).to(dtype))
    # Sums of integers are exact in any order.
    shape = numbers.shape
    groups = numbers.reshape(shape[0], -1, size)
    exact = (groups @ matrix(size)).reshape(shape) * scales.double() / math.sqrt(size)
    terms = groups.abs().sum(-1, keepdim=True).expand(groups.shape).reshape(shape)
    slack = terms * scales.double() / math.sqrt(size) * (size + 2) * 2.0 ** -24
    return Made(tensors, said, exact, None, slack)


def awq(n, k, dtype, group=64):
    codes = torch.randint(0, 256, (n, k // 2), dtype=torch.uint8)
    scales = (torch.rand(k // group, n) * 0.02).to(dtype)
    zeros = (torch.randn(k // group, n) * 0.1).to(dtype)
    tensors = {"l.weight": codes.view(torch.int8), "l.weight_scale": scales, "l.weight_zero": zeros}
    numbers = nibbles(codes, False) - 8
    wide = [x.double().T.repeat_interleave(group, 1) for x in (scales, zeros)]
    # A product has 15 bits and is near the sum: float64 holds it.
    exact = numbers.double() * wide[0] + wide[1]
    quantised = QuantizedTensor(tensors["l.weight"], "TensorCoreAWQW4A16Layout",
                                layout("TensorCoreAWQW4A16Layout").Params(
                                    scale=scales, zeros=zeros, orig_dtype=dtype, orig_shape=(n, k)))

    def steps(to):
        return (numbers.to(to) * wide[0].to(dtype) + wide[1].to(dtype)).to(to)
    return quantised, Made(tensors, {"format": "awq_w4a16", "group_size": group}, exact, steps)


def layout(name):
    return comfy_kitchen.tensor.get_layout_class(name)


def weights():
    def of(n, k):
        weight = torch.randn(n, k, dtype=torch.bfloat16) * 0.05
        weight[min(7, n - 1)] = 0
        return weight

    for shape in ((256, 1024), (128, 64), (300, 336)):
        quantised = QuantizedTensor.from_float(of(*shape), "TensorCoreNVFP4Layout")
        yield f"nvfp4 {shape[0]} x {shape[1]}", shape, quantised, blocks(quantised, "nvfp4")
        quantised = QuantizedTensor.from_float(of(*shape), "TensorCoreMXFP8Layout")
        yield f"mxfp8 {shape[0]} x {shape[1]}", shape, quantised, blocks(quantised, "mxfp8")
    shape = (200, 1024)
    for name, options, said, size in (
            ("int8", {}, {}, None), ("int8 rows", {"per_channel": True}, {"per_row": True}, None),
            *((f"int8 rotated {size}", {"per_channel": True, "convrot": True, "convrot_groupsize": size},
               {"per_row": True, "convrot": True, "convrot_groupsize": size}, size)
              for size in (4, 16, 64, 256))):
        quantised = QuantizedTensor.from_float(of(*shape), "TensorWiseINT8Layout", **options)
        yield name, shape, quantised, integers(quantised, {"format": "int8_tensorwise"} | said, size)
    for size in (16, 256):
        quantised = QuantizedTensor.from_float(of(*shape), "TensorCoreConvRotW4A4Layout",
                                               convrot_groupsize=size)
        yield f"convrot_w4a4 {size}", shape, quantised, integers(
            quantised, {"format": "convrot_w4a4", "convrot_groupsize": size}, size)
    for dtype in (torch.bfloat16, torch.float16):
        quantised, made = awq(192, 512, dtype)
        yield f"awq_w4a16 {str(dtype)[6:]}", (192, 512), quantised, made


def check(tool, folder, name, shape, quantised, made):
    """Whether something is wrong: the weight as it is stored, and cut where its shape is said."""
    failed = False
    stored = tuple(made.exact.shape)
    for cut in (False, True) if stored != shape else (True,):
        said = made.said | ({"orig_shape": list(shape)} if cut and stored != shape else {})
        source = folder / f"{name.replace(' ', '_')}_{cut}.safetensors"
        save_file({key: value.contiguous() for key, value in made.tensors.items()} |
                  {"l.comfy_quant": text(said)}, source)
        for dtype, word in WORDS.items():
            out = source.with_name(f"{source.stem}-{word}.safetensors")
            run(tool, "convert", source, "-o", out, "--to", word, "--no-report", "-q")
            ours = load_file(out)
            rows, columns = shape if cut else stored
            exact = made.exact[:rows, :columns]
            wrong = int(differ(ours["l.weight"], once(exact, dtype)).sum())
            quantised._params = type(quantised._params)(**{**vars(quantised._params),
                                                           "orig_dtype": dtype,
                                                           "orig_shape": (rows, columns)})
            theirs = quantised.dequantize().to(dtype)
            other = differ(ours["l.weight"], theirs)
            if made.slack is None:
                left = differ(made.steps(dtype)[:rows, :columns], theirs)
            else:
                # And the one rounding to the type.
                unit = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}[dtype]
                left = ((theirs.double() - exact).abs() > made.slack + exact.abs() * 2.0 ** -unit +
                        2.0 ** -25).flatten()
            unexplained = int((other & left).sum())
            failed |= wrong > 0 or unexplained > 0 or set(ours) != {"l.weight"}
            title = name + (" cut" if cut and stored != shape else "")
            print(f"{title:28} {word:9} {exact.numel():9} {wrong:6} {int(other.sum()):12} "
                  f"{unexplained:12}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    torch.manual_seed(25)
    failed = False
    print(f"{'weights':28} {'to':9} {'values':>9} {'wrong':>6} {'theirs other':>12} {'unexplained':>12}")
    with tempfile.TemporaryDirectory() as name:
        for weight in weights():
            failed |= check(tool, pathlib.Path(name), *weight)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
