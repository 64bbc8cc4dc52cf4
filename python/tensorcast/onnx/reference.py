"""ONNX's ReferenceEvaluator with tensorcast's Cast and CastLike.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference.op_run import OpRun

from .. import arrays
from ..graph import Session

__all__ = ["cast_ops"]


def model_of_node(node: onnx.NodeProto, types: Sequence[int], opset: int) -> onnx.ModelProto:
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


class _Cast(OpRun):
    op_domain = ""

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        types = tuple(arrays.type_of(np.asarray(x)) for x in inputs)
        sessions: dict[Any, Session] = self.__dict__.setdefault("_sessions", {})
        if types not in sessions:
            sessions[types] = Session.load(
                model_of_node(self.onnx_node, types, self.run_params["opsets"][""]))
        return tuple(sessions[types].run([np.asarray(x) for x in inputs]).values())


def cast_ops() -> list[type[OpRun]]:
    """Operators for ``ReferenceEvaluator(model, new_ops=...)``: Cast and CastLike, exactly.

    The evaluator does not hand them on to functions of the model, whose Casts are then its own:
    inline these first, ``onnx.inliner.inline_local_functions(model)``. The operators raise
    `tensorcast.Error` where a node cannot be run.

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
