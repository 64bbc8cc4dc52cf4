#!/usr/bin/env python3
"""Makes legal files by the thousand, and reads them with the tool and without it.

    check_archives.py --tool TOOL --library inject_faults.so [--count N]

Most are npz archives as zipfile makes them: every level, stored and deflated, sized in front of the
data or behind it, with a comment, arrays that compress a thousandfold beside such as do not at all,
from no element to three million. The others are safetensors, npy and TensorProto files. Each is
written to a safetensors file in which all floats become float64 and all else is copied.

SPDX-License-Identifier: Apache-2.0
"""
import io
import math
import os
import random
import shlex
import struct
import sys
import zipfile

import findings
import tensor_files as files
from injection import Injector

_KINDS = {"f4": "F32", "f8": "F64", "f2": "F16", "i8": "I64", "i4": "I32", "i2": "I16", "u1": "U8",
          "b1": "BOOL"}


def random_shape(source):
    """Of any rank from 0 to 4; few elements mostly, at times many, at times none."""
    if source.random() < 0.06:
        return [source.randint(500_000, 3_000_000)]
    shape = [source.choice((1, 2, 3, 5, 8, 17, 64)) for _ in range(source.randint(0, 4))]
    if source.random() < 0.4:
        shape = [source.choice((1023, 1024, 1025, 4096, 30000, 65536, 100003))]
    if shape and source.random() < 0.05:
        shape[source.randrange(len(shape))] = 0
    return shape if math.prod(shape) <= 200_000 else shape[:2]


def random_values(source, kind, count):
    """Bytes of `count` elements: noise, one value over and over, steps, noise with long gaps."""
    size = struct.calcsize("<" + files.LETTERS[kind])
    if kind == "b1" and count < 200_000:
        return bytes(source.choices((0, 1), weights=(source.random(), 0.01), k=count))
    one = files.data_of(kind, [source.choice((0, 0, 1, 3))])
    style = source.choice(("noise", "same", "steps", "gaps", "same")) if count < 200_000 else "same"
    if style == "same":
        return one * count
    if style == "steps":
        return b"".join(files.data_of(kind, [i % 100]) * 7 for i in range(count // 7 + 1))[
            :count * size]
    noise = source.randbytes(count * size)
    if kind in ("f4", "f2", "f8"):  # numbers: what a cast does to NaNs is not the question here
        noise = files.data_of(kind, [byte - 100.5 for byte in source.randbytes(count)])
    if style == "noise":
        return noise
    result = bytearray(one * count)
    at = 0
    while at < count:
        result[at * size:(at + 5) * size] = noise[at * size:(at + 5) * size]
        at += source.choice((10, 1000, 40000))
    return bytes(result[:count * size])


def random_tensors(source, kinds, count):
    """`count` tensors as tensor_files takes them."""
    result = []
    for i in range(count):
        kind, shape = source.choice(kinds), random_shape(source)
        if "u1" in kinds and source.random() < 0.2:  # a file of few bytes beyond a power of two
            kind, shape = "u1", [2 ** source.randint(12, 20) - 128 + source.randint(-20, 40)]
        name = source.choice(("w", "layer.0/bias", "ключ", "a b")) + str(i)
        result.append((name, kind, shape, random_values(source, kind, math.prod(shape))))
    return result


class Unseekable(io.RawIOBase):
    """A file that zipfile cannot go back in: it writes the sizes behind the data."""

    def __init__(self):
        super().__init__()
        self.content = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.content += bytes(data)
        return len(data)


def random_npz(source, tensors):
    """An archive of them."""
    file = Unseekable() if source.random() < 0.3 else io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        if source.random() < 0.1:
            archive.comment = b"a comment"
        for name, kind, shape, content in tensors:
            info = zipfile.ZipInfo(name + ".npy", (2026, 1, 1, 0, 0, 0))
            deflated = source.random() < 0.8
            info.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
            info._compresslevel = source.randint(0, 9)  # writestr takes it as well
            with archive.open(info, "w", force_zip64=source.random() < 0.5) as member:
                member.write(files.npy(kind, shape, content))
    return bytes(file.content) if isinstance(file, Unseekable) else file.getvalue()


def random_file(source):
    """A name, its content, and the tensors in it."""
    ending = source.choices(("npz", "safetensors", "npy", "pb"), weights=(7, 1, 1, 1))[0]
    if ending == "pb":
        tensors = random_tensors(source, ["f4", "i8", "f2"], 1)
        return "in.pb", files.tensor_proto(*tensors[0]), tensors
    tensors = random_tensors(source, list(_KINDS), 1 if ending == "npy" else source.randint(1, 5))
    if ending == "npz":
        return "in.npz", random_npz(source, tensors), tensors
    if ending == "npy":
        return "in.npy", files.npy(*tensors[0][1:]), tensors
    return "in.safetensors", files.safetensors(tensors), tensors


def expected(tensors):
    """What the output holds: of an npy, whatever its one tensor is called there."""
    result = {}
    for name, kind, shape, content in tensors:
        if kind in ("f2", "f4"):
            letter = files.LETTERS[kind]
            count = len(content) // struct.calcsize("<" + letter)
            kind, content = "f8", files.data_of("f8", struct.unpack(f"<{count}{letter}", content))
        result[name] = (_KINDS[kind], tuple(shape), content)
    return result


def problems_of(run, path, tensors, has_names):
    """What the tool made of the tensors, held against them."""
    if run.code != 0:
        yield f"a legal file ends with {run.code}"
        return
    with open(path, "rb") as file:
        read = files.read_safetensors(file.read())
    wanted = expected(tensors)
    if not has_names:
        read, wanted = list(read.values()), list(wanted.values())
    if read != wanted:
        yield "other tensors than the file holds"


def main():
    parser = findings.parser(__doc__)
    parser.add_argument("--count", type=int, default=400)
    arguments = parser.parse_args()
    source = random.Random(arguments.seed)
    account = findings.Account("archives")
    with findings.scratch_folder() as folder:
        injector = Injector(arguments.tool, arguments.library, folder)
        for i in range(arguments.count):
            name, content, tensors = random_file(source)
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
            command = ["convert", name, "-o", "out.safetensors", "--to", "float64", "--force", "-q",
                       "--no-report"]
            run = injector.run(command, folder)
            problems = list(problems_of(run, os.path.join(folder, "out.safetensors"), tensors,
                                        name != "in.npy"))
            account.add(problems, f"file {i + 1} of seed {arguments.seed}: {shlex.join(command)}",
                        run)
    return account.end()


if __name__ == "__main__":
    sys.exit(main())
