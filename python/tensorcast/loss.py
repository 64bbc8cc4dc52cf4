"""The report of what a cast lost, from `loss` and from `cast` with ``loss=True``.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _core, tables
from .errors import ArgumentError, KindError

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]


class LossReport:
    """What a cast lost, counted exactly. docs/semantics.md, section 7, defines each figure.

    Attributes
    ----------
    from_type, to_type : str
        Names of types; `from_type` is None if reports of several types were merged.
    elements : int
    counts : dict of str to int
        How many elements there are of each kind. The first nine kinds sum to `elements`: nan,
        nan_lost, to_nan, exact, wrapped, to_infinity, to_limit, to_zero, rounded. Three more are
        counted beside them: to_subnormal, zero_sign_lost, undefined.
    first : dict of str to dict
        The first element of each kind that occurs: its index in C's order, its source and result as
        floats, and their codes.
    max_abs_error, max_rel_error, rmse : float
        Over the elements that are finite on both sides, `compared` of them; nan if there are none.
    max_abs_example, max_rel_example : dict or None
    snr_db : float
        10 log10(sum x² / sum (x - y)²) over the same elements; inf if all of them are exact, nan if
        there are none or the squares leave float64.
    sum_squares, sum_squared_error : float
    amax, smallest_nonzero : float
        Over the finite elements of the source; nan if there are none.
    compared, finite : int
    verdict : {"good", "poor", "lost"}
    gain_db : float or None
        If a conversion searched for its scales: by how much the plain rule's errors are larger.

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
        if name in LossReport.__slots__:  # not set yet, when it is unpickled without its state
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"a LossReport has no {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._fields})

    def to_dict(self) -> dict[str, Any]:
        """All figures as numbers, texts and dicts that json takes; what is not finite is None."""
        figures: dict[str, Any] = _finite(self._fields)
        return figures

    def merge(self, other: LossReport) -> LossReport:
        """Merges two reports into one, whose figures are as if it had been one cast.

        The indices in `first` and in the examples stay those of the part in which the element is; for a
        kind that both parts have, `first` takes the lower index.

        Raises
        ------
        ArgumentError
            Destinations or options differ, or a report is from `diff`.
        KindError
            `other` is not a report.

        Examples
        --------
        >>> import tensorcast as tc
        >>> a, b = tc.loss([0.1, 0.2], "float16"), tc.loss([0.3], "float16")
        >>> a.merge(b).elements
        3
        """
        if not isinstance(other, LossReport):
            raise KindError(f"a LossReport is merged with another one, not with {type(other).__name__}")
        if isinstance(self._meter, Figures) or isinstance(other._meter, Figures):
            raise ArgumentError("reports from diff cannot be merged: their figures are for whole tensors")
        meter = self._meter.copy()
        meter.merge(other._meter)
        return LossReport(meter)

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._meter, Figures):
            return _of_figures, (self._fields,)
        return _load, (self._meter.save(), self.gain_db)

    def __eq__(self, other: object) -> bool:
        # Meters cannot be compared: one may hold open the last block, which the other has added. As texts,
        # NaNs are equal.
        return isinstance(other, LossReport) and repr(self._fields) == repr(other._fields)

    __hash__ = None  # type: ignore[assignment]  # as of every class that defines __eq__

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

    def to_frame(self) -> pd.DataFrame:
        """The figures as one row of a pandas.DataFrame, with each count in a column of its own.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return tables.frame(_columns([self]))

    def _repr_html_(self) -> str:
        rows: list[tuple[Any, ...]] = [("elements", self.elements, "", "")]
        rows += [(name.replace("_", " "), count, tables.Share(count / self.elements), _where(self.first.get(name)))
                 for name, count in self.counts.items() if count]
        rows += [("SNR", tables.Figure(self._snr_text()), "", ""), ("RMSE", self.rmse, "", ""),
                 ("max abs error", self.max_abs_error, "", _where(self.max_abs_example)),
                 ("max rel error", self.max_rel_error, "", _where(self.max_rel_example)),
                 ("verdict", tables.Verdict(self.verdict), "", "")]
        return tables.page(tables.facts(f"{self.from_type or 'several'} → {self.to_type}", rows))


def _finite(figures: Any) -> Any:
    if isinstance(figures, dict):
        return {name: _finite(value) for name, value in figures.items()}
    return None if isinstance(figures, float) and not math.isfinite(figures) else figures


def _where(example: dict[str, Any] | None) -> str:
    """The first element of a kind, or the one at an extreme: its place, and what became of it."""
    if example is None:
        return ""
    place = f"[{example['index']:,}]"
    return f"{place} {example['source']:.6g} → {example['result']:.6g}" if "source" in example else place


_WORST_FIRST = {"lost": 0, "poor": 1, "good": 2}
# What takes a value away, as people read it.
_TAKEN = (("→ zero", ("to_zero",)), ("at the limit", ("to_limit",)), ("→ Inf", ("to_infinity",)),
          ("→ NaN", ("to_nan",)), ("wrapped", ("wrapped",)))


class Losses(dict[str, LossReport]):
    """What several casts lost: a dict, which notebooks show as a table.

    Its keys are the tensors' names, or the types' names if `loss` was asked about several types.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> losses = tc.loss(np.float32([0.1, 448, 512, -1e-9]), ["bfloat16", "float8_e4m3fn"])
    >>> {name: report.verdict for name, report in losses.items()}
    {'bfloat16': 'good', 'float8e4m3fn': 'lost'}
    >>> losses.worst_first()[0][0]
    'float8e4m3fn'
    """

    def worst_first(self) -> list[tuple[str, LossReport]]:
        """The pairs of a name and its report, sorted by verdict and SNR, the worst first."""
        return sorted(self.items(), key=lambda each: (
            _WORST_FIRST[each[1].verdict], -math.inf if math.isnan(each[1].snr_db) else each[1].snr_db))

    def to_frame(self) -> pd.DataFrame:
        """All figures as a pandas.DataFrame by `name`: a row for each report, in the order of the dict, and
        each count in a column of its own.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return tables.frame({"name": list(self), **_columns(self.values())}, "name")

    def _repr_html_(self) -> str:
        reports = self.worst_first()
        taken = [(title, kinds) for title, kinds in _TAKEN
                 if any(report.counts[kind] for _, report in reports for kind in kinds)]
        titles = ["name", "verdict", ">SNR", "from", "to", ">values", ">not exact", *[f">{title}" for title, _ in taken],
                  ">max rel error"]

        def row(name: str, report: LossReport) -> list[Any]:
            def share(count: int) -> tables.Share:
                return tables.Share(count / report.elements if report.elements else 0)

            kept = report.counts["exact"] + report.counts["nan"]
            return [tables.Name(name), tables.Verdict(report.verdict), tables.Decibels(report.snr_db), report.from_type,
                    report.to_type, report.elements, share(report.elements - kept),
                    *[share(sum(report.counts[kind] for kind in kinds)) for _, kinds in taken], report.max_rel_error]

        verdicts = [report.verdict for report in self.values()]
        told = ", ".join(f"{verdicts.count(each)} {each}" for each in _WORST_FIRST if each in verdicts)
        return tables.page(tables.table(f"{_casts(len(self))}: {told or 'nothing was measured'}", titles,
                                        (row(*each) for each in reports), len(self)))


def _casts(count: int) -> str:
    return "1 cast" if count == 1 else f"{count:,} casts"


def _columns(reports: Iterable[LossReport]) -> Mapping[str, list[Any]]:
    """The figures of reports, a column for each, and one for each count. Examples, which are dicts, are left out."""
    given = list(reports)
    kinds = _core.LossMeter(1, 1, {}).report()["counts"]
    columns: dict[str, list[Any]] = {}
    for name in LossReport.__annotations__:
        if name == "counts":
            columns |= {kind: [report.counts[kind] for report in given] for kind in kinds}
        elif name != "first" and not name.endswith("_example"):
            columns[name] = [getattr(report, name) for report in given]
    columns["gain_db"] = [math.nan if gain is None else gain for gain in columns["gain_db"]]
    return columns


class Figures:
    """Stands in for the meter of a report if only its figures are known."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def report(self) -> dict[str, Any]:
        return self._fields


def _of_figures(fields: dict[str, Any]) -> LossReport:
    return LossReport(Figures(fields))


def _load(saved: bytes, gain_db: float | None = None) -> LossReport:
    return LossReport(_core.LossMeter.load(saved), gain_db)
