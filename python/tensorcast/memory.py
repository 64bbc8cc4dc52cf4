"""The memory of large results, which is kept for the next one.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from . import _core
from .arguments import count, says_nearest


@says_nearest
def result_memory(limit: int | None = None) -> dict[str, int]:
    """Says how much memory of past results is kept for new ones, and limits it.

    The system takes longer to zero new pages than a cast takes to fill them. So the memory of a result of
    512 KiB or more, once nothing holds it any more, is kept for the next result of about its size, be it
    numpy's, torch's or JAX's. If there is too much of it, the oldest goes back to the system. Memory on
    huge pages, and what is kept beyond 512 MiB, the system may take back when it needs it.

    Parameters
    ----------
    limit : int, optional
        Keep at most so many bytes from now on; what is more goes back at once, and 0 keeps none. At the
        start the limit is TENSORCAST_RESULT_MEMORY of the environment, else 1 GiB, but at most a sixteenth
        of the memory of the machine, or of the container if its control groups have a limit.

    Returns
    -------
    dict
        "limit" and "kept", in bytes.

    Raises
    ------
    ArgumentError, KindError
        The limit is negative, or not an int.

    Examples
    --------
    >>> import tensorcast as tc
    >>> before = tc.result_memory()["limit"]
    >>> tc.result_memory(limit=0)
    {'limit': 0, 'kept': 0}
    >>> tc.result_memory(limit=before)["kept"]
    0
    """
    if limit is not None:
        _core.set_kept_limit(count(limit, "limit"))
    return {"limit": _core.kept_limit(), "kept": _core.kept_bytes()}
