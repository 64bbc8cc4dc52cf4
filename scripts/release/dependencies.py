"""The libraries that a released binary has in it, built from Debian's source packages.

Six are compiled; of the others only headers are taken, from the packages that are installed to build
the tool (scripts/setup.sh).

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

import debian
from toolchain import FLAGS, run

SMALL = "-DCMAKE_BUILD_TYPE=MinSizeRel"  # what reads names and rules; the others compute, or are the threads
# The source package, and how its static library is configured.
COMPILED = {
    "highway": ("-DHWY_ENABLE_CONTRIB=OFF", "-DHWY_ENABLE_EXAMPLES=OFF", "-DBUILD_TESTING=OFF"),
    "onetbb": ("-DTBB_TEST=OFF", "-DTBB_STRICT=OFF", "-DTBBMALLOC_BUILD=OFF", "-DTBB_ENABLE_IPO=OFF",
               "-DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON"),
    "fmtlib": (SMALL, "-DFMT_DOC=OFF", "-DFMT_TEST=OFF"),
    "zlib": None,  # by a script of its own, as Debian has taken what its CMake asks for out of it
    "libyaml": (SMALL, "-DBUILD_TESTING=OFF"),
    "pcre2": (SMALL, "-DPCRE2_BUILD_PCRE2GREP=OFF", "-DPCRE2_BUILD_TESTS=OFF"),
}
HEADERS = ("CLI", "nlohmann", "toml++", "protozero", "xxhash.h")


def fetch(folder):
    """The source packages, unpacked; returns the folder of each by its name."""
    folder = folder.absolute()
    found = {name: unpacked(folder, name) for name in COMPILED}
    if all(found.values()):
        return found
    log = folder / "log"
    get = debian.apt(folder, "deb-src")
    run(log, *get, "update")
    for name in COMPILED:
        if found[name]:
            continue
        # Its signature was apt's to check. A fix of security whose source is not to be had is said by the
        # version in the notices.
        try:
            run(log, *get, "source", name, cwd=folder)
        except SystemExit:
            run(log, *get, "source", f"{name}/{debian.codename()}", cwd=folder)
        found[name] = unpacked(folder, name)
        if not found[name]:
            sys.exit(f"tensorcast: {name} was fetched to {folder}, but is not unpacked there")
    return found


def unpacked(folder, name):
    """The one folder of a source package; None where there is none."""
    folders = [path for path in folder.glob(f"{name}-*") if (path / "debian" / "copyright").is_file()]
    return folders[0] if len(folders) == 1 else None


def configure(toolchain, source, name):
    """Builds and installs zlib, whose configure is no autoconf's."""
    folder = toolchain.folder / name
    folder.mkdir(exist_ok=True)
    log = toolchain.folder / "logs" / f"{name}.log"
    tools = {"CC": "cc", "AR": "ar", "RANLIB": "ranlib"}
    environment = toolchain.environment() | {key: str(toolchain.folder / tool) for key, tool in tools.items()}
    environment |= {"CFLAGS": f"-O3 -fPIC {FLAGS}", "CHOST": f"{toolchain.architecture}-linux-gnu"}
    run(log, "sh", source / "configure", "--static", f"--prefix={toolchain.prefix}", cwd=folder, env=environment)
    run(log, "make", "install", cwd=folder, env=environment)


def build(toolchain, sources):
    """Builds and installs them for an architecture, where they are not yet."""
    done = toolchain.folder / "dependencies"
    include = toolchain.prefix / "include"
    include.mkdir(parents=True, exist_ok=True)
    for name in HEADERS:
        header = pathlib.Path("/usr/include") / name
        if not header.exists():
            sys.exit(f"tensorcast: there is no {header}: scripts/run --version installs the packages")
        if not (include / name).is_symlink():
            (include / name).symlink_to(header)
    built = done.read_text(encoding="utf-8").split() if done.exists() else []
    for name, definitions in COMPILED.items():
        if name in built:
            continue
        if definitions is None:
            configure(toolchain, sources[name], name)
        else:
            toolchain.build(sources[name], name, *definitions)
        built.append(name)
        done.write_text("\n".join(built), encoding="utf-8")
