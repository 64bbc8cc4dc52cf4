"""What users of the shared library depend on, against kept files: symbols, soname, struct layouts.

The exported symbols are exactly those of exported_symbols.txt, the C functions among them exactly
those the C headers declare, and the structs lie as in struct_layouts.txt (64-bit
pointers). A wanted change is written with --update, and belongs in CHANGELOG.md.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).parent


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported_symbols(nm, library):
    symbols = []
    for line in output(nm, "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # the version's own name
            symbols.append(name.replace("@@", "@"))
    return sorted(symbols)


def preprocessed(compiler, include):
    header = include / "tensorcast" / "onnx.h"  # it includes the others
    return output(compiler, "-E", "-P", f"-I{include}", str(header))


def structs(text):
    """(name, fields) of each struct that has fields."""
    for name, body in re.findall(r"typedef struct (tensorcast_\w+) \{(.*?)\}", text, re.S):
        yield name, re.findall(r"(\w+)(?:\[\w+\])*\s*[;,]", body)


def layouts(compiler, include, text, emulator=()):
    lines = []
    for name, fields in structs(text):
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field in fields:
            size = f"sizeof((({name}*)0)->{field})"
            lines.append(f'printf("  {field} %zu %zu\\n", offsetof({name}, {field}), {size});')
    program = (
        "#include <stddef.h>\n#include <stdio.h>\n#include <tensorcast/onnx.h>\n"
        "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    )
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "layouts.c"
        source.write_text(program)
        executable = pathlib.Path(directory) / "layouts.exe"
        output(compiler, "-std=c11", f"-I{include}", str(source), "-o", str(executable))
        return output(*emulator, str(executable)).splitlines()


def compare(name, found, update):
    """0 where a kept file says the same, not asking for its first lines, which say what it is."""
    file = here / name
    kept = file.read_text().splitlines() if file.exists() else []
    comment = [line for line in kept if line.startswith("#")]
    kept = kept[len(comment) :]
    if update:
        file.write_text("\n".join(comment + found) + "\n")
        return 0
    for line in sorted(set(found) - set(kept)):
        print(f"{name}: not there, but in the library: {line}", file=sys.stderr)
    for line in sorted(set(kept) - set(found)):
        print(f"{name}: there, but not in the library: {line}", file=sys.stderr)
    if found != kept and set(found) == set(kept):
        print(f"{name}: in another order", file=sys.stderr)
    return int(found != kept)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()

    text = preprocessed(arguments.compiler, arguments.include)
    symbols = exported_symbols(arguments.nm, arguments.library)
    failures = compare("exported_symbols.txt", symbols, arguments.update)
    failures += compare(
        "struct_layouts.txt",
        layouts(arguments.compiler, arguments.include, text),
        arguments.update,
    )

    declared = set(re.findall(r"\b(tensorcast_\w+)\s*\(", text))
    exported = {s.split("@")[0] for s in symbols if s.startswith("tensorcast_")}
    for name in sorted(declared ^ exported):
        where = "declared, not exported" if name in declared else "exported, not declared"
        print(f"{name}: {where}", file=sys.stderr)
        failures += 1
    for symbol in symbols:
        # Names that begin otherwise are not ours to give to every program.
        if not re.match(r"tensorcast_|_Z(N|NK|T[ISV]N)10tensorcast", symbol):
            print(f"{symbol}: is in nobody's namespace", file=sys.stderr)
            failures += 1
    # The ABI is that of the minor version before 1.0: in the soname, in the version of the symbols,
    # and in the inline namespace of the C++ names.
    header = (arguments.include / "tensorcast" / "version.h").read_text()
    major, minor = re.findall(r"#define TENSORCAST_VERSION_(?:MAJOR|MINOR) (\d+)$", header, re.M)
    abi = f"0.{minor}" if major == "0" else major
    space = f"v{major}_{minor}"
    for symbol in symbols:
        name, version = symbol.split("@")
        if version != f"TENSORCAST_{abi}":
            print(f"{symbol}: its version is not TENSORCAST_{abi}", file=sys.stderr)
            failures += 1
        if name.startswith("_Z") and not re.match(
            rf"_Z(N|NK|T[ISV]N)10tensorcast(\d+[a-z]+)?{len(space)}{space}", name
        ):
            print(f"{symbol}: is not in the inline namespace {space}", file=sys.stderr)
            failures += 1
    if f"[libtensorcast.so.{abi}]" not in output(arguments.readelf, "-d", arguments.library):
        print(f"the soname is not libtensorcast.so.{abi}", file=sys.stderr)
        failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
