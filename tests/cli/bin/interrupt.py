#!/usr/bin/env python3
"""Sends a signal to a command once it has begun to write its output.

    interrupt.py SIGNAL OUTPUT COMMAND...

Waits until the temporary file of OUTPUT stands beside it, sends SIGNAL (INT, TERM, KILL ...) to the
command, and says how it ended: an exit code, or the signal that ended it.

SPDX-License-Identifier: Apache-2.0
"""
import signal
import subprocess
import sys

from begun_output import SECONDS_AT_MOST, temporary_files, wait_until_begun


def main():
    name, output, *command = sys.argv[1:]
    before = temporary_files(output)
    # An interactive shell lets SIGINT through to its children; a background one does not.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command) as process:
        wait_until_begun(process, output, before)
        process.send_signal(getattr(signal, f"SIG{name}"))
        code = process.wait(SECONDS_AT_MOST)
    print(f"exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}")


if __name__ == "__main__":
    main()
