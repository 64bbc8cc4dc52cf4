"""Files that a conversion refuses, one for each remedy, in Python alone: for the tests of C and Python.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli" / "bin"))
import make_torch_file  # noqa: E402

# By the remedy's word: input, output, the one pattern that chooses tensors, and the refusal's
# subject. Paths are below the folder; "/" in front of a subject marks one. To FLOAT32, of all types.
CONVERSIONS = {
    "allow_hard_links": ("linked.onnx", "out.onnx", "", "/linked.bin"),
    "allow_overwriting": ("two.safetensors", "there.safetensors", "", "/there.safetensors"),
    "choose_one_tensor": ("two.safetensors", "out.npy", "", "/two.safetensors"),
    "ignore_scales": ("scaled.safetensors", "out.safetensors", "", "a.weight"),
    "take_directory": ("sharded/model-00001-of-00002.safetensors", "out.safetensors", "", "b.weight"),
    "keep_packed": ("packed.safetensors", "out.safetensors", "c.W_q", "c.W_q"),
    "assume_type": ("void.npy", "out.npy", "", "/void.npy"),
    "match_chosen": ("two.safetensors", "out.safetensors", "nosuch*", "nosuch*"),
    "leave_out": ("early.onnx", "out.onnx", "", "d"),  # to int32
    "choose_root": ("two.pt", "out.safetensors", "", "/two.pt"),
}
FLOAT32, INT32 = 1, 6


def write_safetensors(path, tensors):
    """`tensors`: {name: (type, shape, bytes)}."""
    header, data = {}, b""
    for name, (kind, shape, values) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def message(number, content):
    """A field of a protobuf message: a number, or bytes of fewer than 128."""
    if isinstance(content, int):
        return bytes([number << 3, content]) if number < 16 else bytes([number << 3 & 127 | 128, number >> 4, content])
    return bytes([number << 3 | 2, len(content)]) + content


def constant_of_opset_8(name):
    """A model whose one weight is a Constant's."""
    tensor = message(1, 2) + message(2, FLOAT32) + message(9, struct.pack("<2f", 1, 2))
    attribute = message(1, b"value") + message(5, tensor) + message(20, 4)
    node = message(2, name) + message(4, b"Constant") + message(5, attribute)
    return message(1, 3) + message(7, message(1, node)) + message(8, message(2, 8))


def weight_in_file(file):
    """A model whose one weight stands in a file beside it."""
    place = message(1, b"location") + message(2, file)
    tensor = message(1, 2) + message(2, FLOAT32) + message(8, b"w") + message(13, place) + message(14, 1)
    return message(1, 8) + message(7, message(5, tensor)) + message(8, message(2, 21))


def write(folder):
    floats = ("F32", [2], struct.pack("<2f", 1, 2))
    for name in ("two", "there"):
        write_safetensors(folder / f"{name}.safetensors", {"w": floats, "v": floats})
    codes = ("F8_E4M3", [64, 64], b"\x38" * 4096)
    write_safetensors(folder / "scaled.safetensors",
                      {"a.weight": codes, "a.weight_scale": ("F32", [3, 5], bytes(60))})
    (folder / "sharded").mkdir()
    for number, tensors in ((1, {"b.weight": codes}), (2, {"b.weight_scale": ("F32", [1], b"\0\0\x80\x3f")})):
        write_safetensors(folder / f"sharded/model-0000{number}-of-00002.safetensors", tensors)
    (folder / "sharded/model.safetensors.index.json").write_text(json.dumps({"weight_map": {
        "b.weight": "model-00001-of-00002.safetensors", "b.weight_scale": "model-00002-of-00002.safetensors"}}))
    write_safetensors(folder / "packed.safetensors",
                      {"c.W_q": ("U8", [64, 32], b"\1" * 2048), "c.scale": ("F32", [64], bytes(256)),
                       "c.zero": ("F32", [64], bytes(256))})
    header = b"{'descr': '|V1', 'fortran_order': False, 'shape': (2,), }".ljust(117) + b"\n"
    (folder / "void.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + b"\1\2")
    (folder / "linked.onnx").write_bytes(weight_in_file(b"linked.bin"))
    (folder / "linked.bin").write_bytes(bytes(8))
    os.link(folder / "linked.bin", folder / "elsewhere")
    weights = {"w": make_torch_file.tensor("float32", [1, 2])}
    (folder / "two.pt").write_bytes(make_torch_file.legacy_file({"model": weights, "ema": weights}))
    (folder / "early.onnx").write_bytes(constant_of_opset_8(b"d"))


def remedies():
    """{word: number} of tensorcast.h."""
    header = (pathlib.Path(__file__).parent / "../../include/tensorcast/tensorcast.h").read_text()
    return {word.lower(): int(number) for word, number in re.findall(r"TENSORCAST_REMEDY_(\w+) = (\d+)", header)}


def subject_in(folder, subject):
    return str(folder) + subject if subject.startswith("/") else subject
