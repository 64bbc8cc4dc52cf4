"""ONNX models: needless Casts are taken out, and ONNX's own interfaces run models
(`tensorcast.graph.Session.load` runs them, too).

`optimize` needs nothing else; `Backend` and `cast_ops` need the package onnx
(``pip install tensorcast[onnx]``).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..models import OptimizeReport, ValueInfo, optimize

if TYPE_CHECKING:
    from .backend import Backend, BackendOfTests, cast_ops

__all__ = ["Backend", "BackendOfTests", "OptimizeReport", "ValueInfo", "cast_ops", "optimize"]


def __getattr__(name: str) -> Any:  # what imports onnx is not imported before it is asked for
    if name in ("Backend", "BackendOfTests", "cast_ops"):
        from . import backend

        return getattr(backend, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
