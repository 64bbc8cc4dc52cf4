"""Any array is read as numpy's memory and an element type here, and results become such arrays again.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core, frameworks, nulls
from .arguments import count
from .errors import ArgumentError, KindError, RangeError, UnsupportedError, first_line
from .types import STRING, Array, TypeLike, type_name

_UINT8 = 2  # ONNX's number
_MOST_DIMENSIONS = 64
_MOST_ELEMENTS = 2**59


@dataclass
class Source:
    """What is read: numpy's memory, and what it holds."""

    array: Array  # has any strides and byte order; a packed one is dense, and of uint8
    number: int  # ONNX's number of the elements' type
    shape: tuple[int, ...]  # in elements
    packed: bool = False
    is_scalar: bool = False

    def dense(self) -> Array:
        """The elements in C's order without gaps, in this machine's byte order."""
        array = self.array
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return np.ascontiguousarray(array).reshape(array.shape)

    def given(self) -> Array:
        """The memory as the extension takes it: a packed one as it is, others dense, and texts as something other
        than StringDType.
        """
        array = self.array if self.packed else self.dense()
        return array.astype(object) if array.dtype.kind == "T" else array


def thread_count(threads: int | None) -> int | None:
    """Checks the argument `threads`."""
    return None if threads is None else count(threads, "threads", 1024)


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
        raise KindError("out and like must be arrays of numpy, torch or JAX, not "
                        f"{type(x).__name__}")
    return _core.type_number(x.dtype)


def _number_of(dtype: np.dtype[Any]) -> int:
    number = _core.dtype_number(dtype)
    if number == 0:
        raise KindError(f"numpy's {dtype} is not an element type of ONNX{_advice(dtype)}")
    return number


def _advice(dtype: np.dtype[Any]) -> str:
    if dtype.name in ("float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz", "int1", "uint1"):
        return ": cast .astype(numpy.float32), which holds its values"
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
    if isinstance(shape, str) or (isinstance(shape, np.ndarray) and shape.ndim == 0):
        raise KindError("shape must be an int or a sequence of int")
    given = shape if isinstance(shape, (Sequence, np.ndarray)) else (shape,)
    sizes = tuple(count(size, "a size in shape") for size in given)
    if len(sizes) > _MOST_DIMENSIONS:
        raise ArgumentError(f"shape has {len(sizes)} dimensions, and numpy allows at most "
                            f"{_MOST_DIMENSIONS}")
    if 0 in sizes and math.prod(size or 1 for size in sizes) > _MOST_ELEMENTS:  # numpy's own limit
        raise ArgumentError("shape has more elements than an array can")
    return sizes


def read(x: Any, from_type: TypeLike | None, packed: bool, shape: int | Sequence[int] | None) -> Source:
    """Any array, list, number or text as a Source; copies nothing that is an array already."""
    kind = frameworks.kind_of(x)
    source = Source(*kind.read(x)) if kind is not None else _read_numpy(x, from_type is not None)
    if from_type is None:
        if shape is not None:
            raise ArgumentError("shape is for a packed x, which needs from_type")
        return source
    number = _core.type_number(from_type)
    array = source.array
    if number == STRING or source.number == STRING:
        raise ArgumentError("from_type says what bits mean, and texts are not bits")
    if packed and bits_of(number) < 8:
        sizes = _shape_of(shape)
        stream = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        needed = packed_bytes(number, math.prod(sizes))
        if stream.size != needed:
            raise ArgumentError(f"x has {stream.size} bytes, and {sizes} packed elements of "
                                f"{type_name(number)} take {needed}")
        return Source(stream, number, sizes, packed=True)
    if shape is not None:
        raise ArgumentError("shape is for a packed x, of a type of less than 8 bits")
    dtype = _core.type_dtype(number)
    if array.dtype.itemsize != dtype.itemsize:
        raise ArgumentError(f"x has elements of {array.dtype.itemsize} bytes, and from_type "
                            f"{type_name(number)} has {dtype.itemsize}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return Source(array.view(dtype), number, source.shape, is_scalar=source.is_scalar)


def _read_numpy(x: Any, is_typed: bool) -> Source:
    """Reads what numpy makes an array of; `is_typed` means that something else says what its bits are."""
    if isinstance(x, np.ma.MaskedArray):
        raise KindError("a masked array: cast x.filled(value), or x.data without its mask")
    nulls.refuse(x)
    is_scalar = isinstance(x, (np.generic, int, float, str, bytes))
    if isinstance(x, np.ndarray):
        array = np.asarray(x)  # takes a subclass as what it holds
    elif isinstance(x, np.generic) or hasattr(x, "__array__"):
        array = _made(x, None)
    elif hasattr(x, "__dlpack__"):
        array = _exchanged(x)
    else:
        array = _of_python(x)
    if array.dtype.kind == "O" and not is_typed and array.size:
        array = _of_objects(array)
    if is_typed and array.dtype.kind == "V" and array.dtype.names is None:
        return Source(array, 0, array.shape, is_scalar=is_scalar)
    return Source(array, _number_of(array.dtype), array.shape, is_scalar=is_scalar)


def _made(x: Any, dtype: Any) -> Array:
    try:
        return np.asarray(x, dtype)
    except MemoryError:
        raise
    except Exception as error:  # whatever the object's own __array__ raises
        raise ArgumentError(f"x is not an array: {first_line(error, 'numpy refuses it')}") from error


def _of_python(x: Any) -> Array:
    """Lists, numbers and texts of Python as an array; raises if numpy's array would not hold what they say."""
    array = _made(x, None)
    nulls.refuse(x, depth=array.ndim - 1)
    kind = array.dtype.kind
    if kind in "US":  # numpy drops NULs at a text's end
        return _made(x, object) if all(type(item) is str or type(item) is bytes
                                       for item in _items(x)) else array
    if kind == "O":
        for item in array.flat:
            if isinstance(item, int) and not -2**63 <= item < 2**64:
                raise RangeError("an integer beyond 64 bits: the widest types are int64 and uint64")
    elif array.dtype == np.float64 and np.any(np.abs(array) >= 2**53):
        whole = [int(item) for item in _items(x)
                 if isinstance(item, (int, np.integer)) and not isinstance(item, bool)]
        rounded = [item for item in whole if int(float(item)) != item]
        if rounded or len(whole) == array.size:
            one = rounded[0] if rounded else max(whole)
            raise RangeError(f"x holds {one}, of which numpy makes float64 because of what is beside it: "
                             "cast an array of one type")
    return array


def _of_objects(array: Array) -> Array:
    """An array of objects: numbers become what numpy makes of their list, and texts stay as they are."""
    if isinstance(next(array.flat), (str, bytes)):
        return array
    for index, item in zip(np.ndindex(array.shape), array.flat):
        if isinstance(item, (str, bytes)) or not isinstance(item, (int, float, complex, np.generic)):
            raise KindError(f"x{list(index) or ''} is {type(item).__name__}: an array of objects has to hold "
                            "only numbers, or only str and bytes")
    numbers = _of_python(array.tolist())
    if numbers.dtype.kind == "O":
        raise RangeError("x holds integers that do not all fit one type of 64 bits: cast an array of one type")
    return numbers


def _items(x: Any) -> Iterator[Any]:
    return iter(_made(x, object).flat)


def _exchanged(x: Any) -> Array:
    """The memory of an object with ``__dlpack__``, not copied."""
    try:
        device = int(x.__dlpack_device__()[0])
    except Exception as error:  # whatever the object's own method raises
        raise KindError(f"{type(x).__name__} does not say its device: "
                        f"{first_line(error, type(error).__name__)}") from error
    if device != 1:  # kDLCPU
        raise KindError(f"{type(x).__name__} is on another device: tensorcast casts on the CPU")
    try:
        return np.from_dlpack(x)
    except MemoryError:
        raise
    except Exception as error:
        raise KindError(f"{type(x).__name__} cannot be exchanged: "
                        f"{first_line(error, 'numpy refuses it')}") from error


def writable(out: Any, shape: tuple[int, ...]) -> Array:
    """The memory of `out` as a numpy array; raises if it cannot take a result of the shape."""
    kind = frameworks.kind_of(out)
    array = kind.writable(out) if kind is not None else out
    if not isinstance(array, np.ndarray):
        raise KindError(f"out must be an array, not {type(out).__name__}")
    if isinstance(array, np.ma.MaskedArray):
        raise KindError("out is a masked array: give out.data")
    if not array.flags.writeable:
        raise ArgumentError("out is read-only")
    if array.shape != shape:
        raise ArgumentError(f"out has shape {array.shape}, and the result {shape}")
    return np.asarray(array)


def check_held(out: Any, number: int, pack: bool) -> None:
    """Raises if `out` does not hold the type, or the bytes of a packed result."""
    held = type_of(out)
    if pack and held != _UINT8:
        raise ArgumentError(f"out holds {type_name(held)}, and a packed result is uint8")
    if not pack and held != number:
        raise ArgumentError(f"out holds {type_name(held)}, and the result is {type_name(number)}")


def cast_numbers(source: Source, number: int, options: dict[str, Any], packed: bool,
                 threads: int | None, meter: Any, out: Any) -> Array:
    """Casts between types of fixed width, and returns the result as numpy's memory."""
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
        result: Array = _core.empty(dtype, shape[::-1])
        run(source.array.T, result)
        return result.T

    read_from = source.array if source.packed else source.dense()
    if out is None:
        result = _core.empty(dtype, shape)
        run(read_from, result)
        return result[()] if source.is_scalar and not pack else result

    check_held(out, number, pack)
    result = writable(out, shape)
    dense = result.flags.c_contiguous and result.dtype.isnative
    in_place = (read_from.ctypes.data == result.ctypes.data and not pack and not source.packed
                and read_from.dtype.itemsize == result.dtype.itemsize)
    if dense and (in_place or not np.may_share_memory(read_from, result)):
        run(read_from, result)
    else:
        beside = _core.empty(result.dtype.newbyteorder("="), shape)
        run(read_from, beside)
        result[...] = beside
    return result


def wrap(made: Any, number: int, packed: bool, model: Any) -> Any:
    """Turns a result into the kind of array that `model` is."""
    kind = frameworks.kind_of(model)
    if kind is None:
        return made
    if number == STRING:
        raise UnsupportedError(f"{kind.name} has no strings: cast a numpy array")
    return kind.wrap(made, number, packed)


def tensor(x: Any) -> tuple[Array, int, bool, tuple[int, ...]]:
    """An array as models and graphs take it: dense memory, its type, whether it is packed, its shape."""
    source = read(x, None, False, None)
    return source.given(), source.number, source.packed, source.shape
