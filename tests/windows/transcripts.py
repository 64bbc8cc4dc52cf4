"""The transcripts of tests/cli, run with the Windows tool.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

CLI = pathlib.Path(__file__).resolve().parent.parent / "cli"
sys.path.insert(0, str(CLI))
import run_transcript  # pylint: disable=wrong-import-position

# Those that are of Linux, each with what it asks for.
LEFT_OUT = {
}


def plain(text):
    """What was said, as run_transcript.py compares it."""
    return run_transcript.marked("", text)


def run_all(wine, tool, folder):
    """The names of those that differ; what differs is printed."""
    wrapper = folder / "bin/tensorcast"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec "{wine}" "{tool}" "$@"\n')
    wrapper.chmod(0o755)
    cases = sorted(case for case in (CLI / "cases").glob("*.case") if case.stem not in LEFT_OUT)
    return [case.stem for case in cases if not run_transcript.run_case(case, wrapper, False)]
