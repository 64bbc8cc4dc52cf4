"""The 26 element types, and how Python names them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import ml_dtypes
import numpy as np

from . import _core

# tensorcast's own names, then ml_dtypes' and torch's: those that editors offer.
TypeName = Literal[
    "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64", "uint32",
    "uint64", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1",
    "float8e8m0", "uint2", "int2", "float6e2m3", "float6e3m2",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
    "float6_e3m2fn", "float4_e2m1fn",
]
# Formats of weights with scales, as conversions of files write them.
ScaledFormat = Literal[
    "fp8-tensor", "fp8-row", "fp8-block", "int8-row", "int4-group", "int8-group", "mxfp8", "mxfp6", "mxfp4", "nvfp4",
    "q8_0", "q5_1", "q5_0", "q4_1", "q4_0",
]


class _TorchDtype(Protocol):
    @property
    def is_complex(self) -> bool: ...

    @property
    def is_floating_point(self) -> bool: ...


class _HasDtype(Protocol):  # jax.numpy.float32
    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __call__(self, *args: Any, **named: Any) -> Any: ...


# What names a type: a text ("bf16", "float8_e4m3fn", ">f4"), numpy's or ml_dtypes' dtype or class,
# a torch dtype, or ONNX's number. A text that numpy takes for another type is refused.
TypeLike = TypeName | str | int | np.integer[Any] | np.dtype[Any] | type[Any] | _TorchDtype | _HasDtype
Array = np.ndarray[Any, np.dtype[Any]]

STRING = 8  # ONNX's number
_TYPESTRING = re.compile(r"[<>=|][A-Za-z?]\d*|[UST]\d*")  # numpy's own way to write a dtype

# The dtype of each type, by ONNX's number; types of less than a byte take one.
def _dtype(number: int) -> np.dtype[Any]:
    name = _core.ml_dtypes_name(number)
    return np.dtype(getattr(ml_dtypes, name) if name else
                    object if number == STRING else _core.type_name(number))


_core.set_dtypes({number: _dtype(number) for number in _core.type_numbers()})


def numpys_dtype(to: TypeLike | None) -> np.dtype[Any] | None:
    """The dtype that asks for a type, if it says more than a type can: an order of bytes, a way to hold
    texts. Names, numbers and other libraries' types have none.
    """
    if isinstance(to, np.dtype):
        return to
    if isinstance(to, type) and issubclass(to, np.dtype):
        kind: Any = to  # each class of dtypes takes no argument
        made: np.dtype[Any] = kind()
        return made
    if isinstance(to, type) and issubclass(to, (str, bytes)):
        return np.dtype(to)
    if isinstance(to, str) and _TYPESTRING.fullmatch(to):
        return np.dtype(to)
    return None


def type_name(type: TypeLike) -> str:
    """The name that tensorcast has for a type.

    Raises
    ------
    ArgumentError
        A name that no type has, or that several have.
    KindError
        An object that does not name a type.

    Examples
    --------
    >>> import tensorcast as tc
    >>> tc.type_name("F8_E4M3"), tc.type_name(np.int64), tc.type_name(16)
    ('float8e4m3fn', 'int64', 'bfloat16')
    """
    return str(_core.type_row(_core.type_number(type))["name"])


def type_names() -> list[str]:
    """The names of all 26 types, in the order of ONNX's numbers.

    Examples
    --------
    >>> import tensorcast as tc
    >>> len(tc.type_names()), tc.type_names()[:3]
    (26, ['float32', 'uint8', 'int8'])
    """
    return [str(_core.type_row(number)["name"]) for number in _core.type_numbers()]


@dataclass(frozen=True)
class finfo:  # named as numpy's and ml_dtypes'
    """What a type's elements can be: `numpy.finfo` and `numpy.iinfo` for all 26 types.

    ``finfo(type)`` takes a type by any name. Limits are exact: they are int for types of integers and for
    bool, float for the others, and None for string.

    Attributes
    ----------
    name : str
        tensorcast's name.
    onnx_number, onnx_name : int, str
        In ONNX's TensorProto.DataType.
    dtype : numpy.dtype
        What holds the elements in numpy: elements of less than 8 bits take a byte each, and strings are
        objects.
    kind : str
        "float", "signed", "unsigned", "bool" or "string".
    bits, exponent_bits, mantissa_bits, bias : int
        For one element, packed; `bits` is 0 for string, and the others are 0 for all types but floats.
    max, min : int, float or None
        The largest and the least finite value; for float8e8m0, which has no sign, `min` is the least
        positive one.
    smallest_normal, smallest_subnormal : int, float or None
        The least positive normal value, and the least positive one.
    eps : float or None
        The distance from 1 to the next greater value; None for all types but floats.
    has_sign, has_zero, has_infinity, has_nan : bool

    Examples
    --------
    >>> import tensorcast as tc
    >>> info = tc.finfo("float8_e4m3fn")
    >>> info.max, info.smallest_subnormal, info.has_infinity
    (448.0, 0.001953125, False)
    >>> tc.finfo("uint64").max
    18446744073709551615
    """

    name: str
    onnx_number: int
    onnx_name: str
    dtype: np.dtype[Any]
    kind: str
    bits: int
    exponent_bits: int
    mantissa_bits: int
    bias: int
    max: int | float | None
    min: int | float | None
    smallest_normal: int | float | None
    smallest_subnormal: int | float | None
    eps: float | None
    has_sign: bool
    has_zero: bool
    has_infinity: bool
    has_nan: bool

    def __init__(self, type: TypeLike) -> None:
        values = _core.type_row(_core.type_number(type))
        kind, bits = values["kind"], values["bits"]
        limits = ("max", "min", "smallest_normal", "smallest_subnormal")
        if kind == "string":
            values |= dict.fromkeys(limits)
        elif kind != "float":  # as int: float64 would round those with 64 bits
            most = 1 if kind == "bool" else 2 ** (bits - (kind == "signed")) - 1
            values |= zip(limits, (most, -most - 1 if kind == "signed" else 0, 1, 1), strict=True)
        values["eps"] = 2.0 ** -values["mantissa_bits"] if kind == "float" else None
        for name, value in values.items():
            object.__setattr__(self, name, value)
