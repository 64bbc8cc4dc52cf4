#!/usr/bin/env python3
"""A checkpoint of every layout, damaged: tensors that are missing, of another shape or type, empty or in
each other's place, and configurations without a member or with another value.

    check_damaged.py --tool build/release/programs/tensorcast [--all] [NAME...]

A conversion either ends with one line that names a tensor or a file, and leaves nothing behind, or it
gives all weights, or it leaves the tensors of the checkpoint as they were. What it never does is to
take codes, or their scales, for plain numbers.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import concurrent.futures
import copy
import itertools
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import layout_files as files
from check_layouts import MAKERS

SIZES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "U32": 4, "BF16": 2, "F16": 2, "I16": 2, "F8_E4M3": 1,
         "F8_E5M2": 1, "F8_E8M0": 1, "I8": 1, "U8": 1}
VALUES = (None, "x", 0, -1, 3, 2 ** 40, [], {}, True)
LINES = 1  # of a refusal
STEP = 4


def examples():
    """One checkpoint of each maker and layout, with and without a configuration."""
    seen = set()
    for maker in MAKERS:
        for case in maker.all_cases():
            kind = (maker.__name__, case.layout, case.config is None, tuple(sorted(case.tensors)),
                    json.dumps(case.config, sort_keys=True)[:60])
            if kind not in seen:
                seen.add(kind)
                yield case


def cut(tensor, axis):
    """The first half of an axis."""
    shape = list(tensor.shape)
    shape[axis] //= 2
    size = math.prod(shape) * SIZES[tensor.dtype]
    return files.Tensor(tensor.dtype, tuple(shape), tensor.data[:size])


def doubled(tensor, axis):
    shape = list(tensor.shape)
    shape[axis] *= 2
    return files.Tensor(tensor.dtype, tuple(shape), tensor.data * 2)


def retyped(tensor, dtype):
    """The same shape in another type."""
    size = math.prod(tensor.shape) * SIZES[dtype]
    return files.Tensor(dtype, tensor.shape, (tensor.data * (size // max(len(tensor.data), 1) + 1))[:size])


def damaged_tensors(tensors, is_said):
    """(what was done, the tensors). `is_said`: by more than their names, which tell nothing of what stands
    in another's place."""
    for name, tensor in tensors.items():
        others = {key: value for key, value in tensors.items() if key != name}
        yield f"without {name}", others
        changed = []
        for axis in range(len(tensor.shape)):
            if tensor.shape[axis] > 1:
                changed.append((f"{name} half axis {axis}", cut(tensor, axis)))
            changed.append((f"{name} twice axis {axis}", doubled(tensor, axis)))
        if tensor.shape:
            changed.append((f"{name} empty", files.Tensor(tensor.dtype, (0, *tensor.shape[1:]), b"")))
            changed.append((f"{name} flat", files.Tensor(tensor.dtype, (math.prod(tensor.shape),), tensor.data)))
        for dtype in ("F32", "BF16", "I32", "I64", "U8", "F8_E4M3"):
            if dtype != tensor.dtype:
                changed.append((f"{name} as {dtype}", retyped(tensor, dtype)))
        for what, other in changed:
            yield what, {**tensors, name: other}
    for a, b in itertools.combinations(tensors, 2) if is_said else ():
        yield f"{a} for {b}", {**tensors, a: tensors[b], b: tensors[a]}


def places(config, path=()):
    """The paths of all members."""
    items = config.items() if isinstance(config, dict) else enumerate(config) if isinstance(config, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def damaged_configs(config):
    for path in places(config):
        for value in ("without", *VALUES):
            made = copy.deepcopy(config)
            at = made
            for key in path[:-1]:
                at = at[key]
            if value == "without":
                del at[path[-1]]
            else:
                at[path[-1]] = value
            yield f"{'.'.join(map(str, path))} {value}", made
    text = json.dumps(config)
    for end in (1, len(text) // 2, len(text) - 1):
        yield f"config.json of {end} bytes", text[:end]


def problem_of(done, folder, case, tensors):
    """What is wrong with how a conversion ended."""
    out = folder / "out"
    if done.returncode != 0:
        if done.returncode not in (2, 3, 5):
            return f"exit {done.returncode}: {done.stderr}"
        line = done.stderr.strip()
        named = [*tensors, "config.json", "in"]
        if line.count("\n") >= LINES or not line.startswith("tensorcast: ") or \
                not any(name in line for name in named):
            return f"says {line!r}"
        left = sorted(path.name for path in folder.iterdir())
        return None if left == ["in"] else f"leaves {left}"
    made, _ = files.read_safetensors(out / "model.safetensors")
    given = {"norm.weight": "BF16"}
    weights = {name for name in case.weights if name in made and made[name].dtype == "BF16" and
               not (name in tensors and made[name].shape == tensors[name].shape and
                    tensors[name].dtype not in SCALED)}
    for name, tensor in made.items():
        if name in given or name in weights:
            continue
        if name in tensors and tensor == tensors[name]:
            continue
        if name in tensors and is_plain(name, tensors, case):
            continue
        return f"makes {name} {tensor.dtype} {tensor.shape} of {sorted(tensors)}"
    return None


FLOATS = {"F64", "F32", "BF16", "F16"}
SCALED = {"F8_E4M3", "F8_E5M2", "I8", "U8", "I32", "U32"}


def is_plain(name, tensors, case):
    """Whether a float tensor is what it seems to be: the weight itself, or what is beside one of floats;
    what is left where no codes are; what was a text; one of two where nothing but a name says that they
    belong together."""
    if name.endswith(".comfy_quant"):
        return True
    if any(key.endswith(".weight") and one.dtype in FLOATS for key, one in tensors.items()):
        return True
    if tensors[name].dtype not in FLOATS:
        return False
    alone = case.config is None and len(case.tensors) == 2
    return name in case.weights or alone or not any(
        other.dtype in SCALED and len(other.data) for key, other in tensors.items() if key != name)


def run(tool, case, what, tensors, config):
    norm = {"norm.weight": files.Tensor("F32", (4,), struct.pack("<4f", 1.0, -2.5, 1e-3, 7.0))}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "in").mkdir()
        files.write_safetensors(folder / "in/model.safetensors", {**tensors, **norm},
                                {"format": "pt", **case.metadata})
        if config is not None:
            text = config if isinstance(config, str) else json.dumps(config)
            (folder / "in/config.json").write_text(text)
        try:
            done = subprocess.run([tool, "convert", "in", "-o", "out", "--to", "bfloat16", "--no-report", "-q"],
                                  capture_output=True, text=True, cwd=folder, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            return f"{case.name}, {what}: no end"
        problem = problem_of(done, folder, case, tensors)
        alone = "" if config is not None else " without a configuration"
        return f"{case.name}{alone}, {what}: {problem}" if problem else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="not only every fourth")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    tool = arguments.tool.resolve()
    problems, count = [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = []
        for case in examples():
            if arguments.names and case.name not in arguments.names:
                continue
            is_said = case.config is not None
            damaged = [(what, tensors, case.config) for what, tensors in damaged_tensors(case.tensors, is_said)]
            if is_said:
                damaged += [(what, case.tensors, config) for what, config in damaged_configs(case.config)]
            # What is damaged in a case begins elsewhere in the next, so that each kind is seen.
            step = 1 if arguments.all or arguments.names else STEP
            for one in damaged[len(runs) % step::step]:
                runs.append(pool.submit(run, tool, case, *one))
        for one in runs:
            count += 1
            if one.result():
                problems.append(one.result())
    print(*problems, f"{count} damaged checkpoints, {len(problems)} problems", sep="\n")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
