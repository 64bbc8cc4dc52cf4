"""What a cast reads and gives: any array as numpy's memory and an element type, and back.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core, frameworks
from .errors import ArgumentError, KindError, RangeError, UnsupportedError
from .types import STRING, TypeLike

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Source:
    """What is read: numpy's memory, and what it holds."""

    array: Array  # of any strides and byte order; a packed one dense, and of uint8
    number: int  # ONNX's, of the elements' type
    shape: tuple[int, ...]  # in elements
    packed: bool = False
    is_scalar: bool = False

    def dense(self) -> Array:
        """The elements in C's order without gaps, in this machine's byte order."""
        array = self.array
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return np.ascontiguousarray(array).reshape(array.shape)


def thread_count(threads: int | None) -> int | None:
    """Checks an argument `threads`."""
    if threads is None:
        return None
    count = operator.index(threads)
    if not 0 <= count <= 1024:
        raise ArgumentError(f"threads is {count}: give 0 (all cores) to 1024")
    return count


def bits_of(number: int) -> int:
    return int(_core.type_row(number)["bits"])


def packed_bytes(number: int, elements: int) -> int:
    return (elements * bits_of(number) + 7) // 8


def type_of(x: Any) -> int:
    """The type of an array's elements, as ONNX's number."""
    kind = frameworks.kind_of(x)
    if kind is not None:
        return kind.type_of(x)
    if not isinstance(x, (np.ndarray, np.generic)):
        raise KindError(f"out and like are arrays, and not {type(x).__name__}")
    return _number_of(x.dtype)


def _number_of(dtype: np.dtype[Any]) -> int:
    number = _core.dtype_number(dtype)
    if number == 0:
        raise KindError(f"numpy's {dtype} is not an element type of ONNX{_advice(dtype)}")
    return number


def _advice(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "c":
        return ": cast .real and .imag"
    if dtype.kind in "mM":
        return ": cast .astype('int64'), in which NaT is the least integer"
    if dtype.names is not None:
        return ": cast its fields one by one"
    if dtype.kind == "f":
        return ": it has more than 64 bits"
    if dtype.kind == "V":
        return ": say what its bytes are with from_type"
    return ""


def _shape_of(shape: int | Sequence[int] | None) -> tuple[int, ...]:
    if shape is None:
        raise ArgumentError("a packed x needs shape: its elements end before its last byte does")
    sizes = tuple(operator.index(size) for size in (shape if isinstance(shape, Sequence) else (shape,)))
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"shape is {sizes}: sizes are 0 or more")
    return sizes


def read(x: Any, from_type: TypeLike, packed: bool, shape: int | Sequence[int] | None) -> Source:
    """Any array, list, number or text as a Source; copies nothing that is an array already."""
    kind = frameworks.kind_of(x)
    source = kind.read(x) if kind is not None else _read_numpy(x)
    if from_type is None:
        if shape is not None:
            raise ArgumentError("shape is of a packed x, whose type from_type says")
        return source
    number = _core.type_number(from_type)
    array = source.array
    if number == STRING or source.number == STRING:
        raise ArgumentError("from_type says what bits are, and texts are none")
    if packed and bits_of(number) < 8:
        sizes = _shape_of(shape)
        stream = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        needed = packed_bytes(number, math.prod(sizes))
        if stream.size != needed:
            raise ArgumentError(f"x has {stream.size} bytes, and {sizes} packed elements of "
                                f"{_core.type_row(number)['name']} take {needed}")
        return Source(stream, number, sizes, packed=True)
    if shape is not None:
        raise ArgumentError("shape is of a packed x, of a type of less than 8 bits")
    dtype = _core.type_dtype(number)
    if array.dtype.itemsize != dtype.itemsize:
        raise ArgumentError(f"x has elements of {array.dtype.itemsize} bytes, and from_type "
                            f"{_core.type_row(number)['name']} has {dtype.itemsize}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return Source(array.view(dtype), number, source.shape, is_scalar=source.is_scalar)


def _read_numpy(x: Any) -> Source:
    if isinstance(x, np.ma.MaskedArray):
        raise KindError("a masked array: cast x.filled(value), or x.data without its mask")
    is_scalar = isinstance(x, (np.generic, int, float, str, bytes))
    if isinstance(x, np.ndarray):
        array = np.asarray(x)  # a subclass as what it holds
    elif hasattr(x, "__dlpack__") and not hasattr(x, "__array__") and not isinstance(x, np.generic):
        array = _exchanged(x)
    else:
        try:
            array = np.asarray(x)
        except (ValueError, TypeError, OverflowError) as error:
            raise ArgumentError(f"x is no array: {str(error).splitlines()[0]}") from error
        if array.dtype == object and not isinstance(x, np.generic):
            for item in array.flat:
                if isinstance(item, int):
                    raise RangeError("an integer beyond 64 bits: the widest types are int64 and uint64")
    return Source(array, _number_of(array.dtype), array.shape, is_scalar=is_scalar)


def _exchanged(x: Any) -> Array:
    """The memory of what has ``__dlpack__``, not copied."""
    if int(x.__dlpack_device__()[0]) != 1:  # kDLCPU
        raise KindError(f"{type(x).__name__} is on another device: tensorcast casts on the CPU")
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError) as error:
        raise KindError(f"{type(x).__name__} cannot be exchanged: "
                        f"{str(error).splitlines()[0] if str(error) else 'numpy refuses it'}") from error


def writable(out: Any, shape: tuple[int, ...]) -> Array:
    """The memory of `out` as numpy's; raises where it cannot take a result of the shape."""
    kind = frameworks.kind_of(out)
    array = kind.writable(out) if kind is not None else out
    if not isinstance(array, np.ndarray):
        raise KindError(f"out is an array, and not {type(out).__name__}")
    if isinstance(array, np.ma.MaskedArray):
        raise KindError("out is a masked array: give out.data")
    if not array.flags.writeable:
        raise ArgumentError("out is read-only")
    if array.shape != shape:
        raise ArgumentError(f"out has shape {array.shape}, and the result {shape}")
    return np.asarray(array)


def cast_numbers(source: Source, number: int, options: dict[str, Any], packed: bool,
                 threads: int | None, meter: Any, out: Any) -> Array:
    """The cast between types of fixed width; the result as numpy's memory."""
    elements = math.prod(source.shape)
    pack = packed and bits_of(number) < 8
    dtype = np.dtype(np.uint8) if pack else _core.type_dtype(number)
    shape = (packed_bytes(number, elements),) if pack else source.shape

    def run(read_from: Array, written: Array) -> None:
        _core.cast_into(read_from, source.number, written, number, elements, options,
                        source.packed, pack, threads, meter)

    flags = source.array.flags
    if (out is None and meter is None and not pack and not source.packed
            and flags.f_contiguous and not flags.c_contiguous and source.array.dtype.isnative):
        # Fortran's order stays, and what is read is not copied.
        result = np.empty(shape, dtype, order="F")
        run(source.array.T, result.T)
        return result

    read_from = source.array if source.packed else source.dense()
    if out is None:
        result = np.empty(shape, dtype)
        run(read_from, result)
        return result[()] if source.is_scalar and not pack else result

    result = writable(out, shape)
    if pack and result.dtype != np.uint8:
        raise ArgumentError(f"out holds {result.dtype}, and a packed result is uint8")
    dense = result.flags.c_contiguous and result.dtype.isnative
    in_place = (read_from.ctypes.data == result.ctypes.data and not pack and not source.packed
                and read_from.dtype.itemsize == result.dtype.itemsize)
    if dense and (in_place or not np.may_share_memory(read_from, result)):
        run(read_from, result)
    else:
        beside = np.empty(shape, result.dtype.newbyteorder("="))
        run(read_from, beside)
        result[...] = beside
    return result


def wrap(made: Any, number: int, packed: bool, model: Any) -> Any:
    """A result as the kind of array that `model` is."""
    kind = frameworks.kind_of(model)
    if kind is None:
        return made
    if number == STRING:
        raise UnsupportedError(f"{kind.name} has no strings: cast a numpy array")
    return kind.wrap(made, number, packed)


def tensor(x: Any) -> tuple[Array, int, bool, tuple[int, ...]]:
    """An array as models and graphs take it: dense memory, type, whether packed, shape."""
    source = read(x, None, False, None)
    if source.packed:
        return source.array, source.number, True, source.shape
    array = source.dense()
    if array.dtype.kind == "T":
        array = array.astype(object)
    return array, source.number, False, source.shape
