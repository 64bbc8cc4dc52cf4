#!/usr/bin/env python3
"""Runs one case of the command-line tool's tests and compares all that it says.

    run_transcript.py --tool path/to/tensorcast cases/NAME.case
    run_transcript.py --tool path/to/tensorcast --update cases/*.case

A case is a transcript. Its commands run with bash, one after the other in one empty folder, with
the tool and tests/cli/bin on the PATH; what each prints and its exit code must be what stands
below it:

    # a comment
    $ a command
    > and the lines that go on with it
    | a line of its standard output
    ! a line of its standard error
    = its exit code, where it is not 0

What differs from run to run is compared as a word in brackets: [time], [speed], [memory] and the
[digits] of temporary files. --update writes what the commands say now into the case; read the
difference before keeping it.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SECONDS_AT_MOST = 300
VOLATILE = (
    (re.compile(r"\b[0-9.]+ [kMGT]?B/s"), "[speed]"),
    (re.compile(r" in [0-9.]+ m?s, \[speed\], peak memory [0-9.]+ [kMGT]?B"),
     " in [time], [speed], peak memory [memory]"),
    (re.compile(r" at most [0-9.]+ [kMGT]?B of memory"), " at most [memory] of memory"),
    (re.compile(r'"memory_bytes": [0-9]+'), '"memory_bytes": [memory]'),
    (re.compile(r"\.tensorcast-[0-9a-f]{8}\.tmp"), ".tensorcast-[digits].tmp"),
)


class Step:
    """A command with what is expected of it, as lines of the case."""

    def __init__(self, comments):
        self.before = comments  # comments and blank lines in front of it
        self.command = []
        self.expected = []


def parse(text):
    """The steps of a case, and the lines behind the last."""
    steps, pending = [], []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        mark = line[:2].rstrip()
        if mark == "" or line.startswith("#"):
            pending.append(line)
        elif mark == "$":
            steps.append(Step(pending))
            steps[-1].command.append(line[2:])
            pending = []
        elif not steps or pending:
            raise ValueError(f"line {number} belongs to no command: {line}")
        elif mark == ">" and not steps[-1].expected:
            steps[-1].command.append(line[2:])
        elif mark in ("|", "!", "="):
            steps[-1].expected.append(line)
        else:
            raise ValueError(f"line {number} begins with none of # $ > | ! =: {line}")
    return steps, pending


def marked(mark, output):
    """Output as lines of a case; bytes that are not UTF-8 as \\xNN."""
    text = output.decode("utf-8", "backslashreplace")
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "(no newline)"
    return [f"{mark} {line}" if line else mark for line in lines]


def run(step, folder, environment):
    """What a command says, as lines of a case."""
    done = subprocess.run(["bash", "-c", "\n".join(step.command)], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=SECONDS_AT_MOST)
    code = [f"= {done.returncode}"] if done.returncode != 0 else []
    return marked("|", done.stdout) + marked("!", done.stderr) + code


def command_lines(step):
    return [f"$ {step.command[0]}"] + [f"> {line}".rstrip() for line in step.command[1:]]


def environment_for(tool):
    here = pathlib.Path(__file__).resolve().parent
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LC_", "TENSORCAST_")) and name != "NO_COLOR"}
    environment["PATH"] = os.pathsep.join(
        [str(tool.resolve().parent), str(here / "bin"), environment["PATH"]])
    environment.update(LANG="C.UTF-8", TERM="xterm", PYTHONDONTWRITEBYTECODE="1")
    return environment


def run_case(path, tool, update):
    """True where all went as expected."""
    expected_lines, actual_lines = [], []
    with tempfile.TemporaryDirectory(prefix="tensorcast-cli-") as folder:
        os.umask(0o022)
        steps, rest = parse(path.read_text(encoding="utf-8"))
        for step in steps:
            head = step.before + command_lines(step)
            expected_lines += head + step.expected
            actual_lines += head + run(step, folder, environment_for(tool))
        expected_lines += rest
        actual_lines += rest
    if expected_lines == actual_lines:
        return True
    if update:
        path.write_text("\n".join(actual_lines) + "\n", encoding="utf-8")
        print(f"{path}: updated")
        return True
    print("\n".join(difflib.unified_diff(expected_lines, actual_lines, "expected", "actual",
                                         lineterm="", n=8)))
    return False


def main():
    parser = argparse.ArgumentParser(description="Runs cases of the command-line tool's tests.")
    parser.add_argument("--tool", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    failed = [path for path in arguments.cases
              if not run_case(path, arguments.tool, arguments.update)]
    for path in failed:
        print(f"FAILED: {path}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
