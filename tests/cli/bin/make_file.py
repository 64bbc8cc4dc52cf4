#!/usr/bin/env python3
"""Writes a small .safetensors or .npy file from a description on standard input.

    make_file.py model.safetensors << END
    metadata  format  pt
    embed.weight   F32  32x256  normal 1  [17,3]=512
    "odd\\nname"    BF16 4       1 2 nan -inf
    steps          I64  scalar  7
    old            F8_E4M3 2    0x38 0x40
    strange        X9   3       bytes 0x00 0x01
    a.comfy_quant  U8   text    {"format": "nvfp4"}
    END

    make_file.py weights.npy << END
    <f4  2x3  1 2 3 4 5 6
    END

A line is a name (a JSON string where it begins with '"'), a dtype, a shape and values. Values are
repeated until the tensor is full: numbers; codes as 0x...; "normal S": normally distributed ones
of deviation S, the same on every run; "bytes": of a dtype this script does not know, as they are.
"text" in the place of a shape: the bytes of what follows.
[i,j]=v sets one element. "fortran" in front of an npy's values: column-major order. A safetensors
file's tensors stand in the order of the description.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import random
import re
import struct
import sys

# safetensors' word, or numpy's without the byte order: struct's letter.
LETTERS = {"F64": "d", "F32": "f", "F16": "e", "BOOL": "?", "I64": "q", "U64": "Q", "I32": "i",
           "U32": "I", "I16": "h", "U16": "H", "I8": "b", "U8": "B",
           "f8": "d", "f4": "f", "f2": "e", "b1": "?", "i8": "q", "u8": "Q", "i4": "i",
           "u4": "I", "i2": "h", "u2": "H", "i1": "b", "u1": "B"}
# Types of whole bytes whose codes are given.
CODE_BYTES = {"BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F8_E4M3FNUZ": 1,
              "F8_E5M2FNUZ": 1, "V1": 1, "V2": 2, "f1": 1}


def encode(dtype, order, value):
    """The bytes of one element; `value` is a number or a code in hexadecimal."""
    if isinstance(value, str) and value.startswith("0x"):
        digits = len(value) - 2
        size = CODE_BYTES.get(dtype) or struct.calcsize(LETTERS.get(dtype, "B"))
        assert digits <= 2 * size, f"{value} is no {dtype}"
        return int(value, 16).to_bytes(size, "big" if order == ">" else "little")
    number = float(value) if not re.fullmatch(r"-?\d+", str(value)) else int(value)
    if dtype == "BF16":  # values that bfloat16 holds; others are truncated
        return struct.pack("<f", number)[2:]
    letter = LETTERS[dtype]
    if letter in "dfe":
        number = float(number)
    return struct.pack(order + letter, number)


def parse_shape(text):
    return [] if text == "scalar" else [int(part) for part in text.split("x")]


def elements(words, count):
    """The values of a line, repeated to `count`."""
    if words[0] == "normal":
        source = random.Random(len(words) + count)
        deviation = float(words[1])
        return [source.gauss(0, deviation) for _ in range(count)]
    return [words[i % len(words)] for i in range(count)]


def data_of(dtype, order, shape, words):
    """The tensor's bytes. Overrides are given in the order of the bytes' own layout."""
    if words and words[0] == "bytes":
        return b"".join(int(word, 0).to_bytes(1, "little") for word in words[1:])
    overrides = [word for word in words if word.startswith("[")]
    words = [word for word in words if not word.startswith("[")]
    count = math.prod(shape)
    values = elements(words, count) if count else []
    for override in overrides:
        place, value = override[1:].split("]=")
        index = 0
        for extent, i in zip(shape, place.split(",")):
            index = index * extent + int(i)
        values[index] = value
    return b"".join(encode(dtype, order, value) for value in values)


def split_line(line):
    if line.startswith('"'):
        name, end = json.JSONDecoder().raw_decode(line)
        return [name] + line[end:].split()
    return line.split()


def make_safetensors(path, lines):
    header, data = {}, b""
    for line in lines:
        name, *words = split_line(line)
        if name == "metadata":
            header.setdefault("__metadata__", {})[words[0]] = " ".join(words[1:])
            continue
        dtype = words[0]
        if words[1] == "text":
            content = " ".join(words[2:]).encode()
            shape = [len(content)]
        else:
            shape = parse_shape(words[1])
            content = data_of(dtype, "<", shape, words[2:])
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def make_npy(path, lines):
    (line,) = lines
    descr, shape, *words = line.split()
    fortran = words[:1] == ["fortran"]
    order = descr[0] if descr[0] in "<>" else "<"
    shape = parse_shape(shape)
    text = (f"{{'descr': '{descr}', 'fortran_order': {fortran}, "
            f"'shape': ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}), }}")
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.write(data_of(descr.lstrip("<>|"), order, shape, words[1 if fortran else 0:]))


def main():
    path = sys.argv[1]
    lines = [line.strip() for line in sys.stdin if line.strip()]
    (make_npy if path.endswith(".npy") else make_safetensors)(path, lines)


if __name__ == "__main__":
    main()
