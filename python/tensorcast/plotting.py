"""Draws what casts lose and how magnitudes are distributed, with matplotlib, which is imported when a drawing is asked for.

The figures come from `Losses` and `Exponents`; only what was not yet measured is measured here.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import histograms, tables
from .arguments import count, says_nearest
from .errors import ArgumentError, KindError
from .histograms import Exponents, Window
from .loss import Losses, LossReport
from .types import TypeLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # type: ignore[import-not-found,unused-ignore]

_COLOURS = {"lost": "#d9534f", "poor": "#b87a00", "good": "#2e9e5b"}
_BARS = "#4c8bd6"
_LONGEST_NAME = 48


def _axes(ax: Axes | None, what: str, height: float) -> Axes:
    if ax is not None:
        return ax
    pyplot = tables.needs("matplotlib.pyplot", what)
    made: Axes = pyplot.subplots(figsize=(8, height), layout="constrained")[1]
    return made


def _label(name: str) -> str:
    """A name as a label, in which a $ does not begin a formula."""
    text = tables.plain(name)
    text = text if len(text) <= _LONGEST_NAME else "…" + text[1 - _LONGEST_NAME:]
    return text.replace("$", r"\$")


def _lost(report: LossReport) -> str:
    """What took values away, the most frequent first."""
    words = {"to_zero": "zero", "to_limit": "at the limit", "to_infinity": "Inf", "to_nan": "NaN", "wrapped": "wrapped",
             "nan_lost": "no longer NaN"}
    found = sorted(((report.counts[kind], text) for kind, text in words.items() if report.counts[kind]), reverse=True)
    return ", ".join(f"{number:,} {text}" for number, text in found[:2])


@says_nearest
def plot_loss(losses: Mapping[str, LossReport] | LossReport, *, most: int = 40, ax: Axes | None = None) -> Axes:
    """Draws what casts lose, with matplotlib: the SNR of each, the worst first, and what took values away.

    Parameters
    ----------
    losses : Losses or LossReport
        What `convert` returns, or `loss` for several types; any dict of reports does.
    most : int
        How many to draw; the title says how many there are.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a figure of its own.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        There is nothing to draw.
    KindError
        These are not reports.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> losses = tc.loss(np.linspace(0, 1, 1000), ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
    >>> tc.plot_loss(losses).get_xlabel()  # doctest: +SKIP
    'SNR, dB (more is better)'
    """
    if isinstance(losses, LossReport):
        losses = {losses.to_type: losses}
    if not isinstance(losses, Mapping) or not all(isinstance(each, LossReport) for each in losses.values()):
        raise KindError("plot_loss draws reports: give what convert returns, or loss(x, [types])")
    if not losses or count(most, "most") == 0:
        raise ArgumentError("there is no report to draw: nothing was cast, or most is 0")
    worst = Losses(losses).worst_first()[:most]
    ax = _axes(ax, "plot_loss", max(1.6, 0.8 + 0.26 * len(worst)))
    finite = [report.snr_db for _, report in worst if math.isfinite(report.snr_db)]
    low, high = min([0.0, *finite]), max([1.0, *finite])
    for place, (_, report) in enumerate(worst):
        colour, snr = _COLOURS[report.verdict], report.snr_db
        end = high * 1.08 if snr == math.inf else low if math.isnan(snr) else snr
        ax.plot([low, end], [place, place], color=colour, alpha=0.35, linewidth=1.5)
        ax.plot([end], [place], marker=">" if snr == math.inf else "x" if math.isnan(snr) else "o", color=colour)
        ax.annotate(_lost(report), (end, place), xytext=(8, 0), textcoords="offset points", va="center", fontsize="small")
    ax.set_yticks(range(len(worst)), [_label(name) for name, _ in worst], fontsize="small")
    ax.set_ylim(len(worst) - 0.5, -0.5)
    ax.set_xlim(low, high * 1.45)  # room for what took values away, which stands behind the marks
    ax.set_xlabel("SNR, dB (more is better)")
    ax.grid(axis="x", alpha=0.3)
    for verdict in dict.fromkeys(report.verdict for _, report in worst):
        ax.plot([], [], marker="o", linestyle="", color=_COLOURS[verdict], label=verdict)
    ax.legend(loc="lower right", fontsize="small")
    targets = {report.to_type for report in losses.values()}
    ax.set_title("What casts lose" + (f", to {targets.pop()}" if len(targets) == 1 else "")
                 + ("" if len(worst) == len(losses) else f": the worst {len(worst)} of {len(losses):,}"))
    return ax


@says_nearest
def plot_exponents(x: Any, to: TypeLike | list[Any] | tuple[Any, ...] = (), *, ax: Axes | None = None) -> Axes:
    """Draws how many numbers have which exponent, and which of them lie outside a type's window, with matplotlib.

    For several types, their windows are lines below, solid where values are normal, dotted where they are subnormal.

    Parameters
    ----------
    x : Exponents or array
        What `exponents` or `TensorFile.exponents` returns; an array is counted first.
    to : type or list of types, optional
        By default the seven narrower floating types of the tool's `inspect --histogram`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a figure of its own.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        No number has an exponent; or a type is unknown, or is bool, float8e8m0 or string.
    KindError, UnsupportedError
        As in `exponents`.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> x = np.float32([0.1, 0.2, 448, 1e-9])
    >>> tc.plot_exponents(x, "float8_e4m3fn").get_xlabel()  # doctest: +SKIP
    'exponent: values from 2^e to 2^(e+1)'
    """
    found = x if isinstance(x, Exponents) else histograms.exponents(x)
    given = list(to) if isinstance(to, (list, tuple)) else [to]
    windows = [histograms.window(each) for each in given or histograms.TYPES]
    if not found.counts:
        raise ArgumentError("no number has an exponent: all are zero, Inf or NaN, or there are none")
    ax = _axes(ax, "plot_exponents", 3.2 if len(windows) == 1 else 3.4 + 0.22 * len(windows))
    powers = range(found.first, found.first + len(found.counts))
    shares = [100 * number / found.elements for number in found.counts]
    ax.bar([power + 0.5 for power in powers], shares, width=0.9, color=_BARS)
    low, high = powers.start - 1.0, powers.stop + 1.0
    if len(windows) == 1:
        one = windows[0]
        low = min(low, max(_power(one.zero_below) - 2, low - 24))
        high = max(high, min(_power(one.greatest) + 2, high + 12))
        _shade(ax, one, found, low, high)
        ax.set_ylim(0, max(shares) * 1.3)  # the words stand above the bars
    else:
        _lines(ax, windows, found, low, high, max(shares))
    ax.set_xlim(low, high)
    ax.set_xlabel("exponent: values from 2^e to 2^(e+1)")
    ax.set_ylabel("% of the values", loc="top")
    beside = f" beside {windows[0].type}" if len(windows) == 1 else ""
    ax.set_title(f"{found.elements:,} values of {found.type}{beside}"
                 + "".join(f", {number:,} {what}" for number, what in ((found.zeros, "zero"), (found.not_finite, "Inf or NaN"))
                           if number))
    return ax


def _power(value: float) -> float:
    return math.log2(value) if value > 0 else -math.inf


def _edges(one: Window, low: float, high: float) -> tuple[float, ...]:
    """Where on the axis a type's values begin, become normal, and end."""
    return tuple(min(max(_power(each), low), high) for each in (one.zero_below, one.least_normal, one.greatest))


def _shade(ax: Axes, one: Window, found: Exponents, low: float, high: float) -> None:
    """Shades the parts of the axis where a type has no values or only subnormal ones, and writes their shares there."""
    beside = found.beside(one.type)
    zero, normal, limit = _edges(one, low, high)
    for begin, end, colour, words, number in ((low, zero, _COLOURS["lost"], "→ zero", beside.to_zero),
                                              (zero, normal, _COLOURS["poor"], "subnormal", beside.to_subnormal),
                                              (limit, high, _COLOURS["lost"], "beyond", beside.beyond)):
        if begin < end:
            ax.axvspan(begin, end, color=colour, alpha=0.16, linewidth=0, zorder=0)
            share = tables.share_text(number / found.elements) if number else ""
            if number and words == "beyond":  # at least: the power in which the range ends counts as held
                share = "> 0 %" if share.startswith("<") else "≥ " + share
            ax.annotate(f"{words}\n{share}".rstrip(), ((begin + end) / 2, 1), xycoords=("data", "axes fraction"), xytext=(0, -4),
                        textcoords="offset points", ha="center", va="top", fontsize="small")


def _lines(ax: Axes, windows: list[Window], found: Exponents, low: float, high: float, most: float) -> None:
    """Draws a line below the axis for each type, with the shares of what it does not hold behind it."""
    step = 0.09 * most
    for place, one in enumerate(windows):
        y = -(place + 0.8) * step
        zero, normal, limit = _edges(one, low, high)
        ax.plot([zero, normal], [y, y], color="gray", linewidth=2, linestyle=":")
        ax.plot([normal, limit], [y, y], color="gray", linewidth=3, solid_capstyle="butt")
        beside = found.beside(one.type)
        told = [f"{tables.share_text(number / found.elements)} {words}" for number, words in
                ((beside.to_zero, "zero"), (beside.to_subnormal, "subnormal"), (beside.beyond, "beyond")) if number]
        ax.annotate(f"{one.type}" + (f": {', '.join(told)}" if told else ""), (1, y), xycoords=("axes fraction", "data"),
                    xytext=(6, 0), textcoords="offset points", va="center", fontsize="small", annotation_clip=False)
    ax.axhline(0, color="gray", linewidth=0.8)
    ax.set_ylim(-(len(windows) + 0.6) * step, most * 1.12)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= most * 1.12])
