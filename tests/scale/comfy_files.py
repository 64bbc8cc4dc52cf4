"""Small checkpoints of ComfyUI (nvfp4 and mxfp8 with the scales of a matrix unit, int8 and int4, rotated
or not, integers with added numbers), and the exact values of their weights.

Nothing of tensorcast or of ComfyUI's libraries is asked: each scale is put at its place by the formula
of the layout, a rotation is the sum over the entries of its matrix, and numbers are rationals.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import json
import math
import struct
from fractions import Fraction

from layout_files import Case, Maker, Tensor, decode, e2m1, e4m3, e8m0, int8, multiply
from mlx_files import add

MARK = "_quantization_metadata"


def described(tensors, said, mark="tensor"):
    """The layer's description: a tensor, the file's metadata, or both."""
    metadata = {}
    if mark in ("tensor", "both"):
        text = json.dumps(said).encode()
        tensors = tensors | {"l.comfy_quant": Tensor("U8", (len(text),), text)}
    if mark in ("metadata", "both"):
        metadata[MARK] = json.dumps({"format_version": "1.0", "layers": {"l": said}})
    return tensors, metadata


def case(name, layout, tensors, said, weight, mark="tensor", **more):
    tensors, metadata = described(tensors, said, mark)
    return Case(name, layout, tensors, more.get("config"), {"l.weight": weight}, metadata)


# ------------------------------------------------------------------------- scales of a matrix unit


def tiled(grid, fill=0):
    """The bytes of a grid of scales in tiles of 128 x 4, and the shape that they are stored in."""
    rows, columns = len(grid), len(grid[0])
    across = -(-columns // 4)
    stored = bytearray([fill]) * (-(-rows // 128) * 128 * across * 4)
    for r in range(rows):
        for c in range(columns):
            place = ((r // 128) * across + c // 4) * 512 + (r % 32) * 16 + (r % 128) // 32 * 4 + c % 4
            stored[place] = grid[r][c]
    return bytes(stored), (-(-rows // 128) * 128, across * 4)


# What the reference shows: a grid of 256 x 8 whose scale (r, c) is r * 8 + c.
_places = tiled([[(r * 8 + c) % 256 for c in range(8)] for r in range(256)])
assert list(_places[0][:20]) == [value % 256 for value in (
    0, 1, 2, 3, 256, 257, 258, 259, 512, 513, 514, 515, 768, 769, 770, 771, 8, 9, 10, 11)]


def blocks(make, name, kind, shape, codes=None, grid=None, flat=False, fill=0, scale_type=None,
           second=None, mark="tensor", said=None, orig=None):
    """`shape` is that of the codes, `orig` that of the weight where it is said."""
    rows, columns = shape
    group, width = (16, 16) if kind == "nvfp4" else (32, 256)
    codes = codes or [make.codes(columns, width) for _ in range(rows)]
    grid = grid or [make.codes(columns // group) for _ in range(rows)]
    data, stored = tiled(grid, fill)
    if flat:
        stored = (len(data),)
    if kind == "nvfp4":
        packed = b"".join(bytes(a << 4 | b for a, b in zip(row[::2], row[1::2])) for row in codes)
        second = second or struct.pack("<f", 3.7e-4)
        factor = decode("F32", second)[0]
        tensors = {"l.weight": Tensor("U8", (rows, columns // 2), packed),
                   "l.weight_scale": Tensor("F8_E4M3", stored, data),
                   "l.weight_scale_2": Tensor("F32", (), second)}
        element, scale_of = e2m1, e4m3
    else:
        tensors = {"l.weight": Tensor("F8_E4M3", shape, bytes(code for row in codes for code in row)),
                   "l.weight_scale": Tensor(scale_type or "U8", stored, data)}
        factor = Fraction(1)
        element, scale_of = e4m3, e8m0
    element, scale_of = functools.cache(element), functools.cache(scale_of)
    kept = orig or shape
    values = [multiply(multiply(element(codes[r][c]), scale_of(grid[r][c // group])), factor)
              for r in range(kept[0]) for c in range(kept[1])]
    said = {"format": kind} | (said or {}) | ({"orig_shape": list(orig)} if orig else {})
    return case(name, kind, tensors, said, (kept, values), mark)


# -------------------------------------------------------------------------------- integers in rows


@functools.cache
def entries(size):
    """The signs of a rotation's matrix: - for each base-4 digit where row and column add up to 3."""
    def sign(i, j):
        return -1 if i % 4 + j % 4 == 3 else 1

    signs = [[1]]
    while len(signs) < size:
        signs = [[sign(i, j) * signs[i // 4][j // 4] for j in range(4 * len(signs))]
                 for i in range(4 * len(signs))]
    return signs


def rotated(row, scale, size):
    """Sums of +-(q * s) / sqrt(size) over groups of a row of integers."""
    matrix, root = entries(size), 2 ** round(math.log2(size) / 2)
    values = []
    for begin in range(0, len(row), size):
        group = row[begin:begin + size]
        if isinstance(scale, Fraction) and scale != 0:
            # Rationals add in any order; a sum of 0 is +0.
            values += [sum(s * q for s, q in zip(signs, group)) * scale / root for signs in matrix]
            continue
        products = [multiply(Fraction(q), scale) for q in group]
        for signs in matrix:
            total = None
            for s, product in zip(signs, products):
                term = multiply(Fraction(s), product)
                total = term if total is None else add(total, term)
            values.append(multiply(total, Fraction(1, root)))
    return values


def rows(make, name, shape, per_row=True, rotation=None, dtype="F32", odd=False, said=None, bits=8,
         mark="tensor", form=None, codes=None, ending=True):
    n, k = shape
    half = 1 << (bits - 1)
    codes = codes or [[code - half for code in make.codes(k, 2 * half)] for _ in range(n)]
    count = n if per_row else 1
    data, scales = make.floats(dtype, count, odd)
    flat = [code for row in codes for code in row]
    if bits == 8:
        packed = bytes(code & 255 for code in flat)
    else:
        packed = bytes((a & 15) | (b & 15) << 4 for a, b in zip(flat[::2], flat[1::2]))
    scale_shape = () if not per_row else (n, 1) if ending else (n,)
    tensors = {"l.weight": Tensor("I8", (n, k * bits // 8), packed),
               "l.weight_scale": Tensor(dtype, scale_shape, data)}
    values = []
    for r, row in enumerate(codes):
        scale = scales[r if per_row else 0]
        values += (rotated(row, scale, rotation) if rotation else
                   [multiply(Fraction(code), scale) for code in row])
    said = said if said is not None else {"format": "int8_tensorwise"} | (
        {"convrot": True, "convrot_groupsize": rotation} if rotation else {}) | (
        {"per_row": True} if per_row else {})
    layout = "int4-group" if bits == 4 else "int8-row" if per_row else "int8-tensor"
    return case(name, layout, tensors, said, (form or shape, values), mark)


def awq(make, name, shape, group=64, dtype="BF16", zero="weight_zero", odd=False, mark="tensor"):
    n, k = shape
    codes = [make.codes(k, 16) for _ in range(n)]
    packed = bytes(a | b << 4 for row in codes for a, b in zip(row[::2], row[1::2]))
    groups = k // group
    data, scales = make.floats(dtype, groups * n, odd)
    zero_data, zeros = make.floats(dtype, groups * n, False)
    tensors = {"l.weight": Tensor("I8", (n, k // 2), packed),
               "l.weight_scale": Tensor(dtype, (groups, n), data),
               f"l.{zero}": Tensor(dtype, (groups, n), zero_data)}
    values = [add(multiply(Fraction(codes[r][c] - 8), scales[c // group * n + r]),
                  zeros[c // group * n + r]) for r in range(n) for c in range(k)]
    said = {"format": "awq_w4a16"} | ({"group_size": group} if group != 64 else {})
    return case(name, "int4-group", tensors, said, (shape, values), mark)


def all_cases():
    make = Maker(25)
    # All codes under all scales.
    yield blocks(make, "comfy_nvfp4_all", "nvfp4", (256, 16), [list(range(16))] * 256,
                 [[r] for r in range(256)])
    yield blocks(make, "comfy_mxfp8_all", "mxfp8", (256, 256), [list(range(256))] * 256,
                 [[r] * 8 for r in range(256)])
    yield blocks(make, "comfy_nvfp4", "nvfp4", (130, 80), said={"group_size": 16})
    yield blocks(make, "comfy_nvfp4_metadata", "nvfp4", (16, 64), mark="metadata")
    yield blocks(make, "comfy_nvfp4_both", "nvfp4", (160, 144), mark="both",
                 said={"full_precision_matrix_mult": True})
    yield blocks(make, "comfy_nvfp4_flat", "nvfp4", (16, 32), flat=True, fill=0x7F)
    # The largest and the least of second scales: three factors are exact.
    yield blocks(make, "comfy_nvfp4_huge", "nvfp4", (16, 32), second=struct.pack("<f", 3.3e38))
    yield blocks(make, "comfy_nvfp4_tiny", "nvfp4", (16, 32), second=struct.pack("<I", 3))
    yield blocks(make, "comfy_nvfp4_nan", "nvfp4", (16, 32), second=struct.pack("<f", math.inf))
    yield blocks(make, "comfy_nvfp4_cut", "nvfp4", (144, 80), orig=(137, 74))
    yield blocks(make, "comfy_nvfp4_cut_odd", "nvfp4", (32, 48), orig=(17, 33))
    yield blocks(make, "comfy_nvfp4_uncut", "nvfp4", (32, 48), orig=(32, 48))
    yield blocks(make, "comfy_mxfp8", "mxfp8", (160, 160), mark="metadata",
                 said={"orig_dtype": "torch.bfloat16", "group_size": 32})
    yield blocks(make, "comfy_mxfp8_e8m0", "mxfp8", (32, 64), scale_type="F8_E8M0", fill=0xFF)
    yield blocks(make, "comfy_mxfp8_cut", "mxfp8", (64, 96), orig=(33, 77))

    every = [list(range(-128, 128))] * 12
    yield rows(make, "comfy_int8_all", (12, 256), codes=every, odd=True)
    yield rows(make, "comfy_int8_tensor", (5, 7), per_row=False)
    yield rows(make, "comfy_int8_rows", (5, 7), ending=False, mark="metadata",
               said={"format": "int8_tensorwise", "orig_shape": [5, 7]})
    yield rows(make, "comfy_int8_fast", (6, 24), dtype="BF16", said={"convrot": False, "per_row": True})
    for rotation in (4, 16, 64, 256):
        yield rows(make, f"comfy_rotated_{rotation}", (11, 512), rotation=rotation, odd=True)
        yield rows(make, f"comfy_rotated_{rotation}_one", (3, 256), rotation=rotation, per_row=False)
    # The largest sums.
    yield rows(make, "comfy_rotated_ends", (4, 256), rotation=256, dtype="F16", codes=[
        [-128] * 256, [127] * 256, [0] * 256, [-128 if s > 0 else 127 for s in entries(256)[200]]])
    # Under scales that are 0 or Inf, too: terms that all have the sign of a row.
    yield rows(make, "comfy_rotated_zeros", (30, 16), rotation=16, odd=True, codes=[
        [make.random.choice([0, 5, -5]) if r % 2 else 3 * s for s in entries(16)[r % 16]]
        for r in range(30)])
    yield rows(make, "comfy_rotated_fast", (6, 256), rotation=256,
               said={"convrot": True, "convrot_groupsize": 256, "per_row": True})
    yield rows(make, "comfy_rotated_usual", (2, 512), rotation=256, mark="metadata",
               said={"format": "int8_tensorwise", "convrot": True})
    yield rows(make, "comfy_w4a4", (9, 256), rotation=256, bits=4, odd=True, ending=False,
               said={"format": "convrot_w4a4", "quant_group_size": 64, "linear_dtype": "int4"})
    yield rows(make, "comfy_w4a4_16", (5, 64), rotation=16, bits=4, mark="metadata",
               said={"format": "convrot_w4a4", "convrot_groupsize": 16})

    yield awq(make, "comfy_awq", (24, 128))
    yield awq(make, "comfy_awq_wide", (3, 512), dtype="F16", zero="weight_zeros", mark="metadata")
    yield awq(make, "comfy_awq_f32", (40, 64), dtype="F32", odd=True)
    yield awq(make, "comfy_awq_32", (200, 64), group=32)


def large_cases():
    """(name, tensors, config, weight, shape, values): weights that are read in several pieces. A double
    holds each product and each sum."""
    make = Maker(26)
    n, k = 704, 2144
    codes = make.random.randbytes(n * k)
    grid = [make.random.choices(range(120, 134), k=k // 32) for _ in range(n)]
    data, stored = tiled(grid)
    text = json.dumps({"format": "mxfp8", "orig_shape": [689, 2130]}).encode()
    meaning = [float(e4m3(code)) for code in range(256)]
    factors = [float(e8m0(code)) for code in range(256)]
    values = [meaning[codes[r * k + c]] * factors[grid[r][c // 32]]
              for r in range(689) for c in range(2130)]
    yield ("comfy_mxfp8_pieces", {"l.weight": Tensor("F8_E4M3", (n, k), codes),
                                  "l.weight_scale": Tensor("U8", stored, data),
                                  "l.comfy_quant": Tensor("U8", (len(text),), text)},
           None, "l.weight", (689, 2130), values)
    n, k = 1100, 2048
    codes = make.random.randbytes(n * k)
    data, scales = make.floats("F32", n, False)
    text = json.dumps({"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": 4}).encode()
    values = []
    for i in range(0, n * k, 4):
        a, b, c, d = (float(int8(code)) for code in codes[i:i + 4])
        factor = float(scales[i // k]) / 2
        values += [(a + b + c - d) * factor, (a + b - c + d) * factor, (a - b + c + d) * factor,
                   (-a + b + c + d) * factor]
    yield ("comfy_rotated_pieces", {"l.weight": Tensor("I8", (n, k), codes),
                                    "l.weight_scale": Tensor("F32", (n, 1), data),
                                    "l.comfy_quant": Tensor("U8", (len(text),), text)},
           None, "l.weight", (n, k), values)
