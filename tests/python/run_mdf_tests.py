#!/usr/bin/env python3
"""Runs MDF's own tests, of its sdist, with its casts and with ours: the same ones pass.

    run_mdf_tests.py FOLDER      (where the sdist is kept, from PyPI)

Left out are those of MDF's example files, which the sdist does not have. What its conftest.py gives
stands below, as the sdist does not have it either.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree

VERSION = "0.4.15"
FEWEST = 110  # that pass with MDF's own casts
CONFTEST = '''
import os

import pytest
import tensorcast.mdf
from modeci_mdf.mdf import Graph, Model

MODE = os.environ["MDF_CASTS"]
if MODE != "mdf":
    tensorcast.mdf.install(mode=MODE)


@pytest.fixture
def create_model():
    def create(nodes, **more):
        return Model(id="model", graphs=[Graph(id="graph", nodes=nodes, **more)])

    return create
'''


def sdist(folder):
    """The sdist, from PyPI where it is not kept yet."""
    kept = folder / f"modeci_mdf-{VERSION}.tar.gz"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--no-binary=:all:", "--dest", folder, f"modeci-mdf=={VERSION}"],
                       check=True, stdin=subprocess.DEVNULL)
    return kept


def passed(folder, casts):
    """The names of the tests that pass."""
    report = folder / f"{casts}.xml"
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder,
         "-c", os.devnull, "-W", "ignore", f"--junitxml={report}", folder / "tests",
         "--ignore", folder / "tests" / "test_examples.py"],
        cwd=folder, env={**os.environ, "MDF_CASTS": casts}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False)
    if not report.is_file():
        sys.exit(done.stdout + done.stderr)
    return {f"{case.get('classname')}.{case.get('name')}"
            for case in xml.etree.ElementTree.parse(report).iter("testcase") if len(case) == 0}


def main():
    with tempfile.TemporaryDirectory(prefix="tensorcast-mdf-") as scratch:
        folder = pathlib.Path(scratch)
        with tarfile.open(sdist(pathlib.Path(sys.argv[1]))) as archive:
            prefix = f"modeci_mdf-{VERSION}/tests/"
            for member in archive.getmembers():
                if member.isfile() and member.name.startswith(prefix):
                    member.name = member.name.removeprefix(f"modeci_mdf-{VERSION}/")
                    archive.extract(member, folder, filter="data")
        (folder / "tests" / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        own = passed(folder, "mdf")
        if len(own) < FEWEST:
            sys.exit(f"{len(own)} of MDF's tests pass with its own casts; {FEWEST} at least do")
        for mode in ("compatible", "exact"):
            ours = passed(folder, mode)
            if ours != own:
                sys.exit(f"{mode}: {sorted(own ^ ours)} pass with one cast and not with the other")
    print(f"{len(own)} of MDF's tests pass with its own casts, and with ours in both modes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
