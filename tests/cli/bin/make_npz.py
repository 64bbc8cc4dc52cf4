#!/usr/bin/env python3
"""Writes an .npz archive from a description on standard input, with Python's own zipfile.

    make_npz.py [--deflate] [--object | --text | --damaged] FILE << END
    layers.0/w  <f4  2x3  1 2 3 4 5 6
    labels      <U4  2    "a" "b c"
    END

A line is a name, a dtype, a shape and values, as make_file.py's for an .npy; those of strings are
in quotes. --object adds an array of objects, --text a member that is no array; --damaged changes
a byte of the first member's data.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import os
import struct
import sys
import tempfile
import zipfile

import make_file


def array_of_strings(descr, shape, text):
    """An .npy's bytes of an array of strings."""
    shape = make_file.parse_shape(shape)
    width, order = int(descr[2:]), descr[0]
    values, decoder, at = [], json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    values = [values[i % len(values)] for i in range(math.prod(shape))]
    data = b""
    for value in values:
        if descr[1] == "S":
            data += value.encode("latin-1").ljust(width, b"\0")
        else:
            codec = "utf-32-be" if order == ">" else "utf-32-le"
            data += value.encode(codec).ljust(4 * width, b"\0")
    header = (f"{{'descr': '{descr}', 'fortran_order': False, "
              f"'shape': ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def array(line):
    """The name and the .npy's bytes of a line."""
    name, descr, shape, values = (line.split(None, 3) + [""])[:4]
    if descr[1] in "US":
        return name, array_of_strings(descr, shape, values)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        make_file.make_npy(path, [line.split(None, 1)[1]])
        with open(path, "rb") as file:
            return name, file.read()


def main():
    *flags, path = sys.argv[1:]
    arrays = [array(line.strip()) for line in sys.stdin if line.strip()]
    if path.endswith(".npy"):
        with open(path, "wb") as file:
            file.write(arrays[0][1])
        return
    method = zipfile.ZIP_DEFLATED if "--deflate" in flags else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in arrays:
            # As numpy: a ZIP64 extra field in each local header.
            with archive.open(name + ".npy", "w", force_zip64=True) as file:
                file.write(content)
        if "--object" in flags:
            header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\n"
            archive.writestr("o.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                             header.encode() + b"pickle")
        if "--text" in flags:
            archive.writestr("notes.txt", b"a text")
    if "--damaged" in flags:
        with zipfile.ZipFile(path) as archive:
            info = archive.infolist()[0]
        with open(path, "r+b") as file:
            # 20 bytes of extra field; inside the last code of the data.
            file.seek(info.header_offset + 30 + len(info.filename) + 20 + info.compress_size - 6)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 0x55]))


if __name__ == "__main__":
    main()
