"""Uses the packages as somebody else would: projects outside the tree, against what is installed.

package_test.py CASE --source TREE --build BUILD: each case installs or packages an existing build
into a directory of its own, builds examples/ against it, runs them and compares what they print.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

CASES = {}


class Failure(Exception):
    pass


def case(function):
    CASES[function.__name__] = function
    return function


def run(*command, fails=False, **environment):
    """The command's output, both streams; it ends well, or where `fails`, it does not."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        text=True,
        errors="replace",
        check=False,
    )
    if (done.returncode != 0) != fails:
        raise Failure(
            f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}"
        )
    return done.stdout


def require(condition, message):
    if not condition:
        raise Failure(message)


class Setting:
    """The tree, its build, and a directory outside of both."""

    def __init__(self, source, build, temporary):
        self.source = source
        self.build = build
        self.temporary = temporary
        self.examples = source / "examples"
        self.expected = (self.examples / "expected_output.txt").read_text()

    def install(self, name="prefix"):
        prefix = self.temporary / name
        run("cmake", "--install", self.build, "--prefix", prefix)
        return prefix

    def project(self, name, cmake_lists):
        """A project of a CMakeLists.txt beside the examples."""
        directory = self.temporary / name
        shutil.copytree(self.examples, directory)
        (directory / "CMakeLists.txt").write_text(cmake_lists)
        return directory

    def expect(self, executable, **environment):
        printed = run(executable, **environment)
        require(printed == self.expected, f"{executable} printed\n{printed}")

    def expect_model(self, executable):
        """The example that runs an ONNX model, on one of two Casts that is made here."""
        model = self.temporary / "casts.onnx"
        subprocess.run(
            [sys.executable, "-B", self.source / "tests/cli/bin/make_model.py", model],
            input="opset 21\ninput x FLOAT 4\nnode Cast x -> y to=17\nnode Cast y -> z to=10\n"
                  "output y FLOAT8E4M3FN\noutput z FLOAT16\n", text=True, check=True)
        printed = run(executable, model)
        # The codes are those of the other examples; 0.1015625, 448 and -0 as float16.
        wanted = "y, float8e4m3fn: 1d 7e 7e 80\nz, float16: 80 2e 00 5f 00 5f 00 80\n"
        require(printed == wanted, f"{executable} printed\n{printed}")


    def expect_conversion(self, executable):
        """The example that converts a file in two halves, on one that is made here."""
        given, made = self.temporary / "in.safetensors", self.temporary / "out.safetensors"
        subprocess.run(
            [sys.executable, "-B", self.source / "tests/cli/bin/make_file.py", given],
            input="w F32 64x48 1 0.3\na.norm.b F32 2 1 0.3\nids I64 3 7\n", text=True, check=True)
        printed = run(executable, given, made)
        # The float32 0.3 becomes 0.3125 in float8e4m3fn, code 2a, and 0.30078125 in bfloat16.
        x = struct.unpack("<f", struct.pack("<f", 0.3))[0]
        wide, narrow = (10 * math.log10((1 + x * x) / (y - x) ** 2) for y in (0.30078125, 0.3125))
        wanted = ("0: cast float32 to float8e4m3fn, the request's type\n"
                  "1: cast float32 to bfloat16, rule '*.norm.*=bfloat16'\n"
                  "2: copy int64 to int64, not floating\n"
                  f"0: 3072 values, SNR {narrow:.1f} dB\n1: 2 values, SNR {wide:.1f} dB\n")
        require(printed == wanted, f"{executable} printed\n{printed}")
        data = made.read_bytes()
        for codes in b"\x38\x2a" * 1536, b"\x80\x3f\x9a\x3e", b"\7\0\0\0\0\0\0\0" * 3:
            require(codes in data, f"{made} does not hold {codes[:8].hex()} ...")


def library_directory(prefix):
    found = list(prefix.rglob("libtensorcast.a"))
    require(len(found) == 1, f"{prefix} has not one libtensorcast.a but {found}")
    return found[0].parent


def configure(project, *arguments, build=None, **expectations):
    build = build or project / "build"
    launcher = shutil.which("ccache")
    if launcher:
        arguments += (f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",)
    text = run("cmake", "-S", project, "-B", build, "-G", "Ninja", *arguments, **expectations)
    return build, text


def needed(executable):
    """The shared libraries an executable names."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", executable))


USER = """
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES {languages})
{find}
add_executable(cast_c c/cast.c)
target_link_libraries(cast_c PRIVATE {target})
{cpp}
"""
CPP = "add_executable(cast_cpp cpp/cast.cpp)\ntarget_link_libraries(cast_cpp PRIVATE {target})"


def user(target, find, cpp=True):
    return USER.format(
        languages="C CXX" if cpp else "C",
        find=find,
        target=target,
        cpp=CPP.format(target=target) if cpp else "",
    )


# What somebody without Highway's and oneTBB's development files has.
WITHOUT = ("-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON",
           "-DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON")


@case
def find_package_shared(setting):
    prefix = setting.install()
    # The examples as they stand are a project; and as C alone, without a C++ compiler.
    c_alone = user("tensorcast::tensorcast", "find_package(tensorcast CONFIG REQUIRED)", cpp=False)
    examples = (setting.examples / "CMakeLists.txt").read_text()
    for name, text in ("examples", examples), ("c_alone", c_alone):
        build, _ = configure(
            setting.project(name, text), f"-DCMAKE_PREFIX_PATH={prefix}", *WITHOUT
        )
        run("cmake", "--build", build)
        executables = [build / "cast_c"] + ([build / "cast_cpp"] if name == "examples" else [])
        for executable in executables:
            require("libtensorcast.so.0.1" in needed(executable), f"{executable} is not shared")
            setting.expect(executable)
        if name == "examples":
            setting.expect_model(build / "run_model")
            setting.expect_conversion(build / "convert")
    c_needs = needed(setting.temporary / "c_alone/build/cast_c")
    require("libstdc++.so.6" not in c_needs, f"a C program names {c_needs}")


@case
def find_package_static(setting):
    prefix = setting.install()
    find = "find_package(tensorcast CONFIG REQUIRED COMPONENTS static)"
    project = setting.project("static", user("tensorcast::static", find))
    build, _ = configure(project, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    for name in "cast_c", "cast_cpp":
        require("libtensorcast.so.0.1" not in needed(build / name), f"{name} is not static")
        setting.expect(build / name)
    # Without the shared library tensorcast::tensorcast is the static one.
    for shared in [*prefix.rglob("libtensorcast.so*"), *prefix.rglob("tensorcastShared*.cmake")]:
        shared.unlink()
    find = "find_package(tensorcast CONFIG REQUIRED)"
    project = setting.project("only_static", user("tensorcast::tensorcast", find))
    build, _ = configure(project, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    setting.expect(build / "cast_c")


@case
def find_package_refuses(setting):
    prefix = setting.install()
    for find, arguments, message in (
        ("find_package(tensorcast CONFIG REQUIRED COMPONENTS static)", WITHOUT,
         "tensorcast::static needs: Highway (libhwy-dev) oneTBB (libtbb-dev) zlib (zlib1g-dev)"),
        ("find_package(tensorcast CONFIG REQUIRED COMPONENTS statick)", (),
         "there is no component 'statick' here: shared, static"),
        ("find_package(tensorcast 99.0 CONFIG REQUIRED)", (), "99.0"),
    ):
        project = setting.project(f"refused{len(list(setting.temporary.iterdir()))}",
                                  user("tensorcast::tensorcast", find, cpp=False))
        _, text = configure(project, f"-DCMAKE_PREFIX_PATH={prefix}", *arguments, fails=True)
        require(message in " ".join(text.split()), f"{find} said\n{text}")


def compile_by_pkg_config(setting, prefix, name, *flags):
    """The examples by cc and c++ alone; gives the executables."""
    directory = setting.temporary / name
    directory.mkdir()
    pc = library_directory(prefix) / "pkgconfig"
    say = run(
        "pkg-config", *flags, "--cflags", "--libs", "tensorcast", PKG_CONFIG_PATH=pc
    ).split()
    strict = ("-Wall", "-Wextra", "-pedantic", "-Werror")
    run("cc", "-std=c11", *strict, setting.examples / "c/cast.c", "-o", directory / "cast_c", *say)
    run("c++", "-std=c++20", *strict, setting.examples / "cpp/cast.cpp",
        "-o", directory / "cast_cpp", *say)
    return directory / "cast_c", directory / "cast_cpp"


@case
def pkg_config(setting):
    # Installed in one place, used in another.
    setting.install("first_place")
    prefix = (setting.temporary / "first_place").rename(setting.temporary / "second_place")
    directory = library_directory(prefix)
    version = run("pkg-config", "--modversion", "tensorcast",
                  PKG_CONFIG_PATH=directory / "pkgconfig").strip()
    header = (setting.source / "include/tensorcast/version.h").read_text()
    numbers = re.findall(r"#define TENSORCAST_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
    require(version == ".".join(numbers), f"pkg-config says version {version}, the header {numbers}")
    for executable in compile_by_pkg_config(setting, prefix, "shared"):
        require("libtensorcast.so.0.1" in needed(executable), f"{executable} is not shared")
        setting.expect(executable, LD_LIBRARY_PATH=directory)
    for shared in prefix.rglob("libtensorcast.so*"):
        shared.unlink()
    for executable in compile_by_pkg_config(setting, prefix, "static", "--static"):
        require("libtensorcast.so.0.1" not in needed(executable), f"{executable} is not static")
        setting.expect(executable)


IN_TREE = """
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(hwy CONFIG REQUIRED)
# It says how a DLL is linked; without it ccache has all that the build beside was compiled to.
set_property(TARGET hwy::hwy PROPERTY INTERFACE_COMPILE_DEFINITIONS)
find_package(TBB REQUIRED)
{include}
add_executable(cast_c c/cast.c)
target_link_libraries(cast_c PRIVATE tensorcast::tensorcast)
add_executable(cast_cpp cpp/cast.cpp)
target_link_libraries(cast_cpp PRIVATE tensorcast::tensorcast)
install(TARGETS cast_c)
"""


def as_part_of_a_project(setting, include, shared):
    project = setting.project("user", IN_TREE.format(include=include))
    # As this build is compiled, and beside it, from where the tree has the same relative path: ccache has
    # most of it.
    cache = (setting.build / "CMakeCache.txt").read_text()
    same = [f"-D{name}={value}" for name, value in re.findall(
        r"^(TENSORCAST_WERROR|CMAKE_UNITY_BUILD|CMAKE_BUILD_TYPE):\w+=(.+)$", cache, re.M)]
    beside = setting.build.with_name(f"{setting.build.name}-part-{'shared' if shared == 'ON' else 'static'}")
    shutil.rmtree(beside, ignore_errors=True)
    build, _ = configure(project, f"-DBUILD_SHARED_LIBS={shared}", *same, build=beside)
    targets = run("cmake", "--build", build, "--target", "help")
    for word in "tensorcast_tool", "GTest", "types_test":
        require(word not in targets, f"a project that includes tensorcast gets {word}")
    run("cmake", "--build", build, "--target", "all")
    for name in "cast_c", "cast_cpp":
        is_shared = "libtensorcast.so.0.1" in needed(build / name)
        require(is_shared == (shared == "ON"), f"{name}: BUILD_SHARED_LIBS={shared} has no say")
        setting.expect(build / name)
    other = "libtensorcast.a" if shared == "ON" else "libtensorcast.so"
    require(not list(build.rglob(other)), f"{other} was built, and nobody asked for it")
    # Nothing of ours leaks: the user's files are compiled with the user's flags.
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith(("cast.c", "cast.cpp")):
            leaked = re.findall(r"\s-[fWD][^\s]+", entry["command"])
            require(set(map(str.strip, leaked)) <= {"-DNDEBUG"}, f"flags leak: {leaked}")
    prefix = setting.temporary / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    installed = [path for path in prefix.rglob("*") if path.is_file()]
    require([path.name for path in installed] == ["cast_c"], f"installed too: {installed}")


@case
def fetch_content(setting):
    include = f"""
include(FetchContent)
FetchContent_Declare(tensorcast SOURCE_DIR {setting.source})
FetchContent_MakeAvailable(tensorcast)
"""
    as_part_of_a_project(setting, include, shared="OFF")


@case
def add_subdirectory(setting):
    include = f"add_subdirectory({setting.source} tensorcast)"
    as_part_of_a_project(setting, include, shared="ON")


# Tells what a configuration looks for, and still finds it.
RECORD = """
set(record "{record}")
macro(find_package)
  file(APPEND "${{record}}" "${{ARGV0}}\n")
  _find_package(${{ARGV}})
endmacro()
function(find_path)
  file(APPEND "${{record}}" "${{ARGV1}}\n")
  _find_path(${{ARGV}})
endfunction()
function(find_library)
  file(APPEND "${{record}}" "${{ARGV1}}\n")
  _find_library(${{ARGV}})
endfunction()
"""
# What is looked for, and Debian's package of it. GoogleTest and the like are not of the options.
DEBIAN = {
    "hwy": "libhwy-dev", "hwy/highway.h": "libhwy-dev", "TBB": "libtbb-dev",
    "protozero/varint.hpp": "libprotozero-dev", "xxhash.h": "libxxhash-dev", "ZLIB": "zlib1g-dev",
    "nlohmann/json.hpp": "nlohmann-json3-dev", "CLI/CLI.hpp": "libcli11-dev", "fmt": "libfmt-dev", "toml++/toml.h": "libtomlplusplus-dev",
    "yaml.h": "libyaml-dev", "yaml": "libyaml-dev", "pcre2.h": "libpcre2-dev",
    "pcre2-8": "libpcre2-dev", "Git": None,
}
OPTIONAL_HEADERS = {
    "ONNX": {"file_system.hpp", "flat.h", "graph.h", "graph.hpp", "onnx.h", "onnx.hpp", "session.h", "session.hpp",
             "tensor_view.hpp"},
    "CONVERT": {"convert.hpp", "diff.hpp", "mdf.hpp", "report.hpp"},
}


def documented_needs(setting):
    """{option: Debian packages} of the table in docs/use_from_cpp.md."""
    needs = {}
    for line in (setting.source / "docs/use_from_cpp.md").read_text().splitlines():
        row = re.match(r"\| (?:`TENSORCAST_(\w+)`|\((always)\)) \|.*\| ([^|]*) \|$", line)
        if row:
            needs[row[1] or row[2]] = set(re.findall(r"[\w.+-]+-dev", row[3]))
    return needs


@case
def parts(setting):
    """Each part that can be left out: what is looked for, and which headers are installed."""
    needs = documented_needs(setting)
    options = ("TBB", "ONNX", "CONVERT", "YAML", "REGEX", "TOOL")
    require(set(needs) == {"always", *options}, f"the table of options has {sorted(needs)}")
    every = {path.name for path in (setting.source / "include/tensorcast").rglob("*.h*")}
    for name, on in {"least": (), "tbb": ("TBB",), "onnx": ("ONNX",),
                     "convert": ("ONNX", "CONVERT"), "yaml": ("ONNX", "CONVERT", "YAML"),
                     "regex": ("ONNX", "REGEX"),
                     "tool": options}.items():
        directory = setting.temporary / name
        record = setting.temporary / f"{name}.found"
        (setting.temporary / f"{name}.cmake").write_text(RECORD.format(record=record))
        run("cmake", "-S", setting.source, "-B", directory, "-G", "Ninja",
            "-DTENSORCAST_TESTS=OFF", "-DTENSORCAST_BENCH=OFF",
            f"-DCMAKE_PROJECT_tensorcast_INCLUDE={setting.temporary}/{name}.cmake",
            *(f"-DTENSORCAST_{option}={'ON' if option in on else 'OFF'}" for option in options))
        sought = set(record.read_text().split())
        sought -= {"Threads", "NAMES"}  # what the packages' own files look for in turn
        require(sought <= set(DEBIAN), f"{name}: looks for {sought - set(DEBIAN)}")
        packages = {DEBIAN[word] for word in sought} - {None}
        expected = needs["always"].union(*(needs[option] for option in on))
        require(packages == expected, f"{name}: looks for {packages}, documented are {expected}")
        prefix = setting.temporary / f"{name}_prefix"
        run("cmake", "--install", directory, "--component", "headers", "--prefix", prefix)
        include = next(prefix.rglob("tensorcast.hpp")).parent
        installed = {path.name for path in include.rglob("*.h*")}
        left_out = set().union(*(headers for option, headers in OPTIONAL_HEADERS.items()
                                 if option not in on))
        require(installed == every - left_out, f"{name}: installed are {sorted(installed)}")
        for header in sorted(include.glob("*.h*")):
            language = "c++" if header.suffix == ".hpp" else "c"
            run("c++" if language == "c++" else "cc", "-x", language, "-fsyntax-only",
                "-std=c++20" if language == "c++" else "-std=c99", f"-I{include.parent}", header)
    run("cmake", "-S", setting.source, "-B", setting.temporary / "refused", "-G", "Ninja",
        "-DTENSORCAST_TOOL=OFF", "-DTENSORCAST_ONNX=OFF", "-DTENSORCAST_CONVERT=ON", fails=True)


def fields_of(deb):
    return dict(
        line.split(": ", 1) for line in run("dpkg-deb", "-f", deb).splitlines() if ": " in line
    )


@case
def deb(setting):
    directory = setting.temporary / "packages"
    run("cpack", "--config", setting.build / "CPackConfig.cmake", "-G", "DEB", "-B", directory)
    packages = list(directory.glob("*.deb"))
    require(len(packages) == 1, f"cpack made {packages}")
    fields = fields_of(packages[0])
    architecture = run("dpkg", "--print-architecture").strip()
    require(packages[0].name == f"tensorcast_{fields['Version']}_{architecture}.deb",
            f"the package is called {packages[0].name}")
    for field, expected in ("Package", "tensorcast"), ("Section", "science"):
        require(fields[field] == expected, f"{field} is {fields[field]}")
    for field in "Maintainer", "Description", "Installed-Size":
        require(fields.get(field), f"no {field}")
    for library in "libc6", "libstdc++6", "libtbb12", "libhwy1":
        require(re.search(rf"\b{re.escape(library)} ", fields["Depends"] + " "),
                f"it does not depend on {library} but on {fields['Depends']}")

    # Installed by dpkg into a root of its own; nothing of this machine is touched. The package's
    # scripts run outside of that root, which has no shell, and find an ldconfig that only notes it.
    stubs = setting.temporary / "stubs"
    stubs.mkdir()
    (stubs / "ldconfig").write_text('#!/bin/sh\necho "$0" >> "$(dirname "$0")/called"\n')
    (stubs / "ldconfig").chmod(0o755)
    root = setting.temporary / "root"
    for part in "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers":
        (root / part).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = ("dpkg", f"--root={root}", "--force-not-root", "--force-depends",
            "--force-script-chrootless", f"--log={root}/log")
    path = f"{stubs}:{os.environ['PATH']}"
    run(*dpkg, "--install", packages[0], PATH=path)
    require((stubs / "called").exists(), "installing it does not call ldconfig")
    files = run("dpkg-deb", "-c", packages[0]).splitlines()
    for name in ("usr/bin/tensorcast", "usr/include/tensorcast/tensorcast.h", "libtensorcast.so.0.1",
                 "tensorcastConfig.cmake", "tensorcast.pc", "man1/tensorcast.1", "copyright",
                 "bash-completion/completions/tensorcast"):
        require(any(name in line for line in files), f"no {name} in the package")
    for line in files:
        require(re.search(r" root/root ", line) and not re.match(r".......w|....w", line),
                f"wrong owner or mode: {line}")
    said = run(root / "usr/bin/tensorcast", "--version")
    require(re.search(rf"\b{re.escape(fields['Version'])}\b", said), f"--version says {said}")
    for executable in compile_by_pkg_config(setting, root / "usr", "by_deb"):
        setting.expect(executable, LD_LIBRARY_PATH=library_directory(root / "usr"))
    run(*dpkg, "--remove", "tensorcast", PATH=path)
    left = list((root / "usr").rglob("*"))
    require(not left, f"removing it left {left}")


def require_program(name):
    if shutil.which(name) is None:
        print(f"not tried: {name} is not here")
        sys.exit(77)


@case
def example_python(setting):
    directory = library_directory(setting.install())
    script = setting.examples / "python/cast_ctypes.py"
    printed = run(sys.executable, script, LD_LIBRARY_PATH=directory)
    require(printed == setting.expected, f"{script} printed\n{printed}")


@case
def example_rust(setting):
    require_program("rustc")
    directory = library_directory(setting.install())
    executable = setting.temporary / "cast"
    run("rustc", "-D", "warnings", "-L", f"native={directory}", "-o", executable,
        setting.examples / "rust/cast.rs")
    setting.expect(executable, LD_LIBRARY_PATH=directory)


@case
def example_go(setting):
    require_program("go")
    prefix = setting.install()
    directory = library_directory(prefix)
    executable = setting.temporary / "cast"
    run("go", "build", "-o", executable, setting.examples / "go/cast.go",
        CGO_CFLAGS=f"-I{prefix / 'include'}", CGO_LDFLAGS=f"-L{directory}", CGO_ENABLED="1",
        GOCACHE=setting.temporary / "go", LD_LIBRARY_PATH=directory)
    setting.expect(executable, LD_LIBRARY_PATH=directory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        temporary = pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tensorcast-packages-"))
        )
        try:
            CASES[arguments.case](Setting(arguments.source, arguments.build, temporary))
        except Failure as failure:
            print(failure, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
