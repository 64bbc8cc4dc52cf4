#!/usr/bin/env python3
"""What a report costs: processor time of `convert` with and without one, by format, in turns.

    bench/report_cost.py TOOL [--before TOOL] [--source bf16] [--folder /dev/shm] [--applied | --loss] [FORMAT...]

Writes 393 MB of normally distributed weights into the folder, converts them on one thread, and prints CSV: for each
build and format the medians of seven turns in seconds, of the program's own time and of the kernel's. GGUF's types are
written from the same weights in a GGUF file. With --applied, weights in each format become bfloat16. With --loss it is
`loss` that runs, and a FORMAT may be several types: float16,int8,float8e4m3fn is three, measured at once. Needs numpy.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    sys.exit(f"report_cost.py: {missing}: install tests/peers/requirements.txt")

TURNS = 7
SHAPE = (48000, 4096)
GGUF = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0")
SCALED = ("fp8-tensor", "fp8-row", "fp8-block", "int8-row", "mxfp8", "mxfp4", "nvfp4", "int8-group", "int4-group")
FORMATS = ("f8e4m3fn", "i8", *SCALED, *GGUF)


def header_of(path, source, size):
    """What stands before the bytes of one matrix."""
    name = "model.layers.0.mlp.up_proj.weight"
    if path.suffix == ".safetensors":
        entry = {"dtype": source.upper(), "shape": SHAPE, "data_offsets": [0, size]}
        header = json.dumps({name: entry}).encode()
        header += b" " * (-len(header) % 8)
        return struct.pack("<Q", len(header)) + header

    def text(string):
        return struct.pack("<Q", len(string)) + string.encode()

    types = {"f32": 0, "f16": 1, "bf16": 30}
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
    header += text("blk.0.ffn_up.weight") + struct.pack("<IQQIQ", 2, *reversed(SHAPE), types[source], 0)
    return header + bytes(-len(header) % 32)


def write_weights(path, source):
    """One file with one matrix, a block of random rows over and over; of a folder its one file."""
    if not path.suffix:
        path.mkdir()
        (path / "config.json").write_text('{"model_type": "llama"}')
        path /= "model.safetensors"
    rows = np.random.default_rng(1).standard_normal((SHAPE[0] // 8, SHAPE[1]), dtype=np.float32) * 0.02
    if source == "bf16":
        bits = rows.view(np.uint32)
        rows = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    elif source == "f16":
        rows = rows.astype(np.float16)
    with open(path, "wb") as file:
        file.write(header_of(path, source, rows.nbytes * 8))
        for _ in range(8):
            file.write(rows.tobytes())


def run(tool, *arguments):
    command = [tool, *arguments, "--threads", "1"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())


def convert(tool, source, target, *arguments):
    if target.is_dir():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    run(tool, "convert", source, "-o", target, *arguments)


def times(work):
    """Seconds of the programs that it runs, and of the kernel for them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tool")
    parser.add_argument("--before", help="another build, in turn with the tool")
    parser.add_argument("--source", choices=("bf16", "f16", "f32"), default="bf16")
    parser.add_argument("--folder", default="/dev/shm")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--applied", action="store_true", help="from each format to bfloat16")
    what.add_argument("--loss", action="store_true", help="`loss` of each, or of several types at once")
    parser.add_argument("formats", nargs="*")
    options = parser.parse_intermixed_args()
    if options.loss and not options.formats:
        parser.error("--loss: say which types")
    formats = options.formats or (SCALED + GGUF if options.applied else FORMATS)
    if not pathlib.Path(options.tool).is_file():
        parser.error(f"{options.tool}: there is no such tool")
    tools = {"before": options.before, "after": options.tool} if options.before else {"": options.tool}
    print("build,source,to,report,program_s,kernel_s", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for to in formats:
            kind = ".gguf" if to in GGUF else ".safetensors"
            if options.applied and to.endswith("-group"):
                kind = ""  # what the codes are is said by a configuration, which a folder has
            weights, made = pathlib.Path(folder, "weights" + kind), pathlib.Path(folder, "made" + kind)
            target = pathlib.Path(folder, "out" + (".safetensors" if options.applied and kind else kind))
            if not weights.exists():
                write_weights(weights, options.source)
            source, asked = weights, ["--to", to]
            if options.applied:
                convert(options.tool, weights, made, *asked, "--no-report")
                source, asked = made, ["--to", "bfloat16"]
            if options.loss:
                ways = {"loss": lambda tool: run(tool, "loss", source, *asked)}
            else:
                ways = {
                    "yes": lambda tool: convert(tool, source, target, *asked),
                    "no": lambda tool: convert(tool, source, target, *asked, "--no-report"),
                }
            samples = {}
            for _ in range(TURNS):
                for report, way in ways.items():
                    for build, tool in tools.items():
                        samples.setdefault((build, report), []).append(times(lambda: way(os.fspath(tool))))
            names = (to, "bf16") if options.applied else (options.source, to.replace(",", " "))
            for (build, report), taken in samples.items():
                program, kernel = (statistics.median(side) for side in zip(*taken))
                print(f"{build},{','.join(names)},{report},{program:.3f},{kernel:.3f}", flush=True)


if __name__ == "__main__":
    main()
