#!/usr/bin/env python3
"""Runs a command, and another in the midst of it.

    while_writing.py OUTPUT MEANWHILE COMMAND...

Stops COMMAND once the temporary file of OUTPUT stands beside it, runs the shell command MEANWHILE,
and lets COMMAND go on. Exits with COMMAND's exit code.

SPDX-License-Identifier: Apache-2.0
"""
import signal
import subprocess
import sys

from begun_output import SECONDS_AT_MOST, wait_until_begun


def main():
    output, meanwhile, *command = sys.argv[1:]
    with subprocess.Popen(command) as process:
        wait_until_begun(process, output)
        process.send_signal(signal.SIGSTOP)
        subprocess.run(meanwhile, shell=True, check=True)
        process.send_signal(signal.SIGCONT)
        sys.exit(process.wait(SECONDS_AT_MOST))


if __name__ == "__main__":
    main()
