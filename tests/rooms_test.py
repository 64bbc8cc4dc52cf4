#!/usr/bin/env python3
"""The law of the rooms: every #include between rooms is one that docs/design.md's table allows.

    rooms_test.py REPOSITORY

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys


def allowed(design):
    """The table: the rooms that each room may include, itself always."""
    rows = {}
    for room, others in re.findall(r"^\| `([a-z/]+)` \| ([^|]*) \|$", design, re.MULTILINE):
        rows[room] = {room, *re.findall(r"`([a-z]+)`", others)}
    return rows


def main():
    root = pathlib.Path(sys.argv[1])
    rows = allowed((root / "docs/design.md").read_text(encoding="utf-8"))
    rooms = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    rooms |= {"programs", "python"}
    if set(rows) != rooms:
        sys.exit(f"docs/design.md's table and the folders differ: {sorted(set(rows) ^ rooms)}")
    wrong = count = 0
    for room in sorted(rooms):
        folder = {"programs": root / "programs", "python": root / "python/src"}.get(room, root / "src" / room)
        for path in sorted(folder.rglob("*.[hc]*")):
            for other in re.findall(r'^#include "([a-z_]+)/', path.read_text(encoding="utf-8"),
                                    re.MULTILINE):
                count += 1
                if other in rooms and other not in rows[room]:
                    wrong += 1
                    print(f"{path.relative_to(root)} includes {other}, which the table does not allow")
    print(f"{count} includes, {wrong} against the table")
    return 1 if wrong or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
