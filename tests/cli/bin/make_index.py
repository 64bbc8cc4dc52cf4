#!/usr/bin/env python3
"""Writes the index of a directory's shards, as Hugging Face's libraries do.

    make_index.py DIRECTORY [NAME]

NAME is model.safetensors.index.json where none is given.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import struct
import sys


def header(path):
    """The tensors of a file: name to entry."""
    with open(path, "rb") as file:
        entries = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    entries.pop("__metadata__", None)
    return entries


def main():
    """Writes the index."""
    folder = sys.argv[1]
    name = sys.argv[2] if len(sys.argv) > 2 else "model.safetensors.index.json"
    weight_map, total = {}, 0
    for shard in sorted(os.listdir(folder)):
        if not shard.endswith(".safetensors"):
            continue
        for tensor, entry in header(os.path.join(folder, shard)).items():
            weight_map[tensor] = shard
            total += entry["data_offsets"][1] - entry["data_offsets"][0]
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(json.dumps(index, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
