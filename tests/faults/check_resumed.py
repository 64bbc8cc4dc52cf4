#!/usr/bin/env python3
"""Conversions that are resumed: the k-th call fails, or the process is killed or loses power there.

    check_resumed.py --tool TOOL --library inject_faults.so SCENARIO new|force [--exhaustive]

After a run that met a fault the same command without faults must give the output, byte for byte
that of a run at one go, print its report, and leave nothing else. The same of two parts and the run
that joins them, where the fault meets one of the three.

SPDX-License-Identifier: Apache-2.0
"""
import os
import random
import shutil
import sys

import findings
from check_faults import single_faults
from injection import ERRORS, Injector
from invariants import Case
from scenarios import SCENARIOS

# Of one file and of directories; scales that are made, applied, and put into another layout. ctest
# has some of them.
RESUMED = ("safetensors", "npy", "pb", "checkpoint", "checkpoint_of_many", "checkpoint_torch",
           "checkpoint_gptq", "checkpoint_repacked", "checkpoint_scales_applied",
           "checkpoint_scales_written", "checkpoint_experts_written", "comfyui_written",
           "groups_written_gptq", "gguf_written", "recorded", "recorded_checkpoint")
_POWER = ("pwrite", "fsync", "syncfs", "rename", "renameat2", "unlink", "ftruncate", "fallocate",
          "mkdir", "open", "close")


class ResumedCase(Case):
    """A scenario that is run with --resume, or in two parts."""

    def __init__(self, injector, scenario, force, folder, steps):
        super().__init__(injector, scenario, force, folder)
        self.steps = [[word for word in self.arguments if word != "--record" or "--part" not in step] + step
                      for step in steps]
        self.works = [f"{scenario.outputs[0]}.partial"]

    def run_with(self, step, faults):
        """The steps before one, that one with the faults, all again; and what was wrong."""
        self.reset()
        for arguments in self.steps[:step]:
            self.injector.run(arguments, self.work)
        self._hides_mode = False
        run = self.injector.run(self.steps[step], self.work, faults)
        documented = {0, 2, 4, 130, -9, -15, -13}
        if "ENOENT" in faults:  # what is said not to be there is believed: a directory is a file
            documented |= {3, 5}
        problems = [] if run.code in documented else [f"exit code {run.code}"]
        if run.stderr is not None:
            problems += self._problems_of_words(run)
        state = self.state_of(0)
        if state not in ("new", "old" if self.force else "absent"):
            problems.append(f"the output is {state} after {run.code}")
        if run.unsynced_names and "fsync" not in faults:
            problems.append(f"{run.unsynced_names} files named before they were synced")
        is_left = any(os.path.lexists(os.path.join(self.work, work)) for work in self.works)
        has_ended = self._is_whole() and (not is_left or "could not be removed" in (run.stderr or ""))
        if not has_ended:
            problems += self._problems_of_rest(run)
        problems += [problem for problem in self._problems_of_folder(run, faults)
                     if not problem.endswith("is left") or has_ended]
        return run, problems

    def _is_whole(self):
        """Whether the output and, where one is asked for, its record are those of a run at one go."""
        return all(self.state_of(i) == "new" for i in range(len(self.scenario.outputs)))

    def _problems_of_rest(self, run):
        """The whole again, without faults."""
        last = None
        for arguments in self.steps:
            last = self.injector.run(arguments, self.work)
            # Where all was done before, the first step ends it.
            if last.code != 0:
                yield f"going on after {run.code}: {last.code} {last.stderr.strip()}"
                return
        if not self._is_whole():
            yield f"gone on after {run.code}, the output is {self.state_of(0)}, or has no true record"
        if last.stdout != self.clean.stdout:
            yield "another report"
        for work in self.works:
            if os.path.lexists(os.path.join(self.work, work)):
                yield f"{work} is left"


def faults_of(calls, arguments, source):
    """Single faults, and of calls that change something the loss of power at each."""
    every = [fault for function, number in sorted(calls.items())
             for fault in single_faults(function, number)]
    power = [f"{function}:{k}:power" for function in _POWER
             for k in range(1, calls.get(function, 0) + 1)]
    if arguments.exhaustive:
        return power + every
    return (source.sample(power, min(len(power), arguments.count // 2)) +
            source.sample(every, min(len(every), arguments.count)))


def check(arguments, folder, label, steps):
    """One way of doing a scenario, with the faults in each of its steps."""
    injector = Injector(arguments.tool, arguments.library, folder)
    case = ResumedCase(injector, SCENARIOS[arguments.scenario], arguments.variant == "force", folder,
                       steps)
    account = findings.Account(f"{label} {arguments.scenario} {arguments.variant}")
    source = random.Random(f"{arguments.seed} {label} {arguments.scenario} {arguments.variant}")
    for step in range(len(steps)):
        case.reset()
        for before in case.steps[:step]:
            injector.run(before, case.work)
        clean = injector.run(case.steps[step], case.work)
        if clean.code != 0:
            sys.exit(f"without faults: {clean.code} {clean.stderr}")
        calls = {function: number for function, number in clean.calls.items()
                 if number and function in ERRORS and function != "malloc"}
        for faults in faults_of(calls, arguments, source):
            run, problems = case.run_with(step, faults)
            shown = injector.shown(case.steps[step], faults)
            account.add(list(problems), shown, run, run.faults > 0)
    shutil.rmtree(case.work, ignore_errors=True)
    return account.end()


def main():
    parser = findings.parser(__doc__)
    parser.add_argument("--count", type=int, default=16, help="single faults of a sample")
    parser.add_argument("scenario", choices=RESUMED)
    parser.add_argument("variant", choices=("new", "force"))
    arguments = parser.parse_args()
    os.umask(0o022)
    code = 0
    for label, steps in (("resumed", [["--resume"]]),
                         ("parts", [["--part", "1/2"], ["--part", "2/2"], ["--join"]])):
        with findings.scratch_folder() as folder:
            code |= check(arguments, folder, label, steps)
    return code


if __name__ == "__main__":
    sys.exit(main())
