"""The memory of large results, which is kept for the next one.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from . import _core
from .arguments import count, says_nearest


@says_nearest
def result_memory(limit: int | None = None) -> dict[str, int]:
    """How much memory of results that were given back is kept for the next, and may be.

    The system's zeroing of new pages takes longer than a cast of them. So the memory of a result of
    512 KiB or more, when nothing holds that any more, is kept for the next result of about its size,
    numpy's, torch's and JAX's alike; the oldest goes back to the system where there is too much. What
    is on huge pages, or kept beyond 512 MiB, the system may take when it needs it.

    Parameters
    ----------
    limit : int, optional
        From now on so many bytes are kept at most; what is more goes back at once. 0 keeps none. At
        the start it is what the environment's TENSORCAST_RESULT_MEMORY says, else 4 GiB, at most an
        eighth of the machine's memory.

    Returns
    -------
    dict
        "limit" and "kept", in bytes.

    Raises
    ------
    ArgumentError, KindError
        A limit that is negative, or no int.

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
