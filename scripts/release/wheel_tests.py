"""Tests of wheels as they are installed, in an empty environment.

What they have to give comes from numpy and ml_dtypes.

SPDX-License-Identifier: Apache-2.0
"""
import shutil

import numpy
import safetensors.numpy

from toolchain import ROOT, run

# Of tests/python, those that need no more than the wheels and what is in requirements.txt, and no idle machine.
PARTS = ("arguments", "arrays", "bad_input", "cast", "files", "loss", "memory", "outputs", "scaled_files", "texts")
# Those of them that casts on another processor can change, as each test takes there twenty times as long.
EMULATED_PARTS = ("arguments", "arrays", "cast", "loss", "texts")


def check_command(folder, log, program):
    """Whether the command converts a file as numpy does."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source, converted = folder / "float32.safetensors", folder / "float16.safetensors"
    weights = numpy.random.default_rng(1).standard_normal((63, 257)).astype(numpy.float32) * 1e3
    safetensors.numpy.save_file({"w": weights}, source)
    run(log, program, "--version")
    run(log, program, "convert", source, "-o", converted, "--to", "float16")
    got = safetensors.numpy.load_file(converted)["w"]
    if got.dtype != numpy.float16 or got.tobytes() != weights.astype(numpy.float16).tobytes():
        raise SystemExit(f"tensorcast: the command does not convert {source} as numpy does")


def run_tests(folder, log, wheels, tester):
    """Installs wheels in an empty environment of a Python, and tests them there; returns what pytest says."""
    place = folder / tester.version
    shutil.rmtree(place, ignore_errors=True)
    log.unlink(missing_ok=True)
    run(log, tester.python, "-m", "venv", "--without-pip", place)  # which the tester has
    (packages,) = (place / "lib").glob("python*/site-packages")
    (packages / "beside.pth").write_text(f"{tester.packages}\n", encoding="utf-8")
    python, command = place / "bin" / "python", place / "bin" / "tensorcast"
    # With what they depend on: one of them is the other's.
    run(log, python, "-m", "pip", "install", "--no-index", *wheels)
    if tester.runnable:
        tester.runnable(command)
    check_command(place / "converted", log, command)
    run(log, python, "-m", "tensorcast", "types")
    parts = EMULATED_PARTS if tester.runnable else PARTS
    run(log, python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
        *(ROOT / "tests" / "python" / f"test_{part}.py" for part in parts))
    return log.read_text(encoding="utf-8").splitlines()[-1]
