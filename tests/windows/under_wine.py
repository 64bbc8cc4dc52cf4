#!/usr/bin/env python3
"""The library and the tool for Windows under wine, beside Linux's.

    under_wine.py CASE --tool LINUX_TOOL --every-cast LINUX_PROGRAM [--build build/windows]

c_programs   the tests in C and examples/c/graph.c, against the DLL
every_cast   a digest of every cast on the targets that both systems have
files        the tool's conversions: the same bytes and the same reports
names        UTF-8, '\\\\', --force, what cannot be a file's name there, exit codes
interrupts   Ctrl-C leaves nothing unfinished
transcripts  those of tests/cli that ask for nothing of Linux's own

Ends with 77, and says why, where there is no wine.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import contextlib
import difflib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

import transcripts
from transcripts import run_transcript

ROOT = pathlib.Path(__file__).resolve().parents[2]
WINE = ROOT / "tests/windows/wine"
SECONDS_AT_MOST = 600


def require(holds, what):
    if not holds:
        raise AssertionError(what)


def run(*command, folder=None, given=None):
    return subprocess.run([str(word) for word in command], cwd=folder, capture_output=True,
                          check=False, timeout=SECONDS_AT_MOST, input=given)


@contextlib.contextmanager
def running_wine():
    """Wine with its disk; where there is none, the end.

    The system under wine starts with its first program and ends with its last, which takes a second or
    two: one program that waits holds it for all the others."""
    # Not in the tree: its drive z: is a link to /, which who walks the tree would follow.
    cache = pathlib.Path(os.environ.get("TENSORCAST_CACHE") or "~/.cache/tensorcast").expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    os.environ.update(WINEPREFIX=str(cache / "wine"), WINEDEBUG="-all", LANG="C.UTF-8", LC_ALL="C.UTF-8")
    said = b""
    with open(cache / "wine.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of several tests makes the disk
        for _ in range(3):  # the system of the test before may be about to end
            # Nothing of ours: that may not start by its own fault.
            waiting = subprocess.Popen([WINE, "cmd"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
            with contextlib.suppress(BrokenPipeError):  # it has ended: what it says comes below
                waiting.stdin.write(b"echo it runs\r\n")
                waiting.stdin.flush()
            lines = []
            while line := waiting.stdout.readline():
                lines.append(line)
                if b"it runs" in line:  # behind a prompt
                    break
            if line:
                break
            waiting.wait(SECONDS_AT_MOST)
            said = b" ".join(lines).strip()
        else:
            print("NOT TESTED: nothing of the build for Windows was run: wine (Debian's wine64) does not "
                  f"start: {said.decode(errors='replace')}")
            sys.exit(77)
    try:
        yield
    finally:
        waiting.stdin.close()
        waiting.stdout.close()  # which wine's services hold as well: its end may be long in coming
        waiting.wait(SECONDS_AT_MOST)


def words_of(text):
    """Lines as they are compared, without the last digits of a logarithm, which is the C library's."""
    text = re.sub(rb'("(?:worst_)?snr_db": )([0-9.e-]+)',
                  lambda found: found[1] + b"%.12g" % float(found[2]), text)
    return run_transcript.marked("", text)


class Tools:
    """The two tools, and folders for what they write."""

    def __init__(self, arguments, folder):
        self.linux = pathlib.Path(arguments.tool).resolve()
        self.windows = arguments.build / "bin/tensorcast.exe"
        self.folder = pathlib.Path(folder)

    def on_linux(self, *words, folder=None):
        return run(self.linux, *words, folder=folder or self.folder)

    def on_windows(self, *words, folder=None):
        done = run(WINE, self.windows, *words, folder=folder or self.folder)
        # What befalls wine's own services is told there too.
        done.stderr = re.sub(rb"(?m)^wine: .*\r?\n", b"", done.stderr)
        return done

    def make(self, script, name, text, *flags):
        done = run(sys.executable, "-B", ROOT / "tests/cli/bin" / script, *flags,
                   self.folder / name, given=text.encode())
        require(done.returncode == 0, done.stderr.decode())

    def same(self, *words, writes=()):
        """Both tools do it, say the same and write the same."""
        results = []
        for act, suffix in (self.on_linux, "linux"), (self.on_windows, "windows"):
            out = self.folder / suffix
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            for file in self.folder.iterdir():
                if file.is_file():
                    shutil.copyfile(file, out / file.name)
            done = act(*words, folder=out)
            said = [line for text in (done.stdout, done.stderr) for line in words_of(text)]
            files = {str(path.relative_to(out)): path.read_bytes()
                     for path in sorted(out.rglob("*")) if path.is_file()}
            results.append((done.returncode, said, files))
        linux, windows = results
        for (what, ours, theirs) in zip(("exit code", "words", "files"), windows, linux):
            if what == "files" and ours != theirs:
                names = [name for name in ours | theirs if ours.get(name) != theirs.get(name)]
                require(False, f"{words}: the files differ: {names}")
            if what == "words" and ours != theirs:
                ours, theirs = "\n".join(difflib.unified_diff(theirs, ours, "Linux", "Windows", "", "", 0)), ""
            require(ours == theirs, f"{words}: {what} on Windows {ours}, on Linux {theirs}")
        require(windows[0] == 0, f"{words}: {windows[1]}")
        for name in writes:
            require(name in windows[2], f"{words}: {name} was not written")


def check_c_programs(arguments, _):
    done = run("ctest", "--test-dir", arguments.build, "--output-on-failure", "--no-tests=error")
    require(done.returncode == 0, done.stdout.decode(errors="replace"))


def check_every_cast(arguments, _):
    linux = run(arguments.every_cast)
    windows = run(WINE, arguments.build / "bin/every_cast.exe")
    require(linux.returncode == 0 and windows.returncode == 0, windows.stderr.decode(errors="replace"))
    ours, theirs = (text.decode().split("\n") for text in (
        windows.stdout.replace(b"\r\n", b"\n"), linux.stdout))
    different = [f"{a}\n  on Linux {b}" for a, b in zip(ours, theirs) if a != b]
    require(ours == theirs, "\n".join(different[:20]) or f"{len(ours)} lines, not {len(theirs)}")
    require(len(ours) > 25 * 25 * 6, f"only {len(ours)} casts")


# Values of every kind: halves and thirds, beyond float8 and float16, subnormal, infinite, NaN.
VALUES = "0.5 -1 0.1 448 449 65504 65536 -1e30 1e-7 -3e-40 inf -inf nan -0"
MODEL = """opset 21
input x FLOAT 4
initializer w FLOAT 4 cdcccc3d 000040c0
node Cast x -> y to=10
node Cast w -> v to=17
output y FLOAT16 4
output v FLOAT8E4M3FN 4
"""


def check_files(_, tools):
    tools.make("make_file.py", "in.safetensors",
               f"a.weight F32 40x64 {VALUES}\nb.bias F16 7 0.1 65504 inf nan\nids I64 3 -7\n"
               f"wide F64 1000 {VALUES}\nsmall U8 4 255\n")
    for to in "float16", "bfloat16", "float8e4m3fn", "float8e5m2fnuz", "float4e2m1", "int8":
        tools.same("convert", "in.safetensors", "-o", "out.safetensors", "--to", to,
                   writes=["out.safetensors"])
    for to in "bfloat16", "string":
        tools.same("convert", "in.safetensors", "-o", "out.npz", "--to", to, writes=["out.npz"])
    for name in "one.npy", "one.pb":
        tools.same("convert", "in.safetensors", "-o", name, "--to", "float16", "--tensor", "wide",
                   writes=[name])
    for scaled in "int8-row", "nvfp4":
        tools.same("convert", "in.safetensors", "-o", "scaled.safetensors", "--to", scaled,
                   "--tensor", "a.weight", writes=["scaled.safetensors"])
    tools.same("loss", "in.safetensors", "--to", "float8e4m3fn", "--to", "float16", "--json")
    tools.same("inspect", "in.safetensors")
    with zipfile.ZipFile(tools.folder / "deflated.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (5000,), }"
        header += b" " * (117 - len(header)) + b"\n"
        archive.writestr("w.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header +
                         struct.pack("<5000f", *(i / 7 for i in range(5000))))
    tools.same("convert", "deflated.npz", "-o", "out.npz", "--to", "float16", writes=["out.npz"])

    tools.make("make_model.py", "casts.onnx", MODEL)
    tools.make("make_file.py", "x.npy", "<f4 4 0.1 -2 1e6 3\n")
    tools.same("inspect", "casts.onnx")
    tools.same("optimize", "casts.onnx", "-o", "less.onnx", writes=["less.onnx"])
    tools.same("run", "casts.onnx", "--input", "x=x.npy", "--output-dir", ".", writes=["y.npy", "v.npy"])
    tools.make("make_weights.py", "weights.onnx", "w float32 64x64 0.1 -3 7e4 1e-9\n")
    tools.same("convert", "weights.onnx", "-o", "small.onnx", "--to", "float16", writes=["small.onnx"])
    tools.make("make_weights.py", "apart.onnx", "w float32 64x64 0.1 -3 7e4 1e-9\n",
               "--external", "apart.bin")
    tools.same("convert", "apart.onnx", "-o", "small.onnx", "--to", "bfloat16",
               writes=["small.onnx", "small.onnx.data"])


def check_names(_, tools):
    here = tools.folder
    tools.make("make_file.py", "in.safetensors", f"w F32 64 {VALUES}\n")
    wanted = "größe-重み-😀"
    (here / wanted).mkdir()
    shutil.copyfile(here / "in.safetensors", here / wanted / "zahlen-ß.safetensors")
    require(tools.on_linux("convert", "in.safetensors", "-o", "wanted.safetensors", "--to",
                           "float8e5m2").returncode == 0, "Linux's tool fails")
    made = here / wanted / "neu-é.safetensors"
    words = ("convert", f"{wanted}/zahlen-ß.safetensors", "-o", f"{wanted}\\neu-é.safetensors",
             "--to", "float8e5m2")
    done = tools.on_windows(*words)
    require(done.returncode == 0, done.stderr.decode())
    require("neu-é.safetensors" in (done.stdout + done.stderr).decode(), "its name is not said in UTF-8")
    require(made.read_bytes() == (here / "wanted.safetensors").read_bytes(), "other bytes")

    # What is there stays, unless it is to be replaced; nothing unfinished stays beside it.
    made.write_bytes(b"old")
    done = tools.on_windows(*words)
    require(done.returncode == 2 and made.read_bytes() == b"old", done.stderr.decode())
    require(b"--force" in done.stderr, done.stderr.decode())
    done = tools.on_windows(*words, "--force")
    require(done.returncode == 0, done.stderr.decode())
    require(made.read_bytes() == (here / "wanted.safetensors").read_bytes(), "other bytes")
    require(sorted(path.name for path in (here / wanted).iterdir()) ==
            sorted(["zahlen-ß.safetensors", "neu-é.safetensors"]), "something was left")

    # A run that was killed left this; the next one of that output removes it.
    stale = here / wanted / ".neu-é.safetensors.tensorcast-01234567.tmp"
    stale.write_bytes(b"half")
    done = tools.on_windows(*words, "--force")
    require(done.returncode == 0 and not stale.exists(), done.stderr.decode())

    for code, *bad in (
            (4, "convert", "missing.safetensors", "-o", "x.safetensors", "--to", "float16"),
            (2, "convert", "in.safetensors", "-o", "NUL.safetensors", "--to", "float16"),
            (2, "convert", "in.safetensors", "-o", "in.safetensors", "--to", "float16", "--force"),
            (2, "convert", "in.safetensors", "-o", ".\\in.safetensors", "--to", "float16", "--force"),
            (4, "convert", "in.safetensors", "-o", "nowhere\\x.safetensors", "--to", "float16"),
            (5, "convert", "in.safetensors", "-o", "x.safetensors", "--to", "float16", "--tensor", "re:w.*"),
            (5, "inspect", "NUL"), (2, "convert", "in.safetensors"), (3, "inspect", "broken.npy")):
        (here / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff")
        done = tools.on_windows(*bad)
        said = done.stderr.decode()
        require(done.returncode == code, f"{bad}: {done.returncode}, not {code}: {said}")
        require(said.startswith("tensorcast: ") and said.count("\n") == 1, f"{bad}: {said}")

    # Data that a model has elsewhere: neither up, nor by the other stroke, nor in a stream.
    for location in "..\\secret.bin", "C:\\x.bin", "d.bin:s", "NUL", "d.bin.":
        tools.make("make_weights.py", "bad.onnx", "w float32 4 1\n", "--external", location)
        done = tools.on_windows("convert", "bad.onnx", "-o", "good.onnx", "--to", "float16")
        said = done.stderr.decode()
        require(done.returncode == 3, f"{location}: {done.returncode} {said}")
        require(said.startswith("tensorcast: bad.onnx: ") and said.count("\n") == 1, said)

    # Checkpoints: directories that are built aside and get their name at the end.
    (here / "model").mkdir()
    shutil.copyfile(here / "in.safetensors", here / "model/model.safetensors")
    (here / "model/config.json").write_text("{}")
    for flags in (), ("--force",):
        done = tools.on_windows("convert", "model", "-o", "small", "--to", "float16", *flags)
        require(done.returncode == 0, done.stderr.decode())
        require(sorted(path.name for path in (here / "small").iterdir()) ==
                ["config.json", "model.safetensors"], "other files")
    done = tools.on_windows("convert", "model", "-o", "small", "--to", "float16")
    require(done.returncode == 2, done.stderr.decode())
    require(not [path for path in here.iterdir() if ".tensorcast-" in path.name], "something was left")


def check_interrupts(_, tools):
    elements = 1 << 28
    header = (f'{{"w":{{"dtype":"F32","shape":[{elements}],"data_offsets":[0,{4 * elements}]}}}}'
              ).encode()
    with open(tools.folder / "large.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + 4 * elements)
    command = [WINE, str(tools.windows), "convert", "large.safetensors", "-o", "out.safetensors",
               "--to", "float8e4m3fn", "--quiet"]
    process = subprocess.Popen(command, cwd=tools.folder, stderr=subprocess.PIPE)
    for _ in range(1000):  # until it writes
        if [path for path in tools.folder.iterdir() if ".tensorcast-" in path.name]:
            break
        time.sleep(0.01)
    else:
        require(False, "it never began to write")
    process.send_signal(signal.SIGINT)  # wine makes it a Ctrl-C
    said = process.communicate(timeout=60)[1].decode()
    require(process.returncode == 130, f"{process.returncode}: {said}")
    require("interrupted; nothing was written" in said, said)
    require([path.name for path in tools.folder.iterdir()] == ["large.safetensors"], "something was left")


def check_transcripts(_, tools):
    failed = transcripts.run_all(WINE, tools.windows, tools.folder)
    require(not failed, f"transcripts differ: {failed}")


CASES = {name.removeprefix("check_"): function for name, function in list(globals().items())
         if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--every-cast", required=True)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(
        os.environ.get("TENSORCAST_BUILD_ROOT", ROOT / "build")) / "windows")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    with running_wine(), tempfile.TemporaryDirectory(prefix="tensorcast-windows-") as folder:
        CASES[arguments.case](arguments, Tools(arguments, folder))


if __name__ == "__main__":
    main()
