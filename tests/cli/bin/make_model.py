#!/usr/bin/env python3
"""Writes an ONNX model of casts, or a tensor for one, from a description on standard input.

    make_model.py casts.onnx << END
    opset 25
    input x FLOAT 2x3
    node Cast x -> y to=10 saturate=0 round_mode=up
    output y FLOAT16
    END

    make_model.py test_data_set_0/input_0.pb << END
    tensor FLOAT 2x3 0000803f 00000040
    END

Types are named as ONNX names them; a tensor's values are little-endian bytes in hexadecimal,
repeated until it is full. A node's name is that of its first output, after "n_".

SPDX-License-Identifier: Apache-2.0
"""
import math
import sys

from make_weights import number, text

TYPES = ("UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 "
         "UINT64 COMPLEX64 COMPLEX128 BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 "
         "FLOAT8E5M2FNUZ UINT4 INT4 FLOAT4E2M1 FLOAT8E8M0 UINT2 INT2 FLOAT6E2M3 FLOAT6E3M2").split()


def dims_of(shape):
    return [] if shape == "scalar" else [int(n) for n in shape.split("x")]


def value_info(words):
    """A ValueInfoProto: a name, a type and, perhaps, a shape."""
    tensor = number(1, TYPES.index(words[1]))
    if len(words) > 2:
        tensor += text(2, b"".join(text(1, number(1, n)) for n in dims_of(words[2])))
    return text(1, words[0]) + text(2, text(1, tensor))


def tensor(words, name=""):
    """A TensorProto: a type, a shape, values."""
    dims = dims_of(words[1])
    values = [bytes.fromhex(word) for word in words[2:]]
    count = math.prod(dims)
    proto = b"".join(number(1, n) for n in dims) + number(2, TYPES.index(words[0]))
    if words[0] == "STRING":
        proto += b"".join(text(6, values[i % len(values)]) for i in range(count))
    elif values:
        bytes_of_one = len(values[0])
        packed = b"".join(values[i % len(values)] for i in range(max(1, count)))
        proto += text(9, packed[:count * bytes_of_one])
    return proto + (text(8, name) if name else b"")


def attribute(word):
    """An AttributeProto: name=number, or name=text."""
    name, value = word.split("=", 1)
    if value.lstrip("-").isdigit():
        return text(1, name) + number(3, int(value) % 2**64) + number(20, 2)
    return text(1, name) + text(4, value) + number(20, 3)


def node(words):
    """A NodeProto: operator, inputs, ->, outputs, attributes."""
    arrow = words.index("->")
    outputs = [word for word in words[arrow + 1:] if "=" not in word]
    proto = b"".join(text(1, word) for word in words[1:arrow])
    proto += b"".join(text(2, word) for word in outputs)
    proto += text(3, "n_" + outputs[0]) + text(4, words[0])
    return proto + b"".join(text(5, attribute(word)) for word in words if "=" in word)


def main():
    """Writes the file."""
    graph, opset = b"", 25
    for line in sys.stdin.read().splitlines():
        kind, *words = line.split()
        if kind == "tensor":
            proto = tensor(words)
            break
        if kind == "opset":
            opset = int(words[0])
        elif kind == "node":
            graph += text(1, node(words))
        elif kind == "constant":
            value = text(1, "value") + text(5, tensor(words[1:])) + number(20, 4)
            graph += text(1, text(2, words[0]) + text(3, "n_" + words[0]) + text(4, "Constant") +
                          text(5, value))
        elif kind == "initializer":
            graph += text(5, tensor(words[1:], words[0]))
        else:
            graph += text({"input": 11, "output": 12}[kind], value_info(words))
    else:
        proto = number(1, 10) + text(8, text(1, "") + number(2, opset)) + text(7, graph)
    with open(sys.argv[1], "wb") as file:
        file.write(proto)


if __name__ == "__main__":
    main()
