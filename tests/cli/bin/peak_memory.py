#!/usr/bin/env python3
"""Runs a command and refuses more resident memory than a limit.

    peak_memory.py MIB COMMAND...

Says on standard error by how much the command went beyond MIB, and exits with 99 then; else with
the command's exit code.

SPDX-License-Identifier: Apache-2.0
"""
import resource
import subprocess
import sys


def main():
    limit, *command = sys.argv[1:]
    code = subprocess.run(command, check=False).returncode
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if peak > float(limit):
        print(f"peak memory {peak:.0f} MiB, allowed are {limit}", file=sys.stderr)
        code = 99
    sys.exit(code)


if __name__ == "__main__":
    main()
