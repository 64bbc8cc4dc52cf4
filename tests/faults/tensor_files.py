"""Tensor files written and read with nothing but Python's own library, as an outside opinion.

A file's tensors are a dictionary: name -> (type, shape, bytes), the type as safetensors, numpy or
ONNX's number spells it.

SPDX-License-Identifier: Apache-2.0
"""
import ast
import io
import json
import math
import os
import pathlib
import struct
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli" / "bin"))
from make_weights import number, text  # noqa: E402  (fields of a message)

_ONNX_TYPES = {"f4": 1, "i8": 7, "f2": 10}
_SAFETENSORS_TYPES = {"f4": "F32", "i8": "I64", "f2": "F16", "u1": "U8", "f8": "F64", "i4": "I32",
                      "b1": "BOOL", "i2": "I16", "i1": "I8"}
LETTERS = {"f4": "f", "i8": "q", "f2": "e", "u1": "B", "f8": "d", "i4": "i", "b1": "?", "i2": "h", "i1": "b"}


def data_of(kind, values):
    """The bytes of an array; `kind` as numpy spells it without the byte order."""
    return struct.pack(f"<{len(values)}{LETTERS[kind]}", *values)


# ------------------------------------------------------------------------------- writers


def safetensors(tensors):
    """`tensors`, here and below: a list of (name, kind, shape, bytes)."""
    header, data = {}, b""
    for name, kind, shape, content in tensors:
        header[name] = {"dtype": _SAFETENSORS_TYPES[kind], "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    line = json.dumps(header).encode()
    line += b" " * (-len(line) % 8)
    return struct.pack("<Q", len(line)) + line + data


def npy(kind, shape, content):
    descr = ("|" if kind[1] == "1" else "<") + kind
    line = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    line += " " * (-(len(line) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(line)) + line.encode() + content


def npz(tensors, level=None):
    """Deflated at `level`, or stored."""
    file = io.BytesIO()
    method = zipfile.ZIP_STORED if level is None else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(file, "w", method, compresslevel=level) as archive:
        for name, kind, shape, content in tensors:
            archive.writestr(name + ".npy", npy(kind, shape, content))
    return file.getvalue()


def tensor_proto(name, kind, shape, content):
    return (b"".join(number(1, n) for n in shape) + number(2, _ONNX_TYPES[kind]) +
            text(8, name) + text(9, content))


def typed_tensor_proto(name, shape, codes):
    """float16 as its codes in int32_data."""
    packed = b"".join(number(0, code)[1:] for code in codes)
    return (b"".join(number(1, n) for n in shape) + number(2, 10) + text(5, packed) +
            text(8, name))


def external_tensor_proto(name, kind, shape, location, offset, length):
    entries = (("location", location), ("offset", str(offset)), ("length", str(length)))
    return (b"".join(number(1, n) for n in shape) + number(2, _ONNX_TYPES[kind]) +
            text(8, name) + number(14, 1) +
            b"".join(text(13, text(1, key) + text(2, value)) for key, value in entries))


def model(initializers, first):
    """A model that gives the negative of the initializer `first`; messages of initializers."""
    node = text(1, text(1, first) + text(2, "y") + text(4, "Neg"))
    graph = node + text(2, "g") + b"".join(text(5, tensor) for tensor in initializers)
    return number(1, 10) + text(7, graph) + text(8, text(1, "") + number(2, 21))


# ------------------------------------------------------------------------------- readers


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """A message's fields in order: (number, value); bytes where the field holds bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        else:
            size, at = (8, at) if kind == 1 else (4, at) if kind == 5 else _varint(data, at)
            if kind not in (1, 2, 5) or at + size > len(data):
                raise ValueError("no message")
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def _external(message):
    """The external_data of a TensorProto's fields."""
    entries = {}
    for field, value in message:
        if field == 13:
            entry = dict(fields(value))
            entries[entry[1].decode()] = entry[2].decode()
    return entries


def locations(path):
    """The data files that a model's initializers name."""
    with open(path, "rb") as file:
        content = file.read()
    found = set()
    for field, graph in fields(content):
        for inner, tensor in fields(graph) if field == 7 else ():
            if inner == 5 and (entries := _external(list(fields(tensor)))):
                found.add(entries["location"])
    return found


def _resolved_tensor(tensor, folder):
    message = list(fields(tensor))
    entries = _external(message)
    kept = tuple((field, value) for field, value in message if field != 13)
    if not entries:
        return kept
    with open(os.path.join(folder, entries["location"]), "rb") as file:
        file.seek(int(entries.get("offset", 0)))
        length = int(entries["length"])
        data = file.read(length)
    if len(data) != length:
        raise ValueError(f"{entries['location']} is too short")
    return kept + (data,)


def _read_model(path):
    """A model as fields, where the external data of an initializer stands in its place."""
    with open(path, "rb") as file:
        content = file.read()
    return tuple(
        (field, tuple((inner, _resolved_tensor(part, os.path.dirname(path)) if inner == 5 else part)
                      for inner, part in fields(value)) if field == 7 else value)
        for field, value in fields(content))


def read_safetensors(content):
    (size,) = struct.unpack_from("<Q", content)
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    header.pop("__metadata__", None)
    if max((entry["data_offsets"][1] for entry in header.values()), default=0) != len(data):
        raise ValueError("the data ends elsewhere")
    return {name: (entry["dtype"], tuple(entry["shape"]), data[slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def read_npy(content):
    if content[:8] != b"\x93NUMPY\x01\0":
        raise ValueError("no npy")
    (size,) = struct.unpack_from("<H", content, 8)
    header, data = ast.literal_eval(content[10:10 + size].decode()), content[10 + size:]
    width = int(header["descr"][2:]) * (4 if header["descr"][1] == "U" else 1)
    if math.prod(header["shape"]) * width != len(data):
        raise ValueError("the data ends elsewhere")
    return header["descr"], header["shape"], data


def _read_npz(path):
    with zipfile.ZipFile(path) as archive:
        if (damaged := archive.testzip()) is not None:
            raise ValueError(f"{damaged} is damaged")
        return {name.removesuffix(".npy"): read_npy(archive.read(name))
                for name in archive.namelist()}


def read_gguf(content):
    """Its keys as bytes, and its tensors; of number types alone."""
    at = 24

    def take(letter):
        nonlocal at
        (number,) = struct.unpack_from("<" + letter, content, at)
        at += struct.calcsize(letter)
        return number

    def text_of():
        nonlocal at
        size = take("Q")
        at += size
        if at > len(content):
            raise ValueError("a text is cut short")
        return content[at - size:at]

    if content[:8] != b"GGUF\x03\0\0\0":
        raise ValueError("no GGUF")
    count, keys = struct.unpack_from("<QQ", content, 8)
    found = {}
    for _ in range(keys):
        name, kind = text_of(), take("I")
        found[name] = text_of() if kind == 8 else take("BbHhIif?  Qqd"[kind])
    entries = []
    for _ in range(count):
        name, shape = text_of(), [take("Q") for _ in range(take("I"))]
        entries.append((name, shape, take("I"), take("Q")))
    data = at + -at % 32
    for name, shape, kind, offset in entries:
        # F32, F16, Q8_0
        size = math.prod(shape) * {0: 128, 1: 64, 8: 34}[kind] // 32
        if data + offset + size > len(content):
            raise ValueError("a tensor is cut short")
        found[name] = (kind, shape, content[data + offset:data + offset + size])
    return found


def read(path):
    """What a file or directory says, to be compared; raises where it is not whole."""
    if os.path.isdir(path):
        return {name: read(os.path.join(path, name)) for name in sorted(os.listdir(path))}
    ending = os.path.splitext(path)[1]
    if ending == ".onnx":
        return _read_model(path)
    if ending == ".npz":
        return _read_npz(path)
    with open(path, "rb") as file:
        content = file.read()
    if ending == ".safetensors":
        return read_safetensors(content)
    if ending == ".npy":
        return read_npy(content)
    if ending == ".gguf":
        return read_gguf(content)
    if ending in (".json", ".txt"):
        return content
    return tuple(fields(content))
