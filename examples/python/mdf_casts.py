"""MDF's own engine with tensorcast's casts (`pip install 'tensorcast[mdf]'`).

    python examples/python/mdf_casts.py

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import io

import numpy as np
import tensorcast.mdf
from modeci_mdf.execution_engine import EvaluableGraph
from modeci_mdf.mdf import Function, Graph, InputPort, Model, Node, OutputPort


def evaluate(model: Model, x: np.ndarray) -> np.ndarray:
    with contextlib.redirect_stdout(io.StringIO()):  # the engine tells what it does
        engine = EvaluableGraph(model.graphs[0])
        engine.evaluate(initializer={"x": x})
    return engine.enodes["A"].evaluable_outputs["y"].curr_value


def main() -> None:
    node = Node(id="A")
    node.input_ports.append(InputPort(id="x"))
    node.functions.append(Function(id="c", function="onnx::Cast", args={"input": "x", "to": 11}))
    node.output_ports.append(OutputPort(id="y", value="c"))
    model = Model(id="model", graphs=[Graph(id="graph", nodes=[node])])
    x = np.array([0.1, 16777217.0])
    print("MDF:  ", *evaluate(model, x))
    with tensorcast.mdf.install(mode="exact"):
        print("exact:", *evaluate(model, x))
    print(tensorcast.mdf.cast(x, "float8_e4m3fn"))  # a call, without MDF


if __name__ == "__main__":
    main()
