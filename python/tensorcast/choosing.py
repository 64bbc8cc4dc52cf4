"""Tensors are chosen by patterns of their names, types and shapes, as in `convert`.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from . import _core
from .arguments import text
from .errors import ArgumentError

Patterns = str | Iterable[str]


class Described(Protocol):
    """What patterns are matched with; a TensorInfo."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str | None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


def chosen(infos: Sequence[Described], select: Patterns, exclude: Patterns) -> set[str]:
    """The names that `select` matches, or all if it is empty, without those that `exclude` matches. Each
    pattern has to match at least one.
    """
    rows = [(info.name, 0 if info.type is None else int(_core.type_number(info.type)), len(info.shape),
             math.prod(info.shape)) for info in infos]
    names = _matched(rows, select, "select") if select else {info.name for info in infos}
    return names - _matched(rows, exclude, "exclude")


def _matched(rows: list[tuple[str, int, int, int]], patterns: Patterns, what: str) -> set[str]:
    found: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matches = [row[0] for row, is_match in zip(rows, _core.matches(text(pattern, f"each of {what}"), rows))
                   if is_match]
        if not matches:
            meant = _core.meant_pattern(pattern, [row[0] for row in rows])
            raise ArgumentError(f"{what}: {pattern!r} matches no tensor of {len(rows)}{meant} (patterns match whole "
                                "names; list(tensorcast.open(path)) has them)")
        found.update(matches)
    return found
