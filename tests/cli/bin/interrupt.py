#!/usr/bin/env python3
"""Sends a signal to a command once it has begun to write its output.

    interrupt.py SIGNAL OUTPUT COMMAND...

Waits until the temporary file of OUTPUT stands beside it, sends SIGNAL (INT, TERM, KILL ...) to the
command, and says how it ended: an exit code, or the signal that ended it.

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
    name, output, *command = sys.argv[1:]
    pattern = os.path.join(os.path.dirname(output) or ".",
                           f".{os.path.basename(output)}.tensorcast-*.tmp")
    before = set(glob.glob(pattern))
    # An interactive shell lets SIGINT through to its children; a background one does not.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + SECONDS_AT_MOST
        while process.poll() is None and set(glob.glob(pattern)) <= before:
            if time.monotonic() > deadline:
                process.kill()
                sys.exit("no temporary file appeared")
            time.sleep(0.002)
        if process.poll() is not None:
            sys.exit(f"the command ended by itself, with {process.returncode}")
        process.send_signal(getattr(signal, f"SIG{name}"))
        code = process.wait(SECONDS_AT_MOST)
    print(f"exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}")


if __name__ == "__main__":
    main()
