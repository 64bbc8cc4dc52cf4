#!/usr/bin/env python3
"""The Python package beside PyTorch: tensors in and out, shared memory, 10,000 random exchanges.

    check_python.py --tool TOOL      (which says where the build is)

The package is that of tests/python's wheel, which ctest's python.wheel installs.

SPDX-License-Identifier: Apache-2.0
"""
import argparse

import installed_wheel


def exchanges(tc, torch, np):
    """Random tensors through DLPack and through cast, each way; the result is torch's own cast."""
    rng = np.random.default_rng(20261122)
    kinds = [torch.float32, torch.float64, torch.float16, torch.int8, torch.int16, torch.int32, torch.int64,
             torch.uint8]
    exact = {torch.int8: [torch.float16, torch.float32, torch.bfloat16, torch.int32],
             torch.uint8: [torch.float16, torch.float32, torch.int16],
             torch.float16: [torch.float32, torch.float64], torch.float32: [torch.float64, torch.bfloat16, torch.float16],
             torch.float64: [torch.float32], torch.int16: [torch.float32, torch.int64, torch.int8],
             torch.int32: [torch.float64, torch.int16], torch.int64: [torch.int32, torch.uint8]}
    for i in range(10_000):
        kind = kinds[rng.integers(len(kinds))]
        shape = tuple(int(n) for n in rng.integers(0, 6, rng.integers(0, 4)))
        base = torch.from_numpy(rng.integers(-100, 100, shape)).to(kind)
        if base.dim() > 1 and rng.integers(2):
            base = base.transpose(0, 1)
        if base.dim() and rng.integers(2):
            base = base[:: 2]
        to = exact[kind][rng.integers(len(exact[kind]))]
        way = rng.integers(3)
        if way == 0:  # as torch's
            got = tc.cast(base, to)
        elif way == 1:  # as anything's that has DLPack, and back through it
            class Other:
                def __init__(self, tensor):
                    self.tensor = tensor

                def __dlpack__(self, **named):
                    return self.tensor.__dlpack__(**named)

                def __dlpack_device__(self):
                    return self.tensor.__dlpack_device__()

            made = tc.cast(Other(base), str(to))
            got = torch.from_numpy(made.view(np.uint16) if to == torch.bfloat16 else made).view(to)
        else:  # written in place
            got = torch.empty(base.shape, dtype=to)
            assert tc.cast(base, out=got) is got
        want = base.to(to)
        assert got.dtype == to and got.shape == want.shape and torch.equal(got, want), (i, kind, to, way)


def types(tc, torch, np):
    """Every torch dtype that is an element type, to float32 and from it."""
    names = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
             "float8_e5m2fnuz", "float8_e8m0fnu", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
             "uint64", "bool"]
    x = torch.tensor([0.5, 1, 2, 448.0])
    for name in names:
        kind = getattr(torch, name)
        made = tc.cast(x, kind)
        assert made.dtype == kind and made.shape == x.shape
        if not name.startswith(("uint16", "uint32", "uint64")):
            assert torch.equal(tc.cast(made, "float32"), made.to(torch.float32)), name
        saved = made.view(torch.uint8).numpy()
        assert np.array_equal(saved, tc.cast(x.numpy(), kind).view(np.uint8)), name
    four = tc.cast(torch.tensor([[0.5, 6], [-1, 3]]), "float4_e2m1fn")
    assert four.dtype == torch.float4_e2m1fn_x2 and four.shape == (2, 1)
    assert four.view(torch.uint8).tolist() == [[0x71], [0x5A]]
    assert tc.cast(four, torch.float32).tolist() == [[0.5, 6], [-1, 3]]
    assert tc.cast(torch.tensor([1.5, -2]), torch.int4).view(torch.uint8).tolist() == [2, 0x0E]
    assert tc.cast(torch.tensor([1.0, -2]), "float6_e2m3fn").dtype == torch.uint8


def memory(tc, torch, np):
    """Who owns what: a result lives on its own, out is the tensor's memory."""
    x = torch.arange(1000, dtype=torch.float32)
    y = tc.cast(x, torch.int32)
    del x
    assert y.tolist() == list(range(1000))
    tied = torch.zeros(4, requires_grad=True)
    assert not tc.cast(tied, "bfloat16").requires_grad
    assert tc.cast(torch.complex(torch.ones(2), torch.ones(2)).conj().imag, "int8").tolist() == [-1, -1]
    assert isinstance(tc.cast(torch.nn.Parameter(torch.ones(2)), "int8"), torch.Tensor)
    assert isinstance(tc.cast(np.ones(2), like=torch.ones(2)), torch.Tensor)
    assert isinstance(tc.cast(torch.ones(2), like=np.ones(2, np.int8)), np.ndarray)
    # Autograd hears of what was written, as it does of torch's own.
    factor = torch.ones(3, requires_grad=True)
    held = torch.full((3,), 2.0)
    product = factor * held
    tc.cast(torch.full((3,), 7.0), out=held)
    try:
        product.sum().backward()
    except RuntimeError as caught:
        assert "modified by an inplace operation" in str(caught)
    else:
        raise AssertionError(f"a gradient of {factor.grad} for 2")
    not_a_leaf = factor * 2
    for call, error in ((lambda: tc.cast(torch.ones(2, dtype=torch.complex64), "int8"), TypeError),
                        (lambda: tc.cast(torch.ones(2).to_sparse(), "int8"), TypeError),
                        (lambda: tc.cast(torch.ones(2, device="meta"), "int8"), TypeError),
                        (lambda: tc.cast(torch.ones(3), "float4_e2m1fn"), ValueError),
                        (lambda: tc.cast(torch.ones(3), "string"), ValueError),
                        (lambda: tc.cast(torch.ones(3), out=tied), ValueError),
                        (lambda: tc.cast(torch.ones(3), out=not_a_leaf), ValueError),
                        (lambda: tc.cast([tied], "int8"), ValueError),
                        (lambda: tc.cast(torch.nested.nested_tensor([torch.ones(2)]), "int8"), TypeError),
                        (lambda: tc.cast([1.5], torch.Tensor), TypeError),
                        (lambda: tc.cast(torch.ones(3), out=torch.zeros(4)), ValueError)):
        try:
            call()
        except error as caught:
            assert isinstance(caught, tc.Error) and "\n" not in str(caught), caught
        else:
            raise AssertionError(f"{error} was expected")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    installed_wheel.add_to_path(parser.parse_args().tool)
    import numpy as np
    import tensorcast as tc
    import torch

    types(tc, torch, np)
    memory(tc, torch, np)
    exchanges(tc, torch, np)
    print("torch: every type, ownership, 10,000 exchanges")


if __name__ == "__main__":
    main()
