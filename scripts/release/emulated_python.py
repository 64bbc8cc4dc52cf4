"""A Python for another processor than this machine's: Debian's packages, unpacked and run by qemu-user.

The extension is compiled against its headers, and the wheels are tested with it.

SPDX-License-Identifier: Apache-2.0
"""
import importlib.metadata
import shutil
import subprocess
import sys

import debian
from toolchain import run

DEBIAN_NAMES = {"aarch64": "arm64"}
# The release of Debian whose Python tests a wheel, and which that is. The first that has the stable ABI of 3.12
# is 3.13.
PYTHONS = {"3.11": ("bookworm", "3.11"), "abi3": ("trixie", "3.13")}
# What the tests and the extension's stub take, of the versions that are here.
PACKAGES = ("numpy", "ml_dtypes", "nanobind", "pytest", "hypothesis", "safetensors", "onnx", "pip")
LAUNCHER = """#!/bin/sh
# Written by scripts/release/emulated_python.py.
exec qemu-{architecture} -L {root} -0 "$0" {program} "$@"
"""


class EmulatedPython:
    """One Python, with what tests wheels for an ABI."""

    def __init__(self, folder, architecture, abi):
        self.architecture, self.abi = architecture, abi
        self.release, self.version = PYTHONS[abi]
        self.folder = folder / f"{architecture}-{self.version}"
        self.root = self.folder / "root"
        name = f"python{self.version}"
        self.packages = self.root / "usr" / "lib" / "python3" / "dist-packages"
        self.python = self.root / "usr" / "bin" / f"emulated-{name}"
        self.headers = self.root / "usr" / "include" / name
        wanted = "\n".join(f"{package}=={importlib.metadata.version(package)}" for package in PACKAGES)
        complete = self.folder / "complete"
        if not complete.exists() or complete.read_text(encoding="utf-8") != wanted:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.unpack(name)
            self.install(wanted.split())
            complete.write_text(wanted, encoding="utf-8")
        self.suffix = self.says("import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
        self.numpy_include = self.says("import numpy; print(numpy.get_include())")

    def unpack(self, name):
        """The interpreter and its headers, with all that they depend on."""
        log = self.folder / "log"
        get = debian.apt(self.folder, "deb", self.release, DEBIAN_NAMES[self.architecture])
        run(log, *get, "update")
        run(log, *get, "install", "--yes", "--download-only", "--no-install-recommends", name, f"lib{name}-dev",
            "libstdc++6")  # which ml_dtypes asks for
        for package in sorted((self.folder / "cache" / "archives").glob("*.deb")):
            run(log, "dpkg", "-x", package, self.root)
        if not (self.root / "lib").exists():  # where the program that loads programs is looked for
            (self.root / "lib").symlink_to("usr/lib")
        # Debian's own leads to that of the compiler's architecture, in a folder that has the C library's headers too.
        shutil.copy(self.headers.parent / f"{self.architecture}-linux-gnu" / name / "pyconfig.h", self.headers)
        self.launcher(self.python, self.root / "usr" / "bin" / name)

    def install(self, wanted):
        """What the tests take, from PyPI."""
        platforms = [f"manylinux_2_{minor}_{self.architecture}" for minor in range(28, 16, -1)]
        platforms.append(f"manylinux2014_{self.architecture}")
        abis = ("cp" + self.version.replace(".", ""), "abi3", "none")
        run(self.folder / "log", sys.executable, "-m", "pip", "install", "--only-binary=:all:",
            "--python-version", self.version, "--implementation", "cp", "--target", self.packages,
            *(word for tag in platforms for word in ("--platform", tag)),
            *(word for abi in abis for word in ("--abi", abi)), *wanted)
        # Neither these nor Debian's packages have bytecode for it, and an import would compile them each time. (Some
        # tests of packages are wrong on purpose.)
        run(self.folder / "log", self.python, "-m", "compileall", "-q", "-x", "/tests?/",
            self.root / "usr" / "lib" / f"python{self.version}", self.packages)

    def launcher(self, path, program):
        """Writes a program that runs another one, of this architecture."""
        path.write_text(LAUNCHER.format(architecture=self.architecture, root=self.root, program=program),
                        encoding="utf-8")
        path.chmod(0o755)

    def runnable(self, program):
        """Puts a launcher in the place of a program."""
        own = program.with_name(f"{program.name}.{self.architecture}")
        program.rename(own)
        self.launcher(program, own)

    def include(self, makers):
        """The headers for the extension: its own or, for the stable ABI, those of the Python that makes the wheel.
        CMake takes none of another version than that, and the stable ABI is the same on both processors."""
        return self.headers if self.abi != "abi3" else makers

    def says(self, code):
        """What a piece of Python prints there."""
        return subprocess.run([self.python, "-c", code], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
