#!/usr/bin/env python3
"""Checkpoints' directories: laid out by huggingface_hub, written by safetensors, read back by both.

Random checkpoints are converted, with their layout and into files of other sizes. numpy with
ml_dtypes says what every tensor becomes, huggingface_hub which file it goes into.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import subprocess
import sys

import ml_dtypes
import numpy as np
import safetensors.numpy
from huggingface_hub import split_state_dict_into_shards_factory
from safetensors import safe_open

from tool import Tool

_PATTERN = "model{suffix}.safetensors"


def tensors(source):
    """Names to arrays: floats of two types, integers, empty ones and scalars."""
    count = source.choice((1, 2, 30, 200))
    made, generator = {}, np.random.default_rng(source.randrange(2**32))
    for i in range(count):
        shape = source.choice(((), (0, 3), (1,), (3, 5), (64,), (32, 33), (7, 2, 5)))
        values = generator.normal(size=shape) * 10.0 ** source.randint(-3, 3)
        dtype = source.choice((np.float32, np.float32, ml_dtypes.bfloat16, np.int64))
        made[source.choice(("layers.{}.w", "caf\u00e9\"{}", "z{}", "{}")).format(i)] = (
            np.asarray(values).astype(dtype))
    return made


def split(arrays, size):
    """huggingface_hub's files: names to the tensors' names."""
    return split_state_dict_into_shards_factory(
        arrays, get_storage_size=lambda array: array.nbytes, filename_pattern=_PATTERN,
        max_shard_size=size)


def save(folder, arrays, size, metadata):
    """Writes a checkpoint as huggingface_hub's save_torch_state_dict does."""
    os.makedirs(folder)
    layout = split(arrays, size)
    for number, (name, members) in enumerate(layout.filename_to_tensors.items()):
        safetensors.numpy.save_file({member: arrays[member] for member in members},
                                    os.path.join(folder, name), {"n": str(number), **metadata})
    if layout.is_sharded:
        index = {"metadata": {"total_parameters": 7, **layout.metadata},
                 "weight_map": layout.tensor_to_filename}
        with open(os.path.join(folder, "model.safetensors.index.json"), "w",
                  encoding="utf-8") as file:
            file.write(json.dumps(index, indent=2, sort_keys=True) + "\n")
    config = {"eps": 1e-05, "torch_dtype": "float32", "text_config": {"dtype": "float32"}}
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    return config


def in_order(folder):
    """Tensors' names as a directory lists them: file by file, by the place of their data."""
    names = []
    for file in sorted(os.listdir(folder)):
        if file.endswith(".safetensors"):
            with safe_open(os.path.join(folder, file), "numpy") as opened:
                names += opened.offset_keys()
    return names


def read(folder):
    """All tensors of a directory, the files that they are in, and the files' metadata."""
    arrays, files, metadata = {}, {}, {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".safetensors"):
            continue
        path = os.path.join(folder, file)
        with safe_open(path, "numpy") as opened:
            metadata[file] = opened.metadata()
        for name, array in safetensors.numpy.load_file(path).items():
            assert name not in arrays, f"{name} is in two files"
            arrays[name], files[name] = array, file
    return arrays, files, metadata


def check(tool, source, number):
    """One checkpoint, there and back."""
    before, after = tool.folder / f"in{number}", tool.folder / f"out{number}"
    arrays = tensors(source)
    config = save(before, arrays, source.choice((1, 500, 5000, 10**9)), {"format": "pt"})
    target, dtype = source.choice((("bfloat16", ml_dtypes.bfloat16), ("float16", np.float16)))
    size = source.choice((None, "1KB", "4KB", "0.5MB", "3000"))
    flags = [] if size is None else ["--max-shard-size", size]
    tool.run("convert", before, "-o", after, "--to", target, "-q", "--no-report",
             "--threads", source.choice((1, 3)), *flags)
    with np.errstate(over="ignore"):
        expected = {name: arrays[name] if arrays[name].dtype == np.int64
                    else arrays[name].astype(dtype) for name in in_order(before)}
    got, files, metadata = read(after)
    assert sorted(got) == sorted(expected), "other names"
    for name, array in expected.items():
        assert got[name].dtype == array.dtype and got[name].shape == array.shape, name
        assert got[name].tobytes() == array.tobytes(), f"{name} has other values"
    if size is None:
        _, files_before, metadata_before = read(before)
        assert files == files_before, "another layout"
        assert metadata == metadata_before, "other metadata"
    else:
        layout = split(expected, int(size) if size.isdigit() else size)
        assert files == layout.tensor_to_filename, "a layout that is not huggingface_hub's"
    index = after / "model.safetensors.index.json"
    assert index.exists() == (len(metadata) > 1), "an index where none is needed, or none"
    if index.exists():
        with open(index, encoding="utf-8") as file:
            said = json.load(file)
        assert said["weight_map"] == files, "an index that is not true"
        assert said["metadata"]["total_size"] == sum(a.nbytes for a in expected.values())
        if os.path.exists(before / index.name):
            assert said["metadata"]["total_parameters"] == sum(a.size for a in expected.values())
    floats = dict.fromkeys(("float16", "bfloat16", "float32"), 0)
    for array in expected.values():
        if array.dtype != np.int64:
            floats[array.dtype.name] += array.size
    if any(floats.values()):
        config["torch_dtype"] = config["text_config"]["dtype"] = max(floats, key=floats.get)
    with open(after / "config.json", encoding="utf-8") as file:
        assert json.load(file) == config, "another configuration"
    subprocess.run(["rm", "-r", before, after], check=True)


def main():
    with Tool(sys.argv[1]) as tool:
        for number in range(60):
            check(tool, random.Random(number), number)
    print("60 checkpoints are as huggingface_hub, safetensors and numpy have them")


if __name__ == "__main__":
    main()
