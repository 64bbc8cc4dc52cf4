#!/usr/bin/env python3
"""Interrupts runs that write very many small files, and counts what they still do.

    check_interrupts.py --tool TOOL --library inject_faults.so

A run that is interrupted at a call ends after the file that it is at: it makes no more such calls
than that file needs. Where a file gets its name the run goes on to the last name.

SPDX-License-Identifier: Apache-2.0
"""
import os
import sys

import findings
from injection import Injector
from invariants import Case
from scenarios import SCENARIOS

_SCENARIOS = ("checkpoint_of_many", "run_of_many")
_STEPS = ("open", "pwrite", "fallocate")
_MORE = {"open": 8, "pwrite": 3, "fallocate": 1}  # calls that one file takes


def main():
    parser = findings.parser(__doc__)
    arguments = parser.parse_args()
    os.umask(0o022)
    code = 0
    for scenario in _SCENARIOS:
        with findings.scratch_folder() as folder:
            case = Case(Injector(arguments.tool, arguments.library, folder), SCENARIOS[scenario],
                        False, folder)
            account = findings.Account(f"interrupts {scenario}")
            for function in _STEPS:
                calls = case.clean.calls[function]
                for k in range(1, calls, 1 if arguments.exhaustive else max(1, calls // 12)):
                    fault = f"{function}:{k}:SIGTERM"
                    run, problems = case.run(fault)
                    if run.code == 130 and run.calls[function] > k + _MORE[function]:
                        problems.append(f"{run.calls[function] - k} calls after the interrupt")
                    shown = case.injector.shown(case.arguments, fault)
                    account.add(problems, shown, run, run.faults > 0)
            code |= account.end()
    return code


if __name__ == "__main__":
    sys.exit(main())
