"""What goes wrong in the workers of test_ray.py: Python runs this first in each process of the cluster.

RAY_FAULTS names a folder. Each unit that a worker runs appends a line, "NODE PID UNIT", to its file
"log"; the file "slow" makes units take that many seconds more, on the node that has RAY_FAULTS_NODE of its
second word; the worker that can remove "kill" kills itself once a part of its unit is written; "small" is
the size beyond which no file may be written. RAY_FAULTS_PACKAGE is what is wrong with the package on a node:
"missing", or another version. RAY_FAULTS_PRELOAD is the library of tests/faults: no pwrite of a node's workers finds
room then.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import signal
import sys
import time


def asked(folder, name):
    """The words of a file, or nothing where it is not there."""
    try:
        return (folder / name).read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []


def wrap(folder, node):
    import resource

    import tensorcast as tc

    run = tc.Outputs.run

    def run_faultily(self, what, **named):
        with open(folder / "log", "a", encoding="utf-8") as log:
            log.write(f"{node} {os.getpid()} {what.file}\n")
        seconds = asked(folder, "slow")
        if seconds and seconds[1:] in ([], [node]):
            time.sleep(float(seconds[0]))
        if limit := asked(folder, "small"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit[0]), resource.RLIM_INFINITY))
        try:
            (folder / "kill").unlink()
        except FileNotFoundError:
            return run(self, what, **named)
        return run(self, what, **named, progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))

    tc.Outputs.run = run_faultily


def preload(library):
    """Begins this process anew with a library in it, which has to be there before anything else."""
    os.environ.update(LD_PRELOAD=library, TENSORCAST_FAULTS="pwrite:1+:ENOSPC")
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


package = os.environ.get("RAY_FAULTS_PACKAGE")
if any("default_worker.py" in argument for argument in sys.orig_argv) and "RAY_FAULTS" in os.environ:
    if os.environ.get("RAY_FAULTS_PRELOAD") and "LD_PRELOAD" not in os.environ:
        preload(os.environ["RAY_FAULTS_PRELOAD"])
    if package == "missing":
        sys.modules["tensorcast"] = None
    else:
        wrap(pathlib.Path(os.environ["RAY_FAULTS"]), os.environ.get("RAY_FAULTS_NODE", "?"))
        if package:
            import tensorcast
            tensorcast.ray._version = lambda: package
