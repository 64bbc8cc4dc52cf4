#!/usr/bin/env python3
"""Draws what the demonstration's checkpoint loses against its size, by type, as an SVG.

    plot_loss.py path/to/tensorcast docs/loss_by_type.svg

The figures are those of `tensorcast loss --json` on the checkpoint that scripts/run converts.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import json
import pathlib
import subprocess
import sys
from xml.sax.saxutils import escape

import checkpoint

TYPES = ("float4e2m1", "float6e3m2", "float6e2m3", "float8e5m2", "float8e4m3fn", "bfloat16",
         "float16")
WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 64, 56
MOST_MB, MOST_DB = 60, 80
INK, FAINT, WHOLE, WORST = "#24292f", "#d0d7de", "#0b6bcb", "#c2410c"


def x_of(megabytes):
    return LEFT + (WIDTH - LEFT - RIGHT) * megabytes / MOST_MB


def y_of(decibels):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * decibels / MOST_DB


def text(x, y, words, anchor="middle", size=13, color=INK, extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" '
            f'text-anchor="{anchor}"{extra}>{escape(words)}</text>')


def line(x1, y1, x2, y2, color, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
            f'stroke-width="{width}"/>')


def axes():
    parts = []
    for decibels in range(0, MOST_DB + 1, 20):
        y = y_of(decibels)
        parts += [line(LEFT, y, WIDTH - RIGHT, y, FAINT), text(LEFT - 8, y + 4, f"{decibels}", "end")]
    for megabytes in range(0, MOST_MB + 1, 10):
        x = x_of(megabytes)
        parts += [line(x, y_of(0), x, y_of(0) + 5, INK),
                  text(x, y_of(0) + 20, f"{megabytes}")]
    parts += [line(LEFT, y_of(0), WIDTH - RIGHT, y_of(0), INK),
              text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "size of all tensors, MB"),
              text(0, 0, "SNR, dB (more is better)",
                   extra=f' transform="translate(18,{(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"')]
    return parts


def legend(name, megabytes):
    y = TOP - 18
    return [text(LEFT, 22, f"{name}, {megabytes:.1f} MB as float32: what a cast to each type keeps",
                 "start", 15),
            f'<circle cx="{LEFT + 6}" cy="{y - 4}" r="5" fill="{WHOLE}"/>',
            text(LEFT + 18, y, "all values together", "start"),
            f'<circle cx="{LEFT + 166}" cy="{y - 4}" r="4.5" fill="white" stroke="{WORST}" '
            'stroke-width="2"/>',
            text(LEFT + 178, y, "the worst tensor", "start")]


def points(entries):
    """One type each; types of the same size stand side by side."""
    by_size = collections.defaultdict(list)
    for entry in entries:
        by_size[entry["data_bytes"]].append(entry)
    parts, labels = [], []
    for size, twins in by_size.items():
        for place, entry in enumerate(twins):
            x = x_of(size / 1e6) + (place - (len(twins) - 1) / 2) * 18
            whole, worst = y_of(entry["total"]["snr_db"]), y_of(entry["worst_snr_db"])
            parts += [line(x, whole, x, worst, WORST, 1.5),
                      f'<circle cx="{x:.1f}" cy="{worst:.1f}" r="4.5" fill="white" '
                      f'stroke="{WORST}" stroke-width="2"/>',
                      f'<circle cx="{x:.1f}" cy="{whole:.1f}" r="5" fill="{WHOLE}"/>']
            left = place < len(twins) - 1 or len(twins) == 1
            # Twice: a white rim, then the words, so that no line runs through them.
            for extra in (' stroke="white" stroke-width="5"', ""):
                labels.append(text(x + (-10 if left else 10),
                                   min(whole + 4, y_of(0) - 5),
                                   f"{entry['to']} {entry['total']['snr_db']:.1f}",
                                   "end" if left else "start", extra=extra))
    return parts + labels


def main():
    tool, output = sys.argv[1:]
    source = checkpoint.checkpoint()
    flags = [part for name in TYPES for part in ("--to", name)]
    report = json.loads(subprocess.run([tool, "loss", source, *flags, "--json", "--quiet"],
                                       check=True, stdout=subprocess.PIPE).stdout)
    megabytes = source.stat().st_size / 1e6
    parts = [*axes(), *legend("all-MiniLM-L6-v2", megabytes), *points(report["types"])]
    pathlib.Path(output).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="system-ui, sans-serif">\n'
        f'<title>SNR against size, by element type</title>\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n",
        encoding="utf-8")


if __name__ == "__main__":
    main()
