"""Elements that are missing (pyarrow's and polars' nulls, pandas' NA) are found and refused here.

On the way to numpy these libraries turn them into NaN, and the integers beside them into floats. A cast
would silently go on with that, and give 0.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import KindError

_FILL = ("fill_null", "fillna")
_DROP = ("drop_null", "drop_nulls", "dropna")


def _columns(x: Any) -> list[tuple[Any, Any]] | None:
    """The names and columns of a table of polars, pyarrow or pandas."""
    if hasattr(x, "get_columns"):
        return [(column.name, column) for column in x.get_columns()]
    if hasattr(x, "column_names") and hasattr(x, "columns"):
        return list(zip(x.column_names, x.columns, strict=True))
    if hasattr(x, "isna") and getattr(x, "ndim", 1) == 2 and hasattr(x, "items"):
        return list(x.items())
    return None


def _told(x: Any) -> tuple[Any, int | None]:
    """What can be asked which of x's elements are missing, and how many it says there are; None if it does
    not say.
    """
    if hasattr(getattr(x, "dtype", None), "pyarrow_dtype"):  # pandas' isna goes by null_count
        x = getattr(x, "array", x).__arrow_array__()
    kind = getattr(x, "type", None)
    stored = getattr(kind, "storage_type", kind)
    if type(stored).__name__ in ("DictionaryType", "RunEndEncodedType"):
        # Their null_count in pyarrow leaves out nulls among the values; is_null does not.
        return x if stored is kind else x.cast(stored), None
    count = getattr(x, "null_count", None)
    return x, count() if callable(count) else count


def _missing(x: Any) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Which elements are missing, as numpy's bools; None if none can be, or x does not say."""
    dtype = getattr(x, "dtype", None)
    # What pandas holds in numpy's memory has NaN just where numpy has it; so does what is sparse.
    if isinstance(dtype, np.dtype) or isinstance(getattr(dtype, "subtype", None), np.dtype):
        return None
    x, count = _told(x)
    if count == 0:
        return None
    ask = getattr(x, "is_null", None) or getattr(x, "isna", None)
    if callable(ask):
        return np.asarray(ask(), np.bool_)
    return None if count is None else np.ones(1, np.bool_)  # it only counts them


def _missing_inside(x: Any) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """The same for polars' arrays and structures, which count only those that are missing as a whole; in
    the order of numpy's elements.
    """
    kind = type(getattr(x, "dtype", None)).__name__
    if kind == "Array":
        return _missing_inside(x.explode())
    if kind == "Struct" and x.struct.fields:  # numpy has a column for each field
        return np.stack([np.asarray(x.struct.field(name).is_null(), np.bool_)
                         for name in x.struct.fields], axis=1).reshape(-1)
    return _missing(x)


def _refuse(x: Any, what: str, index: tuple[int, ...]) -> None:
    ways = [next((name for name in names if hasattr(x, name)), names[0]) for names in (_FILL, _DROP)]
    raise KindError(f"{what}[{','.join(map(str, index))}] is null, which no element type of ONNX has: "
                    f"fill it, .{ways[0]}(value), or leave it out, .{ways[1]}()")


def refuse(x: Any, what: str = "x", depth: int = 0) -> None:
    """Raises if an element of an array or a table is missing, and says which. In lists, arrays are looked
    at down to `depth`.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return
    if isinstance(x, (list, tuple)):
        for index, item in enumerate(x if depth > 0 else ()):
            refuse(item, f"{what}[{index}]", depth - 1)
        return
    if hasattr(x, "collect") and hasattr(x, "collect_schema"):  # polars' LazyFrame, which has no data yet
        raise KindError(f"{what} is a {type(x).__name__}, whose data are not read yet: cast {what}.collect()")
    columns = _columns(x)
    if columns is not None:
        for name, column in columns:
            refuse(column, f"{what}[{name!r}]")
        return
    missing = _missing(x)
    if missing is not None and missing.any():
        _refuse(x, what, tuple(np.argwhere(missing)[0].tolist()))
    if type(getattr(x, "dtype", None)).__name__ in ("Array", "Struct"):
        missing = _missing_inside(x)
        if missing is not None and missing.any():
            shape = np.asarray(x).shape
            _refuse(x, what, tuple(map(int, np.unravel_index(int(missing.argmax()), shape))))
