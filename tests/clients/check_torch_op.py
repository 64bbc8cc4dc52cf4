#!/usr/bin/env python3
"""The cast as an operator of torch: opcheck, gradients beside torch's own, torch.compile, torch.export and torch.func;
what is imported, and that calls without a gradient do not pass the operator.

    check_torch_op.py --tool TOOL      (which says where the build is)

The package is that of tests/python's wheel, which ctest's python.wheel installs.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import doctest
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import installed_wheel

INSTALLED = []  # the folders of the package, and of what the tests of Python have beside it
FLOATS = ["float16", "bfloat16", "float32", "float64"]
FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]


def bits(tensor):
    import torch

    return tensor.detach().contiguous().view(torch.uint8).numpy().tobytes()


def in_a_process(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(INSTALLED)})
    assert done.returncode == 0, done.stderr


def imports():
    """The package does not import torch; torch's compiler comes with tensorcast.torch alone; plain calls load
    nothing of it."""
    in_a_process("import sys, tensorcast; assert 'torch' not in sys.modules")
    in_a_process("import sys, torch, tensorcast as tc; had = set(sys.modules); x = torch.ones(3)\n"
                 "tc.cast(x, 'int8'), tc.cast(x, like=x), tc.cast(x[::2], 'float16')\n"
                 "assert 'tensorcast.torch_op' not in sys.modules\n"
                 "x.requires_grad_()\n"
                 "with torch.no_grad(): tc.cast(x, 'int8')\n"
                 "assert 'tensorcast.torch_op' not in sys.modules\n"
                 "assert tc.cast(x, 'float16').requires_grad and 'torch._dynamo' not in sys.modules\n"
                 "assert 'tensorcast.torch_op' in sys.modules")


def tensors(torch):
    """Tensors in every order, with gaps, without elements."""
    generator = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    image = normal(2, 3, 4, 6).to(memory_format=torch.channels_last)
    return [normal(3, 4), normal(8, 6).t(), image, image[:, :, ::2], normal(6).expand(2, 6), normal(()), torch.zeros(0, 3),
            normal(3, 0).t(), torch.arange(6), normal(2, 1, 3, 3).to(memory_format=torch.channels_last),
            normal(1, 4, 1, 1).to(memory_format=torch.channels_last), normal(2, 3, 4, 2, 2).to(memory_format=torch.channels_last_3d)]


def opcheck(tc, torch):
    """torch's own check of operators: schema, autograd's registration, fake tensors, the compiler's graphs."""
    operator, count = torch.ops.tensorcast.cast.default, 0
    for x in tensors(torch):
        for to in ["float8e4m3fn", "bfloat16", "float32", "float64", "int8", "bool", "float6e2m3", "float16"]:
            needs = [False, True] if x.is_floating_point() and to.startswith(("bf", "float16", "float3", "float64")) else [False]
            for gradient in needs:
                given = x.detach().requires_grad_() if gradient else x
                told = torch.library.opcheck(operator, (given, to), {"saturate": False, "round_mode": "down"})
                assert set(told.values()) == {"SUCCESS"}, (x.shape, to, told)
                count += 1
    for x, to in ((torch.rand(3, 4) + 1, "float8e8m0"), (torch.rand(4, 6), "float4e2m1"), (torch.rand(4, 6).t(), "float4e2m1"),
                  (torch.rand(3, 3), "int4"), (torch.rand(3, 4, requires_grad=True), "float8e5m2")):
        # torch has no sums and no comparisons of these.
        told = torch.library.opcheck(operator, (x, to), test_utils=["test_schema", "test_autograd_registration", "test_faketensor"])
        assert set(told.values()) == {"SUCCESS"}, (x.shape, to, told)
        count += 1
    return count


def orders(tc, tct, torch):
    """Values and strides are those of `.to`, by the operator and without it."""
    for x in tensors(torch):
        for to in (torch.float16, torch.float64, torch.float32):
            want = x.to(to, copy=True)
            torch._dynamo.reset()
            for made in (tct.cast(x, to), torch.compile(tct.cast, fullgraph=True, backend="eager")(x, to)):
                assert torch.equal(made, want) and (made.stride() == want.stride() or not x.numel()), (x.shape, made.stride())
            made = tc.cast(x, to)
            assert torch.equal(made, want)
            if torch.empty_like(x).stride() == x.stride() and x.numel():  # what has gaps comes in C's order
                assert made.stride() == want.stride(), (x.shape, x.stride(), made.stride())
            if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
                assert made.is_contiguous(memory_format=torch.channels_last)
    for turned in (torch.randn(8, 6).t(), torch.randn(4, 3, 8).permute(1, 2, 0)):
        for call in (tc.cast, tct.cast):
            assert bits(call(turned, "float4_e2m1fn")) == bits(tc.cast(turned.contiguous(), "float4_e2m1fn"))


def gradients(tc, tct, torch):
    """The gradient is that of the result, cast to x's type: the bits of torch's own cast's, whatever was rounded."""
    generator = torch.Generator().manual_seed(2)
    checked = 0
    for first in FLOATS + FLOAT8:
        for second in FLOATS + FLOAT8:
            values = torch.randn(4, 5, generator=generator).to(getattr(torch, first))
            up = (torch.randint(-8, 8, (4, 5), generator=generator) / 8).to(getattr(torch, second))
            theirs = values.clone().requires_grad_()
            theirs.to(getattr(torch, second), copy=True).backward(up)
            for call in (tc.cast, tct.cast):
                ours = values.clone().requires_grad_()
                made = call(ours, second, saturate=True)
                assert made.requires_grad and made.dtype == up.dtype
                made.backward(up)
                assert ours.grad.dtype == ours.dtype and bits(ours.grad) == bits(theirs.grad), (first, second)
                checked += 1
    # What saturated, overflowed or became zero passes its gradient like any other.
    x = torch.tensor([1e-9, 1e9, -1e9, float("nan"), 0.1], requires_grad=True)
    tc.cast(tc.cast(x, "float8_e4m3fn"), torch.float32).sum().backward()
    assert x.grad.tolist() == [1] * 5
    for to in ("int8", "bool", "float8_e8m0", "float6_e2m3fn", "int4"):  # none passes these
        assert not tc.cast(x, to).requires_grad, to
    assert tc.cast(x, like=torch.zeros(0, dtype=torch.float64)).requires_grad
    assert not isinstance(tc.cast(x, like=tc.cast([1], "int8")), torch.Tensor)
    made, report = tc.cast(x, "bfloat16", loss=True)
    assert made.requires_grad and report.elements == 5
    assert not tc.cast(x, "bfloat16", packed=True, from_type="float32").requires_grad
    double = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: tct.cast(a, torch.float64), (double,))
    assert torch.autograd.gradgradcheck(lambda a: tct.cast(a * a, torch.float64), (double,))
    # A Module's parameters, by way of checkpointing.
    layer = torch.nn.Linear(5, 2)
    torch.utils.checkpoint.checkpoint(lambda a: layer(tc.cast(tc.cast(a, "float8_e5m2"), "float32")).sum(),
                                      x.detach().nan_to_num(0), use_reentrant=False).backward()
    assert layer.weight.grad is not None
    return checked


def compiled(tc, tct, torch, np):
    """One graph without breaks, by each of torch's compilers: the values and gradients of the calls themselves."""
    x = torch.randn(4, 6)
    for backend in ("eager", "aot_eager", "inductor"):
        for call in (tct.cast, tc.cast):
            for name in (torch.bfloat16, "bf16", np.float16, 10, "float8_e5m2"):
                torch._dynamo.reset()
                plain = (lambda a, call=call, name=name: call(a, name, saturate=False).to(torch.float32) * 2)
                assert torch.equal(torch.compile(plain, fullgraph=True, backend=backend)(x), plain(x)), (backend, call, name)
            torch._dynamo.reset()
            sizes = torch.compile(lambda a, call=call: call(a, torch.float8_e4m3fn), fullgraph=True, dynamic=True, backend=backend)
            for n in (2, 5, 7):
                assert bits(sizes(x[:1].repeat(n, 2))) == bits(tc.cast(x[:1].repeat(n, 2), torch.float8_e4m3fn))
        torch._dynamo.reset()
        like = torch.compile(lambda a, b: tc.cast(a, like=b) + b, fullgraph=True, backend=backend)
        assert like(x, torch.ones(6, dtype=torch.float16)).dtype == torch.float16
        layer = torch.nn.Linear(6, 3)

        def train(a, layer=layer):
            return (tc.cast(tc.cast(layer(a), torch.float8_e4m3fn), torch.float32) ** 2).sum()

        train(x).backward()
        want, layer.weight.grad = layer.weight.grad, None
        torch.compile(train, fullgraph=True, backend=backend)(x).backward()
        assert torch.allclose(layer.weight.grad, want)
        for wrong in (lambda a: tc.cast(a, "bf16", packed=True), lambda a: tct.cast(a, "flaot16")):
            torch._dynamo.reset()
            try:
                torch.compile(wrong, fullgraph=True, backend=backend)(x)
            except Exception as error:  # torch's own class, with our line in it
                assert "has no out, packed" in str(error) or "is not an element type" in str(error), error
            else:
                raise AssertionError("it was not refused")
    torch._dynamo.reset()


def exported(tc, tct, torch):
    """torch.export keeps the operator, runs it on other sizes, and after it was saved and read."""
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 3)

        def forward(self, a):
            return tc.cast(tct.cast(self.layer(a), torch.float8_e4m3fn), "float32")

    x, model = torch.randn(4, 6), Model()
    for strict in (False, True):
        program = torch.export.export(model, (x,), strict=strict, dynamic_shapes={"a": {0: torch.export.Dim("n", min=2)}})
        called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
        assert called.count("tensorcast.cast.default") == 2, called
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        for ran in (program.module(), torch.export.load(file).module()):
            for given in (x, torch.randn(9, 6)):
                assert torch.equal(ran(given), model(given))


def transforms(tc, tct, torch):
    """torch.func, fake and meta tensors, make_fx; what is refused."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    x = torch.randn(4, 6)
    for call in (tc.cast, tct.cast):
        half = (lambda a, call=call: call(a, "float16"))
        for dimension in (0, 1):
            made = torch.func.vmap(half, in_dims=dimension)(x)
            assert torch.equal(made, x.to(torch.float16).movedim(dimension, 0))
        assert torch.equal(torch.func.grad(lambda a: (half(a).float() * x).sum())(x), x.to(torch.float16).float())
        assert torch.equal(torch.func.jacrev(lambda a: half(a).float())(x[0]), torch.eye(6))
        made, tangent = torch.func.jvp(half, (x,), (x + 1,))
        assert torch.equal(made, x.to(torch.float16)) and torch.equal(tangent, (x + 1).to(torch.float16))
        assert torch.equal(torch.func.functionalize(half)(x), x.to(torch.float16))
        for mode in ("real", "fake", "symbolic"):
            assert "tensorcast.cast" in make_fx(lambda a: half(a) + 1, tracing_mode=mode)(x).code
    with FakeTensorMode():
        fake = torch.empty(3, 4).t()
    made = tc.cast(fake, "bfloat16")
    assert (made.shape, made.stride(), made.dtype) == (fake.shape, fake.stride(), torch.bfloat16)
    assert tct.cast(torch.empty(3, device="meta"), "int8").device.type == "meta"
    for call, error, words in ((lambda: tct.cast(x.numpy(), "int8"), TypeError, "x must be a torch.Tensor"),
                               (lambda: tct.cast(x, torch.int1), ValueError, "int2, int4"),
                               (lambda: tct.cast(x, "string"), ValueError, "torch has no strings"),
                               (lambda: tct.cast(x, "int8", round_mode="even"), ValueError, "round_mode"),
                               (lambda: tct.cast(x[:, :5], "float4_e2m1fn"), ValueError, "odd"),
                               (lambda: tct.cast(torch.ones(2, dtype=torch.complex64), "int8"), TypeError, "complex64")):
        try:
            call()
        except error as caught:
            assert words in str(caught) and isinstance(caught, tc.Error), caught
        else:
            raise AssertionError(f"an error with {words!r} was expected")


TYPED = """
from typing import assert_type
import torch
import tensorcast as tc
import tensorcast.torch as tct
x = torch.zeros(3)
assert_type(tc.cast(x, torch.bfloat16), torch.Tensor)
assert_type(tc.cast(torch.nn.Parameter(x), "int8", loss=True), tuple[torch.Tensor, tc.LossReport])
assert_type(tc.cast([1.5], like=x), torch.Tensor)
assert_type(tct.cast(torch.nn.Parameter(x), torch.float8_e5m2, saturate=False), torch.Tensor)
tct.cast(x, torch.float8_e5m2, round_mode="even")
"""


def typed():
    """mypy knows torch's own tensors and dtypes for what they are."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "typed.py"
        path.write_text(TYPED, encoding="utf-8")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, "--follow-imports=silent", path],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(INSTALLED), "MYPYPATH": INSTALLED[0]})
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1 and "round_mode" in errors[0], done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    installed_wheel.add_to_path(parser.parse_args().tool)
    INSTALLED.extend(sys.path[-2:])
    warnings.simplefilter("ignore")
    import numpy as np
    import tensorcast as tc
    import torch

    imports()
    import tensorcast.torch as tct

    assert doctest.testmod(tct).failed == 0 and ">>> " in tct.cast.__doc__
    checked = opcheck(tc, torch)
    orders(tc, tct, torch)
    pairs = gradients(tc, tct, torch)
    compiled(tc, tct, torch, np)
    exported(tc, tct, torch)
    transforms(tc, tct, torch)
    typed()
    print(f"torch: opcheck of {checked} calls, {pairs} gradients with torch's bits, one graph by three compilers, export, func")


if __name__ == "__main__":
    main()
