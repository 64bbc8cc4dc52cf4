"""Small checkpoints in every layout of scaled weights, and the exact values of their weights.

Nothing of tensorcast is asked: codes are decoded from the definitions of their types, and products
are rationals (fractions.Fraction). A value is a Fraction, or a float that is NaN, an infinity or -0.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses
import functools
import json
import math
import random
import struct
from fractions import Fraction

# ---------------------------------------------------------------------------- element types


def _mini_float(code, bits, mantissa, bias, nan):
    sign = -1 if code >> (bits - 1) else 1
    magnitude = code & ((1 << (bits - 1)) - 1)
    if magnitude in nan:
        return math.nan
    exponent, fraction = magnitude >> mantissa, magnitude & ((1 << mantissa) - 1)
    if magnitude == 0:
        return Fraction(0) if sign > 0 else -0.0
    significand = fraction + ((1 << mantissa) if exponent else 0)
    return sign * significand * Fraction(2) ** (max(exponent, 1) - bias - mantissa)


@functools.cache
def e4m3(code):
    return _mini_float(code, 8, 3, 7, {0x7F})


@functools.cache
def e5m2(code):
    if code & 0x7F == 0x7C:
        return math.inf if code < 0x80 else -math.inf
    return _mini_float(code, 8, 2, 15, {0x7D, 0x7E, 0x7F})


@functools.cache
def e2m1(code):
    return _mini_float(code, 4, 1, 1, set())


@functools.cache
def e2m3(code):
    return _mini_float(code, 6, 3, 1, set())


@functools.cache
def e8m0(code):
    return math.nan if code == 0xFF else Fraction(2) ** (code - 127)


@functools.cache
def int8(code):
    return Fraction(code - 256 if code >= 128 else code)


def from_float(value):
    """A Python float as a value of this module."""
    if not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0):
        return value
    return Fraction(value)


# The word of safetensors, bytes of an element, the value of its little-endian bytes.
DTYPES = {
    "F64": (8, lambda data: from_float(struct.unpack("<d", data)[0])),
    "F32": (4, lambda data: from_float(struct.unpack("<f", data)[0])),
    "BF16": (2, lambda data: from_float(struct.unpack("<f", b"\0\0" + data)[0])),
    "F16": (2, lambda data: from_float(struct.unpack("<e", data)[0])),
    "F8_E4M3": (1, lambda data: e4m3(data[0])),
    "F8_E5M2": (1, lambda data: e5m2(data[0])),
    "F8_E8M0": (1, lambda data: e8m0(data[0])),
    "I8": (1, lambda data: int8(data[0])),
}


def decode(dtype, data):
    size, value = DTYPES[dtype]
    return [value(data[i:i + size]) for i in range(0, len(data), size)]


# --------------------------------------------------------------------------- IEEE arithmetic


def _sign(x):
    return math.copysign(1, x) if isinstance(x, float) else (-1 if x < 0 else 1)


def multiply(a, b):
    if type(a) is type(b) is Fraction:
        product = a * b
        return product if product or _sign(a) == _sign(b) else -0.0
    if any(isinstance(x, float) and math.isnan(x) for x in (a, b)):
        return math.nan
    infinite = any(isinstance(x, float) and math.isinf(x) for x in (a, b))
    zero = any(x == 0 for x in (a, b))
    sign = _sign(a) * _sign(b)
    if infinite:
        return math.nan if zero else math.copysign(math.inf, sign)
    if zero:
        return -0.0 if sign < 0 else Fraction(0)
    return Fraction(a) * Fraction(b)


def divide(a, b):
    if any(isinstance(x, float) and math.isnan(x) for x in (a, b)):
        return math.nan
    sign = _sign(a) * _sign(b)
    if isinstance(b, float) and math.isinf(b):
        if isinstance(a, float) and math.isinf(a):
            return math.nan
        return -0.0 if sign < 0 else Fraction(0)
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, sign)
    if isinstance(a, float) and math.isinf(a):
        return math.copysign(math.inf, sign)
    if a == 0:
        return -0.0 if sign < 0 else Fraction(0)
    return Fraction(a) / Fraction(b)


# mantissa bits, least exponent of a normal number, largest exponent
FORMATS = {"float64": (52, -1022, 1023), "float32": (23, -126, 127), "bfloat16": (7, -126, 127),
           "float16": (10, -14, 15)}


def nearest(above, below):
    """The integer nearest to the quotient of two, the latter positive; ties to even."""
    whole, rest = divmod(above, below)
    return whole + (2 * rest > below or 2 * rest == below and whole & 1)


def round_to(value, name):
    """The nearest value of a type, ties to even: as a float, which holds them all."""
    if isinstance(value, float):
        return value
    # In integers, as rationals take ten times as long.
    above, below = value.as_integer_ratio()
    if above == 0:
        return 0.0
    if name == "float64":  # Python's division of integers rounds once
        try:
            return above / below
        except OverflowError:
            return math.copysign(math.inf, above)
    sign, above = (1, above) if above > 0 else (-1, -above)
    mantissa, least, most = FORMATS[name]
    exponent = above.bit_length() - below.bit_length()
    if below << max(exponent, 0) > above << max(-exponent, 0):
        exponent -= 1
    unit = max(exponent, least) - mantissa  # the power of two
    units = nearest(above << max(-unit, 0), below << max(unit, 0))
    if units.bit_length() + unit > most + 1:
        return sign * math.inf
    return sign * math.ldexp(units, unit)


# --------------------------------------------------------------------------------- files


@dataclasses.dataclass
class Tensor:
    dtype: str
    shape: tuple
    data: bytes


def write_safetensors(path, tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(tensor.data)]}
        data += tensor.data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = Tensor(entry["dtype"], tuple(entry["shape"]), content[begin:end])
    return tensors, metadata


# ------------------------------------------------------------------------------- layouts


@dataclasses.dataclass
class Case:
    """A checkpoint: its tensors, config.json, and what its weights are: name -> (shape, values)."""
    name: str
    layout: str
    tensors: dict
    config: dict | None
    weights: dict
    metadata: dict = dataclasses.field(default_factory=dict)


# Powers of two and not, subnormal, huge.
SCALES = [1.0, 0.02734375, 3.0, 1e-3, 448.0, 1.5e-5, 7.25e4, 2.0**-126, 2.0**-140, 3e38, 0.1, 2e-38]
ODD_SCALES = [0.0, -0.5, math.inf, math.nan, -0.0, -math.inf]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def codes(self, count, values=256):
        return [self.random.randrange(values) for _ in range(count)]

    def floats(self, dtype, count, odd):
        """Scales as bytes, and their values."""
        data = b""
        for i in range(count):
            value = self.random.choice(SCALES) * self.random.choice([1, 1.1, 1.2345678])
            if odd and i % 5 == 1:
                value = self.random.choice(ODD_SCALES)
            if dtype == "F16":
                value = value if not math.isfinite(value) else math.fmod(value, 60000)
                data += struct.pack("<e", value)
            else:
                single = struct.pack("<f", min(value, 3.4e38) if math.isfinite(value) else value)
                data += single if dtype == "F32" else single[2:]
        return data, decode(dtype, data)


def pack(codes, bits):
    """Codes as a little-endian stream of bits."""
    word = 0
    for i, code in enumerate(codes):
        word |= code << (i * bits)
    return word.to_bytes((len(codes) * bits + 7) // 8, "little")


def compressed(weights, fmt):
    return {"quantization_config": {"quant_method": "compressed-tensors", "format": fmt,
                                    "config_groups": {"group_0": {"targets": ["Linear"],
                                                                  "weights": weights}}}}


def _cell_values(shape, cells_of, codes, scales):
    """q * s for a matrix (or stacked ones), `cells_of` giving the cell of an element."""
    return [multiply(q, scales[cells_of(i)]) for i, q in enumerate(codes)]


def fp8_block(make, name, scale_dtype, scale_name, shape, block, config, odd=False, dtype="F8_E4M3"):
    *lead, rows, columns = shape
    grid = (*lead, -(-rows // block[0]), -(-columns // block[1]))
    codes = make.codes(math.prod(shape))
    value = e4m3 if dtype == "F8_E4M3" else e5m2
    if scale_dtype in ("F8_E8M0", "U8"):
        data = bytes(make.codes(math.prod(grid), 200 if not odd else 256))
        scales = [e8m0(code) for code in data]
    else:
        data, scales = make.floats(scale_dtype, math.prod(grid), odd)

    def cell(i):
        matrix, rest = divmod(i, rows * columns)
        row, column = divmod(rest, columns)
        return (matrix * grid[-2] + row // block[0]) * grid[-1] + column // block[1]

    values = [multiply(value(q), scales[cell(i)]) for i, q in enumerate(codes)]
    return Case(name, "", {"w.weight": Tensor(dtype, shape, bytes(codes)),
                           scale_name: Tensor(scale_dtype, grid, data)},
                config, {"w.weight": (shape, values)})


def fp8_small(make, name, scale_name, scale_dtype, scale_shape, config, shape=(6, 40), odd=False,
              codes_dtype="F8_E4M3", zero=False):
    """One scale for the tensor or for a row; int8 with zero points too."""
    codes = make.codes(math.prod(shape))
    count = math.prod(scale_shape)
    data, scales = make.floats(scale_dtype, count, odd)
    size = math.prod(shape) // count
    value = {"F8_E4M3": e4m3, "F8_E5M2": e5m2, "I8": int8}[codes_dtype]
    tensors = {"w.weight": Tensor(codes_dtype, shape, bytes(codes)),
               scale_name: Tensor(scale_dtype, scale_shape, data)}
    decoded = [value(q) for q in codes]
    if zero:
        zeros = make.codes(count)
        tensors["w.weight_zero_point"] = Tensor("I8", scale_shape, bytes(zeros))
        decoded = [q - int8(zeros[i // size]) for i, q in enumerate(decoded)]
    values = [multiply(q, scales[i // size]) for i, q in enumerate(decoded)]
    return Case(name, "", tensors, config, {"w.weight": (shape, values)})


def groups(make, name, stem, packed, scale, scale_dtype, bits, value, group, shape, config,
           codes_dtype="U8", glob=None, divides=False):
    """Packed codes in groups of the last dimension, maybe with a global scale."""
    count = math.prod(shape)
    codes = make.codes(count, 1 << bits)
    scale_codes = make.codes(count // group)
    if scale_dtype == "F8_E4M3":
        scales = [e4m3(code) for code in scale_codes]
    else:
        scales = [e8m0(code) for code in scale_codes]
    tensors = {stem + packed: Tensor(codes_dtype, (*shape[:-1], shape[-1] * bits // 8),
                                     pack(codes, bits)),
               stem + scale: Tensor(scale_dtype, (*shape[:-1], shape[-1] // group),
                                    bytes(scale_codes))}
    t = Fraction(1)
    if glob is not None:
        data = struct.pack("<f", glob[1])
        tensors[stem + glob[0]] = Tensor("F32", glob[2], data)
        t = decode("F32", data)[0]
    values = []
    for i, q in enumerate(codes):
        product = multiply(value(q), scales[i // group])
        if glob is not None:
            product = divide(product, t) if divides else multiply(product, t)
        values.append(product)
    return Case(name, "", tensors, config, {stem + ".weight": (shape, values)})


def gpt_oss(make, name, shape):
    """[experts, rows, columns] as its blocks hold it; transformers has the last two swapped."""
    experts, rows, columns = shape
    case = groups(make, name, "mlp.experts.down_proj", "_blocks", "_scales", "U8", 4, e2m1, 32,
                  shape, {"quantization_config": {"quant_method": "mxfp4"}})
    blocks = case.tensors["mlp.experts.down_proj_blocks"]
    blocks.shape = (experts, rows, columns // 32, 16)
    ((_, values),) = case.weights.values()
    swapped = [values[(e * rows + r) * columns + c]
               for e in range(experts) for c in range(columns) for r in range(rows)]
    case.weights = {"mlp.experts.down_proj": ((experts, columns, rows), swapped)}
    return case


# ------------------------------------------------------------------- of more than one piece


def large_cases():
    """(name, tensors, config, weight, shape, values): weights that are read in several pieces. A
    double holds each product (of 4 and 24 significant bits), so that Python's own is exact."""
    make = random.Random(7)
    table = [float(e4m3(code)) for code in range(256)]
    rows, columns, block = 5, 200_001, (2, 128)
    grid = (3, -(-columns // 128))
    scales = struct.pack(f"<{grid[0] * grid[1]}f", *(make.uniform(-1e-3, 1) for _ in
                                                    range(grid[0] * grid[1])))
    factors = struct.unpack(f"<{grid[0] * grid[1]}f", scales)
    codes = make.randbytes(rows * columns)
    values = [table[codes[r * columns + c]] * factors[r // 2 * grid[1] + c // 128]
              for r in range(rows) for c in range(columns)]
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": list(block)}}
    yield ("long_rows", {"w.weight": Tensor("F8_E4M3", (rows, columns), codes),
                         "w.weight_scale_inv": Tensor("F32", grid, scales)},
           config, "w.weight", (rows, columns), values)
    fours = [float(e2m1(code)) for code in range(16)]
    powers = [float(e8m0(code)) for code in range(256)]
    for name, (experts, rows, columns) in (("many_experts", (2, 700, 640)), ("wide", (1, 9, 131_072))):
        codes = make.randbytes(experts * rows * columns // 2)
        scales = make.randbytes(experts * rows * columns // 32)
        plain = [fours[codes[i // 2] >> 4 * (i % 2) & 15] * powers[scales[i // 32]]
                 for i in range(experts * rows * columns)]
        values = [plain[(e * rows + r) * columns + c]
                  for e in range(experts) for c in range(columns) for r in range(rows)]
        yield (name, {"x_blocks": Tensor("U8", (experts, rows, columns // 32, 16), codes),
                      "x_scales": Tensor("U8", (experts, rows, columns // 32), scales)},
               None, "x", (experts, columns, rows), values)


def all_cases():
    make = Maker(12)
    fp8 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    fp8_64 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 32]}}
    inv = "w.weight_scale_inv"
    ct_block = compressed({"num_bits": 8, "type": "float", "strategy": "block",
                           "block_structure": [16, 32]}, "float-quantized")
    ct_group = compressed({"num_bits": 8, "type": "float", "strategy": "group", "group_size": 24},
                          "naive-quantized")
    ct_tensor = compressed({"num_bits": 8, "type": "float", "strategy": "tensor"},
                           "float-quantized")
    ct_row = compressed({"num_bits": 8, "type": "float", "strategy": "channel"}, "float-quantized")
    ct_int = compressed({"num_bits": 8, "type": "int", "strategy": "channel"}, "int-quantized")
    nvfp4 = compressed({"num_bits": 4, "type": "float", "strategy": "tensor_group",
                        "group_size": 16}, "nvfp4-pack-quantized")
    mx = {bits: compressed({"num_bits": bits, "type": "float", "strategy": "group",
                            "group_size": 32}, f"mxfp{bits}") for bits in (4, 6, 8)}
    modelopt_fp8 = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}
    modelopt_nv = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}
    fbgemm = {"quantization_config": {"quant_method": "fbgemm_fp8"}}
    scale = "w.weight_scale"
    cases = [
        ("fp8-block", fp8_block(make, "deepseek", "F32", inv, (140, 150), (128, 128), fp8, True)),
        ("fp8-block", fp8_block(make, "deepseek_bf16", "BF16", inv, (130, 137), (128, 128), fp8)),
        ("fp8-block", fp8_block(make, "deepseek_64", "F32", inv, (130, 70), (64, 32), fp8_64)),
        ("fp8-block", fp8_block(make, "deepseek_alone", "F32", inv, (256, 140), (128, 128), None)),
        ("fp8-block", fp8_block(make, "deepseek_e8m0", "F8_E8M0", inv, (130, 140), (128, 128), fp8)),
        ("fp8-block", fp8_block(make, "experts", "F32", inv, (3, 130, 20), (128, 128), fp8, True)),
        ("fp8-tensor", fp8_small(make, "mistral", inv, "F32", (),
                                 {"quantization_config": {"quant_method": "fp8"}})),
        ("fp8-block", fp8_block(make, "deepseek_v4", "F8_E8M0", "w.scale", (130, 140), (128, 128),
                                fp8, True)),
        ("mxfp4", groups(make, "v4_experts", "w", ".weight", ".scale", "F8_E8M0", 4, e2m1, 32,
                         (6, 96), fp8, "I8")),
        ("fp8-tensor", fp8_small(make, "ct_tensor", scale, "BF16", (1,), ct_tensor)),
        ("fp8-row", fp8_small(make, "ct_row", scale, "BF16", (6, 1), ct_row, odd=True)),
        ("fp8-row", fp8_small(make, "ct_row_f16", scale, "F16", (6, 1), None)),
        ("fp8-row", fp8_small(make, "e5m2_row", scale, "F32", (6, 1), None, codes_dtype="F8_E5M2")),
        ("fp8-block", fp8_block(make, "ct_block", "BF16", scale, (40, 70), (16, 32), ct_block)),
        ("fp8-group", fp8_block(make, "ct_group", "F32", scale, (5, 72), (1, 24), ct_group)),
        ("int8-row", fp8_small(make, "int8", scale, "BF16", (6, 1), ct_int, codes_dtype="I8")),
        ("int8-row", fp8_small(make, "int8_zero", scale, "F32", (6, 1), ct_int, codes_dtype="I8",
                               zero=True, odd=True)),
        ("int8-tensor", fp8_small(make, "int8_tensor", scale, "F32", (1,), None, codes_dtype="I8")),
        ("nvfp4", groups(make, "ct_nvfp4", "w", ".weight_packed", ".weight_scale", "F8_E4M3", 4,
                         e2m1, 16, (7, 64), nvfp4, glob=(".weight_global_scale", 2719.5, (1,)),
                         divides=True)),
        ("mxfp4", groups(make, "ct_mxfp4", "w", ".weight_packed", ".weight_scale", "U8", 4, e2m1, 32,
                         (5, 96), mx[4])),
        ("mxfp6", groups(make, "ct_mxfp6", "w", ".weight_packed", ".weight_scale", "U8", 6, e2m3, 32,
                         (5, 96), mx[6])),
        ("mxfp8", fp8_block(make, "ct_mxfp8", "U8", scale, (5, 96), (1, 32), mx[8], True)),
        ("fp8-tensor", fp8_small(make, "modelopt_fp8", scale, "F32", (), modelopt_fp8)),
        ("nvfp4", groups(make, "modelopt_nvfp4", "w", ".weight", ".weight_scale", "F8_E4M3", 4, e2m1,
                         16, (7, 64), modelopt_nv, glob=(".weight_scale_2", 3.7e-4, ()))),
        ("fp8-row", fp8_small(make, "fbgemm", scale, "F32", (6, 1), fbgemm)),
        ("mxfp4", gpt_oss(make, "gpt_oss", (3, 40, 64))),
        ("mxfp4", gpt_oss(make, "gpt_oss_square", (2, 64, 64))),
        ("fp8-tensor", fp8_small(make, "comfy", "w.scale_weight", "F32", (), None)),
        ("fp8-tensor", fp8_small(make, "mistral_native", "w.qscale_weight", "BF16", (), None)),
    ]
    for layout, case in cases:
        case.layout = layout
        yield case
