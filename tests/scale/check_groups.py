#!/usr/bin/env python3
"""Integers in groups, written by the tool in every layout that has them, held against exact rationals: scales, zero
points, biases, codes, and where each of them stands; read back; and what the report says was lost.

    check_groups.py --tool build/release/programs/tensorcast [NAME...]

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

import layout_files as files
from bitsandbytes_files import single
from check_written import is_finite, run, stored

LAYOUTS = {"compressed-tensors": (4, 8), "gptq": (4, 8), "awq": (4,), "mlx": (4, 8)}
GROUPS = (32, 64, 128, None)
WORDS = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}
FLOAT32 = struct.Struct("<f")
LEAST = {"BF16": Fraction(1, 2 ** 126), "F32": Fraction(1, 2 ** 126), "F16": Fraction(1, 2 ** 14)}


def scale_word(layout, source):
    if layout == "awq":
        return "F16"
    if layout == "gptq":
        return "BF16" if source == "BF16" else "F16"
    return source if source in ("BF16", "F16") else "F32"


def bytes_of(value, word):
    if word == "BF16":
        return struct.pack("<f", float(value))[2:]
    return struct.pack({"F16": "<e", "F32": "<f"}[word], float(value))


def rounded_scale(exact, word):
    """As it is stored: a normal number."""
    return max(Fraction(files.round_to(exact, WORDS[word])), LEAST[word])


def codes_by(values, scale, zero, bits):
    last = (1 << bits) - 1
    above, below = abs(scale.numerator), scale.denominator
    sign = 1 if scale > 0 else -1
    codes = []
    for value in values:
        if isinstance(value, float) and math.isnan(value):
            code = zero
        elif isinstance(value, float) and math.isinf(value):
            code = last if (value > 0) == (scale > 0) else 0
        else:
            own, parts = value.as_integer_ratio()
            code = files.nearest(sign * own * below, parts * above) + zero
        codes.append(min(last, max(0, code)))
    return codes


def mlx_codes(values, scale, bias, bits):
    """MLX's own rule, each step in float32."""
    last, codes = (1 << bits) - 1, []
    # A double has digits enough of a difference or a quotient of two float32 that to round it is to round once.
    scale, bias = float(scale), float(bias)
    for value in map(float, values):
        if math.isinf(value):
            codes.append(last if (value > 0) == (scale > 0) else 0)
            continue
        value = 0.0 if math.isnan(value) else float32(value)
        codes.append(min(last, max(0, round(float32(float32(value - bias) / scale)))))
    return codes


def float32(value):
    return FLOAT32.unpack(FLOAT32.pack(value))[0]


def mlx_fitted(values, bits, word):
    """MLX's own rule, each step in float32."""
    last = (1 << bits) - 1
    values = [single(Fraction(v)) if is_finite(v) and v else v for v in values]
    finite = [v for v in values if is_finite(v)] or [0.0]
    least, most = Fraction(min(finite)), Fraction(max(finite))
    scale = max(single(single(most - least) / last), single(Fraction(1e-7)))
    edge = least if abs(least) > abs(most) else most
    if not abs(least) > abs(most):
        scale = -scale
    steps = round(Fraction(single(edge / scale)))
    bias = Fraction(0)
    if steps:
        scale, bias = single(edge / steps), edge
    codes = mlx_codes(values, scale, bias, bits)
    kept = [Fraction(files.round_to(x, WORDS[word])) if x else Fraction(0) for x in (scale, bias)]
    return kept[0], kept[1], codes


def error_of(numbers, codes, scale, zero, bias):
    """The sum of squared errors as every search has it: eight sums of each 1,024, these blocks exactly."""
    total = Fraction(0)
    # The product is a double; a bias is added to it as doubles are.
    made_of = {code: float(code * scale) + float(bias) if zero is None else float((code - zero) * scale)
               for code in set(codes)}
    for begin in range(0, len(numbers), 1024):
        sums = [0.0] * 8
        for i, (number, code) in enumerate(zip(numbers[begin:begin + 1024], codes[begin:begin + 1024])):
            if math.isfinite(number):
                difference = number - made_of[code]
                sums[i % 8] += difference * difference
        pairs = [sums[k] + sums[k + 4] for k in range(4)]
        total += Fraction((pairs[0] + pairs[1]) + (pairs[2] + pairs[3]))
    return float(total)


def searched(values, bits, asymmetric, layout, word, fine=False):
    """The same with the scale of p * 40/64 to p * 72/64 that loses least, the larger one of two; `fine`: of eight
    bits in steps of 1/512 from 7/8 on, of four with either sign where that may be, the positive one first."""
    scale, zero, bias, codes = group_of(values, bits, asymmetric, layout, word)
    if not any(is_finite(v) and v for v in values):
        return scale, zero, bias, codes
    numbers = [float(value) for value in values]
    plain, least = (scale, zero, bias, codes), error_of(numbers, codes, scale, zero, bias)
    best, tried = plain, {scale}
    steps = [Fraction(k, 64) for k in range(40, 73)]
    if fine and bits == 8:
        steps = [*steps[:16], *(Fraction(k, 512) for k in range(448, 577))]
    signs = (1, -1) if fine and bits == 4 and not asymmetric else (1,)
    for step in sorted((step * sign for step in steps for sign in signs), key=lambda s: (abs(s), s), reverse=True):
        one = files.round_to(scale * step, WORDS[word])
        if not is_finite(one) or abs(one) < LEAST[word] or one in tried:
            continue
        one = Fraction(one)
        tried.add(one)
        if zero is None:
            made = (one, zero, bias, mlx_codes(values, one, bias, bits))
        else:
            own = None if bias is None else -zero * one
            if own is not None and not is_finite(files.round_to(own, WORDS[word])):
                continue
            made = (one, zero, own, codes_by(values, one, zero, bits))
        error = error_of(numbers, made[3], one, zero, bias)
        if error < least or error == least and abs(one) > abs(best[0]):
            best, least = made, error
    return best


def searched_finely(*weight):
    return searched(*weight, fine=True)


def group_of(values, bits, asymmetric, layout, word):
    """The stored scale, the zero point or None, the bias or None, the codes."""
    finite = [v for v in values if is_finite(v)]
    middle = 1 << (bits - 1)
    if not asymmetric:
        amax = Fraction(max(map(abs, finite), default=0.0))
        most = middle - Fraction(1, 2) if bits <= 4 else Fraction(middle - 1)
        scale = rounded_scale(amax / most, word) if amax else Fraction(1)
        bias = -middle * scale if layout == "mlx" else None
        return scale, middle, bias, codes_by(values, scale, middle, bits)
    if layout == "mlx":
        scale, bias, codes = mlx_fitted(values, bits, word)
        return scale, None, bias, codes
    least, most = Fraction(min([0.0, *finite])), Fraction(max([0.0, *finite]))
    if least == most:
        return Fraction(1), 0, None, codes_by(values, Fraction(1), 0, bits)
    scale = rounded_scale((most - least) / (2 * middle - 1), word)
    zero = min(2 * middle - 1, max(0, round(-least / scale)))
    return scale, zero, None, codes_by(values, scale, zero, bits)


def stream(codes, bits):
    """Words of 32 bits, little-endian, as a list."""
    held = 0
    for i, code in enumerate(codes):
        held |= code << (i * bits)
    return [held >> (32 * k) & 0xFFFFFFFF for k in range(-(-len(codes) * bits // 32))]


def words_bytes(words):
    return b"".join(struct.pack("<I", word) for word in words)


def awq_words(row):
    """Eight columns of a row in a word."""
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    return [sum(row[i + order[k]] << (4 * k) for k in range(8)) for i in range(0, len(row), 8)]


def placed(matrix, layout, bits, group, asymmetric, shape, word):
    """The tensors of one matrix's rows of (scale, zero, bias, codes) by their endings: bytes and the last two
    dimensions."""
    rows = [[code for cell in row for code in cell[3]] for row in matrix]
    n, k = shape[-2:]
    cells = -(-k // group)
    numbers = {at: [[cell[at] for cell in row] for row in matrix] for at in (0, 1, 2)}

    def turned(table):
        return [[row[c] for row in table] for c in range(len(table[0]))]

    def flat(table):
        return b"".join(bytes_of(x, word) for row in table for x in row)

    if layout in ("compressed-tensors", "mlx"):
        lines = [stream(row, bits) for row in rows]
        made = {"codes": (b"".join(map(words_bytes, lines)), (n, len(lines[0]))),
                "scales": (flat(numbers[0]), (n, cells))}
        if layout == "mlx":
            made["biases"] = (flat(numbers[2]), (n, cells))
        elif asymmetric:
            down = [stream(column, bits) for column in turned(numbers[1])]
            made["zeros"] = (b"".join(map(words_bytes, turned(down))), (len(down[0]), cells))
        return made
    made = {"scales": (flat(turned(numbers[0])), (cells, n))}
    if layout == "gptq":
        lines = turned([stream(row, bits) for row in rows])
        made["codes"] = (b"".join(map(words_bytes, lines)), (len(lines), n))
        across = [stream(column, bits) for column in turned(numbers[1])]
    else:
        lines = [awq_words(column) for column in turned(rows)]
        made["codes"] = (b"".join(map(words_bytes, lines)), (k, n // 8))
        across = [awq_words(column) for column in turned(numbers[1])]
    made["zeros"] = (b"".join(map(words_bytes, across)), (cells, len(across[0])))
    return made


ENDINGS = {
    "compressed-tensors": {"codes": ".weight_packed", "scales": ".weight_scale", "zeros": ".weight_zero_point"},
    "gptq": {"codes": ".qweight", "scales": ".scales", "zeros": ".qzeros"},
    "awq": {"codes": ".qweight", "scales": ".scales", "zeros": ".qzeros"},
    "mlx": {"codes": ".weight", "scales": ".scales", "biases": ".biases"},
}


def quantise(name, values, shape, source, layout, bits, group, asymmetric, make=group_of):
    """The tensors of a weight by name, and its values once more."""
    word = scale_word(layout, source)
    n, k = shape[-2:]
    group = group or k
    parts, again = {}, []
    for batch in range(math.prod(shape[:-2])):
        matrix = []
        for r in range(n):
            row = values[(batch * n + r) * k:(batch * n + r + 1) * k]
            cells = [make(row[c:c + group], bits, asymmetric, layout, word) for c in range(0, k, group)]
            matrix.append(cells)
            for scale, zero, bias, codes in cells:
                worth = {code: code * scale + bias if bias is not None else (code - zero) * scale
                         for code in set(codes)}
                again += [worth[code] for code in codes]
        for part, (data, dims) in placed(matrix, layout, bits, group, asymmetric, shape, word).items():
            before = parts.get(part, (b"", None))[0]
            parts[part] = (before + data, (*shape[:-2], *dims))
    stem = name.removesuffix(".weight")
    words = "U32" if layout == "mlx" else "I32"
    made = {}
    for part, (data, dims) in parts.items():
        dtype = word if part in ("scales", "biases") else words
        made[stem + ENDINGS[layout][part]] = files.Tensor(dtype, dims, data)
    if layout == "compressed-tensors":
        made[stem + ".weight_shape"] = files.Tensor("I64", (len(shape),), struct.pack(f"<{len(shape)}q", *shape))
    if layout == "gptq":
        made[stem + ".g_idx"] = files.Tensor("I32", (k,), struct.pack(f"<{k}i", *(i // group for i in range(k))))
    return made, again


def weights(layout, group, few):
    """Names, shapes, types and values that meet every corner; `few` rows of each, for what takes long here."""
    rng = random.Random(f"groups {layout} {group}")
    made = {}
    plain = layout in ("compressed-tensors", "mlx")
    # A row need be no whole number of words where words follow each other in it.
    columns = 256 if group or layout != "compressed-tensors" else 131
    if few and group and group < 128:
        columns = 128
    rows, least, all_rows = (8, 16, 8) if few and plain else (37 if plain else 32 if few else 64, 32, 32)

    def add(key, shape, word, values):
        data, held = stored(values, word)
        made[key] = (files.Tensor(word, shape, data), [float(value) for value in held])

    def normal(n, sigma=0.02):
        return [rng.gauss(0, sigma) for _ in range(n)]

    add("model.layers.0.self_attn.q_proj.weight", (rows, columns), "BF16", normal(rows * columns))
    odd = normal(least * columns, 1.0)
    odd[:columns] = [0.0] * columns
    odd[columns:2 * columns] = [-0.0] * columns
    odd[2 * columns + 3], odd[2 * columns + 4] = math.inf, -math.inf
    odd[3 * columns:4 * columns] = [math.nan] * columns
    odd[4 * columns + 1], odd[4 * columns + 2] = math.nan, math.copysign(math.nan, -1)
    odd[5 * columns:6 * columns] = [abs(x) for x in normal(columns)]
    odd[6 * columns:7 * columns] = [-abs(x) for x in normal(columns)]
    odd[7 * columns:8 * columns] = [rng.choice((7.5, -7.5, 0.5, 1.5, 2.5, -0.5, -3.5, 6.5)) for _ in range(columns)]
    odd[8 * columns:9 * columns] = [rng.choice((127.0, -127.0, 0.5, 1.5, -2.5, 63.5)) for _ in range(columns)]
    odd[9 * columns:10 * columns] = [math.inf] * columns
    odd[10 * columns:11 * columns] = [0.25] * columns
    if layout == "compressed-tensors":  # MLX's bias would be eight times the largest scale
        odd[11 * columns:12 * columns] = [rng.choice((3.4e38, -1e38, 1e38)) for _ in range(columns)]
    if plain:
        odd[12 * columns:13 * columns] = [rng.choice((1e-45, -3e-42, 1e-38)) for _ in range(columns)]
        odd[13 * columns:14 * columns] = [math.ldexp(rng.choice((-1, 1)), rng.randrange(-140, 120))
                                          for _ in range(columns)]
    add("model.layers.0.mlp.down_proj.weight", (least, columns), "F32", odd)
    add("model.layers.0.mlp.up_proj.weight", (all_rows, columns), "F16", normal(all_rows * columns, 1e-6))
    add("model.layers.0.mlp.gate_proj.weight", (all_rows, columns), "F64",
        [x * 0.1 for x in normal(all_rows * columns, 3.0)])
    if plain and not few:
        add("model.layers.0.mlp.experts.w1.weight", (3, 35, 128), "BF16", normal(3 * 35 * 128))
    return made


def check(tool, layout, bits, group, asymmetric, folder, make=group_of):
    folder.mkdir()
    made = weights(layout, group, make is not group_of)
    tensors = {key: tensor for key, (tensor, _) in made.items()}
    tensors["model.norm.weight"] = files.Tensor("F32", (128,), bytes(512))
    source, out, again = (folder / n for n in ("in.safetensors", "out.safetensors", "back.safetensors"))
    files.write_safetensors(source, tensors, {"format": "pt"})
    flags = ["--to", f"int{bits}-group"]
    if layout != "compressed-tensors":
        flags += ["--layout", layout]
    if group != (64 if layout == "mlx" else 128):
        flags += ["--group", group or "channel"]
    if asymmetric:
        flags.append("--asymmetric")
    if make is not group_of:
        flags += ["--scale", "mse" if make is searched else "mse-fine"]
    done = run(tool, "convert", source, "-o", out, *flags, "--threads", 1, "--json")
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr}"
    report = json.loads(done.stdout)
    found, _ = files.read_safetensors(out)
    wanted, values = {"model.norm.weight": tensors["model.norm.weight"]}, {}
    for key, (tensor, held) in made.items():
        parts, values[key] = quantise(key, held, tensor.shape, tensor.dtype, layout, bits, group, asymmetric,
                                      make)
        wanted.update(parts)
    if set(found) != set(wanted):
        return f"tensors {sorted(set(found) ^ set(wanted))} are on one side only"
    for key, tensor in wanted.items():
        got = found[key]
        if (got.dtype, tuple(got.shape)) != (tensor.dtype, tuple(tensor.shape)):
            return f"{key} is {got.dtype} {got.shape}, not {tensor.dtype} {tensor.shape}"
        if got.data != tensor.data:
            at = next(i for i, (a, b) in enumerate(zip(got.data, tensor.data)) if a != b)
            return f"{key}: byte {at} is {got.data[at]:#x}, not {tensor.data[at]:#x}"
    other = folder / "other.safetensors"
    done = run(tool, "convert", source, "-o", other, *flags, "--threads", 8, "--json")
    if done.returncode != 0 or other.read_bytes() != out.read_bytes():
        return "eight threads write other bytes"
    if json.loads(done.stdout)["totals"] != report["totals"]:
        return "eight threads report other figures"
    for entry in report["tensors"]:
        held, got = made[entry["name"]][1], values[entry["name"]]
        # Rounding keeps the order, so the largest of the rounded ones is the largest one rounded.
        errors = [abs(float(b) - a) for a, b in zip(held, got) if is_finite(a)]
        if entry["loss"]["max_abs_error"] != max(errors):
            return (f"{entry['name']}: the largest error is said to be {entry['loss']['max_abs_error']}, "
                    f"not {max(errors)}")
    if config := report.get("quantization_config"):
        (folder / "config.json").write_text(json.dumps({"quantization_config": config}))
    done = run(tool, "convert", out, "-o", again, "--to", "float64", "--no-report")
    if done.returncode != 0:
        return f"back: exit {done.returncode}: {done.stderr}"
    back, _ = files.read_safetensors(again)
    for key, list_of in values.items():
        for i, (value, (got,)) in enumerate(zip(list_of, struct.iter_unpack("<d", back[key].data), strict=True)):
            if got != files.round_to(value, "float64"):
                return f"{key} read back: element {i} is {got!r}, not {float(value)!r}"
    return None


def check_refused(tool, folder):
    """A scale that its type does not hold: the tensor is named, and nothing is left."""
    folder.mkdir()
    data, _ = stored([1.0] * (33 * 128) + [1e30] * 128 + [1.0] * (30 * 128), "F32")
    source, out = folder / "in.safetensors", folder / "out.safetensors"
    files.write_safetensors(source, {"a.q_proj.weight": files.Tensor("F32", (64, 128), data)})
    done = run(tool, "convert", source, "-o", out, "--to", "int4-group", "--layout", "awq")
    if done.returncode != 3 or "a.q_proj.weight: group 0 of row 33" not in done.stderr:
        return f"exit {done.returncode}: {done.stderr}"
    return "something is left" if len(list(folder.iterdir())) != 1 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("names", nargs="*")
    flags = parser.parse_args()
    failed = 0

    def say(case, wrong):
        print(f"{case}: {wrong or 'ok'}", flush=True)
        return wrong is not None

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for layout, widths in LAYOUTS.items():
            for bits in widths:
                for group in GROUPS:
                    for asymmetric in (False, True):
                        case = f"int{bits}-{layout}-{group or 'channel'}{'-asymmetric' if asymmetric else ''}"
                        if layout == "mlx" and group is None:
                            continue
                        if flags.names and not any(n in case for n in flags.names):
                            continue
                        failed += say(case, check(flags.tool, layout, bits, group, asymmetric, folder / case))
        for layout, bits, group, asymmetric in (("compressed-tensors", 4, 32, False), ("gptq", 8, 64, True),
                                                ("awq", 4, None, True), ("compressed-tensors", 4, None, False),
                                                ("mlx", 4, 64, False), ("mlx", 4, 32, True), ("mlx", 8, 128, True)):
            case = f"mse-int{bits}-{layout}-{group or 'channel'}{'-asymmetric' if asymmetric else ''}"
            if not flags.names or any(n in case for n in flags.names):
                failed += say(case, check(flags.tool, layout, bits, group, asymmetric, folder / case, searched))
        for layout, bits, group, asymmetric in (("compressed-tensors", 4, 128, False), ("mlx", 4, 32, False),
                                                ("gptq", 8, None, False), ("awq", 4, 64, True)):
            case = f"mse-fine-int{bits}-{layout}-{group or 'channel'}{'-asymmetric' if asymmetric else ''}"
            if not flags.names or any(n in case for n in flags.names):
                failed += say(case, check(flags.tool, layout, bits, group, asymmetric, folder / case, searched_finely))
        if not flags.names:
            failed += say("refused", check_refused(flags.tool, folder / "refused"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
