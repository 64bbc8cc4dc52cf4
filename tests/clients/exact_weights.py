"""What the weights of a checkpoint with scales are, exactly: the product of the code and its scales
in float64, which holds it, and divisions by Python's fractions. Nothing of tensorcast is used.

SPDX-License-Identifier: Apache-2.0
"""
import fractions
import subprocess
import sys

import torch

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M3 = [(c & 7) / 8 if c < 8 else (1 + (c & 7) / 8) * 2.0 ** ((c >> 3) - 1) for c in range(32)]


def values_of_codes(packed, bits):
    """The values of packed float4e2m1 or float6e2m3 codes, in float64."""
    data = packed.to(torch.int64)
    if bits == 4:
        codes = torch.stack((data & 15, data >> 4), -1).flatten(-2)
        table = torch.tensor(E2M1 + [-v for v in E2M1], dtype=torch.float64)
    else:
        three = data.unflatten(-1, (-1, 3))
        word = three[..., 0] | three[..., 1] << 8 | three[..., 2] << 16
        codes = torch.stack([word >> 6 * i & 63 for i in range(4)], -1).flatten(-2)
        table = torch.tensor(E2M3 + [-v for v in E2M3], dtype=torch.float64)
    return table[codes]


def integers_of(words, bits, count):
    """The integers of lines of bits along the last dimension of words, unsigned."""
    stream = words.to(torch.int64) & 0xFFFFFFFF
    at = torch.arange(count) * bits
    high = torch.nn.functional.pad(stream, (0, 1))[..., at // 32 + 1] << 32 - at % 32
    return (stream[..., at // 32] >> at % 32 | high) & (1 << bits) - 1


def exact_weights(tensors, layer):
    """A layer's weight as float64 factors: (product of code and scales, global divisor or None); the
    product is exact, having at most 32 bits."""
    scale = tensors.get(layer + "weight_scale", tensors.get(layer + "weight_scale_inv"))
    divisor = tensors.get(layer + "weight_global_scale")
    if scale.dtype == torch.uint8:
        scale = torch.exp2(scale.to(torch.float64) - 127)
    scale = scale.to(torch.float64)
    if scale.ndim < 2:
        scale = scale.reshape(-1, 1)
    packed = tensors.get(layer + "weight_packed", tensors.get(layer + "weight"))
    if packed.dtype == torch.int32:
        rows, columns = tensors[layer + "weight_shape"].tolist()
        bits = packed.shape[1] * 32 // columns
        codes = integers_of(packed, bits, columns)
        zero = 1 << bits - 1
        if (zeros := tensors.get(layer + "weight_zero_point")) is not None:
            zero = integers_of(zeros.T, bits, rows).T.repeat_interleave(columns // zeros.shape[1], 1)
        codes = (codes - zero).to(torch.float64)
    elif packed.dtype == torch.uint8:
        # float6: 3 bytes hold 4 codes of a group of 32.
        bits = 4 if packed.shape[1] * 2 % scale.shape[1] == 0 and \
            packed.shape[1] * 2 // scale.shape[1] in (16, 32) else 6
        codes = values_of_codes(packed, bits)
    else:
        codes = packed.to(torch.float64)
    rows, columns = codes.shape
    down, across = -(-rows // scale.shape[0]), -(-columns // scale.shape[1])
    grid = scale.repeat_interleave(down, 0)[:rows].repeat_interleave(across, 1)[:, :columns]
    if layer + "weight_scale_2" in tensors:  # ModelOpt's, which multiplies
        grid = grid * tensors[layer + "weight_scale_2"].to(torch.float64)
    return codes * grid, None if divisor is None else divisor.to(torch.float64).item()


def nearest_of(values, dtype):
    """Doubles rounded once, to the even one at ties; torch's own cast of a double to bfloat16 goes by
    way of float32. Not for subnormals."""
    bits = {torch.float32: 24, torch.bfloat16: 8}[dtype]
    mantissa, exponent = torch.frexp(values)
    return torch.ldexp(torch.round(torch.ldexp(mantissa, torch.tensor(bits))),
                       exponent - bits).to(dtype)


def rounded(product, divisor, dtype):
    """Rounds once to dtype."""
    if divisor is None:
        return nearest_of(product, dtype)
    # A double that a quotient was rounded to may be a tie of dtype that the quotient is not: those
    # are decided by fractions.
    quotient = product / divisor
    result = nearest_of(quotient, dtype)
    bits = 53 - (24 if dtype == torch.float32 else 8)
    tail = quotient.view(torch.int64) & ((1 << bits) - 1)
    for place in torch.nonzero(tail == 1 << (bits - 1)):
        i = tuple(place.tolist())
        exact = fractions.Fraction(product[i].item()) / fractions.Fraction(divisor)
        near = fractions.Fraction(quotient[i].item())
        if exact != near:
            away = quotient[i].item() * (1 + 2.0 ** -50 * (1 if (exact > near) == (near > 0) else -1))
            result[i] = nearest_of(torch.tensor(away, dtype=torch.float64), dtype)
    return result


def once(values, dtype):
    """Doubles rounded once: by float32 with the last bit set where something was cut off, which
    rounds to the narrower types as the double does."""
    if dtype == torch.float32:
        return values.to(dtype)  # one rounding
    near = values.to(torch.float32)
    toward_zero = torch.where(near.double().abs() > values.abs(),
                              torch.nextafter(near, torch.zeros_like(near)), near)
    bits = toward_zero.view(torch.int32)
    return torch.where(toward_zero.double() != values, bits | 1, bits).view(torch.float32).to(dtype)


def differ(a, b):
    size = a.element_size()
    return (a.contiguous().view(torch.uint8) != b.contiguous().view(torch.uint8)).reshape(
        -1, size).any(1)


def run(tool, *arguments):
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout
