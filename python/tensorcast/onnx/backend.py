"""ONNX's own interfaces: a backend (onnx.backend.base), and operators for its ReferenceEvaluator.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend as _OnnxBackend
from onnx.backend.base import BackendRep, Device, DeviceType
from onnx.reference.op_run import OpRun

from .. import _core
from ..arrays import type_of
from ..errors import ArgumentError, Error, UnsupportedError
from ..graph import Session
from ..models import ValueInfo


def _as_declared(x: Any, info: ValueInfo) -> Any:
    """Old data holds bfloat16 as uint16: its bits are meant."""
    array = np.asarray(x)
    dtype = _core.type_dtype(_core.type_number(info.type))
    if array.dtype.kind == "u" and array.dtype != dtype and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    return array


def _listed(inputs: Any) -> list[Any]:
    """Takes what is neither a list nor a tuple as the one input."""
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]


def _model_of_node(node: onnx.NodeProto, types: Sequence[int], opset: int) -> onnx.ModelProto:
    """A Cast or a CastLike as a model of its own, so that its opset says what it means."""
    names = [f"x{i}" for i in range(len(types))]
    alone = onnx.NodeProto()
    alone.CopyFrom(node)
    del alone.input[:], alone.output[:]
    alone.input.extend(names)
    alone.output.append("y")
    to = [attribute.i for attribute in alone.attribute if attribute.name == "to"]
    graph = helper.make_graph(
        [alone], "node", [helper.make_tensor_value_info(name, kind, None)
                          for name, kind in zip(names, types, strict=True)],
        [helper.make_tensor_value_info("y", to[0] if to else types[-1], None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


class Rep(BackendRep):
    """A loaded model."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Returns the outputs in order; inputs that are not given take their defaults."""
        arrays = _listed(inputs)
        if len(arrays) > len(self.session.inputs):
            raise ArgumentError(f"{len(arrays)} inputs were given, and there are {len(self.session.inputs)}")
        given = [_as_declared(x, info) for x, info in zip(arrays, self.session.inputs, strict=False)]
        return tuple(self.session.run(given).values())


class Backend(_OnnxBackend):
    """Runs models of Cast, CastLike, Identity, Constant and functions of these, on the CPU.

    Examples
    --------
    >>> import numpy as np
    >>> import onnx
    >>> import tensorcast as tc
    >>> node = onnx.helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.BFLOAT16)
    >>> graph = onnx.helper.make_graph(
    ...     [node], "cast", [onnx.helper.make_tensor_value_info("x", 1, [2])],
    ...     [onnx.helper.make_tensor_value_info("y", 16, [2])])
    >>> model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    >>> print(*tc.onnx.Backend.run_model(model, [np.float32([0.1, 1])]))
    [0.100098 1]
    """

    contradictions = "text"

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> Rep:
        """Makes a model ready: ``prepare(model).run(inputs)``.

        Raises
        ------
        ContentsError
            It is not a valid model.
        UnsupportedError
            It has another operator, or another device is asked for.
        """
        if not cls.supports_device(device):
            raise UnsupportedError(f"device is {device!r}: models run on the CPU")
        return Rep(Session.load(model, contradictions=cls.contradictions))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Runs a model on one array or a list of them, and returns the outputs in order.

        Raises
        ------
        ArgumentError
            Inputs are missing, too many, or not of the declared types.
        ContentsError, UnsupportedError
            As in `prepare`.
        """
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None,
                 **kwargs: Any) -> tuple[Any, ...]:
        """Runs a node as a model of its own, of the opset `opset_version`, or the newest that onnx has.

        Raises
        ------
        ArgumentError, ContentsError, UnsupportedError
            As in `run_model`; and what onnx's own check of the node raises.
        """
        super().run_node(node, inputs, device, outputs_info, **kwargs)  # checks the node
        arrays = _listed(inputs)
        opset = int(kwargs.get("opset_version", onnx.defs.onnx_opset_version()))
        return cls.prepare(_model_of_node(node, [type_of(np.asarray(x)) for x in arrays], opset),
                           device).run(arrays)

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether `prepare` takes a model; raises nothing if it does not."""
        try:
            cls.prepare(model, device)
        except Error:
            return False
        return True

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device is the CPU, in onnx's notation: "CPU", "CPU:0"; raises nothing."""
        try:
            return bool(Device(device).type == DeviceType.CPU)
        except (AttributeError, ValueError):  # onnx has no such device
            return False


class BackendOfTests(Backend):
    """The same, but it follows the official tests where an operator's text contradicts them."""

    contradictions = "tests"


class _Cast(OpRun):
    op_domain = ""

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        types = tuple(type_of(np.asarray(x)) for x in inputs)
        sessions: dict[Any, Session] = self.__dict__.setdefault("_sessions", {})
        if types not in sessions:
            sessions[types] = Session.load(
                _model_of_node(self.onnx_node, types, self.run_params["opsets"][""]))
        return tuple(sessions[types].run([np.asarray(x) for x in inputs]).values())


def cast_ops() -> list[type[OpRun]]:
    """Operators for ``ReferenceEvaluator(model, new_ops=...)``: Cast and CastLike, exactly.

    The evaluator does not hand them on to a model's functions, whose Casts are then onnx's own: inline
    functions first, ``onnx.inliner.inline_local_functions(model)``. The operators raise
    `tensorcast.Error` if a node cannot be run.

    Examples
    --------
    >>> import numpy as np
    >>> import onnx
    >>> from onnx.reference import ReferenceEvaluator
    >>> import tensorcast as tc
    >>> node = onnx.helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.INT4)
    >>> graph = onnx.helper.make_graph(
    ...     [node], "cast", [onnx.helper.make_tensor_value_info("x", 1, [2])],
    ...     [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT4, [2])])
    >>> model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 25)])
    >>> x = np.float32([1.5, 2.5])
    >>> print(*ReferenceEvaluator(model, new_ops=tc.onnx.cast_ops()).run(None, {"x": x}))
    [2 2]
    """
    return [type("Cast", (_Cast,), {}), type("CastLike", (_Cast,), {})]
