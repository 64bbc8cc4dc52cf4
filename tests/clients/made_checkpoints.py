"""Checkpoints with scales, made by the libraries that people use: a tiny Llama of transformers, its
linear weights quantised by compressed-tensors, in two shards with an index.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import (
    QuantizationConfig,
    QuantizationStatus,
    QuantizationStrategy,
    preset_name_to_scheme,
)
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

# compressed-tensors' presets, each with the format that it is stored in.
PRESETS = {
    "FP8_DYNAMIC": "float-quantized",
    "FP8_BLOCK": "float-quantized",
    "INT8": "int-quantized",
    "NVFP4A16": "nvfp4-pack-quantized",
    "MXFP4A16": "mxfp4-pack-quantized",
    "MXFP6A16": "mxfp6-pack-quantized",
    "MXFP8A16": "mxfp8-quantized",
    "W4A16": "pack-quantized",
    "W4A16_ASYM": "pack-quantized",
    "W8A16": "pack-quantized",
}
# What belongs to codes.
COMPANIONS = ("scale", "zero_point", "shape")
SHARD = "model-0000{}-of-00002.safetensors"


def make_plain(folder, dtype=torch.bfloat16):
    """A Llama with random weights, as transformers saves it, in shards."""
    torch.manual_seed(11)
    config = LlamaConfig(vocab_size=256, hidden_size=256, intermediate_size=512,
                         num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=64)
    model = LlamaForCausalLM(config).to(dtype)
    model.save_pretrained(folder, max_shard_size="1MB")
    return folder


def tensors_of(folder):
    """All tensors of a checkpoint."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        found.update(load_file(path))
    return found


def is_linear(name, tensor):
    return tensor.ndim == 2 and "_proj." in name


def qparams(weight, arguments):
    """The scales and zero points that compressed-tensors' own observer of minima and maxima gives, and
    the global scale where the strategy has one."""
    strategy = arguments.strategy
    if strategy == QuantizationStrategy.CHANNEL:
        low, high = weight.amin(1, keepdim=True), weight.amax(1, keepdim=True)
        return *calculate_qparams(low, high, arguments), None
    if strategy == QuantizationStrategy.BLOCK:
        rows, columns = arguments.block_structure
        blocks = weight.reshape(weight.shape[0] // rows, rows, weight.shape[1] // columns, columns)
        return *calculate_qparams(blocks.amin((1, 3)), blocks.amax((1, 3)), arguments), None
    groups = weight.reshape(weight.shape[0], -1, arguments.group_size)
    whole = None
    if strategy == QuantizationStrategy.TENSOR_GROUP:
        whole = generate_gparam(weight.amin(), weight.amax())
    return *calculate_qparams(groups.amin(2), groups.amax(2), arguments, whole), whole


def quantise(plain, folder, preset):
    """Writes `plain`, a checkpoint's folder, quantised by a preset; returns what each linear weight
    decompresses to by the library itself, in float32."""
    folder.mkdir()
    scheme = preset_name_to_scheme(preset, targets=["Linear"])
    scheme.format = PRESETS[preset]
    compressor = BaseCompressor.get_value_from_registry(PRESETS[preset])
    out, decompressed = {}, {}
    for name, tensor in tensors_of(plain).items():
        if not is_linear(name, tensor):
            out[name] = tensor
            continue
        scale, zero, whole = qparams(tensor.float(), scheme.weights)
        state = {"weight": tensor.float(), "weight_scale": scale}
        if not scheme.weights.symmetric:
            state["weight_zero_point"] = zero
        if whole is not None:
            state["weight_global_scale"] = whole
        compressed = compressor.compress(state, scheme)
        layer = name.removesuffix("weight")
        out.update({layer + key: value.contiguous() for key, value in compressed.items()})
        back = compressor.decompress(compressed, scheme)["weight"]
        decompressed[name] = back
    # Weights in one shard, what belongs to them in the other, as published checkpoints have it.
    shards = [{}, {}]
    for name, tensor in out.items():
        shards[any(word in name.rsplit(".", 1)[1] for word in COMPANIONS)][name] = tensor
    index = {"metadata": {"total_size": sum(t.nbytes for t in out.values())}, "weight_map": {}}
    for i, shard in enumerate(shards, 1):
        save_file(shard, folder / SHARD.format(i), metadata={"format": "pt"})
        index["weight_map"].update(dict.fromkeys(shard, SHARD.format(i)))
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    config = json.loads((plain / "config.json").read_text())
    config["quantization_config"] = QuantizationConfig(
        config_groups={"group_0": scheme}, format=PRESETS[preset], ignore=["lm_head"],
        quantization_status=QuantizationStatus.COMPRESSED).model_dump(mode="json")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    return decompressed


def make_deepseek(plain, folder):
    """The same in the layout of DeepSeek V3: float8e4m3fn with the inverse scales of blocks."""
    folder.mkdir()
    shards = [{}, {}]
    for name, tensor in tensors_of(plain).items():
        if not is_linear(name, tensor):
            shards[0][name] = tensor
            continue
        rows, columns = (-(-n // 128) for n in tensor.shape)
        blocks = tensor.float().reshape(rows, 128, columns, 128)
        scale = blocks.abs().amax((1, 3)) / torch.finfo(torch.float8_e4m3fn).max
        codes = (blocks / scale[:, None, :, None]).to(torch.float8_e4m3fn)
        shards[0][name] = codes.reshape(tensor.shape).contiguous()
        shards[1][name + "_scale_inv"] = scale.contiguous()
    index = {"metadata": {"total_size": sum(t.nbytes for s in shards for t in s.values())},
             "weight_map": {}}
    for i, shard in enumerate(shards, 1):
        save_file(shard, folder / SHARD.format(i), metadata={"format": "pt"})
        index["weight_map"].update(dict.fromkeys(shard, SHARD.format(i)))
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    config = json.loads((plain / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "fp8", "fmt": "e4m3",
                                     "activation_scheme": "dynamic",
                                     "weight_block_size": [128, 128]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
