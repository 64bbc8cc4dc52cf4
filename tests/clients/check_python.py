#!/usr/bin/env python3
"""The Python package beside PyTorch: tensors in and out, shared memory, 10,000 random exchanges; that
no Python of ours is on the way; what is held; threads.

    check_python.py --tool TOOL      (which says where the build is)

The package is that of tests/python's wheel, which ctest's python.wheel installs.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import copy
import gc
import pathlib
import sys
import threading

import installed_wheel

TYPES = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
         "float8_e5m2fnuz", "float8_e8m0fnu", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
         "uint64", "bool"]


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
    x = torch.tensor([0.5, 1, 2, 448.0])
    for name in TYPES:
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


def every_pair(tc, torch, np):
    """Every pair of torch's types, into new memory and into `out`: the bytes of numpy's cast, in tensors of
    every order that torch has without gaps."""
    codes = torch.from_numpy(np.random.default_rng(7).integers(0, 256, 8 * 120).astype(np.uint8))
    for first in TYPES:
        kind = getattr(torch, first)
        x = (codes[:120] % 2).view(kind) if first == "bool" else codes[: 120 * kind.itemsize].view(kind)
        for shape, order in (((120,), (0,)), ((4, 5, 6), (2, 0, 1)), ((2, 3, 4, 5), (0, 2, 3, 1))):
            tensor = x.reshape(shape).permute(order)
            bits = tensor.contiguous().view(torch.uint8 if first == "bool" else getattr(torch, f"uint{8 * kind.itemsize}"))
            held = bits.numpy().view(tc.finfo(first).dtype)
            for second in TYPES:
                to = getattr(torch, second)
                want = tc.cast(held, second).tobytes()
                made = tc.cast(tensor, to)
                assert made.dtype == to and made.shape == tensor.shape, (first, second)
                assert made.stride() == tensor.stride(), (first, second)  # as .to has it
                assert made.contiguous().view(torch.uint8).numpy().tobytes() == want, (first, second)
                out = torch.zeros(tensor.shape, dtype=to)
                assert tc.cast(tensor, out=out) is out
                assert out.view(torch.uint8).numpy().tobytes() == want, (first, second)


def no_python(tc, torch, np):
    """No function of the package's Python is called on the way, nor any of torch's."""
    x, out = torch.arange(64.0).reshape(8, 8), torch.zeros(8, 8, dtype=torch.bfloat16)
    calls = [lambda: tc.cast(x, torch.bfloat16), lambda: tc.cast(x.t(), "int8"), lambda: tc.cast(x, out=out),
             lambda: tc.cast(x, to="float8_e4m3fn", saturate=False, threads=1), lambda: tc.cast(x, like=out),
             lambda: tc.cast(torch.nn.Parameter(x, requires_grad=False), torch.float16), lambda: tc.cast(x, "int4", packed=True),
             lambda: tc.cast(x, "float4_e2m1fn"), lambda: tc.cast(out, torch.float32, from_type="float16")]
    package = str(pathlib.Path(tc.__file__).parent)
    for index, call in enumerate(calls):
        call()  # types are remembered
        seen = []
        sys.setprofile(lambda frame, event, _: seen.append(frame.f_code) if event == "call" else None)
        try:
            call()
        finally:
            sys.setprofile(None)
        assert [code.co_name for code in seen if code.co_filename.startswith(package)] == [], (index, seen)


def odd_tensors(tc, torch, np):
    """Tensors whose memory is not their elements are right or refused."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    imaginary = torch.complex(torch.arange(4.0), torch.arange(4.0) + 10).conj().imag
    for x in (imaginary, imaginary.as_strided((3,), (1,)), torch._neg_view(torch.arange(3.0)), imaginary[:1]):
        assert x.is_neg() and torch.equal(tc.cast(x, torch.float64), x.to(torch.float64))
    assert tc.cast(torch.ones(1).expand(5), "int8").tolist() == [1] * 5
    assert tc.cast(torch.tensor(3.0), "int8").shape == () and tc.cast(torch.zeros(0, 3), "int8").shape == (0, 3)

    class Own(torch.Tensor):
        pass

    assert tc.cast(torch.ones(3).as_subclass(Own), "int8").tolist() == [1, 1, 1]
    held = torch.nn.Parameter(torch.zeros(3), requires_grad=False)
    assert tc.cast(torch.ones(3), out=held) is held and held.tolist() == [1, 1, 1]
    with torch.inference_mode():
        inference = torch.zeros(3)
    assert tc.cast(torch.ones(3), out=inference).tolist() == [1, 1, 1]
    with FakeTensorMode():
        fake = torch.empty(3)
    empty = torch.ones(3)
    empty.untyped_storage().resize_(0)
    refused = [(lambda: tc.cast(fake, "int4", packed=True), "without memory"), (lambda: tc.cast(fake, "float16", from_type="int32"), "without memory"),
               (lambda: tc.cast(empty, "int8"), "without memory"),
               (lambda: tc.cast(torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "int8"), "qint8"),
               (lambda: tc.cast(torch.ones(3).to_mkldnn(), "int8"), "layout"),
               (lambda: tc.cast(torch.ones(3), out=torch._neg_view(torch.ones(3))), "negated view"),
               (lambda: tc.cast(torch.ones(3), out=torch.nn.Parameter(torch.ones(3))), "gradient")]
    for call, words in refused:
        try:
            call()
        except tc.Error as error:
            assert words in str(error) and "\n" not in str(error), error
        else:
            raise AssertionError(f"an error with {words!r} was expected")
    # A result is a tensor like others.
    made = tc.cast(torch.arange(6.0), "int8")
    assert copy.deepcopy(made).tolist() == made.add_(1).sub_(1).tolist() == made.clone().share_memory_().tolist()


def what_is_held(tc, torch, np):
    """Nothing is kept of a call but large results' memory, which is bounded; threads may cast at once."""
    x, out, kind = torch.arange(1 << 18, dtype=torch.float32), torch.zeros(1 << 18, dtype=torch.int16), torch.float64
    counts = [sys.getrefcount(each) for each in (x, out, kind, None)]
    for _ in range(1000):
        tc.cast(x[:8], kind)
        tc.cast(x, out=out)
    now = [sys.getrefcount(each) for each in (x, out, kind, None)]
    assert all(abs(a - b) < 50 for a, b in zip(counts, now)), (counts, now)
    limit = tc.result_memory()["limit"]
    assert tc.result_memory(limit=4 << 20)["kept"] <= 4 << 20
    first = tc.cast(x, kind)
    address = first.data_ptr()
    assert address % 64 == 0
    view = first[10:]
    del first
    assert tc.cast(x, kind).data_ptr() != address and view.tolist() == list(range(10, 1 << 18))
    del view
    gc.collect()
    assert 0 < tc.result_memory()["kept"] <= 4 << 20
    wrong = []

    def run(number):
        mine = torch.full((1 << 18,), float(number))
        for _ in range(50):
            made = tc.cast(mine, kind)
            if not bool((made == number).all()):
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and tc.result_memory()["kept"] <= 4 << 20
    assert tc.result_memory(limit=0)["kept"] == 0
    tc.result_memory(limit=limit)


def memory(tc, torch, np):
    """Who owns what: a result lives on its own, out is the tensor's memory."""
    x = torch.arange(1000, dtype=torch.float32)
    y = tc.cast(x, torch.int32)
    del x
    assert y.tolist() == list(range(1000))
    tied = torch.zeros(4, requires_grad=True)
    with torch.no_grad():
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
    every_pair(tc, torch, np)
    no_python(tc, torch, np)
    odd_tensors(tc, torch, np)
    what_is_held(tc, torch, np)
    memory(tc, torch, np)
    exchanges(tc, torch, np)
    print("torch: every pair of types, ownership, 10,000 exchanges, no Python on the way")


if __name__ == "__main__":
    main()
