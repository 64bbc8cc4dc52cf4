#!/usr/bin/env python3
"""Makes the k-th call of each function fail, come short, or kill the tool, and looks what is left.

    check_faults.py --tool TOOL --library inject_faults.so SCENARIO new|force     a seeded sample
    check_faults.py ... --exhaustive SCENARIO new|force                           every k
    check_faults.py --list                                                        the scenarios

Each scenario is run once to learn how often it calls each function, and then once per fault.
Findings come with the line that shows them again. Exit code 1 where there are any.

SPDX-License-Identifier: Apache-2.0
"""
import itertools
import os
import random
import sys

import findings
from findings import Account
from injection import ERRORS, Injector
from invariants import Case
from scenarios import SCENARIOS

_SIGNALS = ("SIGKILL", "SIGTERM", "SIGPIPE")
_SILENT = ("malloc", "mmap", "getrandom")  # no signals there: these calls change nothing


def single_faults(function, calls):
    """Every fault of one function, each at every call."""
    actions = ERRORS[function] + (() if function in _SILENT else _SIGNALS)
    for k in range(1, calls + 1):
        for action in actions:
            yield f"{function}:{k}:{action}"
    if function != "readdir":  # which gives up at the first error
        step = max(1, calls // 16)
        for k, action in itertools.product(range(1, calls + 1, step), ERRORS[function]):
            # For ever, these are no errors: there is more, or another one holds the lock.
            if action not in ("EINTR", "EAGAIN", "short", "empty"):
                yield f"{function}:{k}+:{action}"


def sample(calls, count, source):
    """`count` single faults, the functions taking turns, most of them with another k each time."""
    turns = []
    for function, number in sorted(calls.items()):
        faults = list(single_faults(function, number))
        source.shuffle(faults)
        turns.append(faults)
    taken = [fault for row in itertools.zip_longest(*turns) for fault in row if fault]
    return taken[:count]


def random_faults(calls, source):
    """Two or three faults at once."""
    functions, faults = list(calls), []
    for function in source.choices(functions, k=source.choice((2, 2, 3))):
        actions = ERRORS[function] + (() if function in _SILENT else ("SIGKILL",))
        faults.append(f"{function}:{source.randint(1, calls[function])}:{source.choice(actions)}")
    return " ".join(sorted(set(faults)))


def cases():
    """Names and variants: what writes nothing replaces nothing."""
    for name, scenario in SCENARIOS.items():
        yield name, "new"
        if scenario.outputs:
            yield name, "force"


def check(arguments, folder):
    """All that is asked for of one scenario and variant."""
    scenario, variant = arguments.scenario, arguments.variant
    injector = Injector(arguments.tool, arguments.library, folder)
    case = Case(injector, SCENARIOS[scenario], variant == "force", folder)
    account = Account(f"{scenario} {variant}")

    def meet(faults, from_start=False):
        run, problems = case.run(faults, from_start=from_start)
        shown = injector.shown(case.arguments, faults, from_start=from_start)
        account.add(problems, shown, run, run.faults > 0)

    source = random.Random(f"{arguments.seed} {scenario} {variant}")
    calls = {function: number for function, number in case.clean.calls.items()
             if number and function in arguments.functions}
    meet("")
    if arguments.exhaustive:
        faults = [fault for function, number in sorted(calls.items())
                  for fault in single_faults(function, number)]
    else:
        faults = sample(calls, arguments.count, source)
    faults += [random_faults(calls, source) for _ in range(arguments.combined if calls else 0)]
    for fault in faults:
        meet(fault)
    # What the process calls before main, above all the memory of the libraries it loads.
    started = injector.run(case.arguments, case.work, from_start=True).calls
    for function in sorted({"malloc", "mmap", "open", "read"}.intersection(arguments.functions)):
        before_main = max(0, started[function] - calls.get(function, 0))
        for k in range(1, before_main + 1):
            if arguments.exhaustive or source.random() * before_main < 4:
                meet(f"{function}:{k}:{ERRORS[function][0]}", from_start=True)
    return account


def main():
    if "--list" in sys.argv[1:]:
        print("\n".join(f"{name} {variant}" for name, variant in cases()))
        return 0
    parser = findings.parser(__doc__)
    parser.add_argument("--count", type=int, default=60, help="single faults of a sample")
    parser.add_argument("--combined", type=int, default=12, help="runs with several faults at once")
    parser.add_argument("--functions", type=lambda text: text.split(","), default=list(ERRORS),
                        help="only these: open,pwrite")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("variant", choices=("new", "force"))
    arguments = parser.parse_args()
    os.umask(0o022)
    with findings.scratch_folder() as folder:
        return check(arguments, folder).end()


if __name__ == "__main__":
    sys.exit(main())
