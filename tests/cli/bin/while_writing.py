#!/usr/bin/env python3
"""Runs a command, and another in the midst of it.

    while_writing.py OUTPUT MEANWHILE COMMAND...

Stops COMMAND once the temporary file of OUTPUT stands beside it, runs the shell command MEANWHILE,
and lets COMMAND go on. Exits with COMMAND's exit code.

SPDX-License-Identifier: Apache-2.0
"""
import glob
import os
import signal
import subprocess
import sys
import time

SECONDS_AT_MOST = 60


def main():
    output, meanwhile, *command = sys.argv[1:]
    pattern = os.path.join(os.path.dirname(output) or ".",
                           f".{os.path.basename(output)}.tensorcast-*.tmp")
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + SECONDS_AT_MOST
        while not glob.glob(pattern):
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                sys.exit("no temporary file appeared")
            time.sleep(0.002)
        process.send_signal(signal.SIGSTOP)
        subprocess.run(meanwhile, shell=True, check=True)
        process.send_signal(signal.SIGCONT)
        sys.exit(process.wait(SECONDS_AT_MOST))


if __name__ == "__main__":
    main()
