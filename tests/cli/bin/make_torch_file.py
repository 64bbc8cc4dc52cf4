#!/usr/bin/env python3
"""Writes a file as torch.save does, without torch: pickled by Python's own pickle, zipped by zipfile.

    make_torch_file.py [--legacy | --deflate | --script] [--big] FILE << END
    {"state_dict": {"w": tensor("float32", [1, 2, 3, 4], (2, 2))}, "epoch": 3}
    END

Standard input is a Python expression. tensor(dtype, values, shape) has a storage of its own;
view(tensor, shape, strides, offset=0) has that of another; call("module.name", ...) is what the
global would give, were it called; raw(bytes) is a pickle as it stands. --big writes big-endian
storages, --script what a TorchScript program has too.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import io
import math
import pickle
import struct
import sys
import zipfile

MAGIC = 0x1950a86a20f9469cfc6c
# By dtype: struct's code and torch's class of storages, where it has one.
TYPES = {
    "float64": ("d", "DoubleStorage"), "float32": ("f", "FloatStorage"),
    "float16": ("e", "HalfStorage"), "bfloat16": ("H", "BFloat16Storage"),
    "int64": ("q", "LongStorage"), "int32": ("i", "IntStorage"), "int16": ("h", "ShortStorage"),
    "int8": ("b", "CharStorage"), "uint8": ("B", "ByteStorage"), "bool": ("?", "BoolStorage"),
    "complex64": ("ff", "ComplexFloatStorage"), "complex128": ("dd", "ComplexDoubleStorage"),
    "qint8": ("b", "QInt8Storage"),
    "uint16": ("H", ""), "uint32": ("I", ""), "uint64": ("Q", ""), "float8_e4m3fn": ("B", ""),
    "float8_e5m2": ("B", ""), "float8_e8m0fnu": ("B", ""), "float4_e2m1fn_x2": ("B", ""),
}


class Global:
    """A name that a pickle imports: "torch._utils._rebuild_tensor_v2"."""

    def __init__(self, name):
        self.module, self.name = name.rsplit(".", 1)


class Call:
    def __init__(self, name, *arguments):
        self.name, self.arguments = name, arguments


class Storage:
    def __init__(self, dtype, values, count):
        self.dtype, self.values, self.count = dtype, values, count

    def content(self, order):
        code, _ = TYPES[self.dtype]
        values = [self.values[i % len(self.values)] for i in range(self.count)]
        if self.dtype == "bfloat16":
            values = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]
        if len(code) == 2:
            return b"".join(struct.pack(order + code, value, value) for value in values)
        return struct.pack(f"{order}{self.count}{code}", *values)


class Tensor:
    def __init__(self, storage, shape, strides, offset=0, metadata=None):
        self.storage, self.shape, self.strides = storage, tuple(shape), tuple(strides)
        self.offset, self.metadata = offset, metadata


class Raw(bytes):
    pass


def dense(shape):
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))


def tensor(dtype, values, shape=None, **more):
    values = list(values)
    shape = (len(values),) if shape is None else tuple(shape)
    return Tensor(Storage(dtype, values, math.prod(shape)), shape, dense(shape), **more)


def view(of, shape, strides=None, offset=0, **more):
    return Tensor(of.storage, shape, dense(shape) if strides is None else strides, offset, **more)



class Pickler(pickle._Pickler):  # Python's own, whose steps can be replaced
    def __init__(self, file, legacy):
        super().__init__(file, protocol=2)
        self.legacy, self.storages = legacy, {}  # keys by storage

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Global):
            self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
            return
        if isinstance(value, Call):
            self.save(Global(value.name))
            self.save(value.arguments)
            self.write(pickle.REDUCE)
            return
        if isinstance(value, Storage):
            key = self.storages.setdefault(value, str(len(self.storages)))
            name = TYPES[value.dtype][1]
            count = value.count if name else len(value.content("<"))
            self.save(("storage", Global("torch." + name if name else "torch.storage.UntypedStorage"),
                       key, "cpu", count) + ((None,) if self.legacy else ()))
            self.write(pickle.BINPERSID)
            return
        if isinstance(value, Tensor):
            typed = TYPES[value.storage.dtype][1]
            more = () if typed else (Global("torch." + value.storage.dtype),)
            if value.metadata is not None:
                more += (value.metadata,)
            self.save(Call("torch._utils._rebuild_tensor_v2" if typed else
                           "torch._utils._rebuild_tensor_v3", value.storage, value.offset,
                           value.shape, value.strides, False, collections.OrderedDict(), *more))
            return
        super().save(value, save_persistent_id)


def pickled(value, legacy=False):
    """The bytes of a pickle, and the storages that it names."""
    if isinstance(value, Raw):
        return bytes(value), []
    file = io.BytesIO()
    pickler = Pickler(file, legacy)
    pickler.dump(value)
    return file.getvalue(), list(pickler.storages)


def legacy_file(value):
    data, storages = pickled(value, True)
    system = {"protocol_version": 1001, "little_endian": True,
              "type_sizes": {"short": 2, "int": 4, "long": 4}}
    parts = [pickle.dumps(MAGIC, 2), pickle.dumps(1001, 2), pickle.dumps(system, 2), data,
             pickle.dumps([str(key) for key in range(len(storages))], 2)]
    for storage in storages:
        content = storage.content("<")
        typed = TYPES[storage.dtype][1]
        parts += [struct.pack("<q", storage.count if typed else len(content)), content]
    return b"".join(parts)


def zip_file(value, method, is_big, is_script):
    data, storages = pickled(value)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("archive/data.pkl", data)
        if is_script:
            archive.writestr("archive/constants.pkl", b"\x80\x02).")
        archive.writestr("archive/byteorder", "big" if is_big else "little")
        for key, storage in enumerate(storages):
            archive.writestr(f"archive/data/{key}", storage.content(">" if is_big else "<"))
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for flag in ("--legacy", "--deflate", "--script", "--big"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("file")
    flags = parser.parse_args()
    words = {"tensor": tensor, "view": view, "call": Call, "raw": Raw, "name": Global,
             "OrderedDict": collections.OrderedDict}
    value = eval(compile(sys.stdin.read().strip(), "stdin", "eval"), words)  # a test's own words
    with open(flags.file, "wb") as file:
        file.write(legacy_file(value) if flags.legacy else
                   zip_file(value, zipfile.ZIP_DEFLATED if flags.deflate else zipfile.ZIP_STORED,
                            flags.big, flags.script))


if __name__ == "__main__":
    main()
