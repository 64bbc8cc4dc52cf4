"""What the checks of this folder have in common: their arguments, their folder, their account.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import os
import tempfile

_MOST_SHOWN = 3  # findings of one kind; they are counted beyond


def parser(description):
    """The arguments of every check."""
    result = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    result.add_argument("--tool", required=True)
    result.add_argument("--library", required=True, help="inject_faults.so")
    result.add_argument("--seed", type=int, default=1)
    result.add_argument("--exhaustive", action="store_true", help="all there is, not a sample")
    return result


def scratch_folder():
    """A folder for a check: in memory where the machine has such a place, for a disk is slow."""
    place = "/dev/shm"
    has_room = os.access(place, os.W_OK) and os.statvfs(place).f_bavail * 4096 > 2 << 30
    return tempfile.TemporaryDirectory(prefix="tensorcast-faults-", dir=place if has_room else None)


class Account:
    """Counts runs, and shows what was found with the line that shows it again."""

    def __init__(self, label):
        self.label = label
        self.runs = self.met = self.findings = 0
        self._kinds = collections.Counter()

    def add(self, problems, shown, run, met=True):
        """A run, `shown` as a line for a shell; `met`: what it was to meet took place."""
        self.runs += 1
        self.met += met
        if not problems:
            return
        self.findings += 1
        kind = "; ".join(problems)
        self._kinds[kind] += 1
        if self._kinds[kind] <= _MOST_SHOWN:
            said = run.stderr.strip() if run.stderr else ""
            print(f"FOUND ({self.label}): {kind}\n  {shown}\n  {run.code} {said}", flush=True)

    def end(self):
        """Prints the account; the exit code."""
        print(f"{self.label}: {self.runs} runs, {self.met} met what was put in their way, "
              f"{self.findings} findings")
        return 1 if self.findings else 0
