#!/usr/bin/env python3
"""What users of tensorcast.dll depend on: its names, its structs, and that it stands alone.

The C functions it exports are those that libtensorcast.so exports, all else is in the library's
namespace; structs lie as in tests/c/struct_layouts.txt; the DLLs it needs are part of Windows. It and
the tool have a version resource, and no symbols beside what is exported.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "c"))
import check_abi  # pylint: disable=wrong-import-position

OF_WINDOWS = {"kernel32.dll", "msvcrt.dll"}


def strings_of(resource):
    """{name: text} of a version resource: pairs of UTF-16, each padded to four bytes."""
    found = {}
    for name in ("FileDescription", "FileVersion", "OriginalFilename", "ProductName", "ProductVersion"):
        key = (name + "\0").encode("utf-16-le")
        at = resource.find(key)
        if at >= 0:
            at = (at + len(key) + 3) // 4 * 4 if resource[at + len(key):][:2] == b"\0\0" else at + len(key)
            found[name] = resource[at:at + 400].decode("utf-16-le", "replace").partition("\0")[0]
    return found


def check_file(path, version, objdump):
    """Complaints of a file's version resource and of symbols that were left in it."""
    data = path.read_bytes()
    complaints = []
    # VS_FIXEDFILEINFO: a signature, the struct's version, and two numbers of 32 bits.
    at = data.find(struct.pack("<II", 0xFEEF04BD, 0x00010000))
    parts = [int(part) for part in version.split(".")] + [0]
    high, low = struct.unpack_from("<II", data, at + 8) if at >= 0 else (0, 0)
    if [high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF] != parts:
        complaints.append(f"its version resource has {high:#x} and {low:#x}, not {version}")
    texts = strings_of(data[max(0, at - 200):at + 4000]) if at >= 0 else {}
    wanted = {"FileVersion": version, "ProductVersion": version, "ProductName": "tensorcast",
              "OriginalFilename": path.name}
    if {name: texts.get(name) for name in wanted} != wanted or not texts.get("FileDescription"):
        complaints.append(f"its version resource says {texts}")
    if "no symbols" not in check_abi.output(objdump, "-t", path):
        complaints.append("it is not stripped")
    return [f"{path.name}: {each}" for each in complaints]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--tool", type=pathlib.Path)
    parser.add_argument("--version", required=True)
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
    for file in (arguments.library, arguments.tool):
        for complaint in check_file(file, arguments.version, arguments.objdump) if file else ():
            print(complaint, file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
