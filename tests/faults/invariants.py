"""A scenario in a folder of its own, and what must hold there after any run.

- The exit code is a documented one, and no signal but one that was sent.
- A run that fails says so in exactly one line, "tensorcast: ..."; one that does not fail prints
  what it prints without faults.
- Under each final name stands the old file or the new one, whole (a model with its data files), as
  tensor_files.py reads them, or nothing where nothing stood before; the new one after exit code 0.
- An error after an output has its name says that it is written.
- No other file is left, except by a process that was killed or could not remove it. The next run
  succeeds and leaves nothing else either.
- The inputs are as they were. Files were synced before they were named; a directory with all that
  is in it, and the names in it.
- A new output lets others do no more than its input, one that replaces another what that one let
  them do, files in directories too.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import shutil

import injection
import tensor_files

NEW, OLD, OTHER = 1, 2, 3  # seeds of the inputs that make the new state, the old, a third one

_SIGNALS = {"SIGKILL": 9, "SIGTERM": 15, "SIGINT": 2, "SIGHUP": 1, "SIGPIPE": 13}
_NOTES = ("tensorcast: note:", "tensorcast: warning:")
_TEMPORARY = re.compile(r"(\.[^/]*\.tensorcast-[0-9a-f]{8}\.tmp(\.old)?|\.tensorcast\.lock)(/|$)")
# Data beside a model, and what is written down of it.
_DATA = re.compile(r"\.onnx(\.[0-9a-f]+)?\.data$|\.[0-9a-f]+\.onnx\.data$|\.onnx\.journal\.tensorcast-")


def _leaves(value):
    """All byte strings in a nested state."""
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, dict):
        yield from _leaves(tuple(value.values()))
    elif isinstance(value, tuple):
        for part in value:
            yield from _leaves(part)


_RECORD = "tensorcast.json"
_INPUT = {True: 0o750, False: 0o640}  # the permissions of directories and files
_OLD = {True: 0o2751, False: 0o604}


def _places(path):
    """What stands there, and all that is in it."""
    yield path
    for folder, folders, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in folders + names)


def _set_modes(path, modes):
    for place in _places(path):
        os.chmod(place, modes[os.path.isdir(place)])


def _hides_mode(faults):
    return "chmod" in faults or "stat" in faults


class Case:
    """A scenario that replaces its outputs (`force`) or makes new ones."""

    def __init__(self, injector, scenario, force, folder):
        self.injector, self.scenario, self.force = injector, scenario, force
        self.work = os.path.join(folder, "work")
        self._kept = os.path.join(folder, "kept")  # the folder before each run
        self.arguments = scenario.command.split() + (["--force"] if force else [])
        self._inputs = scenario.inputs(NEW)
        self.has_directory = scenario.command.startswith("convert in -o out ")
        self.has_hidden_directory = self.has_directory or scenario.command.startswith("run ")
        self.states = {}
        self._hides_mode = False  # a fault keeps the tool from seeing what it replaces
        self._make()

    def _make(self):
        """The states, from runs without faults, and the folder that each run begins with."""
        for seed, name in ((OTHER, "other"), (OLD, "old"), (NEW, "new")):
            shutil.rmtree(self.work, ignore_errors=True)
            os.makedirs(self.work)
            self._write(self.scenario.inputs(seed))
            self.clean = self.injector.run([*self.scenario.command.split()], self.work)
            if self.clean.code != 0:
                raise RuntimeError(f"without faults: {self.clean.code} {self.clean.stderr}")
            self.states[name] = [self._read(output) for output in self.scenario.outputs]
            for output, state in zip(self.scenario.outputs, self.states[name]):
                for data in () if output.endswith(_RECORD) else self.scenario.data(seed):
                    if not any(data in leaf for leaf in _leaves(state)):
                        raise RuntimeError(f"without faults the values of {name} are wrong")
            if name == "old" and self.force:
                for output in self.scenario.outputs:
                    _set_modes(os.path.join(self.work, output), _OLD)
                shutil.copytree(self.work, self._kept)
        if not self.force:
            os.makedirs(self._kept, exist_ok=True)
        self._write(self._inputs, self._kept)
        self.reset()
        # A model whose data are an input's reads as the new one before it is written.
        self._begins_as = [self.state_of(i) for i in range(len(self.scenario.outputs))]
        self.clean = self.injector.run(self.arguments, self.work)

    def _write(self, inputs, folder=None):
        for name, content in inputs.items():
            path = os.path.join(folder or self.work, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        for place in {name.partition("/")[0] for name in inputs}:
            _set_modes(os.path.join(folder or self.work, place), _INPUT)

    def _read(self, output):
        path = os.path.join(self.work, output)
        if os.path.isdir(path) and f"{output}/{_RECORD}" in self.scenario.outputs:
            # The record is an output of its own, made when the directory stands.
            return {name: tensor_files.read(os.path.join(path, name)) for name in sorted(os.listdir(path))
                    if name != _RECORD and not _TEMPORARY.match(name)}
        return tensor_files.read(path) if os.path.lexists(path) else None

    def reset(self):
        """The folder as it was before any run."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self._kept, self.work)

    def run(self, faults, **how):
        """A run with faults from the beginning, and what was wrong with it."""
        self.reset()
        self._hides_mode = _hides_mode(faults)
        run = self.injector.run(self.arguments, self.work, faults, **how)
        problems = self.problems(run, faults)
        if run.code < 0 and not problems:
            problems = self._problems_of_next_run(faults)
        return run, problems

    def _problems_of_next_run(self, faults):
        """A killed run must not stand in the way of the next one, which tidies up behind it."""
        arguments = self.arguments + ([] if self.force or not self.scenario.outputs else ["--force"])
        run = self.injector.run(arguments, self.work)
        self._hides_mode = _hides_mode(faults)
        return [f"the next run: {problem}" for problem in self.problems(run, "")]

    def data_files(self, output):
        """The files that an output which is a model names."""
        path = os.path.join(self.work, output)
        if not output.endswith(".onnx") or not os.path.exists(path):
            return set()
        try:
            return tensor_files.locations(path)
        except (ValueError, IndexError):
            return set()

    # ------------------------------------------------------------------------ what must hold

    def state_of(self, i):
        """What stands under the name of output `i`: absent, old, new, other or torn."""
        try:
            state = self._read(self.scenario.outputs[i])
        except Exception:  # whatever a damaged file makes of its reader
            return "torn"
        if state is None:
            return "absent"
        for name in ("new", "old", "other"):
            if state == self.states[name][i]:
                return name
        return "torn"

    def problems(self, run, faults):
        """What must hold and does not."""
        return [*self._problems_of_end(run, faults), *self._problems_of_outputs(run, faults),
                *self._problems_of_folder(run, faults)]

    def _problems_of_end(self, run, faults):
        sent = {-number for name, number in _SIGNALS.items() if name in faults}
        if run.code < 0 and run.code not in sent:
            yield ("no end in sight" if run.code == injection.NO_END
                   else f"ended by signal {-run.code}")
        # What fails here is the system: 4, or 2 where something appeared under the output's name.
        documented = {0, 4} | ({130} if sent else set())
        if "in.json" in self._inputs and not faults.startswith("malloc"):
            documented |= {3}  # what cannot be read is no MDF model, and then no ONNX model either
        if self.scenario.command.startswith("onnx-test"):
            documented |= {1}  # a test that cannot be read is one that does not pass
        if "EEXIST" in faults or "ENOENT" in faults:
            documented.add(2)
        # What is said not to be there is believed: a directory is taken for a file, and one without
        # its config.json is reported on otherwise.
        is_hidden = re.search(r"\bl?stat:\d+\+?:ENOENT", faults) is not None
        if is_hidden:
            documented |= {3, 5}
        if run.code >= 0 and run.code not in documented:
            yield f"exit code {run.code}"
        if run.code == 0 and run.stdout is not None and not (is_hidden and self.has_directory):
            if (self._report(run.stdout) != self._report(self.clean.stdout)
                    and not self._shows_problem(run)):
                yield "another standard output"
        if run.stderr is not None:
            yield from self._problems_of_words(run)

    def _report(self, stdout):
        """Of a model without its first line: the data file's name, of either length, counts there."""
        is_model = any(output.endswith(".onnx") for output in self.scenario.outputs)
        return stdout.partition(b"\n")[2] if is_model else stdout

    def _shows_problem(self, run):
        """inspect shows what it can, and what kept it from the rest."""
        return self.scenario.command.startswith("inspect") and b"cannot be accessed" in run.stdout

    def _problems_of_words(self, run):
        """One line for an error, none without, and nothing of the language's own."""
        for word in ("terminate called", "internal error", "filesystem error"):
            if word in run.stderr:
                yield word
        lines = run.stderr.splitlines()
        notes = [line for line in lines if line.startswith(_NOTES)]
        errors = [line for line in lines if line.startswith("tensorcast: ") and line not in notes]
        has_reader = run.stdout is not None or run.code != 4
        if run.code in (2, 3, 4, 130) and len(errors) != 1 and has_reader:
            yield f"{len(errors)} lines for an error"
        if run.code in (2, 3, 4, 130) and self.scenario.outputs:
            others = [line for line in lines if line not in notes and line not in errors]
            for line in others:
                if not line.startswith((" wrote ", " read it with: ")):
                    yield f"a failed run says {line!r}"
        if run.code == 0 and errors:
            yield f"exit code 0 with {errors[0]!r}"

    def _problems_of_outputs(self, run, faults):
        states = [self.state_of(i) for i in range(len(self.scenario.outputs))]
        before = "old" if self.force else "absent"
        allowed = {"new"} if run.code == 0 else {before, "new"}
        if self.has_directory and "renameat2" in faults and run.code == -_SIGNALS["SIGKILL"]:
            allowed.add("absent")  # no exchange: the old one is moved aside first
        for output, state in zip(self.scenario.outputs, states):
            # The directory is replaced with the record that is in it.
            is_gone = output.endswith("/" + _RECORD) and state == "absent" and run.code != 0
            if state not in allowed and not is_gone:
                yield f"{output} is {state} after {run.code}"
        if len(set(states)) > 1 and run.code >= 0 and not self._says_what_stands(run, states):
            yield f"outputs {' '.join(states)} after {run.code}"
            if state != "new" and f" wrote {output}," in (run.stderr or ""):
                yield f"{output} is said to be written, but is {state}"
        # A report that cannot be printed is another matter: it comes after the output.
        says_so = run.stderr is None or not run.stderr or any(
            words in run.stderr for words in ("written", " wrote ", "to standard output"))
        is_told = any(state == "new" != began for state, began in zip(states, self._begins_as))
        if run.code == 4 and is_told and not says_so and "malloc" not in faults:
            yield f"an error does not say that {self.scenario.outputs[0]} stands"
        # So say file systems that do not sync directories.
        if run.unsynced_names and not re.search(r"fsync:\S+:(EINVAL|EROFS)", faults):
            yield f"{run.unsynced_names} files named before they were synced"
        if run.code == 0 and not self._hides_mode:
            modes = _OLD if self.force else _INPUT
            made = {output for output in self.scenario.outputs}.union(
                *map(self.data_files, self.scenario.outputs)) - set(self._inputs)
            for place in (place for output in sorted(made)
                          for place in _places(os.path.join(self.work, output))):
                mode, wanted = os.stat(place).st_mode & 0o7777, modes[os.path.isdir(place)]
                if mode != wanted:
                    yield f"{os.path.relpath(place, self.work)} has the mode {mode:o}, not {wanted:o}"

    def _says_what_stands(self, run, states):
        """Whether the error says that some of several outputs were written."""
        written = [output for output, state in zip(self.scenario.outputs, states) if state == "new"]
        if "--record" in self.arguments and "the output is written" in (run.stderr or ""):
            return True
        return run.stderr is None or all(output in run.stderr for output in (written[:1] + written[-1:]))

    def _problems_of_folder(self, run, faults):
        for name, content in self._inputs.items():
            with open(os.path.join(self.work, name), "rb") as file:
                if file.read() != content:
                    yield f"the input {name} was changed"
        known = {os.path.normpath(name) for name in (*self._inputs, *self.scenario.outputs)}
        is_output = tuple(f"{output}/" for output in self.scenario.outputs)
        for output in self.scenario.outputs:
            known |= self.data_files(output)
        for path, folders, names in os.walk(self.work):
            for name in names + [name for name in folders if _TEMPORARY.search(name)]:
                place = os.path.relpath(os.path.join(path, name), self.work)
                if place in known or place.startswith(is_output):
                    continue
                may_be_left = run.code == -_SIGNALS["SIGKILL"] or "unlink" in faults
                # To remove a directory it must be read.
                may_be_left |= self.has_hidden_directory and any(
                    name in faults for name in ("open:", "readdir:", "malloc:"))
                # Kept, and named, where it is not sure that the names outlast a loss of power.
                may_be_left |= run.stderr is not None and place.partition("/")[0] in run.stderr
                if may_be_left and _TEMPORARY.search(place):
                    continue
                # Data that no model names yet or any more: of a killed run, or of the replaced
                # model where a fault left it unsure whether something needs it.
                is_unnamed = may_be_left or (faults and self.state_of(0) == "new")
                if not (is_unnamed and _DATA.search(place)):
                    yield f"{place} is left"
        for name in os.listdir(self.injector.temporary):
            os.unlink(os.path.join(self.injector.temporary, name))
            if run.code >= 0:
                yield f"{name} is left in TMPDIR"
