"""`explain` works out exactly what one value becomes in one type, and what that loses.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Unpack

import numpy as np

from . import _core, arrays, tables
from .arguments import CAST_OPTIONS, check_options
from .errors import ArgumentError, KindError
from .signatures import CastOptions
from .types import STRING, TypeLike, type_name


@dataclass(frozen=True)
class Explanation:
    """One value in one type. Exact numbers are texts that have every digit.

    Attributes
    ----------
    to_type : str
    code : int or str
        The result's bits; for string, its text.
    value : str
        The result's value.
    loss : str or None
        What happened to it, as in `LossReport.counts`.
    to_subnormal, zero_sign_lost, undefined : bool
    below, above : int or None
        The codes of the next lesser and the next greater value.
    ulp : float or None
        The unit in the last place of the result.
    error, relative_error, error_in_ulps : str or None
        |source - value|, and the same divided by |source| and by the ulp, to 17 digits.
    others : list of dict
        What other options would give: option, value, code, loss.
    """

    to_type: str
    code: int | str
    value: str
    loss: str | None
    to_subnormal: bool
    zero_sign_lost: bool
    undefined: bool
    below: int | None
    above: int | None
    ulp: float | None
    error: str | None
    relative_error: str | None
    error_in_ulps: str | None
    others: list[dict[str, Any]] = field(hash=False)

    def _repr_html_(self) -> str:
        def text(name: str) -> str:
            value = getattr(self, name)
            return f"0x{value:X}" if name in ("code", "below", "above") and isinstance(value, int) else str(value)

        rows = [(each.name.replace("_", " "), text(each.name)) for each in fields(self)
                if each.name not in ("to_type", "others")]
        return tables.page(tables.facts(self.to_type, rows))


def explain(value: Any, to: TypeLike, *, from_type: TypeLike | None = None,
            **options: Unpack[CastOptions]) -> Explanation:
    """Works out exactly what one value becomes in a type.

    Parameters
    ----------
    value : str, int, float, or an array or tensor of one element and no dimension
        A decimal text; a number, whose every digit counts; or, with `from_type`, a code.
    to : type
    from_type : type, optional
        The type that `value` is a code of: its bits as an int.
    **options
        The options of `cast`.

    Returns
    -------
    Explanation

    Raises
    ------
    ArgumentError
        An unknown type or option, a text that is not a number, an int that is not a code.
    KindError
        More than one element, or an object that is not a number.

    Examples
    --------
    >>> import tensorcast as tc
    >>> e = tc.explain("0.1", "float8_e4m3fn")
    >>> e.value, e.loss, e.error, hex(e.code)
    ('0.1015625', 'rounded', '0.0015625', '0x1d')
    >>> tc.explain(0x7E, "float32", from_type="float8_e4m3fn").value
    '448'
    """
    check_options(options, "explain", explain, CAST_OPTIONS)
    number = _core.type_number(to)
    if from_type is not None:
        source = _core.type_number(from_type)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise KindError("with from_type the value is a code: its bits as an int")
        if source == STRING or not 0 <= int(value) < 2 ** arrays.bits_of(source):
            raise ArgumentError(f"{value} is not a code of {type_name(source)}")
        return Explanation(*_core.explain_code(source, int(value), number, dict(options)))
    if isinstance(value, (str, bytes)):
        text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise ArgumentError(f"{ascii(text)} has half of a surrogate pair, which is no text") from None
        return Explanation(*_core.explain_text(text, number, dict(options)))
    if isinstance(value, int) and not isinstance(value, bool):
        # Decimal's text has every digit of any int; int's own stops at some thousands.
        return Explanation(*_core.explain_text(f"{Decimal(value):f}", number, dict(options)))
    read = arrays.read(value, None, False, None)
    if read.shape or read.packed or read.number == STRING:
        raise KindError(f"explain takes one number or text, not {type(value).__name__}")
    source, scalar = read.number, read.dense()
    code = int.from_bytes(scalar.astype(scalar.dtype.newbyteorder("<")).tobytes(), "little")
    bits = arrays.bits_of(source)
    return Explanation(*_core.explain_code(source, code & (2**bits - 1), number, dict(options)))
