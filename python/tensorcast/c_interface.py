"""Where the C interface is, for `ctypes`, `cffi` and others.

SPDX-License-Identifier: Apache-2.0
"""

from . import _core

__all__ = ["c_library"]


def c_library() -> str:
    """The path of a shared library that has the C interface: the package's own extension.

    Its functions are those of tensorcast.h, flat.h, graph.h, session.h and onnx.h. It has no threads
    of its own: `tensorcast_executor_create` gives TENSORCAST_NO_THREADS.

    Examples
    --------
    >>> import ctypes
    >>> import tensorcast as tc
    >>> ctypes.CDLL(tc.c_library()).tensorcast_abi_version()
    1
    """
    return str(_core.__file__)
