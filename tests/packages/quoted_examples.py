"""The code on README.md and the pages of docs/ is that of examples/, which the other tests run.

    quoted_examples.py ROOT [--tool TENSORCAST] [--update]

A line `<!-- examples/c/cast.c -->` announces that the fenced block below it is that file, and
`<!-- excerpt of examples/c/cast.c -->` that its lines stand there, one after the other, whatever
their indentation. `<!-- transcript of tests/cli/cases/x.case -->` announces commands and what they
print, as they stand in that case one after the other. `<!-- tensorcast ARGUMENTS -->` announces what the tool prints; it is run where
it is given. A block of a programming language must be announced, every example be linked or quoted
somewhere, and --update writes whole files and outputs anew.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

BLOCK = re.compile(r"(?:^<!-- (?P<announced>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$",
                   re.S | re.M)
LANGUAGES = ("c", "cpp", "python", "rust", "go")


class Pages:
    def __init__(self, root, tool):
        self.root, self.tool = root, tool
        self.mentioned = set()
        self.failures = 0

    def fail(self, text):
        print(text, file=sys.stderr)
        self.failures += 1

    def expected(self, page, announced, code):
        """What the block ought to say; None where an excerpt is not one."""
        if announced.startswith("tensorcast "):
            if self.tool is None:
                return code
            done = subprocess.run([self.tool, *shlex.split(announced)[1:]], capture_output=True,
                                  text=True, check=False)
            command = code.splitlines()[0] if code.startswith("$ ") else None
            return f"{command}\n{done.stdout}" if command else done.stdout
        if announced.startswith("transcript of "):
            case = (self.root / announced.removeprefix("transcript of ")).read_text()
            printed = re.sub(r"^(?:\| ?|[!=].*\n)", "", case, flags=re.M)
            return code if f"\n{code}" in printed else None
        name = announced.removeprefix("excerpt of ")
        if not (self.root / name).is_file():
            self.fail(f"{page}: quotes {name}, which is not there")
            return code
        text = (self.root / name).read_text()
        if name == announced:
            return text
        lines = [line.strip() for line in text.splitlines()]
        wanted = [line.strip() for line in textwrap.dedent(code).splitlines()]
        places = range(len(lines) - len(wanted) + 1)
        return code if any(lines[i:i + len(wanted)] == wanted for i in places) else None

    def check(self, page, update):
        text = page.read_text()
        self.mentioned.update(re.findall(r"examples/[\w./]+\.\w+", text))

        def block(match):
            announced, code = match["announced"], match["code"]
            if announced is None or not announced.startswith(("examples/", "excerpt of ",
                                                              "transcript of ", "tensorcast ")):
                if match["language"] in LANGUAGES:
                    self.fail(f"{page}: this block says of no file that it is quoted:\n{code}")
                return match[0]
            expected = self.expected(page, announced, code)
            if expected is None:
                self.fail(f"{page}: these lines do not stand together in {announced}:\n{code}")
            elif expected != code and update:
                return match[0].replace(code, expected)
            elif expected != code:
                self.fail(f"{page}: the block of {announced} is not what it says; run "
                          f"{sys.argv[0]} {self.root} --update")
            return match[0]

        written = BLOCK.sub(block, text)
        if update and written != text:
            page.write_text(written)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--tool", help="the tensorcast executable, for blocks that show its output")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    root = arguments.root
    pages = Pages(root, arguments.tool)
    for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        pages.check(page, arguments.update)
    for example in sorted((root / "examples").rglob("*.*")):
        name = example.relative_to(root).as_posix()
        if name not in pages.mentioned and "__pycache__" not in name:
            pages.fail(f"{name} is on none of the pages")
    return 1 if pages.failures else 0


if __name__ == "__main__":
    sys.exit(main())
