"""Small checkpoints of MLX (integers of 2 to 8 bits with biases, mxfp4, mxfp8, nvfp4), and the exact
values of their weights.

Nothing of tensorcast or MLX is asked: words are packed code by code, and products and sums are
rationals.

SPDX-License-Identifier: Apache-2.0
"""
import math
import struct
from fractions import Fraction

from grouped_files import line, words
from layout_files import Case, Maker, Tensor, decode, e2m1, e4m3, e8m0, multiply


def add(a, b):
    """IEEE addition, to nearest."""
    if any(isinstance(x, float) and not math.isfinite(x) for x in (a, b)):
        return float(a) + float(b)
    if a == 0 and b == 0:
        return -0.0 if isinstance(a, float) and isinstance(b, float) else Fraction(0)
    return Fraction(a) + Fraction(b)


def unsigned_words(rows, shape):
    tensor = words(rows, shape)
    return Tensor("U32", tensor.shape, tensor.data)


def config(said, both=True):
    return {"model_type": "llama", "quantization": said} | ({"quantization_config": said} if both
                                                            else {})


def affine(make, name, bits, shape, group, dtype="BF16", said=None, odd=False, bias="like",
           has_config=True, both=True):
    *lead, columns = shape
    rows, groups = math.prod(lead), columns // group
    codes = [make.codes(columns, 1 << bits) for _ in range(rows)]
    data, scales = make.floats(dtype, rows * groups, odd)
    if bias == "like":
        # As its quantiser writes them: the edge of the values, an integer times the scale or nearly.
        chosen = [-(make.random.randrange(1 << bits)) * float(scale) for scale in scales]
        bias_data, biases = floats(dtype, chosen)
    else:
        bias_data, biases = make.floats(dtype, rows * groups, odd)
    packed = [line(row, bits) for row in codes]
    tensors = {"l.weight": unsigned_words(packed, (*lead, len(packed[0]))),
               "l.scales": Tensor(dtype, (*lead, groups), data),
               "l.biases": Tensor(dtype, (*lead, groups), bias_data)}
    values = [add(multiply(Fraction(code), scales[r * groups + k // group]),
                  biases[r * groups + k // group])
              for r, row in enumerate(codes) for k, code in enumerate(row)]
    said = {"group_size": group, "bits": bits} if said is None else said
    return Case(name, f"int{bits}-group", tensors, config(said, both) if has_config else None,
                {"l.weight": (shape, values)})


def floats(dtype, values):
    data = b""
    for value in values:
        if not math.isfinite(value):
            value = 1.0
        if dtype == "F16":
            data += struct.pack("<e", math.fmod(value, 60000))
        else:
            single = struct.pack("<f", max(-3e38, min(value, 3e38)))
            data += single if dtype == "F32" else single[2:]
    return data, decode(dtype, data)


MODES = {"mxfp4": (4, 32, e2m1, e8m0), "mxfp8": (8, 32, e4m3, e8m0), "nvfp4": (4, 16, e2m1, e4m3)}


def floating(make, name, mode, shape, has_config=True, said=None):
    bits, group, element, scale_of = MODES[mode]
    *lead, columns = shape
    rows, groups = math.prod(lead), columns // group
    codes = [make.codes(columns, 1 << bits) for _ in range(rows)]
    data = bytes(make.codes(rows * groups, 256))
    scales = [scale_of(code) for code in data]
    packed = [line(row, bits) for row in codes]
    values = [multiply(element(code), scales[r * groups + k // group])
              for r, row in enumerate(codes) for k, code in enumerate(row)]
    said = said or {"group_size": group, "bits": bits, "mode": mode}
    return Case(name, mode, {"l.weight": unsigned_words(packed, (*lead, len(packed[0]))),
                             "l.scales": Tensor("U8", (*lead, groups), data)},
                config(said) if has_config else None, {"l.weight": (shape, values)})


def all_cases():
    make = Maker(10)
    for bits in (2, 3, 4, 5, 6, 8):
        yield affine(make, f"mlx_{bits}", bits, (24, 192), 64)
        yield affine(make, f"mlx_{bits}_wide", bits, (7, 256), 128, bias="any", odd=bits == 4)
        yield affine(make, f"mlx_{bits}_f16", bits, (10, 96), 32, dtype="F16")
        yield affine(make, f"mlx_{bits}_f32", bits, (5, 96), 32, dtype="F32", bias="any")
    yield affine(make, "mlx_stacked", 4, (3, 10, 128), 64)
    yield affine(make, "mlx_stacked_twice", 3, (2, 3, 4, 128), 32, dtype="F16")
    yield affine(make, "mlx_one_key", 4, (8, 64), 64, both=False)
    # Without a configuration, where sizes leave no doubt.
    yield affine(make, "mlx_alone_5", 5, (8, 64), 64, has_config=False)
    yield affine(make, "mlx_alone_8", 8, (8, 128), 128, has_config=False)
    # Settings of the module go before those of the model.
    yield affine(make, "mlx_own", 6, (8, 64), 64,
                 said={"group_size": 32, "bits": 4, "l": {"group_size": 64, "bits": 6}})
    yield affine(make, "mlx_own_usual", 4, (8, 64), 64,
                 said={"group_size": 32, "bits": 8, "mode": "mxfp8", "l": {"mode": "affine"}})
    for mode in MODES:
        yield floating(make, f"mlx_{mode}", mode, (24, 96))
        yield floating(make, f"mlx_{mode}_stacked", mode, (3, 5, 64))
        yield floating(make, f"mlx_{mode}_alone", mode, (3, 64), has_config=False)
    yield floating(make, "mlx_mxfp4_own", "mxfp4", (8, 64),
                   said={"group_size": 64, "bits": 4, "l": {"mode": "mxfp4"}})
