#!/usr/bin/env python3
"""Every layout put into every other with --repack: what is written is decoded here, in rationals, and
has to be the values of the source; what cannot be the same has to be refused, by name.

    check_repacked.py --tool build/release/programs/tensorcast [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

import comfy_files
import grouped_files
import layout_files as files
import mlx_files
import repacked_files as repacked
from repack_cases import pairs

TARGETS = ("compressed-tensors", "gptq", "awq", "mlx", "modelopt", "comfyui", "gpt-oss", "gguf")
UNSUPPORTED, CONTENTS = 5, 3


def run(tool, *arguments):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return a == b


def differs(found, expected, change):
    """None where values are the same, or within `change` of themselves."""
    shape, values = found
    if tuple(shape) != tuple(expected[0]):
        return f"shape {shape}, not {expected[0]}"
    for i, (is_now, was) in enumerate(zip(values, expected[1], strict=True)):
        if same(is_now, was):
            continue
        finite = not any(isinstance(x, float) for x in (is_now, was))
        if change and finite and abs(is_now - was) <= Fraction(change) * abs(was):
            continue
        return f"value {i} is {is_now}, not {was}"
    return None


# By it a .gguf knows that it is of a diffusion model (Flux).
TELLING = "double_blocks.0.img_attn.proj.weight"


def write(case, folder):
    folder.mkdir()
    norm = struct.pack("<4f", 1.0, -2.5, 1e-3, 7.0)
    tensors = {**case.tensors, TELLING: files.Tensor("F32", (2, 2), norm)}
    files.write_safetensors(folder / "model.safetensors", tensors, {"format": "pt", **case.metadata})
    if case.config is not None:
        (folder / "config.json").write_text(json.dumps(case.config))
    return folder / "model.safetensors"


def swapped(weight):
    """A stacked weight with its last two axes swapped."""
    (experts, rows, columns), values = weight
    return ((experts, columns, rows), [values[(e * rows + r) * columns + c] for e in range(experts)
                                       for c in range(columns) for r in range(rows)])


def as_in(target, case):
    """The weights by the names and axes that the target has: gpt-oss alone swaps axes."""
    is_oss = any(name.endswith("_blocks") for name in case.tensors)
    if is_oss == (target == "gpt-oss"):
        return case.weights
    if is_oss:
        return {name + ".weight": swapped(weight) for name, weight in case.weights.items()}
    return {name.removesuffix(".weight"): swapped(weight) for name, weight in case.weights.items()}


def check(tool, case, target, folder, expected=None):
    """What is wrong, or None; `expected`: True, or a part of the refusal."""
    source = write(case, folder)
    output = folder / ("out.gguf" if target == "gguf" else "out.safetensors")
    before = sorted(folder.iterdir())
    done = run(tool, "convert", source, "-o", output, "--repack", target, "--json", "-q")
    if done.returncode != 0:
        if done.returncode not in (UNSUPPORTED, CONTENTS):
            return f"exit {done.returncode}: {done.stderr}"
        if expected is True:
            return f"refused: {done.stderr}"
        if not any(name.removesuffix(".weight") in done.stderr for name in case.weights):
            return f"does not name the weight: {done.stderr}"
        if expected is not None and expected not in done.stderr:
            return f"not refused for {expected!r}: {done.stderr}"
        if sorted(folder.iterdir()) != before:
            return "something was left behind"
        return None
    report = json.loads(done.stdout)
    entries = {entry["name"]: entry for entry in report.get("repacked", [])}
    if not entries:
        return None if expected is None else "was not repacked"
    if expected is not None and expected is not True:
        return f"was not refused, {expected!r}"
    config = {}
    if "quantization_config" in report:
        config["quantization_config"] = report["quantization_config"]
        if "quant_method" not in report["quantization_config"]:
            config["quantization"] = report["quantization_config"]
    tensors, metadata = (None, None) if target == "gguf" else files.read_safetensors(output)
    weights = repacked.weights_of(target, output, config, metadata, tensors)
    wanted = as_in(target, case)
    if set(weights) != set(wanted):
        return f"holds {sorted(weights)}, not {sorted(wanted)}"
    for name, weight in wanted.items():
        change = entries[name]["change"]
        if change > 2**-24:
            return f"says that {name} changes by {change}"
        if wrong := differs(weights[name], weight, change):
            return f"{name}: {wrong}"
    # The tool reads what it wrote as what was there, and all else is as it was.
    again = folder / "again.safetensors"
    (folder / "config.json").unlink(missing_ok=True)
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    back = run(tool, "convert", output, "-o", again, "--to", "float64", "-q", "--no-report")
    if back.returncode != 0:
        return f"is not read: {back.stderr}"
    read, _ = files.read_safetensors(again)
    if len(read) != len(wanted) + 1 or struct.unpack("<4d", read[TELLING].data)[1] != -2.5:
        return f"holds {sorted(read)}"
    for name, (shape, values) in ((name, weights[name]) for name in wanted):
        tensor = read[name]
        if target == "gpt-oss":
            shape = tensor.shape
        if tuple(tensor.shape) != tuple(shape) or any(
                not same(float(value), stored) and abs(value - Fraction(stored)) * 2**53 > abs(value)
                for value, stored in zip(values, struct.unpack(f"<{len(values)}d", tensor.data))
                if not (math.isnan(value) and math.isnan(stored))):
            return f"{name} is read as another weight"
    return None


def check_large(tool, folder):
    """A weight of many bands: the same bytes for any threads, and back the same words."""
    folder.mkdir()
    rows, columns, group = 4224, 2048, 128
    make = random.Random(3)
    groups = columns // group
    tensors = {
        "l.qweight": files.Tensor("I32", (columns // 8, rows), make.randbytes(columns * rows // 2)),
        "l.qzeros": files.Tensor("I32", (groups, rows // 8), make.randbytes(groups * rows // 2)),
        "l.scales": files.Tensor("F16", (groups, rows), b"\x00\x2c" * (groups * rows)),
        TELLING: files.Tensor("F32", (2, 2), bytes(16))}
    config = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": group,
                                      "sym": False, "checkpoint_format": "gptq_v2"}}
    source = folder / "model.safetensors"
    files.write_safetensors(source, tensors)
    (folder / "config.json").write_text(json.dumps(config))
    for target in ("compressed-tensors", "awq", "mlx", "gguf"):
        made = []
        for threads in (1, 3, 8):
            there = folder / f"{target}.{threads}"
            there.mkdir()
            output = there / ("out.gguf" if target == "gguf" else "out.safetensors")
            done = run(tool, "convert", source, "-o", output, "--repack", target, "--json", "-q",
                       "--threads", threads)
            if done.returncode != 0:
                return f"{target}: {done.stderr}"
            made.append(output.read_bytes())
        if made.count(made[0]) != len(made):
            return f"{target}: other bytes with other threads"
        said = json.loads(done.stdout).get("quantization_config")
        if said:
            (there / "config.json").write_text(json.dumps({"quantization_config": said} | (
                {} if "quant_method" in said else {"quantization": said})))
        difference = run(tool, "diff", source, output, "-q")
        if "both tensors are equal" not in difference.stdout:
            return f"{target}: {difference.stdout}{difference.stderr}"
        if target == "gguf":
            continue  # in groups of 32, and as sums
        back = there / "back.safetensors"
        done = run(tool, "convert", output, "-o", back, "--repack", "gptq", "-q", "--no-report")
        if done.returncode != 0:
            return f"{target} to gptq: {done.stderr}"
        again, _ = files.read_safetensors(back)
        for name in ("l.qweight", "l.qzeros", "l.scales"):
            if again[name] != tensors[name]:
                return f"{target} and back: {name} is another"
    return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tool", required=True, type=pathlib.Path)
    arguments.add_argument("names", nargs="*")
    chosen = arguments.parse_args()
    failed, count, repacks = [], 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        jobs = [(case, target, expected) for case, target, expected in pairs()]
        jobs += [(case, target, None) for module in (files, grouped_files, mlx_files, comfy_files)
                 for case in module.all_cases() for target in TARGETS]
        for case, target, expected in jobs:
            if chosen.names and not any(name in case.name for name in chosen.names):
                continue
            count += 1
            wrong = check(chosen.tool.resolve(), case, target, root / str(count), expected)
            repacks += expected is True
            if wrong:
                failed.append(f"{case.name} to {target}: {wrong}")
        if not chosen.names and (wrong := check_large(chosen.tool.resolve(), root / "large")):
            failed.append(f"large: {wrong}")
    print(f"{count} pairs, of which {repacks} have to be repacked; {len(failed)} fail")
    print("\n".join(failed[:40]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
