#!/usr/bin/env python3
"""Integers in groups that tensorcast writes in the layouts of GPTQ and AWQ, loaded and run by GPTQModel on the CPU.

    check_gptqmodel.py --tool TENSORCAST

A tiny Llama, symmetric and asymmetric, of 4 and 8 bits, in groups of three sizes and in rows, is loaded whole by
GPTQModel with its PyTorch kernels: every linear layer has to be one of its quantised ones, the weights that these
decode have to be those of our own plain copy, rounded to float16, and the logits those of that copy within what
the kernels' float16 may lose.

GPTQModel has no wheel on PyPI: its pure Python is fetched from there into a folder of its own.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import itertools
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import made_checkpoints as made  # noqa: E402
from exact_weights import run  # noqa: E402

TOKENS = torch.arange(48).reshape(2, 24) * 5 % 256
LAYERS = 14  # linear ones of the Llama
FAR = 4e-3  # of the largest logit: float16 has 2^-11, and each of two layers adds several such


def fetch(folder):
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
                           "--target", folder, "gptqmodel==7.7.0"], check=False)
    if done.returncode != 0:
        sys.exit("gptqmodel cannot be had from PyPI")
    sys.path.append(str(folder))


def make_source(folder):
    """With a tokenizer, without which GPTQModel loads no model."""
    made.make_plain(folder, torch.float16)
    words = Tokenizer(models.WordLevel({f"t{i}": i for i in range(256)}, unk_token="t0"))
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="t0", pad_token="t1",
                            eos_token="t2").save_pretrained(folder)
    return folder


def decoded(layer, layout):
    """A layer's weight [outputs, inputs], as its own forward pass decodes it."""
    if layout == "awq":
        inputs = torch.empty(1, layer.in_features, dtype=torch.float16)
        return layer._dequantize_weight_for_inference(inputs, dtype=torch.float16).T
    return layer.dequantize_weight().T


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        fetch(folder / "packages")
        from gptqmodel import BACKEND, GPTQModel
        source = make_source(folder / "llama")
        jobs = itertools.chain(
            itertools.product(("gptq",), (4, 8), ("32", "64", "128", "channel"), ([], ["--asymmetric"])),
            itertools.product(("awq",), (4,), ("32", "64", "128", "channel"), ([], ["--asymmetric"])))
        lines = []
        for layout, bits, group, how in jobs:
            title = f"{layout} {bits} bits, {group}{', asymmetric' if how else ''}"
            packed = folder / title.replace(" ", "-").replace(",", "")
            plain = packed.with_name(packed.name + "-plain")
            run(tool, "convert", source, "-o", packed, "--to", f"int{bits}-group", "--layout", layout, "--group", group,
                *how, "-q", "--no-report")
            run(tool, "convert", packed, "-o", plain, "--to", "float32", "-q", "--no-report")
            backend = BACKEND.AWQ_TORCH if layout == "awq" else BACKEND.GPTQ_TORCH
            model = GPTQModel.load(str(packed), device="cpu", backend=backend, dtype=torch.float16)
            values = made.tensors_of(plain)
            layers = {key: module for key, module in model.model.named_modules() if hasattr(module, "qweight")}
            differ = sum(int((decoded(module, layout).float() != values[key + ".weight"].half().float()).sum())
                         for key, module in layers.items())
            with torch.no_grad():
                found = model.model(TOKENS).logits.double()
                wanted = AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float32)(TOKENS).logits.double()
            far = float((found - wanted).abs().max() / wanted.abs().max())
            wrong = len(layers) != LAYERS or differ != 0 or not far < FAR
            failed = failed or wrong
            lines.append(f"{title:32} {len(layers)} layers, {differ} values differ, logits {far:.1e} off"
                         f"{'  WRONG' if wrong else ''}")
        print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
