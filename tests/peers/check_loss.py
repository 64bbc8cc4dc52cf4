#!/usr/bin/env python3
"""The loss report of a checkpoint against figures worked out here with numpy, and every type.

Takes the real checkpoint that scripts/checkpoint.py keeps, or a made one where that is absent.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import sys

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

from element_types import FINITE_ONLY, FLOAT8, TYPES
from expected import expected_codes, finite_values, first_differences
from tool import Tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import checkpoint  # noqa: E402  (scripts/checkpoint.py)

_MEASURED = ("float16", "bfloat16", "float8e4m3fn", "float8e5m2", "float8e4m3fnuz", "float6e3m2",
             "float4e2m1", "int8", "float64")
_RELATIVE = 1e-9


def figures(x, y, target):
    """Counts and errors of finite float32 values `x` that became `y` (both float64)."""
    to = TYPES[target]
    error = np.abs(x - y)
    if to.is_integer:
        beyond = (np.trunc(x) < to.low) | (np.trunc(x) > to.high)
    elif target in FLOAT8 + FINITE_ONLY:
        beyond = np.abs(x) >= _first_past(target)
    else:
        beyond = np.zeros(x.shape, bool)
    exact = x == y
    infinite = ~np.isfinite(y)
    wrapped = beyond & to.is_integer & ~exact
    limit = beyond & (not to.is_integer) & ~exact
    zero = (x != 0) & (y == 0) & ~wrapped & ~limit
    counts = {"exact": exact, "wrapped": wrapped, "to_infinity": infinite, "to_limit": limit,
              "to_zero": zero}
    counts = {name: int(mask.sum()) for name, mask in counts.items()}
    counts["rounded"] = x.size - sum(counts.values())
    if to.is_float:
        least_normal = float(ml_dtypes.finfo(to.dtype).smallest_normal)
        counts["to_subnormal"] = int(((y != 0) & (np.abs(y) < least_normal)).sum())
    both = np.isfinite(y)
    nonzero = x != 0
    relative = both & nonzero
    noise = _sum_of_squares(error[both])
    signal = _sum_of_squares(x[both])
    return {"counts": counts, "max_abs_error": float(error[both].max(initial=0)),
            "max_rel_error": float((error[relative] / np.abs(x[relative])).max())
            if relative.any() else None,
            "rmse": math.sqrt(noise / max(1, int(both.sum()))),
            "snr_db": 10 * math.log10(signal / noise) if noise and signal else None,
            "amax": float(np.abs(x).max(initial=0)),
            "smallest_nonzero": float(np.abs(x[nonzero]).min()) if nonzero.any() else None}


def _sum_of_squares(values):
    return float(np.sum(values.astype(np.longdouble) ** 2))


def _first_past(target):
    """The magnitude from which a value, rounded as if there were no end, lies beyond the end."""
    values = finite_values(target)
    step = values[-1] - values[-2]
    middle = values[-1] + step / 2
    # A tie goes to the even significand: past the end where the end's own is odd.
    return middle if values[-1] / step % 2 else np.nextafter(middle, np.inf)


def _close(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs) <= _RELATIVE * max(abs(ours), abs(theirs))


def check_figures(tool, path, tensors):
    """The JSON report of each measured type, tensor by tensor; returns the failures."""
    failures = []
    flags = [flag for target in _MEASURED for flag in ("--to", target)]
    report = json.loads(tool.run("loss", path, *flags, "--json", "-q")[0])
    by_type = {entry["to"]: entry["tensors"] for entry in report["types"]}
    for target in _MEASURED:
        measured = {entry["name"]: entry["loss"] for entry in by_type[target]}
        if set(measured) != set(tensors):
            failures.append(f"{target}: tensors {sorted(set(measured) ^ set(tensors))[:5]}")
            continue
        for name, array in tensors.items():
            y = TYPES[target].values(expected_codes(array, target)).astype(np.float64)
            want = figures(array.ravel().astype(np.float64), y, target)
            got = measured[name]
            for kind, count in want["counts"].items():
                if got["counts"][kind] != count:
                    failures.append(f"{target} {name}: {kind} {got['counts'][kind]}, "
                                    f"numpy counts {count}")
            for figure, value in want.items():
                if figure != "counts" and not _close(got[figure], value):
                    failures.append(f"{target} {name}: {figure} {got[figure]!r}, "
                                    f"numpy finds {value!r}")
    return failures


def check_every_type(tool, path, tensors):
    """The checkpoint to each of the 25 types, with the bytes numpy gives, and back to float32."""
    failures = []
    there, back = tool.folder / "there.safetensors", tool.folder / "back.safetensors"
    for target, element_type in TYPES.items():
        tool.run("convert", path, "-o", there, "--to", target, "--force", "--no-report", "-q")
        tool.run("convert", there, "-o", back, "--to", "float32", "--all-types", "--force",
                 "--no-report", "-q")
        with open(there, "rb") as file:
            written = dict(safetensors.deserialize(file.read()))
        returned = safetensors.numpy.load_file(back)
        for name, array in tensors.items():
            want = expected_codes(array, target)
            data = bytes(written[name]["data"])
            if data != element_type.packed(want):
                failures.append(f"{target} {name}: {first_differences(array, data, want, target)}")
                continue
            values = element_type.values(want).astype(np.float32)
            again = returned[name]
            if again.shape != array.shape or not np.array_equal(again.ravel(), values):
                said = first_differences(array, again.tobytes(), values.view(np.uint32), "float32")
                failures.append(f"{target} {name}: back as float32: {said}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    parser.add_argument("check", choices=("figures", "types"))
    arguments = parser.parse_args()
    path = checkpoint.checkpoint(offline=True)
    tensors = {name: array for name, array in safetensors.numpy.load_file(path).items()
               if array.dtype == np.float32}
    print(f"{path}: {len(tensors)} float32 tensors, {sum(a.size for a in tensors.values())} values")
    check = {"figures": check_figures, "types": check_every_type}[arguments.check]
    with Tool(arguments.tool) as tool:
        failures = check(tool, path, tensors)
    for failure in failures[:20]:
        print(failure)
    if len(failures) > 20:
        print(f"and {len(failures) - 20} more")
    print("the checkpoint holds" if not failures else f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
