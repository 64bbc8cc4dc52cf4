#!/usr/bin/env python3
"""Every layout of scaled weights through the tool, held against exact rationals.

    check_layouts.py --tool build/release/programs/tensorcast [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import itertools
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import bitsandbytes_files
import comfy_files
import grouped_files
import layout_files as files
import mlx_files

MAKERS = (files, grouped_files, bitsandbytes_files, mlx_files, comfy_files)
WORDS = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16"}
LETTERS = {"float64": "<d", "float32": "<f", "float16": "<e"}


def bits_of(value, name):
    """A float as the bytes of a type that holds it."""
    if name == "bfloat16":
        return struct.pack("<f", value)[2:]
    return struct.pack(LETTERS[name], value)


def run(tool, *arguments):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)


def same(found, value, name):
    if math.isnan(value):
        size = len(found)
        if name == "bfloat16":
            return math.isnan(struct.unpack("<f", b"\0\0" + found)[0])
        return math.isnan(struct.unpack(LETTERS[name], found[:size])[0])
    return found == bits_of(value, name)


def check(tool, case, folder):
    folder.mkdir()
    source = folder / "model.safetensors"
    norm = struct.pack("<4f", 1.0, -2.5, 1e-3, 7.0)
    tensors = {**case.tensors, "norm.weight": files.Tensor("F32", (4,), norm)}
    files.write_safetensors(source, tensors, {"format": "pt", **case.metadata})
    if case.config is not None:
        (folder / "config.json").write_text(json.dumps(case.config))
    inspected = run(tool, "inspect", source, "--json")
    layouts = [entry.get("layout") for entry in json.loads(inspected.stdout)["scaled"]]
    if layouts != [case.layout]:
        return f"inspect says {layouts}, not {case.layout}: {inspected.stdout[-600:]}"
    for name, word in WORDS.items():
        out = folder / f"{name}.safetensors"
        done = run(tool, "convert", source, "-o", out, "--to", name, "--threads", 2)
        if done.returncode != 0:
            return f"--to {name}: exit {done.returncode}: {done.stderr}"
        # What is not measured goes another way.
        bare = folder / f"{name}_bare.safetensors"
        done = run(tool, "convert", source, "-o", bare, "--to", name, "--threads", 2, "--no-report")
        if done.returncode != 0 or bare.read_bytes() != out.read_bytes():
            return f"--to {name} --no-report has other bytes: {done.stderr}"
        made, metadata = files.read_safetensors(out)
        if set(made) != {"norm.weight", *case.weights}:
            return f"--to {name} has {sorted(made)}"
        if metadata != {"format": "pt"}:
            return f"--to {name} has the metadata {metadata}"
        for weight, (shape, values) in case.weights.items():
            tensor = made[weight]
            if (tensor.dtype, tensor.shape) != (word, tuple(shape)):
                return f"{weight} is {tensor.dtype} {tensor.shape}, not {word} {shape}"
            size = len(tensor.data) // len(values)
            for i, exact in enumerate(values):
                value = files.round_to(exact, name)
                found = tensor.data[i * size:(i + 1) * size]
                if not same(found, value, name):
                    return (f"--to {name}: {weight}[{i}] is {found[::-1].hex()}, not "
                            f"{bits_of(value, name)[::-1].hex()} ({exact})")
    return None


def check_large(tool, folder, name, tensors, config, weight, shape, values):
    """The same bytes for any number of threads, and those of the exact products."""
    folder.mkdir()
    source = folder / "model.safetensors"
    files.write_safetensors(source, tensors)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    for threads in (1, 4):
        out = folder / f"{threads}.safetensors"
        done = run(tool, "convert", source, "-o", out, "--to", "float64", "--threads", threads)
        if done.returncode != 0:
            return f"exit {done.returncode}: {done.stderr}"
        made = files.read_safetensors(out)[0][weight]
        if made.shape != shape:
            return f"{weight} has the shape {made.shape}, not {shape}"
        found = struct.unpack(f"<{len(values)}d", made.data)
        for i, (a, b) in enumerate(zip(found, values)):
            if a != b and not (math.isnan(a) and math.isnan(b)):
                return f"{threads} threads: {name}[{i}] is {a}, not {b}"
    # By way of float64, and, where nothing is measured, straight to the type.
    for to in ("bfloat16", "float16", "float32"):
        kinds = {}
        for threads, flags in ((1, ()), (1, ("--no-report",)), (4, ("--no-report",))):
            out = folder / f"{to}_{threads}_{len(flags)}.safetensors"
            done = run(tool, "convert", source, "-o", out, "--to", to, "--threads", threads, *flags)
            if done.returncode != 0:
                return f"--to {to}: exit {done.returncode}: {done.stderr}"
            kinds[threads, flags] = out.read_bytes()
        if len(set(kinds.values())) != 1:
            return f"--to {to}: other bytes without a report or with other threads"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in itertools.chain.from_iterable(maker.all_cases() for maker in MAKERS):
            if arguments.names and case.name not in arguments.names:
                continue
            count += 1
            problem = check(arguments.tool, case, pathlib.Path(folder) / case.name)
            if problem:
                failed += 1
                print(f"{case.name}: {problem}", file=sys.stderr)
        for name, *rest in itertools.chain(files.large_cases(), bitsandbytes_files.large_cases(),
                                           comfy_files.large_cases()):
            if arguments.names and name not in arguments.names:
                continue
            count += 1
            problem = check_large(arguments.tool, pathlib.Path(folder) / name, name, *rest)
            if problem:
                failed += 1
                print(f"{name}: {problem}", file=sys.stderr)
    print(f"{count} checkpoints, {failed} wrong")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
