"""Casts from and to string, in each of numpy's ways to hold texts; `parse` and `format`.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core, arrays
from .arguments import check_options, says_nearest
from .errors import KindError
from .types import STRING, TypeLike, numpys_dtype

__all__ = ["format", "parse"]


def _read(source: arrays.Source) -> Any:
    array = source.dense()
    if array.dtype.kind == "T":
        array = array.astype(object)
    return _core.Texts(array)


def _form(to: TypeLike, out: Any) -> np.dtype[Any]:
    """The dtype in which texts are asked for: object, but where numpy's way is named."""
    if isinstance(out, np.ndarray):
        own: np.dtype[Any] = out.dtype
        return own
    return numpys_dtype(to) or np.dtype(object)


def _given(texts: Any, shape: tuple[int, ...], to: TypeLike, out: Any, is_scalar: bool) -> Any:
    form = _form(to, out)
    # U and S as wide as the longest, where no width is asked for.
    made = texts.array(shape, "S" if form.kind == "S" else "U" if form.kind == "U" else "O")
    if form.kind == "T":
        made = made.astype(form)
    if out is not None:
        result = arrays.writable(out, shape)
        if form.kind in "SU" and made.dtype.itemsize > form.itemsize:
            raise KindError(f"out has room for texts of {form}, and the longest needs {made.dtype}")
        result[...] = made
        return result
    if form.kind in "SU" and form.itemsize:
        if made.dtype.itemsize > form.itemsize:
            raise KindError(f"{form} was asked for, and the longest text needs {made.dtype}")
        made = made.astype(form)
    return made[()] if is_scalar else made


def from_texts(source: arrays.Source, number: int, options: dict[str, Any], packed: bool,
               threads: int | None, to: TypeLike, out: Any) -> Any:
    """Texts to a type of any kind."""
    texts = _read(source)
    if number == STRING:
        return _given(texts, source.shape, to, out, source.is_scalar)
    elements = math.prod(source.shape)
    pack = packed and arrays.bits_of(number) < 8
    shape = (arrays.packed_bytes(number, elements),) if pack else source.shape
    if out is not None:
        arrays.check_held(out, number, pack)
        place = arrays.writable(out, shape)
    result = np.empty(shape, np.uint8 if pack else _core.type_dtype(number))
    texts.parse(result, number, options, pack, threads, source.shape)
    if out is not None:
        place[...] = result
    return result[()] if source.is_scalar and not pack else result


def to_texts(source: arrays.Source, options: dict[str, Any], threads: int | None, to: TypeLike,
             out: Any) -> Any:
    """Numbers as texts."""
    elements = math.prod(source.shape)
    texts = _core.print_texts(source.dense() if not source.packed else source.array, source.number,
                              elements, options, source.packed, threads)
    return _given(texts, source.shape, to, out, source.is_scalar)


def parse(texts: Any, to: TypeLike, **options: Any) -> Any:
    """Numbers of texts: `cast` of strings in bulk, from object, U, S or StringDType.

    Raises `ArgumentError` where a text is not a number, and says which.

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
    from .casting import cast

    check_options(options, "parse", cast)
    source = arrays.read(texts, None, False, None)
    if math.prod(source.shape) == 0 and not isinstance(texts, np.ndarray):
        return cast(np.empty(source.shape, object), to, **options)  # of no texts numpy says float64
    if source.number != STRING:
        raise KindError(f"parse takes texts, and these are {source.array.dtype}")
    return cast(texts, to, **options)


@says_nearest
def format(x: Any, style: str = "numpy", *, threads: int | None = None) -> Any:
    """The shortest text of each number that reads back as itself: an object array of str.

    Parameters
    ----------
    x : array_like
        As `cast` takes it.
    style : {"numpy", "ort"}
        As numpy prints numbers, or as ONNX Runtime.

    Examples
    --------
    >>> import tensorcast as tc
    >>> tc.format([0.1, 1e22, float("nan")])
    array(['0.1', '1e+22', 'nan'], dtype=object)
    """
    from .casting import cast

    return cast(x, STRING, string_style=style, threads=threads)
