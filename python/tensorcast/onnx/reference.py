"""ONNX's ReferenceEvaluator with tensorcast's Cast and CastLike.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference.op_run import OpRun

from .. import arrays
from .model import Model

__all__ = ["cast_ops"]


class _Cast(OpRun):
    """A node as a model of its own, so that its opset says what it means."""

    op_domain = ""

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        types = tuple(arrays.type_of(np.asarray(x)) for x in inputs)
        models: dict[Any, Model] = self.__dict__.setdefault("_models", {})
        if types not in models:
            models[types] = self._model(types)
        return tuple(models[types].run([np.asarray(x) for x in inputs]).values())

    def _model(self, types: tuple[int, ...]) -> Model:
        names = [f"x{i}" for i in range(len(types))]
        node = onnx.NodeProto()
        node.CopyFrom(self.onnx_node)
        del node.input[:], node.output[:]
        node.input.extend(names)
        node.output.append("y")
        to = [attribute.i for attribute in node.attribute if attribute.name == "to"]
        graph = helper.make_graph(
            [node], "node", [helper.make_tensor_value_info(name, kind, None)
                             for name, kind in zip(names, types)],
            [helper.make_tensor_value_info("y", to[0] if to else types[1], None)])
        opset = self.run_params["opsets"][""]
        return Model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


def cast_ops() -> list[type[OpRun]]:
    """Operators for ``ReferenceEvaluator(model, new_ops=...)``: Cast and CastLike, exactly.

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
