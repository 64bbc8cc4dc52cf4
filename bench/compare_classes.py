#!/usr/bin/env python3
"""Two builds' speeds by class of pair, from files of `tensorcast bench --csv`.

    compare_classes.py --before FILE... --after FILE... [--csv FILE]

Give the runs of each build in turn, several of each. A pair's figure is the median of its runs; the
last column is the median over the class's pairs of after / before, by which a change is judged.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import csv
import statistics


def read(paths):
    """By (target, size, class, from, to) the ratios of all runs."""
    found = collections.defaultdict(list)
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        target = next(line.split(": ")[1] for line in lines if line.startswith("# target: "))
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            found[target, row["size"], row["class"], row["from"], row["to"]].append(
                float(row["ratio"]))
    return {pair: statistics.median(ratios) for pair, ratios in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--before", nargs="+", required=True)
    parser.add_argument("--after", nargs="+", required=True)
    parser.add_argument("--csv")
    arguments = parser.parse_args()
    before, after = read(arguments.before), read(arguments.after)
    classes = collections.defaultdict(list)
    if not before.keys() & after.keys():
        parser.error("no pair of one target and size is in both")
    for pair in sorted(before.keys() & after.keys()):
        classes[pair[:3]].append((before[pair], after[pair]))
    table = [("target", "size", "class", "pairs", "before", "after", "after_over_before")]
    for key, pairs in sorted(classes.items()):
        table.append((*key, len(pairs), f"{statistics.median(b for b, _ in pairs):.3f}",
                      f"{statistics.median(a for _, a in pairs):.3f}",
                      f"{statistics.median(a / b for b, a in pairs if b > 0):.3f}"))
    for row in table:
        print("{:9}{:6}{:6}{:>7}{:>9}{:>9}{:>19}".format(*row))
    if arguments.csv:
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
