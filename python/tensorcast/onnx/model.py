"""`Model`, which runs, and `optimize`.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core, arrays
from ..arguments import flag, path_text, says_nearest
from ..errors import ArgumentError, KindError, UnsupportedError

__all__ = ["Model", "OptimizeReport", "ValueInfo", "optimize"]


@dataclass(frozen=True)
class ValueInfo:
    """An input or an output: `shape` has None for sizes that are not known, and is None where the
    rank is not."""

    name: str
    type: str
    shape: tuple[int | None, ...] | None
    has_default: bool


def value_infos(core: Any) -> list[ValueInfo]:
    return [ValueInfo(name, str(_core.type_row(number)["name"]), shape, has_default)
            for name, number, shape, has_default in core]


def source_of(model: Any) -> str | bytes:
    """A path as str, a ModelProto's bytes, or those of an onnx.ModelProto."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "SerializeToString"):
        return bytes(model.SerializeToString())
    path = path_text(model, "a model, where it is neither bytes nor an onnx.ModelProto,")
    if _core.is_mdf_file(path):
        raise UnsupportedError(f"{path} is a model of MDF: tensorcast.mdf.load gives its graph")
    return path


def ordered_tensors(given: Any, infos: list[ValueInfo], what: str) -> list[Any]:
    """Arrays by name or in order, as the extension takes them, one for each; None where one is left
    out."""
    names = [info.name for info in infos]
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ArgumentError(f"there is no {what} {unknown[0]!r}: there are {names}")
        listed = [given.get(name) for name in names]
    elif not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        raise KindError(f"{what}s are a mapping of names or a sequence")
    elif len(given) > len(names):
        raise ArgumentError(f"{len(given)} {what}s were given, and there are {len(names)}")
    else:
        listed = [*given, *[None] * (len(names) - len(given))]
    return [None if x is None else arrays.tensor(x) for x in listed]


class Model:
    """A loaded model, checked whole; any number of threads may run it.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        External data is read for a path alone.
    optimize : bool
        Run it without the Casts that `optimize` takes out.
    contradictions : {"text", "tests"}
        Which side is taken where an operator's text and the official tests of its opset contradict
        each other.
    allow_hard_links : bool
        Of files that hold the model's data.

    Attributes
    ----------
    inputs, outputs : list of ValueInfo
    profile : list of dict
        Of the last run that was asked for it, a dict for each node.

    Raises
    ------
    FileError, ContentsError, UnsupportedError
        It cannot be read; it is no valid model; it has another operator.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> graph = tc.graph.Graph()
    >>> x = graph.add_input("x", "float32", [None])
    >>> graph.mark_output(graph.cast(x, "float8_e4m3fn"), "y")
    >>> model = tc.onnx.Model(graph.serialize())
    >>> print(model.run({"x": np.float32([0.1, 512])})["y"])
    [0.101562 448]
    """

    def __init__(self, model: Any, *, optimize: bool = False, contradictions: str = "text",
                 allow_hard_links: bool = False) -> None:
        if contradictions not in ("text", "tests"):
            raise ArgumentError("contradictions is 'text' or 'tests'")
        self._core = _core.Model(source_of(model), contradictions == "tests",
                                 flag(allow_hard_links, "allow_hard_links"),
                                 flag(optimize, "optimize"))
        self.inputs = value_infos(self._core.inputs())
        self.outputs = value_infos(self._core.outputs())
        self.profile: list[dict[str, Any]] = []

    @property
    def opset(self) -> int:
        """Of ai.onnx."""
        return int(self._core.opset())

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], *, threads: int | None = None,
            profile: bool = False) -> dict[str, Any]:
        """Runs it on arrays, as `cast` takes them, by name or in order.

        Inputs that are left out, or None, take their defaults. With ``profile=True`` the attribute
        `profile` then says what each node took.

        Returns
        -------
        dict of str to numpy.ndarray
            Narrow elements one to a byte, strings as object.

        Raises
        ------
        ArgumentError
            An input is missing or of another type, or a name is none; a text is no number.
        KindError
        """
        tensors = ordered_tensors(inputs, self.inputs, "input")
        outputs, took = self._core.run(tensors, arrays.thread_count(threads),
                                       flag(profile, "profile"))
        if profile:
            self.profile = took
        return {info.name: array for info, array in zip(self.outputs, outputs, strict=True)}


@dataclass(frozen=True)
class OptimizeReport:
    """What `optimize` did; docs/optimize.md has the rules.

    `removed` has a dict for each node: rule, op_type, node, output, graph, from_type, to_type.
    `kept` counts Casts that stay although a rule speaks of them, by the reason, with the
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


@says_nearest
def optimize(model: Any, output: str | os.PathLike[str] | None = None, *, fold_all: bool = False,
             nan_payloads_may_change: bool = False, overwrite: bool = False,
             allow_hard_links: bool = False) -> Any:
    """Takes out the Casts that change no bit of any output, of any model.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
    output : path
        Needed with a path, and only there.
    fold_all : bool
        Put in the model what each cast of a constant gives, even where it grows.
    nan_payloads_may_change : bool
    overwrite, allow_hard_links : bool
        As `tensorcast.convert`.

    Returns
    -------
    OptimizeReport
        Of a path. Of bytes or a ModelProto a pair: the same kind, and the report.

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
            raise ArgumentError("a model in memory is given back: leave output out")
        path = None
    data, report = _core.optimize(
        source, path, flag(fold_all, "fold_all"),
        flag(nan_payloads_may_change, "nan_payloads_may_change"), flag(overwrite, "overwrite"),
        flag(allow_hard_links, "allow_hard_links"))
    if path is not None:
        return OptimizeReport(**report)
    if hasattr(model, "SerializeToString"):
        return type(model).FromString(data), OptimizeReport(**report)
    return data, OptimizeReport(**report)
