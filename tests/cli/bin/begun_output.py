"""How interrupt.py and while_writing.py know that a command has begun to write its output.

SPDX-License-Identifier: Apache-2.0
"""
import glob
import os
import sys
import time

# Against a command that hangs: even a build with sanitizers on a busy machine ends before.
SECONDS_AT_MOST = 600


def temporary_files(output):
    """The temporary files that stand beside OUTPUT."""
    return set(glob.glob(os.path.join(os.path.dirname(output) or ".",
                                      f".{os.path.basename(output)}.tensorcast-*.tmp")))


def wait_until_begun(process, output, before=frozenset()):
    """Returns once a temporary file of OUTPUT stands there that is not in BEFORE; else exits."""
    deadline = time.monotonic() + SECONDS_AT_MOST
    while temporary_files(output) <= before:
        if process.poll() is not None:
            sys.exit(f"the command ended by itself, with {process.returncode}")
        if time.monotonic() > deadline:
            process.kill()
            sys.exit("no temporary file appeared")
        time.sleep(0.002)
