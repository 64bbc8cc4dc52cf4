#!/usr/bin/env python3
"""ModelOpt's checkpoints, both ways.

    check_modelopt.py --tool TENSORCAST

Read: a tiny Llama that ModelOpt quantises and exports, in five of its formats; inspect, a dry run,
convert and loss are held against exact products, and what NVFP4's own class dequantises beside them.
Written: what `--layout modelopt` makes of the plain model has the names, types and shapes of what
ModelOpt exports, and its configuration but for who made it; the scales of inputs alone are missing,
which are calibrated. Where both chose the same scales the codes are ModelOpt's, but for its quotients
in bfloat16.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import fnmatch
import json
import pathlib
import sys
import tempfile
import warnings

import torch
import transformers
from transformers import AutoModelForCausalLM

warnings.simplefilter("ignore")
import modelopt.torch.quantization as mtq  # noqa: E402
from modelopt.torch.export import export_hf_checkpoint  # noqa: E402
from modelopt.torch.quantization.qtensor import NVFP4QTensor  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import made_checkpoints as made  # noqa: E402
from command_walk import agree, walk  # noqa: E402
from exact_weights import exact_weights, rounded, run  # noqa: E402

# ModelOpt's name, and the layout as inspect calls it.
READ = {"FP8_DEFAULT_CFG": "fp8-tensor", "FP8_PER_CHANNEL_PER_TOKEN_CFG": "fp8-row",
        "NVFP4_DEFAULT_CFG": "nvfp4", "W4A16_NVFP4_CFG": "nvfp4", "MXFP8_DEFAULT_CFG": "mxfp8",
        "W4A8_MXFP4_FP8_CFG": "mxfp4"}
WRITTEN = {"fp8-tensor": "FP8_DEFAULT_CFG", "nvfp4": "W4A16_NVFP4_CFG"}


def export(plain, folder, name):
    model = AutoModelForCausalLM.from_pretrained(plain, dtype=torch.bfloat16)
    model = mtq.quantize(model, getattr(mtq, name), lambda one: one(torch.arange(64)[None]))
    export_hf_checkpoint(model, export_dir=folder)


def layers_of(tensors):
    return sorted({key.rsplit(".", 1)[0] + "." for key in tensors if "_proj." in key})


def check_read(tool, folder, layout):
    tensors = made.tensors_of(folder)
    exact = {layer + "weight": exact_weights(tensors, layer)[0] for layer in layers_of(tensors)}
    out = folder.with_name(folder.name + "-plain")
    walk(tool, folder, out, {key: tuple(value.shape) for key, value in exact.items()}, exact, layout)
    after = made.tensors_of(out)
    agree("scales that stayed", [key for key in after if "scale" in key], [])
    theirs = 0
    for key, values in exact.items():
        agree(f"the values of {key}", torch.equal(after[key], rounded(values, None, torch.bfloat16)),
              True)
        layer = key.removesuffix("weight")
        if layout == "nvfp4":
            weight = NVFP4QTensor(values.shape, torch.bfloat16, tensors[key])
            back = weight.dequantize(torch.bfloat16, scale=tensors[layer + "weight_scale"],
                                     double_scale=tensors[layer + "weight_scale_2"],
                                     block_sizes={-1: 16})
            theirs += int((back != after[key]).sum())
    return sum(value.numel() for value in exact.values()), theirs if layout == "nvfp4" else None


def shapes(tensors):
    return {key: (value.dtype, tuple(value.shape)) for key, value in tensors.items()
            if not key.endswith("input_scale")}


def without(config, *names):
    """A configuration without who made it and what it says of activations."""
    config = json.loads(json.dumps(config))
    for name in ("producer", *names):
        config.pop(name, None)
    for group in config.get("config_groups", {}).values():
        group.pop("input_activations", None)
    return config


def check_written(tool, plain, theirs, format_name):
    out = theirs.with_name("written-" + format_name)
    run(tool, "convert", plain, "-o", out, "--to", format_name, "--layout", "modelopt", "-q",
        "--no-report")
    ours, exported = made.tensors_of(out), made.tensors_of(theirs)
    agree("names, types and shapes", shapes(ours), shapes(exported))
    for file, part in (("config.json", "quantization_config"), ("hf_quant_config.json",
                                                               "quantization")):
        mine = without(json.loads((out / file).read_text())[part])
        wanted = without(json.loads((theirs / file).read_text())[part])
        # ModelOpt names the embedding, which is no layer that the targets take, and we all the heads
        # that there are: what counts is which of the model's layers these are.
        modules = {key.removesuffix(".weight") for key in made.tensors_of(plain)}
        modules = (modules | {"lm_head"}) - {"model.embed_tokens"}
        for config in (mine, wanted):
            for name in ("ignore", "exclude_modules"):
                config[name] = sorted(module for module in modules if any(
                    fnmatch.fnmatchcase(module, one) for one in config.get(name, [])))
        agree(file, mine, wanted)
    # ModelOpt gives layers that run together (q, k and v; gate and up) one global scale, as is done
    # here.
    if format_name == "nvfp4":
        for key in ours:
            if key.endswith("weight_scale_2"):
                agree(key, ours[key].item(), exported[key].item())
    source = made.tensors_of(plain)
    compared = differ = 0
    for layer in layers_of(ours):
        scales = [key for key in ours if key.startswith(layer + "weight_scale")]
        if all(torch.equal(ours[key].float(), exported[key].float())
               for key in scales):
            mine, other = ours[layer + "weight"], exported[layer + "weight"]
            compared += exact_weights(ours, layer)[0].numel()
            differ += int((mine.view(torch.uint8) != other.view(torch.uint8)).sum())
            if format_name == "fp8-tensor":
                # ModelOpt rounds the quotient to bfloat16 before it rounds it to float8.
                twice = source[layer + "weight"] / ours[layer + "weight_scale"]
                agree("ModelOpt's arithmetic", torch.equal(
                    twice.to(torch.float8_e4m3fn).view(torch.uint8), other.view(torch.uint8)), True)
    agree("layers with the same scales", compared > 0, True)
    return compared, differ


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = made.make_plain(folder / "plain")
        for preset, layout in READ.items():
            export(plain, folder / preset, preset)
            weights, theirs = check_read(tool, folder / preset, layout)
            print(f"read    {preset:30} {layout:10} {weights:8} weights, all exact" +
                  ("" if theirs is None else f"; its own dequantisation rounds {theirs} otherwise"),
                  flush=True)
        for format_name, preset in WRITTEN.items():
            compared, differ = check_written(tool, plain, folder / preset, format_name)
            print(f"written {preset:30} {format_name:10} as ModelOpt has it; of {compared} codes with "
                  f"the same scales {differ} bytes are others", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
