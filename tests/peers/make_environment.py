#!/usr/bin/env python3
"""Makes a virtual environment of these tests, with the versions of a list of requirements.

    make_environment.py FOLDER [REQUIREMENTS]     (requirements.txt; a path from here)

It stands in the cache folder under a name made of the list and of Python's version, so that every
build shares it; the path given becomes a link to it. Needs PyPI only where it is not made yet.

SPDX-License-Identifier: Apache-2.0
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import venv

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import checkpoint  # noqa: E402  (scripts/checkpoint.py)


def make(folder, requirements):
    """Makes the environment from nothing; returns whether that went well."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    done = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--only-binary=:all:",
         "--no-input", "--retries=2", "--requirement", requirements],
        stdin=subprocess.DEVNULL, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        check=False)
    return done.returncode == 0


def main():
    link = pathlib.Path(sys.argv[1])
    requirements = pathlib.Path(__file__).parent / (
        sys.argv[2] if len(sys.argv) > 2 else "requirements.txt")
    made_from = requirements.read_bytes() + sys.version.encode() + sys.prefix.encode()
    cache = checkpoint.cache_folder()
    folder = cache / f"peers-{hashlib.sha256(made_from).hexdigest()[:16]}"
    complete = folder / "complete"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "peers.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.is_file():
            if not make(folder, requirements):
                print(f"NOT RUN: the outside opinions of {requirements.name}: pip could not install "
                      "them from PyPI", file=sys.stderr)
                return 1
            complete.touch()
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_symlink():
        link.unlink()
    elif link.is_dir():
        shutil.rmtree(link)
    link.symlink_to(folder, target_is_directory=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
