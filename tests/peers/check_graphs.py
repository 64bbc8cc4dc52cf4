#!/usr/bin/env python3
"""Graphs that the flat C calls build, beside ONNX's checker and ONNX Runtime.

    check_graphs.py LIBRARY

  - random graphs, saved: the checker takes them with full_check, ONNX Runtime runs them, and every
    value of them (each is an output) has the bits that a session gives here; pairs of types that it
    does not have are counted;
  - a model with all that people write into one is the same message after it was loaded and saved;
  - a gradient through one Cast is ONNX Runtime's Cast of it to the input's type, whose backward rule
    is exactly that;
  - the IR version of every opset is that of onnx.helper.VERSION_TABLE, from 4 on.
The checker wants a shape of every input, so that it refuses one of unknown rank, which ONNX itself
and ONNX Runtime allow: that it does so is checked too.
Values are exact in float16 and, where there are integers, integers of every type: what ONNX Runtime
rounds twice, rounds to nearest, or leaves to C, and which NaN it takes, is the matter of
compare_casts.py.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import ctypes
import pathlib
import random
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from element_types import FLOAT8, TYPES
from flat_calls import FlatError, FlatGraph, FlatSession, Library
from onnx_runs import open_session

_GRAPHS = 400
_FLOATS = ("float32", "float64", "float16", "bfloat16", *FLOAT8)
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool",
             "int4", "uint4")
_BY_ONNX_TYPE = {each.onnx_type: each for each in TYPES.values()}


def codes_of(element, values):
    """Codes of some float64 values in a type that has them, or nearly."""
    kind = TYPES[element]
    return kind.codes(values.astype(np.float32).astype(kind.dtype))


def run_ort(model, feeds, outputs, level):
    """The bytes of every output; feeds: {name: (element, codes)}."""
    session = open_session(model, level)
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
                  np.ascontiguousarray(TYPES[element].array(codes)).view(TYPES[element].code_dtype)
                  if not TYPES[element].native else TYPES[element].array(codes),
                  TYPES[element].onnx_type)
              for name, (element, codes) in feeds.items()}
    results = session.run_with_ort_values(outputs, values)
    found = []
    for result in results:
        kind = _BY_ONNX_TYPE[result._ortvalue.element_type()]
        count = int(np.prod(result._ortvalue.shape(), dtype=np.int64))
        found.append(ctypes.string_at(result._ortvalue.data_ptr(), (count * kind.bits + 7) // 8))
    return found


def random_graph(library, chance):
    """A graph of 1 to 12 nodes, each value an output, and what it is run on."""
    graph = FlatGraph(library)
    floats_only = chance.random() < 0.5
    types = _FLOATS if floats_only else _FLOATS + _INTEGERS
    n = chance.choice([1, 2, 7, 32])
    values = np.array([chance.randint(0, 7) for _ in range(n)], np.float64)
    if floats_only:
        values = np.array([chance.uniform(-200, 200) for _ in range(n)]).astype(np.float16)
        values[0] = 60000  # beyond float8: saturate counts
    known, feeds = [], {}
    for i in range(chance.randint(1, 3)):
        element = chance.choice(("float32", "float64", "float16", "bfloat16", "float8e4m3fn")
                                if floats_only else ("float32", "float16", "int32", "uint8"))
        codes = codes_of(element, values)
        kind = TYPES[element]
        if chance.random() < 0.7:
            shape = chance.choice(([-1], [n], None))
            known.append(graph.input(f"in{i}", kind.onnx_type, shape, chance.choice(("", "rows"))))
            feeds[f"in{i}"] = (element, codes)
        else:
            known.append(graph.constant(f"w{i}", kind.onnx_type, [n], kind.packed(codes)))
    if not feeds:
        known.append(graph.input("in", TYPES["float32"].onnx_type, [n]))
        feeds["in"] = ("float32", codes_of("float32", values))
    made = []
    for _ in range(chance.randint(1, 12)):
        value = chance.choice(known)
        settings = {"saturate": chance.randint(0, 1), "training": chance.randint(0, 1),
                    "lda": chance.choice((1.0, 0.5, -2.0))}
        what = chance.random()
        if what < 0.7:
            made.append(graph.cast(value, TYPES[chance.choice(types)].onnx_type, **settings))
        elif what < 0.9:
            made.append(graph.cast_like(value, chance.choice(known), **settings))
        else:
            made.append(graph.identity(value))
        known.append(made[-1])
    for value in made:
        graph.output(value)
    return graph, feeds, n


def same(kind, n, data, wanted):
    """Whether two tensors have the same codes; a NaN is any NaN."""
    if data == wanted or not kind.is_float or len(data) != len(wanted):
        return data == wanted
    ours, theirs = kind.unpacked(data, n), kind.unpacked(wanted, n)
    return bool(np.all((ours == theirs) | np.isnan(kind.values(ours)) & np.isnan(kind.values(theirs))))


def check_random(library, folder, seed):
    chance = random.Random(seed)
    graph, feeds, n = random_graph(library, chance)
    path = folder / "random.onnx"
    graph.save(path, with_training=chance.random() < 0.5)
    model = onnx.load(path)
    try:
        onnx.checker.check_model(path, full_check=True)
        assert all(each.type.tensor_type.HasField("shape") for each in model.graph.input)
    except onnx.checker.ValidationError as error:
        assert not all(each.type.tensor_type.HasField("shape") for each in model.graph.input), error
        assert "Field 'shape'" in str(error), error
    names = [output.name for output in model.graph.output]
    ours = FlatSession(graph).run({name: (TYPES[element].onnx_type, (n,),
                                          TYPES[element].packed(codes))
                                   for name, (element, codes) in feeds.items()})
    assert len(ours) == len(names)
    again = FlatSession(FlatGraph(library, path=path)).run(
        {name: (TYPES[element].onnx_type, (n,), TYPES[element].packed(codes))
         for name, (element, codes) in feeds.items()})
    assert ours == again, "the saved graph gives other bits"
    for level in (onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
                  onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
        try:
            theirs = run_ort(model.SerializeToString(), feeds, names, level)
        except Exception as error:  # its exceptions have no base of their own
            if type(error).__name__ in ("NotImplemented",):
                return "refused"
            raise
        for name, (element, shape, data), wanted in zip(names, ours, theirs):
            assert shape == (n,), f"{name} has the shape {shape}"
            assert same(_BY_ONNX_TYPE[element], n, data, wanted), (f"{name} of {_BY_ONNX_TYPE[element].name}: {data.hex()}, "
                                    f"ONNX Runtime has {wanted.hex()}")
    return "same"


def check_kept(library, folder):
    """What was loaded is saved as the same message; a change of one node changes that alone."""
    node = helper.make_node("Cast", ["x"], ["m"], name="first", to=TensorProto.FLOAT16,
                            doc_string="a node's words")
    node.metadata_props.add(key="from", value="somebody")
    like = helper.make_node("CastLike", ["m", "w"], ["y"], name="second")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3], "an input's words")
    x.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    y = helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["batch", 3], "an output's words")
    m = helper.make_tensor_value_info("m", TensorProto.FLOAT16, ["batch", 3], "a value's words")
    w = helper.make_tensor("w", TensorProto.DOUBLE, [1], [1.0])
    w.doc_string = "a weight's words"
    made = helper.make_graph([node, like], "a graph", [x], [y], [w], "a graph's words", [m])
    made.metadata_props.add(key="graph", value="its own")
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 22),
                                                   helper.make_opsetid("com.example", 3)],
                              ir_version=10, producer_name="somebody", producer_version="1.2",
                              domain="com.example", model_version=7, doc_string="a model's words")
    helper.set_model_props(model, {"author": "somebody", "tensorcast": "not ours"})
    before, after = folder / "before.onnx", folder / "after.onnx"
    onnx.save(model, before)
    onnx.checker.check_model(before, full_check=True)
    graph = FlatGraph(library, path=before)
    graph.save(after)
    assert onnx.load(after) == model, "another message"
    # Changed and changed back; with training, and that taken away.
    library("graph_set_cast", graph.handle, 0, None, 0, float(TensorProto.BFLOAT16))
    graph.save(after)
    wanted = onnx.ModelProto()
    wanted.CopyFrom(model)
    wanted.graph.node[0].attribute[0].i = TensorProto.BFLOAT16
    wanted.graph.value_info[0].type.tensor_type.elem_type = TensorProto.BFLOAT16
    assert onnx.load(after) == wanted, f"another change:\n{onnx.load(after)}"
    library("graph_set_cast", graph.handle, 0, None, 0, float(TensorProto.FLOAT16))
    library("graph_set_cast", graph.handle, -1, b"second", 4, 0.1)
    graph.save(after, with_training=True)
    trained = onnx.load(after)
    props = {each.key: each.value for each in trained.metadata_props}
    assert props == {"author": "somebody", "tensorcast": "not ours", "tensorcast.training": "1",
                     "tensorcast.training:y": "lda_coeff=0.1"}, f"{props}"
    graph = FlatGraph(library, path=after)
    graph.save(before)
    assert onnx.load(before) == model, "another message without training"


def check_gradients(library, seed):
    """dX of one Cast, lda 1, is Cast(dY, to = type of X)."""
    draw = np.random.default_rng(seed)
    checked = 0
    for x_type in ("float32", "float64", "float16", "bfloat16"):
        for y_type in ("float32", "float64", "float16", "bfloat16"):
            graph = FlatGraph(library)
            x = graph.input("x", TYPES[x_type].onnx_type)
            graph.output(graph.cast(x, TYPES[y_type].onnx_type), "y")
            # Every finite code of 16 bits; of others float32's own, subnormal results among them.
            if TYPES[y_type].bits == 16:
                codes = np.arange(1 << 16, dtype=np.uint16)
            else:
                bits = draw.integers(0, 1 << 32, 50_000, dtype=np.uint32).view(np.float32)
                bits = bits[np.isfinite(bits)]
                scaled = draw.standard_normal(50_000).astype(np.float32) * np.float32(2.0) ** \
                    draw.integers(-30, 16, 50_000).astype(np.float32)
                codes = np.concatenate([bits, scaled]).astype(TYPES[y_type].dtype)
                codes = TYPES[y_type].codes(codes)
            codes = codes[np.isfinite(TYPES[y_type].values(codes))]
            n = codes.size
            session = FlatSession(graph, backward=True)
            session.run({"x": (TYPES[x_type].onnx_type, (n,), bytes(n * TYPES[x_type].bits // 8))})
            ours = session.backward({"y": (TYPES[y_type].onnx_type, (n,), codes.tobytes())},
                                    ["x"])["x"]
            rule = FlatGraph(library)
            dy = rule.input("dy", TYPES[y_type].onnx_type)
            rule.output(rule.cast(dy, TYPES[x_type].onnx_type), "dx")
            with tempfile.TemporaryDirectory() as name:
                rule.save(pathlib.Path(name) / "rule.onnx")
                theirs = run_ort((pathlib.Path(name) / "rule.onnx").read_bytes(),
                                 {"dy": (y_type, codes)}, ["dx"],
                                 onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)[0]
            got = np.frombuffer(ours, TYPES[x_type].code_dtype)
            want = np.frombuffer(theirs, TYPES[x_type].code_dtype)
            differ = np.flatnonzero(got != want)
            assert not differ.size, (f"{y_type} back to {x_type}: {differ.size} of {n} differ, "
                                     f"first {codes[differ[0]]:x}: {got[differ[0]]:x}, "
                                     f"ONNX Runtime has {want[differ[0]]:x}")
            checked += n
    return checked


def check_versions(library, folder):
    wanted = {}
    for row in helper.VERSION_TABLE:
        ir, opset = row[1], row[2]
        wanted[opset] = max(4, min(ir, wanted.get(opset, ir)))
    newest = max(wanted)
    for opset in range(1, newest + 1):
        graph = FlatGraph(library, opset)
        x = graph.input("x", TensorProto.FLOAT, [2])
        graph.output(graph.cast(x, TensorProto.DOUBLE), "y")
        path = folder / "version.onnx"
        graph.save(path)
        onnx.checker.check_model(path, full_check=opset > 5)  # nothing infers types before
        model = onnx.load(path)
        assert model.opset_import[0].version == opset
        # An opset between two releases has that of the next.
        ir = wanted[min(each for each in wanted if each >= opset)]
        assert model.ir_version == ir, f"opset {opset}: IR {model.ir_version}, not {ir}"
    return newest


def main():
    library = Library(sys.argv[1])
    failures, counted = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in range(_GRAPHS):
            try:
                counted[check_random(library, folder, seed)] += 1
            except (AssertionError, FlatError, onnx.checker.ValidationError) as error:
                print(f"graph {seed}: {type(error).__name__}: {error}")
                failures += 1
        newest = check_versions(library, folder)
        check_kept(library, folder)
    checked = check_gradients(library, 7)
    print(f"{counted['same']} graphs the same, {counted['refused']} that ONNX Runtime does not run, "
          f"{failures} others; opsets to {newest}; {checked} gradients")
    return 1 if failures or counted["same"] < _GRAPHS // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
