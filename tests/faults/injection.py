"""Runs the tool under inject_faults.so, and says what became of it.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses
import os
import pathlib
import shlex
import struct
import subprocess
import sys

SECONDS_AT_MOST = 300
NO_END = -1000  # instead of an exit code: the run was given up after so long
_HEAD, _ENTRY = struct.Struct("<QQQ"), struct.Struct("<24sQ")  # struct Record of inject_faults.c

# What a function can fail with, as far as the tool may meet it: the documented errors of the call
# on a local disk, on a full one, on a network's, and under a filter of system calls.
ERRORS = {
    "open": ("EACCES", "EMFILE", "ENOMEM", "EIO", "EINTR", "ENOENT", "EROFS", "ENOSPC"),
    "close": ("late-EIO", "late-EINTR", "late-ENOSPC"),
    "read": ("EIO", "EINTR", "short", "empty"),
    "pread": ("EIO", "EINTR", "short", "empty", "ESTALE"),
    "write": ("ENOSPC", "EIO", "EINTR", "short"),
    "pwrite": ("ENOSPC", "EIO", "EDQUOT", "EFBIG", "EINTR", "short"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT", "EINTR", "EINVAL", "EROFS"),
    "syncfs": ("EIO", "ENOSPC", "EINTR", "ENOSYS", "EPERM"),
    "rename": ("EACCES", "EIO", "ENOSPC", "EPERM", "EBUSY", "EXDEV", "late-EIO"),
    "renameat2": ("EEXIST", "EINVAL", "ENOSYS", "EIO", "EPERM", "ENOSPC", "late-EIO"),
    "link": ("EPERM", "EEXIST", "EMLINK", "EOPNOTSUPP", "EIO"),
    "unlink": ("EIO", "EPERM", "EBUSY", "EROFS", "ENOENT"),
    "ftruncate": ("EIO", "EFBIG", "EINTR", "ENOSPC"),
    "fallocate": ("ENOSPC", "EOPNOTSUPP", "ENOSYS", "EINTR", "EIO", "EDQUOT", "EFBIG"),
    "stat": ("EIO", "EACCES", "ENOENT", "ENOMEM"),
    "lstat": ("EIO", "EACCES", "ENOENT", "ENOMEM"),
    "fstat": ("EIO", "ENOMEM", "ESTALE"),
    "statvfs": ("EIO", "ENOSYS", "EACCES"),
    "access": ("EACCES", "EROFS", "EIO"),
    "realpath": ("EACCES", "ENOMEM", "EIO"),
    "readlink": ("EACCES", "EINVAL", "EIO", "ENOENT"),
    "flock": ("EAGAIN", "ENOLCK", "EINTR", "ENOSYS", "EIO"),
    "opendir": ("EACCES", "EMFILE", "ENOMEM"),
    "readdir": ("EIO",),
    "mkdir": ("EACCES", "ENOSPC", "EROFS", "EEXIST"),
    "chmod": ("EPERM", "EIO", "EOPNOTSUPP"),
    "getrandom": ("ENOSYS", "EINTR", "EAGAIN"),
    "mmap": ("ENOMEM",),
    "malloc": ("ENOMEM",),
    "pthread_create": ("EAGAIN", "EPERM", "ENOMEM"),
}


@dataclasses.dataclass
class Run:
    """How a run of the tool ended. A negative code is a signal."""

    code: int
    stdout: bytes | None  # None, and of stderr: not a pipe to us
    stderr: str | None
    faults: int = 0          # that took place
    unsynced_names: int = 0  # files named before they were synced
    bytes_read: int = 0
    calls: dict = dataclasses.field(default_factory=dict)


class Injector:
    """Runs the tool in one folder; `tool` and `library` are paths."""

    def __init__(self, tool, library, folder):
        self.tool = str(pathlib.Path(tool).resolve())
        self.library = str(pathlib.Path(library).resolve())
        self.folder = str(folder)
        self.runs = 0
        self._record = os.path.join(self.folder, "record")
        self.temporary = os.path.join(self.folder, "tmp")
        os.makedirs(self.temporary, exist_ok=True)

    def _environment(self, faults, command, from_start):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("LC_", "TENSORCAST_"))}
        environment.update(LANG="C.UTF-8", TMPDIR=self.temporary, LD_PRELOAD=self.library,
                           TENSORCAST_FAULT_RECORD=self._record)
        if faults:
            environment["TENSORCAST_FAULTS"] = faults
        if command:
            environment["TENSORCAST_FAULT_COMMAND"] = command
        if from_start:
            environment["TENSORCAST_FAULT_FROM"] = "start"
        return environment

    def run(self, arguments, work, faults="", command="", from_start=False, streams=()):
        """One run of the tool with `arguments` in the folder `work`.

        `streams` are the descriptors of standard streams that are "closed", "full" or "broken" (a
        pipe that nobody reads): {1: "full"}.
        """
        self.runs += 1
        if os.path.exists(self._record):
            os.unlink(self._record)
        streams = dict(streams)
        closed = "".join(f" {number}>&-" for number, how in streams.items() if how == "closed")
        line = [self.tool, *arguments]
        if closed:
            line = ["sh", "-c", f'exec "$0" "$@"{closed}', *line]
        ends = {}
        for number, how in streams.items():
            if how == "full":
                ends[number] = os.open("/dev/full", os.O_RDWR)
            elif how == "broken":
                unread, ends[number] = os.pipe()
                os.close(unread)
        try:
            with subprocess.Popen(
                    line, cwd=work, env=self._environment(faults, command, from_start),
                    stdin=ends.get(0, subprocess.DEVNULL),
                    stdout=ends.get(1, subprocess.PIPE),
                    stderr=ends.get(2, subprocess.PIPE)) as process:
                try:
                    stdout, stderr = process.communicate(timeout=SECONDS_AT_MOST)
                    run = Run(process.returncode, stdout, stderr)
                except subprocess.TimeoutExpired:
                    process.kill()
                    run = Run(NO_END, b"", b"")
        finally:
            for end in ends.values():
                os.close(end)
        if 1 in streams:
            run.stdout = None
        run.stderr = None if 2 in streams else run.stderr.decode("utf-8", "replace")
        try:
            with open(self._record, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            sys.exit(f"{self.library} was not loaded: {self.shown(arguments, faults)}: {run}")
        run.faults, run.unsynced_names, run.bytes_read = _HEAD.unpack_from(data)
        run.calls = {name.rstrip(b"\0").decode(): calls
                     for name, calls in _ENTRY.iter_unpack(data[_HEAD.size:])}
        return run

    def shown(self, arguments, faults="", command="", from_start=False):
        """The same as a line for a shell."""
        words = [f"TENSORCAST_FAULTS={shlex.quote(faults)}"]
        if command:
            words.append(f"TENSORCAST_FAULT_COMMAND={shlex.quote(command)}")
        if from_start:
            words.append("TENSORCAST_FAULT_FROM=start")
        return " ".join([*words, f"LD_PRELOAD={self.library}", self.tool,
                         *map(shlex.quote, arguments)])
