"""The transcripts of tests/cli, run with the Windows tool.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

CLI = pathlib.Path(__file__).resolve().parent.parent / "cli"
sys.path.insert(0, str(CLI))
import run_transcript  # pylint: disable=wrong-import-position

# Files, words and exit codes of every command. The others ask for Linux's terminals, links, limits,
# signals and threads, or repeat what these have.
NAMES = ("cast_options", "every_type", "exit_codes", "fail_on", "npy", "onnx_storage", "optimize",
         "passthrough", "run", "strings", "tensor_proto")


def run_all(wine, tool, folder):
    """The names of those that differ; what differs is printed."""
    wrapper = folder / "bin/tensorcast"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec "{wine}" "{tool}" "$@"\n')
    wrapper.chmod(0o755)
    cases = [CLI / "cases" / f"{name}.case" for name in NAMES]
    return [case.stem for case in cases if not run_transcript.run_case(case, wrapper, False)]
