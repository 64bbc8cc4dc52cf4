"""A graph as a picture for notebooks: plain SVG of boxes in layers, and of what flows between them.

Colours are the page's own, light or dark. Names are escaped, and nothing is fetched from the network.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import tables

MOST_BOXES = 300  # nobody would look at a picture of more
_MOST_BENDS = 5000  # bends where edges pass layers; if there are more, all edges run straight
_LONGEST = 30  # characters on a line; a box's title has all
_LETTER, _LINE, _HEIGHT = 7.0, 15.0, 40.0
_GAP, _BETWEEN, _MARGIN = 18.0, 34.0, 8.0
_BEND = 6.0  # the width that an edge takes in a layer that it passes
_SWEEPS = 8

# The outline of each kind of box. The tint of a cast shows on white and on black.
_LOOKS = {"input": 'rx="18" stroke-dasharray="none"', "constant": 'rx="4" stroke-dasharray="4 3"',
          "node": 'rx="4" stroke-dasharray="none"', "output": 'rx="18" stroke-dasharray="none"'}
_CAST = "rgba(66, 133, 244, .18)"


@dataclass
class Box:
    """A node, an input, a constant or an output: two lines of text, and the boxes that it reads, which come before it
    in a list.
    """

    kind: str  # one of _LOOKS
    first: str
    second: str
    reads: Sequence[int] = ()
    is_cast: bool = False


@dataclass
class _Place:
    """The place of a box in its layer, or of a bend of an edge that passes the layer."""

    layer: int
    width: float
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    x: float = 0.0  # its middle


def _layers(boxes: Sequence[Box]) -> list[int]:
    """The layer of each box: below all that it reads, and for a constant just above what reads it first."""
    layers: list[int] = []
    for box in boxes:
        layers.append(1 + max((layers[read] for read in box.reads), default=-1))
    first_reader: dict[int, int] = {}
    for index, box in enumerate(boxes):
        for read in box.reads:
            first_reader[read] = min(first_reader.get(read, layers[index]), layers[index])
    return [first_reader[index] - 1 if box.kind == "constant" and index in first_reader else layers[index]
            for index, box in enumerate(boxes)]


def _short(text: str) -> str:
    text = tables.plain(text)
    return text if len(text) <= _LONGEST else text[:_LONGEST // 2] + "…" + text[1 - _LONGEST // 2:]


def _routed(boxes: Sequence[Box]) -> tuple[list[_Place], list[list[int]]]:
    """The places of boxes, then of bends; and for each edge the places that it goes through."""
    layers = _layers(boxes)
    places = [_Place(layer, _GAP + _LETTER * max(len(_short(box.first)), len(_short(box.second))))
              for layer, box in zip(layers, boxes)]
    edges = [(read, index) for index, box in enumerate(boxes) for read in dict.fromkeys(box.reads)]
    bends = sum(layers[end] - layers[begin] - 1 for begin, end in edges)
    routes = []
    for begin, end in edges:
        route = [begin]
        for layer in range(layers[begin] + 1, layers[end]) if bends <= _MOST_BENDS else ():
            places.append(_Place(layer, _BEND))
            route.append(len(places) - 1)
        route.append(end)
        for upper, lower in zip(route, route[1:]):
            places[upper].below.append(lower)
            places[lower].above.append(upper)
        routes.append(route)
    return places, routes


def _nearest(wished: list[float], apart: list[float]) -> list[float]:
    """The places nearest to the wished ones, by least squares, that are at least so far apart from one to the next."""
    offsets = [0.0]
    for distance in apart:
        offsets.append(offsets[-1] + distance)
    blocks: list[tuple[float, int]] = []  # a mean, and of how many places
    for wish, offset in zip(wished, offsets):
        mean, count = wish - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, others = blocks.pop()
            mean, count = (mean * count + before * others) / (count + others), count + others
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets)]


def _arrange(places: list[_Place]) -> None:
    """Orders each layer so that few edges cross, and moves places apart."""
    rows: list[list[int]] = [[] for _ in range(1 + max(place.layer for place in places))]
    for index, place in enumerate(places):
        rows[place.layer].append(index)
    for row in rows:
        for order, index in enumerate(row):
            places[index].x = float(order)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            def wish(index: int, sweep: int = sweep) -> float:
                others = places[index].above if sweep % 2 == 0 else places[index].below
                return sum(places[other].x for other in others) / len(others) if others else places[index].x

            row.sort(key=wish)
            for order, index in enumerate(row):
                places[index].x = float(order)
    for sweep in range(_SWEEPS + 1):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wished = []
            for index in row:
                others = [*places[index].above, *places[index].below] if sweep else []
                wished.append(sum(places[other].x for other in others) / len(others) if others
                              else places[index].x if sweep else 0.0)
            apart = [(places[a].width + places[b].width) / 2 + _GAP for a, b in zip(row, row[1:])]
            for index, x in zip(row, _nearest(wished, apart)):
                places[index].x = x


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _box(box: Box, place: _Place, top: float) -> str:
    x, width = place.x - place.width / 2, place.width
    lines = "".join(f'<text x="{_number(place.x)}" y="{_number(top + y)}"{look}>{tables.escaped(_short(text))}</text>'
                    for y, look, text in ((_LINE + 2, "", box.first), (2 * _LINE + 1, ' opacity=".65" font-size="11"', box.second))
                    if text)
    return (f"<g><title>{tables.escaped(' '.join(filter(None, (box.first, box.second))))}</title>"
            f'<rect x="{_number(x)}" y="{_number(top)}" width="{_number(width)}" height="{_number(_HEIGHT)}" {_LOOKS[box.kind]} '
            f'fill="{_CAST if box.is_cast else "none"}" stroke="currentColor" stroke-opacity=".6"/>{lines}</g>')


def _edge(points: list[tuple[float, float]]) -> str:
    x, y = points[0]
    path = f"M{_number(x)} {_number(y)}"
    for next_x, next_y in points[1:]:
        middle = _number((y + next_y) / 2)
        path += f"C{_number(x)} {middle} {_number(next_x)} {middle} {_number(next_x)} {_number(next_y)}"
        x, y = next_x, next_y
    tip = f"M{_number(x - 3.5)} {_number(y - 7)}L{_number(x)} {_number(y)}L{_number(x + 3.5)} {_number(y - 7)}Z"
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity=".6"/><path d="{tip}" fill="currentColor"/>'


def picture(boxes: Sequence[Box], words: str) -> str:
    """The boxes as an SVG element, with `words` for those who do not see it; "" if there are no boxes, or too many."""
    if not 0 < len(boxes) <= MOST_BOXES:
        return ""
    places, routes = _routed(boxes)
    _arrange(places)
    left = min(place.x - place.width / 2 for place in places) - _MARGIN
    for place in places:
        place.x -= left
    width = max(place.x + place.width / 2 for place in places) + _MARGIN
    tops = [_MARGIN + place.layer * (_HEIGHT + _BETWEEN) for place in places]
    height = max(tops) + _HEIGHT + _MARGIN
    drawn = []
    for route in routes:
        points = [(places[route[0]].x, tops[route[0]] + _HEIGHT)]
        for bend in route[1:-1]:
            points += [(places[bend].x, tops[bend]), (places[bend].x, tops[bend] + _HEIGHT)]
        points.append((places[route[-1]].x, tops[route[-1]]))
        drawn.append(_edge(points))
    drawn += [_box(box, place, top) for box, place, top in zip(boxes, places, tops)]
    size = f'width="{_number(width)}" height="{_number(height)}"'
    return (f'<div style="max-height: 40em; overflow: auto"><svg {size} viewBox="0 0 {_number(width)} {_number(height)}" '
            f'role="img" aria-label="{tables.escaped(words)}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" '
            f'text-anchor="middle" style="color: inherit; max-width: none"><g fill="currentColor">{"".join(drawn)}</g></svg></div>')
