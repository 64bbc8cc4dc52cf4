#!/usr/bin/env python3
"""Runs `tensorcast onnx-test` on the node tests that ONNX's wheels on PyPI store, both ways.

    check_node_tests.py path/to/tensorcast

How many there are in each release, and which differ where the operator's text is followed against
the tests, is known beforehand: ONNX's own lists, and docs/onnx.md. The wheels are taken apart, not
installed; what is taken is kept in the cache folder.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import checkpoint  # noqa: E402  (scripts/checkpoint.py)

# Releases that store node tests: how many of Cast and CastLike, and the opset of the newest.
RELEASES = {
    "1.14.1": (70, 19),
    "1.16.2": (80, 21),
    "1.18.0": (84, 23),
    "1.19.1": (142, 24),
    "1.20.1": (172, 25),
    "1.22.0": (172, 25),
}
INSIDE = "onnx/backend/test/data/node/"


def download(release, folder):
    """The wheel of a release, whichever machine it is for: only its data is wanted."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--disable-pip-version-check", "--only-binary=:all:", "--dest", folder,
               "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "abi3"]
    for platform in ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_26_x86_64",
                     "manylinux_2_27_x86_64", "manylinux_2_28_x86_64"):
        command += ["--platform", platform]
    subprocess.run(command + [f"onnx=={release}"], check=True)
    (wheel,) = pathlib.Path(folder).glob("onnx-*.whl")
    return wheel


def tests_of(release):
    """The folder with the tests of a release, made where it is not there yet."""
    folder = checkpoint.cache_folder() / "onnx-node-tests" / release
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        wheel = download(release, scratch)
        part = pathlib.Path(scratch) / "tests"
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if not name.startswith(INSIDE + "test_cast") or name.endswith("/"):
                    continue
                inner = name[len(INSIDE):]
                if ".." in inner.split("/"):
                    sys.exit(f"{wheel.name}: holds {name}")
                target = part / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as source, open(target, "wb") as out:
                    shutil.copyfileobj(source, out)
        try:
            part.rename(folder)
        except OSError:  # another run was first
            if not folder.is_dir():
                raise
    return folder


def expected_to_differ(release):
    """The tests of a release whose stored result the operator's text contradicts."""
    if not 19 <= RELEASES[release][1] <= 23:
        return set()
    names = set()
    for kind in ("E4M3FNUZ", "E5M2FNUZ"):
        names |= {f"test_cast_{source}_to_FLOAT8{kind}" for source in ("FLOAT", "FLOAT16")}
        names |= {f"test_castlike_FLOAT_to_FLOAT8{kind}{end}" for end in ("", "_expanded")}
    return names


def run(tool, folder, contradictions):
    done = subprocess.run([tool, "onnx-test", folder, "--contradictions", contradictions, "--json"],
                          stdout=subprocess.PIPE, check=False)
    return done.returncode, json.loads(done.stdout)


def main():
    tool = sys.argv[1]
    wrong = []
    total = 0
    for release, (count, _) in RELEASES.items():
        folder = tests_of(release)
        differing = expected_to_differ(release)
        for contradictions, fail in (("tests", set()), ("text", differing)):
            code, report = run(tool, folder, contradictions)
            failed = {test["test"].split("/")[1] for test in report["tests"]
                      if test["result"] == "fail"}
            says = (code, len(report["tests"]), report["passed"], report["unusable"], failed)
            wants = (1 if fail else 0, count, count - len(fail), 0, fail)
            if says != wants:
                wrong.append(f"{release} --contradictions {contradictions}: {says}, not {wants}")
            unexplained = [test["test"] for test in report["tests"]
                           if test["bits_differ"] and "stored: " not in test["why"]]
            if unexplained:
                wrong.append(f"{release}: differ in bits without a reason: {unexplained}")
        total += count
    print("\n".join(wrong) or f"{total} tests of {len(RELEASES)} releases, both ways")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
