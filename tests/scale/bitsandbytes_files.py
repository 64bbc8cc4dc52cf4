"""Small checkpoints of bitsandbytes (nf4, fp4, nested scales, LLM.int8()), and the exact values of
their weights.

Nothing of tensorcast or bitsandbytes is asked: products are rationals, and what its readers compute
in float32 is rounded by `round_to`.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import struct
from fractions import Fraction

from layout_files import Case, Maker, Tensor, divide, from_float, multiply, round_to

# As bitsandbytes stores them.
NF4 = bytes.fromhex(
    "000080bfb13932bf306b06bfa032cabe4da291be3f353dbe7178babd00000000"
    "fffaa23de3ca243edd047c3e3a03ad3eb8a4e13eab07103fb313393f0000803f")
FP4 = struct.pack("<16f", *(sign * value for sign in (1, -1) for value in
                            (0, 0.0625 / 12, 8 / 12, 1, 4 / 12, 0.5, 2 / 12, 3 / 12)))


def singles(data):
    return [from_float(value) for (value,) in struct.iter_unpack("<f", data)]


def add(a, b):
    """IEEE addition of values that are not both zero."""
    if any(isinstance(x, float) and not math.isfinite(x) for x in (a, b)):
        return float(a) + float(b)
    return Fraction(a) + Fraction(b)


def single(value):
    """float32(value) as a value of layout_files."""
    return from_float(round_to(value, "float32"))


def four_bits(make, name, shape, block=64, kind="nf4", nested=None, storage="U8", odd=False,
              config=True, quant_map=None):
    """`nested`: blocks of scales; a byte is float32(float32(map[byte] * scale) + offset)."""
    count = math.prod(shape)
    codes = make.codes(count, 16)
    packed = bytes(a << 4 | b for a, b in zip(codes[::2], codes[1::2] + [0]))
    size = {"U8": 1, "BF16": 2, "F16": 2, "F32": 4}[storage]
    packed += bytes(-len(packed) % size)
    blocks = -(-count // block)
    state = {"quant_type": kind, "blocksize": block, "dtype": "bfloat16", "shape": list(shape)}
    quant_map = quant_map or (NF4 if kind == "nf4" else FP4)
    tensors = {"l.weight": Tensor(storage, (len(packed) // size, 1), packed),
               "l.weight.quant_map": Tensor("F32", (16,), quant_map)}
    if nested:
        codes8 = make.codes(blocks, 256)
        map8 = struct.pack("<256f", *sorted(make.random.uniform(-1, 1) for _ in range(256)))
        above, scales = make.floats("F32", -(-blocks // nested), odd)
        offset = struct.unpack("<f", struct.pack("<f", make.random.uniform(0.01, 3)))[0]
        values8 = singles(map8)
        absmax = [single(add(single(multiply(values8[code], scales[j // nested])), Fraction(offset)))
                  for j, code in enumerate(codes8)]
        state |= {"nested_blocksize": nested, "nested_dtype": "float32", "nested_offset": offset}
        tensors |= {"l.weight.absmax": Tensor("U8", (blocks,), bytes(codes8)),
                    "l.weight.nested_absmax": Tensor("F32", (len(scales),), above),
                    "l.weight.nested_quant_map": Tensor("F32", (256,), map8)}
    else:
        data, absmax = make.floats("F32", blocks, odd)
        tensors["l.weight.absmax"] = Tensor("F32", (blocks,), data)
    text = json.dumps(state).encode()
    tensors[f"l.weight.quant_state.bitsandbytes__{kind}"] = Tensor("U8", (len(text),), text)
    meaning = singles(quant_map)
    values = [multiply(meaning[code], absmax[i // block]) for i, code in enumerate(codes)]
    said = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind,
            "llm_int8_skip_modules": ["lm_head"]}
    return Case(name, kind, tensors, {"quantization_config": said} if config else None,
                {"l.weight": (shape, values)})


def eight_bits(make, name, shape, odd=False, config=True, has_format=True):
    rows, columns = shape
    codes = make.codes(rows * columns)
    data, scales = make.floats("F32", rows, odd)
    tensors = {"l.weight": Tensor("I8", shape, bytes(codes)), "l.SCB": Tensor("F32", (rows,), data)}
    if has_format:
        tensors["l.weight_format"] = Tensor("U8", (), b"\0")
    values = [divide(multiply(Fraction(code - 256 if code > 127 else code), scales[i // columns]),
                     Fraction(127)) for i, code in enumerate(codes)]
    said = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    return Case(name, "int8-row", tensors, {"quantization_config": said} if config else None,
                {"l.weight": (shape, values)})


def all_cases():
    make = Maker(9)
    for kind in ("nf4", "fp4"):
        yield four_bits(make, kind, (24, 96), kind=kind)
        yield four_bits(make, f"{kind}_odd", (33, 50), block=32, kind=kind, odd=True, config=False)
        yield four_bits(make, f"{kind}_nested", (64, 80), kind=kind, nested=256)
    yield four_bits(make, "nf4_nested_odd", (40, 100), nested=16, odd=True)
    for storage in ("F16", "BF16", "F32"):
        yield four_bits(make, f"nf4_in_{storage}", (17, 40), storage=storage)
    yield four_bits(make, "nf4_odd_count", (7, 33), block=64)
    yield four_bits(make, "nf4_wide_blocks", (3, 5000), block=4096)
    yield four_bits(make, "nf4_long", (5, 7, 30), block=128)
    yield four_bits(make, "nf4_small_blocks", (9, 31), block=3)
    # The table of the file decides, not the one that its name has usually.
    yield four_bits(make, "nf4_other_map", (8, 64), quant_map=make.floats("F32", 16, False)[0])
    yield eight_bits(make, "llm_int8", (24, 96))
    yield eight_bits(make, "llm_int8_wide", (3, 3000), config=False)
    yield eight_bits(make, "llm_int8_odd", (20, 33), odd=True, has_format=False)


def large_cases():
    """(name, tensors, config, weight, shape, values): weights that are read in several pieces, whose
    blocks and rows end elsewhere. A double holds each product, and Python's quotient is the nearest."""
    make = Maker(11)
    for name, shape, block in (("nf4_pieces", (1030, 1031), 100), ("nf4_pieces_short", (701, 1500), 7)):
        count = math.prod(shape)
        packed = make.random.randbytes(-(-count // 2))
        absmax = [make.random.uniform(1e-3, 1) for _ in range(-(-count // block))]
        data = struct.pack(f"<{len(absmax)}f", *absmax)
        absmax = struct.unpack(f"<{len(absmax)}f", data)
        meaning = struct.unpack("<16f", NF4)
        text = json.dumps({"quant_type": "nf4", "blocksize": block, "shape": shape}).encode()
        tensors = {"l.weight": Tensor("U8", (len(packed), 1), packed),
                   "l.weight.quant_map": Tensor("F32", (16,), NF4),
                   "l.weight.absmax": Tensor("F32", (len(absmax),), data),
                   "l.weight.quant_state.bitsandbytes__nf4": Tensor("U8", (len(text),), text)}
        values = [meaning[packed[i // 2] >> (0 if i % 2 else 4) & 15] * absmax[i // block]
                  for i in range(count)]
        yield name, tensors, None, "l.weight", shape, values
    rows, columns = 3, 400_001
    codes = make.random.randbytes(rows * columns)
    data = struct.pack("<3f", 0.3, 1.7, 123.4)
    scales = struct.unpack("<3f", data)
    values = [(code - 256 if code > 127 else code) * scales[i // columns] / 127
              for i, code in enumerate(codes)]
    yield ("llm_int8_pieces", {"l.weight": Tensor("I8", (rows, columns), codes),
                               "l.SCB": Tensor("F32", (rows,), data)},
           None, "l.weight", (rows, columns), values)
