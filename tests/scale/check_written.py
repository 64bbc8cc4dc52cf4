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

    def encode(self, quotient, negative):
        """The nearest code, ties to the even one, beyond the range the last."""
        magnitude = abs(quotient)
        at = bisect.bisect_left(self.values, magnitude)
        if at == len(self.values):
            code = at - 1
        elif self.values[at] == magnitude or at == 0:
            code = at
        else:
            below, above = magnitude - self.values[at - 1], self.values[at] - magnitude
            code = at - 1 if below < above or (below == above and at % 2) else at
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
# layout: format: endings of codes, scale, global scale; the shape of one scale
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
}
DEFAULTS = {"fp8-block": "deepseek"}


def is_finite(value):
    return not isinstance(value, float) or math.isfinite(value)


def packed(codes, bits):
    stream = 0
    for i, code in enumerate(codes):
        stream |= code << (i * bits)
    return stream.to_bytes(len(codes) * bits // 8, "little")


def largest(values):
    return max((abs(Fraction(v)) for v in values if is_finite(v)), default=Fraction(0))


def quantise(values, shape, name, layout, rule, most=None):
    """The tensors of a weight by their endings, and its values once more. `most`: the largest
    magnitude of all that share its global scale; none: its own."""
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
        if most:
            exact = 448 * 6 / most if layout == "compressed-tensors" else most / (448 * 6)
            stored = files.round_to(exact, "float32")
            if not 2.0 ** -126 <= stored < math.inf:  # 0, subnormal or not finite
                stored = 1.0
        stored_global = struct.pack("<f", stored)
        factor = Fraction(stored) if layout == "modelopt" else 1 / Fraction(stored)
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
    word = {"fp8": "F8_E4M3", "int8": "I8"}.get(name.split("-")[0])
    if name == "mxfp8":
        word = "F8_E4M3"
    if word is None:
        code_shape = (*shape[:-1], columns * element.bits // 8)
        word = "U8"
    else:
        code_shape = shape
    if whole:
        scale_shape = one
    else:
        scale_shape = (*shape[:-2], down, across)
    scale_word = {"F32": "F32", "E8M0": "U8", "E4M3": "F8_E4M3"}[scale_type]
    made = {codes_end: files.Tensor(word, code_shape, packed(codes, element.bits)),
            scale_end: files.Tensor(scale_word, scale_shape, scale_bytes)}
    if global_end is not None:
        made[global_end] = files.Tensor("F32", one, stored_global)
    return made, again


# ---------------------------------------------------------------------------------- weights


def stored(values, word):
    """Floats as the bytes of a type, NaN with its sign, and the values that these hold."""
    data = b""
    for value in values:
        if word == "BF16":
            data += struct.pack("<f", value)[2:]
        else:
            data += struct.pack({"F32": "<f", "F16": "<e", "F64": "<d"}[word], value)
    size = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8}[word]
    held = []
    for i in range(0, len(data), size):
        piece = data[i:i + size]
        if word == "BF16":
            held.append(files.from_float(struct.unpack("<f", b"\0\0" + piece)[0]))
        else:
            letter = {"F32": "<f", "F16": "<e", "F64": "<d"}[word]
            held.append(files.from_float(struct.unpack(letter, piece)[0]))
    return data, held


def weights(name):
    """Names, shapes, types and values that meet every corner of a format."""
    rng = random.Random(f"written {name}")
    ragged = FORMATS[name][2] is None or FORMATS[name][2] == 128
    columns = 131 if ragged else 96
    made = {}

    def add(key, shape, word, values):
        data, held = stored(values, word)
        made[key] = (files.Tensor(word, shape, data), held)

    def normal(n, sigma=0.02):
        return [rng.gauss(0, sigma) for _ in range(n)]

    add("model.layers.0.self_attn.q_proj.weight", (130, columns), "BF16", normal(130 * columns))
    odd = normal(12 * columns)
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
    add("model.layers.0.mlp.down_proj.weight", (12, columns), "F32", odd)
    add("model.layers.0.mlp.up_proj.weight", (8, 32 * 5 + (3 if ragged else 0)), "F16",
        normal(8 * (32 * 5 + (3 if ragged else 0)), 100.0))
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


def run(tool, *arguments):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)


def check(tool, name, layout, rule, folder):
    folder.mkdir()
    made = weights(name)
    tensors = {key: tensor for key, (tensor, _) in made.items()}
    for key, (word, shape, _) in OTHERS.items():
        tensors[key] = files.Tensor(word, shape, struct.pack("<f", 0.5) * math.prod(shape))
    source, out, again = (folder / n for n in ("in.safetensors", "out.safetensors", "back.safetensors"))
    files.write_safetensors(source, tensors, {"format": "pt"})
    flags = ["--to", name]
    if layout != DEFAULTS.get(name, "compressed-tensors"):
        flags += ["--layout", layout]
    if rule != FORMATS[name][4][0]:
        flags += ["--scale", rule]
    done = run(tool, "convert", source, "-o", out, *flags, "--threads", 1, "--json")
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr}"
    report = json.loads(done.stdout)
    for left in report["left_alone"]:
        word = OTHERS[left["name"]][2]
        if word not in left["reason"]:
            return f"{left['name']} is left alone as {left['reason']!r}, not as {word!r}"
    found, _ = files.read_safetensors(out)
    wanted, values = {}, {}
    for key, tensor in tensors.items():
        if key not in made:
            wanted[key] = tensor
            continue
        parts, values[key] = quantise(made[key][1], tensor.shape, name, layout, rule)
        wanted.update({key + end: part for end, part in parts.items()})
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
        errors = [abs(Fraction(float(b)) - Fraction(a)) for a, b in zip(held, got)
                  if is_finite(a) and is_finite(b)]
        if entry["loss"]["max_abs_error"] != float(max(errors)):
            return (f"{entry['name']}: the largest error is said to be "
                    f"{entry['loss']['max_abs_error']}, not {float(max(errors))}")
    if config := report.get("quantization_config"):
        (folder / "config.json").write_text(json.dumps({"quantization_config": config}))
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
