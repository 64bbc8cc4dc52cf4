#!/usr/bin/env python3
"""Every scaled format in every layout, written by the tool, held against exact rationals.

    check_written.py --tool build/release/programs/tensorcast [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import bisect
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

import layout_files as files

# ------------------------------------------------------------------------------- elements


class Element:
    """A code's type: its finite values by code, and what stands for what it cannot hold."""

    def __init__(self, bits, decode, nan):
        self.bits, self.decode, self.nan = bits, decode, nan
        half = 1 << (bits - 1)
        values = [decode(code) for code in range(half)]
        self.values = [v for v in values if not (isinstance(v, float) and not math.isfinite(v))]
        self.most = self.values[-1]
        self.exponent = floor_log2(self.most)
        # All of them are whole numbers of the smallest: they are compared as integers.
        self.unit = Fraction(self.values[1])
        self.units = [int(Fraction(v) / self.unit) for v in self.values]

    def encode(self, quotient, negative):
        """The nearest code, ties to the even one, beyond the range the last."""
        above = abs(quotient.numerator) * self.unit.denominator
        below = quotient.denominator * self.unit.numerator
        whole, rest = divmod(above, below)
        at = bisect.bisect_right(self.units, whole) if rest else bisect.bisect_left(self.units, whole)
        if at == len(self.units):
            code = at - 1
        elif at == 0:
            code = at
        else:
            twice, middles = 2 * above, (self.units[at - 1] + self.units[at]) * below
            code = at - 1 if twice < middles or (twice == middles and at % 2) else at
        return code | (1 << (self.bits - 1) if negative else 0)


class Int8:
    bits, most, exponent = 8, Fraction(127), 6

    def decode(self, code):
        return files.int8(code)

    def nan(self, _negative):
        return 0

    def encode(self, quotient, negative):
        value = min(127, round(abs(quotient)))  # Python rounds ties to even
        return (256 - value) % 256 if negative else value


def floor_log2(x):
    x = Fraction(x)
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= x else exponent - 1


E4M3 = Element(8, files.e4m3, lambda negative: 0xFF if negative else 0x7F)
E2M1 = Element(4, files.e2m1, lambda negative: 0 if negative else 8)
E2M3 = Element(6, files.e2m3, lambda negative: 0 if negative else 0x20)
INT8 = Int8()

# --------------------------------------------------------------------------------- scales


def float_scale(amax, most, rule):
    """A float32 scale: amax / M, or the least power of two that is not below it."""
    if amax == 0:
        return Fraction(1)
    exact = amax / most
    if rule == "pow2":
        exponent = floor_log2(exact)
        exact = Fraction(2) ** (exponent + (Fraction(2) ** exponent < exact))
    return max(Fraction(files.round_to(exact, "float32")), Fraction(2) ** -126)


def power_scale(amax, element, rule):
    """A float8e8m0 scale."""
    if amax == 0:
        return Fraction(1)
    if rule == "up":
        exact = amax / element.most
        exponent = floor_log2(exact)
        exponent += Fraction(2) ** exponent < exact
    else:
        if rule == "round":
            unit = Fraction(2) ** (floor_log2(amax) - (3 if element is E2M3 else 1))
            amax = (amax / unit + Fraction(1, 2)).__floor__() * unit
        exponent = floor_log2(amax) - element.exponent
    return Fraction(2) ** max(-127, min(127, exponent))


def e4m3_scale(exact, amax):
    """What an nvfp4 group stores."""
    if amax == 0:
        return Fraction(1)
    code = E4M3.encode(exact, False)
    return E4M3.decode(code) if code else Fraction(1, 512)


# -------------------------------------------------------------------------------- formats
# element, block of rows x columns (None: as many as there are), scale, rules
FORMATS = {
    "fp8-tensor": (E4M3, None, None, "F32", ["amax", "pow2"]),
    "fp8-row": (E4M3, 1, None, "F32", ["amax", "pow2"]),
    "fp8-block": (E4M3, 128, 128, "F32", ["amax", "pow2"]),
    "int8-row": (INT8, 1, None, "F32", ["amax", "pow2"]),
    "mxfp8": (E4M3, 1, 32, "E8M0", ["round", "up", "ocp"]),
    "mxfp6": (E2M3, 1, 32, "E8M0", ["round", "up", "ocp"]),
    "mxfp4": (E2M1, 1, 32, "E8M0", ["round", "up", "ocp"]),
    "nvfp4": (E2M1, 1, 16, "E4M3", ["amax"]),
}
# layout: format: endings of codes, scale, global scale, in place of ".weight" where the codes' begins
# with a dot; the shape of one scale
LAYOUTS = {
    ("fp8-block", "deepseek"): ("", "_scale_inv", None, None),
    ("fp8-block", "compressed-tensors"): ("", "_scale", None, None),
    ("fp8-row", "compressed-tensors"): ("", "_scale", None, None),
    ("fp8-tensor", "compressed-tensors"): ("", "_scale", None, (1,)),
    ("fp8-tensor", "modelopt"): ("", "_scale", None, ()),
    ("fp8-tensor", "comfyui"): ("", "_scale", None, ()),
    ("int8-row", "compressed-tensors"): ("", "_scale", None, None),
    ("mxfp8", "compressed-tensors"): ("", "_scale", None, None),
    ("mxfp6", "compressed-tensors"): ("_packed", "_scale", None, None),
    ("mxfp4", "compressed-tensors"): ("_packed", "_scale", None, None),
    ("nvfp4", "compressed-tensors"): ("_packed", "_scale", "_global_scale", (1,)),
    ("nvfp4", "modelopt"): ("", "_scale", "_scale_2", ()),
    ("mxfp4", "mlx"): (".weight", ".scales", None, None),
    ("mxfp8", "mlx"): (".weight", ".scales", None, None),
    ("nvfp4", "mlx"): (".weight", ".scales", None, None),
    ("mxfp8", "comfyui"): (".weight", ".weight_scale", None, None),
    ("nvfp4", "comfyui"): (".weight", ".weight_scale", ".weight_scale_2", ()),
    ("int8-row", "comfyui"): (".weight", ".weight_scale", None, None),
    ("int8-row", "comfyui --rotate"): (".weight", ".weight_scale", None, None),
    ("mxfp4", "gpt-oss"): ("_blocks", "_scales", None, None),
}
DEFAULTS = {"fp8-block": "deepseek"}


def is_finite(value):
    return not isinstance(value, float) or math.isfinite(value)


def packed(codes, bits):
    stream = 0
    for i, code in enumerate(codes):
        stream |= code << (i * bits)
    return stream.to_bytes(len(codes) * bits // 8, "little")


def tiled(grid, rows, columns):
    """Scales of a byte as a matrix unit takes them, and their shape: whole tiles of 128 x 4."""
    down, across = -(-rows // 128), -(-columns // 4)
    out = bytearray(down * across * 512)
    for r in range(rows):
        for c in range(columns):
            out[(r // 128 * across + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = \
                grid[r * columns + c]
    return bytes(out), (down * 128, across * 4)


ROTATED = 256


def rotate(values):
    """Groups of 256 doubles by the regular Hadamard matrix, base-4 digit by digit."""
    values = [float(v) for v in values]
    for begin in range(0, len(values), ROTATED):
        for step in (1, 4, 16, 64):
            for first in range(begin, begin + ROTATED):
                if first // step % 4:
                    continue
                at = [first + i * step for i in range(4)]
                four = [values[i] for i in at]
                for minus, i in zip((3, 2, 1, 0), at):
                    signed = [-v if j == minus else v for j, v in enumerate(four)]
                    values[i] = ((signed[0] + signed[1]) + signed[2]) + signed[3]
    return [files.from_float(v / 16) for v in values]


def rotated_back(codes):
    """Sums of integers, by the matrix' signs."""
    codes = list(codes)
    for step in (1, 4, 16, 64):
        for first in range(ROTATED):
            if first // step % 4:
                continue
            at = [first + i * step for i in range(4)]
            total = sum(codes[i] for i in at)
            back = [total - 2 * codes[i] for i in reversed(at)]
            for i, value in zip(at, back):
                codes[i] = value
    return codes


def largest(values):
    return max((abs(Fraction(v)) for v in values if is_finite(v)), default=Fraction(0))


def quantise(values, shape, name, layout, rule, most=None):
    """The tensors of a weight by their endings, and its values once more. `most`: the largest
    magnitude of all that share its global scale; none: its own."""
    if layout == "gpt-oss":  # [experts, inputs, outputs] as if it were [experts, outputs, inputs]
        turned = (*shape[:-2], shape[-1], shape[-2])
        made, again = quantise(turn(values, shape), turned, name, "compressed-tensors", rule)
        codes, scales = made["_packed"], made["_scale"]
        codes = files.Tensor("U8", (*turned[:-1], turned[-1] // 32, 16), codes.data)
        return {"_blocks": codes, "_scales": scales}, turn(again, turned)
    is_rotated = layout.endswith("--rotate") and shape[-1] % ROTATED == 0
    if is_rotated:
        values = rotate(values)
    element, block_rows, block_columns, scale_type, _ = FORMATS[name]
    codes_end, scale_end, global_end, one = LAYOUTS[name, layout]
    columns, rows = shape[-1], shape[-2]
    batches = math.prod(shape[:-2])
    whole = block_rows is None
    height = block_rows or rows
    width = block_columns or columns
    down, across = -(-rows // height), -(-columns // width)
    if whole:
        cell_of = [0] * len(values)
    else:
        cell_of = [(i // columns // rows * down + i // columns % rows // height) * across +
                   i % columns // width for i in range(len(values))]
    amax = [Fraction(0)] * (1 if whole else batches * down * across)
    for i, value in enumerate(values):
        if is_finite(value):
            amax[cell_of[i]] = max(amax[cell_of[i]], abs(Fraction(value)))
    factor = Fraction(1)  # what the global scale makes of a scale
    stored_global = None
    if name == "nvfp4":
        most = max(amax) if most is None else most
        stored = 1.0
        if most and layout != "mlx":
            exact = 448 * 6 / most if layout == "compressed-tensors" else most / (448 * 6)
            stored = files.round_to(exact, "float32")
            if not 2.0 ** -126 <= stored < math.inf:  # 0, subnormal or not finite
                stored = 1.0
        stored_global = struct.pack("<f", stored)
        divides = layout == "compressed-tensors"
        factor = 1 / Fraction(stored) if divides else Fraction(stored)
        scales = [e4m3_scale(a / (6 * factor), a) for a in amax]
        scale_bytes = bytes(E4M3.encode(s, False) for s in scales)
    elif scale_type == "F32":
        scales = [float_scale(a, element.most, rule) for a in amax]
        scale_bytes = b"".join(struct.pack("<f", float(s)) for s in scales)
    else:
        scales = [power_scale(a, element, rule) for a in amax]
        scale_bytes = bytes(floor_log2(s) + 127 for s in scales)
    codes, again = [], []
    for i, value in enumerate(values):
        scale = scales[cell_of[i]] * factor
        negative = isinstance(value, float) and math.copysign(1, value) < 0 or value < 0
        if isinstance(value, float) and math.isnan(value):
            code = element.nan(negative)
        elif isinstance(value, float) and math.isinf(value):
            code = element.encode(element.most * 2, negative)
        else:
            code = element.encode(Fraction(value) / scale, negative)
        codes.append(code)
        again.append(files.multiply(element.decode(code), scale))
    if is_rotated:
        again = []
        for begin in range(0, len(codes), ROTATED):
            scale = scales[cell_of[begin]] / 16
            again += [value * scale for value in
                      rotated_back(map(files.int8, codes[begin:begin + ROTATED]))]
    word = {"fp8": "F8_E4M3", "int8": "I8"}.get(name.split("-")[0])
    if name == "mxfp8":
        word = "F8_E4M3"
    data = packed(codes, element.bits)
    if layout == "mlx":
        word, code_shape = "U32", (*shape[:-1], columns * element.bits // 32)
    elif word is None:
        code_shape = (*shape[:-1], columns * element.bits // 8)
        word = "U8"
    else:
        code_shape = shape
    if whole:
        scale_shape = one
    else:
        scale_shape = (*shape[:-2], down, across)
    if layout == "comfyui" and block_columns:
        scale_bytes, scale_shape = tiled(scale_bytes, down, across)
        if name == "nvfp4":
            data = bytes(two >> 4 | (two & 15) << 4 for two in data)
    scale_word = {"F32": "F32", "E8M0": "U8", "E4M3": "F8_E4M3"}[scale_type]
    if layout == "mlx":
        scale_word = "U8"
    made = {codes_end: files.Tensor(word, code_shape, data),
            scale_end: files.Tensor(scale_word, scale_shape, scale_bytes)}
    if global_end is not None:
        made[global_end] = files.Tensor("F32", one, stored_global)
    return made, again


def turn(values, shape):
    """The last two dimensions swapped."""
    rows, columns = shape[-2:]
    return [values[(m * rows + r) * columns + c] for m in range(math.prod(shape[:-2]))
            for c in range(columns) for r in range(rows)]


def part_name(name, end, codes_end):
    return (name.removesuffix(".weight") if codes_end.startswith(".") else name) + end


# ---------------------------------------------------------------------------------- weights


def stored(values, word):
    """Floats as the bytes of a type, NaN with its sign, and the values that these hold."""
    letter = {"BF16": "f", "F32": "f", "F16": "e", "F64": "d"}[word]
    data = struct.pack(f"<{len(values)}{letter}", *values)
    if word == "BF16":
        data = b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))
    return data, files.decode(word, data)


def weights(name, layout):
    """Names, shapes, types and values that meet every corner of a format."""
    rng = random.Random(f"written {name}")
    ragged = FORMATS[name][2] is None or FORMATS[name][2] == 128
    columns = 131 if ragged else 96
    whole = 1  # rows have to be a multiple
    if layout.startswith("comfyui"):
        whole = {"nvfp4": 16, "mxfp8": 32}.get(name, 1)
    if layout.endswith("--rotate"):
        columns = 512
    made = {}

    def add(key, shape, word, values):
        data, held = stored(values, word)
        made[key] = (files.Tensor(word, shape, data), held)

    def normal(n, sigma=0.02):
        return [rng.gauss(0, sigma) for _ in range(n)]

    rows = -(-130 // whole) * whole
    if layout != "gpt-oss":
        add("model.layers.0.self_attn.q_proj.weight", (rows, columns), "BF16",
            normal(rows * columns))
    rows = -(-12 // whole) * whole
    odd = normal(rows * columns)
    odd[:columns] = [0.0] * columns  # cells without a value but zero
    odd[columns:2 * columns] = [-0.0] * columns
    odd[2 * columns + 3], odd[2 * columns + 4] = math.inf, -math.inf
    odd[3 * columns:4 * columns] = [math.nan] * columns
    odd[4 * columns + 1], odd[4 * columns + 2] = math.nan, math.copysign(math.nan, -1)
    odd[5 * columns:6 * columns] = [rng.choice((3.4e38, -3.4e38, 1e38)) for _ in range(columns)]
    odd[6 * columns:7 * columns] = [rng.choice((1e-45, -3e-42, 1e-38)) for _ in range(columns)]
    odd[7 * columns:8 * columns] = [rng.choice((448.0, 464.0, -432.0, 6.0, 5.0, 2.5, 1.25, 0.25))
                                    for _ in range(columns)]
    odd[8 * columns:9 * columns] = [math.ldexp(rng.choice((-1, 1)), rng.randrange(-140, 120))
                                    for _ in range(columns)]
    odd[9 * columns:10 * columns] = [math.inf] * columns
    if layout == "gpt-oss":
        add("model.layers.0.mlp.experts.down_proj", (2, columns, 6), "F32",
            turn(odd, (2, 6, columns)))
        add("model.layers.0.mlp.experts.gate_up_proj", (3, 64, 131), "BF16", normal(3 * 64 * 131))
        return made
    add("model.layers.0.mlp.down_proj.weight", (rows, columns), "F32", odd)
    rows, columns = -(-8 // whole) * whole, 32 * 5 + (3 if ragged else 0)
    add("model.layers.0.mlp.up_proj.weight", (rows, columns), "F16", normal(rows * columns, 100.0))
    if layout.startswith("comfyui") and name != "fp8-tensor":
        return made
    add("model.layers.0.mlp.experts.w1.weight", (3, 129, 32), "F32", normal(3 * 129 * 32, 1e-6))
    return made


OTHERS = {  # what a scaled format leaves alone, and why
    "model.embed_tokens.weight": ("F32", (64, 32), "embedding"),
    "lm_head.weight": ("F32", (64, 32), "head"),
    "model.layers.0.input_layernorm.weight": ("F32", (2048,), "norm"),
    "model.layers.0.mlp.gate.weight": ("F32", (64, 32), "router"),
    "model.layers.0.self_attn.q_proj.bias": ("F32", (2048,), "bias"),
    "model.layers.0.self_attn.small.weight": ("F32", (16, 32), "fewer than 1,024 values"),
    "model.conv.weight": ("F32", (16, 4, 32, 3), "not known"),
}


OTHERS_OF = {  # and what single layouts do
    "comfyui": {
        "model.layers.1.mlp.experts.w1.weight": ("F32", (3, 16, 32), "ComfyUI has only matrices in this format"),
        "model.layers.1.mlp.experts.w2.kernel": ("F32", (3, 32, 32), "ComfyUI has only matrices in this format"),
    },
    "gpt-oss": {
        "model.layers.0.self_attn.o_proj.weight": ("F32", (64, 32), "gpt-oss has"),
        "model.layers.0.mlp.experts.gate_up_proj_bias": ("F32", (32, 64), "bias"),
        "model.layers.1.mlp.experts.up_proj": ("F32", (3, 32, 64), "gpt-oss has"),
        "model.layers.1.mlp.experts.down_proj": ("F32", (3, 40, 64), "its inputs, 40"),
    },
    "mlx": {},
}
for _format, _rows in (("nvfp4", 16), ("mxfp8", 32)):
    OTHERS_OF[f"{_format} comfyui"] = {
        "model.layers.1.mlp.up_proj.weight":
            ("F32", (72, 32) if _rows == 16 else (80, 32), f"is not a multiple of {_rows}")}


def others(name, layout):
    if (name, layout) == ("fp8-tensor", "comfyui"):
        return OTHERS
    return OTHERS | OTHERS_OF.get(layout.split()[0], {}) | OTHERS_OF.get(f"{name} {layout}", {})


def run(tool, *arguments):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)


def check(tool, name, layout, rule, folder):
    folder.mkdir()
    made, left_alone = weights(name, layout), others(name, layout)
    tensors = {key: tensor for key, (tensor, _) in made.items()}
    for key, (word, shape, _) in left_alone.items():
        tensors[key] = files.Tensor(word, shape, struct.pack("<f", 0.5) * math.prod(shape))
    source, out, again = (folder / n for n in ("in.safetensors", "out.safetensors", "back.safetensors"))
    files.write_safetensors(source, tensors, {"format": "pt"})
    flags = ["--to", name]
    if layout != DEFAULTS.get(name, "compressed-tensors"):
        flags += ["--layout", *layout.split()]
    if rule != FORMATS[name][4][0]:
        flags += ["--scale", rule]
    done = run(tool, "convert", source, "-o", out, *flags, "--threads", 1, "--json")
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr}"
    report = json.loads(done.stdout)
    for left in report["left_alone"]:
        word = left_alone[left["name"]][2]
        if word not in left["reason"]:
            return f"{left['name']} is left alone as {left['reason']!r}, not as {word!r}"
    found, _ = files.read_safetensors(out)
    wanted, values = {}, {}
    for key, tensor in tensors.items():
        if key not in made:
            wanted[key] = tensor
            continue
        parts, values[key] = quantise(made[key][1], tensor.shape, name, layout, rule)
        codes_end = LAYOUTS[name, layout][0]
        wanted.update({part_name(key, end, codes_end): part for end, part in parts.items()})
    if set(found) != set(wanted):
        return f"tensors {sorted(set(found) ^ set(wanted))} are on one side only"
    for key, tensor in wanted.items():
        got = found[key]
        if (got.dtype, tuple(got.shape)) != (tensor.dtype, tuple(tensor.shape)):
            return f"{key} is {got.dtype} {got.shape}, not {tensor.dtype} {tensor.shape}"
        if got.data != tensor.data:
            at = next(i for i, (a, b) in enumerate(zip(got.data, tensor.data)) if a != b)
            return f"{key}: byte {at} is {got.data[at]:#x}, not {tensor.data[at]:#x}"
    parallel = folder / "parallel.safetensors"
    done = run(tool, "convert", source, "-o", parallel, *flags, "--threads", 8, "--json")
    if done.returncode != 0 or parallel.read_bytes() != out.read_bytes():
        return "eight threads write other bytes"
    if json.loads(done.stdout)["totals"] != report["totals"]:
        return "eight threads report other figures"
    # The figures: what a weight lost is what its codes and scales lack.
    for entry in report["tensors"]:
        held, got = made[entry["name"]][1], values[entry["name"]]
        # Rounding keeps the order, so the largest of the rounded ones is the largest one rounded.
        errors = [abs(float(b) - float(a)) for a, b in zip(held, got)
                  if is_finite(a) and is_finite(b)]
        if entry["loss"]["max_abs_error"] != max(errors):
            return (f"{entry['name']}: the largest error is said to be "
                    f"{entry['loss']['max_abs_error']}, not {max(errors)}")
    if config := report.get("quantization_config"):
        key = "quantization" if layout == "mlx" else "quantization_config"
        (folder / "config.json").write_text(json.dumps({key: config}))
    done = run(tool, "convert", out, "-o", again, "--to", "float64", "--no-report")
    if done.returncode != 0:
        return f"back: exit {done.returncode}: {done.stderr}"
    back, _ = files.read_safetensors(again)
    for key, list_of in values.items():
        for i, value in enumerate(list_of):
            got = struct.unpack_from("<d", back[key].data, 8 * i)[0]
            want = files.round_to(value, "float64")
            if got != want and not (math.isnan(got) and math.isnan(want)):
                return f"{key} read back: element {i} is {got!r}, not {want!r}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("names", nargs="*")
    flags = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, layout in LAYOUTS:
            for rule in FORMATS[name][4]:
                case = f"{name}-{layout}-{rule}"
                if flags.names and not any(n in case for n in flags.names):
                    continue
                wrong = check(flags.tool, name, layout, rule, pathlib.Path(folder) / case)
                print(f"{case}: {wrong or 'ok'}", flush=True)
                failed += wrong is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
