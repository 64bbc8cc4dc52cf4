#!/usr/bin/env python3
"""Every fault at every call, and then faults by chance until the time is up.

    long_run.py --tool TOOL --library inject_faults.so [--minutes 60]

First all that the checks of this folder can enumerate: each function of each scenario failing in
every way at every call, another process stepping in at every call, all streams, five thousand legal
files, a hundred thousand and a million tensors. Then samples with other seeds, several faults at
once. Prints what was found with the line that shows it again, what each check did, and the sums.

SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import findings
from check_faults import cases
from check_resumed import RESUMED
from scenarios import SCENARIOS

_FOLDER = pathlib.Path(__file__).resolve().parent
_ACCOUNT = re.compile(r"^(.+): (\d+) runs, (\d+) met what was put in their way, (\d+) findings$", re.M)
# Not those with a record, which is made of what stands when the output does: others may change that.
_ALONE = [name for name, scenario in SCENARIOS.items()
          if scenario.outputs and not name.startswith("recorded")]


def enumerated():
    """The checks, each as a script and its arguments; the longest first."""
    yield "check_growth", "--exhaustive"
    yield "check_many_tensors", "--tensors", "1000000", "--exhaustive"
    yield "check_many_tensors", "--tensors", "100000", "--exhaustive"
    yield "check_bytes_read", "--exhaustive"
    yield "check_archives", "--count", "5000"
    for name, variant in cases():
        yield "check_faults", name, variant, "--exhaustive", "--combined", "0"
    for name, variant in itertools.product(RESUMED, ("new", "force")):
        yield "check_resumed", name, variant, "--exhaustive"
    for name in _ALONE:
        yield "check_meanwhile", name, "--exhaustive", "--pairs", "100"
    yield ("check_streams",)
    yield "check_interrupts", "--exhaustive"


def by_chance():
    """Checks without end."""
    for seed in itertools.count(2):
        for name, variant in cases():
            yield "check_faults", name, variant, "--seed", str(seed), "--combined", "200"
        for name, variant in itertools.product(RESUMED, ("new", "force")):
            yield "check_resumed", name, variant, "--seed", str(seed), "--count", "60"
        for name in _ALONE:
            yield "check_meanwhile", name, "--seed", str(seed), "--pairs", "50"
        yield "check_archives", "--seed", str(seed), "--count", "1000"


class Sums:
    """What the checks did, by script."""

    def __init__(self):
        self.of = {}
        self.failed = []
        self._lock = threading.Lock()

    def add(self, check, done):
        """The end of a check: its account, or that it has none."""
        with self._lock:
            accounts = _ACCOUNT.findall(done.stdout)
            print(done.stdout, end="", flush=True)
            if not accounts or done.returncode not in (0, 1):
                self.failed.append(" ".join(check))
                print(f"NO ACCOUNT: {' '.join(check)}\n{done.stderr}", flush=True)
            for _, *figures in accounts:
                sums = self.of.setdefault(check[0], [0, 0, 0])
                for i, figure in enumerate(figures):
                    sums[i] += int(figure)

    def __str__(self):
        rows = [f"{'':20} {'runs':>9} {'met':>9} {'findings':>9}"]
        rows += [f"{script:20} {runs:9,} {met:9,} {found:9,}"
                 for script, (runs, met, found) in sorted(self.of.items())]
        return "\n".join(rows + [f"without an account: {check}" for check in self.failed])


def main():
    parser = findings.parser(__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="in all; what is enumerated is "
                        "gone through to its end however long it takes")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    sums = Sums()

    def run(check):
        line = [sys.executable, "-B", str(_FOLDER / f"{check[0]}.py"), "--tool", arguments.tool,
                "--library", arguments.library, *check[1:]]
        sums.add(check, subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True,
                                       text=True, check=False))

    def run_in_time(check):
        if time.monotonic() < end:
            run(check)
        return time.monotonic() < end

    jobs = os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, enumerated()))
        print("enumerated: all; by chance until the time is up", flush=True)
        checks = by_chance()
        while all(pool.map(run_in_time, itertools.islice(checks, jobs))):
            pass
    print(sums)
    return 1 if sums.failed or any(found for _, _, found in sums.of.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
