"""`optimize`, and what every function needs that takes a model and arrays for its inputs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, arrays, tables
from .arguments import flag, path_text, says_nearest
from .errors import ArgumentError, KindError, UnsupportedError

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]


@dataclass(frozen=True)
class ValueInfo:
    """An input or an output. `shape` has None for sizes that are not known, and is None if the rank is not
    known.
    """

    name: str
    type: str
    shape: tuple[int | None, ...] | None
    has_default: bool


def source_of(model: Any) -> str | bytes:
    """A path as str, a ModelProto's bytes, or those of an onnx.ModelProto."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "SerializeToString"):
        return bytes(model.SerializeToString())
    path = path_text(model, "a model that is neither bytes nor an onnx.ModelProto")
    if _core.is_mdf_file(path):
        raise UnsupportedError(f"{path} is a model of MDF: tensorcast.mdf.load gives its graph")
    return path


def ordered_tensors(given: Any, infos: list[ValueInfo], what: str) -> list[Any]:
    """Arrays that are given by name or in order, one for each, as the extension takes them; None for those
    that are left out.
    """
    names = [info.name for info in infos]
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ArgumentError(f"there is no {what} {unknown[0]!r}: there are {names}")
        listed = [given.get(name) for name in names]
    elif not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        raise KindError(f"{what}s must be a mapping of names or a sequence")
    elif len(given) > len(names):
        raise ArgumentError(f"{len(given)} {what}s were given, and there are {len(names)}")
    else:
        listed = [*given, *[None] * (len(names) - len(given))]
    return [None if x is None else arrays.tensor(x) for x in listed]


_REMOVED = ("rule", "op_type", "node", "output", "graph", "from_type", "to_type")


@dataclass(frozen=True)
class OptimizeReport:
    """What `optimize` did; docs/optimize.md has the rules.

    `removed` has a dict for each node that was removed: rule, op_type, node, output, graph, from_type,
    to_type. `kept` counts the Casts that stay although a rule covers them, by the reason, which names the
    option that would let them go.
    """

    removed: list[dict[str, Any]]
    kept: dict[str, int]
    untouched: str
    nodes_before: int
    nodes_after: int
    casts_before: int
    casts_after: int
    bytes_moved_before: int
    bytes_moved_after: int
    model_bytes_before: int
    model_bytes_after: int
    casts_rerouted: int
    notes: list[str]

    def to_frame(self) -> pd.DataFrame:
        """The nodes that were removed as a pandas.DataFrame, with the members of `removed`.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return tables.frame({name: [each[name] for each in self.removed] for name in _REMOVED})

    def _repr_html_(self) -> str:
        counted = [(name, getattr(self, f"{key}_before"), getattr(self, f"{key}_after")) for name, key in
                   (("nodes", "nodes"), ("casts", "casts"), ("bytes moved", "bytes_moved"), ("bytes of the model", "model_bytes"))]
        rows = ([each[name] for name in _REMOVED] for each in self.removed)
        kept = [tables.line(f"{count:,} kept: {why}") for why, count in self.kept.items()]
        return tables.page(tables.table("What optimize did", ["", ">before", ">after"], counted, len(counted)), *kept,
                           tables.table("Removed", [name.replace("_", " ") for name in _REMOVED], rows, len(self.removed)),
                           *map(tables.line, self.notes))


@says_nearest
def optimize(model: Any, output: str | os.PathLike[str] | None = None, *, fold_all: bool = False,
             nan_payloads_may_change: bool = False, overwrite: bool = False,
             allow_hard_links: bool = False) -> Any:
    """Takes out of any model the Casts that change no bit of any output.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
    output : path
        Where to write the model; required if `model` is a path, and only then.
    fold_all : bool
        Put the result of each cast of a constant into the model, even if that makes it larger.
    nan_payloads_may_change : bool
        Also take out Casts that change no more than the payload of a NaN.
    overwrite, allow_hard_links : bool
        As in `tensorcast.convert`.

    Returns
    -------
    OptimizeReport
        If `model` is bytes or a ModelProto, a pair: a model of the same kind, and the report.

    Raises
    ------
    ArgumentError
        `output` is missing or needless, or exists.
    FileError, ContentsError, UnsupportedError

    Examples
    --------
    >>> import tensorcast as tc
    >>> graph = tc.graph.Graph()
    >>> x = graph.add_input("x", "int8")
    >>> graph.mark_output(graph.cast(graph.cast(x, "float16"), "float32"), "y")
    >>> smaller, report = tc.onnx.optimize(graph.serialize())
    >>> report.casts_before, report.casts_after
    (2, 1)
    """
    source = source_of(model)
    if isinstance(source, str):
        if output is None:
            raise ArgumentError("a model in a file is written to another: give output")
        path: str | None = path_text(output, "output")
    else:
        if output is not None:
            raise ArgumentError("a model in memory is returned: leave output out")
        path = None
    data, report = _core.optimize(
        source, path, flag(fold_all, "fold_all"),
        flag(nan_payloads_may_change, "nan_payloads_may_change"), flag(overwrite, "overwrite"),
        flag(allow_hard_links, "allow_hard_links"))
    if path is not None:
        return OptimizeReport(*report)
    made = type(model).FromString(data) if hasattr(model, "SerializeToString") else data
    return made, OptimizeReport(*report)
