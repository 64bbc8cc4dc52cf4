"""How far a run is, told to a callable or to a bar.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import ArgumentError

Progress = Callable[[int, int, str], object]


def callback(progress: Any) -> Any:
    """What is called with (bytes done, bytes in all, name) for a callable or a bar; None of None."""
    if progress is None:
        return None
    if isinstance(progress, type):
        raise ArgumentError(f"progress is a bar, and not its class: give {progress.__name__}()")
    if hasattr(progress, "update") and hasattr(progress, "total"):
        seen = 0

        def update(done: int, total: int, _: str) -> None:
            nonlocal seen
            progress.total = total
            progress.update(done - seen)
            seen = done

        return update
    if not callable(progress):
        raise ArgumentError("progress is a callable, or a bar that has total and update")
    return progress
