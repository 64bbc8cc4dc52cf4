#!/usr/bin/env python3
"""A tiny Llama whose linear weights are packed as GPTQ, AWQ, compressed-tensors, bitsandbytes and MLX
pack them, in two shards with codes apart from what serves them, made plain bfloat16 by tensorcast:
transformers loads it and gives the logits of the model that has the exact weights, bit for bit.

    check_packed_models.py --tool TENSORCAST

The exact weights are products in float64, rounded once. GPTQ's and AWQ's words are packed here;
compressed-tensors, bitsandbytes and MLX pack their own. The configuration that is left is the plain
model's, and quantize_config.json is gone.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

import mlx.core as mx
import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_bitsandbytes  # noqa: E402
import check_mlx  # noqa: E402
import check_pack_quantized  # noqa: E402
import made_checkpoints as made  # noqa: E402
from check_bitsandbytes import once  # noqa: E402
from exact_weights import run  # noqa: E402

GROUP = 64
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # of the columns in a word, from its lowest bits on


def grouped(weight):
    """Codes and zero points of 4 bits and scales in float16, of groups along the rows."""
    groups = weight.double().unflatten(1, (-1, GROUP))
    low, high = groups.amin(2).clamp(max=0), groups.amax(2).clamp(min=0)
    scales = ((high - low) / 15).half()
    zeros = (-low / scales.double()).round().clamp(1, 15).long()
    codes = (groups / scales.double()[..., None]).round().long() + zeros[..., None]
    return codes.clamp(0, 15).flatten(1), zeros, scales


def words_of(codes, order=range(8)):
    """Eight codes of the first dimension in a word."""
    parts = codes.unflatten(0, (-1, 8))
    words = sum(parts[:, place] << 4 * i for i, place in enumerate(order))
    return torch.where(words >= 1 << 31, words - (1 << 32), words).int()


def gptq(weight):
    """With an order of groups: the columns of a group stand anywhere."""
    order = torch.randperm(weight.shape[1])
    codes, zeros, scales = grouped(weight[:, order])
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel())
    index = place // GROUP
    exact = (codes[:, place] - zeros[:, index]).double() * scales.double()[:, index]
    return {"qweight": words_of(codes[:, place].T), "qzeros": words_of(zeros - 1).T, "scales": scales.T,
            "g_idx": index.int()}, exact


def awq(weight):
    codes, zeros, scales = grouped(weight)
    spread = lambda cells: cells.repeat_interleave(GROUP, 1)  # noqa: E731
    exact = (codes - spread(zeros)).double() * spread(scales).double()
    return {"qweight": words_of(codes, AWQ_ORDER).T, "qzeros": words_of(zeros, AWQ_ORDER).T,
            "scales": scales.T}, exact


def compressed_tensors(weight):
    tensors, _, exact, _, _ = check_pack_quantized.packed(
        tuple(weight.shape), torch.bfloat16, "pack-quantized", num_bits=4, strategy="group",
        symmetric=False, group_size=32)
    return tensors, exact


def four_bits(weight):
    tensors, exact, _, _ = check_bitsandbytes.four_bits(weight, "nf4", True, torch.uint8, 64)
    return {key.removeprefix("l."): value for key, value in tensors.items()}, exact


def eight_bits(weight):
    tensors, exact, _, _ = check_bitsandbytes.eight_bits(weight)
    return {key.removeprefix("l."): value for key, value in tensors.items()}, exact


def mlx(weight):
    parts = mx.quantize(mx.array(weight.float().numpy()).astype(mx.bfloat16), group_size=GROUP, bits=4)
    exact = check_mlx.expected_of({"l": (parts, GROUP, 4, "affine")})["l"]
    numbers = [torch.from_numpy(np.array(part.astype(mx.float32))).bfloat16() for part in parts[1:]]
    return {"weight": torch.from_numpy(np.array(parts[0])), "scales": numbers[0], "biases": numbers[1]}, \
        torch.from_numpy(exact)


INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": False}
# A name, what packs a weight, config.json's members, files beside it.
GPTQ_CONFIG = {"bits": 4, "group_size": GROUP, "desc_act": True, "sym": False, "checkpoint_format": "gptq"}
KINDS = [
    ("GPTQ", gptq, {"quantization_config": {"quant_method": "gptq", **GPTQ_CONFIG}},
     {"quantize_config.json": GPTQ_CONFIG}),
    ("GPTQ, a file of its own", gptq, {}, {"quantize_config.json": GPTQ_CONFIG}),
    ("AWQ", awq, {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": GROUP,
                                          "zero_point": True, "version": "gemm"}}, {}),
    ("compressed-tensors", compressed_tensors, {"quantization_config": {
        "quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"],
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": INT4}}}}, {}),
    ("bitsandbytes nf4", four_bits, {"quantization_config": {
        "quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}}, {}),
    ("bitsandbytes int8", eight_bits, {"quantization_config": {
        "quant_method": "bitsandbytes", "load_in_8bit": True}}, {}),
    ("MLX", mlx, {"quantization": {"group_size": GROUP, "bits": 4}}, {}),
]


def check(tool, plain, folder, kind):
    name, pack, members, files = kind
    folder.mkdir()
    shards, exact = [{}, {}], {}
    for key, tensor in made.tensors_of(plain).items():
        if not made.is_linear(key, tensor):
            shards[0][key] = tensor
            continue
        tensors, values = pack(tensor)
        exact[key] = once(values, torch.bfloat16)
        layer = key.removesuffix("weight")
        for i, (part, value) in enumerate(tensors.items()):
            shards[i > 0][layer + part] = value.contiguous()
    index = {"metadata": {}, "weight_map": {}}
    for i, shard in enumerate(shards, 1):
        save_file(shard, folder / made.SHARD.format(i), metadata={"format": "pt"})
        index["weight_map"].update(dict.fromkeys(shard, made.SHARD.format(i)))
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    shutil.copy(plain / "generation_config.json", folder)
    config = json.loads((plain / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **members}))
    for file, text in files.items():
        (folder / file).write_text(json.dumps(text))
    out = folder.with_name(folder.name + "_plain")
    run(tool, "convert", folder, "-o", out, "--to", "bfloat16", "--no-report", "-q")
    left = sorted(path.name for path in out.glob("*config*"))
    is_plain = json.loads((out / "config.json").read_text()) == config and \
        left == ["config.json", "generation_config.json"]
    tokens = torch.arange(48)[None]
    model = AutoModelForCausalLM.from_pretrained(plain, dtype=torch.bfloat16)
    model.load_state_dict(exact, strict=False)
    wanted = model(tokens).logits
    found = AutoModelForCausalLM.from_pretrained(out, dtype=torch.bfloat16)(tokens).logits
    different = int((wanted != found).sum())
    print(f"{name:26} {len(exact):7} {different:16} {'as it was' if is_plain else f'WRONG {left}'}")
    return different > 0 or not is_plain or not exact


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    torch.manual_seed(25)
    failed = False
    print(f"{'packed by':26} {'weights':>7} {'different logits':>16} configuration")
    with tempfile.TemporaryDirectory() as name:
        plain = made.make_plain(pathlib.Path(name) / "plain")
        for i, kind in enumerate(KINDS):
            failed |= check(tool, plain, pathlib.Path(name) / f"packed_{i}", kind)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
