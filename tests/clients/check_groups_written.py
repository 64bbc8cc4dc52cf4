#!/usr/bin/env python3
"""Integers in groups that tensorcast writes, read by the libraries of their layouts: a tiny Llama by transformers with
compressed-tensors, whose logits are those of our own plain copy; MLX's own quantiser's bytes and decoder; AutoGPTQ's
layer and AutoAWQ's decoder.

    check_groups_written.py --tool TENSORCAST

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import importlib
import itertools
import json
import pathlib
import sys
import tempfile
import warnings

import mlx.core as mx
import numpy as np
import torch
import transformers
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationConfig
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_grouped_peers as peers  # noqa: E402
import made_checkpoints as made  # noqa: E402
from exact_weights import run  # noqa: E402

TOKENS = torch.arange(48).reshape(2, 24) * 5 % 256


def load(folder, **arguments):
    """A model all of whose tensors were found, and no others."""
    model, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, **arguments)
    if any(report.values()):
        sys.exit(f"{folder.name}: transformers does not take all of it: {report}")
    return model


def logits(model):
    with torch.no_grad():
        return model(TOKENS).logits.to(torch.float64)


def check_llama(tool, folder):
    """compressed-tensors' layout: its own decompression is our plain copy, and as transformers runs it the logits are
    those of that copy. Asymmetric ones transformers 5.23 does not load, compressed-tensors' own neither: it makes room
    for zero points that are not packed."""
    source, wrong = made.make_plain(folder / "llama"), 0
    compressor = BaseCompressor.get_value_from_registry("pack-quantized")
    for bits, group, how in itertools.product((4, 8), ("32", "128", "channel"), ([], ["--asymmetric"],
                                                                                  ["--scale", "mse-fine"])):
        is_asymmetric = "--asymmetric" in how
        name = "-".join([f"w{bits}", group, *(word.strip("-") for word in how)])
        packed, plain = folder / name, folder / f"{name}-plain"
        run(tool, "convert", source, "-o", packed, "--to", f"int{bits}-group", "--group", group, *how, "-q", "--no-report")
        run(tool, "convert", packed, "-o", plain, "--to", "bfloat16", "-q", "--no-report")
        config = json.loads((packed / "config.json").read_text())["quantization_config"]
        scheme = QuantizationConfig.model_validate(config).config_groups["group_0"]
        tensors, values, differ, weights = made.tensors_of(packed), made.tensors_of(plain), 0, 0
        for key in [key for key in tensors if key.endswith(".weight_packed")]:
            layer = key.removesuffix("weight_packed")
            state = {end: tensors[layer + end] for end in ("weight_packed", "weight_scale", "weight_zero_point",
                                                           "weight_shape") if layer + end in tensors}
            library = compressor.decompress(state, scheme)["weight"]
            differ += int((library.to(torch.bfloat16) != values[layer + "weight"]).sum())
            weights += library.numel()
        # Of 8 bits a code less its zero point has nine, which it rounds to bfloat16 first.
        far = 0 if bits == 4 or not is_asymmetric else weights // 2
        line = f"compressed-tensors {name}: {differ} of {weights} values differ"
        wrong += differ > far or weights == 0
        if not is_asymmetric:
            same = torch.equal(logits(load(packed, dtype=torch.bfloat16)), logits(load(plain, dtype=torch.bfloat16)))
            wrong += not same
            line += f"; transformers' logits {'equal' if same else 'differ'}"
        print(line, flush=True)
    return wrong


def check_mlx(tool, folder):
    """What --asymmetric writes is what MLX writes; symmetric ones decode alike."""
    rng, wrong = np.random.default_rng(3), 0
    weight = (rng.standard_normal((64, 512)) * 0.02).astype(np.float32)
    weight[0], weight[1], weight[2], weight[3] = 0, np.abs(weight[1]), -np.abs(weight[2]), 0.25
    source, out, plain = (str(folder / f"mlx-{n}.safetensors") for n in ("in", "out", "plain"))
    stem = "model.layers.0.mlp.up_proj."
    for dtype, bits, group, rule in itertools.product((mx.float32, mx.bfloat16, mx.float16), (4, 8), (32, 64, 128),
                                                    ("amax", "mse-fine")):
        value = mx.array(weight).astype(dtype)
        mx.save_safetensors(source, {stem + "weight": value})
        flags = ["--to", f"int{bits}-group", "--layout", "mlx", "--group", group, "--force", "-q", "--no-report"]
        run(tool, "convert", source, "-o", out, *flags, "--asymmetric")
        found = mx.load(out)
        with mx.stream(mx.cpu):
            theirs = mx.quantize(value, group_size=group, bits=bits)
            differ = [int(mx.sum(a != found[stem + part]).item())
                      for a, part in zip(theirs, ("weight", "scales", "biases"))]
        run(tool, "convert", source, "-o", out, *flags, "--scale", rule)
        found = mx.load(out)
        config = pathlib.Path(out).parent / "config.json"
        config.write_text(json.dumps({"quantization": {"group_size": group, "bits": bits}}))
        run(tool, "convert", out, "-o", plain, "--to", "float32", "--force", "-q", "--no-report")
        config.unlink()
        with mx.stream(mx.cpu):
            decoded = mx.dequantize(*(found[stem + part] for part in ("weight", "scales", "biases")),
                                    group_size=group, bits=bits)
            ours = mx.load(plain)[stem + "weight"]
            # In the type of the scales its product and its sum are rounded.
            far = mx.max(mx.abs(decoded.astype(mx.float32) - ours)).item()
        unit = {mx.float32: 2e-7, mx.bfloat16: 2e-2, mx.float16: 2e-3}[dtype] * float(np.abs(weight).max())
        if any(differ) or far > unit:
            wrong += 1
            print(f"mlx {dtype} {bits} {group} {rule}: {differ} codes, scales, biases differ; decoded {far:.3g} off")
    print(f"mlx: {wrong} of 36 wrong")
    return wrong


def check_autos(tool, folder):
    """GPTQ's tensors in AutoGPTQ's layer (its zero points are stored less 1), AWQ's in AutoAWQ's decoder."""
    torch.manual_seed(5)
    weight, wrong = torch.randn(96, 256) * 0.02, 0
    source, out = folder / "auto-in.safetensors", folder / "auto-out"
    source.parent.mkdir(exist_ok=True)
    folder_in = folder / "auto"
    folder_in.mkdir()
    save_file({"model.layers.0.mlp.up_proj.weight": weight.half()}, folder_in / "model.safetensors")
    (folder_in / "config.json").write_text(json.dumps({"model_type": "llama"}))
    layer = importlib.import_module("auto_gptq.nn_modules.qlinear.qlinear_cuda_old")
    unpack = importlib.import_module("awq.utils.packing_utils").dequantize_gemm
    for layout, bits, how in [("gptq", 4, []), ("gptq", 8, []), ("gptq", 4, ["--asymmetric"]),
                              ("gptq", 4, ["--scale", "mse-fine"]), ("awq", 4, []), ("awq", 4, ["--asymmetric"]),
                              ("awq", 4, ["--scale", "mse-fine"])]:
        packed, plain = (folder / f"{out.name}-{layout}{bits}{''.join(how)}{end}" for end in ("", "-plain"))
        run(tool, "convert", folder_in, "-o", packed, "--to", f"int{bits}-group", "--layout", layout, "--group", 64, *how,
            "-q", "--no-report")
        run(tool, "convert", packed, "-o", plain, "--to", "float16", "-q", "--no-report")
        ours = load_file(plain / "model.safetensors")["model.layers.0.mlp.up_proj.weight"]
        parts = {key.rpartition(".")[2]: value for key, value in load_file(packed / "model.safetensors").items()}
        if layout == "awq":
            library = unpack(parts["qweight"], parts["qzeros"], parts["scales"], 4, 64).T
        else:
            module = layer.QuantLinear(bits, 64, 256, 96, False)
            ones = sum(1 << (bits * i) for i in range(32 // bits))
            less = (parts["qzeros"].long() & 0xFFFFFFFF) - ones  # no zero point is 0 here
            module.qweight, module.scales = parts["qweight"], parts["scales"]
            module.qzeros = torch.where(less >= 2**31, less - 2**32, less).to(torch.int32)
            module.g_idx = parts["g_idx"]
            library = module(torch.eye(256, dtype=torch.float16)).T
        differ = int((library.float() != ours.float()).sum())
        wrong += differ != 0
        print(f"{' '.join([layout, str(bits), 'bits', *how])}: {differ} of {ours.numel()} values differ")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "packages").mkdir()
        peers.fetch(folder / "packages")
        peers.without_init("auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.qlinear", "awq", "awq.utils")
        wrong = check_llama(tool, folder) + check_mlx(tool, folder) + check_autos(tool, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
