"""A `Graph` of casts is built node by node or loaded, changed and saved here.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .. import _core, arrays, tables
from ..arguments import count, flag, path_text, real, text
from ..errors import KindError
from ..models import OptimizeReport, source_of
from ..signatures import RoundMode
from ..types import TypeLike
from . import drawing

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

Dimension = int | str | None
Key = int | str | None


@dataclass(frozen=True)
class Value:
    """A value of one graph: an input, a constant or what a node gives."""

    graph: int
    index: int


@dataclass(frozen=True)
class Node:
    """A node as it is now. The members from `saturate` to `lda_coeff` count only if `is_cast`. An input that
    is left out is None.
    """

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
    """A value as it is now. `kind` is input, constant or result. `shape` is None if the rank is not known,
    and a dimension is None if it has neither a size nor a name.
    """

    value: Value
    name: str
    type: str | None
    kind: str
    is_output: bool
    readers: int
    shape: tuple[Dimension, ...] | None


def _handle(value: Value) -> tuple[int, int]:
    if not isinstance(value, Value):
        raise KindError(f"a value of a graph must be a Value, not {type(value).__name__}")
    return count(value.graph, "a value's graph", 2**32 - 1), count(value.index, "a value's index",
                                                                   2**32 - 1)


def _node_words(saturate: Any, round_mode: Any, name: Any, output_name: Any, training: Any,
                lda_coeff: Any) -> tuple[bool, str, str, str | None, bool, float]:
    return (flag(saturate, "saturate"), text(round_mode, "round_mode"), text(name, "name"),
            None if output_name is None else text(output_name, "output_name"),
            flag(training, "training"), real(lda_coeff, "lda_coeff"))


def _values(handles: Any) -> tuple[Value | None, ...]:
    return tuple(Value(*handle) if handle[0] else None for handle in handles)


def _node(fields: tuple[Any, ...]) -> Node:
    return Node(*fields[:-2], *map(_values, fields[-2:]))


def _details(fields: tuple[Any, ...]) -> ValueDetails:
    return ValueDetails(Value(*fields[0]), *fields[1:])


def _shape_text(shape: tuple[Dimension, ...] | None) -> str:
    return "" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _options(node: Node) -> str:
    """The options of a cast that differ from the usual ones."""
    if not node.is_cast:
        return ""
    usual = {"saturate": True, "round_mode": "up", "training": True, "lda_coeff": 1.0}
    given = {name: getattr(node, name) for name in usual}
    return ", ".join(f"{name}={value}" for name, value in given.items() if value != usual[name])


class Graph:
    """A graph under construction.

    Parameters
    ----------
    opset : int, optional
        The opset of ai.onnx; by default the newest that ONNX Runtime runs.
    raises_opset : bool
        If a node needs a newer opset, take that; if False, the node is refused.

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
        """Makes a graph from a model.

        Parameters
        ----------
        model, allow_hard_links
            As in `Session.load`, which raises the same.

        Examples
        --------
        >>> import tensorcast as tc
        >>> graph = tc.graph.Graph(25)
        >>> graph.mark_output(graph.cast(graph.add_input("x", "float32"), "int8"), "y")
        >>> tc.graph.Graph.load(graph.serialize())
        <Graph: opset 25, 1 nodes>
        """
        return Graph._of_core(_core.Graph.load(source_of(model),
                                               flag(allow_hard_links, "allow_hard_links")))

    @staticmethod
    def _of_core(core: _core.Graph) -> Graph:
        graph = Graph.__new__(Graph)
        graph._core = core
        return graph

    def save(self, path: str | os.PathLike[str], *, with_training: bool = False,
             overwrite: bool = False) -> None:
        """Writes an ONNX model, whole or not at all.

        Parameters
        ----------
        path : path
        with_training : bool
            Keep the nodes' `training` and `lda_coeff`, as metadata.
        overwrite : bool
            Replace a file that exists.

        Raises
        ------
        ArgumentError
            The file exists, or the graph has no output.
        FileError
        """
        self._core.save(path_text(path), flag(with_training, "with_training"),
                        flag(overwrite, "overwrite"))

    def serialize(self, *, with_training: bool = False) -> bytes:
        """Returns a ModelProto's bytes; raises `ArgumentError` if the graph has no output."""
        return bytes(self._core.serialize(flag(with_training, "with_training")))

    def optimize(self, *, fold_all: bool = False,
                 nan_payloads_may_change: bool = False) -> OptimizeReport:
        """Takes out the Casts that change no bit of any output.

        The graph is made anew by this: a `Value` from before no longer belongs to it.

        Parameters
        ----------
        fold_all : bool
            Keep the result of each cast of a constant, even if it takes more bytes.
        nan_payloads_may_change : bool
            Also take out Casts that change no more than the payload of a NaN.

        Returns
        -------
        OptimizeReport

        Raises
        ------
        ArgumentError
            The graph has no output.

        Examples
        --------
        >>> import tensorcast as tc
        >>> graph = tc.graph.Graph()
        >>> x = graph.add_input("x", "int8")
        >>> graph.mark_output(graph.cast(graph.cast(x, "float16"), "float32"), "y")
        >>> report = graph.optimize()
        >>> report.casts_before, report.casts_after
        (2, 1)
        """
        return OptimizeReport(*self._core.optimize(
            flag(fold_all, "fold_all"), flag(nan_payloads_may_change, "nan_payloads_may_change")))

    @property
    def opset(self) -> int:
        """The opset of ai.onnx. Setting it raises `ArgumentError` if a node needs another one."""
        return int(self._core.opset())

    @opset.setter
    def opset(self, opset: int) -> None:
        self._core.set_opset(count(opset, "opset"))

    def set_lowest_opset(self) -> None:
        """Sets the oldest opset that has all that the nodes need."""
        self._core.set_lowest_opset()

    def add_input(self, name: str, type: TypeLike, shape: Sequence[Dimension] | None = None) -> Value:
        """Adds an input.

        Parameters
        ----------
        name : str
        type : type
            As in `tensorcast.cast`.
        shape : sequence of int, str or None, optional
            Sizes, names of sizes, and None for sizes that are not known. By default the rank is not known.
            A cast takes every shape, so a run may give another one.

        Returns
        -------
        Value

        Raises
        ------
        ArgumentError
            The name is taken, the type is unknown, or a size is negative.
        KindError
        """
        if shape is not None and (isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence)):
            raise KindError("shape must be a sequence of sizes and names")
        return Value(*self._core.add_input(text(name, "a name"), _core.type_number(type), shape))

    def add_constant(self, name: str, array: Any) -> Value:
        """Adds a constant.

        Parameters
        ----------
        name : str
        array : array_like
            Whatever `tensorcast.cast` takes; it is copied.

        Returns
        -------
        Value

        Raises
        ------
        ArgumentError
            The name is taken.
        KindError
            It is a kind of array that is not taken.
        """
        return Value(*self._core.add_constant(text(name, "a name"), arrays.tensor(array)))

    def cast(self, value: Value, to: TypeLike, *, saturate: bool = True, round_mode: RoundMode = "up",
             name: str = "", output_name: str | None = None, training: bool = True,
             lda_coeff: float = 1.0) -> Value:
        """Adds a Cast node.

        Parameters
        ----------
        value : Value
            A value of this graph.
        to : type
        saturate : bool
            For float8 types: numbers beyond the largest one become it.
        round_mode : {"up", "down", "nearest"}
            For float8e8m0.
        name, output_name : str, optional
            By default the operator's name and a number.
        training : bool
            Gradients pass the node on their way back; if False, they stop at it.
        lda_coeff : float
            What gradients are multiplied by on their way back.

        Returns
        -------
        Value
            The node's output, of the input's shape.

        Raises
        ------
        ArgumentError
            The value belongs to another graph, a name is taken, or the graph's opset does not have the type
            or an option.
        """
        words = _node_words(saturate, round_mode, name, output_name, training, lda_coeff)
        return Value(*self._core.add_cast(_handle(value), _core.type_number(to), words))

    def cast_like(self, value: Value, like: Value, *, saturate: bool = True, round_mode: RoundMode = "up",
                  name: str = "", output_name: str | None = None, training: bool = True,
                  lda_coeff: float = 1.0) -> Value:
        """Adds a CastLike node, which casts to the type of another value.

        Parameters
        ----------
        value, like : Value
            Values of this graph.
        saturate, round_mode, name, output_name, training, lda_coeff
            As in `cast`.

        Returns
        -------
        Value
            The node's output, of the shape of `value`.

        Raises
        ------
        ArgumentError
            As in `cast`.

        Examples
        --------
        >>> import numpy as np
        >>> import tensorcast as tc
        >>> graph = tc.graph.Graph()
        >>> like = graph.add_constant("like", np.int8([0]))
        >>> graph.value(graph.cast_like(graph.add_input("x", "float32"), like)).type
        'int8'
        """
        words = _node_words(saturate, round_mode, name, output_name, training, lda_coeff)
        return Value(*self._core.add_cast_like(_handle(value), _handle(like), words))

    def identity(self, value: Value, *, name: str = "", output_name: str = "") -> Value:
        """Adds an Identity node and returns its output. Raises `ArgumentError` as `cast` does."""
        return Value(*self._core.add_identity(_handle(value), text(name, "name"),
                                              text(output_name, "output_name")))

    def mark_output(self, value: Value, name: str = "") -> None:
        """Makes a value an output of the graph.

        Parameters
        ----------
        value : Value
            A value of this graph.
        name : str
            By default the value's own name. A value that is already an output, or an input, gets an
            Identity for a second name.

        Raises
        ------
        ArgumentError
            The value belongs to another graph, or the name is taken.
        """
        self._core.mark_output(_handle(value), text(name, "a name"))

    @property
    def inputs(self) -> list[Value]:
        """The inputs, in order."""
        return [Value(*handle) for handle in self._core.inputs()]

    @property
    def outputs(self) -> list[Value]:
        """The outputs, in order."""
        return [Value(*handle) for handle in self._core.outputs()]

    def nodes(self) -> list[Node]:
        """All nodes, in the order in which they run."""
        return [_node(fields) for fields in self._core.nodes()]

    def node(self, key: int | str) -> Node:
        """The node of an index or a name; raises `ArgumentError` if there is none."""
        return _node(self._core.node(key))

    def values(self) -> list[ValueDetails]:
        """All values that flow: inputs, constants and what nodes give."""
        return [_details(fields) for fields in self._core.values()]

    def value(self, value: Value | str) -> ValueDetails:
        """What is known of a value, found by itself or by its name; raises `ArgumentError` if there is none."""
        handle = self._core.find_value(value) if isinstance(value, str) else _handle(value)
        return _details(self._core.value(handle))

    def set(self, key: Key, *, to: TypeLike | None = None, saturate: bool | None = None,
            round_mode: RoundMode | None = None, training: bool | None = None,
            lda_coeff: float | None = None) -> None:
        """Changes a Cast or a CastLike.

        Parameters
        ----------
        key : int, str or None
            The node's index or name; None stands for all of them.
        to, saturate, round_mode, training, lda_coeff
            As in `cast`; what is not given stays as it is.

        Raises
        ------
        ArgumentError
            There is no such node, or its opset does not have what is asked for; then nothing changes.

        Examples
        --------
        >>> import tensorcast as tc
        >>> graph = tc.graph.Graph()
        >>> y = graph.cast(graph.add_input("x", "float32"), "float16", name="narrow")
        >>> graph.set("narrow", to="float8_e4m3fn", saturate=False)
        >>> graph.node("narrow").to_type, graph.node("narrow").saturate
        ('float8e4m3fn', False)
        """
        number = None if to is None else _core.type_number(to)
        self._core.set(key, number, None if saturate is None else flag(saturate, "saturate"),
                       None if round_mode is None else text(round_mode, "round_mode"),
                       None if training is None else flag(training, "training"),
                       None if lda_coeff is None else real(lda_coeff, "lda_coeff"))

    def rename_node(self, key: int | str, name: str) -> None:
        """Gives a node another name; raises `ArgumentError` if that name is taken."""
        self._core.rename_node(key, text(name, "a name"))

    def rename_value(self, value: Value, name: str) -> None:
        """Gives a value another name, which becomes the name of the input or output that it is; raises
        `ArgumentError` if that name is taken.
        """
        self._core.rename_value(_handle(value), text(name, "a name"))

    def remove_node(self, key: int | str) -> None:
        """Removes a node and what it gives; raises `ArgumentError` if another node reads that, or it is an
        output.
        """
        self._core.remove_node(key)

    def summary(self, *, csv: bool = False) -> str:
        """A line for each node, in columns or as CSV; raises `KindError` if `csv` is not a bool.

        Examples
        --------
        >>> import tensorcast as tc
        >>> graph = tc.graph.Graph()
        >>> y = graph.identity(graph.add_input("x", "int8"), name="same")
        >>> graph.summary(csv=True).splitlines()[1]
        '0,same,Identity,int8,int8,,,,'
        """
        return str(self._core.summary(flag(csv, "csv")))

    def to_frame(self) -> pd.DataFrame:
        """The nodes as a pandas.DataFrame, in the order in which they run, with the columns of `Node`. Values that
        they read and give stand under their names.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        names, nodes = self._names(), self.nodes()
        columns: dict[str, list[Any]] = {each.name: [getattr(node, each.name) for node in nodes] for each in fields(Node)}
        for field in ("inputs", "outputs"):
            columns[field] = [tuple(names.get(value) for value in values) for values in columns[field]]
        return tables.frame(columns, "index")

    def _names(self) -> dict[Value | None, str]:
        return {details.value: details.name for details in self.values()}

    def _repr_html_(self) -> str:
        names, nodes = self._names(), self.nodes()

        def listed(values: Sequence[Value | None]) -> tables.Name:
            return tables.Name(", ".join(names.get(value, "–") for value in values))

        def ends(values: list[Value]) -> str:
            return ", ".join(f"{one.name}: {one.type or '?'}{_shape_text(one.shape)}" for one in map(self.value, values))

        rows = ((tables.Name(node.name), node.op_type, node.from_type, node.to_type, listed(node.inputs), listed(node.outputs),
                 _options(node)) for node in nodes)
        return tables.page(
            tables.facts(f"Graph, opset {self.opset}, {len(nodes):,} nodes",
                         [("inputs", tables.Name(ends(self.inputs))), ("outputs", tables.Name(ends(self.outputs)))]),
            self._picture(nodes),
            tables.table("Nodes, in the order in which they run",
                         ["node", "operator", "from", "to", "reads", "gives", "options"], rows, len(nodes)))

    def _picture(self, nodes: Sequence[Node]) -> str:
        """The nodes and what flows between them, if there are few enough to draw."""
        if len(nodes) > drawing.MOST_BOXES:
            return ""
        values = self.values()
        boxes: list[drawing.Box] = []
        places: dict[Value | None, int] = {}  # the box that gives a value
        for one in values:
            if one.kind in ("input", "constant"):
                places[one.value] = len(boxes)
                boxes.append(drawing.Box(one.kind, one.name, (one.type or "?") + _shape_text(one.shape)))
        for node in nodes:
            what = f"{node.op_type} {node.from_type or '?'} → {node.to_type or '?'}" if node.is_cast else node.op_type
            for value in node.outputs:
                if value is not None:
                    places[value] = len(boxes)
            boxes.append(drawing.Box("node", what, node.name,
                                     [places[value] for value in node.inputs if value in places], node.is_cast))
        for one in values:
            if one.is_output:
                boxes.append(drawing.Box("output", one.name, (one.type or "?") + _shape_text(one.shape),
                                         [places[one.value]] if one.value in places else []))
        return drawing.picture(boxes, f"{len(nodes)} nodes; the table below has them")

    def __repr__(self) -> str:
        return f"<Graph: opset {self.opset}, {len(self.nodes())} nodes>"
