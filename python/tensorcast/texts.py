"""`cast` uses this from and to string, in each of numpy's ways to hold texts.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core, arrays
from .errors import KindError
from .types import STRING, TypeLike, numpys_dtype


def _given(texts: Any, shape: tuple[int, ...], to: TypeLike | None, out: Any, is_scalar: bool) -> Any:
    form = out.dtype if isinstance(out, np.ndarray) else numpys_dtype(to) or np.dtype(object)
    # Arrays of U and S are as wide as the longest text if no width is asked for.
    made = texts.array(shape, form.kind if form.kind in "SU" else "O")
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
               threads: int | None, to: TypeLike | None, out: Any) -> Any:
    """Casts texts to a type of any kind."""
    texts = _core.Texts(source.given())
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


def to_texts(source: arrays.Source, options: dict[str, Any], threads: int | None, to: TypeLike | None,
             out: Any) -> Any:
    """Prints numbers as texts."""
    texts = _core.print_texts(source.given(), source.number, math.prod(source.shape), options,
                              source.packed, threads)
    return _given(texts, source.shape, to, out, source.is_scalar)
