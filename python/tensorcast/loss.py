"""The report of what a cast lost, which `loss` gives, and `cast` with ``loss=True``.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import html
import math
from typing import Any

from . import _core
from .errors import ArgumentError, KindError


class LossReport:
    """What a cast lost, exactly counted; docs/semantics.md, section 7, defines each figure.

    Attributes
    ----------
    from_type, to_type : str
        Names of types; `from_type` is None where reports of several types were merged.
    elements : int
    counts : dict of str to int
        How many elements, by what happened to them. The first nine sum to `elements`: nan,
        nan_lost, to_nan, exact, wrapped, to_infinity, to_limit, to_zero, rounded; beside them
        to_subnormal, zero_sign_lost, undefined.
    first : dict of str to dict
        The first element of each kind that there is: its index in C's order, source and result as
        floats, and their codes.
    max_abs_error, max_rel_error, rmse : float
        Over the elements that are finite on both sides, `compared` of them; nan of none.
    max_abs_example, max_rel_example : dict or None
    snr_db : float
        10 log10(sum x² / sum (x - y)²) of these; inf where all of them are exact, nan where there are
        none or the squares leave float64.
    sum_squares, sum_squared_error : float
    amax, smallest_nonzero : float
        Of the finite elements of the source; nan of none.
    compared, finite : int
    verdict : {"good", "poor", "lost"}
    gain_db : float or None
        Of a conversion whose scales were searched for: by how much the plain rule's errors are larger.

    Examples
    --------
    >>> import tensorcast as tc
    >>> report = tc.loss([0.1, 448.0, 512.0, -1e-9], "float8_e4m3fn")
    >>> report.counts["to_limit"], report.first["to_limit"]["source"], report.verdict
    (1, 512.0, 'lost')
    >>> report
    <LossReport float64 -> float8e4m3fn: 4 elements, 3 not exact, SNR 20.5 dB, lost>
    """

    from_type: str | None
    to_type: str
    elements: int
    counts: dict[str, int]
    first: dict[str, dict[str, Any]]
    compared: int
    max_abs_error: float
    max_abs_example: dict[str, Any] | None
    max_rel_error: float
    max_rel_example: dict[str, Any] | None
    sum_squares: float
    sum_squared_error: float
    rmse: float
    snr_db: float
    finite: int
    amax: float
    smallest_nonzero: float
    verdict: str
    gain_db: float | None

    __slots__ = ("_meter", "_fields")

    def __init__(self, meter: Any, gain_db: float | None = None) -> None:
        self._meter = meter
        self._fields: dict[str, Any] = {**meter.report(), "gain_db": gain_db}

    def __getattr__(self, name: str) -> Any:
        if name in LossReport.__slots__:  # not set yet, where it is unpickled without its state
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"a LossReport has no {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._fields})

    def to_dict(self) -> dict[str, Any]:
        """All figures, as numbers, texts and dicts that json takes; None for what is not finite."""
        figures: dict[str, Any] = _finite(self._fields)
        return figures

    def merge(self, other: LossReport) -> LossReport:
        """One report of what two report; every figure is as if it had been one cast.

        The indices in `first` and of the examples stay those of the part in which the element is;
        of two parts `first` takes the lower.

        Raises
        ------
        ArgumentError
            Destinations or options differ, or one is of `diff`.
        KindError
            `other` is no report.

        Examples
        --------
        >>> import tensorcast as tc
        >>> a, b = tc.loss([0.1, 0.2], "float16"), tc.loss([0.3], "float16")
        >>> a.merge(b).elements
        3
        """
        if not isinstance(other, LossReport):
            raise KindError(f"a LossReport is merged with another, and not with {type(other).__name__}")
        if isinstance(self._meter, Figures) or isinstance(other._meter, Figures):
            raise ArgumentError("what diff found is not merged: its figures are of whole tensors")
        meter = self._meter.copy()
        meter.merge(other._meter)
        return LossReport(meter)

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._meter, Figures):
            return _of_figures, (self._fields,)
        return _load, (self._meter.save(), self.gain_db)

    def __eq__(self, other: object) -> bool:
        # Meters cannot be compared: one may hold open the last block, which the other has added. In texts
        # NaN is NaN.
        return isinstance(other, LossReport) and repr(self._fields) == repr(other._fields)

    __hash__ = None  # type: ignore[assignment]  # two that are equal may come to differ in nothing

    def __repr__(self) -> str:
        inexact = self.elements - self.counts["exact"] - self.counts["nan"]
        return (f"<LossReport {self.from_type or 'several'} -> {self.to_type}: {self.elements} "
                f"elements, {inexact} not exact, SNR {self._snr_text()}, {self.verdict}>")

    def _snr_text(self) -> str:
        if self.compared == 0:
            return "–"
        if math.isnan(self.snr_db):
            return "?"  # the squares leave float64
        return "∞" if self.snr_db == math.inf else f"{self.snr_db:.1f} dB"

    def _repr_html_(self) -> str:
        def text(figure: float) -> str:
            return "–" if math.isnan(figure) else f"{figure:.6g}"

        rows = [("elements", f"{self.elements:,}")]
        rows += [(name, f"{count:,}") for name, count in self.counts.items() if count]
        rows += [("SNR", self._snr_text()), ("RMSE", text(self.rmse)),
                 ("max abs error", text(self.max_abs_error)),
                 ("max rel error", text(self.max_rel_error)), ("verdict", self.verdict)]
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
                        for name, value in rows)
        title = html.escape(f"{self.from_type or 'several'} → {self.to_type}")
        return f"<table><caption>{title}</caption>{cells}</table>"


def _finite(figures: Any) -> Any:
    if isinstance(figures, dict):
        return {name: _finite(value) for name, value in figures.items()}
    return None if isinstance(figures, float) and not math.isfinite(figures) else figures


class Figures:
    """Stands for the meter of a report of which only the figures are known."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def report(self) -> dict[str, Any]:
        return self._fields


def _of_figures(fields: dict[str, Any]) -> LossReport:
    return LossReport(Figures(fields))


def _load(saved: bytes, gain_db: float | None = None) -> LossReport:
    return LossReport(_core.LossMeter.load(saved), gain_db)
