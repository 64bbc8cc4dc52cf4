#!/usr/bin/env python3
"""Lets another process step in at the k-th call of a run.

    check_meanwhile.py --tool TOOL --library inject_faults.so SCENARIO

- another run writes the same output from other inputs, from its beginning to its end;
- the inputs are rewritten in place, at the same size, by those of other values, and the time of
  writing is put back;
- the inputs are removed;
- of an output that is a directory: another one takes its name, which holds no checkpoint, or is
  somebody's repository; then the run is killed, too.

Whatever happens, each final name holds what one of the runs makes of inputs that are not mixed, or
what it held before; a run that ends with 0 made it; nothing else is left. What took a name is never
lost. At last two runs are started at once, again and again; where both may replace the output, and
nothing stood there before, both succeed.

SPDX-License-Identifier: Apache-2.0
"""
import os
import random
import shlex
import shutil
import subprocess
import sys

import findings
from injection import Injector
from invariants import OTHER, Case
from scenarios import SCENARIOS

# Functions whose calls part the run into steps that another process can tell apart.
_STEPS = ("open", "pread", "pwrite", "fsync", "syncfs", "rename", "renameat2", "unlink", "lstat",
          "close", "flock", "readdir")


class Meanwhile:
    """A case with the inputs of another state in the folder `other`."""

    def __init__(self, arguments, folder, force):
        self.injector = Injector(arguments.tool, arguments.library, folder)
        self.case = Case(self.injector, SCENARIOS[arguments.scenario], force, folder)
        self.account = findings.Account(
            f"meanwhile {arguments.scenario} {'force' if force else 'new'}")
        self.other = self.case.scenario.inputs(OTHER)
        # An output that goes on using the data of its input changes with it.
        self.uses_inputs = any(set(self.other) & self.case.data_files(output)
                               for output in self.case.scenario.outputs)
        words = [os.path.join("other", word)
                 if word in self.other or any(name.startswith(word + "/") for name in self.other) else
                 word.replace("=", "=other/") if word.partition("=")[2] in self.other else word
                 for word in self.case.arguments]
        self.second = [self.injector.tool, *words]

    def reset(self):
        """The folder before each run, with the other inputs."""
        self.case.reset()
        for name, content in self.other.items():
            path = os.path.join(self.case.work, "other", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)

    def run(self, fault, command):
        """The first run, in which `command` steps in; its end, and the states of its outputs."""
        self.reset()
        run = self.injector.run(self.case.arguments, self.case.work, fault, command)
        states = [self.case.state_of(i) for i in range(len(self.case.scenario.outputs))]
        return run, states

    def left(self, run):
        """What should not be there. Data that the replaced model named may be, where another one in
        the folder could not be read, which may name it too."""
        known = {os.path.normpath(name) for name in self.case.scenario.outputs}
        known |= set(self.other)
        for output in self.case.scenario.outputs:
            known |= self.case.data_files(output)
        for path, folders, names in os.walk(self.case.work):
            if "other" in folders:
                folders.remove("other")
            for name in names:
                place = os.path.relpath(os.path.join(path, name), self.case.work)
                is_replaced = place.endswith(".onnx.data") and self.case.force and run.code == 0
                is_output = place.startswith(tuple(f"{name}/" for name in self.case.scenario.outputs))
                if place not in known and not is_replaced and not is_output:
                    yield f"{place} is left"

    def problems(self, run, states, allowed, codes=(0, 2, 4), may_replace=False):
        """What must hold of every run that another process stepped into; may_replace: that one too."""
        found = []
        if run.code not in codes:
            found.append(f"exit code {run.code}")
        if "internal error" in run.stderr:
            found.append("internal error")
        # Of several files that are no model with its data, each is whole by itself.
        is_mixed = len(set(states)) > 1 and not (self.case.force or may_replace)
        if is_mixed or not set(states) <= allowed:
            found.append(f"outputs {' '.join(states)} after {run.code}")
        return found + list(self.left(run))

    def check(self, fault):
        """All that another process can do at this call."""
        before = "old" if self.case.force else "absent"
        end = os.path.join(self.injector.folder, "end")
        stamp = os.path.join(self.injector.folder, "stamp")
        # The first run may hold the folder, and stands still while the second one waits for it.
        # In the foreground: otherwise the signal comes twice, and the second one ends it at once.
        command = f"timeout --foreground 1 {shlex.join(self.second)} >/dev/null 2>&1; echo $? >{end}"
        run, states = self.run(fault, command)
        with open(end, encoding="ascii") as file:
            second = int(file.read())
        allowed = {name for name, code in (("new", run.code), ("other", second)) if code == 0}
        found = self.problems(run, states, allowed)
        if second not in (0, 2, 4, 124):
            found.append(f"exit code {second} of the second run")
        self._add(found, fault, command, run)
        if self.case.has_directory:
            kill = "renameat2:{}:SIGKILL"
            for name in ("thesis.tex", ".git"):
                self.taken(fault, name)
                self.taken(fault, name, kill.format(1 + self.account.runs % 4))
        if self.uses_inputs:
            return

        # The clock of a file's times goes on some milliseconds at once.
        command = "sleep 0.02; " + "; ".join(
            f"touch -r {name} {stamp}; cat other/{name} >{name}; touch -r {stamp} {name}"
            for name in self.other)
        run, states = self.run(fault, command)
        allowed = {"new", "other"} if run.code == 0 else {before}
        # 3, 5: half of one archive and half of another look damaged, or like another kind.
        found = self.problems(run, states, allowed, (0, 3, 4, 5))
        self._add(found, fault, command, run)

        command = "rm -f " + " ".join(self.other)
        run, states = self.run(fault, command)
        # Without its files a directory is no checkpoint, or one that lacks a file; a model in parts lacks one.
        codes = ((0, 2, 3, 4, 5) if self.case.has_directory else
                 (0, 2, 3, 4) if any("-of-" in name for name in self.other) else (0, 2, 4))
        found = self.problems(run, states, {"new"} if run.code == 0 else {before}, codes)
        self._add(found, fault, command, run)

    def taken(self, fault, name, killed=""):
        """Another directory takes the output's name: `name` in it says that it is no checkpoint."""
        command = f"rm -rf mine; mv out mine 2>/dev/null; mkdir out && echo thesis >out/{name}; cp in/*.safetensors out"
        if name != ".git":
            command = command.partition("; cp")[0]
        self.reset()
        taken = os.path.join(self.injector.folder, "taken")
        if os.path.exists(taken):
            os.unlink(taken)
        command += f"; touch {taken}"
        faults = f"{fault} {killed}".strip()
        run = self.injector.run(self.case.arguments, self.case.work, faults, command)
        if not os.path.exists(taken):
            return  # killed before
        where = [os.path.relpath(path, self.case.work)
                 for path, _, names in os.walk(self.case.work) if name in names]
        found = [] if len(where) == 1 else [f"what took the name is in {where}"]
        if where != ["out"] and run.code != -9:
            found.append(f"what took the name is moved: {where}")
        if run.code not in (0, 2, 4) + ((-9,) if killed else ()):
            found.append(f"exit code {run.code}")
        if run.code != -9:
            found += [place for place in self.left(run) if not place.startswith("mine")]
        elif not found:  # the next run goes on, or says why not, and leaves it as it is
            line = [*self.case.arguments] + ([] if self.case.force else ["--force"])
            run = self.injector.run(line, self.case.work)
            if run.code not in (0, 2):
                found.append(f"exit code {run.code} of the next run")
            if not any(name in names for _, _, names in os.walk(self.case.work)):
                found.append("the next run removed what took the name")
        self._add(found, faults, command, run)

    def at_absent_output(self):
        """Two runs started together that may replace each other's output."""
        lines = [line + ["--force"] * ("--force" not in line)
                 for line in ([self.injector.tool, *self.case.arguments], self.second)]
        self.at_once(lines, absent=True)

    def at_once(self, lines=None, absent=False):
        """Two runs started together."""
        self.reset()
        lines = lines or ([self.injector.tool, *self.case.arguments], self.second)
        for output in self.case.scenario.outputs if absent else ():
            path = os.path.join(self.case.work, output)
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.unlink(path)
        runs = [subprocess.Popen(line, cwd=self.case.work, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for line in lines]
        said = [process.communicate()[1].decode("utf-8", "replace") for process in runs]
        codes = [process.returncode for process in runs]
        states = [self.case.state_of(i) for i in range(len(self.case.scenario.outputs))]
        allowed = {name for name, code in zip(("new", "other"), codes) if code == 0}
        first = type(self.case.clean)(codes[0], None, said[0])
        found = self.problems(first, states, allowed, may_replace=absent)
        if codes[1] not in (0, 2, 4):
            found.append(f"exit code {codes[1]} of the second run")
        if absent and codes != [0, 0]:
            found.append(f"exit codes {codes} of two runs that may replace the output")
        self.account.add(found, " & ".join(map(shlex.join, lines)), first)

    def _add(self, found, fault, command, run):
        self.account.add(found, self.injector.shown(self.case.arguments, fault, command), run,
                         run.faults > 0)


def main():
    parser = findings.parser(__doc__)
    parser.add_argument("--count", type=int, default=15, help="calls of a sample")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of runs started at once")
    parser.add_argument("scenario", choices=[n for n, s in SCENARIOS.items() if s.outputs])
    arguments = parser.parse_args()
    os.umask(0o022)
    source = random.Random(f"{arguments.seed} {arguments.scenario}")
    code = 0
    for force in (False, True):
        with findings.scratch_folder() as folder:
            meanwhile = Meanwhile(arguments, folder, force)
            faults = [f"{function}:{k}:command" for function in _STEPS
                      for k in range(1, meanwhile.case.clean.calls[function] + 1)]
            if not arguments.exhaustive:
                faults = source.sample(faults, min(len(faults), arguments.count))
            for fault in faults:
                meanwhile.check(fault)
            for _ in range(arguments.pairs):
                meanwhile.at_once()
                meanwhile.at_absent_output()
            code |= meanwhile.account.end()
    return code


if __name__ == "__main__":
    sys.exit(main())
