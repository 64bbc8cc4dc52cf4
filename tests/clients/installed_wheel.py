"""The package that the tests of Python installed, for clients in an environment of their own.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import sys


def add_to_path(tool):
    """After what this environment has itself: the package, and ml_dtypes beside it."""
    installed = pathlib.Path(tool).parents[1] / "tests" / "python" / "wheel" / "environment"
    (packages,) = (installed / "lib").glob("python*/site-packages")
    sys.path += [os.fspath(packages), (packages / "beside.pth").read_text(encoding="utf-8").strip()]
