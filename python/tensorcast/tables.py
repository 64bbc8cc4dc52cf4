"""What the package found, as tables: notebooks show them, and pandas takes them as frames.

Names come from files, and files from anybody: what stands in a page is escaped, and what would hide the text
or turn it round is spelt out. A page has no script and asks no network.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

_LONG = 40  # characters; shorter texts stay on one line
MOST_ROWS = 100  # in a notebook's table; a frame has all

# Colours are the notebook's own, light or dark, but for the marks, which stand out on both.
_STYLE = """<style>
.tensorcast { overflow-x: auto; max-width: 100%; }
.tensorcast table { table-layout: auto; border-collapse: collapse; margin: .4em 0; color: inherit; font-size: .9em; }
.tensorcast tr > th, .tensorcast tr > td { padding: .2em .7em; border: 0; border-bottom: 1px solid rgba(128, 128, 128, .35);
  text-align: left !important; vertical-align: top; background: none; white-space: nowrap; }
.tensorcast tr > .figure { text-align: right !important; font-variant-numeric: tabular-nums; }
.tensorcast tr > .long { min-width: min(15em, 38vw); overflow-wrap: anywhere; white-space: normal; }
.tensorcast .lost { color: #d9534f; } .tensorcast .poor { color: #b87a00; } .tensorcast .good { color: #2e9e5b; }
.tensorcast p { margin: .3em 0; overflow-wrap: anywhere; }
</style>"""


class Name(str):
    """A name that somebody chose: a long one may be broken anywhere."""


class Figure(str):
    """A number as it is to be shown."""


class Verdict(str):
    """One of good, poor and lost."""


class Share(float):
    """A part of 1."""


class Decibels(float):
    """A ratio; NaN if there is none."""


def plain(text: str) -> str:
    """A text in which nothing moves the cursor or turns the line round, and everything is a character."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode() for each in text)


def escaped(text: str) -> str:
    """A text that can stand in a page."""
    return html.escape(plain(text))


def share_text(share: float) -> str:
    if share == 0:
        return "·"
    return "<0.1 %" if share < 0.0005 else ">99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def _figure_text(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    if isinstance(value, Share):
        return share_text(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.1f} dB" if isinstance(value, Decibels) else f"{value:.6g}"


def shape_text(shape: tuple[int | None, ...]) -> str:
    return " × ".join("?" if size is None else str(size) for size in shape) or "scalar"


def _cell(value: Any) -> str:
    if isinstance(value, Verdict):
        return f'<td><span class="{value}">●</span> {value}</td>'
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td class="figure">{_figure_text(value)}</td>'
    if isinstance(value, Figure):
        return f'<td class="figure">{escaped(value)}</td>'
    if isinstance(value, tuple):  # a shape
        return f"<td>{escaped(shape_text(value))}</td>"
    words = "–" if value is None else escaped(str(value))
    return f'<td class="long">{words}</td>' if isinstance(value, Name) or len(words) > _LONG else f"<td>{words}</td>"


def line(text: str) -> str:
    """A line of text."""
    return f"<p>{escaped(text)}</p>"


def page(*parts: str) -> str:
    """A page for a notebook."""
    return f'<div class="tensorcast">{_STYLE}{"".join(parts)}</div>'


def table(caption: str, titles: Sequence[str], rows: Iterable[Sequence[Any]], count: int) -> str:
    """A table of `count` rows, of which the first are shown; numbers, shapes and texts are each shown in their own
    way. A title that begins with > heads a column of figures.
    """
    head = "".join(f'<th class="figure">{escaped(title[1:])}</th>' if title.startswith(">") else f"<th>{escaped(title)}</th>"
                   for title in titles)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(rows, MOST_ROWS))
    more = f"<p>… and {count - MOST_ROWS:,} more: to_frame() has all.</p>" if count > MOST_ROWS else ""
    return f"{_head(caption)}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def facts(caption: str, rows: Iterable[Sequence[Any]]) -> str:
    """A table of what is known of one thing, with a name in front of each row."""
    body = "".join(f"<tr><th>{escaped(str(name))}</th>{''.join(map(_cell, cells))}</tr>" for name, *cells in rows)
    return f"{_head(caption)}<table><tbody>{body}</tbody></table>"


def _head(caption: str) -> str:
    return f"<p><b>{escaped(caption)}</b></p>"


def needs(package: str, what: str) -> Any:
    """Imports a package that is not installed with this one; if it is missing, the error says so in one line."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        raise ImportError(f"{what} needs {name}, which cannot be imported: pip install {name} ({error})") from error


def frame(columns: Mapping[str, Iterable[Any]], index: str | None = None) -> pd.DataFrame:
    """Columns as a pandas.DataFrame, one of them as the index."""
    pandas = needs("pandas", "to_frame")
    made: Any = pandas.DataFrame({name: _series(pandas, list(values)) for name, values in columns.items()})
    return made if index is None else made.set_index(index)


def _series(pandas: Any, values: list[Any]) -> Any:
    try:
        return pandas.Series(values) if values else pandas.Series(values, dtype=object)
    except UnicodeEncodeError:  # pandas' own texts cannot hold a name whose bytes are not UTF-8
        return pandas.Series(values, dtype=object)
