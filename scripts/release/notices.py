"""The notices of all that stands in a wheel's binaries beside our own code.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

# Debian's packages that both wheels are built with, that of the import alone, that of the command alone.
OF_BOTH = ("libhwy-dev", "zlib1g-dev", "libyaml-dev", "libpcre2-dev", "nlohmann-json3-dev",
           "libprotozero-dev", "libxxhash-dev")
OF_THE_IMPORT = ("nanobind", "robin_map")
OF_THE_COMMAND = ("libtbb-dev", "libfmt-dev", "libcli11-dev", "libtomlplusplus-dev")
OF_ZIG = ("zig", "libcxx", "libcxxabi", "libunwind")


def of(wheel, of_zig=False):
    """The names of the notices in a wheel, by its name."""
    own = OF_THE_COMMAND if wheel == "tensorcast_cli" else OF_THE_IMPORT
    return {*OF_BOTH, *own, *(OF_ZIG if of_zig else ())}


def write(packages, wheel, folder, of_zig=False):
    """Writes the notices of a wheel into a folder, a file for each; nanobind and Zig are among `packages`."""
    zig = packages / "ziglang"
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(of(wheel, of_zig)):
        if name == "nanobind":
            (text,) = packages.glob("nanobind-*.dist-info/licenses/LICENSE")
        elif name == "robin_map":
            text = packages / "nanobind" / "ext" / "robin_map" / "include" / "tsl" / "robin_map.h"
        elif name == "zig":
            text = zig / "LICENSE"
        elif name in OF_ZIG:
            text = zig / "lib" / name / "LICENSE.TXT"
        else:
            text = pathlib.Path("/usr/share/doc") / name / "copyright"
        if not text.is_file():
            sys.exit(f"tensorcast: the notice of {name} is not where it was: {text}")
        lines = text.read_text(encoding="utf-8").splitlines(True)
        if text.suffix == ".h":  # the comment that it begins with
            lines = lines[:1 + next(at for at, line in enumerate(lines) if "*/" in line)]
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
