#!/usr/bin/env python3
"""Writes a small .gguf file from a description on standard input.

    make_gguf.py model.gguf << END
    key     general.architecture  string  flux
    key     a.b                   u32     7
    key     tokens                [string]  one two three
    tensor  w  F32   2x3    0 1 2 3 4 5
    tensor  q  Q8_0  2x32   0x0034 0x01..
    END

A key's value of a type in brackets is an array; "a*1000" as the last element stands for a thousand of
them. A tensor has numbers, or the bytes of its blocks in hexadecimal ("3c00 01*32": repeated);
values are repeated until the tensor is full. "version N" and "align N" (the key is written too) come
first. "offset N" behind a tensor's name puts it N bytes behind the start of the data.

SPDX-License-Identifier: Apache-2.0
"""
import re
import shlex
import struct
import sys

VALUES = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"),
          "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?"), "string": (8, None),
          "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d")}
# The number of a type, values of a block, bytes of a block, struct's letter.
TYPES = {"F32": (0, 1, 4, "f"), "F16": (1, 1, 2, "e"), "Q4_0": (2, 32, 18, None),
         "Q4_1": (3, 32, 20, None), "Q5_0": (6, 32, 22, None), "Q5_1": (7, 32, 24, None),
         "Q8_0": (8, 32, 34, None), "Q2_K": (10, 256, 84, None), "Q3_K": (11, 256, 110, None),
         "Q4_K": (12, 256, 144, None), "Q5_K": (13, 256, 176, None), "Q6_K": (14, 256, 210, None),
         "IQ2_XXS": (16, 256, 66, None), "IQ1_S": (19, 256, 50, None),
         "IQ4_NL": (20, 32, 18, None), "IQ4_XS": (23, 256, 136, None), "I8": (24, 1, 1, "b"),
         "I16": (25, 1, 2, "h"), "I32": (26, 1, 4, "i"), "I64": (27, 1, 8, "q"),
         "F64": (28, 1, 8, "d"), "BF16": (30, 1, 2, "bf16"), "TQ1_0": (34, 256, 54, None),
         "TQ2_0": (35, 256, 66, None), "MXFP4": (39, 32, 17, None), "NVFP4": (40, 64, 36, None),
         "Q1_0": (41, 128, 18, None), "Q2_0": (42, 64, 18, None)}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, word):
    if kind == "string":
        return text(word)
    if kind == "bool":
        return struct.pack("?", word == "true")
    return struct.pack("<" + VALUES[kind][1], float(word) if kind[0] == "f" else int(word))


def key(name, kind, words):
    """One key with its value."""
    begin = text(name)
    if not kind.startswith("["):
        return begin + struct.pack("<i", VALUES[kind][0]) + value(kind, words[0])
    kind, elements = kind[1:-1], []
    for word in words:
        one, _, times = word.partition("*")
        elements += [value(kind, one)] * int(times or 1)
    return (begin + struct.pack("<iiQ", 9, VALUES[kind][0], len(elements)) + b"".join(elements))


def number(letter, word):
    if letter == "bf16":
        return struct.pack("<f", float(word))[2:]
    return struct.pack("<" + letter, float(word) if letter in "fed" else int(word))


def data_of(kind, shape, words):
    _, values, size, letter = TYPES[kind]
    elements = 1
    for length in shape:
        elements *= length
    total = elements // values * size
    data = b""
    for word in words:
        one, _, times = word.partition("*")
        part = number(letter, one) if letter else bytes.fromhex(one)
        data += part * int(times or 1)
    return (data * (total // max(1, len(data)) + 1))[:total]


def file_of(description):
    """The bytes of a file by its description."""
    version, align, keys, tensors = 3, 32, [], []
    for line in description.splitlines():
        words = shlex.split(line)
        if not words:
            continue
        if words[0] == "version":
            version = int(words[1])
        elif words[0] == "align":
            align = int(words[1])
            keys.append(key("general.alignment", "u32", words[1:]))
        elif words[0] == "key":
            keys.append(key(words[1], words[2], words[3:]))
        else:
            assert words[0] == "tensor", line
            at = None
            if words[2] == "offset":
                at = int(words[3])
                del words[2:4]
            shape = [] if words[3] == "scalar" else [int(n) for n in re.split("x", words[3])]
            tensors.append((words[1], words[2], shape, data_of(words[2], shape, words[4:]), at))
    infos, data = b"", bytearray()
    for name, kind, shape, content, at in tensors:
        at = len(data) if at is None else at
        infos += text(name) + struct.pack("<I", len(shape))
        infos += b"".join(struct.pack("<Q", length) for length in reversed(shape))
        infos += struct.pack("<iQ", TYPES[kind][0], at)
        data.extend(bytes(max(0, at + len(content) - len(data))))
        data[at:at + len(content)] = content
        data.extend(bytes(-len(data) % align))
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + infos
    return head + bytes(-len(head) % align) + bytes(data)


def main():
    with open(sys.argv[1], "wb") as file:
        file.write(file_of(sys.stdin.read()))


if __name__ == "__main__":
    main()
