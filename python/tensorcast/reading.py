"""Reads one tensor of an open file, or a part of one, as an array of any of the libraries.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from . import _core, arrays, casting, frameworks, histograms
from .errors import ArgumentError, KindError, UnsupportedError
from .loss import LossReport
from .signatures import Packed
from .types import STRING, Array, TypeLike, numpys_dtype

A_co = TypeVar("A_co", covariant=True)  # an array of the library that `open` was told

_FLOAT64 = 11  # ONNX's number
_AT_ONCE = 1 << 20  # elements read at once of a part that is not in one piece
_FEW = 1 << 14  # elements; unwanted rows of fewer are read along with the wanted ones, which saves calls


@dataclass(slots=True)
class Stored:
    """A tensor of a file as it is read. It is not changed, but not frozen either: that takes three times as long to
    make, and a file may have 100,000 tensors.
    """

    name: str
    index: int  # among the file's tensors; for a scaled weight, its codes'
    dtype: str  # the file's word for its type
    number: int  # ONNX's number of its type; 0 if tensorcast has none
    shape: tuple[int, ...]
    fortran: bool = False
    scaled: bool = False  # what is read is its values, as float64 before they are cast
    usual: int = 0  # the type that it is read as if none is asked for


class Wish(NamedTuple):
    """What a tensor is to become."""

    to: TypeLike | None = None
    like: Any = None
    out: Any = None
    packed: Packed = False
    loss: bool = False
    threads: int | None = None
    options: dict[str, Any] | None = None  # those of casts
    mmap: bool = False  # what stays as it is in the file may be the file's memory


def _numbers(core: Any, one: Stored, target: int, wish: Wish, meter: Any, memory: Array) -> None:
    """Reads all elements of a tensor of numbers into dense memory, in the file's order."""
    core.read_numbers(one.index, one.scaled, 0, math.prod(one.shape), memory, target, wish.options or {},
                      wish.packed in (True, "out"), wish.threads, meter)


def as_it_is(core: Any, one: Stored, place: frameworks.Place) -> Any:
    """The tensor as memory of its file, or None if it has to be read: the short way, which most tensors take."""
    if one.scaled or one.number == 0:
        return None
    made: Array | None = core.map(one.index, False)
    if made is None:
        return None
    return place.put(made.T if one.fortran else made, one.number, False)


def _mapped(core: Any, one: Stored, target: int, wish: Wish, is_stream: bool) -> Array | None:
    """A tensor of numbers as memory of its file, if it is to be as it is there."""
    if not wish.mmap or wish.loss or one.scaled or target != one.number or is_stream and one.fortran:
        return None
    made: Array | None = core.map(one.index, is_stream)
    return made.T if made is not None and one.fortran else made


def _made(core: Any, one: Stored, target: int, wish: Wish, meter: Any) -> Array:
    """A tensor of numbers as a numpy array, whose memory is its own or the file's."""
    is_stream = bool(wish.packed) and casting.packs(wish.packed) and arrays.bits_of(target) < 8
    if (mapped := _mapped(core, one, target, wish, is_stream)) is not None:
        return mapped
    if is_stream:
        if one.fortran:
            raise UnsupportedError(f"tensor {one.name!r} stands in Fortran's order: read it, then pack")
        made: Array = _core.empty(np.dtype(np.uint8), (arrays.packed_bytes(target, math.prod(one.shape)),))
    else:
        made = _core.empty(_core.type_dtype(target), one.shape[::-1] if one.fortran else one.shape)
    _numbers(core, one, target, wish, meter, made)
    return made.T if one.fortran else made


def _into(core: Any, one: Stored, target: int, wish: Wish, meter: Any) -> None:
    """Reads a tensor of numbers into the memory of `out`."""
    pack = casting.packs(wish.packed) and arrays.bits_of(target) < 8
    arrays.check_held(wish.out, target, pack)
    shape = (arrays.packed_bytes(target, math.prod(one.shape)),) if pack else one.shape
    memory = arrays.writable(wish.out, shape)
    if memory.flags.c_contiguous and memory.dtype.isnative and not one.fortran:
        _numbers(core, one, target, wish, meter, memory)
    else:
        memory[...] = _made(core, one, target, wish, meter)


def _texts(core: Any, one: Stored) -> Array:
    texts: Array = core.read_texts(one.index).array(one.shape[::-1] if one.fortran else one.shape, "O")
    return texts.T if one.fortran else texts


def read(core: Any, one: Stored, place: frameworks.Place, wish: Wish) -> Any:
    """The tensor, or a pair of it and a LossReport, as `TensorFile.get_tensor` says."""
    number = _FLOAT64 if one.scaled else one.number
    out, to = wish.out, wish.to
    packed = casting.packs(wish.packed)
    if number == 0:
        if to is not None or wish.loss or out is not None or wish.like is not None:
            raise UnsupportedError(f"tensor {one.name!r} is {one.dtype}, which is not cast: leave out to")
        stored = core.map(one.index, True) if wish.mmap else None
        return place.put(core.read_bytes(one.index) if stored is None else stored, _core.type_number("uint8"), False)
    if out is not None or wish.like is not None:
        target, model = casting.destination(to, wish.like, out, packed)
        place = frameworks.place_of(model)
    else:
        target = one.usual if to is None else _core.type_number(to)
    if target == STRING and place.kind is not None:
        raise UnsupportedError(f"tensor {one.name!r} holds strings, and {place.kind.name} has none: give "
                               "to, or framework='np'")
    if wish.loss and STRING in (number, target):
        raise UnsupportedError("casts from and to string have no loss report")
    meter = _core.LossMeter(number, target, wish.options or {}) if wish.loss else None
    if meter is not None and one.fortran:
        raise KindError(f"tensor {one.name!r} stands in Fortran's order: read it, then measure")
    if STRING in (number, target):
        given: Array = (_texts(core, one) if number == STRING
                        else _made(core, one, number, Wish(threads=wish.threads), None))
        if target == STRING == number and to is None and out is None:
            return given
        written = out if out is not None and place.kind is None else None
        made = casting.cast(given, target if to is None else to, out=written, packed=packed, threads=wish.threads,
                            **wish.options or {})
        if out is not None and place.kind is not None:
            arrays.check_held(out, target, packed and arrays.bits_of(target) < 8)
            arrays.writable(out, made.shape)[...] = made
    elif out is not None:
        _into(core, one, target, wish, meter)
    elif place.packs(target) and not packed and not one.fortran:
        stream = _made(core, one, target, wish._replace(packed="out"), meter)
        result = place.of_stream(stream, target, one.shape)
        return result if meter is None else (result, LossReport(meter))
    else:
        made = _made(core, one, target, wish, meter)
        form = numpys_dtype(to)
        if form is not None and not form.isnative:
            made = made.astype(form)
    if out is not None:
        if place.kind is not None:
            place.kind.written(out)
        result = out
    else:
        result = place.put(made, target, packed)
    return result if meter is None else (result, LossReport(meter))


def count_exponents(core: Any, one: Stored) -> histograms.Exponents:
    """The exponents of all values, counted a piece at a time."""
    number = _FLOAT64 if one.scaled else one.number
    if number in (0, STRING):
        raise UnsupportedError(f"tensor {one.name!r} is {one.dtype}, which has no exponents")
    counts = _core.ExponentCounts()
    elements = math.prod(one.shape)
    memory = np.empty(min(_AT_ONCE, elements), _core.type_dtype(number))
    for first in range(0, elements, _AT_ONCE):
        piece = memory[:min(_AT_ONCE, elements - first)]
        core.read_numbers(one.index, one.scaled, first, piece.size, piece, number, {}, False, None, None)
        counts.add(piece, number, piece.size, False)
    return histograms.exponents_of(counts, number)


class TensorSlice(Generic[A_co]):
    """A tensor of an open file that is read in parts: ``f.get_slice("w")[:, 128:256]``.

    Indices are integers, slices and ``...``, as in numpy. What is read is the part, and what stands between
    its rows if these are short. Strings, and tensors in Fortran's order, are read whole.
    """

    def __init__(self, core: Any, one: Stored, place: frameworks.Place, wish: Wish) -> None:
        self._core, self._one, self._place, self._wish = core, one, place, wish

    @property
    def shape(self) -> tuple[int, ...]:
        return self._one.shape

    def get_shape(self) -> list[int]:
        """The shape as a list, as safetensors' slices give it."""
        return list(self._one.shape)

    def get_dtype(self) -> str:
        """The file's own word for the type."""
        return self._one.dtype

    def __len__(self) -> int:
        if not self._one.shape:
            raise KindError(f"tensor {self._one.name!r} has no dimensions, and so no length")
        return self._one.shape[0]

    def __repr__(self) -> str:
        return f"<TensorSlice {self._one.name!r}: {self._one.dtype} {list(self._one.shape)}>"

    def __getitem__(self, index: Any) -> A_co:
        one = self._one
        wanted = _indices(index, one)
        target = one.usual if self._wish.to is None else _core.type_number(self._wish.to)
        if one.number == 0 and not one.scaled:
            raise UnsupportedError(f"tensor {one.name!r} is {one.dtype}, which cannot be read in parts: get it whole")
        whole = _mapped(self._core, one, target, self._wish, False)
        if whole is not None:  # rows are the file's memory; a part with gaps is copied
            part = whole[(*wanted, ...)]
            part = part if part.flags.c_contiguous else part.copy()
            return self._put(part, target)
        if STRING in (one.number, target) or one.fortran:
            whole = read(self._core, one, frameworks.Place(), self._wish)
            part = whole[tuple(wanted)]
        else:
            part = self._part(wanted, target)
        if isinstance(part, np.ndarray) and part.base is not None and part.size < part.base.size:
            part = part.copy()  # which lets go of what else was read
        return self._put(part, target)

    def _put(self, part: Any, target: int) -> A_co:
        if target == STRING and self._place.kind is not None:
            raise UnsupportedError(f"tensor {self._one.name!r} holds strings, and {self._place.kind.name} has none")
        form = numpys_dtype(self._wish.to)
        if form is not None and not form.isnative:
            part = part.astype(form)
        made: A_co = self._place.put(part, target, False)
        return made

    def _part(self, wanted: list[int | slice], target: int) -> Array:
        made: Array = _core.empty(_core.type_dtype(target), _shape(self._one.shape, wanted))
        if made.size:
            self._fill(made, 0, self._one.shape, wanted, target)
        return made

    def _fill(self, made: Array, first: int, shape: tuple[int, ...], wanted: list[int | slice], target: int) -> None:
        """Sets a part of the elements from `first` on, which have the shape `shape`."""
        if all(isinstance(each, slice) and each.indices(size) == (0, size, 1)
               for each, size in zip(wanted[1:], shape[1:])):
            each = wanted[0] if shape else 0
            rows = range(*each.indices(shape[0])) if isinstance(each, slice) else range(each, each + 1)
            if rows.step == 1:
                self._read(made, first + rows[0] * math.prod(shape[1:]), target)
                return
        each, rest, row = wanted[0], wanted[1:], math.prod(shape[1:])
        if not isinstance(each, slice):
            self._fill(made, first + each * row, shape[1:], rest, target)
            return
        rows = range(*each.indices(shape[0]))
        step = abs(rows.step)
        if row >= _AT_ONCE or (step > 1 and row >= _FEW):
            for place, number in enumerate(rows):
                self._fill(made[place, ...], first + number * row, shape[1:], rest, target)
            return
        at_once = max(1, _AT_ONCE // (step * row))
        for begin in range(0, len(rows), at_once):
            some = rows[begin:begin + at_once]
            low, high = min(some[0], some[-1]), max(some[0], some[-1])
            block: Array = np.empty((high + 1 - low, *shape[1:]), made.dtype)
            self._read(block, first + low * row, target)
            block = block[::step] if rows.step > 0 else block[::-1][::step]
            made[begin:begin + len(some)] = block[(slice(None), *rest)]

    def _read(self, made: Array, first: int, target: int) -> None:
        """Reads as many elements as `made` has, from `first` on."""
        one = self._one
        # Packed elements are read from a whole byte on.
        lead = 0 if one.scaled or arrays.bits_of(one.number) >= 8 else first % 8
        memory = made
        if lead or not made.flags.c_contiguous:
            memory = np.empty(lead + made.size, made.dtype)
        self._core.read_numbers(one.index, one.scaled, first - lead, lead + made.size, memory, target,
                                self._wish.options or {}, False, self._wish.threads, None)
        if memory is not made:
            made[...] = memory[lead:].reshape(made.shape)


def _shape(shape: tuple[int, ...], wanted: list[int | slice]) -> tuple[int, ...]:
    return tuple(len(range(*each.indices(size))) for size, each in zip(shape, wanted) if isinstance(each, slice))


def _indices(index: Any, one: Stored) -> list[int | slice]:
    """One index for each dimension, with integers counted from 0."""
    given = list(index) if isinstance(index, tuple) else [index]
    shape = one.shape
    dots = [place for place, each in enumerate(given) if each is Ellipsis]
    if len(dots) > 1:
        raise ArgumentError("an index has one ... at most")
    if len(given) - len(dots) > len(shape):
        raise SliceError(f"tensor {one.name!r} has {len(shape)} dimensions, and the index has {len(given) - len(dots)}")
    at = dots[0] if dots else len(given)
    given[at:at + len(dots)] = [slice(None)] * (len(shape) + len(dots) - len(given))
    for place, (each, size) in enumerate(zip(given, shape)):
        if isinstance(each, slice):
            try:
                each.indices(size)
            except (TypeError, ValueError) as error:
                raise ArgumentError(f"the slice of dimension {place}: {error}") from None
            continue
        if isinstance(each, (bool, np.bool_)):
            raise KindError("parts are read by integers, slices and ...; get the tensor, then index it")
        try:
            number = operator.index(each)
        except TypeError:
            raise KindError("parts are read by integers, slices and ...; get the tensor, then index it") from None
        if not -size <= number < size:
            raise SliceError(f"index {number} is beyond dimension {place} of tensor {one.name!r}, which has {size}")
        given[place] = number % size
    return given


class SliceError(ArgumentError, IndexError):
    """An index is beyond a tensor's end; also an IndexError, as a sequence raises."""
