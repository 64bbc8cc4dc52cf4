"""The cast as an operator of torch, `tensorcast::cast`, with what autograd, fake tensors and vmap need to know about it.

`tensorcast.cast` imports this when a tensor needs it; it imports torch.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib
from typing import Any

from . import _core, arrays
from .errors import ArgumentError, UnsupportedError
from .types import STRING

try:
    torch: Any = importlib.import_module("torch")  # by name: type checkers need no torch
except ImportError as error:
    raise ImportError(f"tensorcast.torch needs torch, which cannot be imported: {error}") from error

if not hasattr(torch.library, "register_autograd"):
    raise UnsupportedError(f"torch {torch.__version__} is older than 2.4, which the casts that it records need: cast x.detach()")

_FLOAT4 = 23  # ONNX's number; torch packs two to a byte
_FLOAT8_E8M0 = 24  # it has neither zero nor sign, and so no gradient

_SCHEMA = """cast(Tensor x, str to, *, bool saturate=True, str round_mode="up", str integer_overflow="wrap",
    str fnuz_infinity="max", str finite_only_nan="zero", int? threads=None) -> Tensor"""


def _dtype(number: int) -> Any:
    """The dtype that torch's result of a type has."""
    if number == STRING:
        raise UnsupportedError("torch has no strings: cast a numpy array")
    name = _core.type_dtype(number).name + ("_x2" if number == _FLOAT4 else "")
    if name.startswith("float6_"):  # torch has none: these are codes
        return torch.uint8
    dtype = getattr(torch, name, None)
    if dtype is None:
        raise ArgumentError(f"this torch has no {name}")
    return dtype


def _shape(x: Any, number: int) -> list[Any]:
    """The result's sizes, which may be symbols."""
    shape = list(x.shape)
    if shape and x.dtype == getattr(torch, "float4_e2m1fn_x2", None):
        shape[-1] = 2 * shape[-1]
    if number == _FLOAT4:
        if not shape or shape[-1] % 2 != 0:
            raise ArgumentError("torch.float4_e2m1fn_x2 holds two elements in a byte, and the last dimension is odd: "
                                "pad it, or cast x.numpy()")
        shape[-1] = shape[-1] // 2
    return shape


def _fake(x: Any, to: str, **_: Any) -> Any:
    """A result without elements, with x's order of dimensions, as `.to` gives it."""
    number = _core.type_number(to)
    shape = _shape(x, number)
    if len(shape) and (number == _FLOAT4) != (x.dtype == getattr(torch, "float4_e2m1fn_x2", None)):
        return x.new_empty(shape, dtype=_dtype(number))
    return torch.empty_like(x, dtype=_dtype(number))


def _kernel(x: Any, to: str, *, threads: int | None = None, **options: Any) -> Any:
    x, number = x.detach(), _core.type_number(to)
    like = _fake(torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta"), to)
    order = list(range(x.dim()))
    if like.shape == x.shape:
        if like.stride() != x.stride():  # it has gaps, or repeats elements
            x = x.clone(memory_format=torch.preserve_format)
        # With its dimensions in the order of their strides, it is in C's order.
        order.sort(key=like.stride, reverse=True)
    source = arrays.read(x.permute(order), None, False, None)
    made = arrays.cast_numbers(source, number, options, False, arrays.thread_count(threads), None, None)
    return arrays.wrap(made, number, False, x).as_strided(like.shape, like.stride())


def _setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    x, to = inputs
    ctx.to = str(x.dtype)
    ctx.threads = keyword_only_inputs["threads"]
    numbers = (_core.type_number(to), _core.type_number(ctx.to))
    if any(number in (_FLOAT4, _FLOAT8_E8M0) for number in numbers):
        ctx.mark_non_differentiable(output)


def _backward(ctx: Any, gradient: Any) -> tuple[Any, None]:
    """Straight through: the result's gradient, cast to x's type, whatever the cast did."""
    return None if gradient is None else cast(gradient, ctx.to, threads=ctx.threads), None


def _vmap(_: Any, in_dims: Any, x: Any, to: str, **named: Any) -> tuple[Any, Any]:
    return cast(x.movedim(in_dims[0], 0), to, **named), 0


_library = torch.library.Library("tensorcast", "DEF")
_library.define(_SCHEMA, tags=(torch.Tag.pt2_compliant_tag,))
_library.impl("cast", _kernel, "CompositeExplicitAutograd")
torch.library.register_fake("tensorcast::cast", _fake, lib=_library)
torch.library.register_autograd("tensorcast::cast", _backward, setup_context=_setup, lib=_library)
if hasattr(torch.library, "register_vmap"):  # torch has it from 2.5 on
    torch.library.register_vmap("tensorcast::cast", _vmap, lib=_library)

_operator = torch.ops.tensorcast.cast.default


class _Through(torch.autograd.Function):  # type: ignore[misc]
    """The same for torch.func's transforms, which do not know an operator's gradient."""

    @staticmethod
    def forward(x: Any, to: str, named: dict[str, Any]) -> Any:
        return _operator(x, to, **named)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.result, named = inputs
        _setup(ctx, (x, ctx.result), {"threads": named.get("threads")}, output)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, None, None]:
        return *_backward(ctx, gradient), None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, *_: None) -> Any:
        return None if tangent is None else cast(tangent, ctx.result, threads=ctx.threads)

    @staticmethod
    def vmap(_: Any, in_dims: Any, x: Any, to: str, named: dict[str, Any]) -> tuple[Any, Any]:
        return cast(x.movedim(in_dims[0], 0), to, **named), 0


def cast(x: Any, to: str, **named: Any) -> Any:
    """The operator, which takes a type by its name."""
    if torch._C._are_functorch_transforms_active() and not torch._is_functional_tensor(x):
        return _Through.apply(x, to, named)
    return _operator(x, to, **named)

