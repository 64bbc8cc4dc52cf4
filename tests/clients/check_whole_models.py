#!/usr/bin/env python3
"""Scaled weights of models that are not plain Llamas, in transformers: heads that share the embedding's
weight and have no tensor, layers whose weights lie transposed, experts.

    check_whole_models.py --tool TENSORCAST

Each model, tiny and random, is converted and loaded: in compressed-tensors' layout as it is, in DeepSeek's
dequantised, as there is no GPU. Its outputs are those of the model whose weights `convert --to bf16` takes
back, but for the quantised activations: cosine 0.99 or more. What docs/scales_writing.md says is left alone is left
alone; what is written all the same, by a rule, has to be read wrongly, else the table there is out of date.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    GptOssConfig,
    GptOssForCausalLM,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

READ_RIGHTLY = 0.99
TOKENS = torch.arange(24)[None]


def whisper():
    config = WhisperConfig(
        vocab_size=256, d_model=128, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=256, decoder_ffn_dim=256, num_mel_bins=16,
        max_source_positions=32, max_target_positions=32, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1)
    return WhisperForConditionalGeneration(config), {
        "input_features": torch.sin(torch.arange(16 * 64.)).reshape(1, 16, 64).bfloat16(),
        "decoder_input_ids": TOKENS}


def bert():
    config = BertConfig(vocab_size=256, hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=256, max_position_embeddings=32)
    return BertForMaskedLM(config), {"input_ids": TOKENS}


def gpt2():
    config = GPT2Config(vocab_size=256, n_positions=32, n_embd=128, n_layer=2, n_head=2)
    return GPT2LMHeadModel(config), {"input_ids": TOKENS}


def gpt_oss():
    config = GptOssConfig(vocab_size=256, hidden_size=128, intermediate_size=256, num_hidden_layers=2,
                          num_attention_heads=2, num_key_value_heads=2, head_dim=64,
                          num_local_experts=4, num_experts_per_tok=2)
    return GptOssForCausalLM(config), {"input_ids": TOKENS}


# A model, a format, its layout's configuration where the weights are dequantised, and rules; whether it
# is to be read rightly.
FP8 = transformers.FineGrainedFP8Config
CASES = [
    (whisper, "fp8-row", None, (), True),
    (whisper, "mxfp8", None, (), True),
    (whisper, "nvfp4", None, (), True),
    (whisper, "fp8-block", FP8, (), True),
    (bert, "fp8-row", None, (), True),
    (bert, "fp8-block", FP8, (), True),
    (gpt2, "fp8-row", None, (), True),
    (gpt2, "fp8-block", FP8, (), True),
    (gpt2, "fp8-row", None, ("--rule", "*.c_*.weight=fp8-row"), False),
    (gpt2, "mxfp8", None, ("--rule", "*.c_*.weight=mxfp8"), False),
    (gpt_oss, "fp8-row", None, (), True),
    (gpt_oss, "fp8-block", FP8, (), True),
    (gpt_oss, "fp8-row", None, ("--rule", "*.down_proj=fp8-row"), False),
    (gpt_oss, "fp8-block", FP8, ("--rule", "*.down_proj=fp8-block"), False),
]


def outputs(model, inputs):
    with torch.no_grad():
        return model.eval()(**inputs).logits.double().flatten()


def load(kind, folder, **arguments):
    return kind.from_pretrained(folder, dtype=torch.bfloat16, **arguments)


def check(tool, folder, case):
    make, to, config, rules, is_read = case
    torch.manual_seed(7)
    model, inputs = make()
    kind = type(model)
    model.to(torch.bfloat16).save_pretrained(folder / "in")

    def convert(source, target, *arguments):
        subprocess.run([tool, "convert", folder / source, "-o", folder / target, "-q", "--no-report",
                        *arguments], check=True)

    convert("in", "out", "--to", to, *rules)
    convert("out", "back", "--to", "bf16")
    wanted = outputs(load(kind, folder / "back"), inputs)
    try:
        arguments = {"quantization_config": config(dequantize=True)} if config else {}
        found = outputs(load(kind, folder / "out", **arguments), inputs)
        cosine = torch.nn.functional.cosine_similarity(wanted, found, 0).item()
    except (RuntimeError, ValueError) as error:  # not to be read at all is not to be read rightly
        cosine = float("nan")
        print(f"   {type(error).__name__}: {str(error).splitlines()[0]}")
    is_right = cosine >= READ_RIGHTLY
    print(f"{make.__name__:8} {to:10} {' '.join(rules):35} cosine {cosine:.6f}"
          f"{'' if is_right == is_read else '   NOT AS DOCUMENTED'}")
    return is_right == is_read


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    tool = pathlib.Path(parser.parse_args().tool).resolve()
    as_documented = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            as_documented.append(check(tool, pathlib.Path(folder), case))
    if not all(as_documented):
        sys.exit("transformers reads these otherwise than docs/scales_writing.md says")


if __name__ == "__main__":
    main()
