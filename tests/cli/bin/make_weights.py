#!/usr/bin/env python3
"""Writes an ONNX model with weights from a description on standard input, byte by byte.

    make_weights.py [--opset N] [--ir N] [--external NAME] FILE << END
    w     float32  2x3  1 2 3 4 5 6
    ids   int64    2    1 2
    END

A line is an initializer: its name, type, shape and values (repeated as often as needed); "input"
at its front makes an input of it too. The model gives the first one's negative. --external puts
all values into the file NAME beside the model; one without values is a hole of zeros there.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import math
import os
import struct
import sys

TYPES = {"float32": (1, "f"), "int64": (7, "q"), "float16": (10, "e"), "float64": (11, "d")}


def varint(value):
    """A varint."""
    text = b""
    while value > 127:
        text += bytes([value % 128 + 128])
        value //= 128
    return text + bytes([value])


def number(field, value):
    """A field that is a varint."""
    return varint(field * 8) + varint(value)


def text(field, payload):
    """A field of bytes: a string or a message."""
    payload = payload if isinstance(payload, bytes) else payload.encode()
    return varint(field * 8 + 2) + varint(len(payload)) + payload


def main():
    """Writes the model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--opset", type=int, default=21)
    parser.add_argument("--ir", type=int, default=10)
    parser.add_argument("--external")
    parser.add_argument("file")
    arguments = parser.parse_args()
    data, end, inputs, initializers, names = [], 0, b"", b"", []
    for line in sys.stdin.read().splitlines():
        words = line.split()
        is_input = words[0] == "input"
        name, kind, shape, *values = words[is_input:]
        names.append(name)
        number_of_type, code = TYPES[kind]
        dims = [] if shape == "scalar" else [int(n) for n in shape.split("x")]
        count = math.prod(dims)
        values = [float(v) if code != "q" else int(v) for v in values]
        size = count * struct.calcsize("<" + code)
        raw = b"".join(struct.pack("<" + code, values[i % len(values)])
                       for i in range(count if values else 0))
        tensor = b"".join(number(1, dim) for dim in dims) + number(2, number_of_type)
        tensor += text(8, name)
        if arguments.external:
            for key, value in (("location", arguments.external), ("offset", str(end)),
                               ("length", str(size))):
                tensor += text(13, text(1, key) + text(2, value))
            tensor += number(14, 1)
            data.append((end, raw))
            end += size
        else:
            tensor += text(9, raw)
        initializers += text(5, tensor)
        if is_input:
            inputs += text(11, text(1, name) + text(2, text(1, number(1, number_of_type))))
    node = text(1, text(1, names[0]) + text(2, "y") + text(4, "Neg"))
    with open(arguments.file, "wb") as file:
        file.write(number(1, arguments.ir) + text(7, node + text(2, "g") + initializers + inputs)
                   + text(8, text(1, "") + number(2, arguments.opset)))
    if arguments.external:
        folder = os.path.dirname(arguments.file)
        with open(os.path.join(folder, arguments.external), "wb") as file:
            file.truncate(end)
            for offset, raw in data:
                file.seek(offset)
                file.write(raw)


if __name__ == "__main__":
    main()
