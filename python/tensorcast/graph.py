"""Graphs of casts: built node by node or loaded, changed, saved, run, and run backward.

docs/graphs.md is the guide, of the same graphs in C++ and C.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core, arrays
from .arguments import count, flag, path_text, real, text
from .errors import ArgumentError, KindError
from .onnx.model import OptimizeReport, ValueInfo, ordered, source_of, value_infos
from .types import TypeLike

__all__ = ["Graph", "Node", "Session", "Value", "ValueDetails"]

Dimension = int | str | None
Key = int | str | None


@dataclass(frozen=True)
class Value:
    """A value of one graph: what an input, a constant or a node gives."""

    graph: int
    index: int


@dataclass(frozen=True)
class Node:
    """A node as it is; saturate to lda_coeff count where `is_cast`. An input that is left out is
    None."""

    index: int
    name: str
    op_type: str
    domain: str
    from_type: str | None
    to_type: str | None
    is_cast: bool
    saturate: bool
    round_mode: str
    training: bool
    lda_coeff: float
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value | None, ...]


@dataclass(frozen=True)
class ValueDetails:
    """A value as it is: `kind` is input, constant or result; `shape` None where the rank is not
    known, a dimension None where it is neither a size nor a name."""

    value: Value
    name: str
    type: str | None
    kind: str
    is_output: bool
    readers: int
    shape: tuple[Dimension, ...] | None


def _handle(value: Value) -> tuple[int, int]:
    if not isinstance(value, Value):
        raise KindError(f"a value of a graph is a Value, and not {type(value).__name__}")
    return count(value.graph, "a value's graph", 2**32 - 1), count(value.index, "a value's index",
                                                                   2**32 - 1)


def _node_words(saturate: Any, round_mode: Any, name: Any, output_name: Any, training: Any,
                lda_coeff: Any) -> tuple[bool, str, str, str | None, bool, float]:
    return (flag(saturate, "saturate"), text(round_mode, "round_mode"), text(name, "name"),
            None if output_name is None else text(output_name, "output_name"),
            flag(training, "training"), real(lda_coeff, "lda_coeff"))


def _values(handles: Any) -> tuple[Value | None, ...]:
    return tuple(Value(*handle) if handle[0] else None for handle in handles)


class Graph:
    """A graph under construction.

    Parameters
    ----------
    opset : int, optional
        Of ai.onnx; by default the newest that ONNX Runtime runs.
    raises_opset : bool
        Where a node needs a newer opset, take it; else the node is refused.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> graph = tc.graph.Graph()
    >>> x = graph.add_input("x", "float32", ["n"])
    >>> graph.mark_output(graph.cast(graph.cast(x, "float16"), "float32"), "y")
    >>> session = tc.graph.Session(graph, backward=True)
    >>> session.run({"x": np.float32([0.1, 65536])})["y"]
    array([0.09997559,        inf], dtype=float32)
    >>> session.backward({"y": np.float32([1, 1])})["x"]
    array([1., 1.], dtype=float32)
    """

    def __init__(self, opset: int | None = None, *, raises_opset: bool = False) -> None:
        self._core = _core.Graph(None if opset is None else count(opset, "opset"),
                                 flag(raises_opset, "raises_opset"))

    @staticmethod
    def load(model: Any, *, allow_hard_links: bool = False) -> Graph:
        """The graph of a model: a path, bytes or an onnx.ModelProto."""
        return Graph.of_core(_core.Graph.load(source_of(model), allow_hard_links))

    @staticmethod
    def of_core(core: _core.Graph) -> Graph:
        """What the extension made, as a graph."""
        graph = Graph.__new__(Graph)
        graph._core = core
        return graph

    def save(self, path: str | os.PathLike[str], *, with_training: bool = False,
             overwrite: bool = False) -> None:
        """Writes an ONNX model, whole or not at all; `with_training` keeps what nodes say of it."""
        self._core.save(path_text(path), flag(with_training, "with_training"),
                        flag(overwrite, "overwrite"))

    def serialize(self, *, with_training: bool = False) -> bytes:
        """A ModelProto's bytes."""
        return bytes(self._core.serialize(with_training))

    def optimize(self, *, fold_all: bool = False,
                 nan_payloads_may_change: bool = False) -> OptimizeReport:
        """Takes out the Casts that change no bit of any output; values of before are then none of
        it."""
        return OptimizeReport(**self._core.optimize(fold_all, nan_payloads_may_change))

    @property
    def opset(self) -> int:
        """Of ai.onnx."""
        return int(self._core.opset())

    @opset.setter
    def opset(self, opset: int) -> None:
        self._core.set_opset(count(opset, "opset"))

    def set_lowest_opset(self) -> None:
        """The oldest that has all that the nodes need."""
        self._core.set_opset(None)

    def add_input(self, name: str, type: TypeLike, shape: Sequence[Dimension] | None = None) -> Value:
        """An input; a dimension is a size, a name or None, and without `shape` the rank is
        unknown."""
        if shape is not None and (isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence)):
            raise KindError("shape is a sequence of sizes and names")
        return Value(*self._core.add_input(text(name, "a name"), _core.type_number(type), shape))

    def add_constant(self, name: str, array: Any) -> Value:
        """A constant, of any array that `tensorcast.cast` takes; it is copied."""
        return Value(*self._core.add_constant(text(name, "a name"), arrays.tensor(array)))

    def cast(self, value: Value, to: TypeLike, *, saturate: bool = True, round_mode: str = "up",
             name: str = "", output_name: str | None = None, training: bool = True,
             lda_coeff: float = 1.0) -> Value:
        """A Cast node; gives its output.

        Gradients pass it where `training`, and are multiplied by `lda_coeff` on their way back.
        """
        return Value(*self._core.add_cast(
            _handle(value), _core.type_number(to),
            *_node_words(saturate, round_mode, name, output_name, training, lda_coeff)))

    def cast_like(self, value: Value, like: Value, *, saturate: bool = True, round_mode: str = "up",
                  name: str = "", output_name: str | None = None, training: bool = True,
                  lda_coeff: float = 1.0) -> Value:
        """A CastLike node: to the type of another value."""
        return Value(*self._core.add_cast_like(
            _handle(value), _handle(like),
            *_node_words(saturate, round_mode, name, output_name, training, lda_coeff)))

    def identity(self, value: Value, *, name: str = "", output_name: str = "") -> Value:
        """An Identity node."""
        return Value(*self._core.add_identity(_handle(value), text(name, "name"),
                                              text(output_name, "output_name")))

    def mark_output(self, value: Value, name: str = "") -> None:
        """Makes a value an output of the graph, of this name or its own."""
        self._core.mark_output(_handle(value), text(name, "a name"))

    @property
    def inputs(self) -> list[Value]:
        """Its inputs, in order."""
        return [Value(*handle) for handle in self._core.inputs()]

    @property
    def outputs(self) -> list[Value]:
        """Its outputs, in order."""
        return [Value(*handle) for handle in self._core.outputs()]

    def _node(self, fields: dict[str, Any]) -> Node:
        return Node(**{**fields, "inputs": _values(fields["inputs"]),
                       "outputs": _values(fields["outputs"])})

    def nodes(self) -> list[Node]:
        """All, in the order in which they run."""
        return [self._node(fields) for fields in self._core.nodes()]

    def node(self, key: int | str) -> Node:
        """One, by its index or its name."""
        return self._node(self._core.node(key))

    def values(self) -> list[ValueDetails]:
        """Everything that flows: inputs, constants and what nodes give."""
        return [self._details(fields) for fields in self._core.values()]

    def value(self, value: Value | str) -> ValueDetails:
        """What is known of a value, by itself or its name."""
        handle = self._core.find_value(value) if isinstance(value, str) else _handle(value)
        return self._details(self._core.value(handle))

    def _details(self, fields: dict[str, Any]) -> ValueDetails:
        return ValueDetails(**{**fields, "value": Value(*fields["value"])})

    def set(self, key: Key, *, to: TypeLike = None, saturate: bool | None = None,
            round_mode: str | None = None, training: bool | None = None,
            lda_coeff: float | None = None) -> None:
        """Changes a Cast, by index or name, or with None all; what is not given stays."""
        number = None if to is None else _core.type_number(to)
        self._core.set(key, number, None if saturate is None else flag(saturate, "saturate"),
                       None if round_mode is None else text(round_mode, "round_mode"),
                       None if training is None else flag(training, "training"),
                       None if lda_coeff is None else real(lda_coeff, "lda_coeff"))

    def rename_node(self, key: int | str, name: str) -> None:
        """Gives a node another name; raises `ArgumentError` where one has it."""
        self._core.rename_node(key, text(name, "a name"))

    def rename_value(self, value: Value, name: str) -> None:
        """Gives a value another name, which is an input's or output's own; raises `ArgumentError`
        where one has it."""
        self._core.rename_value(_handle(value), text(name, "a name"))

    def remove_node(self, key: int | str) -> None:
        """Removes a node, and the values that it gives, which nothing reads."""
        self._core.remove_node(key)

    def summary(self, *, csv: bool = False) -> str:
        """A line for each node."""
        return str(self._core.summary(csv))

    def __repr__(self) -> str:
        return f"<Graph: opset {self.opset}, {len(self.nodes())} nodes>"


class Session:
    """A graph made ready to run; it does not change with the graph.

    Parameters
    ----------
    graph : Graph
    backward : bool
        `backward` may be called.
    differentiable : {"usual", "wide"}
        Types that have derivatives: float16, float32, float64 and bfloat16, or the narrower floats
        too.
    gives_zeros : bool
        An input that no gradient reaches gets one of zeros, not None.
    """

    def __init__(self, graph: Graph, *, backward: bool = False, differentiable: str = "usual",
                 gives_zeros: bool = False) -> None:
        if differentiable not in ("usual", "wide"):
            raise ArgumentError("differentiable is 'usual' or 'wide'")
        if not isinstance(graph, Graph):
            raise KindError(f"a session is of a Graph, and not of {type(graph).__name__}")
        self._core = _core.Session(graph._core, backward, differentiable == "wide", gives_zeros)
        self._lock = threading.Lock()  # a session is run by one thread at a time
        self.inputs: list[ValueInfo] = value_infos(self._core.inputs())
        self.outputs: list[ValueInfo] = value_infos(self._core.outputs())
        self.profile: list[dict[str, Any]] = []

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], *,
            outputs: Sequence[str] | None = None, threads: int | None = None,
            profile: bool = False) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Runs it on arrays, by name or in order; only what `outputs` need, where they are named.

        With ``profile=True`` the attribute `profile` then says what each node took.
        """
        names = [info.name for info in self.outputs]
        if isinstance(outputs, (str, bytes)):
            raise KindError("outputs are a sequence of names, and not one")
        wanted = names if outputs is None else list(outputs)
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise ArgumentError(f"there is no output {unknown[0]!r}: there are {names}")
        given = ordered(inputs, self.inputs, "input")
        tensors = [None if x is None else arrays.tensor(x) for x in given]
        with self._lock:
            made, took = self._core.run(tensors, [names.index(name) for name in wanted],
                                        arrays.thread_count(threads), profile)
            if profile:
                self.profile = took
        return dict(zip(wanted, made, strict=True))

    def backward(self, gradients: Mapping[str, Any] | Sequence[Any], *, threads: int | None = None,
                 ) -> dict[str, np.ndarray[Any, np.dtype[Any]] | None]:
        """Gradients of the inputs, of those of outputs, after a run; None: none reaches it.

        docs/graphs.md has the rule.
        """
        given = ordered(gradients, self.outputs, "gradient")
        tensors = [None if x is None else arrays.tensor(x) for x in given]
        with self._lock:
            made = self._core.backward(tensors, arrays.thread_count(threads))
        return {info.name: array for info, array in zip(self.inputs, made, strict=True)}
