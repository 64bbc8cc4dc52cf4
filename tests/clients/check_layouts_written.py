#!/usr/bin/env python3
"""Scaled formats in the layouts of MLX, ComfyUI and gpt-oss, read by mlx, comfy-kitchen and transformers.

    check_layouts_written.py --tool TENSORCAST [mlx] [comfyui] [gpt-oss]

Each library decodes the file's own bytes, and that has to be what tensorcast makes of the same file, bit
by bit; where the library rounds on its way (ComfyUI's nvfp4 and its rotation), the same steps give its
bits, or a bound holds. What the library's own quantiser makes of the same weight is held beside it.
Models are loaded and run: a Llama by mlx_lm, where that is installed, a gpt-oss by transformers.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import sys
import tempfile
import warnings

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from exact_weights import run  # noqa: E402


def agree(what, got, wanted=True):
    if got != wanted:
        sys.exit(f"{what}: {got!r}, and not {wanted!r}")


def write(tool, source, out, *flags):
    run(tool, "convert", source, "-o", out, "-q", "--no-report", *flags)
    return out


def plain(tool, source):
    out = source.with_name(source.name.removesuffix(".safetensors") + "-plain" + (
        ".safetensors" if source.name.endswith(".safetensors") else ""))
    return write(tool, source, out, "--to", "float32")


def weight_of(rows, columns, seed):
    torch.manual_seed(seed)
    weight = torch.randn(rows, columns) * 0.05
    weight[3] = 0  # groups of zeros
    weight[5] *= 1e-4
    weight[7, 9] = 40.0
    return weight.to(torch.bfloat16)


# ------------------------------------------------------------------------------------- MLX


def check_mlx(tool, folder):
    import mlx.core as mx
    import numpy as np
    tensors = {"l.0.up.weight": weight_of(64, 512, 1), "l.0.down.weight": weight_of(96, 64, 2)}
    save_file(tensors, folder / "mlx.safetensors")
    print(f"{'mlx':12} {'values':>8} {'scales other':>13} {'codes other':>12}")
    for mode, bits, group, rule in (("mxfp4", 4, 32, "up"), ("mxfp8", 8, 32, "up"),
                                    ("nvfp4", 4, 16, "amax")):
        out = write(tool, folder / "mlx.safetensors", folder / f"{mode}.safetensors", "--to", mode,
                    "--layout", "mlx", "--scale", rule)
        made, back = mx.load(str(out)), load_file(plain(tool, out))
        with safe_open(out, "np") as file:
            agree("metadata", file.metadata(), {"format": "mlx"})
        values = scales = codes = 0
        for name, weight in tensors.items():
            stem = name.removesuffix(".weight")
            agree(f"{mode}: tensors of {stem}", sorted(k for k in made if k.startswith(stem)),
                  [f"{stem}.scales", f"{stem}.weight"])
            parts = made[f"{stem}.weight"], made[f"{stem}.scales"]
            theirs = np.array(mx.dequantize(*parts, group_size=group, bits=bits, mode=mode,
                                            dtype=mx.float32))
            agree(f"{mode}: {name}", bool((theirs.view(np.uint32) ==
                                           back[name].numpy().view(np.uint32)).all()))
            # Of a zero group the scale is 1 here and 0 there; theirs of very small groups is 0, too.
            own = mx.quantize(mx.array(weight.float().numpy()), group_size=group, bits=bits,
                              mode=mode)
            ours, other = np.array(parts[1]), np.array(own[1])
            amax = weight.float().abs().reshape(ours.shape[0], -1, group).amax(-1).numpy()
            least = 2.0 ** -10 * 6 if mode == "nvfp4" else 0
            differ = (ours != other) & (amax > least)
            agree(f"{mode}: scales of {name}", int(differ.sum()), 0)
            scales += int((ours != other).sum())
            same = np.repeat(ours == other, group, -1)
            unpack = [np.array(p[0]).view(np.uint8) for p in (parts, own)]
            if bits == 4:
                unpack = [np.stack((u & 15, u >> 4), -1).reshape(u.shape[0], -1) for u in unpack]
            wrong = (unpack[0] != unpack[1]) & same & (weight.float().numpy() != 0)
            # A value that becomes zero keeps its sign here, and there it is +0.
            half = 1 << (bits - 1)
            steps = np.abs((unpack[0] & (half - 1)).astype(int) - (unpack[1] & (half - 1)))
            agree(f"{mode}: codes of {name} are neighbours", int(steps[wrong].max(initial=0)) <= 1)
            codes += int((wrong & (steps != 0)).sum())
            values += theirs.size
        print(f"{mode:12} {values:8} {scales:13} {codes:12}")
    check_mlx_model(tool, folder)


def check_mlx_model(tool, folder):
    try:
        from mlx_lm.utils import load_model
    except ImportError:
        print("mlx_lm is not installed: no model was loaded by it")
        return
    import mlx.core as mx
    import numpy as np
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(3)
    config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=160, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, dtype="float32")
    source = folder / "llama"
    LlamaForCausalLM(config).save_pretrained(source)
    tokens = mx.arange(32)[None]
    for flags in (["--to", "mxfp4"], ["--to", "mxfp8"], ["--to", "nvfp4"],
                  ["--to", "mxfp4", "--rule", "*.down_proj.weight=mxfp8", "--rule",
                   "*.layers.1.self_attn.*=nvfp4", "--exclude", "*.layers.0.mlp.up_proj.weight"]):
        out = write(tool, source, folder / f"llama-{len(flags)}-{flags[1]}", *flags, "--layout", "mlx")
        model, _ = load_model(out)
        kinds = {type(m).__name__ for _, m in model.named_modules()}
        agree("quantised modules", "QuantizedLinear" in kinds)
        dense, _ = load_model(plain(tool, out))
        agree("quantised modules of the plain one", any(
            type(m).__name__ == "QuantizedLinear" for _, m in dense.named_modules()), False)
        for module in (m for _, m in model.named_modules() if type(m).__name__ == "QuantizedLinear"):
            agree("no biases", module.get("biases"), None)
        one, two = (np.array(m(tokens)).astype(np.float64) for m in (model, dense))
        error = np.abs(one - two).max() / np.abs(two).max()
        agree(f"mlx_lm: logits of {' '.join(flags)}", bool(error < 1e-3))
        print(f"mlx_lm, {' '.join(flags)}: logits differ by {error:.1e} of the largest")


# --------------------------------------------------------------------------------- ComfyUI


def comfy_tensor(tensors, layer, said, shape, dtype):
    """As ComfyUI loads a layer (comfy/ops.py, _load_quantized_module)."""
    from comfy_kitchen.tensor import QuantizedTensor, get_layout_class
    layouts = {"nvfp4": "TensorCoreNVFP4Layout", "mxfp8": "TensorCoreMXFP8Layout",
               "int8_tensorwise": "TensorWiseINT8Layout"}
    stored = {"nvfp4": torch.uint8, "mxfp8": torch.float8_e4m3fn, "int8_tensorwise": torch.int8}
    kind = said["format"]
    scale = tensors[f"{layer}.weight_scale"]
    if kind == "nvfp4":
        scales = {"scale": tensors[f"{layer}.weight_scale_2"],
                  "block_scale": scale.view(torch.float8_e4m3fn)}
    elif kind == "mxfp8":
        scales = {"scale": scale.view(torch.float8_e8m0fnu)}
    else:
        scales = {"scale": scale}
        if said.get("convrot", False):
            scales |= {"convrot": True, "convrot_groupsize": int(said["convrot_groupsize"])}
    params = get_layout_class(layouts[kind]).Params(**scales, orig_dtype=dtype, orig_shape=shape)
    return QuantizedTensor(tensors[f"{layer}.weight"].to(dtype=stored[kind]), layouts[kind], params)


def check_comfyui(tool, folder):
    import comfy_kitchen
    from comfy_kitchen.tensor import QuantizedTensor
    tensors = {"l.0.up.weight": weight_of(288, 512, 4), "l.0.down.weight": weight_of(64, 1280, 5),
               "l.0.short.weight": weight_of(160, 96, 6)}
    source = folder / "comfy.safetensors"
    save_file(tensors, source)
    print(f"{'comfy-kitchen':22} {'values':>8} {'decoded other':>14} {'scales other':>13} "
          f"{'codes other':>12}")
    for flags in (["nvfp4"], ["mxfp8", "--scale", "up"], ["int8-row"], ["int8-row", "--rotate"]):
        out = folder / f"comfy-{'-'.join(flags)}.safetensors"
        write(tool, source, out, "--layout", "comfyui", "--to", *flags)
        made, back = load_file(out), load_file(plain(tool, out))
        with safe_open(out, "pt") as file:
            said = json.loads(file.metadata()["_quantization_metadata"])["layers"]
        agree("layers", sorted(said), sorted(n.removesuffix(".weight") for n in tensors))
        decoded = scales = codes = values = 0
        for name, weight in tensors.items():
            layer = name.removesuffix(".weight")
            shape = tuple(weight.shape)
            quantised = comfy_tensor(made, layer, said[layer], shape, torch.float32)
            theirs, ours = quantised.dequantize(), back[name]
            agree(f"shape of {name}", tuple(theirs.shape), shape)
            rotated = said[layer].get("convrot", False)
            agree(f"{name} is rotated", rotated, "--rotate" in flags and shape[1] % 256 == 0)
            other = theirs.view(torch.int32) != ours.view(torch.int32)
            if flags[0] == "nvfp4":
                # It rounds the product of the two scales to float32 first.
                bound = ours.abs() * 2.0 ** -23
            elif rotated:
                # Sums of 256 products in float32, in any order.
                row = made[f"{layer}.weight_scale"].double()
                terms = made[name].double().abs().reshape(shape[0], -1, 256).sum(-1)
                bound = (terms.repeat_interleave(256, 1) * row / 16 * 258 * 2.0 ** -24).float()
            else:
                bound = torch.zeros_like(ours)
            zero = (ours == 0) & (theirs == 0)
            off = (theirs.double() - ours.double()).abs() > bound.double()
            agree(f"{name} decoded by comfy-kitchen", int((off & ~zero).sum()), 0)
            decoded += int((other & ~zero).sum())
            values += weight.numel()
            # What it makes of the same weight itself.
            options = {"per_channel": True} if flags[0] == "int8-row" else {}
            if rotated:
                options |= {"convrot": True, "convrot_groupsize": 256}
            own = QuantizedTensor.from_float(weight.float(), quantised._layout_cls, **options)
            parts = own.state_dict("weight")
            mine, yours = made[f"{layer}.weight_scale"], parts["weight_scale"]
            agree(f"{name}: shape of codes", parts["weight"].shape, made[name].shape)
            agree(f"{name}: shape of scales", math.prod(yours.shape), math.prod(mine.shape))
            if flags[0] != "int8-row":
                group = 16 if flags[0] == "nvfp4" else 32
                grids = [comfy_kitchen.from_blocked(s.view(torch.uint8), shape[0],
                                                    shape[1] // group) for s in (mine, yours)]
                live = weight.float().abs().reshape(shape[0], -1, group).amax(-1) > 0
                different = (grids[0] != grids[1]) & live
                scales += int(different.sum())
                apart = (grids[0].int() - grids[1].int()).abs()[different]
                agree(f"{name}: scales are neighbours", int(apart.amax()) <= 1 if len(apart) else True)
                same = ~different & live
                a, b = made[name].view(torch.uint8), parts["weight"].view(torch.uint8)
                width = a.shape[1] // same.shape[1]
                apart = (a != b) & same.repeat_interleave(width, 1)
                codes += int(apart.sum())
            else:
                mine, yours = mine.reshape(-1), yours.reshape(-1)
                live = weight.float().abs().amax(-1) > 0
                relative = ((mine - yours).abs() / mine)[live]
                # It divides by a rounded inverse, and its rotation is a product in float32.
                agree(f"{name}: scales", bool((relative < (1e-4 if rotated else 1e-6)).all()))
                scales += int((mine != yours)[live].sum())
                apart = (made[name].int() - parts["weight"].int()).abs()[live]
                agree(f"{name}: codes are neighbours", int(apart.max()) <= 1)
                codes += int((apart != 0).sum())
            # A layer that is run: the product with the weight that is decoded.
            x = torch.randn(8, shape[1])
            y = torch.nn.functional.linear(x, quantised.dequantize())
            wanted = torch.nn.functional.linear(x, ours)
            agree(f"{name}: a forward pass",
                  bool(torch.allclose(y, wanted, rtol=1e-4, atol=1e-4 * wanted.abs().max())))
        print(f"{' '.join(flags):22} {values:8} {decoded:14} {scales:13} {codes:12}")


# --------------------------------------------------------------------------------- gpt-oss


def check_gpt_oss(tool, folder):
    import made_checkpoints as made
    import transformers
    from transformers import AutoModelForCausalLM, GptOssConfig, GptOssForCausalLM, Mxfp4Config
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.manual_seed(14)
    config = GptOssConfig(vocab_size=256, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                          num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                          num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=64,
                          sliding_window=32, layer_types=["sliding_attention", "full_attention"],
                          dtype="bfloat16")
    source = folder / "oss"
    GptOssForCausalLM(config).to(torch.bfloat16).save_pretrained(source)
    out = write(tool, source, folder / "oss-mxfp4", "--to", "mxfp4", "--layout", "gpt-oss")
    back = folder / "oss-plain"
    write(tool, out, back, "--to", "bfloat16")
    before, packed, after = (made.tensors_of(path) for path in (source, out, back))
    count = 0
    for name, values in before.items():
        if not name.endswith(("gate_up_proj", "down_proj")):
            agree(f"{name} stays", torch.equal(packed[name], values))
            continue
        theirs = convert_moe_packed_tensors(packed[name + "_blocks"], packed[name + "_scales"],
                                            dtype=torch.float32)
        agree(f"shape of {name}", theirs.shape, values.shape)
        agree(f"the values of {name}", torch.equal(theirs, after[name].float()))
        ratio = (theirs - values.float()).norm() / values.float().norm()
        agree(f"{name} is near what it was", bool(ratio < 0.2))
        count += values.numel()
    said = json.loads((out / "config.json").read_text())["quantization_config"]
    agree("config.json", said, {"modules_to_not_convert": [
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"],
        "quant_method": "mxfp4"})

    def logits(path, **arguments):
        model, report = AutoModelForCausalLM.from_pretrained(
            path, dtype=torch.bfloat16, output_loading_info=True, **arguments)
        agree(f"{path.name} is taken whole", any(report.values()), False)
        with torch.no_grad():
            return model(torch.arange(64)[None]).logits

    one = logits(out, quantization_config=Mxfp4Config(dequantize=True))
    agree("the logits are equal", torch.equal(one, logits(back)))
    cosine = torch.nn.functional.cosine_similarity(
        one.float().flatten(), logits(source).float().flatten(), 0).item()
    agree("the logits are near those of the model before", cosine > 0.98)
    print(f"gpt-oss: {count} weights as transformers dequantises them; logits equal, cosine with the "
          f"model before {cosine:.6f}")


CHECKS = {"mlx": check_mlx, "comfyui": check_comfyui, "gpt-oss": check_gpt_oss}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    parser.add_argument("names", nargs="*", choices=[[], *CHECKS])
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for one in flags.names or CHECKS:
            CHECKS[one](flags.tool.resolve(), pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
