#!/usr/bin/env python3
"""Scales that are searched for (--scale mse, mse-fine, four-over-six), written by the tool in every format that has them, held
against the same search in Python: candidates in rationals, errors in doubles step by step, their blocks' sums exactly.

    check_searched.py --tool build/release/programs/tensorcast [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import random
import struct
import sys
import tempfile
from fractions import Fraction

import check_written as written
import layout_files as files
from check_written import E2M1, E2M3, E4M3, INT8, is_finite, run, stored

# Format: element, block of rows x columns (None: as many as there are), the scale's type, the plain rule.
FORMATS = {
    "fp8-tensor": (E4M3, None, None, "F32"),
    "fp8-row": (E4M3, 1, None, "F32"),
    "fp8-block": (E4M3, 128, 128, "F32"),
    "int8-row": (INT8, 1, None, "F32"),
    "mxfp8": (E4M3, 1, 32, "E8M0"),
    "mxfp6": (E2M3, 1, 32, "E8M0"),
    "mxfp4": (E2M1, 1, 32, "E8M0"),
    "nvfp4": (E2M1, 1, 16, "E4M3"),
}
CASES = [(name, "mse", None) for name in FORMATS] + [
    ("int8-row", "mse-fine", None), ("nvfp4", "mse", "modelopt"), ("nvfp4", "four-over-six", None), ("nvfp4", "four-over-six", "modelopt")]


def candidates(plain, element, kind, rule):
    """Scales near the plain one, the larger first."""
    if kind == "E4M3":
        all_of = {E4M3.decode(code) for code in range(1, 0x7F)}
        return sorted((s for s in all_of if plain / 2 <= s <= plain * 2), reverse=True)
    if kind == "E8M0":
        near = (plain * 2, plain, plain / 2)
        return [s for s in near if Fraction(2) ** -127 <= s <= Fraction(2) ** 127]
    first, last = (40, 72) if element is INT8 else (32, 128)
    steps = [Fraction(k, 64) for k in range(first, last + 1)]
    if rule == "mse-fine":
        steps = steps[:16] + [Fraction(k, 512) for k in range(448, 577)]
    near = {Fraction(files.round_to(plain * k, "float32")) for k in steps if plain * k <= Fraction(2) ** 127}
    return sorted((s for s in near if s >= Fraction(2) ** -126), reverse=True)


def error_of(values, element, scale, factor, divides):
    """The sum of squared errors over a cell's finite values: eight sums of each 1,024, these blocks exactly."""
    total, step, made_of = Fraction(0), scale * factor, {}
    for begin in range(0, len(values), 1024):
        sums = [0.0] * 8
        for i, value in enumerate(values[begin:begin + 1024]):
            if not is_finite(value):
                continue
            code = element.encode(Fraction(value) / step, value < 0)
            if code not in made_of:
                number = Fraction(element.decode(code))
                # A product of the code, the scale and a global scale that multiplies is a double.
                made_of[code] = float(number * step) if not divides else float(number * scale) / divides
            difference = float(value) - made_of[code]
            sums[i % 8] += difference * difference
        pairs = [sums[k] + sums[k + 4] for k in range(4)]
        total += Fraction((pairs[0] + pairs[1]) + (pairs[2] + pairs[3]))
    return float(total)


def quantise(values, shape, name, rule, layout):
    """The scale of each cell as stored, and the codes."""
    element, block_rows, block_columns, kind = FORMATS[name]
    columns, rows = shape[-1], shape[-2]
    height, width = block_rows or rows, block_columns or columns
    down, across = -(-rows // height), -(-columns // width)
    cells = {}
    for i, value in enumerate(values):
        batch, row, column = i // columns // rows, i // columns % rows, i % columns
        cell = 0 if block_rows is None else (batch * down + row // height) * across + column // width
        cells.setdefault(cell, []).append(i)
    factor, divides, stored_global = Fraction(1), None, None
    if kind == "E4M3":
        most = written.largest(values)
        top = 256 if rule == "four-over-six" else 448
        exact = most / (top * 6) if layout == "modelopt" else top * 6 / most
        stored_global = files.round_to(exact, "float32")
        factor = Fraction(stored_global) if layout == "modelopt" else 1 / Fraction(stored_global)
        divides = None if layout == "modelopt" else stored_global
    scales, codes = [], [0] * len(values)
    for cell in sorted(cells):
        held = [values[i] for i in cells[cell]]
        amax = written.largest(held)
        if kind == "F32":
            plain = written.float_scale(amax, element.most, "amax")
        elif kind == "E8M0":
            plain = written.power_scale(amax, element, "round")
        else:
            plain = written.e4m3_scale(amax / (6 * factor), amax)
        scale = plain
        if amax:
            tried = candidates(plain, element, kind, rule)
            if rule == "four-over-six":
                tried = [plain, written.e4m3_scale(amax / (4 * factor), amax)]
            best = None
            for one in tried:
                error = error_of(held, element, one, factor, divides)
                if best is None or error < best:
                    best, scale = error, one
        scales.append(scale)
        for i, value in zip(cells[cell], held):
            negative = isinstance(value, float) and math.copysign(1, value) < 0 or value < 0
            if isinstance(value, float) and math.isnan(value):
                codes[i] = element.nan(negative)
            elif isinstance(value, float) and math.isinf(value):
                codes[i] = element.encode(element.most * 2, negative)
            else:
                codes[i] = element.encode(Fraction(value) / (scale * factor), negative)
    return scales, codes, stored_global


def weights(name):
    rng = random.Random(f"searched {name}")
    made = {}

    def add(key, shape, word, values):
        data, held = stored(values, word)
        made[key] = (files.Tensor(word, shape, data), held)

    def normal(n, sigma=0.02):
        return [rng.gauss(0, sigma) for _ in range(n)]

    tensor = FORMATS[name][1] is None
    block = FORMATS[name][2] == 128
    columns = 130 if block or FORMATS[name][2] is None else 96
    rows = 9 if tensor else 129 if block else 12
    odd = normal(rows * columns, 1.0)
    odd[:columns] = [0.0] * columns
    odd[2 * columns + 3], odd[2 * columns + 4] = math.inf, -math.inf
    odd[3 * columns + 1], odd[3 * columns + 2] = math.nan, math.copysign(math.nan, -1)
    odd[4 * columns:5 * columns] = [rng.choice((448.0, 464.0, -432.0, 6.0, 5.0, 2.5, 1.25, 0.25)) for _ in range(columns)]
    odd[5 * columns:6 * columns] = [0.0] * (columns - 1) + [7.0]
    odd[6 * columns:7 * columns] = [rng.gauss(0, 0.01) for _ in range(columns - 2)] + [9.0, -3.0]  # outliers
    add("model.layers.0.mlp.down_proj.weight", (rows, columns), "F32", odd)
    if not block:
        # Rows of more than 1,024 elements.
        long = 1024 * 2 + 32 if FORMATS[name][2] is None else 32 * 3
        add("model.layers.0.mlp.up_proj.weight", (12 if long < 1000 else 1, long), "BF16",
            normal((12 if long < 1000 else 1) * long))
    if not tensor:
        add("model.layers.0.self_attn.o_proj.weight", (32, 32), "F64", [x * 0.1 for x in normal(32 * 32)])
        add("model.layers.0.mlp.experts.w1.weight", (2, 17, 32), "F16", normal(2 * 17 * 32, 1e-3))
    return made


def check(tool, name, rule, layout, folder):
    folder.mkdir()
    made = weights(name)
    source, out = folder / "in.safetensors", folder / "out.safetensors"
    files.write_safetensors(source, {key: tensor for key, (tensor, _) in made.items()}, {"format": "pt"})
    flags = ["--to", name, "--scale", rule] + (["--layout", layout] if layout else [])
    done = run(tool, "convert", source, "-o", out, *flags, "--threads", 1, "--json")
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr}"
    figures = done.stdout
    found, _ = files.read_safetensors(out)
    kind = FORMATS[name][3]
    codes_end, scale_end, global_end, _ = written.LAYOUTS[
        name, layout or written.DEFAULTS.get(name, "compressed-tensors")]
    plain_too = 0
    for key, (tensor, held) in made.items():
        scales, codes, stored_global = quantise(held, tensor.shape, name, rule, layout)
        if kind == "F32":
            wanted = b"".join(struct.pack("<f", float(s)) for s in scales)
        elif kind == "E8M0":
            wanted = bytes(written.floor_log2(s) + 127 for s in scales)
        else:
            wanted = bytes(E4M3.encode(s, False) for s in scales)
        if found[key + scale_end].data != wanted:
            at = next(i for i, (a, b) in enumerate(zip(found[key + scale_end].data, wanted)) if a != b)
            return f"{key}: byte {at} of the scales is {found[key + scale_end].data[at]:#x}, not {wanted[at]:#x}"
        if found[key + codes_end].data != written.packed(codes, FORMATS[name][0].bits):
            return f"{key}: other codes"
        if global_end and found[key + global_end].data != struct.pack("<f", stored_global):
            return f"{key}: another global scale"
        plain_too += len(scales)
    for how in (["--threads", 8], ["--threads", 1, "--target", "scalar"]):
        other = folder / "other.safetensors"
        done = run(tool, "convert", source, "-o", other, *flags, *how, "--json", "--force")
        if done.returncode == 2 and "--target" in how:
            continue
        if done.returncode != 0 or other.read_bytes() != out.read_bytes():
            return f"{how}: other bytes {done.stderr}"
    if not plain_too:
        return "nothing was compared"
    return check_gain(tool, source, folder, name, layout, figures)


def check_gain(tool, source, folder, name, layout, figures):
    """What the report says was gained is what the loss of a run by the plain rule says."""
    flags = ["--to", name] + (["--layout", layout] if layout else [])
    done = run(tool, "convert", source, "-o", folder / "plain.safetensors", *flags, "--json")
    if done.returncode != 0:
        return f"by the plain rule: exit {done.returncode}: {done.stderr}"
    plain = {tensor["name"]: tensor for tensor in json.loads(done.stdout)["tensors"]}
    for tensor in json.loads(figures)["tensors"]:
        before, after = (one["loss"]["rmse"] for one in (plain[tensor["name"]], tensor))
        if "gain_over_plain_db" in plain[tensor["name"]]:
            return f"{tensor['name']}: a gain without a search"
        wanted = 20 * math.log10(before / after) if after else math.inf if before else 0
        gain = tensor["gain_over_plain_db"]
        if not math.isclose(math.inf if gain is None else gain, wanted, rel_tol=1e-6, abs_tol=1e-6):
            return f"{tensor['name']}: a gain of {gain} dB, not {wanted}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("names", nargs="*")
    flags = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, rule, layout in CASES:
            case = f"{name}-{rule}{'-' + layout if layout else ''}"
            if flags.names and not any(n in case for n in flags.names):
                continue
            wrong = check(flags.tool, name, rule, layout, pathlib.Path(folder) / case)
            print(f"{case}: {wrong or 'ok'}", flush=True)
            failed += wrong is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
