"""Exact, fast casts between the 26 element types of ONNX, and what each cast loses.

    import tensorcast as tc
    small = tc.cast(weights, "float8_e4m3fn")
    tc.loss(weights, "float8_e4m3fn")

`cast` takes numpy arrays, torch tensors, JAX arrays and lists; `loss`, `finfo`, `parse` and
`format` go with it. docs/python.md is the guide.

SPDX-License-Identifier: Apache-2.0
"""

from . import _core, errors

_core.set_errors(errors)

from . import casting  # noqa: E402  (needs the errors)
from .errors import (  # noqa: E402
    ArgumentError,
    ContentsError,
    Error,
    FileError,
    KindError,
    RangeError,
    UnsupportedError,
)
from .loss import LossReport, loss  # noqa: E402
from .texts import format, parse  # noqa: E402
from .types import finfo, type_name, type_names  # noqa: E402

cast = casting._quick()
__version__: str = _core.version

__all__ = [
    "ArgumentError", "ContentsError", "Error", "FileError", "KindError", "LossReport",
    "RangeError", "UnsupportedError", "cast", "finfo", "format", "loss", "parse", "type_name",
    "type_names",
]
