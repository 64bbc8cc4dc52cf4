#!/usr/bin/env python3
"""What the scales of each format keep of a real checkpoint's weights, beside other programs' at the same bits.

    scale_snr.py --tool TENSORCAST --file model.safetensors [--csv ROWS]

Of the weights of linear layers of the file the signal-to-noise ratio in dB, all of them together, of this tool by its
plain rule, by --scale mse and, integers, by --scale mse-fine, and of the programs that are installed: compressed-tensors (scales of its own observer
of minima and maxima, and the best of some factors of these for each group or row), llm-compressor's observers that
search, ModelOpt's maxima and calibrations, torchao, MLX, gguf-py. Run it with OMP_NUM_THREADS=1.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "clients"))

FORMATS = ("int4-group", "int4-group 32", "int8-group", "int8-group 32", "nvfp4",
           "mxfp4", "mxfp8", "int8-row", "fp8-row", "fp8-block")


def ours(tool, path):
    """dB by format, plain and searched; the names of the weights."""
    found, formats = {}, [name for name in FORMATS if " " not in name]
    for rule in ("plain", "mse", "mse-fine"):
        some = [name for name in formats if rule != "mse-fine" or name.startswith("int")]
        done = subprocess.run([tool, "loss", path, "--to", ",".join(some), "--scale", rule, "--json", "-q"],
                              capture_output=True, text=True, check=True)
        for entry in json.loads(done.stdout)["types"]:
            found[entry["to"], rule] = entry["total"]["snr_db"]
            found[entry["to"], "bits"] = 8 * entry["cast_bytes"] / entry["total"]["elements"]
    done = subprocess.run([tool, "loss", path, "--to", "nvfp4", "--json", "-q"], capture_output=True, text=True, check=True)
    names = {entry["name"] for entry in json.loads(done.stdout)["types"][0]["tensors"]}
    return found, names


def ours_of_32(tool, path, names, weights, found):
    """The same for groups of 32 with float16 scales, as GGUF has them: of the float16 weights, against these here."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tensors = load_file(path)
        (folder / "in").mkdir()
        save_file({key: tensors[key].half() for key in names}, folder / "in" / "model.safetensors")
        (folder / "in" / "config.json").write_text('{"model_type": "bert"}')
        for bits, rule in itertools.product((4, 8), ("plain", "mse", "mse-fine")):
            packed, plain = folder / f"{bits}-{rule}", folder / f"{bits}-{rule}-plain"
            search = ["--scale", rule] if rule != "plain" else []
            for line in (["in", "-o", packed, "--to", f"int{bits}-group", "--group", "32", *search],
                         [packed, "-o", plain, "--to", "float32"]):
                subprocess.run([tool, "convert", *line, "-q", "--no-report"], check=True, cwd=folder)
            made = load_file(plain / "model.safetensors")
            found[f"int{bits}-group 32", rule] = decibel(weights, [made[key] for key in sorted(names)])
            found[f"int{bits}-group 32", "bits"] = bits + 0.5


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


def llm_compressor(weights):
    """Its observers that search, as its recipes name them, in compressed-tensors' schemes."""
    import warnings

    import made_checkpoints as made
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import preset_name_to_scheme
    from llmcompressor.observers import Observer
    warnings.simplefilter("ignore")
    for preset, ours_is, observer, settings in (
            ("W4A16", "int4-group", "memoryless_mse", {}), ("W4A16", "int4-group", "memoryless_mse", {"norm": 2.0}),
            ("W8A16", "int8-group", "memoryless_mse", {}), ("INT8", "int8-row", "memoryless_mse", {}),
            ("FP8_DYNAMIC", "fp8-row", "memoryless_mse", {}), ("MXFP4A16", "mxfp4", "memoryless_mse", {}),
            ("NVFP4A16", "nvfp4", "memoryless_mse", {}), ("NVFP4A16", "nvfp4", "nvfp4_expanded_mse", {}),
            ("NVFP4A16", "nvfp4", "nvfp4_expanded_mse", {"norm": 2.0})):
        scheme = preset_name_to_scheme(preset, targets=["Linear"])
        scheme.format = made.PRESETS[preset]
        compressor = BaseCompressor.get_value_from_registry(made.PRESETS[preset])
        again = []
        for weight in weights:
            watcher = Observer.load_from_registry(observer, base_name="weight", args=scheme.weights, **settings)
            watcher(weight)
            found = watcher.get_qparams()
            state = {"weight": weight, "weight_scale": found["scale"]}
            if found["global_scale"] is not None:
                state["weight_global_scale"] = found["global_scale"]
            again.append(compressor.decompress(compressor.compress(state, scheme), scheme)["weight"].float())
        said = "".join(f", {key} {value:g}" for key, value in settings.items())
        yield ours_is, f"llm-compressor, {observer}{said}", again


def model_opt(weights):
    """Its recipes for weights alone: of maxima, and its calibrations that search."""
    import copy

    import modelopt.torch.quantization as mtq
    from modelopt.torch.quantization.qtensor import MXFP4QTensor, MXFP8QTensor, NVFP4QTensor
    again = []
    for weight in weights:
        made, scale, second = NVFP4QTensor.quantize(weight, 16)
        again.append(made.dequantize(dtype=torch.float32, scale=scale, double_scale=second, block_sizes={-1: 16}))
    yield "nvfp4", "ModelOpt, NVFP4QTensor", again
    yield from model_opt_nvfp4(weights)
    for ours_is, kind in (("mxfp4", MXFP4QTensor), ("mxfp8", MXFP8QTensor)):
        again = []
        for weight in weights:
            made, scale = kind.quantize(weight.clone(), *((32,) if ours_is == "mxfp4" else ()))
            again.append(made.dequantize(dtype=torch.float32, scale=scale, block_sizes={-1: 32}))
        yield ours_is, f"ModelOpt, {kind.__name__}", again
    for ours_is, weight_cfg in (("int4-group", {"num_bits": 4, "block_sizes": {-1: 128}}),
                                ("int8-group", {"num_bits": 8, "block_sizes": {-1: 128}}),
                                ("int8-row", {"num_bits": 8, "axis": 0}), ("fp8-row", {"num_bits": (4, 3), "axis": 0})):
        for title, algorithm in (("max", "max"), ("mse", {"method": "mse"}),
                                 ("mse, 0.5 to 1.5 by 0.01", {"method": "mse", "step_size": 0.01, "start_multiplier": 0.5,
                                                         "stop_multiplier": 1.5})):
            again = []
            for weight in weights:
                layer = torch.nn.Sequential(torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False))
                layer[0].weight.data = weight.clone()
                config = {"quant_cfg": [{"quantizer_name": "*", "enable": False},
                                        {"quantizer_name": "*weight_quantizer", "cfg": copy.deepcopy(weight_cfg),
                                         "enable": True}],
                          "algorithm": algorithm}
                mtq.quantize(layer, config, None)
                with torch.no_grad():
                    again.append(layer[0].weight_quantizer(layer[0].weight).float())
            yield ours_is, f"ModelOpt, {title}", again


def model_opt_nvfp4(weights):
    """The sweep of all scales that its recipe nvfp4_..._mse_fp8_sweep makes, with the same calibrator; its own
    quantiser beside it needs a GPU, so that its tensors' rounding stands there. With room above, too: its 4/6."""
    from modelopt.torch.quantization.calib.mse import NVFP4MSECalibrator
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    for title, most in (("its sweep of all scales", 448.0), ("the same with 256 for 448 (put together here)", 256.0)):
        again = []
        for weight in weights:
            second = weight.abs().amax() / (6 * most)

            def rounded(x, amax, second=second):
                scale = (amax.reshape(x.shape[0], 1) / (6 * second)).clamp(2**-9, 448).to(torch.float8_e4m3fn)
                made, scale, other = NVFP4QTensor.quantize(x, 16, scale, second)
                return made.dequantize(dtype=torch.float32, scale=scale, double_scale=other, block_sizes={-1: 16})

            cells = weight.reshape(-1, 16)
            sweep = NVFP4MSECalibrator(amax=cells.abs().amax(1), global_amax=second * 6 * 448, axis=0, quant_func=rounded)
            sweep.collect(cells)
            again.append(rounded(cells, sweep.compute_amax()).reshape(weight.shape))
        yield "nvfp4", f"ModelOpt, {title}", again


def torch_ao(weights):
    """Its configurations for weights alone, as far as they have a CPU's kernels."""
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
    from torchao.quantization import (Float8WeightOnlyConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig, MappingType,
                                      PerAxis, PerBlock, PerGroup, PerRow, quantize_)
    from torchao.quantization.quantize_.workflows import IntxChooseQParamsAlgorithm
    for title, mode in (("floor", ScaleCalculationMode.FLOOR), ("rceil", ScaleCalculationMode.RCEIL),
                        ("even", ScaleCalculationMode.EVEN)):
        for ours_is, kind in (("mxfp4", torch.float4_e2m1fn_x2), ("mxfp8", torch.float8_e4m3fn)):
            yield ours_is, f"torchao, {title}", [MXTensor.to_mx(w, kind, 32, mode).dequantize(torch.float32) for w in weights]
    yield "nvfp4", "torchao, two levels of scales", [
        NVFP4Tensor.to_nvfp4(w, per_tensor_scale=per_tensor_amax_to_scale(w.abs().amax())).dequantize(torch.float32)
        for w in weights]
    scales = IntxChooseQParamsAlgorithm.HQQ_SCALE_ONLY
    for ours_is, title, config in (
            ("int4-group", "symmetric", IntxWeightOnlyConfig(torch.int4, PerGroup(128))),
            ("int4-group", "no clipping", IntxWeightOnlyConfig(torch.int4, PerGroup(128),
                                                               MappingType.SYMMETRIC_NO_CLIPPING_ERR)),
            ("int4-group", "hqq_scale_only",
             IntxWeightOnlyConfig(torch.int4, PerGroup(128), intx_choose_qparams_algorithm=scales)),
            ("int8-group", "symmetric", IntxWeightOnlyConfig(torch.int8, PerGroup(128))),
            ("int8-group", "hqq_scale_only",
             IntxWeightOnlyConfig(torch.int8, PerGroup(128), intx_choose_qparams_algorithm=scales)),
            ("int8-row", "Int8WeightOnlyConfig", Int8WeightOnlyConfig()),
            ("int8-row", "hqq_scale_only",
             IntxWeightOnlyConfig(torch.int8, PerAxis(0), intx_choose_qparams_algorithm=scales)),
            ("fp8-row", "Float8WeightOnlyConfig", Float8WeightOnlyConfig())):
        again = []
        for weight in weights:
            layer = torch.nn.Sequential(torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False))
            layer[0].weight.data = weight.clone()
            quantize_(layer, config)
            again.append(layer[0].weight.dequantize().float())
        yield ours_is, f"torchao, {title}", again


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
    """Its quantisers (of NVFP4 it has none in 0.19): MXFP4, and integers in groups of 32 with float16 scales, as ours."""
    import gguf
    for ours_is, name in (("mxfp4", "MXFP4"), ("int4-group 32", "Q4_0"), ("int8-group 32", "Q8_0")):
        kind = gguf.GGMLQuantizationType[name]
        yield ours_is, f"gguf-py, {name}", [
            torch.from_numpy(gguf.dequantize(gguf.quantize(w.numpy(), kind), kind)) for w in weights]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--csv")
    arguments = parser.parse_args()
    found, names = ours(arguments.tool, arguments.file)
    weights = [value.float() for name, value in sorted(load_file(arguments.file).items()) if name in names]
    ours_of_32(pathlib.Path(arguments.tool).resolve(), arguments.file, names, weights, found)
    rows = []
    for program in (compressed_tensors, llm_compressor, model_opt, torch_ao, mlx, gguf_py):
        try:
            for ours_is, title, again in program(weights):
                rows.append((ours_is, f"{found[ours_is, 'bits']:.3f}", f"{found[ours_is, 'plain']:.2f}",
                             f"{found[ours_is, 'mse']:.2f}",
                             f"{found[ours_is, 'mse-fine']:.2f}" if (ours_is, "mse-fine") in found else "", title, f"{decibel(weights, again):.2f}"))
        except ImportError as error:
            print(f"{program.__name__}: {error}", file=sys.stderr)
    rows.sort(key=lambda row: FORMATS.index(row[0]))
    head = ("format", "bits per value", "plain", "mse", "mse-fine", "beside", "theirs")
    for row in (head, *rows):
        print("{:13} {:>14} {:>7} {:>7} {:>8}  {:50} {:>6}".format(*row))
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows((head, *rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
