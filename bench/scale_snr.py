#!/usr/bin/env python3
"""What the scales of each format keep of a real checkpoint's weights, beside other programs' at the same bits.

    scale_snr.py --tool TENSORCAST --file model.safetensors [--csv ROWS]

Of the weights of linear layers of the file the signal-to-noise ratio in dB, all of them together, of this tool by its
plain rule and by --scale mse, and of the programs that are installed: compressed-tensors (scales of its own observer
of minima and maxima, and the best of some factors of these for each group or row, much as llm-compressor's mse
observer tries them: 1 down to 0.8 in steps of 0.02), ModelOpt's NVFP4, MLX, gguf-py.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "clients"))

FORMATS = ("int4-group", "int8-group", "nvfp4", "mxfp4", "mxfp8", "int8-row", "fp8-row", "fp8-block")


def ours(tool, path):
    """dB by format, plain and searched; the names of the weights."""
    found = {}
    for rule in ("plain", "mse"):
        done = subprocess.run([tool, "loss", path, "--to", ",".join(FORMATS), "--scale", rule, "--json", "-q"],
                              capture_output=True, text=True, check=True)
        for entry in json.loads(done.stdout)["types"]:
            found[entry["to"], rule] = entry["total"]["snr_db"]
            found[entry["to"], "bits"] = 8 * entry["cast_bytes"] / entry["total"]["elements"]
    done = subprocess.run([tool, "loss", path, "--to", "nvfp4", "--json", "-q"], capture_output=True, text=True, check=True)
    names = {entry["name"] for entry in json.loads(done.stdout)["types"][0]["tensors"]}
    return found, names


def decibel(weights, again):
    signal = sum(float(w.double().square().sum()) for w in weights)
    noise = sum(float((w.double() - a.double()).square().sum()) for w, a in zip(weights, again))
    return 10 * math.log10(signal / noise)


def compressed_tensors(weights):
    """Its presets, by its observer, and by the best of some factors of each scale."""
    import made_checkpoints as made
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import preset_name_to_scheme
    for preset, ours_is in (("W4A16", "int4-group"), ("W8A16", "int8-group"), ("NVFP4A16", "nvfp4"),
                            ("MXFP4A16", "mxfp4"), ("INT8", "int8-row"), ("FP8_DYNAMIC", "fp8-row"),
                            ("FP8_BLOCK", "fp8-block")):
        scheme = preset_name_to_scheme(preset, targets=["Linear"])
        scheme.format = made.PRESETS[preset]
        compressor = BaseCompressor.get_value_from_registry(made.PRESETS[preset])

        def decoded(weight, factor, scheme=scheme, compressor=compressor):
            scale, zero, whole = made.qparams(weight, scheme.weights)
            state = {"weight": weight, "weight_scale": (scale.float() * factor).to(scale.dtype)}
            if whole is not None:
                state["weight_global_scale"] = whole
            return compressor.decompress(compressor.compress(state, scheme), scheme)["weight"].float()

        yield ours_is, "compressed-tensors, min and max", [decoded(w, 1.0) for w in weights]
        if ours_is not in ("int4-group", "nvfp4", "int8-row"):
            continue
        width = {"int4-group": 128, "nvfp4": 16}.get(ours_is)
        best = []
        for weight in weights:
            cells = weight.reshape(weight.shape[0], -1, width or weight.shape[1])
            chosen, least = torch.empty_like(cells), torch.full(cells.shape[:2], math.inf, dtype=torch.float64)
            for step in range(11):
                again = decoded(weight, 1.0 - 0.02 * step).reshape(cells.shape)
                error = (again.double() - cells.double()).square().sum(-1)
                better = error < least
                chosen[better], least[better] = again[better], error[better]
            best.append(chosen.reshape(weight.shape))
        yield ours_is, "the same, best of 0.8 to 1 times each scale", best


def model_opt(weights):
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    again = []
    for weight in weights:
        made, scale, second = NVFP4QTensor.quantize(weight, 16)
        again.append(made.dequantize(dtype=torch.float32, scale=scale, double_scale=second, block_sizes={-1: 16}))
    yield "nvfp4", "ModelOpt, NVFP4QTensor", again


def mlx(weights):
    import mlx.core as mx
    import numpy as np
    for ours_is, settings in (("nvfp4", {"mode": "nvfp4", "group_size": 16, "bits": 4}),
                              ("mxfp4", {"mode": "mxfp4", "group_size": 32, "bits": 4}),
                              ("mxfp8", {"mode": "mxfp8", "group_size": 32, "bits": 8}),
                              ("int4-group", {"group_size": 128, "bits": 4}),
                              ("int8-group", {"group_size": 128, "bits": 8})):
        again = []
        with mx.stream(mx.cpu):
            for weight in weights:
                value = mx.array(weight.numpy())
                again.append(torch.from_numpy(np.array(mx.dequantize(*mx.quantize(value, **settings), **settings)
                                                       .astype(mx.float32))))
        note = " (a bias for each group: more bits)" if ours_is.endswith("group") else ""
        yield ours_is, f"MLX{note}", again


def gguf_py(weights):
    import gguf
    for ours_is, kind in (("mxfp4", "MXFP4"),):
        kind = gguf.GGMLQuantizationType[kind]
        yield ours_is, "gguf-py, MXFP4", [torch.from_numpy(gguf.dequantize(gguf.quantize(w.numpy(), kind), kind))
                                          for w in weights]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--csv")
    arguments = parser.parse_args()
    found, names = ours(arguments.tool, arguments.file)
    weights = [value.float() for name, value in sorted(load_file(arguments.file).items()) if name in names]
    rows = []
    for program in (compressed_tensors, model_opt, mlx, gguf_py):
        try:
            for ours_is, title, again in program(weights):
                rows.append((ours_is, f"{found[ours_is, 'bits']:.3f}", f"{found[ours_is, 'plain']:.2f}",
                             f"{found[ours_is, 'mse']:.2f}", title, f"{decibel(weights, again):.2f}"))
        except ImportError as error:
            print(f"{program.__name__}: {error}", file=sys.stderr)
    rows.sort(key=lambda row: FORMATS.index(row[0]))
    head = ("format", "bits per value", "plain", "mse", "beside", "theirs")
    for row in (head, *rows):
        print("{:11} {:>14} {:>7} {:>7}  {:46} {:>6}".format(*row))
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows((head, *rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
