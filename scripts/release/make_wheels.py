"""Makes and checks the wheels of a release, and the archives of their sources; scripts/wheels runs it.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

import dependencies
import tree
import wheel_checks
import wheel_tests
from emulated_python import EmulatedPython
from toolchain import GLIBC, ROOT, Toolchain, platform, run

OWN = "x86_64"  # the processor that all of this runs on
MACHINES = (OWN, "aarch64")
MOST_BYTES = 3_075_000  # of the import's wheel
SMALLEST = "SHELL:-Xclang -Oz"  # told to clang, as Zig takes -Oz for -Os


def say(text):
    print(f"tensorcast: {text}", file=sys.stderr, flush=True)


def only(folder):
    """The one wheel of a folder."""
    (wheel,) = folder.glob("*.whl")
    return wheel


def abi(version):
    """What a wheel for a version of Python is for: that alone or, from 3.12 on, all that have the stable ABI."""
    return "abi3" if int(version.partition(".")[2]) >= 12 else version


class Environment:
    """A Python with what makes wheels."""

    def __init__(self, folder):
        self.folder = folder.resolve()  # in the cache, whose path other versions of the packages do not have
        self.python = self.folder / "bin" / "python"
        (self.packages,) = (self.folder / "lib").glob("python*/site-packages")
        self.version = self.packages.parent.name.removeprefix("python")
        self.abi = abi(self.version)
        self.include = subprocess.run([self.python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
                                      check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
        self.runnable = None  # what is made runs as it is


class Release:
    """The wheels of one architecture, which need not be this machine's."""

    def __init__(self, folder, first, architecture):
        self.folder, self.first, self.architecture = folder.absolute(), first, architecture
        self.toolchain = Toolchain(self.folder / architecture, architecture, first.packages / "ziglang" / "zig")
        self.work = self.toolchain.folder
        self.logs = self.work / "logs"
        self.dist = self.folder / "dist"
        self.testers = {}

    def tester(self, maker):
        """The Python that tests what another one makes: itself, or one of the architecture."""
        if self.architecture == OWN:
            return maker
        if maker.abi not in self.testers:
            say(f"fetching a Python of {self.architecture} from Debian, to run under qemu")
            self.testers[maker.abi] = EmulatedPython(self.folder / "pythons", self.architecture, maker.abi)
        return self.testers[maker.abi]

    def make(self, makers):
        """Makes, checks and tests them all; returns them."""
        engine = self.build()
        trees = tree.write(self.work / "trees", makers[0].packages, of_zig=True)
        command = self.wheel("tensorcast-cli", trees["tensorcast-cli"], engine, makers[0])
        imports = {}
        for maker in makers:
            if maker.abi not in imports:
                imports[maker.abi] = self.wheel("tensorcast", trees["tensorcast"], engine, maker)
        wheels = [command, *imports.values()]
        self.check(wheels)
        for tester, one in {self.tester(maker): imports[maker.abi] for maker in makers}.items():
            self.test([command, one], tester)
        return wheels

    def build(self):
        """The library and the command, in one build for all wheels."""
        say("building what is linked in, from Debian's source packages")
        dependencies.build(self.toolchain, dependencies.fetch(self.folder / "sources"))
        say("building the library and the command")
        return self.toolchain.build(
            ROOT, "engine", "-DCMAKE_UNITY_BUILD=ON", "-DTENSORCAST_OPTIMISATION=-Os",
            f"-DTENSORCAST_SMALLEST={SMALLEST}", "-DTENSORCAST_TESTS=OFF", "-DTENSORCAST_BENCH=OFF",
            targets=("tensorcast_static", "tensorcast_tool"))

    def wheel(self, name, source, engine, maker):
        """Makes a wheel with a Python, and gives it the tag of its platform."""
        say(f"making the wheel of {name} with Python {maker.version}")
        what = f"{name}-{maker.version}"
        made, tagged = self.work / "made" / what, self.work / "tagged" / what
        for folder in (made, tagged):
            shutil.rmtree(folder, ignore_errors=True)
        log = self.logs / f"{what}.log"
        log.unlink(missing_ok=True)
        environment = self.toolchain.environment()
        environment["PATH"] = f"{maker.folder / 'bin'}:{environment['PATH']}"
        settings = {"build-dir": self.work / "objects" / what, "install.strip": "false"}
        definitions = {"CMAKE_TOOLCHAIN_FILE": self.toolchain.file, "TENSORCAST_BUILD": engine}
        tester = self.tester(maker)
        if tester is not maker:  # the Python that runs the build is none that the extension is for
            environment |= {"_PYTHON_HOST_PLATFORM": f"linux-{self.architecture}",
                            "SETUPTOOLS_EXT_SUFFIX": tester.suffix}
            settings["cmake.python-hints"] = "false"
            definitions |= {"Python_EXECUTABLE": maker.python, "Python_INCLUDE_DIR": tester.include(maker.include),
                            "Python_NumPy_INCLUDE_DIR": tester.numpy_include, "TENSORCAST_STUB_PYTHON": tester.python}
        settings |= {f"cmake.define.{key}": value for key, value in definitions.items()}
        run(log, maker.python, "-m", "pip", "wheel", source, "--no-deps", "--no-build-isolation", "--no-index",
            "--wheel-dir", made,
            *(word for key, value in settings.items() for word in ("--config-settings", f"{key}={value}")),
            env=environment)
        # It takes names of this machine's platforms alone; check() looks at which it found.
        run(log, maker.python, "-m", "auditwheel", "repair", "--plat", "auto", "--only-plat",
            "--wheel-dir", tagged, only(made), env=environment)
        # The same files, deflated with more patience: three per cent.
        run(log, "advzip", "--recompress", "--shrink-extra", only(tagged))
        return only(tagged)

    def check(self, wheels):
        """What wheel_checks.py, auditwheel and twine say; ends where one of them is not content."""
        faults = [fault for wheel in wheels for fault in wheel_checks.faults(wheel, MOST_BYTES, True, GLIBC)]
        if faults:
            sys.exit("\n".join(faults))
        for wheel in wheels:
            shown = subprocess.run([self.first.python, "-m", "auditwheel", "show", wheel], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
            if f'"{platform(self.architecture)}"' not in " ".join(shown.split()):
                sys.exit(f"tensorcast: auditwheel does not call {wheel.name} {platform(self.architecture)}:\n"
                         f"{shown}")
        run(self.logs / "twine.log", self.first.python, "-m", "twine", "check", "--strict", *wheels)

    def test(self, wheels, tester):
        say(f"testing them in an empty environment of Python {tester.version}")
        say(wheel_tests.run_tests(self.work / "tested", self.logs / f"tests-{tester.version}.log", wheels, tester))

    def sources(self):
        """The archives of the sources, of trees without notices."""
        made = []
        for name, source in tree.write(self.folder / "source_trees").items():
            program = f"from scikit_build_core import build; print(build.build_sdist({str(self.dist)!r}))"
            run(self.logs / "sources.log", self.first.python, "-c", program, cwd=source)
            (archive,) = self.dist.glob(f"{name.replace('-', '_')}-{tree.version()}.tar.gz")
            made.append(archive)
        run(self.logs / "twine.log", self.first.python, "-m", "twine", "check", "--strict", *made)
        return made


def main():
    parser = argparse.ArgumentParser(prog="scripts/wheels")
    parser.add_argument("--machine", choices=MACHINES, action="append")
    parser.add_argument("--environment", type=pathlib.Path, action="append", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    began = time.monotonic()
    makers = [Environment(folder) for folder in arguments.environment]
    if os.uname().machine != OWN:
        sys.exit(f"tensorcast: wheels are made on {OWN}, and this is {os.uname().machine}")
    wheels = []
    for machine in arguments.machine or MACHINES:
        release = Release(arguments.folder, makers[0], machine)
        wheels += release.make(makers)
    release.dist.mkdir(exist_ok=True)
    made = release.sources()
    for wheel in wheels:
        os.replace(wheel, release.dist / wheel.name)
        made.append(release.dist / wheel.name)
    for path in made:
        print(f"{path.stat().st_size:>10,}  {path.name}")
    say(f"in {release.dist}, after {time.monotonic() - began:.0f} s")
    if not tree.repository():
        say("these are for trying: pyproject.toml names no repository, and PyPI takes nothing that is marked "
            f"'{tree.UNPUBLISHABLE}'")


if __name__ == "__main__":
    main()
