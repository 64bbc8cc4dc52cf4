"""docs/adding_a_layout.md shows the difference by which a layout was added: what it adds compiles today, and the
lines around what it changes are there, whatever has been added between them.

    check_layout_page.py ROOT --compiler CXX [--include FOLDER ...]

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = "docs/adding_a_layout.md"


def files_of(diff):
    """Of each file of the difference whether it is new, what stood there, and what stands there then."""
    for part in re.split(r"^--- ", diff, flags=re.M)[1:]:
        old, new, *lines = part.splitlines()
        lines = [line for line in lines if not line.startswith("@@")]
        before = [line[1:] for line in lines if not line.startswith("+")]
        after = [line[1:] for line in lines if not line.startswith("-")]
        yield old == "/dev/null", new.removeprefix("+++ b/"), before, after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[], help="a folder of headers beside the tree's own")
    arguments = parser.parse_args()
    root = arguments.root
    page = (root / PAGE).read_text()
    (diff,) = re.findall(r"^```diff\n(.*?)^```$", page, re.S | re.M)
    failures, compiled = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for is_new, name, before, after in files_of(diff):
            if not is_new:
                rest = iter((root / name).read_text().splitlines())
                missing = [line for line in before if line not in rest]
                if missing:
                    print(f"{PAGE}: not in {name}, or not in this order: {missing[0]}", file=sys.stderr)
                    failures += 1
            elif name.endswith(".cc"):
                source = pathlib.Path(folder, pathlib.Path(name).name)
                source.write_text("".join(f"{line}\n" for line in after))
                folders = [root / "include", root / "src", *filter(None, arguments.include)]
                failures += subprocess.run(
                    [arguments.compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                     *(f"-I{one}" for one in folders), source], check=False).returncode != 0
                compiled += 1
    if compiled == 0:
        print(f"{PAGE}: its difference adds no source file", file=sys.stderr)
    return 1 if failures or compiled == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
