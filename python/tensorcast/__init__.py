"""Exact, fast casts between the 26 element types of ONNX, and what each cast loses.

    import tensorcast as tc
    small = tc.cast(weights, "float8_e4m3fn")
    tc.loss(weights, "float8_e4m3fn")

`cast` takes numpy arrays, torch tensors, JAX arrays and lists; `loss`, `explain`, `finfo`, `parse`
and `format` go with it. `open`, `load_file`, `save_file`, `inspect`, `plan`, `convert` and `diff` are for
files, and `ray` is for many machines. docs/python.md is the guide.

SPDX-License-Identifier: Apache-2.0
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import _core, errors

_core.set_errors(errors)

from . import casting  # noqa: E402  (needs the errors)
from .loss import Losses, LossReport  # noqa: E402, I001  (first: type checkers then take `loss` for the function, not the module)
from .casting import format as format  # noqa: E402, A004  (not in __all__: it is a builtin's name)
from .casting import loss, parse  # noqa: E402
from .errors import (  # noqa: E402
    ArgumentError,
    ContentsError,
    Error,
    FileError,
    InternalError,
    KindError,
    RangeError,
    UnsupportedError,
)
from .memory import result_memory  # noqa: E402
from .types import finfo, type_name, type_names  # noqa: E402

if TYPE_CHECKING:
    from . import graph, mdf, onnx, ray
    from .casting import cast
    from .conversion import Job, Plan, convert, plan
    from .diffing import Diff, DiffSide, TensorDiff, diff
    from .explaining import Explanation, explain
    from .files import Inspection, RawTensors, TensorFile, TensorInfo, inspect
    from .files import open as open  # noqa: A004  (as format)
    from .histograms import Exponents, exponents
    from .loading import load_file
    from .outputs import Outputs, Part, Unit
    from .plotting import plot_exponents, plot_loss
    from .reading import TensorSlice
    from .saving import Writer, save_file
else:
    cast = casting._quick()
    # What no cast needs is imported when it is asked for: that takes as long as all the rest.
    _LATER = {"graph": None, "mdf": None, "onnx": None, "ray": None} | {
        name: module for module, names in {
            "conversion": ("Job", "Plan", "convert", "plan"),
            "diffing": ("Diff", "DiffSide", "TensorDiff", "diff"),
            "explaining": ("Explanation", "explain"),
            "files": ("Inspection", "RawTensors", "TensorFile", "TensorInfo", "inspect", "open"),
            "histograms": ("Exponents", "exponents"),
            "loading": ("load_file",),
            "outputs": ("Outputs", "Part", "Unit"),
            "plotting": ("plot_exponents", "plot_loss"),
            "reading": ("TensorSlice",),
            "saving": ("Writer", "save_file"),
        }.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f"{__name__}.{_LATER[name] or name}")
        globals()[name] = getattr(module, name) if _LATER[name] else module
        return globals()[name]


__version__: str = _core.version


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "format", "open"])


def c_library() -> str:
    """The path of a shared library that has the C interface: the package's own extension.

    Its functions are those of tensorcast.h, flat.h, graph.h, session.h and onnx.h. It has no threads
    of its own, so `tensorcast_executor_create` returns TENSORCAST_NO_THREADS.

    Examples
    --------
    >>> import ctypes
    >>> import tensorcast as tc
    >>> ctypes.CDLL(tc.c_library()).tensorcast_abi_version()
    1
    """
    return str(_core.__file__)


__all__ = [
    "ArgumentError", "ContentsError", "Diff", "DiffSide", "Error", "Explanation", "Exponents", "FileError", "Inspection",
    "InternalError", "Job", "KindError", "LossReport", "Losses", "Outputs", "Part", "Plan", "RangeError", "RawTensors",
    "TensorDiff", "TensorFile", "TensorInfo", "TensorSlice", "Unit", "UnsupportedError", "Writer", "c_library", "cast",
    "convert", "diff", "explain", "exponents", "finfo", "graph", "inspect", "load_file", "loss", "mdf", "onnx", "parse",
    "plan", "plot_exponents", "plot_loss", "ray", "result_memory", "save_file", "type_name", "type_names",
]
