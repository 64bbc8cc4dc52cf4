"""Outputs of a plan that several processes write together: one begins and commits them, the others join.
docs/many_machines.md says what is promised of them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from . import _core, arrays
from .arguments import flag
from .errors import ArgumentError, KindError
from .loss import Losses, LossReport
from .progress import Progress

UNIT_BYTES = 256 << 20

Range = tuple[int, int, int]


@dataclass(frozen=True)
class Unit:
    """A part of a plan that one process does at once: ranges of jobs of one file of an output.

    Attributes
    ----------
    file : str
        The path of the file; in an output that is a directory, one of its shards.
    part, parts : int
        Which unit of this file it is, counted from 0, and how many the file has.
    nbytes : int
        How many bytes of the input's tensors it covers.
    for_creator : bool
        Only the process that began the outputs can do it: it has strings.
    ranges : tuple of (int, int, int)
        For each range the index of a job in `Plan.jobs`, its first element, and how many.
    """

    file: str
    part: int
    parts: int
    nbytes: int
    for_creator: bool
    ranges: tuple[Range, ...]

    @property
    def name(self) -> str:
        """What to call it: "model-00002-of-00004.safetensors", or with its part, "... (3 of 5)"."""
        file = os.path.basename(self.file)
        return file if self.parts == 1 else f"{file} ({self.part + 1} of {self.parts})"


@dataclass(frozen=True)
class Part:
    """What `Outputs.run` returns: which ranges were run, and what they lost. `Outputs.commit` takes it, also in
    another process, since it can be pickled.

    Attributes
    ----------
    ranges : tuple of (int, int, int)
    losses : tuple of (int, LossReport), or None
        For each range of a cast of numbers, the index of its job and a report; None if nothing was measured.
    """

    ranges: tuple[Range, ...]
    losses: tuple[tuple[int, LossReport], ...] | None


class PlanOfOutputs(Protocol):
    """What `Outputs` asks of a `Plan`."""

    _core: Any
    jobs: list[Any]

    def _teller(self, progress: Progress) -> AbstractContextManager[Any]: ...


class Outputs:
    """Outputs that were begun and are not committed yet, from `Plan.begin` or `Plan.join`.

    Use them in a ``with``: they are closed at its end, whatever happens. What was begun here and not
    committed is then removed; what was joined is left to the process that began it.

    Attributes
    ----------
    handle : str
        A short text by which another process can `Plan.join`. It raises UnsupportedError for outputs that
        one process has to write: .npz files and models.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "a.npy", np.linspace(0, 1, 100_000, dtype=np.float32))
    >>> plan = tc.plan(folder / "a.npy", folder / "b.npy", to="float16")
    >>> with plan.begin() as outputs:
    ...     parts = [outputs.run(unit) for unit in plan.units(most_bytes=200_000)]
    ...     losses = outputs.commit(parts)
    >>> len(parts), losses["a"].elements
    (3, 100000)
    """

    def __init__(self, plan: PlanOfOutputs, core: Any, lock: threading.Lock) -> None:
        self._plan = plan
        self._core = core
        self._lock = lock  # the plan's, which one thread runs at a time
        self._process = os.getpid()
        self._handle: str | None = None

    @property
    def handle(self) -> str:
        if self._handle is None:
            core = self._open()
            with self._lock:
                self._handle = str(core.share())
        return self._handle

    def run(self, what: Unit | Iterable[Range], *, loss: bool = True, threads: int | None = None,
            progress: Progress = None) -> Part:
        """Reads, casts and writes a unit or ranges. They may be run again, which writes the same bytes.

        When it returns, the bytes are on their disk.

        Parameters
        ----------
        what : Unit or iterable of (job, first, elements)
            A range begins and ends at a multiple of 1,024 elements, or at the end of its job.
        loss, threads, progress
            As in `Plan.run`.

        Returns
        -------
        Part
            For `commit`, there or in another process.

        Raises
        ------
        ArgumentError
            There is no such range.
        FileError, ContentsError, UnsupportedError
            A file is refused; also if outputs that were joined have been committed or removed since.
        KeyboardInterrupt
            At Ctrl-C.
        """
        ranges = what.ranges if isinstance(what, Unit) else _ranges(what)
        asked = arrays.thread_count(threads)
        measures = flag(loss, "loss")
        core = self._open()
        with self._plan._teller(progress) as tell, self._lock:
            losses = core.run(list(ranges), measures, asked, tell)
        found = tuple((job, LossReport(meter, gain_db)) for job, meter, gain_db in losses)
        return Part(ranges, found if measures else None)

    def commit(self, parts: Iterable[Part]) -> Losses:
        """Gives the outputs their names, once every range of every job was run and is in `parts`.

        Parameters
        ----------
        parts : iterable of Part
            What `run` returned here and in the processes that joined, in any order, with each range once.

        Returns
        -------
        Losses
            As in `Plan.run`, merged from the parts; empty if nothing was measured.

        Raises
        ------
        ArgumentError
            An element of a job is in no part, or in two; or these outputs were joined.
        FileError
            An input was rewritten meanwhile, or the system refuses the name.
        """
        given = list(parts)
        for part in given:
            if not isinstance(part, Part):
                raise KindError(f"parts must be what Outputs.run returns, not {type(part).__name__}")
        if len({part.losses is None for part in given}) > 1:
            raise ArgumentError("the loss of some parts was measured, and that of others was not")
        core = self._open()
        with self._lock:
            self._check_whole(given)
            core.commit()
        self.close()
        return self._merged(given)

    def close(self) -> None:
        """Removes what was begun and is not committed. A second call does nothing."""
        core, self._core = self._core, None
        if core is not None and os.getpid() == self._process:
            with self._lock:
                core.close()

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Any:
        if self._core is None:
            raise ArgumentError("these outputs are closed: begin or join others")
        if os.getpid() != self._process:
            raise ArgumentError("these outputs are another process's: join them in this one, by their handle")
        return self._core

    def _check_whole(self, parts: list[Part]) -> None:
        found: dict[int, list[tuple[int, int]]] = {}
        for part in parts:
            for job, first, elements in part.ranges:
                found.setdefault(job, []).append((first, elements))
        whole = [each for unit in _core.units(self._plan._core, 2**63 - 1) for each in unit[-1]]
        for job, _, elements in whole:
            at = 0
            for first, some in [*sorted(found.get(job, [])), (elements, 0)]:
                if first != at:
                    where = "two parts" if first < at else "no part: run its unit too"
                    raise ArgumentError(f"{self._plan.jobs[job].name!r}: element {min(first, at)} is in {where}")
                at += some

    def _merged(self, parts: list[Part]) -> Losses:
        merged: dict[int, LossReport] = {}
        for job, report in (loss for part in parts for loss in part.losses or ()):
            merged[job] = merged[job].merge(report) if job in merged else report
        return Losses({self._plan.jobs[job].name: merged[job] for job in sorted(merged)})


def _ranges(given: Iterable[Range]) -> tuple[Range, ...]:
    try:
        ranges = tuple((int(job), int(first), int(elements)) for job, first, elements in given)
    except (TypeError, ValueError):
        raise KindError("ranges must be a Unit's, or triples of a job, its first element and how many") from None
    if any(not 0 <= number < 2**63 for each in ranges for number in each):
        raise ArgumentError("the numbers of a range must not be negative, nor 2**63 or more")
    return ranges
