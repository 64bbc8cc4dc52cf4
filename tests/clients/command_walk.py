"""The commands that a user of a checkpoint with scales goes through, one after the other, each held
against what is so: inspect, convert --dry-run, convert, loss.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import sys

import torch

from exact_weights import run
from made_checkpoints import tensors_of


def agree(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, not {wanted!r}")


def walk(tool, folder, out, scaled, exact, layout, to=torch.bfloat16):
    """Converts the directory `folder` to `out`. scaled: the shape of every scaled weight by its name;
    exact: their values in float64, rounded once to it; layout: what inspect calls it."""
    name = str(to).removeprefix("torch.")
    seen = json.loads(run(tool, "inspect", folder, "--json"))["scaled"]
    agree("inspect: the scaled weights", {one["name"]: tuple(one["shape"]) for one in seen}, scaled)
    agree("inspect: their layout", {one["layout"] for one in seen}, {layout})
    agree("inspect: what says so", {one["evidence"].startswith("config.json says") for one in seen},
          {True})
    planned = json.loads(run(tool, "convert", folder, "-o", out, "--to", name, "--dry-run", "--json"))
    agree("dry run: something was written", out.exists(), False)
    agree("dry run: what has scales", {t["name"] for t in planned["tensors"] if t.get("layout")},
          set(scaled))
    report = json.loads(run(tool, "convert", folder, "-o", out, "--to", name, "--json"))
    agree("convert: bytes of files", report["output_bytes"],
          sum(path.stat().st_size for path in out.glob("*.safetensors")))
    converted = tensors_of(out)
    agree("convert: bytes of tensors", sum(t.nbytes for t in converted.values()),
          planned["bytes_after"])
    agree("convert: shapes", {key: tuple(converted[key].shape) for key in scaled}, scaled)
    loss = json.loads(run(tool, "loss", folder, "--to", name, "--json"))["types"][0]
    losses = {one["name"]: one["loss"] for one in loss["tensors"]}
    for key, values in exact.items():
        error = converted[key].to(torch.float64) - values
        # A quotient in float64 is off by 2^-53 of itself, which is 2^-28 of float32's error.
        agree(f"loss: the largest error of {key}", math.isclose(
            losses[key]["max_abs_error"], error.abs().max().item(), rel_tol=1e-7), True)
        if error.any():
            snr = 10 * math.log10((values ** 2).sum().item() / (error ** 2).sum().item())
            agree(f"loss: the SNR of {key}", math.isclose(losses[key]["snr_db"], snr, rel_tol=1e-9),
                  True)
        agree(f"loss: exact values of {key}", losses[key]["counts"]["exact"],
              int((error == 0).sum()))
