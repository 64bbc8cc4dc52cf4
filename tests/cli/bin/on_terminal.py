#!/usr/bin/env python3
"""Runs a command with a terminal as its standard output and error, and prints what that shows.

    on_terminal.py COMMAND...

Escape characters are printed as ESC, carriage returns as CR. Ends with the command's exit code.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pty
import sys


def main():
    pid, descriptor = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    shown = bytearray()
    while True:
        try:
            data = os.read(descriptor, 4096)
        except OSError:  # Linux's way to say that the other side is closed
            break
        if not data:
            break
        shown += data
    _, status = os.waitpid(pid, 0)
    text = shown.decode().replace("\r\n", "\n").replace("\r", "CR").replace("\x1b", "ESC")
    sys.stdout.write(text)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
