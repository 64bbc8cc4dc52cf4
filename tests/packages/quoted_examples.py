"""The code in docs/use_from_*.md is that of examples/, which the other tests compile and run.

A line `<!-- examples/c/cast.c -->` announces that the fenced block below it is that file. Every
example must be quoted somewhere, and --update writes the blocks anew.
SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import re
import sys

QUOTE = re.compile(r"(<!-- (examples/\S+) -->\n```\w*\n)(.*?)(```\n)", re.S)


def main():
    root = pathlib.Path(sys.argv[1])
    update = "--update" in sys.argv[2:]
    failures = 0
    quoted = set()
    pages = sorted((root / "docs").glob("use_from_*.md"))
    for page in pages:
        text = page.read_text()
        announced = len(re.findall(r"<!-- examples/\S+ -->", text))
        found = QUOTE.findall(text)
        if announced != len(found):
            print(f"{page}: {announced} quotes announced, {len(found)} found", file=sys.stderr)
            failures += 1
        for _, name, code, _ in found:
            quoted.add(name)
            if not (root / name).is_file():
                print(f"{page}: quotes {name}, which is not there", file=sys.stderr)
                failures += 1
            elif code != (root / name).read_text() and not update:
                print(f"{page}: its {name} is not the file's; run {sys.argv[0]} {root} --update",
                      file=sys.stderr)
                failures += 1
        if update:
            page.write_text(
                QUOTE.sub(lambda m: m[1] + (root / m[2]).read_text() + m[4], text)
            )
    for example in sorted((root / "examples").rglob("*.*")):
        name = example.relative_to(root).as_posix()
        if name not in quoted and "__pycache__" not in name:
            print(f"{name} is quoted in none of {[page.name for page in pages]}", file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
