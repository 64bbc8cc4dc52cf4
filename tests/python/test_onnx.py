"""ONNX models: run beside the reference, Casts taken out, the backend, the reference's operators.

SPDX-License-Identifier: Apache-2.0
"""
import ml_dtypes
import numpy as np
import onnx
import onnx.inliner
import pytest
import tensorcast as tc
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def chain(*types, opset=25, shape=(3,)):
    """A model of Casts one after the other; the first type is the input's."""
    nodes = [helper.make_node("Cast", [f"v{i}"], [f"v{i + 1}"], to=kind, name=f"cast{i}")
             for i, kind in enumerate(types[1:])]
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("v0", types[0], shape)],
                              [helper.make_tensor_value_info(f"v{len(nodes)}", types[-1], shape)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


X = np.float32([0.1, 448, -3])


def test_models_of_every_kind(tmp_path):
    proto = chain(1, TensorProto.BFLOAT16, 1)
    onnx.save(proto, tmp_path / "m.onnx")
    want = X.astype(ml_dtypes.bfloat16).astype(np.float32)
    for model in (proto, proto.SerializeToString(), tmp_path / "m.onnx", str(tmp_path / "m.onnx")):
        loaded = tc.graph.Session.load(model)
        assert loaded.opset == 25 and [info.name for info in loaded.inputs] == ["v0"]
        assert loaded.outputs[0].type == "float32" and loaded.outputs[0].shape == (3,)
        assert np.array_equal(loaded.run({"v0": X})["v2"], want)
        assert np.array_equal(loaded.run([X])["v2"], want)


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT2, TensorProto.FLOAT4E2M1,
                                  TensorProto.FLOAT8E5M2, TensorProto.STRING, TensorProto.BOOL])
def test_types_of_models(kind):
    model = tc.graph.Session.load(chain(1, kind))
    got = model.run([X])["v1"]
    want = tc.cast(X, kind)
    assert got.dtype == want.dtype and got.tolist() == want.tolist()
    back = tc.graph.Session.load(chain(kind, 1)).run([got])["v1"]
    assert np.array_equal(back, tc.cast(want, "float32"))


def test_wrong_inputs():
    model = tc.graph.Session.load(chain(1, 10))
    for inputs, words in (({}, "v0"), ({"x": X}, "no input 'x'"), ([X, X], "2 inputs"),
                          ([X.astype(np.float64)], "v0"), ("v0", "a mapping")):
        with pytest.raises(tc.Error, match=words) as caught:
            model.run(inputs)
        assert "\n" not in str(caught.value)
    with pytest.raises(tc.UnsupportedError, match="Relu"):
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", 1, [1])],
                                  [helper.make_tensor_value_info("y", 1, [1])])
        tc.graph.Session.load(helper.make_model(graph))


def test_profiles():
    model = tc.graph.Session.load(chain(1, 10, 1))
    model.run([X], profile=True)
    assert [node["node"] for node in model.profile] == ["cast0", "cast1"]
    assert model.profile[0]["to_type"] == "float16" and model.profile[0]["bytes_read"] == 12


def test_optimize(tmp_path):
    proto = chain(1, 11, 1, 10)
    small, report = tc.onnx.optimize(proto, nan_payloads_may_change=True)
    assert [node.op_type for node in small.graph.node] == ["Cast"]
    assert report.casts_before == 3 and report.casts_after == 1 and len(report.removed) == 2
    assert np.array_equal(ReferenceEvaluator(small).run(None, {"v0": X})[0],
                          ReferenceEvaluator(proto).run(None, {"v0": X})[0])
    data, again = tc.onnx.optimize(proto.SerializeToString(), nan_payloads_may_change=True)
    assert data == small.SerializeToString() and again == report
    onnx.save(proto, tmp_path / "a.onnx")
    written = tc.onnx.optimize(tmp_path / "a.onnx", tmp_path / "b.onnx", nan_payloads_may_change=True)
    assert written.casts_after == 1 and onnx.load(tmp_path / "b.onnx") == small
    with pytest.raises(tc.ArgumentError, match="b.onnx"):
        tc.onnx.optimize(tmp_path / "a.onnx", tmp_path / "b.onnx")
    # What stays comes with what would let it go.
    assert tc.onnx.optimize(chain(10, 1, 10))[1].kept == {
        "only payloads of NaNs would change; nan_payloads_may_change=True allows that": 1}


def test_backend():
    assert tc.onnx.Backend.supports_device("CPU") and not tc.onnx.Backend.supports_device("CUDA")
    proto = chain(TensorProto.BFLOAT16, 1)
    assert tc.onnx.Backend.is_compatible(proto) and not tc.onnx.Backend.is_compatible(onnx.ModelProto())
    (y,) = tc.onnx.Backend.run_model(proto, [np.uint16([0x3F80, 0, 0x4000])])
    assert y.tolist() == [1, 0, 2]
    prepared = tc.onnx.Backend.prepare(proto)
    assert prepared.run(np.uint16([0x3F80, 0, 0x4000]))[0].tolist() == [1, 0, 2]  # the one input
    with pytest.raises(tc.ArgumentError):
        prepared.run([np.uint16([0])] * 2)
    with pytest.raises(tc.UnsupportedError):
        tc.onnx.Backend.prepare(proto, device="CUDA")
    assert not tc.onnx.Backend.supports_device("nope")
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT8)
    assert tc.onnx.Backend.run_node(node, [np.float32([1.5, 300])])[0].tolist() == [1, 44]


def test_the_references_operators_in_functions():
    """They are not handed on to functions, which are inlined first (docs/python.md)."""
    function = helper.make_function(
        "d", "F", ["x"], ["y"], [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT4)],
        [helper.make_opsetid("", 25)])
    graph = helper.make_graph([helper.make_node("F", ["x"], ["y"], domain="d")], "g",
                              [helper.make_tensor_value_info("x", 1, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.INT4, [2])])
    model = helper.make_model(graph, functions=[function], opset_imports=[
        helper.make_opsetid("", 25), helper.make_opsetid("d", 1)])
    inlined = onnx.inliner.inline_local_functions(model)
    (y,) = ReferenceEvaluator(inlined, new_ops=tc.onnx.cast_ops()).run(None, {"x": np.float32([1.5, 2.5])})
    assert y.tolist() == [2, 2]  # to even, as int4's text says


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.FLOAT8E4M3FN, TensorProto.BFLOAT16,
                                  TensorProto.INT32, TensorProto.FLOAT4E2M1, TensorProto.STRING])
def test_the_references_operators(kind):
    """The rest of the model is the reference's, the casts are ours."""
    nodes = [helper.make_node("Add", ["x", "x"], ["s"]), helper.make_node("Cast", ["s"], ["y"], to=kind),
             helper.make_node("CastLike", ["x", "t"], ["z"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [3]),
                                           helper.make_tensor_value_info("t", TensorProto.INT8, [1])],
                              [helper.make_tensor_value_info("y", kind, [3]),
                               helper.make_tensor_value_info("z", TensorProto.INT8, [3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
    x = np.float32([1.25, 300.5, -3])
    evaluator = ReferenceEvaluator(model, new_ops=tc.onnx.cast_ops())
    for _ in range(2):
        y, z = evaluator.run(None, {"x": x, "t": np.int8([0])})
        assert y.tolist() == tc.cast(x + x, kind).tolist() and y.dtype == tc.finfo(kind).dtype
        assert z.tolist() == tc.cast(x, "int8").tolist()


def test_saturation_is_the_nodes():
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E4M3FN, saturate=0)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT8E4M3FN, [1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    x = np.float32([1000])
    for y in (tc.graph.Session.load(model).run([x])["y"],
              ReferenceEvaluator(model, new_ops=tc.onnx.cast_ops()).run(None, {"x": x})[0]):
        assert np.isnan(y.astype(np.float32)).all()
