#!/usr/bin/env python3
"""Runs the commands on a checkpoint of very many small tensors, and weighs the memory they take.

    check_many_tensors.py --tool TOOL --library inject_faults.so [--tensors N]

No more than docs/command_line.md promises, 256 MiB, four times the header and so much for each tensor or node,
whatever the command reports; of the 256 MiB a few, as each tensor here has a few bytes; no more than a dry run
says; the output is what Python reads too. Time is not judged, only that there is an end.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import resource
import shlex
import struct
import subprocess
import sys
import zipfile

import check_growth
import findings
import tensor_files  # first: it says where the next is
import make_torch_file as torch
from injection import NO_END, Run

_MEBIBYTE = 1 << 20
_FIXED = 64 * _MEBIBYTE  # of the 256, where no chunk is full
_MEMBERS = 200_000  # that an archive has at most
_TENSOR, _MODEL_TENSOR, _NODE = 2048, 4096, 1024  # bytes that are promised for each
_SECONDS_AT_MOST = 900
_TYPES = "float8e4m3fn float8e5m2 bfloat16 float16 float4e2m1 float6e3m2 float6e2m3 int8".split()
_EIGHT = " ".join(f"--to {name}" for name in _TYPES)

COMMANDS = (
    "inspect in.safetensors",
    "inspect in.safetensors --json",
    f"loss in.safetensors {_EIGHT}",
    f"loss in.safetensors {_EIGHT} --json",
    "convert in.safetensors -o out.safetensors --to float16 --force",
    "convert in.safetensors -o out.safetensors --to float16 --force --json",
    "convert in.safetensors -o out.safetensors --to float16 --force --no-report --threads 2",
    "convert in.safetensors -o out.safetensors --to float16 --force --write-plan plan.json",
    "convert in.safetensors -o out.npz --to float16 --force",
    "convert in.safetensors -o none.safetensors --to float16 --dry-run",
)


def scaled_header(folder, count):
    """A directory of weights with a scale for each, `count` tensors together; its header's size."""
    os.mkdir(os.path.join(folder, "in"))
    check_growth.safetensors(os.path.join(folder, "in/model.safetensors"), check_growth.fp8_rows(count // 2))
    return _header_of(os.path.join(folder, "in/model.safetensors"))


def plain_header(folder, count):
    """Weights that become codes with scales."""
    check_growth.safetensors(os.path.join(folder, "plain.safetensors"), {
        f"l.{i}.weight": ("F32", [1, 32], bytes(128)) for i in range(count)})
    return _header_of(os.path.join(folder, "plain.safetensors"))


def model_of_casts(folder, count):
    os.chdir(folder)
    check_growth.chain(count)
    return 0


def model_of_weights(folder, count):
    os.chdir(folder)
    check_growth.weights_of_model(count)
    return 0


def _header_of(path):
    with open(path, "rb") as file:
        return struct.unpack("<Q", file.read(8))[0]


def gguf_header(folder, count):
    """A GGUF file of `count` tensors and half as many keys."""
    keys = b"".join(_text(f"key.{i}") + struct.pack("<iI", 4, i) for i in range(min(count // 2, 60_000)))
    infos = b"".join(_text(name_of(i)) + struct.pack("<IQiQ", 1, 3, 0, 32 * i) for i in range(count))
    head = b"GGUF" + struct.pack("<IQQ", 3, count, keys.count(b"key.")) + keys + infos
    with open(os.path.join(folder, "in.gguf"), "wb") as file:
        file.write(head + bytes(-len(head) % 32))
        for i in range(count):
            file.write(struct.pack("<3f20x", i % 1000, -0.5, 2 ** -20 * (i % 7)))
    return len(head)


def _text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def torch_header(folder, count):
    """Files of torch, each tensor with a storage of its own: the pickle and the archive's directory."""
    value = {name_of(i): torch.tensor("float32", [i % 1000, -0.5, 2 ** -20 * (i % 7)]) for i in range(count)}
    content = torch.zip_file(value, zipfile.ZIP_STORED, False, False)
    with open(os.path.join(folder, "in.bin"), "wb") as file:
        file.write(content)
    with open(os.path.join(folder, "legacy.bin"), "wb") as file:
        file.write(torch.legacy_file(value))
    return len(content) - 12 * count


# Commands, how what they read is made, how many a file can hold, and what is promised for each.
OTHERS = (
    (scaled_header, 800_000, _TENSOR, "convert in -o out --to bf16 --force", "convert in -o out --to bf16 --exclude *0.mlp.* --force",
     "loss in --to bf16,fp8"),
    (plain_header, 300_000, _TENSOR, "convert plain.safetensors -o out.safetensors --rule *.weight=nvfp4 --force"),
    (gguf_header, 1_000_000, _TENSOR, "inspect in.gguf --json", "convert in.gguf -o out.safetensors --to bf16 --force",
     "loss in.gguf --to bf16,fp8"),
    (torch_header, 150_000, _TENSOR, "inspect in.bin", "convert in.bin -o out.safetensors --to bf16 --force",
     "loss legacy.bin --to bf16,fp8", "diff in.bin legacy.bin"),
    (model_of_casts, 1_000_000, _NODE, "run chain.onnx --input x=x.npy --output-dir ran", "optimize chain.onnx -o out.onnx --force"),
    (model_of_weights, 500_000, _MODEL_TENSOR + _NODE, "convert in.onnx -o out.onnx --tensor * --to f16 --force"),
)


def name_of(i):
    return f"model.layers.{i // 16}.block.{i % 16}.weight"


def make_checkpoint(path, count):
    """`count` tensors of three float32; returns the size of the header."""
    entries = (f'"{name_of(i)}":{{"dtype":"F32","shape":[3],"data_offsets":[{12 * i},{12 * i + 12}]}}'
               for i in range(count))
    with open(path, "wb") as file:
        file.write(bytes(8) + b"{")
        for i, entry in enumerate(entries):
            file.write((b"," if i else b"") + entry.encode())
        file.write(b"}")
        file.write(b" " * (-file.tell() % 8))
        size = file.tell() - 8
        for i in range(count):
            file.write(struct.pack("<3f", i % 1000, -0.5, 2 ** -20 * (i % 7)))
        file.seek(0)
        file.write(struct.pack("<Q", size))
    return size


def measured(line, folder):
    """A run of the line, with its peak memory in bytes.

    The kernel counts for a child what its parent had when it was started: this process stays small.
    """
    out = os.path.join(folder, "stdout")
    with open(out, "wb") as stdout, open(os.path.join(folder, "stderr"), "w+b") as stderr:
        with subprocess.Popen(["timeout", "-s", "KILL", str(_SECONDS_AT_MOST), *line], cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        said = stderr.read(2000).decode("utf-8", "replace")
    code = NO_END if process.returncode in (-9, 137) else process.returncode
    return Run(code, None, said), usage.ru_maxrss * 1024


def problems_of_output(folder, command, count):
    """In a process of its own, for the sake of this one's memory."""
    if "out.safetensors" in command:
        with open(os.path.join(folder, "out.safetensors"), "rb") as file:
            read = tensor_files.read_safetensors(file.read())
        i = count // 3
        wanted = ("F16", (3,), struct.pack("<3e", i % 1000, -0.5, 2 ** -20 * (i % 7)))
        if len(read) != count or read[name_of(i)] != wanted:
            return ["other tensors than Python reads"]
    if "--json" in command:
        with open(os.path.join(folder, "stdout"), encoding="utf-8") as file:
            if name_of(count - 1) not in json.dumps(json.load(file)):
                return ["the last tensor is not reported"]
    return []


def memory_said(tool, folder):
    """What a dry run says that a conversion takes, in bytes."""
    line = [tool, *"convert in.safetensors -o none.safetensors --to float16 --dry-run --json".split()]
    dry = subprocess.run(line, cwd=folder, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    return json.loads(dry.stdout)["memory_bytes"]


def apart(function, *arguments):
    """What the function returns, called in a child process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, json.dumps(function(*arguments)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        answer = file.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else ["the output cannot be read"]


def check_others(tool, arguments, account):
    """Inputs of other kinds, each made in a process of its own."""
    for make, most, each, *commands in OTHERS:
        count = min(most, arguments.tensors)
        with findings.scratch_folder() as folder:
            allowed = _FIXED + 4 * apart(make, folder, count) + each * count
            for command in commands:
                run, peak = measured([tool, *command.split()], folder)
                problems = [] if run.code == 0 else [f"exit code {run.code}"]
                if peak > allowed:
                    problems.append("more memory than is promised")
                shown = f"{count}: {command}: {peak // _MEBIBYTE} MiB, promised are {allowed // _MEBIBYTE}"
                if arguments.exhaustive:
                    print(shown, flush=True)
                account.add(problems, shown, run)


def main():
    parser = findings.parser(__doc__)
    parser.add_argument("--tensors", type=int, default=10_000)
    arguments = parser.parse_args()
    account = findings.Account(f"{arguments.tensors} tensors")
    tool = os.path.abspath(arguments.tool)
    with findings.scratch_folder() as folder:
        header = make_checkpoint(os.path.join(folder, "in.safetensors"), arguments.tensors)
        allowed = _FIXED + 4 * header + _TENSOR * arguments.tensors
        said = apart(memory_said, tool, folder)
        for command in COMMANDS:
            is_long = ".npz" in command or (command.startswith("loss") and "--json" in command)
            if is_long and arguments.tensors > _MEMBERS:  # no archive has so many; ten gigabytes of report
                continue
            run, peak = measured([tool, *command.split()], folder)
            problems = [] if run.code == 0 else [f"exit code {run.code}"]
            if peak > allowed:
                problems.append("more memory than is promised")
            if command.startswith("convert") and peak > said:
                problems.append(f"more memory than the {said // _MEBIBYTE} MiB that a dry run says")
            if run.code == 0:
                problems += apart(problems_of_output, folder, command, arguments.tensors)
            shown = (f"{shlex.join([tool, *command.split()])}: {peak // _MEBIBYTE} MiB, "
                     f"promised are {allowed // _MEBIBYTE}, said {said // _MEBIBYTE}")
            if arguments.exhaustive:
                print(shown, flush=True)
            account.add(problems, shown, run)
    check_others(tool, arguments, account)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if own > 200:
        sys.exit(f"this process took {own} MiB itself: the figures are not the tool's")
    return account.end()


if __name__ == "__main__":
    sys.exit(main())
