"""MDF's cast, and MDF's own engine with ours: beside MDF 0.4.15 itself, which runs ONNX Runtime.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import io
import itertools
import math
import pathlib
import platform
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
import tensorcast as tc
import tensorcast.mdf
from modeci_mdf.execution_engine import EvaluableGraph
from modeci_mdf.functions import onnx as mdf_onnx
from modeci_mdf.functions.standard import mdf_functions
from modeci_mdf.mdf import Function, Graph, InputPort, Model, Node, OutputPort, Parameter

THEIRS = {"cast": mdf_onnx.cast, "castlike": mdf_onnx.castlike}
# What MDF casts to (skl2onnx's Variable.from_pb).
MDFS = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 8: object, 9: np.bool_,
        11: np.float64}
X = np.array([1.5, -2.75, 300.5, 0.0, 127.0, -0.0], np.float32)
SMALL = np.array([[0, 1, 2], [100, 7, 90]])


@pytest.fixture(autouse=True)
def mdfs_own_afterwards():
    yield
    tensorcast.mdf.uninstall()
    assert mdf_onnx.cast is THEIRS["cast"] and mdf_onnx.castlike is THEIRS["castlike"]


def graph(*functions, parameters=(), outputs=None):
    """A model of one node A with the input x and functions in a row."""
    node = Node(id="A")
    node.input_ports.append(InputPort(id="x"))
    node.parameters.extend(parameters)
    node.functions.extend(functions)
    for name in outputs or [functions[-1].id]:
        node.output_ports.append(OutputPort(id=f"out_{name}", value=name))
    model = Model(id="model", graphs=[Graph(id="graph")])
    model.graphs[0].nodes.append(node)
    return model


def casts(*types, **options):
    names = ["x", *(f"c{index}" for index in range(len(types)))]
    return [Function(id=names[index + 1], function="onnx::Cast",
                     args={"input": names[index], "to": to, **options})
            for index, to in enumerate(types)]


def run(model, x):
    with contextlib.redirect_stdout(io.StringIO()):
        engine = EvaluableGraph(model.graphs[0])
        engine.evaluate(initializer={"x": x})
    values = [port.curr_value for port in engine.enodes["A"].evaluable_outputs.values()]
    return values[0] if len(values) == 1 else values


def same(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got, want)
    if got.dtype == object:
        assert got.tolist() == want.tolist()
    else:
        assert got.tobytes() == want.tobytes(), (got, want)


@pytest.mark.parametrize("to", MDFS)
@pytest.mark.parametrize("x", [X, X.reshape(2, 3), X.astype(np.float64), SMALL, SMALL.astype(np.int32),
                               SMALL.astype(np.uint8), SMALL > 1, [1.5, 2.0], [1, 2], 5, 2.5,
                               np.array(2.5), X[:0]], ids=repr)
def test_compatible_is_what_mdf_gives(x, to):
    same(tensorcast.mdf.cast(x, to), THEIRS["cast"](x, to))
    same(tensorcast.mdf.cast(input=x, to=to), THEIRS["cast"](input=x, to=to))


# Beyond the range MDF gives what the processor does; docs/mdf.md lists it.
BEYOND = np.array([3e9, -3e9, 2147483648.0, 1e19, -1e19, math.nan, math.inf, -math.inf])


@pytest.mark.parametrize("to, bits, theirs", [
    (6, 32, [-2**31] * 8), (7, 64, [3000000000, -3000000000, 2147483648] + [-2**63] * 5), (3, 8, [0] * 8)])
def test_beyond_the_range_the_low_bits_and_not_what_mdf_gives(to, bits, theirs):
    half = 2**(bits - 1)
    want = [(int(v) + half) % (2 * half) - half if math.isfinite(v) else 0
            for v in BEYOND.astype(np.float32).tolist()]  # float32, as MDF makes it
    assert tensorcast.mdf.cast(BEYOND, to).tolist() == want
    assert np.asarray(THEIRS["cast"](BEYOND, to)).tolist() == theirs or platform.machine() != "x86_64"


@pytest.mark.parametrize("texts", [["1.5", "-2"], ["nan", "inf"]])
def test_texts_as_mdf_reads_them(texts):
    same(tensorcast.mdf.cast(texts, 1), THEIRS["cast"](texts, 1))


@pytest.mark.parametrize("to", [7, "7", 7.0, [7], "3+4", np.int64(7), np.array([7]), "7.0", " 7 ",
                                "int64", "INT64", np.int64, np.dtype("int64")])
def test_ways_to_write_to(to):
    same(tensorcast.mdf.cast(X, to), np.array([1, -2, 300, 0, 127, 0]))


def test_true_is_float():
    same(tensorcast.mdf.cast([1, 2], True), np.array([1, 2], np.float32))


@pytest.mark.parametrize("to", [0, 14, 15, 29, -1, 99, 7.5, float("nan"), "x", "7.5", "9**9", "7//0", "1 if",
                                "__import__('os')", "(" * 99 + "1", None, [], [1, 2], {}, object()])
def test_what_is_not_a_type_is_refused(to):
    with pytest.raises((tc.ArgumentError, tc.KindError)) as refused:
        tensorcast.mdf.cast(X, to)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("args, kwargs", [
    ((), {}), ((X,), {}), ((X, 7), {"axis": 1}), ((X, 7, 1, "up", 3), {}),
    ((X, 7), {"mode": "quick"}), ((X, 24), {"round_mode": "UP"}), ((["x"], 1), {})])
def test_bad_calls_are_refused(args, kwargs):
    with pytest.raises(tc.ArgumentError):
        tensorcast.mdf.cast(*args, **kwargs)


def test_what_is_not_a_tensor_is_refused():
    with pytest.raises(tc.RangeError):
        tensorcast.mdf.cast(2**70, 1)
    with pytest.raises(tc.ArgumentError):
        tensorcast.mdf.cast([[1], [1, 2]], 7)
    with pytest.raises(tc.KindError):
        tensorcast.mdf.cast(np.ma.masked_array([1.0, 2.0], [True, False]), 7)


def test_saturate_is_false_where_it_is_0():
    same(tensorcast.mdf.cast(X, 17, 2), tc.cast(X, "float8_e4m3fn"))
    with pytest.raises(tc.ArgumentError):
        tensorcast.mdf.cast(X, 17, "no")


def test_by_position_where_a_keyword_gives_the_input():
    same(tensorcast.mdf.cast(7, input=X), tensorcast.mdf.cast(X, 7))
    same(tensorcast.mdf.cast(X, 17, 0), tc.cast(X, "float8_e4m3fn", saturate=False))
    same(tensorcast.mdf.cast(X[:1], 24, 1, "down"), tc.cast(X[:1], 24, round_mode="down"))


@pytest.mark.parametrize("to", tc.type_names())
def test_every_type(to):
    for mode in ("compatible", "exact"):
        style = "ort" if mode == "compatible" else "numpy"
        same(tensorcast.mdf.cast(X, to, mode=mode), tc.cast(X, to, string_style=style))


def test_exact_converts_nothing():
    x = np.array([16777217.0, 0.1])
    same(tensorcast.mdf.cast(x, 11, mode="exact"), x)
    same(tensorcast.mdf.cast(x, 11), x.astype(np.float32).astype(np.float64))
    same(tensorcast.mdf.castlike([0.1], np.zeros(1), mode="exact"), np.array([0.1]))
    same(tensorcast.mdf.castlike([0.1], np.zeros(1)), np.array([0.1], np.float32))


@pytest.mark.parametrize("target", [np.zeros(2, np.uint8), np.zeros(1, np.int32), np.zeros(1, bool),
                                    np.zeros(1), [1], 2.5], ids=repr)
def test_castlike_is_what_mdf_gives(target):
    same(tensorcast.mdf.castlike(X, target), THEIRS["castlike"](X, target))


@pytest.mark.parametrize("types", [*itertools.product([1, 2, 7, 9, 11], repeat=2), (1, 6, 3, 11, 7)])
def test_graphs_of_mdf_in_the_compatible_mode_give_the_same(types):
    model = graph(*casts(*types), outputs=[f"c{index}" for index in range(len(types))])
    theirs = run(model, SMALL)
    with tensorcast.mdf.install():
        assert mdf_onnx.cast.__module__ == "tensorcast.mdf"
        ours = run(model, SMALL)
    for got, want in zip(ours, theirs, strict=True):
        same(got, want)


def test_graphs_in_the_exact_mode_keep_types():
    x = np.array([0.1, 500.0, 1 / 3])
    model = graph(*casts(11, 1, 11), outputs=["c0", "c1", "c2"])
    with tensorcast.mdf.install(mode="exact"):
        got = run(model, x)
    for value, want in zip(got, [x, x.astype(np.float32), x.astype(np.float32).astype(np.float64)],
                           strict=True):
        same(value, want)
    same(run(model, x)[1], x.astype(np.float32).astype(np.float64))  # MDF widens


@pytest.mark.parametrize("placed", ["args", "parameter", "sibling", "text"])
def test_types_and_attributes_that_mdf_does_not_have(placed):
    functions = [Function(id="c", function="onnx::Cast", args={"input": "x", "saturate": 0})]
    parameters = []
    if placed == "args":
        functions[0].args["to"] = 17
    elif placed == "text":
        functions[0].args["to"] = "17"
    elif placed == "sibling":
        parameters = [Parameter(id="to", value=17)]
    else:
        functions, parameters = [], [Parameter(id="c", function="onnx::Cast",
                                               args={"input": "x", "to": 17, "saturate": 0})]
    model = graph(*functions, parameters=parameters, outputs=["c"])
    x = np.array([1.0, 500.0], np.float32)
    with pytest.raises(NotImplementedError):
        run(model, x)
    with tensorcast.mdf.install():
        same(run(model, x), np.array([1.0, np.nan], ml_dtypes.float8_e4m3fn))


def test_castlike_in_graphs():
    model = graph(Function(id="c", function="onnx::CastLike", args={"input": "x", "target_type": "k"}),
                  parameters=[Parameter(id="k", value=[1, 2])])
    theirs = run(model, X)
    with tensorcast.mdf.install():
        same(run(model, X), theirs)


def test_files_of_mdf(tmp_path):
    model = graph(*casts("7", 1))
    for ending in ("json", "yaml", "bson"):
        getattr(model, f"to_{ending}_file")(str(tmp_path / f"m.{ending}"))
        with tensorcast.mdf.install(mode="exact"):
            loaded = Model.from_file(str(tmp_path / f"m.{ending}"))
            same(run(loaded, X), np.array([1, -2, 300, 0, 127, 0], np.float32))


def test_other_functions_stay_mdfs():
    model = graph(Function(id="f", function="onnx::Mul", args={"A": "x", "B": "x"}),
                  Function(id="c", function="onnx::Cast", args={"input": "f", "to": 7}))
    theirs = run(model, X)
    with tensorcast.mdf.install(mode="exact"):
        same(run(model, X), theirs)
    unknown = graph(Function(id="c", function="onnx::Cast", args={"input": "x", "to": "nothing"}))
    with tensorcast.mdf.install(), pytest.raises(ValueError, match="nothing"):
        run(unknown, X)


def test_installing_is_undone():
    before = {key: dict(mdf_functions[key]) for key in ("onnx::Cast", "onnx::CastLike", "onnx::Mul")}
    schema = mdf_onnx.get_onnx_schema
    assert tensorcast.mdf.installed_mode() is None
    with tensorcast.mdf.install():
        assert mdf_functions["onnx::Cast"]["function"] is tensorcast.mdf.cast
        assert mdf_functions["onnx::Mul"] == before["onnx::Mul"]
        with tensorcast.mdf.install(mode="exact"):
            assert tensorcast.mdf.installed_mode() == "exact"
            same(mdf_onnx.cast([0.1], 11), np.array([0.1]))
        assert tensorcast.mdf.installed_mode() == "compatible"
        same(mdf_onnx.cast([0.1], 11), np.array([0.1], np.float32).astype(np.float64))
    assert mdf_onnx.get_onnx_schema is schema
    assert {key: dict(mdf_functions[key]) for key in before} == before
    tensorcast.mdf.install("exact")
    tensorcast.mdf.uninstall()
    tensorcast.mdf.uninstall()
    with pytest.raises(tc.ArgumentError):
        tensorcast.mdf.install(mode="quick")
    # Uninstalled within, or left in another order: what is said is what MDF has.
    with tensorcast.mdf.install("exact"), tensorcast.mdf.install():
        tensorcast.mdf.uninstall()
    assert tensorcast.mdf.installed_mode() is None and mdf_onnx.cast is THEIRS["cast"]
    outer, inner = tensorcast.mdf.install("exact"), tensorcast.mdf.install("compatible")
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    assert tensorcast.mdf.installed_mode() is None and mdf_onnx.cast is THEIRS["cast"]


@pytest.mark.parametrize("ending", ["json", "yaml", "bson"])
def test_files(tmp_path, ending):
    """What `save` writes is `load`'s, and MDF's own engine's."""
    path = tmp_path / f"m.{ending}"
    built = tc.graph.Graph(opset=15)
    x = built.add_input("x", "float32", [3])
    built.mark_output(built.cast(x, "int64", output_name="y"), "y")
    tensorcast.mdf.save(built, path)
    loaded = tensorcast.mdf.load(path)
    assert inputs(loaded) == [("x", "float32")]
    ours = tc.graph.Session.load(loaded.serialize()).run({"x": X[:3]})["y"]
    assert ours.tolist() == [1, -2, 300]
    with pytest.raises(tc.Error):
        tensorcast.mdf.save(built, path)
    for reader in (tc.graph.Session.load, tc.graph.Graph.load):
        with pytest.raises(tc.UnsupportedError, match="tensorcast.mdf.load"):
            reader(path)


def inputs(loaded):
    return [(info.name, info.type) for info in tc.graph.Session.load(loaded.serialize()).inputs]


def test_types_of_inputs(tmp_path):
    """MDF's ports need none: the reader is told."""
    path = tmp_path / "m.json"
    graph(Function(id="c", function="onnx::Cast", args={"input": "x", "to": 7})).to_json_file(str(path))
    assert inputs(tensorcast.mdf.load(path, types="float16")) == [("x", "float16")]
    assert inputs(tensorcast.mdf.load(path, types={"x": "int8"})) == [("x", "int8")]
    with pytest.raises(tc.Error, match="type"):
        tensorcast.mdf.load(path)
    with pytest.raises(tc.Error):
        tensorcast.mdf.load(tmp_path / "none.json")


def test_the_example():
    example = pathlib.Path(__file__).resolve().parents[2] / "examples/python/mdf_casts.py"
    done = subprocess.run([sys.executable, "-B", "-W", "ignore", example], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"MDF:   {np.float64(np.float32(0.1))} 16777216.0", "exact: 0.1 16777217.0",
        "[0.101562 448]"]


def test_graphs_on_threads():
    model = graph(*casts(1, 7, 1))
    wrong = []

    def work(seed):
        x = np.full(50, seed, np.int64)
        for _ in range(20):
            if run_quietly(model, x).tolist() != [seed] * 50:
                wrong.append(seed)

    def run_quietly(model, x):
        engine = EvaluableGraph(model.graphs[0])
        engine.evaluate(initializer={"x": x})
        return engine.enodes["A"].evaluable_outputs["out_c2"].curr_value

    with contextlib.redirect_stdout(io.StringIO()), tensorcast.mdf.install(mode="exact"):
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
