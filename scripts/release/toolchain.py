"""Zig as the compiler of what is released, for any Linux of the last eight years.

ziglang, of PyPI, is clang with the symbols of every glibc, so that what it links asks for no later
one than is said here, and with a C++ library of its own, which it links in.

SPDX-License-Identifier: Apache-2.0
"""
import importlib.metadata
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLIBC = (2, 28)
# What nobody calls does not go along; one section for each function, so that it can be told. Zig keeps frame pointers,
# which g++ does not. Functions that nothing can be thrown through need no tables for that; the others keep theirs.
FLAGS = ("-ffunction-sections -fdata-sections -fomit-frame-pointer -fno-unwind-tables "
         "-fno-asynchronous-unwind-tables")
# Equal functions become one where nobody can tell them apart by their addresses, and what is alike stands side by side:
# a tenth of what is downloaded. Zig's driver does not take these, but says how it calls its linker.
LINK = """#!/bin/sh
# A link by Zig's driver, done again by its linker with two options more. Written by scripts/release/toolchain.py.
said=$("$@" -v 2>&1) || { printf '%s\\n' "$said" >&2; exit 1; }
set -f
set -- $(printf '%s\\n' "$said" | grep '^ld\\.lld ' | tail -n 1)
[ $# -gt 0 ] || { echo "tensorcast: Zig does not say how it links" >&2; exit 1; }
shift
exec ZIG ld.lld "$@" --icf=safe --bp-compression-sort=both
"""


def platform(architecture):
    """The tag of a wheel."""
    return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{architecture}"


def run(log, *command, **settings):
    """Runs a command into a log; shows it and ends where that fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "a", encoding="utf-8") as lines:
        print("$", shlex.join(map(str, command)), file=lines, flush=True)
        done = subprocess.run(command, stdout=lines, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False, **settings)
    if done.returncode != 0:
        sys.exit(f"{''.join(log.read_text(encoding='utf-8').splitlines(True)[-40:])}"
                 f"tensorcast: {pathlib.Path(command[0]).name} failed: see the lines above, kept in {log}")


class Toolchain:
    """Compilers for one architecture, and what CMake has to know of them."""

    def __init__(self, folder, architecture, ziglang):
        self.architecture = architecture
        self.folder = folder.absolute()
        self.prefix = self.folder / "prefix"  # of what is linked in, and its headers
        target = f"{architecture}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
        zig = shlex.quote(str(ziglang))
        self.compiler = f"ziglang {importlib.metadata.version('ziglang')} {target}"
        # -O2, which what follows can change: without it Zig builds its libraries with checks of their own.
        tools = {name: f'#!/bin/sh\n# {self.compiler}\nexec {zig} {command} "$@"\n' for name, command in (
            ("cc", f"cc -target {target} -O2 -g0"), ("c++", f"c++ -target {target} -O2 -g0"), ("ar", "ar"),
            ("ranlib", "ranlib"))}
        tools |= {"link": LINK.replace("ZIG", zig), "toolchain.cmake": self.settings()}
        written = {self.folder / name: text for name, text in tools.items()}
        # What was made by other means is of no use.
        if any(not path.exists() or path.read_text(encoding="utf-8") != text for path, text in written.items()):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            for path, text in written.items():
                path.write_text(text, encoding="utf-8")
                path.chmod(0o755)
        self.file = self.folder / "toolchain.cmake"

    def settings(self):
        """What CMake has to know."""
        return f"""# Written by scripts/release/toolchain.py.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {self.architecture})
set(CMAKE_C_COMPILER {self.folder}/cc)
set(CMAKE_CXX_COMPILER {self.folder}/c++)
set(CMAKE_CXX_LINKER_LAUNCHER {self.folder}/link)
set(CMAKE_AR {self.folder}/ar)
set(CMAKE_RANLIB {self.folder}/ranlib)
set(CMAKE_C_FLAGS_INIT "{FLAGS}")
set(CMAKE_CXX_FLAGS_INIT "{FLAGS}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--gc-sections -s -pie")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,--gc-sections -s")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-Wl,--gc-sections -s -L{self.prefix}/lib")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_FIND_ROOT_PATH {self.prefix})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)  # Python's stand elsewhere
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
"""

    def environment(self):
        """Of every build: Zig keeps its C library for all targets, ccache what was compiled."""
        kept = str(self.folder.parent / "zig")
        return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": kept, "ZIG_LOCAL_CACHE_DIR": kept,
                "CCACHE_COMPILERTYPE": "clang", "CCACHE_COMPILERCHECK": f"string:{self.compiler}"}

    def build(self, source, name, *definitions, targets=("install",)):
        """Configures and builds a CMake project; returns the folder of the build."""
        build = self.folder / name
        log = self.folder / "logs" / f"{name}.log"
        log.unlink(missing_ok=True)
        run(log, "cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_TOOLCHAIN_FILE={self.file}", f"-DCMAKE_INSTALL_PREFIX={self.prefix}",
            "-DCMAKE_INSTALL_LIBDIR=lib", "-DBUILD_SHARED_LIBS=OFF", *definitions,
            env=self.environment())
        run(log, "cmake", "--build", build, "--target", *targets, env=self.environment())
        return build
