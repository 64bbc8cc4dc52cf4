#!/usr/bin/env python3
"""A pipeline that diffusers saves, converted whole, and loaded by diffusers again.

    check_diffusers.py --tool TENSORCAST

The pipeline is a Stable Diffusion, tiny and random, saved in one file a component, in several, as torch's
files, and as a variant. Components are cast by rules of their own. What diffusers then loads has the values
that torch's casts give, and of what no rule takes the bytes that it had. A text encoder in a scaled format
runs in the pipeline: with codes of weights alone as its decoded values do, to the bit; with activations
quantised too, as near as these allow.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import diffusers
import torch
import transformers
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

COMPONENTS = ("unet", "vae", "text_encoder")
# Formats of a text encoder, of which the first has activations as they are.
SCALED = {"int4-group": ["--group", "32"], "fp8-row": []}
LINEAR = "encoder.layers.0.mlp.fc1"  # of the text encoder, as transformers names it
# How save_pretrained is asked.
SAVED = {
    "whole": {},
    "sharded": {"max_shard_size": "200KB"},
    "torch": {"safe_serialization": False},
    "variant": {"variant": "fp16"},
}


def tokenizer(folder):
    words = [chr(i) for i in range(97, 123)]
    vocabulary = words + [word + "</w>" for word in words] + ["<|startoftext|>", "<|endoftext|>"]
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))


def pipeline(folder):
    torch.manual_seed(1)
    unet = UNet2DConditionModel(
        sample_size=8, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), norm_num_groups=8, attention_head_dim=8,
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"))
    vae = AutoencoderKL(block_out_channels=(32,), latent_channels=4, norm_num_groups=8, sample_size=16)
    text = CLIPTextModel(CLIPTextConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=16, bos_token_id=52, eos_token_id=53))
    return StableDiffusionPipeline(
        vae=vae, text_encoder=text, tokenizer=tokenizer(folder / "words"), unet=unet,
        scheduler=DDIMScheduler(), safety_checker=None, feature_extractor=None,
        requires_safety_checker=False)


def states(pipe):
    return {name: getattr(pipe, name).state_dict() for name in COMPONENTS}


def faults_of(want, got, types):
    """The components whose values are not those of torch's casts to `types`."""
    faulty = []
    for name in COMPONENTS:
        right = want[name].keys() == got[name].keys() and all(
            torch.equal((value.to(types[name]) if value.is_floating_point() else value).to(got[name][key].dtype),
                        got[name][key]) for key, value in want[name].items())
        if not right:
            faulty.append(name)
    return faulty


def check(tool, folder, saved, options):
    """What is wrong with one way of saving."""
    source, output = folder / saved, folder / f"{saved}-out"
    original = pipeline(folder / f"{saved}-made")
    original.save_pretrained(source, **options)
    subprocess.run([tool, "convert", source, "-o", output, "--to", "same", "--rule", "unet/*=bf16", "--rule",
                    "text_encoder/*=f16", "--record", "--no-report", "-q"], check=True)
    variant = {"variant": options["variant"]} if "variant" in options else {}
    # float32, so that what is loaded is what is stored.
    got = states(StableDiffusionPipeline.from_pretrained(output, dtype=torch.float32, **variant))
    types = {"unet": torch.bfloat16, "text_encoder": torch.float16, "vae": torch.float32}
    found = faults_of(states(original), got, types)
    if list(output.rglob("*.bin")):
        found.append("torch's files are left")
    config = json.loads((output / "text_encoder" / "config.json").read_text())
    if config.get("dtype", config.get("torch_dtype")) != "float16":
        found.append("text_encoder/config.json")
    for arguments in (["verify", source, output], ["verify", output]):
        if subprocess.run([tool, *arguments], stdout=subprocess.DEVNULL, check=False).returncode:
            found.append(" ".join(map(str, arguments)))
    return found


def hidden(pipe):
    with torch.no_grad():
        return pipe.text_encoder(torch.arange(16)[None]).last_hidden_state


def check_scaled(tool, folder, form, flags):
    """What is wrong with a text encoder in a scaled format."""
    source, output, plain = folder / form, folder / f"{form}-out", folder / f"{form}-plain"
    original = pipeline(folder / f"{form}-made")
    original.save_pretrained(source)
    for arguments in ([source, "-o", output, "--to", "same", "--rule", f"text_encoder/*={form}", *flags],
                      [output, "-o", plain, "--to", "same", "--rule", "text_encoder/*=f32"]):
        subprocess.run([tool, "convert", *arguments, "--no-report", "-q"], check=True)
    got, decoded = (StableDiffusionPipeline.from_pretrained(each, dtype=torch.float32)
                    for each in (output, plain))
    linear = got.text_encoder.get_submodule(LINEAR)
    found = [] if hasattr(linear, "weight_scale") else ["the weights are plain"]
    found += [name for name in ("unet", "vae") if not same(states(original)[name], states(got)[name])]
    error = (hidden(got) - hidden(decoded)).norm() / hidden(decoded).norm()
    if error > (0 if flags else 0.05):
        found.append(f"text_encoder is off by {error:.3g}")
    if torch.equal(hidden(decoded), hidden(original)):
        found.append("text_encoder has lost nothing")
    return found


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    tool = parser.parse_args().tool
    diffusers.utils.logging.disable_progress_bar()
    transformers.utils.logging.disable_progress_bar()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for saved, options in SAVED.items():
            (pathlib.Path(folder) / f"{saved}-made").mkdir()
            found = check(tool, pathlib.Path(folder), saved, options)
            print(f"{saved:8}  {'as torch casts' if not found else 'WRONG: ' + ', '.join(found)}")
            failed = failed or bool(found)
        for form, flags in SCALED.items():
            (pathlib.Path(folder) / f"{form}-made").mkdir()
            found = check_scaled(tool, pathlib.Path(folder), form, flags)
            print(f"{form:10}  {'runs in the pipeline' if not found else 'WRONG: ' + ', '.join(found)}")
            failed = failed or bool(found)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
