"""The tables of docs/labview.md: how a Call Library Function Node is set up for each flat function.

    check_labview.py ROOT [--update]

The rows are made from the headers: an array is a pointer that is followed by its count. With
--update they are written anew.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import difflib
import pathlib
import re
import sys

NUMBERS = {"int32_t": "I32", "uint32_t": "U32", "int64_t": "I64", "uint64_t": "U64",
           "double": "DBL", "void": "U8"}
# Of the other headers, what goes with these.
ALSO = ("tensorcast_executor_create", "tensorcast_executor_destroy", "tensorcast_interrupt_create",
        "tensorcast_interrupt_set", "tensorcast_interrupt_destroy", "tensorcast_status_text",
        "tensorcast_type_name", "tensorcast_version")
HEADERS = ("flat.h", "graph.h", "session.h", "tensorcast.h")


def parameters(text):
    """[(type, name)] of a parameter list."""
    found = []
    for parameter in re.sub(r"\s+", " ", text).split(","):
        if parameter.strip() != "void":
            kind, name = re.fullmatch(r"\s*(.*?)\s*(\w+)", parameter).groups()
            found.append((kind.replace(" *", "*"), name))
    return found


def setting(kind, following):
    """How one parameter is set up."""
    base = kind.removeprefix("const ").rstrip("*")
    if "*" not in kind:
        return NUMBERS[base]
    if kind == "const char*":
        return "Str"
    if kind.endswith("**"):
        return "P*"
    count = None
    if following and "*" not in following[0] and re.fullmatch(
            r"capacity|rank|\w+_(count|bytes|size)", following[1]):
        count = following[1]
    if base == "char":
        return f"Str[{count}]"
    if base not in NUMBERS:
        return "P"
    if count:
        return f"{NUMBERS[base]}[{count}]"
    if base == "void":
        raise ValueError("bytes without a size")
    return f"{NUMBERS[base]}*"


def rows(header, text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for result, name, given in re.findall(
            r"TENSORCAST_API\s+(const char\*|\w+)\s+TENSORCAST_CALL\s+(tensorcast_\w+)"
            r"\(([^()]*)\);", text):
        if header == "tensorcast.h" and name not in ALSO:
            continue
        pairs = parameters(given)
        told = [f"{each[1]} {setting(each[0], pairs[i + 1] if i + 1 < len(pairs) else None)}"
                for i, each in enumerate(pairs)]
        gives = {"int32_t": "I32", "void": "void", "const char*": "Str"}[result]
        yield f"| `{name}` | {gives} | {', '.join(told)} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    page = arguments.root / "docs" / "labview.md"
    old = new = page.read_text(encoding="utf-8")
    for header in HEADERS:
        source = arguments.root / "include" / "tensorcast" / header
        table = "\n".join(rows(header, source.read_text(encoding="utf-8")))
        marks = re.findall(rf"<!-- functions of {re.escape(header)} -->", new)
        if len(marks) != 1 or table.count("\n") < 3:
            sys.exit(f"docs/labview.md: no place for the functions of {header}")
        new = re.sub(rf"(<!-- functions of {re.escape(header)} -->\n\| [^\n]*\n\|[-| ]*\n)(?:\|[^\n]*\n)*",
                     lambda found: found[1] + table + "\n", new)
    if arguments.update:
        page.write_text(new, encoding="utf-8")
        return 0
    sys.stderr.writelines(difflib.unified_diff(
        old.splitlines(True), new.splitlines(True), "docs/labview.md", "the headers"))
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
