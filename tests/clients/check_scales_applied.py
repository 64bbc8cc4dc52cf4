#!/usr/bin/env python3
"""Scales applied, beside the libraries that wrote them: checkpoints of compressed-tensors (and one
in DeepSeek's layout) become plain ones of float32 and bfloat16.

    check_scales_applied.py --tool TENSORCAST

inspect, a dry run and loss are asked on the way, and held against the same values.
The expected value of an element is the exact product of the code and its scales, taken in Python's
fractions, rounded once by numpy or ml_dtypes' rules (torch's own cast of one double, which is exact
where the product fits; divisions by fractions). What the library's own decompression gives is
compared beside it and its double roundings are counted: they may differ by one unit in the last
place, never by more. transformers then loads the result without a quantisation config.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import sys
import tempfile

import torch
from transformers import LlamaForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import made_checkpoints as made  # noqa: E402
from command_walk import walk  # noqa: E402
from exact_weights import exact_weights, rounded  # noqa: E402

# As inspect calls them.
LAYOUTS = {"FP8_DYNAMIC": "fp8-row", "FP8_BLOCK": "fp8-block", "INT8": "int8-row",
           "NVFP4A16": "nvfp4", "MXFP4A16": "mxfp4", "MXFP6A16": "mxfp6", "MXFP8A16": "mxfp8",
           "W4A16": "int4-group", "W4A16_ASYM": "int4-group", "W8A16": "int8-group",
           "deepseek": "fp8-block"}


def exact_values(folder):
    """The linear weights of a checkpoint in float64, rounded once to it."""
    tensors = made.tensors_of(folder)
    layers = {key.rsplit(".", 1)[0] + "." for key in tensors if "_proj." in key}
    found = {}
    for layer in layers:
        product, divisor = exact_weights(tensors, layer)
        found[layer + "weight"] = product if divisor is None else product / divisor
    return found


def check(tool, folder, decompressed, out, dtype):
    """Returns how many weights were compared, wrong, and otherwise rounded by the library."""
    exact = exact_values(folder)
    walk(tool, folder, out, {key: tuple(value.shape) for key, value in exact.items()}, exact,
         LAYOUTS[folder.name], dtype)
    before, after = made.tensors_of(folder), made.tensors_of(out)
    kept = {key for key in before
            if not any(word in key for word in ("_proj.", *made.COMPANIONS))}
    wrong = compared = 0
    twice = None
    for key, tensor in after.items():
        if "_proj." not in key:
            kept.discard(key)
            continue
        product, divisor = exact_weights(before, key.removesuffix("weight"))
        expected = rounded(product, divisor, dtype)
        same = (tensor.view(torch.uint8) == expected.view(torch.uint8)).reshape(
            tensor.numel(), -1).all(1)
        compared += tensor.numel()
        wrong += int((~same).sum())
        # What it gives in bfloat16 has nothing to say of float32.
        if decompressed is not None and \
                torch.finfo(decompressed[key].dtype).eps <= torch.finfo(dtype).eps:
            library = decompressed[key].to(dtype)
            differ = library != tensor
            twice = (twice or 0) + int(differ.sum())
            unit = torch.nextafter(tensor, torch.full_like(tensor, float("inf"))) - tensor
            far = (library.double() - tensor.double()).abs() > 2 * unit.double().abs()
            wrong += int((far & differ).sum())
    config = json.loads((out / "config.json").read_text())
    if "quantization_config" in config:
        sys.exit(f"{folder.name}: the configuration still says that there are scales")
    if any(word in key for key in after for word in made.COMPANIONS) or kept:
        sys.exit(f"{folder.name}: scales stayed, or tensors are missing: {sorted(kept)[:3]}")
    model = LlamaForCausalLM.from_pretrained(out, dtype=dtype)
    logits = model(torch.arange(32)[None]).logits
    if not torch.isfinite(logits).all():
        sys.exit(f"{folder.name}: transformers gets logits that are not finite")
    return compared, wrong, twice, logits


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    failed = False
    print(f"{'checkpoint':14} {'to':9} {'weights':>9} {'wrong':>6} {'the library rounds otherwise':>29}"
          f" {'logits, cosine with the original':>33}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = made.make_plain(folder / "plain")
        tokens = torch.arange(32)[None]
        original = LlamaForCausalLM.from_pretrained(plain, dtype=torch.float32)(tokens).logits
        checkpoints = {preset: made.quantise(plain, folder / preset, preset)
                       for preset in made.PRESETS}
        made.make_deepseek(plain, folder / "deepseek")
        checkpoints["deepseek"] = None
        for checkpoint, decompressed in checkpoints.items():
            for dtype, to in ((torch.float32, "float32"), (torch.bfloat16, "bfloat16")):
                compared, wrong, twice, logits = check(
                    tool, folder / checkpoint, decompressed, folder / f"{checkpoint}-{to}", dtype)
                cosine = torch.nn.functional.cosine_similarity(
                    logits.float().flatten(), original.flatten(), 0).item()
                failed = failed or wrong > 0 or compared == 0 or cosine < 0.9
                print(f"{checkpoint:14} {to:9} {compared:9} {wrong:6} "
                      f"{'-' if twice is None else twice:>29} {cosine:33.6f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
