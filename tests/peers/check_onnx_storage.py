#!/usr/bin/env python3
"""Models whose weights are stored in another type: ONNX Runtime runs them as it runs the original
with its weights cast and cast back by numpy and ml_dtypes, bit for bit, and onnx checks them. Types
that ONNX Runtime does not cast are run by ONNX's own reference.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from onnx_runs import run_model
from tool import Tool, ToolError

_STORED = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
}
_FIRST_OPSET = {"float16": 11, "bfloat16": 13, "float4e2m1": 23}  # those of float8: 19
_NOT_IN_ONNXRUNTIME = ("float4e2m1",)
_RANDOM = np.random.default_rng(5)


def _weights(*shape, dtype):
    return (_RANDOM.standard_normal(shape) / 3).astype(dtype)


def _branch(name, values, element, has_initializer):
    """A subgraph with a Constant and an initializer of its own, and the outer value "sum"."""
    def constant(output, array):
        return helper.make_node("Constant", [], [output], value=numpy_helper.from_array(array))

    nodes = [constant(f"{name}_constant", np.array([values[0] * 3], values.dtype)),
             helper.make_node("Mul", [f"{name}_weight", "sum"], [f"{name}_product"]),
             helper.make_node("Add", [f"{name}_product", f"{name}_constant"], [f"{name}_out"])]
    if not has_initializer:
        nodes.insert(0, constant(f"{name}_weight", values))
    return helper.make_graph(
        nodes, name, [], [helper.make_tensor_value_info(f"{name}_out", element, [None, 16])],
        [numpy_helper.from_array(values, f"{name}_weight")] if has_initializer else [])


def make_model(opset, ir_version, dtype):
    """Gather, MatMul, Add, If with subgraphs, Constant, Conv (not of float64), a function."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def weights(*shape):
        return _weights(*shape, dtype=dtype)

    def branch(name):  # before IR version 4 an initializer is an input, and a branch has none
        return _branch(name, weights(16), element, ir_version >= 4)

    initializers = {"embedding": weights(300, 16), "w": weights(16, 16), "bias": weights(16),
                    "scalar": weights(), "nothing": weights(0, 3),
                    "shown": weights(7)}
    nodes = [
        helper.make_node("Gather", ["embedding", "ids"], ["rows"]),
        helper.make_node("MatMul", ["rows", "w"], ["once"]),
        helper.make_node("MatMul", ["once", "w"], ["twice"]),  # w is used twice
        helper.make_node("Constant", [], ["half"],
                         value=numpy_helper.from_array(weights(16))),
        helper.make_node("Mul", ["twice", "half"], ["scaled"]),
        helper.make_node("Add", ["scaled", "bias"], ["biased"]),
        helper.make_node("Add", ["biased", "scalar"], ["sum"]),
        helper.make_node("If", ["flag"], ["chosen"], name="choice",
                         then_branch=branch("then"), else_branch=branch("else")),
        helper.make_node("Shape", ["nothing"], ["sizes"]),
    ]
    outputs = {"chosen": [None, 16], "shown": [7]}  # shown: an initializer that is an output
    if dtype != np.float64:
        initializers["kernel"] = weights(3, 2, 3, 3)
        nodes.append(helper.make_node("Conv", ["image", "kernel"], ["filtered"]))
        outputs["filtered"] = [1, 3, 7, 7]
    functions = []
    if ir_version >= 8:
        functions.append(helper.make_function(
            "own", "Shift", ["a"], ["b"],
            [helper.make_node("Constant", [], ["inner"],
                              value=numpy_helper.from_array(weights(16))),
             helper.make_node("Add", ["a", "inner"], ["b"])],
            [helper.make_opsetid("", opset)]))
        nodes.append(helper.make_node("Shift", ["chosen"], ["shifted"], domain="own"))
        outputs["shifted"] = [None, 16]
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, [None]),
              helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
              helper.make_tensor_value_info("image", element, [1, 2, 9, 9])]
    if ir_version < 4:
        inputs += [helper.make_tensor_value_info(name, element, list(array.shape))
                   for name, array in initializers.items()]
    graph = helper.make_graph(
        nodes, "g", inputs,
        [helper.make_tensor_value_info(name, element, shape) for name, shape in outputs.items()]
        + [helper.make_tensor_value_info("sizes", TensorProto.INT64, [2])],
        [numpy_helper.from_array(array, name) for name, array in initializers.items()],
        value_info=[helper.make_tensor_value_info("w", element, [16, 16])])
    imports = [helper.make_opsetid("", opset)]
    if functions:
        imports.append(helper.make_opsetid("own", 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version,
                             functions=functions)


def _tensors(model):
    """Every initializer and Constant's value, of subgraphs and functions too."""
    def of_nodes(nodes):
        for node in nodes:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    yield attribute.t
                elif attribute.type == onnx.AttributeProto.GRAPH:
                    yield from of_graph(attribute.g)

    def of_graph(graph):
        yield from graph.initializer
        yield from of_nodes(graph.node)

    yield from of_graph(model.graph)
    for function in model.functions:
        yield from of_nodes(function.node)


def cast_and_back(model, stored):
    """The model with its floating weights rounded to `stored`, in their own type."""
    result = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in _tensors(result):
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind == "f":
            rounded = np.asarray(np.asarray(array.astype(stored)).astype(array.dtype))
            tensor.CopyFrom(numpy_helper.from_array(rounded, tensor.name))
    return result


def run_reference(path, feeds):
    """The outputs of ONNX's reference, by name."""
    evaluator = ReferenceEvaluator(str(path))
    known = set(evaluator.input_names)
    return dict(zip(evaluator.output_names, evaluator.run(
        None, {k: v for k, v in feeds.items() if k in known})))


def run(path, feeds, level):
    """The outputs of ONNX Runtime, by name."""
    if level is None:
        return run_reference(path, feeds)
    return run_model(path, feeds, level)


def check(tool, target, opset, ir_version, dtype, external):
    """One model, converted to `target`."""
    model = make_model(opset, ir_version, dtype)
    before, after = tool.folder / "before.onnx", tool.folder / "after.onnx"
    wanted = tool.folder / "wanted.onnx"
    for old in tool.folder.glob("*.data"):
        old.unlink()
    onnx.save(cast_and_back(model, _STORED[target]), wanted)
    casts = sum(numpy_helper.to_array(t).dtype.kind == "f" for t in _tensors(model))
    if external:
        onnx.save_model(model, before, save_as_external_data=True, location="before.data",
                        size_threshold=0, convert_attribute=False)
    else:
        onnx.save(model, before)
    # By a rule: of themselves small tensors stay as they are.
    tool.run("convert", before, "-o", after, "--rule", f"*={target}", "--force", "-q",
             "--no-report")
    assert (tool.folder / "after.onnx.data").exists() == external, "a data file or none"
    onnx.checker.check_model(after, full_check=True)
    made = onnx.load(after)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(_STORED[target]))
    assert sum(t.data_type == kind for t in _tensors(made)) == casts, "tensors not stored"
    for name in ("output", "value_info"):
        assert getattr(made.graph, name) == getattr(model.graph, name), f"another {name}"
    feeds = {"ids": np.array([3, 1, 299, 0], np.int64), "flag": np.array(True),
             "image": _weights(1, 2, 9, 9, dtype=dtype)}
    levels = ((None,) if target in _NOT_IN_ONNXRUNTIME else
              (onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
               onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL))
    for level in levels:
        for flag in (True, False):
            feeds["flag"] = np.array(flag)
            got, want = run(after, feeds, level), run(wanted, feeds, level)
            assert got.keys() == want.keys(), f"outputs {got.keys()}"
            for name, array in want.items():
                assert got[name].dtype == array.dtype and got[name].shape == array.shape, name
                assert got[name].tobytes() == array.tobytes(), f"{name} differs"


def check_replaced(tool):
    """A model with data outside it, stored over and over: always one data file, its own."""
    folder = tool.folder / "replaced"
    folder.mkdir()
    model = make_model(21, 10, np.float32)
    before, after, wanted = (folder / name for name in ("in.onnx", "out.onnx", "wanted.onnx"))
    onnx.save_model(model, before, save_as_external_data=True, location="in.data",
                    size_threshold=0, convert_attribute=False)
    model = onnx.load(before)  # with its data in it again
    feeds = {"ids": np.array([7, 7, 0], np.int64), "flag": np.array(True),
             "image": _weights(1, 2, 9, 9, dtype=np.float32)}
    for target in ("float16", "bfloat16", "float8e5m2", "float16", "float16"):
        onnx.save(cast_and_back(model, _STORED[target]), wanted)
        tool.run("convert", before, "-o", after, "--rule", f"*={target}", "--force", "-q",
                 "--no-report")
        onnx.checker.check_model(after, full_check=True)
        files = sorted(path.name for path in folder.glob("out*"))
        assert len(files) == 2, f"files {files}"
        level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        got, want = run(after, feeds, level), run(wanted, feeds, level)
        for name, array in want.items():
            assert got[name].tobytes() == array.tobytes(), f"{target}: {name} differs"


def check_mask(tool):
    """An attention mask as exporters write it: a row that is masked wholly stays a number."""
    mask = np.zeros((32, 32), np.float32)
    mask[np.triu_indices(32, 1)] = np.finfo(np.float32).min
    mask[0] = np.finfo(np.float32).min
    weights = _weights(32, 32, dtype=np.float32)
    graph = helper.make_graph(
        [helper.make_node("Constant", [], ["mask"], value=numpy_helper.from_array(mask)),
         helper.make_node("MatMul", ["x", "w"], ["scores"]),
         helper.make_node("Add", ["scores", "mask"], ["masked"]),
         helper.make_node("Softmax", ["masked"], ["y"], axis=-1)],
        "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [32, 32])],
        [numpy_helper.from_array(weights, "w")])
    before, after = tool.folder / "mask.onnx", tool.folder / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10),
              before)
    feeds = {"x": _weights(32, 32, dtype=np.float32)}
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    for target in ("float16", "bfloat16"):
        tool.run("convert", before, "-o", after, "--to", target, "--force", "-q", "--no-report")
        assert {t.data_type for t in onnx.load(after).graph.initializer} != {TensorProto.FLOAT}
        assert not np.isnan(run(after, feeds, level)["y"]).any(), f"{target}: NaN"
        tool.run("convert", before, "-o", after, "--rule", f"*={target}", "--force", "-q",
                 "--no-report")
        assert np.isnan(run(after, feeds, level)["y"]).any(), "the check cannot fail"


def check_hard_links(tool):
    """Data with hard links is refused where onnx refuses it, and read where that is asked for."""
    folder = tool.folder / "links"
    folder.mkdir()
    model, data = folder / "in.onnx", folder / "in.data"
    onnx.save_model(make_model(21, 10, np.float32), model, save_as_external_data=True,
                    location=data.name, size_threshold=0, convert_attribute=False)
    tool.run("inspect", model)
    (folder / "another").hardlink_to(data)
    try:
        onnx.checker.check_model(model)
        assert False, "onnx takes data with hard links"
    except onnx.checker.ValidationError:
        pass
    try:
        tool.run("inspect", model)
        assert False, "data with hard links was read"
    except ToolError as error:
        assert "exit code 3" in str(error) and "--allow-hard-links" in str(error), str(error)
    tool.run("inspect", model, "--allow-hard-links")
    (folder / "another").unlink()
    data.rename(folder / "blob")
    data.symlink_to("blob")
    tool.run("inspect", model)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    arguments = parser.parse_args()
    failures = cases = 0
    with Tool(arguments.tool) as tool:
        for other in (check_replaced, check_mask, check_hard_links):
            cases += 1
            try:
                other(tool)
            except (AssertionError, ToolError) as error:
                print(f"{other.__name__}: {type(error).__name__}: {error}")
                failures += 1
        for target in _STORED:
            for opset, ir_version in ((11, 3), (13, 7), (19, 9), (21, 10), (25, 13)):
                if opset < _FIRST_OPSET.get(target, 19):
                    continue
                for dtype in (np.float32, np.float64):
                    for external in (False, True):
                        cases += 1
                        case = (target, opset, ir_version, np.dtype(dtype).name, external)
                        try:
                            check(tool, *case[:3], dtype, external)
                        except (AssertionError, ToolError, ValueError,
                                onnx.checker.ValidationError,
                                onnx.shape_inference.InferenceError,
                                onnxruntime.capi.onnxruntime_pybind11_state.Fail,
                                onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph,
                                onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented
                                ) as error:
                            print(f"{case}: {type(error).__name__}: {error}")
                            failures += 1
    print(f"{cases - failures} of {cases} models hold")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
