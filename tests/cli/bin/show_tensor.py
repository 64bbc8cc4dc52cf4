#!/usr/bin/env python3
"""Prints tensors as the codes of their elements, in hexadecimal.

    show_tensor.py FILE [NAME]...

For each tensor its name, dtype, shape and bytes; packed types byte by byte. Reads the file with
nothing but Python, so that it cannot share a mistake with the tool.

SPDX-License-Identifier: Apache-2.0
"""
import ast
import json
import math
import sys

GROUPS = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2,
          "I16": 2, "U16": 2}


def safetensors(path):
    """(name, dtype, shape, bytes of an element, data) of each tensor, in the order of the data."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    if "__metadata__" in header:
        print("metadata", json.dumps(header.pop("__metadata__"), sort_keys=True))
    entries = sorted(header.items(), key=lambda entry: entry[1]["data_offsets"])
    assert not entries or entries[-1][1]["data_offsets"][1] == len(data)
    for name, entry in entries:
        begin, end = entry["data_offsets"]
        yield name, entry["dtype"], entry["shape"], GROUPS.get(entry["dtype"], 1), data[begin:end]


def npy(path):
    with open(path, "rb") as file:
        assert file.read(8) == b"\x93NUMPY\x01\x00"
        header = ast.literal_eval(file.read(int.from_bytes(file.read(2), "little")).decode())
        assert file.tell() % 64 == 0
        data = file.read()
    size = int(header["descr"].lstrip("<>|")[1:])
    if header["descr"].lstrip("<>|")[0] == "U":
        size *= 4
    assert len(data) == size * math.prod(header["shape"])
    order = " fortran" if header["fortran_order"] else ""
    yield "npy", header["descr"] + order, list(header["shape"]), size, data


def main():
    path, names = sys.argv[1], sys.argv[2:]
    for name, dtype, shape, size, data in (npy if path.endswith(".npy") else safetensors)(path):
        if names and name not in names:
            continue
        codes = [data[i:i + size][::-1].hex() for i in range(0, len(data), size)]
        print(json.dumps(name).strip('"'), dtype, "x".join(map(str, shape)) or "scalar", *codes)


if __name__ == "__main__":
    main()
