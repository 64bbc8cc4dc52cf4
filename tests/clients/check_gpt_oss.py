#!/usr/bin/env python3
"""A tiny gpt-oss, as OpenAI and transformers lay it out: experts of MXFP4, two codes in a byte.

    check_gpt_oss.py --tool TENSORCAST

The model is made by transformers, its experts are quantised by compressed-tensors' compressor, and
transformers' own dequantisation says what the weights are. inspect, a dry run, convert and loss are
held against that, and the logits of the converted model against those of the original as
transformers dequantises it: both bit for bit.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import sys
import tempfile
import warnings

import torch
import transformers
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import preset_name_to_scheme
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, GptOssConfig, GptOssForCausalLM, Mxfp4Config
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import made_checkpoints as made  # noqa: E402
from command_walk import agree, walk  # noqa: E402
from exact_weights import run, values_of_codes  # noqa: E402

TOKENS = torch.arange(64)[None]
EXPERTS = ("gate_up_proj", "down_proj")


def make_gpt_oss(folder):
    """Writes it in three shards."""
    torch.manual_seed(13)
    config = GptOssConfig(vocab_size=256, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                          num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                          num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=64,
                          sliding_window=32, layer_types=["sliding_attention", "full_attention"],
                          dtype="bfloat16")
    plain = folder.with_name("plain")
    GptOssForCausalLM(config).to(torch.bfloat16).save_pretrained(plain)
    scheme = preset_name_to_scheme("MXFP4A16", targets=["Linear"])
    compressor = BaseCompressor.get_value_from_registry("mxfp4-pack-quantized")
    tensors = {}
    for name, tensor in made.tensors_of(plain).items():
        if not name.endswith(EXPERTS):
            tensors[name] = tensor
            continue
        experts, columns, rows = tensor.shape
        matrix = tensor.transpose(1, 2).reshape(-1, columns).float()
        scale, *_ = made.qparams(matrix, scheme.weights)
        packed = compressor.compress({"weight": matrix, "weight_scale": scale}, scheme)
        tensors[name + "_blocks"] = packed["weight_packed"].reshape(experts, rows, columns // 32, 16)
        tensors[name + "_scales"] = packed["weight_scale"].reshape(experts, rows, columns // 32)
    folder.mkdir()
    shards = [{}, {}, {}]
    for name, tensor in tensors.items():
        shards[1 if name.endswith("_blocks") else 2 if name.endswith("_scales") else 0][name] = tensor
    index = {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())}, "weight_map": {}}
    for i, shard in enumerate(shards):
        file = f"model-0000{i}-of-00002.safetensors"
        save_file({key: value.contiguous() for key, value in shard.items()}, folder / file,
                  metadata={"format": "pt"})
        index["weight_map"].update(dict.fromkeys(shard, file))
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    config = json.loads((plain / "config.json").read_text())
    config["quantization_config"] = Mxfp4Config(
        modules_to_not_convert=["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                "model.embed_tokens", "lm_head"]).to_dict()
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def exact_values(tensors):
    """Every expert tensor in float64, from codes and scales, of shape [E, columns, rows]; whether
    transformers' own dequantisation gives the same."""
    found = {}
    for name, blocks in tensors.items():
        if not name.endswith("_blocks"):
            continue
        weight = name.removesuffix("_blocks")
        scales = tensors[weight + "_scales"]
        codes = values_of_codes(blocks, 4)
        values = (codes * torch.exp2(scales.to(torch.float64) - 127)[..., None]).flatten(-2)
        found[weight] = values.transpose(1, 2)
        theirs = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
        agree(f"the values of {weight}, as transformers has them",
              torch.equal(theirs.double(), found[weight]), True)
    return found


def logits(folder, **arguments):
    model, report = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.bfloat16, output_loading_info=True, **arguments)
    if any(report.values()):
        sys.exit(f"{folder.name}: transformers does not take all of it: {report}")
    with torch.no_grad():
        return model(TOKENS).logits


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source, out = folder / "gpt-oss", folder / "plain-bf16"
        make_gpt_oss(source)
        exact = exact_values(made.tensors_of(source))
        walk(tool, source, out, {key: tuple(value.shape) for key, value in exact.items()}, exact,
             "mxfp4")
        after = made.tensors_of(out)
        for key, values in exact.items():
            agree(f"the values of {key}", torch.equal(after[key].double(), values), True)
        agree("config.json speaks of scales",
              "quantization_config" in json.loads((out / "config.json").read_text()), False)
        original = logits(source, quantization_config=Mxfp4Config(dequantize=True))
        converted = logits(out)
        agree("the logits are equal", torch.equal(original, converted), True)
        cosine = torch.nn.functional.cosine_similarity(
            original.float().flatten(), logits(folder / "plain").float().flatten(), 0).item()
        print(f"gpt-oss: {sum(v.numel() for v in exact.values())} weights of {len(exact)} tensors of "
              f"experts, all as transformers dequantises them; logits equal, cosine with the "
              f"model before it was quantised {cosine:.6f}")
        run(tool, "convert", source, "-o", folder / "raw", "--to", "float16", "--raw-scaled", "-q",
            "--no-report")
        before, raw = made.tensors_of(source), made.tensors_of(folder / "raw")
        agree("packed codes stay as they are", all(
            torch.equal(raw[key], before[key]) for key in before
            if key.endswith(("_blocks", "_scales"))), True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
