#!/usr/bin/env python3
"""Scales applied, beside the libraries that wrote them: checkpoints of compressed-tensors (and one
in DeepSeek's layout) become plain ones of float32 and bfloat16.

    check_scales_applied.py --tool TENSORCAST

The expected value of an element is the exact product of the code and its scales, taken in Python's
fractions, rounded once by numpy or ml_dtypes' rules (torch's own cast of one double, which is exact
where the product fits; divisions by fractions). What the library's own decompression gives is
compared beside it and its double roundings are counted: they may differ by one unit in the last
place, never by more. transformers then loads the result without a quantisation config.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import fractions
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from transformers import LlamaForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import made_checkpoints as made  # noqa: E402

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M3 = [(c & 7) / 8 if c < 8 else (1 + (c & 7) / 8) * 2.0 ** ((c >> 3) - 1) for c in range(32)]


def values_of_codes(packed, bits):
    """The values of packed float4e2m1 or float6e2m3 codes, in float64."""
    data = packed.to(torch.int64)
    if bits == 4:
        codes = torch.stack((data & 15, data >> 4), -1).flatten(-2)
        table = torch.tensor(E2M1 + [-v for v in E2M1], dtype=torch.float64)
    else:
        three = data.unflatten(-1, (-1, 3))
        word = three[..., 0] | three[..., 1] << 8 | three[..., 2] << 16
        codes = torch.stack([word >> 6 * i & 63 for i in range(4)], -1).flatten(-2)
        table = torch.tensor(E2M3 + [-v for v in E2M3], dtype=torch.float64)
    return table[codes]


def exact_weights(tensors, layer):
    """A layer's weight as float64 factors: (product of code and scale, global divisor or None); the
    product is exact, having at most 32 bits."""
    scale = tensors.get(layer + "weight_scale", tensors.get(layer + "weight_scale_inv"))
    whole = tensors.get(layer + "weight_global_scale")
    if scale.dtype == torch.uint8:
        scale = torch.exp2(scale.to(torch.float64) - 127)
    scale = scale.to(torch.float64)
    if layer + "weight_packed" in tensors:
        packed = tensors[layer + "weight_packed"]
        # float6: 3 bytes hold 4 codes of a group of 32.
        bits = 4 if packed.shape[1] * 2 % scale.shape[1] == 0 and \
            packed.shape[1] * 2 // scale.shape[1] in (16, 32) else 6
        codes = values_of_codes(packed, bits)
    else:
        codes = tensors[layer + "weight"].to(torch.float64)
    rows, columns = codes.shape
    down, across = -(-rows // scale.shape[0]), -(-columns // scale.shape[1])
    grid = scale.repeat_interleave(down, 0)[:rows].repeat_interleave(across, 1)[:, :columns]
    return codes * grid, None if whole is None else whole.to(torch.float64).item()


def rounded(product, divisor, dtype):
    """Rounds once to dtype."""
    if divisor is None:
        return product.to(dtype)
    # A double that a quotient was rounded to may be a tie of dtype that the quotient is not: those
    # are decided by fractions.
    quotient = product / divisor
    result = quotient.to(dtype)
    bits = 53 - (24 if dtype == torch.float32 else 8)
    tail = quotient.view(torch.int64) & ((1 << bits) - 1)
    for place in torch.nonzero(tail == 1 << (bits - 1)):
        i = tuple(place.tolist())
        exact = fractions.Fraction(product[i].item()) / fractions.Fraction(divisor)
        near = fractions.Fraction(quotient[i].item())
        if exact != near:
            away = quotient[i].item() * (1 + 2.0 ** -50 * (1 if (exact > near) == (near > 0) else -1))
            result[i] = torch.tensor(away, dtype=torch.float64).to(dtype)
    return result


def run(tool, *arguments):
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def check(tool, folder, decompressed, out, dtype, name):
    """Returns how many weights were compared, wrong, and otherwise rounded by the library."""
    run(tool, "convert", folder, "-o", out, "--to", name, "-q", "--no-report")
    before, after = made.tensors_of(folder), made.tensors_of(out)
    kept = {key for key in before if not any(word in key for word in ("_proj.", "scale"))}
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
    if any("scale" in key for key in after) or kept:
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
                    tool, folder / checkpoint, decompressed, folder / f"{checkpoint}-{to}", dtype, to)
                cosine = torch.nn.functional.cosine_similarity(
                    logits.float().flatten(), original.flatten(), 0).item()
                failed = failed or wrong > 0 or compared == 0 or cosine < 0.9
                print(f"{checkpoint:14} {to:9} {compared:9} {wrong:6} "
                      f"{'-' if twice is None else twice:>29} {cosine:33.6f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
