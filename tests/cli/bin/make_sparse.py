#!/usr/bin/env python3
"""Writes a safetensors file with one float32 tensor of many zeros, as a sparse file.

    make_sparse.py FILE ELEMENTS [INDEX=VALUE]...

The tensor is named "big"; the elements given are set, all others are holes of the file.

SPDX-License-Identifier: Apache-2.0
"""
import json
import struct
import sys


def main():
    path, count, *places = sys.argv[1:]
    count = int(count)
    header = json.dumps({"big": {"dtype": "F32", "shape": [count],
                                 "data_offsets": [0, 4 * count]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        begin = file.tell()
        file.truncate(begin + 4 * count)
        for place in places:
            index, value = place.split("=")
            file.seek(begin + 4 * int(index))
            file.write(struct.pack("<f", float(value)))


if __name__ == "__main__":
    main()
