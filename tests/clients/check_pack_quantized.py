#!/usr/bin/env python3
"""Weights that compressed-tensors packs, of 2 to 8 bits, in groups, rows and whole tensors, with zero
points and without, stacked too, become plain ones of float32, float16 and bfloat16; and its
int-quantized ones in groups.

    check_pack_quantized.py --tool TENSORCAST

The expected value is the exact product of the integer and the scale, rounded once. What the library
itself decompresses, in the type of its scales, is held beside it; every difference has to be that it
rounds the integer less its zero point, and the product again, to that type.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import sys
import tempfile

import compressed_tensors
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import (
    QuantizationArgs,
    QuantizationConfig,
    QuantizationScheme,
    QuantizationStatus,
)
from compressed_tensors.quantization.lifecycle.forward import quantize
from compressed_tensors.quantization.utils import calculate_qparams
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from check_bitsandbytes import differ, once  # noqa: E402
from exact_weights import run  # noqa: E402

WORDS = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


def cells_of(weight, arguments):
    """Minima and maxima of the cells of a weight."""
    if arguments.strategy == "tensor":
        return weight.amin().reshape(1), weight.amax().reshape(1)
    group = arguments.group_size if arguments.strategy == "group" else weight.shape[-1]
    cells = weight.unflatten(-1, (-1, group))
    return cells.amin(-1), cells.amax(-1)


def over(cells, shape):
    """A number of each cell for each element."""
    if cells.numel() == 1:
        return cells.reshape([1] * len(shape)).expand(shape)
    return cells.repeat_interleave(shape[-1] // cells.shape[-1], -1)


def packed(shape, dtype, kind, **said):
    """The tensors, the scheme, the exact values, the library's own, and those that are rounded twice."""
    arguments = QuantizationArgs(type="int", **said)
    scheme = QuantizationScheme(targets=["Linear"], weights=arguments, format=kind)
    weight = (torch.randn(shape) * 0.05).to(dtype)
    scale, zero = calculate_qparams(*cells_of(weight.float(), arguments), arguments)
    scale = scale.to(dtype)
    state = {"weight": weight, "weight_scale": scale, "weight_zero_point": zero}
    if arguments.symmetric:
        del state["weight_zero_point"]
    codes = quantize(weight, scale, state.get("weight_zero_point"), arguments, dtype=torch.int8)
    compressor = BaseCompressor.get_value_from_registry(kind)
    tensors = compressor.compress(state, scheme)
    theirs = compressor.decompress(tensors, scheme)["weight"]
    zeros = torch.zeros(()) if arguments.symmetric else over(zero, shape)
    factor = over(scale, shape)
    exact = (codes.double() - zeros.double()) * factor.double()
    twice = (codes.to(dtype) - zeros.to(dtype)) * factor
    return tensors, scheme, exact, theirs, twice


def check(tool, folder, title, dtype, kind, made):
    tensors, scheme, exact, theirs, twice = made
    folder.mkdir()
    save_file({f"l.{key}": value.contiguous() for key, value in tensors.items()},
              folder / "model.safetensors")
    said = QuantizationConfig(config_groups={"group_0": scheme}, format=kind,
                              quantization_status=QuantizationStatus.COMPRESSED).model_dump(mode="json")
    said["version"] = compressed_tensors.__version__  # as its exporter adds
    (folder / "config.json").write_text(json.dumps(
        {"torch_dtype": "float16", "quantization_config": said}))
    failed = False
    for to, word in WORDS.items():
        out = folder.with_name(f"{folder.name}-{word}")
        run(tool, "convert", folder, "-o", out, "--to", word, "--no-report", "-q")
        ours = load_file(out / "model.safetensors")
        wrong = int(differ(ours["l.weight"], once(exact, to)).sum())
        config = json.loads((out / "config.json").read_text())
        failed |= wrong > 0 or set(ours) != {"l.weight"} or config != {"torch_dtype": word}
        other = unexplained = "-"
        if to == dtype:
            different = ours["l.weight"] != theirs
            other = int(different.sum())
            unexplained = int((different & (twice != theirs)).sum())
            failed |= unexplained > 0
        print(f"{title:44} {word:9} {exact.numel():7} {wrong:6} {other:>12} {unexplained:>12}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    torch.manual_seed(25)
    failed = False
    print(f"{'weights':44} {'to':9} {'values':>7} {'wrong':>6} {'theirs other':>12} {'unexplained':>12}")
    forms = [("group", (40, 192), {"group_size": 32}), ("channel", (33, 50), {}), ("tensor", (24, 80), {}),
             ("group", (3, 16, 64), {"group_size": 32})]
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        cases = [("pack-quantized", bits, dtype) for bits in range(2, 9) for dtype in WORDS]
        cases += [("int-quantized", 8, dtype) for dtype in WORDS]
        for kind, bits, dtype in cases:
            for strategy, shape, more in forms:
                for symmetric in (True, False):
                    if len(shape) > 2 and (kind != "pack-quantized" or not symmetric):
                        continue  # the library packs the zero points of no stacks
                    title = (f"{kind} {bits} bits, {strategy}{'' if symmetric else ', zero points'}, "
                             f"{WORDS[dtype]}{', stacked' if len(shape) > 2 else ''}")
                    made = packed(shape, dtype, kind, num_bits=bits, strategy=strategy,
                                  symmetric=symmetric, **more)
                    failed |= check(tool, root / title.replace(" ", "_").replace(",", ""), title, dtype,
                                    kind, made)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
