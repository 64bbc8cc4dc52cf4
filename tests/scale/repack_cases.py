"""Weights that can be repacked, each into what, and those of which one condition is not met: a pair of
layouts each, with what has to come of it. The scales are numbers of few digits, but where a condition
is about them.

SPDX-License-Identifier: Apache-2.0
"""
import math
import struct
from fractions import Fraction

import comfy_files
import grouped_files
import layout_files as files
import mlx_files
from layout_files import Case, Maker, Tensor, decode, e2m1, e4m3, e8m0, multiply


class Tidy(Maker):
    """Its floats are odd numbers of few bits times powers of two, greater than 0."""

    def __init__(self, seed, most=15, exponents=(-10, -4), only=None):
        super().__init__(seed)
        self.most, self.exponents, self.only = most, exponents, only

    def floats(self, dtype, count, odd):
        data = b""
        for i in range(count):
            value = self.random.randrange(1, self.most + 1, 2) * 2.0**self.random.randint(*self.exponents)
            if self.only is not None and i == count // 2:
                value = self.only
            single = struct.pack("<f", value)
            data += {"F16": lambda v=value: struct.pack("<e", v), "F32": lambda s=single: s,
                     "BF16": lambda s=single: s[2:]}[dtype]()
        return data, decode(dtype, data)


NONE = "does not have"  # of a layout that has nothing of the kind
INTEGER_TARGETS = ("compressed-tensors", "gptq", "awq", "mlx", "gguf")


def each(case, **expected):
    """The case with each target that is named ("compressed_tensors" ...), and what is expected."""
    for target, outcome in expected.items():
        yield case, target.replace("_", "-"), outcome


def integers():
    g, m = grouped_files, mlx_files
    yes, no = True, NONE
    for version in (1, 2):
        for group in (32, 64, 128, 256, 0):
            name = f"to_gptq{version}_sym_{group}"
            case = g.gptq(Tidy(1), name, 4, (40, 256), group, version=version, symmetric=True)
            yield from each(case, compressed_tensors=yes, awq=yes, mlx=yes, gguf=yes, modelopt=no,
                            comfyui=no, gpt_oss=no)
        case = g.gptq(Tidy(2), f"to_gptq{version}_zeros", 4, (24, 128), 32, version=version)
        yield from each(case, compressed_tensors=yes, awq=yes, mlx=yes, gguf=yes)
        case = g.gptq(Tidy(3), f"to_gptq{version}_order", 4, (24, 128), 32, version=version, order=True)
        yield from each(case, compressed_tensors=yes, awq="order", mlx="order", gguf="order")
        # A g_idx that names the usual order is none.
        case = g.gptq(Tidy(4), f"to_gptq{version}_usual", 4, (24, 128), 64, version=version, order=False)
        yield from each(case, compressed_tensors=yes, awq=yes, mlx=yes, gguf=yes)
        for bits in (2, 3, 8):
            case = g.gptq(Tidy(5), f"to_gptq{version}_{bits}", bits, (32, 96), 32, version=version,
                          symmetric=bits != 3)
            yield from each(case, compressed_tensors=yes, awq="bits", mlx=yes,
                            gguf=yes if bits == 8 else "bits")
    case = g.gptq(Tidy(6), "to_gptq_bf16", 4, (16, 128), 64, dtype="BF16", symmetric=True)
    yield from each(case, compressed_tensors=yes, awq=yes, mlx=yes, gguf=yes)
    case = g.gptq(Tidy(6), "to_gptq_8_zeros", 8, (16, 128), 64)
    yield from each(case, compressed_tensors=yes, gguf="zero points")
    case = g.gptq(Tidy(6), "to_gptq_40", 4, (16, 160), 40, symmetric=True)
    yield from each(case, compressed_tensors=yes, awq=yes, mlx="groups of 40", gguf="groups of 40")
    case = g.gptq(Tidy(6), "to_gptq_ragged", 4, (16, 160), 64, symmetric=True)
    yield from each(case, compressed_tensors="fewer columns", awq="fewer columns", mlx=yes, gguf=yes)
    for version in ("gemm", "gemv"):
        case = g.awq(Tidy(7), f"to_awq_{version}", (32, 256), 128, version=version)
        yield from each(case, compressed_tensors=yes, gptq=yes, mlx=yes, gguf=yes, modelopt=no)
        case = g.awq(Tidy(8), f"to_awq_row_{version}", (16, 64), 0, version=version)
        yield from each(case, compressed_tensors=yes, gptq=yes, mlx=yes, gguf=yes)
    for bits in range(1, 9):
        for symmetric in (True, False):
            # Of few enough digits that a zero point times a scale is a bfloat16.
            case = g.pack_quantized(Tidy(9, most=15 if bits < 5 else 1), f"to_pack_{bits}_{symmetric}",
                                    bits, (32, 128), 32, symmetric=symmetric)
            yield from each(
                case, gptq=yes if bits in (2, 3, 4, 8) else "bits", awq=yes if bits == 4 else "bits",
                mlx="bits" if bits in (1, 7) else yes,
                gguf=yes if bits == 4 or (bits == 8 and symmetric) else
                "zero points" if bits == 8 else "bits", comfyui=no, gpt_oss=no)
    case = g.pack_quantized(Tidy(10), "to_pack_padded", 3, (32, 96), 32, padded=True, symmetric=False,
                            version="0.16.0")
    yield from each(case, gptq=yes, mlx=yes)
    case = g.pack_quantized(Tidy(11), "to_pack_order", 4, (32, 128), 32, order=True, symmetric=False)
    yield from each(case, gptq=yes, awq="order", mlx="order", gguf="order")
    case = g.pack_quantized(Tidy(12), "to_pack_unset", 4, (32, 128), 32, order=False)
    yield from each(case, gptq=yes, awq=yes, mlx=yes, gguf=yes)
    case = g.pack_quantized(Tidy(13), "to_pack_rows_12", 4, (12, 64), 32)
    yield from each(case, gptq="rows", awq="rows", mlx=yes, gguf=yes)
    case = g.pack_quantized(Tidy(13), "to_pack_columns_36", 4, (16, 36), 0)
    yield from each(case, gptq="whole words", awq=yes, mlx="groups", gguf="blocks")
    case = g.pack_quantized(Tidy(14), "to_pack_stacked", 4, (6, 64), 32, batches=3, symmetric=False)
    yield from each(case, gptq="stacked", awq="stacked", mlx=yes, gguf=yes)
    # One scale that the narrower type does not have.
    for value, name in ((2.0**-30, "small"), (2.0**17, "large"), (1 + 2.0**-12, "long")):
        dtype = "F32" if name == "long" else "BF16"
        case = g.pack_quantized(Tidy(15, only=value), f"to_pack_{name}", 4, (8, 128), 32, dtype=dtype)
        yield from each(case, gptq="float16" if dtype == "F32" else yes, awq="float16", mlx=yes,
                        gguf="float16")
    # One product that the type does not have: a scale of all its digits times a zero point of two.
    for dtype, value in (("BF16", 1 + 2.0**-7), ("F16", 1 + 2.0**-10)):
        case = g.gptq(Tidy(16, only=value), f"to_zeros_{dtype}", 4, (8, 64), 32, dtype=dtype)
        # The group of that scale gets a zero point that is no power of two.
        case = with_zero(case, dtype, value)
        yield from each(case, compressed_tensors=yes, awq=yes, mlx="zero points",
                        gguf="zero points" if dtype == "F16" else yes)
    for value in (0.0, -0.5, math.inf, math.nan):
        case = g.pack_quantized(Tidy(17, only=value), f"to_sums_{value}", 4, (8, 64), 32, dtype="F16")
        yield from each(case, mlx="greater than 0", awq=yes, gptq=yes)
    for group in (32, 64, 128):
        case = m.affine(Tidy(18), f"to_mlx_{group}", 4, (8, 256), group, dtype="F16")
        yield from each(case, compressed_tensors=yes, gptq=yes, awq=yes, gguf=yes)
    case = m.affine(Tidy(19), "to_mlx_bf16", 4, (8, 64), 32)
    yield from each(case, compressed_tensors=yes, gptq=yes, awq=yes, gguf=yes)
    case = m.affine(Tidy(20), "to_mlx_free", 4, (8, 64), 32, dtype="F16", bias="own")
    yield from each(case, compressed_tensors="biases", gptq="biases", awq="biases", gguf=yes)
    case = m.affine(Tidy(21, most=7), "to_mlx_5", 5, (8, 64), 32)
    yield from each(case, compressed_tensors=yes, gptq="bits", awq="bits", gguf="bits")
    case = m.affine(Tidy(22), "to_mlx_stacked", 4, (3, 8, 64), 64, dtype="F16")
    yield from each(case, compressed_tensors=yes, gptq="stacked", gguf=yes)
    case = m.affine(Tidy(22, only=2.0**-30), "to_mlx_small", 4, (8, 64), 32)
    yield from each(case, compressed_tensors=yes, gguf="float16")
    case = comfy_files.awq(Tidy(23), "to_comfy_awq", (8, 128))
    yield from each(case, compressed_tensors="zero points and biases", mlx="zero points and biases",
                    gguf="zero points and biases")
    for dtype in ("F32", "BF16", "F16"):
        config = files.compressed({"num_bits": 8, "type": "int", "strategy": "channel"}, "int-quantized")
        case = files.fp8_small(Tidy(24), f"to_int8_row_{dtype}", "w.weight_scale", dtype, (8, 1), config,
                               shape=(8, 96), codes_dtype="I8")
        yield from each(case, gguf=yes, gptq=yes, mlx=yes, awq="bits", comfyui=yes)
    case = files.fp8_small(Tidy(24, only=2.0**-40), "to_int8_small", "w.weight_scale", "F32", (8, 1), None,
                           shape=(8, 96), codes_dtype="I8")
    yield from each(case, gguf="float16")
    case = files.fp8_small(Tidy(24), "to_int8_zero", "w.weight_scale", "F32", (8, 1), None, shape=(8, 96),
                           codes_dtype="I8", zero=True)
    yield from each(case, gguf="zero points", gptq="zero points", comfyui="zero points")


def with_zero(case, dtype, value):
    """A GPTQ weight of version 1 whose one scale of this value has the zero point 11."""
    scales, zeros, words = (case.tensors[name] for name in ("l.scales", "l.qzeros", "l.qweight"))
    rows = scales.shape[1]
    place = decode(dtype, scales.data).index(Fraction(value))
    group, row = divmod(place, rows)
    held = list(struct.unpack(f"<{len(zeros.data) // 4}I", zeros.data))
    at, shift = group * zeros.shape[1] + row // 8, 4 * (row % 8)
    held[at] = held[at] & ~(15 << shift) | 10 << shift
    case.tensors["l.qzeros"] = Tensor("I32", zeros.shape, struct.pack(f"<{len(held)}I", *held))
    (_, values), columns = case.weights["l.weight"], words.shape[0] * 8
    codes = struct.unpack(f"<{len(words.data) // 4}I", words.data)
    size = columns // scales.shape[0]
    for k in range(group * size, (group + 1) * size):
        code = codes[k // 8 * rows + row] >> 4 * (k % 8) & 15
        values[row * columns + k] = multiply(Fraction(code - 11), Fraction(value))
    return case


# ------------------------------------------------------------------------------------------ floats


class Bytes(Maker):
    """Its codes of 256 values, which are scales, are among some."""

    def __init__(self, seed, scales):
        super().__init__(seed)
        self.scales = scales

    def codes(self, count, values=256):
        if values == 256 and self.scales is not None:
            return [self.random.choice(self.scales) for _ in range(count)]
        return super().codes(count, values)


E8M0 = [0, 1, 100, 126, 127, 128, 200, 254]
E4M3 = [0, 1, 7, 8, 56, 0x7D, 0x7E]


def compressed_mx(make, name, shape):
    config = files.compressed({"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32},
                              "mxfp4-pack-quantized")
    return files.groups(make, name, "w", ".weight_packed", ".weight_scale", "U8", 4, e2m1, 32, shape,
                        config)


def compressed_nv(make, name, shape, t, config=True):
    said = files.compressed({"num_bits": 4, "type": "float", "strategy": "tensor_group",
                             "group_size": 16}, "nvfp4-pack-quantized")
    return files.groups(make, name, "w", ".weight_packed", ".weight_scale", "F8_E4M3", 4, e2m1, 16, shape,
                        said if config else None, glob=(".weight_global_scale", t, (1,)), divides=True)


def modelopt_nv(make, name, shape, t):
    said = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}
    return files.groups(make, name, "w", ".weight", ".weight_scale", "F8_E4M3", 4, e2m1, 16, shape, said,
                        glob=(".weight_scale_2", t, ()))


def experts(make_one, make, name, halves=2):
    """The experts of a layer, by gpt-oss's names, as another layout has them."""
    tensors, weights, config = {}, {}, None
    for part, rows in (("gate_up_proj", 10), ("down_proj", 6))[:halves]:
        one = make_one(make, name, (3, rows, 64))
        (old,) = {key.split(".weight")[0] for key in one.weights}
        stem = f"model.layers.0.mlp.experts.{part}"
        tensors |= {stem + key.removeprefix(old): tensor for key, tensor in one.tensors.items()}
        weights |= {stem + key.removeprefix(old): weight for key, weight in one.weights.items()}
        config = one.config
    return Case(name, "mxfp4", tensors, config, weights)


def floats():
    yes, no = True, NONE
    for last, to_gguf in ((254, yes), (255, "255")):
        scales = E8M0 + [last]
        for name, case in (
                ("ct", compressed_mx(Bytes(30, scales), f"to_mx_ct_{last}", (9, 96))),
                ("ct3", compressed_mx(Bytes(31, scales), f"to_mx_ct_stacked_{last}", (2, 5, 64))),
                ("oss", files.gpt_oss(Bytes(32, scales), f"to_mx_oss_{last}", (3, 10, 64))),
                ("mlx", mlx_files.floating(Bytes(33, scales), f"to_mx_mlx_{last}", "mxfp4", (7, 64))),
                ("mlx3", mlx_files.floating(Bytes(34, scales), f"to_mx_mlx_stacked_{last}", "mxfp4",
                                            (2, 7, 64)))):
            yield from each(case, gguf=to_gguf, awq=no, gptq=no, comfyui=no, modelopt=yes)
            if not name.startswith("ct"):
                yield from each(case, compressed_tensors=yes)
            if not name.startswith("mlx"):
                yield from each(case, mlx=yes)
            if name != "oss":
                yield from each(case, gpt_oss="gate_up_proj")
        for name, make in (("ct", compressed_mx), ("mlx", lambda make, name, shape:
                            mlx_files.floating(make, name, "mxfp4", shape))):
            case = experts(make, Bytes(35, scales), f"to_mx_experts_{name}_{last}")
            yield from each(case, gpt_oss=yes, gguf=to_gguf, **{"mlx" if name == "ct" else
                                                                "compressed_tensors": yes})
    for t in (1.0, 4.0, 2719.5, 3.7e-4, 2688.0):
        case = compressed_nv(Bytes(40, E4M3), f"to_nv_ct_{t}", (7, 64), t)
        to_mlx = yes if t == 1 else "global scale that is not 1"
        yield from each(case, modelopt=yes, gguf=yes, mlx=to_mlx, gptq=no, comfyui="multiple of 16")
        case = compressed_nv(Bytes(40, E4M3), f"to_nv_ct_16_{t}", (144, 80), t)
        yield from each(case, comfyui=yes)
        case = modelopt_nv(Bytes(41, E4M3), f"to_nv_modelopt_{t}", (32, 64), t)
        yield from each(case, compressed_tensors=yes, gguf=yes, mlx=to_mlx, comfyui=yes)
        case = comfy_files.blocks(Bytes(42, E4M3), f"to_nv_comfy_{t}", "nvfp4", (130, 128),
                                  codes=[Bytes(43, None).codes(128, 16) for _ in range(130)],
                                  second=struct.pack("<f", t))
        yield from each(case, compressed_tensors=yes, modelopt=yes, gguf=yes, mlx=to_mlx)
    for t in (0.0, 2.0**-140, 2.0**127, math.inf, math.nan, 2.0**-149):
        case = compressed_nv(Bytes(44, E4M3), f"to_nv_global_{t}", (3, 64), t)
        yield from each(case, modelopt="reciprocal", gguf="reciprocal", mlx="not 1")
        case = modelopt_nv(Bytes(44, E4M3), f"to_nv_global_2_{t}", (3, 64), t)
        yield from each(case, compressed_tensors="reciprocal", gguf=yes)
    for byte in (0x7F, 0x80, 0x81, 0xB8, 0xFF):
        case = modelopt_nv(Bytes(45, E4M3 + [byte]), f"to_nv_byte_{byte}", (9, 64), 0.5)
        yield from each(case, compressed_tensors=yes, gguf=f"byte {byte}", mlx="not 1")
    case = modelopt_nv(Bytes(46, E4M3), "to_nv_short", (9, 48), 0.5)
    yield from each(case, compressed_tensors=yes, gguf="blocks of 64")
    case = mlx_files.floating(Bytes(47, E4M3), "to_nv_mlx", "nvfp4", (16, 64))
    yield from each(case, compressed_tensors=yes, modelopt=yes, gguf=yes, comfyui=yes)
    case = mlx_files.floating(Bytes(48, None), "to_mxfp8_mlx", "mxfp8", (32, 64))
    yield from each(case, compressed_tensors=yes, comfyui=yes, gguf=no, modelopt=no)
    case = comfy_files.blocks(Bytes(49, None), "to_mxfp8_comfy", "mxfp8", (130, 96))
    yield from each(case, compressed_tensors=yes, mlx=yes, gguf=no)
    config = files.compressed({"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32},
                              "mxfp8-quantized")
    case = files.groups(Bytes(50, None), "to_mxfp8_ct", "w.weight", "", "_scale", "U8", 8, e4m3, 32,
                        (64, 96), config, codes_dtype="F8_E4M3")
    case.weights = {"w.weight": weight for weight in case.weights.values()}
    yield from each(case, mlx=yes, comfyui=yes, gguf=no, modelopt=no)


def pairs():
    yield from integers()
    yield from floats()
