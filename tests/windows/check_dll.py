#!/usr/bin/env python3
"""What users of tensorcast.dll depend on: its names, its structs, and that it stands alone.

The C functions it exports are those that libtensorcast.so exports, all else is in the library's
namespace; structs lie as in tests/c/struct_layouts.txt; the DLLs it needs are part of Windows.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "c"))
import check_abi  # pylint: disable=wrong-import-position

OF_WINDOWS = {"kernel32.dll", "msvcrt.dll"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    for name in "compiler", "objdump", "emulator":
        parser.add_argument("--" + name, required=True)
    arguments = parser.parse_args()

    text = check_abi.preprocessed(arguments.compiler, arguments.include)
    layouts = check_abi.layouts(arguments.compiler, arguments.include, text, [arguments.emulator])
    failures = check_abi.compare("struct_layouts.txt", layouts, False)

    listed = check_abi.output(arguments.objdump, "-p", arguments.library)
    table = listed.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    exported = set(re.findall(r"^\s*\[\s*\d+\] (?:\+base\[\s*\d+\]\s+\w+ )?(\S+)$", table, re.M))
    kept = (check_abi.here / "exported_symbols.txt").read_text().split()
    functions = {name.split("@")[0] for name in kept if name.startswith("tensorcast_")}
    for name in sorted(functions ^ {name for name in exported if name.startswith("tensorcast_")}):
        where = "the DLL" if name in exported else "libtensorcast.so"
        print(f"{name}: only {where} exports it", file=sys.stderr)
        failures += 1
    for name in sorted(exported):
        if not re.match(r"tensorcast_|_Z(N|NK|T[ISV]N)10tensorcast", name):
            print(f"{name}: is in nobody's namespace", file=sys.stderr)
            failures += 1
    needed = {name.lower() for name in re.findall(r"DLL Name: (\S+)", listed)}
    if not needed or needed - OF_WINDOWS:
        print(f"the DLL needs {sorted(needed)}, not only {sorted(OF_WINDOWS)}", file=sys.stderr)
        failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
