"""What weights in a repacked file are: each layout decoded from its definition, in exact rationals.

Nothing of tensorcast is asked. A weight is (shape, values) under its plain name; a value is a
Fraction, or a float that is NaN, an infinity or -0.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import struct
from fractions import Fraction

import layout_files as files
from layout_files import decode, divide, e2m1, e2m3, e4m3, e8m0, multiply
from mlx_files import add

ONE = Fraction(1)


def stream(data, bits, count):
    """Codes of a little-endian stream of bits."""
    held = int.from_bytes(data, "little")
    return [held >> (i * bits) & ((1 << bits) - 1) for i in range(count)]


def matrix_words(tensor):
    """[..., rows, columns] of words, as matrices of rows."""
    *lead, rows, columns = tensor.shape
    words = struct.unpack(f"<{len(tensor.data) // 4}I", tensor.data)
    return [[words[(m * rows + r) * columns:(m * rows + r + 1) * columns] for r in range(rows)]
            for m in range(math.prod(lead))]


def line_codes(words, bits, count):
    return stream(struct.pack(f"<{len(words)}I", *words), bits, count)


def turned(rows):
    return [list(column) for column in zip(*rows)]


def products(codes, zeros, scales, order):
    return [multiply(Fraction(code - zeros[r][order[k]]), scales[r][order[k]])
            for r, row in enumerate(codes) for k, code in enumerate(row)]


def grid(tensor, rows, groups):
    values = decode(tensor.dtype, tensor.data)
    return [values[r * groups:(r + 1) * groups] for r in range(rows)]


def scheme_of(config, module):
    """The weights' arguments of compressed-tensors' group for a module."""
    found = config["quantization_config"]["config_groups"].values()
    named = [group for group in found if module in group["targets"]]
    return (named or [group for group in found if group["targets"] == ["Linear"]])[0]["weights"]


def pack_quantized(tensors, name, config):
    stem = name
    scheme = scheme_of(config, name.removesuffix(".weight"))
    bits = scheme["num_bits"]
    assert scheme["type"] == "int"
    shape = struct.unpack(f"<{len(tensors[stem + '_shape'].data) // 8}q",
                          tensors[stem + "_shape"].data)
    *lead, rows, columns = shape
    codes = matrix_words(tensors[stem + "_packed"])
    scale = tensors[stem + "_scale"]
    groups = scale.shape[-1]
    assert tuple(scale.shape) == (*lead, rows, groups)
    group = scheme.get("group_size") or columns
    assert (scheme["strategy"] == "channel") == (scheme.get("group_size") is None)
    assert groups == -(-columns // group)
    order = [k // group for k in range(columns)]
    assert (stem + "_g_idx" in tensors) == (scheme.get("actorder") == "group")
    if stem + "_g_idx" in tensors:
        order = struct.unpack(f"<{columns}i", tensors[stem + "_g_idx"].data)
    assert (stem + "_zero_point" in tensors) != scheme["symmetric"]
    values = []
    scales = grid(scale, math.prod(lead) * rows, groups)
    for m, words in enumerate(codes):
        unpacked = [line_codes(row, bits, columns) for row in words]
        zeros = [[1 << (bits - 1)] * groups] * rows
        if stem + "_zero_point" in tensors:
            stored = turned(matrix_words(tensors[stem + "_zero_point"])[m])
            zeros = turned([line_codes(column, bits, rows) for column in stored])
        values += products(unpacked, zeros, scales[m * rows:(m + 1) * rows], order)
    return shape, values


def gptq(tensors, stem, config):
    said = config["quantization_config"]
    assert said["quant_method"] == "gptq" and said["checkpoint_format"] == "gptq_v2"
    bits = said["bits"]
    (words,), (zero_words,) = matrix_words(tensors[stem + ".qweight"]), matrix_words(
        tensors[stem + ".qzeros"])
    columns, rows = len(words) * 32 // bits, len(words[0])
    codes = [line_codes(column, bits, columns) for column in turned(words)]
    scale = tensors[stem + ".scales"]
    groups = scale.shape[0]
    zeros = turned([line_codes(row, bits, rows) for row in zero_words])
    if said["sym"]:
        assert all(zero == 1 << (bits - 1) for row in zeros for zero in row)
    scales = turned(grid(scale, groups, rows))
    order = struct.unpack(f"<{columns}i", tensors[stem + ".g_idx"].data)
    group = columns if said["group_size"] == -1 else said["group_size"]
    if not said["desc_act"]:
        assert list(order) == [k // group for k in range(columns)]
    return (rows, columns), products(codes, zeros, scales, order)


AWQ_PLACE = (0, 4, 1, 5, 2, 6, 3, 7)  # of the nibble that a column of eight has


def awq_codes(words):
    return [[word >> 4 * AWQ_PLACE[j] & 15 for word in row for j in range(8)] for row in words]


def awq(tensors, stem, config):
    said = config["quantization_config"]
    assert said["quant_method"] == "awq" and said["version"] == "gemm" and said["zero_point"]
    (words,), (zero_words,) = matrix_words(tensors[stem + ".qweight"]), matrix_words(
        tensors[stem + ".qzeros"])
    codes, zeros = turned(awq_codes(words)), turned(awq_codes(zero_words))
    scale = tensors[stem + ".scales"]
    assert scale.dtype == "F16"
    rows, columns = len(codes), len(codes[0])
    scales = turned(grid(scale, scale.shape[0], rows))
    group = columns if said["group_size"] == -1 else said["group_size"]
    assert columns == group * scale.shape[0]
    return (rows, columns), products(codes, zeros, scales, [k // group for k in range(columns)])


MLX_FLOATS = {"mxfp4": (4, 32, e2m1, e8m0), "mxfp8": (8, 32, e4m3, e8m0), "nvfp4": (4, 16, e2m1, e4m3)}


def mlx(tensors, stem, config):
    said = config["quantization"]
    assert said == config["quantization_config"]
    said = said.get(stem) or said
    bits, group = said["bits"], said["group_size"]
    weight = tensors[stem + ".weight"]
    assert weight.dtype == "U32"
    *lead, width = weight.shape
    columns = width * 32 // bits
    rows = math.prod(lead)
    codes = [line_codes(row, bits, columns) for matrix in matrix_words(weight) for row in matrix]
    scale = tensors[stem + ".scales"]
    groups = columns // group
    assert tuple(scale.shape) == (*lead, groups)
    shape = (*lead, columns)
    if said.get("mode", "affine") != "affine":
        expected_bits, expected_group, element, scale_of = MLX_FLOATS[said["mode"]]
        assert (bits, group, scale.dtype) == (expected_bits, expected_group, "U8")
        return shape, [multiply(element(code), scale_of(scale.data[r * groups + k // group]))
                       for r, row in enumerate(codes) for k, code in enumerate(row)]
    scales, biases = grid(scale, rows, groups), grid(tensors[stem + ".biases"], rows, groups)
    return shape, [add(multiply(Fraction(code), scales[r][k // group]), biases[r][k // group])
                   for r, row in enumerate(codes) for k, code in enumerate(row)]


def bytes_in_groups(tensors, codes, scale, bits, element, scale_of, group, factor=None,
                    high_first=False):
    """Codes in bytes, a scale of a byte for each group; `factor` of the product."""
    weight = tensors[codes]
    data = weight.data
    if high_first:
        data = bytes((byte << 4 | byte >> 4) & 255 for byte in data)
    *lead, width = weight.shape
    columns = width * 8 // bits
    scales = tensors[scale]
    assert tuple(scales.shape) == (*lead, columns // group)
    values = []
    for i, code in enumerate(stream(data, bits, math.prod(lead) * columns)):
        value = multiply(element(code), scale_of(scales.data[i // group]))
        values.append(value if factor is None else factor(value))
    return (*lead, columns), values


def compressed_tensors(tensors, config):
    weights = {}
    for name, tensor in tensors.items():
        if name.endswith("_packed"):
            plain = name.removesuffix("_packed")
            if tensor.dtype == "I32":
                weights[plain] = pack_quantized(tensors, plain, config)
                continue
            scheme = scheme_of(config, plain.removesuffix(".weight"))
            bits, group = scheme["num_bits"], scheme["group_size"]
            scale = plain + "_scale"
            if tensors[scale].dtype == "U8":
                weights[plain] = bytes_in_groups(tensors, name, scale, bits,
                                                 {4: e2m1, 6: e2m3}[bits], e8m0, group)
                continue
            (t,) = decode("F32", tensors[plain + "_global_scale"].data)
            weights[plain] = bytes_in_groups(tensors, name, scale, 4, e2m1, e4m3, 16,
                                             lambda value, t=t: divide(value, t))
        elif name + "_scale" in tensors:
            weights[name] = plain_cells(tensors, name, name + "_scale")
    return weights


def plain_cells(tensors, name, scale_name):
    """A code in each byte, and scales over cells that their shape tells."""
    weight, scale = tensors[name], tensors[scale_name]
    codes = decode(weight.dtype, weight.data)
    *lead, rows, columns = weight.shape
    if scale.dtype == "U8":
        scales = [e8m0(code) for code in scale.data]
        assert tuple(scale.shape) == (*lead, rows, columns // 32)
        return weight.shape, [multiply(code, scales[i // 32]) for i, code in enumerate(codes)]
    scales = decode(scale.dtype, scale.data)
    if len(scales) == 1:
        return weight.shape, [multiply(code, scales[0]) for code in codes]
    assert len(scale.shape) == len(weight.shape), scale.shape
    if scale.shape[-1] == 1 and scale.shape[-2] == rows:
        return weight.shape, [multiply(code, scales[i // columns]) for i, code in enumerate(codes)]
    down, across = scale.shape[-2:]
    assert (down, across) == (-(-rows // 128), -(-columns // 128))
    return weight.shape, [
        multiply(code, scales[(i // (rows * columns) * down + i // columns % rows // 128) * across
                              + i % columns // 128]) for i, code in enumerate(codes)]


def modelopt(tensors, _config):
    weights = {}
    for name, tensor in tensors.items():
        scale = name + "_scale"
        if scale not in tensors:
            continue
        if tensor.dtype != "U8":
            weights[name] = plain_cells(tensors, name, scale)
        elif tensors[scale].dtype == "U8":
            weights[name] = bytes_in_groups(tensors, name, scale, 4, e2m1, e8m0, 32)
        else:
            (t,) = decode("F32", tensors[name + "_scale_2"].data)
            assert tensors[name + "_scale_2"].shape == ()
            weights[name] = bytes_in_groups(tensors, name, scale, 4, e2m1, e4m3, 16,
                                            lambda value, t=t: multiply(value, t))
    return weights


def untiled(tensor, rows, columns):
    across = -(-columns // 4)
    assert len(tensor.data) == -(-rows // 128) * 128 * across * 4
    return [[tensor.data[((r // 128) * across + c // 4) * 512 + (r % 32) * 16 + (r % 128) // 32 * 4
                         + c % 4] for c in range(columns)] for r in range(rows)]


def comfyui(tensors, metadata):
    layers = json.loads(metadata["_quantization_metadata"])["layers"]
    weights = {}
    for module, said in layers.items():
        name = module + ".weight"
        tensor, scale = tensors[name], tensors[name + "_scale"]
        if said["format"] in ("nvfp4", "mxfp8"):
            is_four = said["format"] == "nvfp4"
            rows, columns = tensor.shape[0], tensor.shape[1] * (2 if is_four else 1)
            group = 16 if is_four else 32
            scales = untiled(scale, rows, columns // group)
            if is_four:
                (t,) = decode("F32", tensors[name + "_scale_2"].data)
                codes = [nibble for byte in tensor.data for nibble in (byte >> 4, byte & 15)]
                values = [multiply(multiply(e2m1(code), e4m3(scales[i // columns][i % columns // 16])),
                                   t) for i, code in enumerate(codes)]
            else:
                values = [multiply(e4m3(code), e8m0(scales[i // columns][i % columns // 32]))
                          for i, code in enumerate(tensor.data)]
            weights[name] = ((rows, columns), values)
        else:
            assert not said.get("convrot")
            weights[name] = plain_cells(tensors, name, name + "_scale")
    return weights


def gpt_oss(tensors, _config):
    """Under its name and with its axes."""
    weights = {}
    for name, tensor in tensors.items():
        if not name.endswith("_blocks"):
            continue
        plain = name.removesuffix("_blocks")
        experts, rows, groups, width = tensor.shape
        assert width == 16
        flat = {"c": files.Tensor("U8", (experts, rows, groups * 16), tensor.data),
                "s": tensors[plain + "_scales"]}
        _, values = bytes_in_groups(flat, "c", "s", 4, e2m1, e8m0, 32)
        columns = groups * 32
        weights[plain] = ((experts, columns, rows),
                          [values[(e * rows + r) * columns + c] for e in range(experts)
                           for c in range(columns) for r in range(rows)])
    return weights


# ------------------------------------------------------------------------------------------ GGUF

GGUF_BLOCKS = {2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 8: ("Q8_0", 32, 34), 39: ("MXFP4", 32, 17),
               40: ("NVFP4", 64, 36)}


def read_gguf(path):
    """{name: (type, shape, bytes)}"""
    data = path.read_bytes()
    assert data[:4] == b"GGUF"
    at = 4

    def take(form):
        nonlocal at
        (value,) = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return value

    def text():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size:at].decode()

    letters = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            inner, count = take("i"), take("Q")
            return [value(inner) for _ in range(count)]
        return take(letters[kind])

    assert take("I") == 3
    tensors, keys = take("q"), take("q")
    said = {}
    for _ in range(keys):
        key = text()
        said[key] = value(take("i"))
    infos = []
    for _ in range(tensors):
        name = text()
        shape = tuple(reversed([take("Q") for _ in range(take("I"))]))
        infos.append((name, shape, take("i"), take("Q")))
    begin = -(-at // 32) * 32
    sizes = {0: 4, 1: 2, 30: 2, 24: 1, 25: 2, 26: 4, 27: 8, 28: 8}
    found = {}
    for name, shape, kind, offset in infos:
        count = math.prod(shape)
        size = count * sizes[kind] if kind in sizes else count // GGUF_BLOCKS[kind][1] * GGUF_BLOCKS[kind][2]
        found[name] = (kind, shape, data[begin + offset:begin + offset + size])
    return found


def half(data):
    return decode("F16", data)[0]


def gguf(tensors):
    weights = {}
    for name, (kind, shape, data) in tensors.items():
        if kind not in GGUF_BLOCKS:
            continue
        word, per, size = GGUF_BLOCKS[kind]
        values = []
        for at in range(0, len(data), size):
            block = data[at:at + size]
            if word == "Q8_0":
                values += [multiply(Fraction(code), half(block[:2]))
                           for code in struct.unpack("32b", block[2:])]
            elif word in ("Q4_0", "Q4_1"):
                head = 2 if word == "Q4_0" else 4
                codes = [byte & 15 for byte in block[head:]] + [byte >> 4 for byte in block[head:]]
                for code in codes:
                    if word == "Q4_0":
                        values.append(multiply(Fraction(code - 8), half(block[:2])))
                    else:
                        values.append(add(multiply(Fraction(code), half(block[:2])), half(block[2:4])))
            elif word == "MXFP4":
                codes = [byte & 15 for byte in block[1:]] + [byte >> 4 for byte in block[1:]]
                values += [multiply(e2m1(code), e8m0(block[0])) for code in codes]
            else:
                for sub in range(4):
                    part = block[4 + 8 * sub:12 + 8 * sub]
                    assert block[sub] < 0x7F
                    codes = [byte & 15 for byte in part] + [byte >> 4 for byte in part]
                    values += [multiply(e2m1(code), e4m3(block[sub])) for code in codes]
        scale = name.removesuffix(".weight") + ".scale"
        if word == "NVFP4" and scale in tensors:
            factors = decode("F32", tensors[scale][2])
            each = len(values) // len(factors)
            values = [multiply(value, factors[i // each]) for i, value in enumerate(values)]
        assert len(values) == math.prod(shape)
        weights[name] = (shape, values)
    return weights


def weights_of(target, path, config, metadata=None, tensors=None):
    """All weights of a repacked file that are quantised."""
    if target == "gguf":
        return gguf(read_gguf(path))
    if target in ("gptq", "awq"):
        read = {"gptq": gptq, "awq": awq}[target]
        return {name.removesuffix(".qweight") + ".weight":
                read(tensors, name.removesuffix(".qweight"), config)
                for name in tensors if name.endswith(".qweight")}
    if target == "mlx":
        assert metadata["format"] == "mlx"
        return {name.removesuffix(".scales") + ".weight":
                mlx(tensors, name.removesuffix(".scales"), config)
                for name in tensors if name.endswith(".scales")}
    if target == "comfyui":
        return comfyui(tensors, metadata)
    return {"compressed-tensors": compressed_tensors, "modelopt": modelopt,
            "gpt-oss": gpt_oss}[target](tensors, config)
