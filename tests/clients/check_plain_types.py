#!/usr/bin/env python3
"""A plain checkpoint cast to each type without scales: which ones transformers opens, and with what.

    check_plain_types.py --tool TENSORCAST

A type that it opens gives the logits of the same weights brought back to bfloat16 by convert, bit for
bit; one that it does not open ends in an exception, never in other logits. What convert says when it
is done is held against that.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import made_checkpoints as made  # noqa: E402
from command_walk import agree  # noqa: E402
from exact_weights import run  # noqa: E402

TOKENS = torch.arange(64)[None]
OPENED = ["float64", "float32", "float16", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
          "float8e5m2fnuz"]
NOT_OPENED = ["float6e2m3", "float6e3m2", "float4e2m1", "int4"]


def logits(folder, **arguments):
    model = AutoModelForCausalLM.from_pretrained(folder, **arguments)
    with torch.no_grad():
        return model(TOKENS).logits


def said(tool, *arguments):
    """What convert says on stderr."""
    return subprocess.run([tool, "convert", *map(str, arguments), "--no-report"], check=True,
                          capture_output=True, text=True).stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = made.make_plain(folder / "plain")
        # Values that every type holds some of: the weights are about 0.02.
        for to in OPENED:
            out, back = folder / to, folder / f"{to}-back"
            text = said(tool, plain, "-o", out, "--to", to)
            agree(f"{to}: the note on float8", "transformers 4" in text, to.startswith("float8"))
            run(tool, "convert", out, "-o", back, "--to", "bfloat16", "-q", "--no-report")
            agree(f"{to}: the logits are equal", torch.equal(
                logits(out, dtype=torch.bfloat16), logits(back, dtype=torch.bfloat16)), True)
            as_is = logits(out)
            agree(f"{to}: the dtype of config.json", str(as_is.dtype).removeprefix("torch."),
                  json.loads((out / "config.json").read_text())["dtype"])
            print(f"{to:15} opened, logits equal")
        # A configuration without a dtype: it has to be named.
        bare = folder / "float8e4m3fn"
        config = json.loads((bare / "config.json").read_text())
        del config["dtype"]
        (bare / "config.json").write_text(json.dumps(config))
        agree("float8 and dtype=torch.bfloat16", torch.equal(
            logits(bare, dtype=torch.bfloat16),
            logits(folder / "float8e4m3fn-back", dtype=torch.bfloat16)), True)
        for to in NOT_OPENED:
            text = said(tool, plain, "-o", folder / to, "--to", to)
            agree(f"{to}: the code that reads it", "does not unpack" in text and "def read(" in text,
                  True)
            try:
                logits(folder / to)
                agree(f"{to}: it is not opened", True, False)
            except Exception as error:  # pylint: disable=broad-exception-caught
                first = str(error).split("\n", 1)[0]
                print(f"{to:15} not opened: {type(error).__name__}: {first[:90]}")
        # ModelOpt's layout opens with codes for weights, or does not open.
        text = said(tool, plain, "-o", folder / "modelopt", "--to", "fp8-tensor", "--layout", "modelopt")
        agree("the note on ModelOpt's layout", "does not read ModelOpt's layout" in text, True)
        right = logits(folder / "bfloat16").float().flatten()
        wrong = logits(folder / "modelopt").float().flatten()
        cosine = torch.nn.functional.cosine_similarity(right, wrong, 0).item()
        agree("ModelOpt's layout read by transformers", cosine > 0.9, False)
        print(f"fp8-tensor (modelopt) opened without its scales, as convert says: cosine {cosine:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
