#!/usr/bin/env python3
"""What a report costs: processor time of `convert` with and without one, by format, in turns.

    bench/report_cost.py TOOL [--before TOOL] [--source bf16] [--folder /dev/shm] [FORMAT...]

Writes 393 MB of normally distributed weights into the folder, converts them on one thread, and prints CSV: for each
build and format the medians of seven turns in seconds, of the program's own time and of the kernel's. Needs numpy.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import struct
import subprocess
import tempfile

import numpy as np

TURNS = 7
SHAPE = (48000, 4096)
FORMATS = ("f8e4m3fn", "i8", "fp8-tensor", "fp8-row", "fp8-block", "int8-row", "mxfp8", "mxfp4", "nvfp4")


def write_weights(path, source):
    """One safetensors file with one matrix, a block of random rows over and over."""
    rows = np.random.default_rng(1).standard_normal((SHAPE[0] // 8, SHAPE[1]), dtype=np.float32) * 0.02
    if source == "bf16":
        bits = rows.view(np.uint32)
        rows = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    size = rows.nbytes * 8
    entry = {"dtype": source.upper(), "shape": SHAPE, "data_offsets": [0, size]}
    header = json.dumps({"model.layers.0.mlp.up_proj.weight": entry}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for _ in range(8):
            file.write(rows.tobytes())


def times(tool, source, target, arguments):
    """Seconds of the program and of the kernel for one conversion."""
    target.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [tool, "convert", source, "-o", target, "--threads", "1", *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tool")
    parser.add_argument("--before", help="another build, in turn with the tool")
    parser.add_argument("--source", choices=("bf16", "f32"), default="bf16")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("formats", nargs="*", default=FORMATS)
    options = parser.parse_intermixed_args()
    tools = {"before": options.before, "after": options.tool} if options.before else {"": options.tool}
    print("build,source,to,report,program_s,kernel_s")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source, target = pathlib.Path(folder, "weights.safetensors"), pathlib.Path(folder, "out.safetensors")
        write_weights(source, options.source)
        for to in options.formats:
            samples = {}
            for _ in range(TURNS):
                for report, extra in (("yes", []), ("no", ["--no-report"])):
                    for build, tool in tools.items():
                        sample = times(os.fspath(tool), source, target, ["--to", to, *extra])
                        samples.setdefault((build, report), []).append(sample)
            for (build, report), taken in samples.items():
                program, kernel = (statistics.median(side) for side in zip(*taken))
                print(f"{build},{options.source},{to},{report},{program:.3f},{kernel:.3f}", flush=True)


if __name__ == "__main__":
    main()
