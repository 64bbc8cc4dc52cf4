#!/usr/bin/env python3
"""Runs every scenario with standard streams closed, full and broken.

    check_streams.py --tool TOOL --library inject_faults.so

Without a readable standard input or a writable standard error everything is as ever. Where standard
output takes nothing and there was something to say, that is an error. In no case is the text of a
stream found in a file.

SPDX-License-Identifier: Apache-2.0
"""
import itertools
import os
import sys

import findings
from check_faults import cases
from injection import Injector
from invariants import Case
from scenarios import SCENARIOS

_NAMES = ("stdin", "stdout", "stderr")


def settings():
    """Descriptors and what becomes of them: each alone, and all closed together."""
    for number, how in itertools.product(range(3), ("closed", "full", "broken")):
        yield {number: how}
    yield {0: "closed", 1: "closed"}
    yield {0: "closed", 2: "closed"}
    yield {0: "closed", 1: "closed", 2: "closed"}
    yield {1: "full", 2: "full"}
    yield {1: "broken", 2: "broken"}


def problems_of_code(run, case, streams):
    """Whether the exit code says that standard output took nothing."""
    expected = 4 if 1 in streams and case.clean.stdout else 0
    if run.code != expected:
        yield f"exit code {run.code}, not {expected}"
    # Who closed the pipe knows it; of what else stands in the way a line tells.
    if run.code == 4 and run.stderr is not None and streams[1] != "broken":
        if "tensorcast: " not in run.stderr:
            yield "no line for an error"


def main():
    arguments = findings.parser(__doc__).parse_args()
    os.umask(0o022)
    account = findings.Account("streams")
    for name, variant in cases():
        with findings.scratch_folder() as folder:
            injector = Injector(arguments.tool, arguments.library, folder)
            case = Case(injector, SCENARIOS[name], variant == "force", folder)
            for streams in settings():
                run, problems = case.run("", streams=streams)
                problems += problems_of_code(run, case, streams)
                words = [f"{_NAMES[number]} {how}" for number, how in streams.items()]
                account.add(problems, f"{name} {variant}, {', '.join(words)}: "
                            f"{' '.join(case.arguments)}", run)
    return account.end()


if __name__ == "__main__":
    sys.exit(main())
