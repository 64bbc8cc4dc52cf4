"""Small checkpoints of integers in groups (GPTQ, AWQ, auto-round, compressed-tensors' pack-quantized),
and the exact values of their weights.

Nothing of tensorcast is asked: words are packed code by code, and products are rationals.

SPDX-License-Identifier: Apache-2.0
"""
import struct
from fractions import Fraction

from layout_files import Case, Maker, Tensor, multiply


def line(codes, bits):
    """A little-endian stream of bits in whole words."""
    stream = sum(code << (i * bits) for i, code in enumerate(codes))
    words = -(-len(codes) * bits // 32)
    return [stream >> (32 * i) & 0xFFFFFFFF for i in range(words)]


def padded_line(codes, bits):
    each = 32 // bits
    return [sum(code << (i * bits) for i, code in enumerate(codes[at:at + each]))
            for at in range(0, len(codes), each)]


def turned(rows):
    return [list(column) for column in zip(*rows)]


AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # of the nibbles of a word


def awq_line(codes):
    return [sum(codes[at + AWQ_ORDER[i]] << (4 * i) for i in range(8))
            for at in range(0, len(codes), 8)]


def words(rows, shape=None):
    flat = [word for row in rows for word in row]
    return Tensor("I32", shape or (len(rows), len(rows[0])),
                  struct.pack(f"<{len(flat)}I", *flat))


def numbers(dtype, rows_of_bytes):
    return Tensor(dtype, (len(rows_of_bytes), len(rows_of_bytes[0])),
                  b"".join(b"".join(row) for row in rows_of_bytes))


class Grouped:
    """Codes [rows, columns], zero points [rows, groups], scales, and the groups of the columns."""

    def __init__(self, make, bits, shape, group, dtype="F16", symmetric=False, order=False, odd=False,
                 most_zero=None):
        self.bits, self.shape, self.dtype = bits, shape, dtype
        rows, columns = shape
        self.group = group or columns
        self.groups = -(-columns // self.group)
        self.codes = [make.codes(columns, 1 << bits) for _ in range(rows)]
        middle = 1 << (bits - 1)
        most_zero = (1 << bits) if most_zero is None else most_zero
        self.zeros = [[middle] * self.groups if symmetric else make.codes(self.groups, most_zero)
                      for _ in range(rows)]
        data, values = make.floats(dtype, rows * self.groups, odd)
        size = len(data) // (rows * self.groups)
        cells = [data[i:i + size] for i in range(0, len(data), size)]
        self.scale_bytes = [cells[r * self.groups:(r + 1) * self.groups] for r in range(rows)]
        self.scales = [values[r * self.groups:(r + 1) * self.groups] for r in range(rows)]
        self.order = [k // self.group for k in range(columns)]
        if order:
            make.random.shuffle(self.order)

    def values(self):
        return [multiply(Fraction(self.codes[r][k] - self.zeros[r][self.order[k]]),
                         self.scales[r][self.order[k]])
                for r in range(self.shape[0]) for k in range(self.shape[1])]


def gptq(make, name, bits, shape, group, version=1, config=True, order=None, checkpoint_format=None,
         method="gptq", packing=None, **kinds):
    one = Grouped(make, bits, shape, group, order=bool(order),
                  most_zero=None if version == 1 else (1 << bits) - 1, **kinds)
    if version == 1:
        # A stored zero point of 2^b - 1 has no one meaning.
        one.zeros = [[max(zero, 1) for zero in row] for row in one.zeros]
    stored = [[zero - (version == 1) for zero in row] for row in one.zeros]
    tensors = {
        "l.qweight": words(turned([line(row, bits) for row in one.codes])),
        "l.qzeros": words([line(column, bits) for column in turned(stored)]),
        "l.scales": numbers(one.dtype, turned(one.scale_bytes)),
    }
    if order is not None:
        tensors["l.g_idx"] = Tensor("I32", (shape[1],), struct.pack(f"<{shape[1]}i", *one.order))
    said = {"quant_method": method, "bits": bits, "group_size": group or -1,
            "desc_act": bool(order), "sym": kinds.get("symmetric", False)}
    if packing:
        said["packing_format"] = packing
    elif checkpoint_format or version == 2:
        said["checkpoint_format"] = checkpoint_format or "gptq_v2"
    return Case(name, f"int{bits}-group", tensors, {"quantization_config": said} if config else None,
                {"l.weight": (shape, one.values())})


def awq(make, name, shape, group, version="gemm", config=True, method="awq", packing=None, **kinds):
    one = Grouped(make, 4, shape, group, **kinds)
    if version.lower() == "gemm":
        tensors = {
            "l.qweight": words([awq_line(column) for column in turned(one.codes)]),
            "l.qzeros": words([awq_line(column) for column in turned(one.zeros)]),
            "l.scales": numbers(one.dtype, turned(one.scale_bytes)),
        }
    else:
        width = 8 * -(-one.groups // 8)
        blank = b"\x01\x02\x03\x04"[:len(one.scale_bytes[0][0])]
        tensors = {
            "l.qweight": words([line(row, 4) for row in one.codes]),
            "l.qzeros": words([line(row + [15] * (width - one.groups), 4) for row in one.zeros]),
            "l.scales": numbers(one.dtype,
                                [row + [blank] * (width - one.groups) for row in one.scale_bytes]),
        }
    said = {"quant_method": method, "bits": 4, "group_size": group or -1, "zero_point": True}
    said.update({"packing_format": packing} if packing else {"version": version})
    return Case(name, "int4-group", tensors, {"quantization_config": said} if config else None,
                {"l.weight": (shape, one.values())})


def pack_quantized(make, name, bits, shape, group, batches=None, order=None, padded=False,
                   dtype="BF16", symmetric=True, odd=False, version="0.18.0"):
    made = [Grouped(make, bits, shape, group, dtype, symmetric, bool(order), odd)
            for _ in range(batches or 1)]
    for one in made[1:]:
        one.order = made[0].order
    rows, columns = shape
    stack = (batches,) if batches else ()
    pack = padded_line if padded else line
    codes = [pack(row, bits) for one in made for row in one.codes]
    first = made[0]
    tensors = {
        "l.weight_packed": words(codes, (*stack, rows, len(codes[0]))),
        "l.weight_scale": Tensor(dtype, (*stack, rows, first.groups), b"".join(
            b"".join(row) for one in made for row in one.scale_bytes)),
        "l.weight_shape": Tensor("I64", (len(stack) + 2,),
                                 struct.pack(f"<{len(stack) + 2}q", *stack, rows, columns)),
    }
    if not symmetric:
        zeros = [row for one in made
                 for row in turned([pack(column, bits) for column in turned(one.zeros)])]
        tensors["l.weight_zero_point"] = words(zeros, (*stack, len(zeros) // len(made), first.groups))
    if order is not None:
        stored = first.order if order else [-1] * columns
        tensors["l.weight_g_idx"] = Tensor("I32", (columns,), struct.pack(f"<{columns}i", *stored))
    weights = {"num_bits": bits, "type": "int", "symmetric": symmetric,
               "strategy": "group" if group else "channel", "group_size": group,
               "actorder": "group" if order else None}
    said = {"quant_method": "compressed-tensors", "format": "pack-quantized",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}
    if version:
        said["version"] = version
    return Case(name, f"int{bits}-group", tensors, {"quantization_config": said},
                {"l.weight": ((*stack, *shape), [value for one in made for value in one.values()])})


def pack_of_tensor(make, name, bits, shape, symmetric):
    """One scale for all, and a zero point that is not packed; the shape in 32 bits."""
    rows, columns = shape
    codes = [make.codes(columns, 1 << bits) for _ in range(rows)]
    middle = 1 << (bits - 1)
    zero = 0 if symmetric else make.codes(1, 1 << bits)[0] - middle
    data, (scale,) = make.floats("BF16", 1, False)
    tensors = {"l.weight_packed": words([line(row, bits) for row in codes]),
               "l.weight_scale": Tensor("BF16", (1,), data),
               "l.weight_shape": Tensor("I32", (2,), struct.pack("<2i", rows, columns))}
    if not symmetric:
        tensors["l.weight_zero_point"] = Tensor("I8", (1,), struct.pack("<b", zero))
    weights = {"num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": "tensor"}
    said = {"quant_method": "compressed-tensors", "format": "pack-quantized",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}
    values = [multiply(Fraction(code - middle - zero), scale) for row in codes for code in row]
    return Case(name, f"int{bits}-group", tensors, {"quantization_config": said},
                {"l.weight": (shape, values)})


def all_cases():
    make = Maker(25)
    for bits in (2, 3, 4, 8):
        yield gptq(make, f"gptq_{bits}", bits, (64, 96), 32)
        yield gptq(make, f"gptq_{bits}_v2", bits, (64, 96), 32, version=2, odd=True)
        yield gptq(make, f"gptq_{bits}_sym", bits, (32, 64), 32, symmetric=True, config=False)
        yield gptq(make, f"gptq_{bits}_sym_v2", bits, (32, 64), 32, 2, symmetric=True, config=False)
    yield gptq(make, "gptq_row", 4, (32, 64), None, order=False)
    yield gptq(make, "gptq_order", 4, (40, 96), 32, order=True)
    yield gptq(make, "gptq_order_3", 3, (32, 96), 32, order=True, dtype="BF16", odd=True)
    yield gptq(make, "gptq_f32", 4, (32, 64), 16, dtype="F32", odd=True)
    yield gptq(make, "gptq_ragged", 8, (36, 40), 16)
    yield awq(make, "awq_gemm", (64, 96), 32)
    yield awq(make, "awq_gemm_alone", (40, 64), 32, config=False, odd=True)
    yield awq(make, "awq_long", (48, 264), None, dtype="BF16")
    yield awq(make, "awq_gemv", (33, 320), 32, version="gemv", odd=True)
    yield gptq(make, "auto_round", 4, (32, 64), 32, method="auto-round", symmetric=True,
               packing="auto_round:auto_gptq")
    yield gptq(make, "auto_round_words", 4, (32, 64), 32, version=2, method="auto-round",
               symmetric=True, packing="auto_round")
    yield awq(make, "auto_round_awq", (32, 64), 32, method="auto-round",
              packing="auto_round:auto_awq")
    # Zero points that differ, as the packing says that they are; bits of auto-round alone.
    yield gptq(make, "auto_round_zeros", 4, (32, 64), 32, version=2, method="auto-round",
               packing="auto_round")
    yield gptq(make, "auto_round_gptqmodel", 3, (32, 64), 32, version=2, method="auto-round",
               order=False, packing="auto_round:gptqmodel")
    for bits in (5, 6, 7):
        yield gptq(make, f"auto_round_{bits}", bits, (32, 64), 32, method="auto-round",
                   packing="auto_round:auto_gptq")
    yield awq(make, "awq_upper_case", (32, 64), 32, version="GEMM")
    for bits in range(2, 9):
        yield pack_quantized(make, f"pack_{bits}", bits, (33, 96), 32, odd=bits == 4)
        yield pack_quantized(make, f"pack_{bits}_zeros", bits, (40, 64), 32, symmetric=False)
    for bits in (3, 5, 6, 7):
        yield pack_quantized(make, f"pack_{bits}_padded", bits, (12, 192), 64, padded=True,
                             version="0.14.0")
        # Zero points that take as many words with spare bits as without, and more.
        for rows in (12, 40, 107):
            yield pack_quantized(make, f"pack_{bits}_padded_zeros_{rows}", bits, (rows, 192), 64,
                                 padded=True, symmetric=False, version=None)
        # Codes of which zero points, or a version, say how they stand.
        few = 2 * (32 // bits)
        for padded in (True, False):
            yield pack_quantized(make, f"pack_{bits}_few_{padded}", bits, (128, few), few // 2,
                                 padded=padded, symmetric=False, version=None)
            yield pack_quantized(make, f"pack_{bits}_few_said_{padded}", bits, (12, few), few // 2,
                                 padded=padded, symmetric=False,
                                 version="0.16.0" if padded else "0.17.0")
    yield pack_quantized(make, "pack_stacked_padded", 6, (37, 192), 64, batches=3, padded=True,
                         symmetric=False)
    for symmetric in (True, False):
        yield pack_of_tensor(make, f"pack_tensor{'' if symmetric else '_zero'}", 5, (12, 64), symmetric)
    yield pack_quantized(make, "pack_row", 8, (12, 50), None, dtype="F16")
    yield pack_quantized(make, "pack_f32", 4, (12, 64), 32, dtype="F32", odd=True)
    yield pack_quantized(make, "pack_stacked", 4, (10, 64), 32, batches=3)
    yield pack_quantized(make, "pack_stacked_zeros", 4, (10, 64), 32, batches=3, symmetric=False)
    yield pack_quantized(make, "pack_order", 4, (12, 96), 32, order=True)
    yield pack_quantized(make, "pack_unset_order", 4, (12, 96), 32, order=False)
