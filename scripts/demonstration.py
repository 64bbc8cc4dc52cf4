#!/usr/bin/env python3
"""Converts a real checkpoint to five types, shows what each lost, and compares them.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import subprocess
import sys
import time

import checkpoint

TYPES = ("bfloat16", "float16", "float8e4m3fn", "float6e3m2", "float4e2m1")
# What became another kind of thing: zero, a limit, Inf, NaN, a wrapped integer.
LOST = ("to_zero", "to_limit", "to_infinity", "to_nan", "nan_lost", "wrapped")


def run(*command, **options):
    """Runs a command that must succeed; ends with its exit code where it does not."""
    done = subprocess.run([str(part) for part in command], check=False, **options)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done


def megabytes(count):
    return f"{count / 1e6:.1f} MB"


def decibels(figures, value):
    """null stands for what is infinite and for what is not known: the figures say which."""
    if value is not None:
        return f"{value:.1f}"
    if figures["compared"] == 0:
        return "–"
    return "∞" if figures["max_abs_error"] == 0 else "?"


def main():
    tool = sys.argv[1]
    source = checkpoint.checkpoint()
    cache = checkpoint.cache_folder()
    folder = cache / "demonstration"
    folder.mkdir(parents=True, exist_ok=True)
    size = source.stat().st_size
    print(f"in {cache}:")

    rows = []
    for number, target in enumerate(TYPES, 1):
        output = folder / f"{target}.safetensors"
        arguments = ["convert", source.relative_to(cache), "-o", output.relative_to(cache),
                     "--to", target, "--force"]
        print(f"\n[{number}/{len(TYPES)}] tensorcast", *arguments, end="\n\n", flush=True)
        begin = time.monotonic()
        run(tool, *arguments, cwd=cache)
        rows.append((target, output.stat().st_size, time.monotonic() - begin))

    flags = [part for target in TYPES for part in ("--to", target)]
    report = json.loads(run(tool, "loss", source, *flags, "--json", "--quiet",
                            stdout=subprocess.PIPE).stdout)
    losses = {entry["to"]: entry for entry in report["types"]}

    print(f"\n{source.name}: {megabytes(size)}, as\n")
    print(f" {'type':<14}{'size':>10}{'of it':>8}{'SNR dB':>9}{'worst':>8}{'values lost':>13}"
          f"{'of all':>9}{'seconds':>9}")
    for target, written, seconds in rows:
        total = losses[target]["total"]
        worst = next(tensor["loss"] for tensor in losses[target]["tensors"]
                     if tensor["name"] == losses[target]["worst_tensor"])
        lost = sum(total["counts"][kind] for kind in LOST)
        share = lost / total["elements"]
        print(f" {target:<14}{megabytes(written):>10}{written / size:>8.0%}"
              f"{decibels(total, total['snr_db']):>9}{decibels(worst, worst['snr_db']):>8}"
              f"{lost:>13,}{share:>9.2%}{seconds:>9.2f}")
    print("\n values lost: became zero, a limit, Inf or NaN. worst: the SNR of the worst tensor.")
    print(f" the files are in {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        checkpoint.say(str(error))
        sys.exit(4)
