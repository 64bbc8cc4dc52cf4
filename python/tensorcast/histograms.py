"""How the magnitudes of numbers are distributed: how many have which exponent, beside what types hold.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _core, arrays, tables
from .arguments import says_nearest
from .errors import ArgumentError, UnsupportedError
from .types import STRING, TypeLike, type_name

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

# The types that a histogram is compared with, the widest first.
TYPES: tuple[str, ...] = _core.histogram_types


class Window(NamedTuple):
    """What a type holds without a scale: magnitudes below `zero_below` become zero, those from there to
    `least_normal` keep fewer digits, and those above `greatest` are beyond its range.
    """

    type: str
    zero_below: float
    least_normal: float
    greatest: float


class Beyond(NamedTuple):
    """How many numbers lie in which part of a type's window, as far as their exponents tell."""

    type: str
    to_zero: int
    to_subnormal: int
    beyond: int


@dataclass(frozen=True)
class Exponents:
    """How many numbers have which exponent, floor(log2(abs(x))); `exponents` counts them.

    Attributes
    ----------
    type : str
        The type of the numbers.
    elements, zeros, not_finite : int
        How many numbers there are, how many of them are zero, and how many are Inf or NaN.
    first : int
        The exponent that the first of `counts` is for.
    counts : tuple of int
        How many numbers have this exponent, and each of the following ones.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> found = tc.exponents(np.float32([0, 0.1, 0.12, 1, 448]))
    >>> found.first, found.counts
    (-4, (2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1))
    >>> found.beside("float4_e2m1fn")
    Beyond(type='float4e2m1', to_zero=2, to_subnormal=0, beyond=1)
    """

    type: str
    elements: int
    zeros: int
    not_finite: int
    first: int
    counts: tuple[int, ...]

    def beside(self, to: TypeLike) -> Beyond:
        """Counts how many of them a cast to a type, without a scale, makes zero, makes subnormal, and finds beyond its range.

        Raises
        ------
        ArgumentError
            The type is unknown, or has no zero to lose numbers to: bool, float8e8m0 and string.
        """
        name = window(to).type
        return Beyond(name, *_core.zones_of(_core.type_number(name), self.first, self.counts))

    def to_frame(self) -> pd.DataFrame:
        """The counts as a pandas.DataFrame by `exponent`.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        powers = range(self.first, self.first + len(self.counts))
        return tables.frame({"exponent": powers, "count": self.counts}, "exponent")

    def _repr_html_(self) -> str:
        def share(count: int) -> tables.Share:
            return tables.Share(count / self.elements)

        caption = f"{self.elements:,} values of {self.type}"
        if not self.elements:
            return tables.page(tables.line(caption))
        told = [f"{count:,} {what}" for count, what in ((self.zeros, "zero"), (self.not_finite, "Inf or NaN")) if count]
        rows = [(each.type, share(each.to_zero), share(each.to_subnormal), share(each.beyond))
                for each in map(self.beside, TYPES)]
        return tables.page(tables.line(", ".join([caption, *told])), _drawing(self),
                           tables.table("What a cast without a scale finds", ["type", ">→ zero", ">subnormal", ">beyond"],
                                        rows, len(rows)))


def window(to: TypeLike) -> Window:
    """What a type holds; raises `ArgumentError` for types that have no such window."""
    name = type_name(to)
    if name in ("bool", "float8e8m0", "string"):
        raise ArgumentError(f"{name} has no range to compare exponents with: give a type of numbers that has a zero")
    return Window(name, *_core.window_of(_core.type_number(name)))


def exponents_of(counts: Any, number: int) -> Exponents:
    """The exponents that the extension has counted."""
    return Exponents(type_name(number), *counts.figures())


@says_nearest
def exponents(x: Any, *, from_type: TypeLike | None = None, packed: bool | Literal["in"] = False,
              shape: Any = None) -> Exponents:
    """Counts how many numbers of an array have which exponent. `TensorFile.exponents` does so for a tensor of a file.

    Parameters
    ----------
    x, from_type, packed, shape
        As in `cast`.

    Returns
    -------
    Exponents
        Notebooks draw it; `plot_exponents` draws it with matplotlib.

    Raises
    ------
    ArgumentError, KindError, RangeError
        As in `cast`.
    UnsupportedError
        `x` holds texts.

    Examples
    --------
    >>> import tensorcast as tc
    >>> tc.exponents([1, 2, 3, float("inf")]).counts
    (1, 2)
    """
    source = arrays.read(x, from_type, packed in (True, "in"), shape)
    if source.number == STRING:
        raise UnsupportedError("texts have no exponents: parse them first")
    counts = _core.ExponentCounts()
    counts.add(source.given(), source.number, math.prod(source.shape), source.packed)
    return exponents_of(counts, source.number)


# -------------------------------------------------------------------------- drawn without matplotlib

_WIDTH, _HEIGHT, _LEFT, _BASE = 640, 170, 46, 140


def _drawing(found: Exponents) -> str:
    """Bars over powers of two, as SVG in the colours of the page."""
    if not found.counts:
        return ""
    most, wide = max(found.counts), (_WIDTH - _LEFT) / len(found.counts)
    every = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if step * wide >= 44 or step == 1024)
    parts = [f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{_BASE}" y2="{_BASE}" stroke="currentColor" stroke-width="1"/>',
             _words(_LEFT - 6, 14, "end", f"{100 * most / found.elements:.1f} %")]
    for place, count in enumerate(found.counts):
        left, exponent = _LEFT + place * wide, found.first + place
        high = max(1.0, (_BASE - 6) * count / most) if count else 0.0  # so that a few are seen
        if count:
            parts.append(f'<rect x="{left + wide * .06:.1f}" y="{_BASE - high:.1f}" width="{wide * .88:.1f}" height="{high:.1f}" '
                         f'fill="#4c8bd6"><title>2^{exponent}: {count:,}</title></rect>')
        if exponent % every == 0 and left < _WIDTH - 20:
            parts.append(_words(left + wide / 2, _BASE + 17, "middle", f'2<tspan dy="-5" font-size="9">{exponent}</tspan>'))
    return (f'<svg role="img" aria-label="How many values have which exponent" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'style="width: 100%; max-width: {_WIDTH}px; display: block" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>')


def _words(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" font-size="12" fill="currentColor" text-anchor="{anchor}">{words}</text>'
