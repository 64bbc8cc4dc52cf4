"""The tables of docs/labview.md: how a Call Library Function Node is set up for each flat function,
and the numbers that are wired to it.

    check_labview.py ROOT [--update]

The rows are made from the headers: an array is a pointer that is followed by its count, a number
stands in an enum. With --update they are written anew.
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
# Where the numbers of an enum are wired, by the beginning of its names; in the order of the table.
ENUMS = {
    "ROUND_": "`round_mode`", "OVERFLOW_": "`integer_overflow`", "FNUZ_INFINITY_": "`fnuz_infinity`",
    "FINITE_ONLY_NAN_": "`finite_only_nan`", "STRING_STYLE_": "`string_style`",
    "CONTRADICTIONS_": "`contradictions`", "TARGET_": "`target`",
    "GRAPH_": "`side`, and `which` of `tensorcast_graph_values`",
    "": "`node` and `index`, where the name says which one, or all", "VALUE_": "`kind`, which comes back",
    "NODE_": "`which` of `tensorcast_graph_node_text`", "CAST_": "`what`",
    "SUMMARY_": "`format`", "LOSS_": "places in `counts`", "COUNT_": "places in `counts`, behind those",
    "FIGURE_": "places in `figures`", "DIFF_": "places in `counts` of `tensorcast_diff_files`"}
# Of structs alone, and sizes.
NOT_WIRED = {"CLASS_", "TYPE_", "MODEL_", "REMEDY_"}
SIZES = {"DIFF_COUNTS", "LOSS_KINDS", "LOSS_PARTITION", "LOSS_SLOTS"}
FIRST_TYPE, FIRST_STATUS, FIRST_KEY = "FLOAT32", "OK", "BY_NAME"


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


def enums(root):
    """[[(name without TENSORCAST_, number, what is said of it)]] of all headers."""
    found = []
    for header in ("tensorcast.h", "onnx.h", "flat.h", "graph.h", "session.h"):
        text = (root / "include" / "tensorcast" / header).read_text(encoding="utf-8")
        for body in re.findall(r"\benum \{(.*?)\};", text, re.S):
            found.append([(name, int(number), re.sub(r"\s+", " ", said or "").strip())
                          for name, number, said in re.findall(
                              r"TENSORCAST_(\w+) = (-?\d+),?[ ]*(?:/\*(.*?)\*/)?", body)])
    return found


def number_tables(root):
    """{what: rows} of the types, the statuses and everything else that is a number."""
    types, statuses, others, left = [], [], {}, set(ENUMS)
    for members in enums(root):
        first = members[0][0]
        if first == FIRST_TYPE:
            members_of_types = members
            types = [f"| {number} | `{name}` |" for name, number, _ in members]
        elif first == FIRST_STATUS:
            statuses = [f"| {number} | `{name}` | {said} |" for name, number, said in members]
            if not all(said for _, _, said in members):
                sys.exit("check_labview.py: tensorcast.h does not say what every status means")
        else:
            prefix = "" if first == FIRST_KEY else next(
                (each for each in [*ENUMS, *NOT_WIRED] if each and first.startswith(each)), None)
            if prefix is None:
                sys.exit(f"check_labview.py: ENUMS does not say where TENSORCAST_{first} is wired")
            if prefix not in NOT_WIRED:
                left.discard(prefix)
                told = [f"{number} `{name.removeprefix(prefix)}`" for name, number, _ in members
                        if name not in SIZES and name.startswith(prefix)]
                others[prefix] = f"| {ENUMS[prefix]} | {', '.join(told)} |"
    # ONNX's numbers begin at 1; 14 and 15 are of complex types.
    if left or len(types) != int(members_of_types[-1][1]) - 2:
        sys.exit(f"check_labview.py: no enum of {sorted(left)}, {len(types)} types")
    return {"types": types, "statuses": statuses, "numbers": [others[each] for each in ENUMS]}


def written(page, mark, table):
    """The page with a table's rows anew, below its mark and its two lines of titles."""
    if len(re.findall(rf"<!-- {mark} -->", page)) != 1 or len(table) < 4:
        sys.exit(f"docs/labview.md: no place for the {mark}")
    lines = "".join(f"{row}\n" for row in table)
    return re.sub(rf"(<!-- {mark} -->\n\|[^\n]*\n\|[-| ]*\n)(?:\|[^\n]*\n)*",
                  lambda found: found[1] + lines, page)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    page = arguments.root / "docs" / "labview.md"
    old = new = page.read_text(encoding="utf-8")
    for header in HEADERS:
        source = arguments.root / "include" / "tensorcast" / header
        new = written(new, f"functions of {re.escape(header)}",
                      list(rows(header, source.read_text(encoding="utf-8"))))
    for what, table in number_tables(arguments.root).items():
        new = written(new, f"the {what}", table)
    if arguments.update:
        page.write_text(new, encoding="utf-8")
        return 0
    sys.stderr.writelines(difflib.unified_diff(
        old.splitlines(True), new.splitlines(True), "docs/labview.md", "the headers"))
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
