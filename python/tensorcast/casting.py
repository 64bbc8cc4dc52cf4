"""`cast` takes arrays of every kind and returns the same kind; `loss`, `parse` and `format` are built on it.

The extension itself casts arrays of numpy and JAX and tensors of torch to types that were named before. It
calls this `cast` for the rest: texts, lists, `loss=True`, packed elements, and whatever is refused.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, Unpack, overload

import numpy as np

from . import _core, arrays, frameworks, texts
from .arguments import check_options, says_nearest
from .errors import ArgumentError, KindError, UnsupportedError
from .loss import Losses, LossReport
from .signatures import (
    CastArguments,
    FiniteOnlyNan,
    FnuzInfinity,
    IntegerOverflow,
    JaxArray,
    LossArguments,
    NumpyLike,
    Packed,
    RoundMode,
    Scalar,
    StringStyle,
    TorchTensor,
)
from .types import STRING, Array, TypeLike, numpys_dtype, type_name

T = TypeVar("T")
Out = TypeVar("Out")


def destination(to: TypeLike | None, like: Any, out: Any, packed: bool) -> tuple[int, Any]:
    """The type's number, and the object whose kind the result is to have (None: that of x)."""
    if out is not None and like is not None:
        raise ArgumentError("out and like both say what the result is to be: give one")
    model, name = (out, "out") if out is not None else (like, "like")
    if model is None:
        if to is None:
            raise ArgumentError("a cast needs a type: give to, like or out")
        return _core.type_number(to), None
    if to is None:
        return arrays.type_of(model), model
    number = _core.type_number(to)
    is_stream = packed and out is not None and number != STRING and arrays.bits_of(number) < 8
    if not is_stream and arrays.type_of(model) != number:
        raise ArgumentError(f"{name} holds {type_name(arrays.type_of(model))}, and to says "
                            f"{type_name(number)}")
    return number, model


def _recorded(x: Any, number: int, options: dict[str, Any], threads: int | None, loss: bool) -> Any:
    """The cast of a tensor that requires a gradient or is traced, as an operator of torch's."""
    from . import torch_op  # which imports torch

    given = {name: value for name, value in options.items() if name != "string_style"}
    result = torch_op.cast(x, type_name(number), threads=threads, **given)
    return (result, cast(x.detach(), number, loss=True, threads=threads, **options)[1]) if loss else result


def packs(packed: Packed) -> bool:
    """Checks the argument `packed`, and says whether the result is packed."""
    if not isinstance(packed, (bool, np.bool_, str)) or packed not in (False, True, "in", "out"):
        raise ArgumentError("packed must be True, False, 'in' or 'out'")
    return packed in (True, "out")


@overload
def cast(x: TorchTensor[T] | JaxArray[T], to: TypeLike, *, like: None = None, out: None = None, loss: Literal[False] = False,
         **options: Unpack[CastArguments]) -> T: ...
@overload
def cast(x: TorchTensor[T] | JaxArray[T], to: TypeLike, *, like: None = None, out: None = None, loss: Literal[True],
         **options: Unpack[CastArguments]) -> tuple[T, LossReport]: ...
@overload
def cast(x: Scalar, to: TypeLike, *, like: None = None, out: None = None, loss: Literal[False] = False,
         **options: Unpack[CastArguments]) -> Any: ...
@overload
def cast(x: Scalar, to: TypeLike, *, like: None = None, out: None = None, loss: Literal[True],
         **options: Unpack[CastArguments]) -> tuple[Any, LossReport]: ...
@overload
def cast(x: NumpyLike, to: TypeLike, *, like: None = None, out: None = None, loss: Literal[False] = False,
         **options: Unpack[CastArguments]) -> Array: ...
@overload
def cast(x: NumpyLike, to: TypeLike, *, like: None = None, out: None = None, loss: Literal[True],
         **options: Unpack[CastArguments]) -> tuple[Array, LossReport]: ...
@overload
def cast(x: Any, to: TypeLike | None = None, *, like: TorchTensor[T] | JaxArray[T], out: None = None, loss: Literal[False] = False,
         **options: Unpack[CastArguments]) -> T: ...
@overload
def cast(x: Any, to: TypeLike | None = None, *, like: TorchTensor[T] | JaxArray[T], out: None = None, loss: Literal[True],
         **options: Unpack[CastArguments]) -> tuple[T, LossReport]: ...
@overload
def cast(x: Any, to: TypeLike | None = None, *, like: np.ndarray[Any, Any] | np.generic, out: None = None, loss: Literal[False] = False,
         **options: Unpack[CastArguments]) -> Array: ...
@overload
def cast(x: Any, to: TypeLike | None = None, *, like: np.ndarray[Any, Any] | np.generic, out: None = None, loss: Literal[True],
         **options: Unpack[CastArguments]) -> tuple[Array, LossReport]: ...
@overload
def cast(x: Any, to: TypeLike | None = None, *, like: None = None, out: Out, loss: Literal[False] = False,
         **options: Unpack[CastArguments]) -> Out: ...
@overload
def cast(x: Any, to: TypeLike | None = None, *, like: None = None, out: Out, loss: Literal[True],
         **options: Unpack[CastArguments]) -> tuple[Out, LossReport]: ...
@overload
def cast(x: Any, to: TypeLike | None = None, *, like: Any = None, out: Any = None, loss: bool,
         **options: Unpack[CastArguments]) -> Any: ...
def cast(
    x: Any,
    to: TypeLike | None = None,
    *,
    like: Any = None,
    out: Any = None,
    saturate: bool = True,
    round_mode: RoundMode = "up",
    integer_overflow: IntegerOverflow = "wrap",
    fnuz_infinity: FnuzInfinity = "max",
    finite_only_nan: FiniteOnlyNan = "zero",
    string_style: StringStyle = "numpy",
    packed: Packed = False,
    from_type: TypeLike | None = None,
    shape: int | Sequence[int] | None = None,
    loss: bool = False,
    threads: int | None = None,
) -> Any:
    """Casts every element to another type, rounding each once.

    Parameters
    ----------
    x : array_like
        A numpy array (of any strides, byte order and shape, also of ml_dtypes' types; texts as
        object, U, S or StringDType), a torch tensor or a JAX array on the CPU, anything with
        ``__dlpack__``, lists, numbers and texts.
    to : type
        A name ("bf16", "float8_e4m3fn", ">f4"), a dtype or class of numpy or ml_dtypes, a torch
        dtype, or ONNX's number. It is not needed with `like` or `out`. A name that means another
        type to numpy is refused ("i8" is numpy's int64 and the tool's int8).
    like : array, optional
        The result has the type of this array, and is the same kind of array.
    out : array, optional
        Takes the result, in place of a new array. It has x's shape, and may be x itself or
        overlap it.
    saturate : bool
        For float8 types: values beyond the largest one become it; if False, they become the
        type's NaN or Inf.
    round_mode : {"up", "down", "nearest"}
        For float8e8m0: which power of two a value is rounded to.
    integer_overflow : {"wrap", "saturate"}
        What floats (and texts) beyond an integer type's range become: their low bits, or the limit.
    fnuz_infinity : {"max", "nan"}
        What Inf becomes in the float8 FNUZ types if `saturate` is True.
    finite_only_nan : {"zero", "max"}
        What NaN becomes in float4 and float6, which have none.
    string_style : {"numpy", "ort"}
        How numbers are printed, if `to` is string.
    packed : bool or {"in", "out"}
        If True, elements of less than a byte stand side by side, the first in the lowest bits. The
        result is then a one-dimensional uint8 array of ceil(n * bits / 8) bytes, and so is x if
        `from_type` is such a type, with `shape`; "in" and "out" do one of the two. By default each
        element takes a byte, as in ml_dtypes.
    from_type : type, optional
        What the bits of x are, if its dtype does not say: for uint16 that holds bfloat16.
    shape : int or sequence of int, optional
        The shape of a packed x, in elements.
    loss : bool
        Also measure what was lost.
    threads : int, optional
        0 means all cores. By default one is used, and all of them if the call reads and writes
        more than 8 MiB.

    Returns
    -------
    array
        An array of x's shape: a torch tensor for a torch tensor, a JAX array for a JAX array, a
        numpy scalar for a number, and a numpy array for anything else. If `out` is given, it is
        `out`. Texts are an object array of str, or U, S or StringDType if `to` says so.
    LossReport
        With ``loss=True``, as the second of a pair.

    Raises
    ------
    ArgumentError
        A ValueError: an unknown type or option, a text that is not a number, shapes that differ.
    KindError
        A TypeError: complex numbers, structures, dates, masked arrays, tensors on a GPU.
    RangeError
        An OverflowError: an integer beyond 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> x = np.array([0.1, 448, 512, -1e-9], dtype=np.float32)
    >>> print(tc.cast(x, "float8_e4m3fn"))
    [0.101562 448 448 -0]
    >>> print(tc.cast(x, "float8_e4m3fn", saturate=False))
    [0.101562 448 nan -0]
    >>> tc.cast(["0.1", "1e400"], np.float64)
    array([0.1, inf])
    >>> tc.cast(np.arange(-8, 8), "int4", packed=True)
    array([152, 186, 220, 254,  16,  50,  84, 118], dtype=uint8)
    >>> small, report = tc.cast(x, "bfloat16", loss=True)
    >>> report.counts["rounded"], round(report.snr_db, 1)
    (2, 136.9)
    """
    options = {
        "saturate": saturate, "round_mode": round_mode, "integer_overflow": integer_overflow,
        "fnuz_infinity": fnuz_infinity, "finite_only_nan": finite_only_nan,
        "string_style": string_style,
    }
    pack = packs(packed)
    number, model = destination(to, like, out, pack)
    threads = arrays.thread_count(threads)
    if out is None and from_type is None and shape is None and number != STRING and frameworks.is_recorded(x):
        is_stream = pack and arrays.bits_of(number) < 8
        if not is_stream and (model is None or frameworks.is_tensor(model)):
            return _recorded(x, number, options, threads, loss)
    source = arrays.read(x, from_type, packed in (True, "in"), shape)
    if loss and STRING in (source.number, number):
        raise UnsupportedError("casts from and to string have no loss report: they have no codes "
                               "to compare")
    meter = _core.LossMeter(source.number, number, options) if loss else None

    if source.number == STRING:
        made: Any = texts.from_texts(source, number, options, pack, threads, to, out)
    elif number == STRING:
        made = texts.to_texts(source, options, threads, to, out)
    else:
        made = arrays.cast_numbers(source, number, options, pack, threads, meter, out)
    if out is not None:
        kind = frameworks.kind_of(out)
        if kind is not None:
            kind.written(out)
    else:
        form = numpys_dtype(to)
        if form is not None and not form.isnative and number != STRING:
            made = made.astype(form)  # to the byte order that was asked for
        made = arrays.wrap(made, number, pack, x if model is None else model)
    result = made if out is None else out
    return (result, LossReport(meter)) if meter is not None else result


@overload
def loss(x: Any, to: list[Any] | tuple[Any, ...], **options: Unpack[CastArguments]) -> Losses: ...
@overload
def loss(x: Any, to: TypeLike | None = None, **options: Unpack[LossArguments]) -> LossReport: ...
def loss(x: Any, to: Any = None, **options: Any) -> LossReport | Losses:
    """Measures what the cast of `x` to a type would lose. It takes `cast`'s options, `like` among them.

    For a list of types it returns `Losses`: a dict from their names to reports, which notebooks show as a table.

    Raises
    ------
    ArgumentError, KindError, RangeError
        As in `cast`.
    UnsupportedError
        `x` or the type is string.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> tc.loss(np.linspace(0, 1, 5), "float4_e2m1fn").counts["to_zero"]
    1
    >>> [report.verdict for report in tc.loss(np.linspace(0, 1, 5), ["float16", "int8"]).values()]
    ['good', 'poor']
    """
    if "loss" in options:
        raise ArgumentError("loss is what this function returns, and not an option of it")
    check_options(options, "loss", cast)
    if isinstance(to, (list, tuple)):
        if not to:
            raise ArgumentError("to is an empty list: give one type or more")
        return Losses({type_name(each): loss(x, each, **options) for each in to})
    report: LossReport = cast(x, to, loss=True, **options)[1]
    return report


def parse(texts: Any, to: TypeLike, **options: Unpack[CastArguments]) -> Any:
    """Reads numbers from texts: `cast` of strings in bulk, from object, U, S or StringDType.

    Raises `ArgumentError` if a text is not a number, and says which.

    Examples
    --------
    >>> import tensorcast as tc
    >>> print(tc.parse(["1.5", "-inf", " 1e5 "], "float16"))
    [ 1.5 -inf  inf]
    >>> tc.parse(["1", "half"], "int8")
    Traceback (most recent call last):
    ...
    tensorcast.errors.ArgumentError: x[1] is "half", which is not a number
    """
    check_options(options, "parse", cast)
    source = arrays.read(texts, None, False, None)
    if math.prod(source.shape) == 0 and not isinstance(texts, np.ndarray):
        return cast(np.empty(source.shape, object), to, **options)  # numpy makes float64 of no texts
    if source.number != STRING:
        raise KindError(f"parse takes texts, and these are {source.array.dtype}")
    return cast(texts, to, **options)


@says_nearest
def format(x: Any, style: StringStyle = "numpy", *, threads: int | None = None) -> Any:
    """Writes each number as the shortest text that reads back as itself: an object array of str.

    Parameters
    ----------
    x : array_like
        Whatever `cast` takes.
    style : {"numpy", "ort"}
        As numpy prints numbers, or as ONNX Runtime does.

    Examples
    --------
    >>> import tensorcast as tc
    >>> tc.format([0.1, 1e22, float("nan")])
    array(['0.1', '1e+22', 'nan'], dtype=object)
    """
    return cast(x, STRING, string_style=style, threads=threads)


def _quick() -> Any:
    """`cast` as users get it: the extension's, with the documentation of the one above."""
    signature = "(x, to=None, *, " + ", ".join(
        f"{name}={parameter.default!r}"
        for name, parameter in inspect.signature(cast).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY) + ")"
    return _core.make_cast(cast, lambda names: check_options(dict.fromkeys(names), "cast", cast),
                           signature, inspect.cleandoc(cast.__doc__ or ""))
