#!/usr/bin/env python3
"""Writes a safetensors, GGUF or torch file (.bin) with one float32 tensor of many zeros, as a sparse file.

    make_sparse.py FILE ELEMENTS [INDEX=VALUE]...

The tensor is named "big"; the elements given are set, all others are holes of the file. GGUF and torch
files have another behind it, "small", of 1, 2 and 3.1.

SPDX-License-Identifier: Apache-2.0
"""
import json
import struct
import sys

import make_torch_file as torch

SMALL = struct.pack("<3f", 1, 2, 3.1)


def safetensors(count):
    """What stands before the data of "big", and behind it."""
    header = json.dumps({"big": {"dtype": "F32", "shape": [count],
                                 "data_offsets": [0, 4 * count]}}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header, b""


def gguf(count):
    padding = -4 * count % 32
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 0)
    for name, elements, offset in ((b"big", count, 0), (b"small", 3, 4 * count + padding)):
        head += struct.pack("<Q", len(name)) + name + struct.pack("<IQiQ", 1, elements, 0, offset)
    return head + bytes(-len(head) % 32), bytes(padding) + SMALL


def torch_file(count):
    """A zip whose largest member needs ZIP64; the checksums are left out, as torch can be told to."""
    pickled, _ = torch.pickled({"big": torch.tensor("float32", [0], (count,)),
                                "small": torch.tensor("float32", [0], (3,))})
    before, after, directory = b"", b"", b""
    at = 0
    for name, content, size in ((b"m/data.pkl", pickled, len(pickled)), (b"m/data/0", b"", 4 * count),
                                (b"m/data/1", SMALL, len(SMALL))):
        wide = struct.pack("<HHQQ", 1, 16, size, size)
        fields = struct.pack("<HHHHHIIIH", 45, 0, 0, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, len(name))
        local = b"PK\3\4" + fields + struct.pack("<H", len(wide)) + name + wide + content
        wide = struct.pack("<HHQQQ", 1, 24, size, size, at)
        directory += (b"PK\1\2" + struct.pack("<H", 45) + fields +
                      struct.pack("<HHHHII", len(wide), 0, 0, 0, 0, 0xFFFFFFFF) + name + wide)
        if name == b"m/data/1":
            after += local
        else:
            before += local
        at += len(local) + (size if not content else 0)
    end = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 3, 3, len(directory), at)
    end += struct.pack("<4sIQI", b"PK\6\7", 0, at + len(directory), 1)
    end += struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 3, 3, len(directory), 0xFFFFFFFF, 0)
    return before, after + directory + end


LAYOUTS = {".gguf": gguf, ".bin": torch_file}


def main():
    path, count, *places = sys.argv[1:]
    count = int(count)
    layout = next((make for ending, make in LAYOUTS.items() if path.endswith(ending)), safetensors)
    before, after = layout(count)
    with open(path, "wb") as file:
        file.write(before)
        begin = file.tell()
        file.seek(begin + 4 * count)
        file.write(after)
        file.truncate(begin + 4 * count + len(after))
        for place in places:
            index, value = place.split("=")
            file.seek(begin + 4 * int(index))
            file.write(struct.pack("<f", float(value)))


if __name__ == "__main__":
    main()
