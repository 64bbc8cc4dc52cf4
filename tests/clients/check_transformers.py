#!/usr/bin/env python3
"""State dicts of quantised checkpoints in transformers, by the recipe of docs/loading.md
(examples/python/transformers_model.py): a Llama in DeepSeek's fp8, a Qwen3 with experts in GPTQ's layout, gpt-oss in MXFP4, a BERT in
int8.

    check_transformers.py --tool TENSORCAST

Each model is tiny and random. What is loaded has to have every parameter, and the logits of transformers' own
dequantisation where it has one that runs without a GPU (Llama, gpt-oss), else of the weights before they were
quantised: cosine 0.99 or more, and 0.95 of four bits.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import sys
import tempfile
import warnings

import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import installed_wheel  # noqa: E402
import made_checkpoints as made  # noqa: E402
from check_gpt_oss import make_gpt_oss  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = torch.arange(24)[None]


def logits(model):
    with torch.no_grad():
        return model.eval()(TOKENS).logits.double()


def cosine(one, other):
    return torch.nn.functional.cosine_similarity(one.flatten(), other.flatten(), 0).item()


def saved(model, folder):
    model.to(torch.bfloat16).save_pretrained(folder)
    return logits(model)


def llama(tc, folder):
    made.make_plain(folder / "plain")
    made.make_deepseek(folder / "plain", folder / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        folder / "out", dtype=torch.bfloat16, quantization_config=transformers.FineGrainedFP8Config(dequantize=True))
    return logits(theirs), 0.9999


def qwen3_moe(tc, folder):
    config = transformers.Qwen3MoeConfig(
        vocab_size=256, hidden_size=256, intermediate_size=512, moe_intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=64, num_experts=4, num_experts_per_tok=2)
    wanted = saved(transformers.Qwen3MoeForCausalLM(config), folder / "plain")
    tc.convert(folder / "plain", folder / "out", to="int4-group", layout="gptq")
    return wanted, 0.95


def gpt_oss(tc, folder):
    make_gpt_oss(folder / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        folder / "out", dtype=torch.bfloat16, quantization_config=transformers.Mxfp4Config(dequantize=True))
    return logits(theirs), 1.0


def bert(tc, folder):
    config = transformers.BertConfig(vocab_size=256, hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
                                     intermediate_size=256, max_position_embeddings=32)
    wanted = saved(transformers.BertForMaskedLM(config), folder / "plain")
    tc.convert(folder / "plain", folder / "out", to="int8-row")
    return wanted, 0.99


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    installed_wheel.add_to_path(parser.parse_args().tool)
    import tensorcast as tc

    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    sys.path.append(str(ROOT / "examples" / "python"))
    from transformers_model import from_checkpoint

    failed = []
    for make in (llama, qwen3_moe, gpt_oss, bert):
        torch.manual_seed(7)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            wanted, least = make(tc, folder)
            with tc.open(folder / "out") as f:
                scaled = f.scaled
            model = from_checkpoint(folder / "out")
            found = logits(model)
            alike = cosine(wanted, found)
            is_right = bool(scaled) and model.dtype == torch.bfloat16 and alike >= least - 1e-12
            if least == 1.0:
                is_right = is_right and torch.equal(wanted, found)
            print(f"{make.__name__:10} {len(scaled)} weights of {sorted({each.split(':')[0] for each in scaled.values()})}: "
                  f"cosine {alike:.6f}{'' if is_right else '   WRONG'}")
            if not is_right:
                failed.append(make.__name__)
    if failed:
        sys.exit(f"not as transformers has them: {failed}")


if __name__ == "__main__":
    main()
