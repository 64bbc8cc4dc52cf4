"""A drop-in for MDF's `cast` (https://mdf.readthedocs.io, `modeci_mdf`).

    import tensorcast.mdf
    tensorcast.mdf.install()          # onnx::Cast and onnx::CastLike of MDF's engine are ours
    with tensorcast.mdf.install(mode="exact"): ...

`cast` and `castlike` take what `modeci_mdf.functions.onnx.cast` and `.castlike` take, also without
MDF. There are two modes:

"compatible"
    What MDF 0.4.15 does to a number: before the cast int32 becomes int64 and float64 becomes
    float32, and in graphs a float32 result becomes float64 after it. Floats are printed to string as
    ONNX Runtime prints them.
"exact"
    Neither: what was given is cast, and the result has the type that was asked for.

MDF casts to 8 types; both modes cast to all 26. docs/mdf.md is the guide.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ast
import contextvars
import functools
import importlib
import operator
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np

from . import _core
from .arguments import flag, path_text, says_nearest
from .arrays import read, type_of
from .casting import cast as _cast
from .errors import ArgumentError, KindError
from .graph import Graph
from .types import TypeLike

__all__ = ["Installed", "Mode", "cast", "castlike", "install", "installed_mode", "load", "save",
           "uninstall"]

Mode = Literal["compatible", "exact"]

_MODES = get_args(Mode)
# Arguments by position are taken in this order, as in MDF's own functions.
_CAST = (("input",), ("to", "saturate", "round_mode"))
_CASTLIKE = (("input", "target_type"), ("saturate", "round_mode"))

_FLOAT32, _INT32, _INT64, _FLOAT64 = 1, 6, 7, 11
_LONGEST_EXPRESSION = 64
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.UAdd: operator.pos, ast.USub: operator.neg,
}


def _bind(operator_name: str, names: tuple[tuple[str, ...], tuple[str, ...]],
          args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name. Those given by position go first to inputs that no keyword gives, then to attributes."""
    inputs, attributes = names
    bound = dict(kwargs)
    for name in bound:
        if name not in inputs and name not in attributes:
            raise ArgumentError(f"Passed unknown attribute ({name}) to ONNX op {operator_name}, "
                                f"supported attributes: {list(attributes)}")
    free = [name for name in (*inputs, *attributes) if name not in bound]
    if len(args) > len(free):
        raise ArgumentError(f"{operator_name} takes {len(inputs) + len(attributes)} arguments, "
                            f"{', '.join((*inputs, *attributes))}; {len(args) + len(kwargs)} are "
                            "given")
    bound.update(zip(free, args, strict=False))
    for name in inputs:
        if name not in bound:
            raise ArgumentError(f"{operator_name} has no {name}")
    return bound


def _number(node: ast.AST) -> Any:
    """The value of an expression of whole numbers; raises ValueError if it is not one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    kind = type(getattr(node, "op", None))
    if isinstance(node, ast.BinOp) and kind in _OPERATORS:
        return _OPERATORS[kind](_number(node.left), _number(node.right))
    if isinstance(node, ast.UnaryOp) and kind in _OPERATORS:
        return _OPERATORS[kind](_number(node.operand))
    raise ValueError


def _type_of_text(text: str) -> int:
    """The number of a type, from its name or from an expression: "7", "7.0", "3+4"."""
    try:
        return _core.type_number(text)
    except ArgumentError as error:
        if not any(c.isdigit() for c in text) or len(text) > _LONGEST_EXPRESSION:
            raise
        try:
            value = _number(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            raise error from None
        except ZeroDivisionError:
            raise ArgumentError(f"to is {text!r}, which divides by zero") from None
        return _type(value)


def _type(to: Any) -> int:
    """ONNX's number of `to`, in all the ways in which MDF's files and callers write it."""
    if isinstance(to, str):
        return _type_of_text(to)
    if isinstance(to, (list, tuple, np.ndarray)):
        values = np.asarray(to)
        if values.size != 1:
            raise ArgumentError(f"to has {values.size} elements; expected one type")
        return _type(values.reshape(-1)[0])
    if isinstance(to, (float, np.floating)) and (not np.isfinite(to) or float(to) != int(to)):
        raise ArgumentError(f"to is {to}, which is not the number of a type")
    is_number = isinstance(to, (bool, np.bool_, float, np.floating))
    return _core.type_number(int(to) if is_number else to)


def _array(x: Any, mode: str) -> Any:
    """An input as the numpy array that MDF makes of it: a bare number becomes a vector of one."""
    source = read(x, None, False, None)
    if source.packed:  # float32 holds every value of what is packed
        array = _cast(source.array, _FLOAT32, from_type=source.number, shape=source.shape, packed=True)
    else:
        array = np.atleast_1d(source.array) if type(x) in (bool, int, float) else source.array
    if mode == "compatible":
        kind = type_of(array)
        if kind == _INT32:
            return _cast(array, _INT64)
        if kind == _FLOAT64:
            return _cast(array, _FLOAT32)
    return array


def _flag(value: Any) -> bool:
    try:
        return int(value) != 0
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"saturate is {value!r}; expected a whole number, with 0 for false") from None


def _run(x: Any, number: int, bound: dict[str, Any], mode: str) -> Any:
    options: dict[str, Any] = {"string_style": "ort" if mode == "compatible" else "numpy"}
    if "saturate" in bound:
        options["saturate"] = _flag(bound["saturate"])
    if "round_mode" in bound:
        options["round_mode"] = str(bound["round_mode"])
    result = np.asarray(_cast(_array(x, mode), number, **options))
    _last.set(result)
    return result


def _mode(mode: str | None) -> str:
    chosen = installed_mode() or "compatible" if mode is None else mode
    if chosen not in _MODES:
        raise ArgumentError(f"mode is {chosen!r}; expected one of {', '.join(_MODES)}")
    return chosen


def cast(*args: Any, mode: Mode | None = None, **kwargs: Any) -> Any:
    """Does what MDF's `modeci_mdf.functions.onnx.cast` does: ``cast(x, 7)``, ``cast(input=x, to="7")``.

    Parameters
    ----------
    input : array_like
        What MDF takes: arrays, lists, numbers, torch tensors.
    to : type
        ONNX's number as MDF's files write it (7, "7", 7.0, [7], "3+4", True), or any name that
        `tensorcast.cast` takes.
    saturate, round_mode : optional
        ONNX's attributes of Cast-25.
    mode : {"compatible", "exact"}, optional
        By default the mode of `install`, or "compatible".

    Returns
    -------
    numpy.ndarray
        An array of input's shape; a bare number gives a vector of one.

    Raises
    ------
    ArgumentError
        A ValueError: an unknown argument or type, a text that is not a number.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast.mdf
    >>> tensorcast.mdf.cast([1.5, -2.7], 7)
    array([ 1, -2])
    >>> tensorcast.mdf.cast(input=np.float64(0.1), to="float64", mode="exact")
    array(0.1)
    >>> tensorcast.mdf.cast([16777217.0], to=11)  # by way of float32, as in MDF
    array([16777216.])
    """
    bound = _bind("Cast", _CAST, args, kwargs)
    if "to" not in bound:
        raise ArgumentError("Cast has no to: give the type to cast to")
    return _run(bound["input"], _type(bound["to"]), bound, _mode(mode))


def castlike(*args: Any, mode: Mode | None = None, **kwargs: Any) -> Any:
    """Does what MDF's `modeci_mdf.functions.onnx.castlike` does: casts to the type of a second input.

    Parameters
    ----------
    input, target_type : array_like
    saturate, round_mode, mode : optional
        As in `cast`.

    Returns
    -------
    numpy.ndarray
        An array of input's shape. In the compatible mode a target of float64 also gives float32, as in MDF.

    Raises
    ------
    ArgumentError, KindError
        As in `cast`.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast.mdf
    >>> tensorcast.mdf.castlike([1.5, 300.0], np.zeros(1, np.uint8))
    array([ 1, 44], dtype=uint8)
    """
    bound = _bind("CastLike", _CASTLIKE, args, kwargs)
    chosen = _mode(mode)
    return _run(bound["input"], type_of(_array(bound["target_type"], chosen)), bound, chosen)


# ------------------------------------------------------------------------------------ files


@says_nearest
def load(path: str | os.PathLike[str], *, types: TypeLike | Mapping[str, TypeLike] | None = None) -> Graph:
    """Reads an MDF model in JSON, YAML or BSON as a graph, as the tool does; it needs no MDF.

    Parameters
    ----------
    path : path
    types : type, or mapping of str to type, optional
        The types of inputs for which the file gives none: one for all, or by the names of their ports.

    Returns
    -------
    Graph

    Raises
    ------
    ArgumentError
        An input's type is not known.
    FileError, ContentsError
        The file cannot be read, or is not a model of MDF.
    UnsupportedError
        A function is not a cast, constant or identity; docs/mdf.md lists what else is refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import tensorcast as tc
    >>> import tensorcast.mdf
    >>> graph = tc.graph.Graph()
    >>> graph.mark_output(graph.cast(graph.add_input("x", "float32"), "int8"), "y")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.yaml"
    >>> tc.mdf.save(graph, path)
    >>> tc.mdf.load(path, types="float32").node(0).to_type
    'int8'
    """
    by_name = {name: _core.type_number(each) for name, each in types.items()} if (
        isinstance(types, Mapping)) else {}
    others = None if types is None or isinstance(types, Mapping) else _core.type_number(types)
    return Graph._of_core(_core.load_mdf(path_text(path), by_name, others))


@says_nearest
def save(graph: Graph, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Writes a graph as MDF, whole or not at all, in the syntax that the path's ending names.

    Parameters
    ----------
    graph : Graph
    path : path
        .json, .yaml, .yml or .bson.
    overwrite : bool
        Replace a file that exists.

    Raises
    ------
    ArgumentError
        The file exists, or its ending is none of these.
    FileError
    KindError
        What is given is not a Graph.
    UnsupportedError
        MDF has no way to write what the graph holds.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import tensorcast as tc
    >>> graph = tc.graph.Graph()
    >>> graph.mark_output(graph.cast(graph.add_input("x", "float32"), "int8", name="c"), "y")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> tc.mdf.save(graph, path)
    >>> "onnx::Cast" in path.read_text()
    True
    """
    if not isinstance(graph, Graph):
        raise KindError(f"graph must be a Graph, not {type(graph).__name__}")
    _core.save_mdf(graph._core, path_text(path), flag(overwrite, "overwrite"))


# ------------------------------------------------------------------------------------ in MDF

# The result of this thread's last cast: MDF's engine makes float64 of it, and this undoes that.
_last: contextvars.ContextVar[Any] = contextvars.ContextVar("last", default=None)
_lock = threading.RLock()
_mode_in_force: str | None = None
_undo: list[Callable[[], None]] = []
_NAMES = {"cast": "Cast", "castlike": "CastLike"}


def _mdf() -> tuple[Any, Any, Any]:
    try:
        functions, standard, engine = (
            importlib.import_module(f"modeci_mdf.{name}")
            for name in ("functions.onnx", "functions.standard", "execution_engine"))
    except ImportError as error:
        raise ImportError("tensorcast.mdf.install needs MDF: pip install 'tensorcast[mdf]' "
                          f"({error})") from error
    return functions, standard.mdf_functions, engine


def _set(holder: Any, name: str, value: Any) -> None:
    """Sets a member of a module or of a dict, and notes how to undo that."""
    members = holder if isinstance(holder, dict) else vars(holder)
    _undo.append(functools.partial(members.__setitem__, name, members[name]))
    members[name] = value


def _specification(name: str, ours: Callable[..., Any], before: dict[str, Any]) -> dict[str, Any]:
    inputs, attributes = _CAST if name == "cast" else _CASTLIKE
    return {**before, "arguments": list(inputs), "function": ours,
            "expression_string": f"onnx_ops.{name}({', '.join((*inputs, *attributes))})"}


def _patch() -> None:
    import onnx

    functions, specifications, engine = _mdf()
    for name, operator_name in _NAMES.items():
        ours = globals()[name]
        _set(functions, name, ours)
        key = f"onnx::{operator_name}"
        _set(specifications, key, _specification(name, ours, specifications[key]))

    # The engine leaves out arguments that the schema of opset 15 does not have.
    schema_before = functions.get_onnx_schema
    schemas = {name: onnx.defs.get_schema(operator_name)
               for name, operator_name in _NAMES.items()}

    def get_onnx_schema(func_name: str, *args: Any, **kwargs: Any) -> Any:
        if func_name in schemas:
            return schemas[func_name]
        return schema_before(func_name, *args, **kwargs)

    _set(functions, "get_onnx_schema", get_onnx_schema)

    evaluate_before = engine.evaluate_onnx_expr

    def evaluate_onnx_expr(expr: str, *args: Any, **kwargs: Any) -> Any:
        result = evaluate_before(expr, *args, **kwargs)
        is_ours = expr.split("(")[0].split(".")[-1] in _NAMES
        return _last.get() if is_ours and _mode_in_force == "exact" else result

    _set(engine, "evaluate_onnx_expr", evaluate_onnx_expr)


class Installed:
    """What `install` returns: a context manager that restores the mode from before at its end."""

    def __init__(self, before: str | None) -> None:
        self._before = before

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        global _mode_in_force
        with _lock:
            if self._before is None:
                uninstall()
            elif _mode_in_force is not None:  # it was not uninstalled in between
                _mode_in_force = self._before


def installed_mode() -> str | None:
    """The mode in which MDF's engine casts, or None if its casts are MDF's own; raises nothing."""
    return _mode_in_force


@says_nearest
def install(mode: Mode = "compatible") -> Installed:
    """Makes MDF itself use `cast` and `castlike`, in its functions and for `onnx::Cast` and
    `onnx::CastLike` in graphs. This holds for all threads, until `uninstall`, or as a context manager.

    Parameters
    ----------
    mode : {"compatible", "exact"}
        In "exact", a cast's float32 result also stays float32 in graphs.

    Raises
    ------
    ImportError
        MDF is not installed (``pip install 'tensorcast[mdf]'``).

    Examples
    --------
    >>> import tensorcast.mdf
    >>> with tensorcast.mdf.install(mode="exact"):  # doctest: +SKIP
    ...     graph.evaluate()
    """
    global _mode_in_force
    chosen = _mode(mode)
    with _lock:
        before = _mode_in_force
        if before is None:
            try:
                _patch()
            except BaseException:
                _undo_all()
                raise
        _mode_in_force = chosen
    return Installed(before)


def _undo_all() -> None:
    while _undo:
        _undo.pop()()


def uninstall() -> None:
    """Gives MDF its own functions back. If it has them already, this does nothing; raises nothing."""
    global _mode_in_force
    with _lock:
        _undo_all()
        _mode_in_force = None
