"""Runs the tool under test on arrays, through .npy files.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import tempfile

import numpy as np

from element_types import TYPES


class ToolError(Exception):
    """The tool ended with another exit code than 0."""


class Tool:
    """The executable and a scratch folder, which goes away at the end of a with block."""

    def __init__(self, executable):
        self.executable = os.path.abspath(executable)
        self._scratch = tempfile.TemporaryDirectory(prefix="tensorcast-peers-")
        self.folder = pathlib.Path(self._scratch.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._scratch.cleanup()

    def run(self, *arguments):
        """Runs the tool; returns (stdout, stderr), raises ToolError."""
        command = [self.executable, *map(str, arguments)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise ToolError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr}")
        return done.stdout, done.stderr

    def cast(self, source, codes, target, flags=()):
        """The codes of the type named `target` for some codes of the type named `source`."""
        before, after = self.folder / "in.npy", self.folder / "out.npy"
        write_npy(before, TYPES[source], codes)
        self.run("convert", before, "-o", after, "--to", target, "--all-types", "--force",
                 "--no-report", "-q", *assumed(source), *flags)
        return read_npy(after, TYPES[target])


def assumed(source):
    """The flags that tell the tool what a .npy of this type holds, where the file does not."""
    needed = not TYPES[source].native and source != "bfloat16"
    return ("--assume-type", source) if needed else ()


def write_npy(path, element_type, codes):
    """Writes codes as numpy itself writes an array of that type (ml_dtypes: void of its size)."""
    array = element_type.array(codes)
    if not element_type.native:
        array = array.view(np.dtype(f"V{element_type.dtype.itemsize}"))
    np.save(path, array, allow_pickle=False)


def read_npy(path, element_type):
    """The codes of a .npy that holds elements of that type, however numpy spells them."""
    array = np.load(path, allow_pickle=False)
    if array.dtype.itemsize != element_type.dtype.itemsize:
        raise ToolError(f"{path.name} has elements {array.dtype.str} for {element_type.name}")
    return np.ascontiguousarray(array).view(element_type.code_dtype)
