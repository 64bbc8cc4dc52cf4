"""Tells a callable how far a run is, or draws that as a bar.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

from .errors import ArgumentError
from .tables import plain

_PERIOD = 0.1  # seconds between two lines, as in the tool
_BAR = 20  # columns
_COLUMNS = 100  # if the stream does not say
_MOST_NAME = 60


class Bar(Protocol):
    """What tqdm's bars have."""

    total: Any

    def update(self, n: Any, /) -> Any: ...


# Who is told: nobody; a callable (bytes done, bytes in all, name); a bar of the caller's; for True a bar of our own.
Progress = bool | Callable[[int, int, str], object] | Bar | None


@contextmanager
def shown(progress: Progress, title: str = "") -> Iterator[Callable[[int, int, str], object] | None]:
    """What a run calls with (bytes done, bytes in all, name), or None. What was drawn is finished at the end."""
    bar = _own_bar(title) if progress is True else None
    if bar is None:
        yield None if isinstance(progress, bool) else _callback(progress)
        return
    try:
        yield bar.show
    finally:
        bar.close()


def _callback(progress: Any) -> Any:
    if progress is None:
        return None
    if isinstance(progress, type):
        raise ArgumentError(f"progress must be a bar, not its class: give {progress.__name__}()")
    if hasattr(progress, "update") and hasattr(progress, "total"):
        seen = 0

        def update(done: int, total: int, _: str) -> None:
            nonlocal seen
            progress.total = total
            progress.update(done - seen)
            seen = done

        return update
    if not callable(progress):
        raise ArgumentError("progress must be True, a callable, or a bar that has total and update")
    return progress


def _place() -> Literal["notebook", "terminal"] | None:
    """Where a bar can be drawn over and over, if anywhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and "IPKernelApp" in getattr(shell, "config", ()):
        return "notebook"
    return "terminal" if sys.stderr is not None and sys.stderr.isatty() else None


def _own_bar(title: str) -> Any:
    """A bar of tqdm's if that is installed, else a line as the tool draws it; None if nobody would see it."""
    place = _place()
    if place is None:
        return None
    stream: Any = sys.stdout if place == "notebook" else sys.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's advice to install ipywidgets: without them it draws with characters
        try:
            tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            return _Line(stream, place)
    return _Tqdm(lambda total: tqdm(total=total, unit="B", unit_scale=True, desc=plain(title) or None, file=stream))


class _Tqdm:
    """A bar of tqdm's, made once it is known how much there is to do, since a notebook's bar keeps the length it was made with."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make
        self._bar: Any = None
        self._lock = threading.Lock()  # a run may call from any thread

    def show(self, done: int, total: int, _: str) -> None:
        with self._lock:
            if self._bar is None:
                self._bar = self._make(total)
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Line:
    """One line that is drawn over: a bar, the share, the speed, the time left, and the tensor."""

    def __init__(self, stream: Any, place: Literal["notebook", "terminal"]) -> None:
        self._stream, self._place = stream, place
        self._lock = threading.Lock()  # as above
        self._began = self._drawn_at = time.monotonic()
        self._width = 0  # how much of the line is drawn on

    def show(self, done: int, total: int, name: str) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._drawn_at >= _PERIOD or (done == total and self._place == "notebook"):
                self._drawn_at = now
                self._draw(_line(done, total, now - self._began, name))

    def close(self) -> None:
        """In a notebook the last line stays; in a terminal it is cleared for what is printed next."""
        with self._lock:
            if self._place == "notebook" and self._width:
                self._stream.write("\n")
            elif self._width:
                self._draw("")
                self._stream.write("\r")
            self._width = 0
            self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError, AttributeError):  # a notebook's
            return _COLUMNS

    def _draw(self, line: str) -> None:
        line = line[:self._columns() - 1]
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)


def _line(done: int, total: int, seconds: float, name: str) -> str:
    share = done / total if total else 1.0
    full = int(share * _BAR)
    speed = done / seconds if seconds > 0 else 0.0
    parts = ["━" * full + "┄" * (_BAR - full) + f" {100 * share:3.0f} %", f"{_bytes(done)} of {_bytes(total)}"]
    if speed > 0:
        parts.append(f"{_bytes(speed)}/s")
        left = round((total - done) / speed)
        if done < total:
            hours, minutes = divmod(left // 60, 60)
            parts.append((f"{hours}:{minutes:02}" if hours else f"{minutes}") + f":{left % 60:02} left")
    text = plain(name)
    parts.append(text if len(text) <= _MOST_NAME else "…" + text[1 - _MOST_NAME:])
    return "  ".join(parts)


def _bytes(count: float) -> str:
    """A number of bytes as the tool says it: 1.5 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
