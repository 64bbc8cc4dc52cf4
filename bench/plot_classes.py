#!/usr/bin/env python3
"""Draws R by class of pairs as an SVG, one line for each file of `tensorcast bench --size l2 --csv`.

    plot_classes.py [WORDS=]ROWS... plot.svg

Without WORDS the legend names the instruction set. A panel for each class: its pairs from the
slowest to the fastest, and the goals. docs/speed_by_class.svg is of bench/results/
pairs_l2_avx3_dl.csv, pairs_l2_avx3.csv, pairs_l2_avx2.csv and, as "AVX2, Zen 3",
pairs_l2_avx2_zen3.csv.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import csv
import pathlib
from xml.sax.saxutils import escape

NAMES = {"A": "move-like", "B": "light", "C": "round to ≤ 8 bits", "D": "wide to narrow", "E": "rare"}
TARGETS = {"avx3_dl": ("AVX-512 with VBMI", "#0b6bcb"), "avx3": ("AVX-512", "#7c3aed"),
           "avx2": ("AVX2", "#c2410c")}
OTHER = "#0f766e"
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 860, 380, 52, 76, 48
PANEL, GAP, MOST = 146, 14, 1.2
INK, FAINT = "#24292f", "#d0d7de"


def y_of(ratio):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(ratio, MOST) / MOST


def text(x, y, words, anchor="middle", size=13, color=INK, extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" '
            f'text-anchor="{anchor}"{extra}>{escape(words)}</text>')


def line(x1, y1, x2, y2, color, extra=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"{extra}/>'


def read(argument):
    """A file's target, words and color, and by class the ratios and goals of its pairs."""
    named, _, path = argument.rpartition("=")
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    target = next(line.split(": ")[1] for line in lines if line.startswith("# target: "))
    found = collections.defaultdict(list)
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        found[row["class"]].append((float(row["ratio"]), float(row["goal"])))
    words, color = (named, OTHER) if named else TARGETS[target]
    return target, words, color, found


def panel(place, name, files):
    left = LEFT + place * (PANEL + GAP)
    pairs = len(files[0][-1][name])
    parts = [line(left, y_of(step / 5), left + PANEL, y_of(step / 5), INK if step == 0 else FAINT)
             for step in range(7)]
    parts += [text(left + PANEL / 2, HEIGHT - BOTTOM + 19, f"{name}: {NAMES[name]}"),
              text(left + PANEL / 2, HEIGHT - BOTTOM + 36, f"{pairs} pairs", size=12, color="#57606a")]
    for target, _, color, found in files:
        ratios = sorted(ratio for ratio, _ in found[name])
        points = " ".join(f"{left + PANEL * (i + 0.5) / len(ratios):.1f},{y_of(ratio):.1f}"
                          for i, ratio in enumerate(ratios))
        if target != "avx3":  # its goals are those of AVX-512 with VBMI
            goal = max(goal for _, goal in found[name])
            parts.append(line(left, y_of(goal), left + PANEL, y_of(goal), color, ' stroke-dasharray="4 3"'))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("rows", nargs="+", metavar="[WORDS=]ROWS")
    parser.add_argument("output", metavar="plot.svg")
    arguments = parser.parse_args()
    rows, output = arguments.rows, arguments.output
    if not output.endswith(".svg"):
        parser.error(f"{output}: the plot is an .svg file, named last")
    files = [read(path) for path in rows]
    parts = [text(LEFT, 24, "R, our bytes per second over a copy's (above 1.2: at 1.2): each class's "
                  "pairs, the slowest first", "start", 15)]
    x = LEFT
    for _, words, color, _ in files:
        parts += [line(x, 48, x + 24, 48, color, ' stroke-width="3"'), text(x + 31, 52, words, "start")]
        x += 60 + 8 * len(words)
    parts += [line(x, 48, x + 24, 48, INK, ' stroke-dasharray="4 3"'),
              text(x + 31, 52, "the goal, AVX-512 and AVX2", "start")]
    parts += [text(LEFT - 8, y_of(step / 5) + 4, f"{step / 5:.1f}", "end") for step in range(7)]
    for place, name in enumerate(NAMES):
        parts += panel(place, name, files)
    pathlib.Path(output).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="system-ui, sans-serif">\n<title>R by class of pairs</title>\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n",
        encoding="utf-8")


if __name__ == "__main__":
    main()
