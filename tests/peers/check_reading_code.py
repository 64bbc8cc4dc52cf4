#!/usr/bin/env python3
"""The Python code that convert prints for safetensors files whose types their library does not
unpack: it is run, and gives what ml_dtypes makes of the same values. Where there is no such code the
library reads the file by itself.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import sys

import ml_dtypes
import numpy as np
import safetensors
from safetensors.numpy import save_file

from tool import Tool

# Types of ours that are smaller than a byte, what ml_dtypes calls them, and their values.
NARROW = {
    "float4e2m1": (ml_dtypes.float4_e2m1fn, [0, 0.5, -1.5, 2, 3, -4, 6, -6]),
    "float6e2m3": (ml_dtypes.float6_e2m3fn, [0, 0.125, -1.75, 2.25, 7.5, -7.5, 1, -0.5]),
    "float6e3m2": (ml_dtypes.float6_e3m2fn, [0, 0.0625, -1.75, 20, 28, -28, 1, -0.5]),
    "int4": (ml_dtypes.int4, [0, 1, -1, 7, -8, 3, -5, 2]),
    "uint4": (ml_dtypes.uint4, [0, 1, 15, 7, 8, 3, 5, 2]),
    "int2": (ml_dtypes.int2, [0, 1, -1, -2, 1, 0, -2, -1]),
    "uint2": (ml_dtypes.uint2, [0, 1, 2, 3, 3, 2, 1, 0]),
}
SHAPES = {"row": (64,), "matrix": (5, 24), "odd": (3, 7), "one": (1,), "scalar": (), "empty": (0, 4)}


def inputs(values, seed):
    rng = np.random.default_rng(seed)
    return {name: rng.choice(np.float32(values), shape) for name, shape in SHAPES.items()}


def check(arrays, found, path, code, dtypes):
    """Runs the code on a file: its function gives the arrays, in ml_dtypes' types."""
    assert code is not None and len(code.splitlines()) <= 12, f"{path}: {code}"
    assert "does not unpack" in found, found
    names = {}
    exec(compile(code, "reading_code", "exec"), names)  # pylint: disable=exec-used
    for name, array in arrays.items():
        got, want = names["read"](path, name), np.asarray(array).astype(dtypes[name])
        assert got.dtype == want.dtype and got.shape == want.shape, f"{path}: {name}: {got.dtype}"
        assert got.tobytes() == want.tobytes(), f"{path}: {name}: {got} for {want}"


def convert(tool, before, after, *arguments):
    report = json.loads(tool.run("convert", before, "-o", after, "--json", "--force", *arguments)[0])
    return report["reading_hint"] or "", report["reading_code"]


def library_reads(path, dtypes):
    """Whether safetensors' own library gives the values of every tensor."""
    try:
        with safetensors.safe_open(path, "np") as file:
            return all(file.get_tensor(name).dtype == dtype for name, dtype in dtypes.items())
    except (safetensors.SafetensorError, AttributeError, TypeError):
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    checked = 0
    with Tool(parser.parse_args().tool) as tool:
        before, after = tool.folder / "in.safetensors", tool.folder / "out.safetensors"
        for seed, (to, (dtype, values)) in enumerate(NARROW.items()):
            arrays = inputs(values, seed)
            save_file(arrays, before)
            found, code = convert(tool, before, after, "--to", to)
            dtypes = dict.fromkeys(arrays, dtype)
            check(arrays, found, after, code, dtypes)
            assert not library_reads(after, dtypes), f"{to}: safetensors reads it by itself"
            checked += len(arrays)
        # All types in a directory of two files, each named once.
        folder, out = tool.folder / "model", tool.folder / "narrow"
        folder.mkdir()
        arrays, dtypes, rules = {}, {}, []
        for to, (dtype, values) in NARROW.items():
            for name, array in inputs(values, 9).items():
                arrays[f"{to}.{name}"], dtypes[f"{to}.{name}"] = array, dtype
            rules += ["--rule", f"{to}.*={to}"]
        names = sorted(arrays)
        for part in range(2):
            save_file({name: arrays[name] for name in names[part::2]},
                      folder / f"model-0000{part + 1}-of-00002.safetensors")
        found, code = convert(tool, folder, out, *rules)
        for part in range(2):
            check({name: arrays[name] for name in names[part::2]}, found,
                  out / f"model-0000{part + 1}-of-00002.safetensors", code, dtypes)
        # Types of whole bytes that numpy has need no code.
        save_file({"w": np.float32([[1, 2], [3, -4]])}, before)
        for to in ("float16", "float64", "int8", "uint16", "int32", "int64", "bool"):
            found, code = convert(tool, before, after, "--to", to)
            assert code is None and found == "", f"{to}: {found}"
            assert library_reads(after, {"w": np.dtype(to)}), f"{to}: safetensors does not read it"
    print(f"{checked} tensors of {len(NARROW)} types read by the printed code")
    return 0


if __name__ == "__main__":
    sys.exit(main())
