#!/usr/bin/env python3
"""Counts the bytes that are read of weights that stand transposed in their file, and weighs the memory.

    check_bytes_read.py --tool TOOL --library inject_faults.so

GPTQ's and AWQ's codes lie by inputs, and are read by outputs: whatever the shape, the width of the codes, the
order of the groups and the number of threads, a job reads each byte of the file at most twice, in the memory
that docs/command_line.md promises. So do plain tensors that are transposed in a torch file, but those whose
columns there are short: of these all is read for each tile of 8 MiB.

SPDX-License-Identifier: Apache-2.0
"""
import array
import itertools
import json
import os
import random
import struct
import sys
import zipfile

import findings
import tensor_files  # first: it says where the next is
import make_torch_file as torch
from check_many_tensors import measured
from injection import Injector

_MEBIBYTE = 1 << 20
_PROMISED = 256 * _MEBIBYTE
_TIMES = 2
# Outputs, inputs: as of a large model; few of one and very many of the other; no whole number of tiles.
_SHAPES = ((4096, 11008), (64, 262144), (262144, 64), (1056, 5152))
_GROUP = 32
_TILE, _SHORT = 8 * _MEBIBYTE, 4096  # of transposed tensors, and bytes of a short column
_LARGE = 12288, 32768, 128  # outputs, inputs, group: more bytes than the memory


def _words(count):
    return random.Random(count).randbytes(4 * count)


def gptq(rows, columns, bits, ordered):
    """Tensors of a layer, as tensor_files takes them, and its configuration."""
    groups = columns // _GROUP
    tensors = [("l.qweight", "i4", (columns * bits // 32, rows), _words(columns * bits // 32 * rows)),
               ("l.qzeros", "i4", (groups, rows * bits // 32), bytes(groups * rows * bits // 8)),
               ("l.scales", "f2", (groups, rows), struct.pack("<e", 0.5) * (groups * rows))]
    if ordered:
        places = [i // _GROUP for i in range(columns)]
        random.Random(1).shuffle(places)
        tensors.append(("l.g_idx", "i4", (columns,), array.array("i", places).tobytes()))
    return tensors, {"quant_method": "gptq", "bits": bits, "group_size": _GROUP, "desc_act": ordered, "sym": False}


def awq(rows, columns, version):
    groups = columns // _GROUP
    if version == "gemm":
        shapes = (columns, rows // 8), (groups, rows // 8), (groups, rows)
    else:
        width = -(-groups // 8)
        shapes = (rows, columns // 8), (rows, width), (rows, 8 * width)
    sizes = [shape[0] * shape[1] for shape in shapes]
    return [("l.qweight", "i4", shapes[0], _words(sizes[0])), ("l.qzeros", "i4", shapes[1], _words(sizes[1])),
            ("l.scales", "f2", shapes[2], struct.pack("<e", 0.5) * sizes[2])], {
                "quant_method": "awq", "bits": 4, "group_size": _GROUP, "zero_point": True, "version": version}


def layers():
    """What is read: a name, tensors, a configuration."""
    for rows, columns in _SHAPES:
        yield f"GPTQ {rows} x {columns}, 4 bits", *gptq(rows, columns, 4, False)
        yield f"AWQ {rows} x {columns}", *awq(rows, columns, "gemm")
    rows, columns = _SHAPES[-1]
    for bits in (2, 3, 8):
        yield f"GPTQ {rows} x {columns}, {bits} bits, ordered", *gptq(rows, columns, bits, True)
    yield f"AWQ gemv {rows} x {columns}", *awq(rows, columns, "gemv")


def write_layer(folder, tensors, config):
    with open(os.path.join(folder, "in", "model.safetensors"), "wb") as file:
        file.write(tensor_files.safetensors(tensors))
    with open(os.path.join(folder, "in", "config.json"), "w", encoding="utf-8") as file:
        json.dump({"quantization_config": config}, file)


def write_large(folder, rows, columns, group):
    """A layer of GPTQ whose codes are a hole of the file; 8 bits each."""
    groups = columns // group
    sizes = {"l.scales": ("F16", [groups, rows], 2 * groups * rows),
             "l.qzeros": ("I32", [groups, rows // 4], groups * rows),
             "l.qweight": ("I32", [columns // 4, rows], columns * rows)}
    header, end = {}, 0
    for name, (dtype, shape, size) in sizes.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "in", "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + struct.pack("<e", 0.5) * (groups * rows))
        file.truncate(8 + len(text) + end)
    with open(os.path.join(folder, "in", "config.json"), "w", encoding="utf-8") as file:
        json.dump({"quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": group}}, file)


def write_turned(folder, rows, columns):
    """A matrix of bfloat16 whose columns are whole in the file."""
    storage = torch.Storage("bfloat16", [0.5], rows * columns)
    storage.content = lambda order: bytes(2 * rows * columns)
    with open(os.path.join(folder, "in.pt"), "wb") as file:
        file.write(torch.zip_file({"w": torch.Tensor(storage, (rows, columns), (1, rows))},
                                  zipfile.ZIP_STORED, False, False))


def bytes_in(path):
    files = [os.path.join(path, name) for name in os.listdir(path)] if os.path.isdir(path) else [path]
    return sum(map(os.path.getsize, files))


def main():
    arguments = findings.parser(__doc__).parse_args()
    account = findings.Account("bytes read")
    with findings.scratch_folder() as folder:
        injector = Injector(arguments.tool, arguments.library, folder)
        os.mkdir(os.path.join(folder, "in"))

        def check(what, source, command, problems=(), most=_TIMES):
            run = injector.run(command.split(), folder)
            times = run.bytes_read / bytes_in(os.path.join(folder, source))
            problems = list(problems) + ([f"exit code {run.code}"] if run.code != 0 else [])
            if not 1 <= times <= most:
                problems.append("bytes are read more often than is said, or not at all")
            shown = f"{what}: {command}: {times:.2f} times the file"
            if arguments.exhaustive:
                print(shown, flush=True)
            account.add(problems, shown, run)

        for what, tensors, config in layers():
            write_layer(folder, tensors, config)
            for threads, verb in itertools.product((1, 3), ("convert in -o out --force --no-report", "loss in")):
                check(what, "in", f"{verb} --to bf16 --threads {threads}")
        for rows, columns in _SHAPES:
            write_turned(folder, rows, columns)
            tiles = 2 * rows * columns // _TILE + 1 if 2 * rows <= _SHORT else 0
            for threads in (1, 3):
                check(f"transposed {rows} x {columns}", "in.pt", f"loss in.pt --to fp8 --threads {threads}",
                      most=max(_TIMES, 1.05 * tiles))

        write_large(folder, *_LARGE)
        command = "loss in --to bf16 --threads 3"
        run, peak = measured([injector.tool, *command.split()], folder)
        problems = [f"{peak // _MEBIBYTE} MiB, promised are {_PROMISED // _MEBIBYTE}"] if peak > _PROMISED else []
        check("GPTQ of 400 MB", "in", command, problems + ([f"exit code {run.code}"] if run.code != 0 else []))
    return account.end()


if __name__ == "__main__":
    sys.exit(main())
