#!/usr/bin/env python3
"""The law of the rooms: every #include between rooms is one that docs/design.md's table allows.

    rooms_test.py REPOSITORY

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys


def allowed(design):
    """The table: what each room may include, itself and words always; a folder that has a row of its own, what its room may too."""
    rows = {}
    for room, others in re.findall(r"^\| `([a-z/]+)` \| ([^|]*) \|$", design, re.MULTILINE):
        rows[room] = {room, "words", *re.findall(r"`([a-z/]+)`", others)}
    for row in rows:
        rows[row] |= rows.get(row.split("/")[0], set())
    return rows


def row_of(place, rows):
    """The row of a file or an #include: that of its folder, or of the room that the folder is in."""
    parts = place.split("/")
    return next((row for row in ("/".join(parts[:2]), parts[0]) if row in rows), None)


def main():
    root = pathlib.Path(sys.argv[1])
    rows = allowed((root / "docs/design.md").read_text(encoding="utf-8"))
    rooms = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    rooms |= {"programs", "python"}
    folders = {row for row in rows if (root / "src" / row).is_dir()}
    if {row.split("/")[0] for row in rows} != rooms or not folders | {"programs", "python"} >= set(rows):
        sys.exit(f"docs/design.md's table and the folders differ: {sorted(set(rows) ^ rooms)}")
    wrong = count = 0
    for room in sorted(rooms):
        folder = {"programs": root / "programs", "python": root / "python/src"}.get(room, root / "src" / room)
        for path in sorted(folder.rglob("*.[hc]*")):
            own = row_of(f"{room}/{path.relative_to(folder)}", rows)
            for include in re.findall(r'^#include "([a-z_]+/[a-z_./]+)"',
                                      path.read_text(encoding="utf-8"), re.MULTILINE):
                count += 1
                other = row_of(include, rows)
                if other and other not in rows[own]:
                    wrong += 1
                    print(f"{path.relative_to(root)} includes {other}, which the table does not allow")
    print(f"{count} includes, {wrong} against the table")
    return 1 if wrong or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
