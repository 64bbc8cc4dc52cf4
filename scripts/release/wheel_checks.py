#!/usr/bin/env python3
"""What a wheel has to be before anybody may install it.

    wheel_checks.py WHEEL... [--glibc 2.28] [--most-bytes N] [--no-library-beside]

Its platform's tag says no earlier glibc than its binaries ask for; each is for the tag's processor, as is
its name, loads with the largest pages that kernels have there and needs nothing but glibc
(--no-library-beside), or what is bundled; every part has its notice; the page of
the package has no link that leads nowhere; --most-bytes is for the wheel that is imported. Prints a
line for each wheel, and one for each fault; ends with 1 where there is one.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import email
import io
import pathlib
import re
import sys
import zipfile

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

import notices

GLIBC_PARTS = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
               "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# What every Linux that a manylinux tag names has beside glibc (PEP 600).
RUNTIME = {"libstdc++.so.6", "libgcc_s.so.1", "libz.so.1"}
MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
# The largest pages of a kernel for it: what is aligned to less does not load there.
PAGES = {"x86_64": 1 << 12, "aarch64": 1 << 16}
RELATIVE_LINK = re.compile(r"\]\((?![a-z]+:|#)[^)\s]+\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def binaries(archive):
    """The ELF files of a wheel, by name."""
    for name in archive.namelist():
        with archive.open(name) as member:
            if member.read(4) == b"\x7fELF":
                yield name, ELFFile(io.BytesIO(archive.read(name)))


def asked_for(elf):
    """The libraries that a binary needs, and the versions of their symbols."""
    needed, versions, paths = set(), set(), set()
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            needed |= {tag.needed for tag in section.iter_tags() if tag.entry.d_tag == "DT_NEEDED"}
            paths |= {tag.entry.d_tag for tag in section.iter_tags()
                      if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH")}
        elif isinstance(section, GNUVerNeedSection):
            versions |= {version.name for _, names in section.iter_versions() for version in names}
    return needed, versions, paths


def glibc(versions):
    """The latest glibc among the versions of symbols."""
    found = [tuple(map(int, version.removeprefix("GLIBC_").split(".")))
             for version in versions if re.fullmatch(r"GLIBC_[0-9.]+", version)]
    return max(found, default=(2, 0))


def faults(path, most_bytes=None, no_library_beside=False, latest=None):
    """What is wrong with a wheel, a line for each."""
    name, _, python, abi, platform = path.name.removesuffix(".whl").split("-")
    tag = re.fullmatch(r"manylinux_(\d+)_(\d+)_(x86_64|aarch64)", platform.split(".")[-1])
    if not tag:
        yield f"{path.name}: no tag of manylinux"
        return
    promised, machine = (int(tag.group(1)), int(tag.group(2))), MACHINES[tag.group(3)]
    if latest and promised > latest:
        yield f"{path.name}: for glibc {promised} and later, where {latest} was asked for"
    if name == "tensorcast_cli" and (python, abi) != ("py3", "none"):
        yield f"{path.name}: the command needs no Python, and its tag names one"
    if most_bytes and name == "tensorcast" and path.stat().st_size > most_bytes:
        yield f"{path.name}: {path.stat().st_size:,} bytes, and {most_bytes:,} are the most"
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        bundled = {pathlib.PurePath(file).name for file in names if ".libs/" in file}
        count = 0
        for file, elf in binaries(archive):
            count += 1
            needed, versions, paths = asked_for(elf)
            beside = needed - GLIBC_PARTS - (set() if no_library_beside else RUNTIME | bundled)
            if beside:
                yield f"{path.name}: {file} needs {', '.join(sorted(beside))}"
            if paths and no_library_beside:
                yield f"{path.name}: {file} looks for libraries in folders of its own"
            if glibc(versions) > promised:
                yield f"{path.name}: {file} needs glibc {glibc(versions)}, and the tag says {promised}"
            if elf["e_machine"] != machine:
                yield f"{path.name}: {file} is for {elf['e_machine']}, and the tag says {machine}"
            if any(part["p_align"] < PAGES[tag.group(3)] for part in elf.iter_segments("PT_LOAD")):
                yield f"{path.name}: {file} does not load where pages have {PAGES[tag.group(3)] >> 10} KiB"
            if "/_core." in file and not file.endswith(
                    ".abi3.so" if abi == "abi3" else f"-{python[2:]}-{tag.group(3)}-linux-gnu.so"):
                yield f"{path.name}: {file} is not imported by the Pythons of the tag"
        if count == 0:
            yield f"{path.name}: nothing in it is compiled"
        has_command = any(re.fullmatch(r"[^/]*\.data/scripts/tensorcast", file) for file in names)
        if has_command != (name == "tensorcast_cli"):
            yield f"{path.name}: the command tensorcast belongs in the wheel tensorcast_cli, and there alone"
        held = {pathlib.PurePath(file).stem for file in names
                   if ".dist-info/licenses/" in file and archive.getinfo(file).file_size > 200}
        for missing in sorted((notices.of(name, of_zig=no_library_beside) | {"LICENSE"}) - held):
            yield f"{path.name}: the notice of {missing} is not in it"
        (metadata,) = (file for file in names if file.endswith(".dist-info/METADATA"))
        page = email.message_from_bytes(archive.read(metadata)).get_payload()
        if links := RELATIVE_LINK.findall(FENCED.sub("", page)):
            yield (f"{path.name}: its page has {len(links)} links that lead nowhere from PyPI, "
                   f"{links[0][2:-1]} first")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheels", type=pathlib.Path, nargs="+", metavar="WHEEL")
    parser.add_argument("--glibc", type=lambda text: tuple(map(int, text.split("."))))
    parser.add_argument("--most-bytes", type=int)
    parser.add_argument("--no-library-beside", action="store_true")
    arguments = parser.parse_args()
    found = []
    for path in arguments.wheels:
        print(f"{path.name}: {path.stat().st_size:,} bytes")
        found += faults(path, arguments.most_bytes, arguments.no_library_beside, arguments.glibc)
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
