"""Casts in torch's graphs: with gradients, in torch.compile, torch.export and torch.func.

    import tensorcast.torch
    y = tensorcast.torch.cast(x, torch.float8_e4m3fn)

`tensorcast.cast` uses the same operator if its tensor requires a gradient or is being traced. Once this module
is imported, torch.compile and torch.export with strict=True see the operator in `tensorcast.cast` too. It imports
torch, and torch's compiler.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

from .errors import ArgumentError, KindError
from .signatures import FiniteOnlyNan, FnuzInfinity, IntegerOverflow, RoundMode, TorchTensor
from .torch_op import cast as _cast
from .torch_op import torch as _torch
from .types import TypeLike, type_name

T = TypeVar("T")


def cast(
    x: TorchTensor[T],
    dtype: TypeLike,
    *,
    saturate: bool = True,
    round_mode: RoundMode = "up",
    integer_overflow: IntegerOverflow = "wrap",
    fnuz_infinity: FnuzInfinity = "max",
    finite_only_nan: FiniteOnlyNan = "zero",
    threads: int | None = None,
) -> T:
    """Casts every element of a tensor, by the operator ``torch.ops.tensorcast.cast``.

    The gradient is straight through: it is the gradient of the result, cast to x's type, whatever the cast
    rounded, saturated or made zero. No gradient passes from or to integers, bool, float8e8m0, float6 and float4.

    Parameters
    ----------
    x : torch.Tensor
        A tensor that is on the CPU when the cast runs. The result has its order of dimensions, also
        channels_last.
    dtype : type
        As `to` in `tensorcast.cast`.
    saturate, round_mode, integer_overflow, fnuz_infinity, finite_only_nan, threads
        As in `tensorcast.cast`.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    ArgumentError, KindError
        As in `tensorcast.cast`.

    Examples
    --------
    >>> import torch
    >>> import tensorcast.torch
    >>> x = torch.tensor([0.1, 448, 512], requires_grad=True)
    >>> y = tensorcast.torch.cast(tensorcast.torch.cast(x, torch.float8_e4m3fn), torch.float32)
    >>> y.tolist()
    [0.1015625, 448.0, 448.0]
    >>> y.sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0, 1.0]
    """
    if not isinstance(x, _torch.Tensor):
        raise KindError(f"x must be a torch.Tensor, not {type(x).__name__}: tensorcast.cast takes other arrays")
    result: T = _cast(x, _name(dtype), saturate=saturate, round_mode=round_mode, integer_overflow=integer_overflow,
                      fnuz_infinity=fnuz_infinity, finite_only_nan=finite_only_nan, threads=threads)
    return result


# This is called while a graph is traced, and its answer is written into the graph: it asks the extension.
@_torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _name(dtype: TypeLike) -> str:
    return type_name(dtype)


def _traced(x: Any, to: Any = None, *, like: Any = None, out: Any = None, packed: Any = False, from_type: Any = None,
            shape: Any = None, loss: Any = False, string_style: Any = "numpy", **options: Any) -> Any:
    """`tensorcast.cast`, as torch.compile reads it."""
    if not isinstance(x, _torch.Tensor):
        raise KindError("a cast in a graph of torch's takes a tensor")
    if out is not None or packed is not False or from_type is not None or shape is not None or loss is not False:
        raise ArgumentError("a cast in a graph of torch's has no out, packed, from_type, shape or loss")
    if to is None and like is None:
        raise ArgumentError("a cast needs a type: give to, like or out")
    return cast(x, like.dtype if to is None else to, **options)


if hasattr(_torch.compiler, "substitute_in_graph"):  # torch has it from 2.5 on
    # The package is there: Python imports it before its modules.
    _torch.compiler.substitute_in_graph(sys.modules[__package__].cast, skip_signature_check=True)(_traced)

__all__ = ["cast"]
