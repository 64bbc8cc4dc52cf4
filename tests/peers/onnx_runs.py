"""Runs models in ONNX Runtime, each node as it stands.

SPDX-License-Identifier: Apache-2.0
"""
import onnx
import onnxruntime

AS_IT_STANDS = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL


def open_session(model, level=AS_IT_STANDS):
    """A session of a path, a ModelProto or its bytes, on one thread of the CPU. Warnings are not
    printed: they are of models made for tests."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if isinstance(model, onnx.ModelProto):
        model = model.SerializeToString()
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run_model(model, feeds, level=AS_IT_STANDS):
    """The outputs by name. Of the feeds, {name: array}, those are taken that the model has."""
    session = open_session(model, level)
    known = {value.name for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, {k: v for k, v in feeds.items() if k in known})))
