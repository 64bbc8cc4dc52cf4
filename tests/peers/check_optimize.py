#!/usr/bin/env python3
"""Models without the Casts that can go: onnx checks them, and ONNX Runtime gives for them what it
gives for the originals, bit for bit (NaNs as NaNs: it has payloads of its own).

ONNX Runtime joins Casts itself, also where its optimisations are disabled, and not always rightly.
Of every model that it runs here all that is between is an output too, which keeps it from that.
Elements are passed over behind a cast that ONNX leaves undefined: a float beyond an integer type.

    check_optimize.py TOOL

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from onnx_runs import open_session
from tool import Tool

_RANDOM = np.random.default_rng(13)
_NATIVE = {
    TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.DOUBLE: np.float64,
    TensorProto.INT8: np.int8, TensorProto.UINT8: np.uint8, TensorProto.INT16: np.int16,
    TensorProto.UINT16: np.uint16, TensorProto.INT32: np.int32, TensorProto.UINT32: np.uint32,
    TensorProto.INT64: np.int64, TensorProto.UINT64: np.uint64, TensorProto.BOOL: np.bool_,
}
_OTHERS = {
    TensorProto.BFLOAT16: (13, ml_dtypes.bfloat16),
    TensorProto.FLOAT8E4M3FN: (19, ml_dtypes.float8_e4m3fn),
    TensorProto.FLOAT8E4M3FNUZ: (19, ml_dtypes.float8_e4m3fnuz),
    TensorProto.FLOAT8E5M2: (19, ml_dtypes.float8_e5m2),
    TensorProto.FLOAT8E5M2FNUZ: (19, ml_dtypes.float8_e5m2fnuz),
}
_DTYPES = _NATIVE | {number: dtype for number, (_, dtype) in _OTHERS.items()}
_IR_VERSION = 9
_ELEMENTS = 96


def optimise(tool, model, *flags):
    """The model that the tool makes of one, which onnx checks, and its report."""
    before, after = tool.folder / "before.onnx", tool.folder / "after.onnx"
    onnx.save(model, before)
    report, _ = tool.run("optimize", before, "-o", after, "--json", "--force", *flags)
    result = onnx.load(after)
    onnx.checker.check_model(result, full_check=True)
    return result, json.loads(report)


def _kept(model):
    """The same with all that Casts give among its outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    named = {value.name for value in copy.graph.output}
    for node in copy.graph.node:
        if node.op_type == "Cast" and node.output[0] not in named:
            to = next(each.i for each in node.attribute if each.name == "to")
            copy.graph.output.append(helper.make_tensor_value_info(node.output[0], to, None))
    return copy


def run(model, feeds):
    """What ONNX Runtime gives for the model's own outputs, without joining Casts."""
    session = open_session(_kept(model))
    return session.run([value.name for value in model.graph.output], feeds)


def same(before, after):
    """Where two arrays have the same bits, or NaN both."""
    if before.dtype != after.dtype or before.shape != after.shape:
        return np.zeros(before.shape, np.bool_)
    unsigned = np.dtype(f"u{before.dtype.itemsize}")
    equal = before.view(unsigned) == after.view(unsigned)
    if before.dtype.kind == "f":
        equal |= np.isnan(before) & np.isnan(after)
    return equal


class Failures:
    """Counts what was compared, and says what differs."""

    def __init__(self):
        self.compared = self.failed = 0

    def compare(self, what, before, after, defined=None):
        for index, (x, y) in enumerate(zip(before, after, strict=True)):
            where = np.ones(x.shape, np.bool_) if defined is None else defined[index]
            self.compared += int(np.sum(where))
            wrong = where & ~same(x, y)
            if np.any(wrong):
                self.failed += 1
                i = np.argwhere(wrong)[0]
                print(f"{what}, output {index}: {x[tuple(i)]} became {y[tuple(i)]}")

    def expect(self, what, is_so):
        self.compared += 1
        if not is_so:
            self.failed += 1
            print(what)


# ------------------------------------------------------------------------------ random graphs

def _inputs(number):
    """Values of a native type: planted and random ones, of which many fit narrow types."""
    dtype = _NATIVE[number]
    if dtype == np.bool_:
        return _RANDOM.integers(0, 2, _ELEMENTS).astype(np.bool_)
    if np.dtype(dtype).kind == "f":
        planted = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 1.5, 100.99, 448, 449, 57344, 65504,
                   65520, 3e9, 1e-8, -1e-8, 255, 256, 127, 128, -128, 3e38]
        values = np.concatenate([planted, _RANDOM.uniform(-130, 130, 40), _RANDOM.integers(0, 120, 32)])
        with np.errstate(over="ignore"):
            return values.astype(dtype)
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, 0, 1] + list(_RANDOM.integers(0, 100, _ELEMENTS - 4))
    return np.array(values, dtype)


def _is_defined(values, number):
    """Where a cast of the values to a type has a result by the operator's text."""
    dtype = np.dtype(_DTYPES[number])
    if dtype.kind not in "iu" or values.dtype.kind in "iub":
        return np.ones(values.shape, np.bool_)
    wide = values.astype(np.float64)
    limits = np.iinfo(dtype)
    return (wide > limits.min - 1.0) & (wide < limits.max + 1.0) & np.isfinite(wide)


def _random_graph(opset):
    """A graph of Casts with a few additions, and of each output where it is defined."""
    types = list(_NATIVE) + [number for number, (since, _) in _OTHERS.items() if since <= opset]
    types = [types[i] for i in _RANDOM.choice(len(types), _RANDOM.integers(2, 6), replace=False)]
    if not any(number in _NATIVE for number in types):
        types.append(TensorProto.FLOAT)
    native = [number for number in types if number in _NATIVE]
    values, feeds, nodes, inputs = [], {}, [], []
    for i in range(2):
        number = native[_RANDOM.integers(len(native))]
        array = _inputs(number)
        feeds[f"x{i}"] = array
        inputs.append(helper.make_tensor_value_info(f"x{i}", number, [_ELEMENTS]))
        values.append((f"x{i}", number, array, np.ones(array.shape, np.bool_)))
    with np.errstate(all="ignore"):
        for i in range(_RANDOM.integers(4, 30)):
            name, number, array, defined = values[-1 - _RANDOM.integers(min(4, len(values)))]
            if number == TensorProto.FLOAT and _RANDOM.random() < 0.15:
                nodes.append(helper.make_node("Neg", [name], [f"v{i}"]))
                values.append((f"v{i}", number, -array, defined))
                continue
            to = types[_RANDOM.integers(len(types))]
            saturate = {"saturate": 0} if to >= 17 and to <= 20 and _RANDOM.random() < 0.3 else {}
            nodes.append(helper.make_node("Cast", [name], [f"v{i}"], to=to, **saturate))
            values.append((f"v{i}", to, array.astype(_DTYPES[to]),
                           defined & _is_defined(array, to)))
    outputs, masks = [], []
    for name, number, _, defined in values[2:]:
        if _RANDOM.random() > 0.4 and name != values[-1][0]:
            continue
        if number not in _NATIVE:  # which Python's ONNX Runtime does not give
            nodes.append(helper.make_node("Cast", [name], [f"{name}_wide"], to=TensorProto.FLOAT))
            name, number = f"{name}_wide", TensorProto.FLOAT
        outputs.append(helper.make_tensor_value_info(name, number, [_ELEMENTS]))
        masks.append(defined)
    graph = helper.make_graph(nodes, "random", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                              ir_version=_IR_VERSION)
    return model, feeds, masks


def check_random(tool, failures):
    removed = 0
    for round_ in range(150):
        model, feeds, masks = _random_graph(int(_RANDOM.choice([13, 18, 19, 21])))
        flags = [[], ["--nan-payloads-may-change"], ["--fold", "all"]][round_ % 3]
        if round_ % 2:
            model = onnx.shape_inference.infer_shapes(model)  # value_info that has to go too
        result, report = optimise(tool, model, *flags)
        removed += len(report["removed"])
        failures.expect(f"round {round_}: the report counts other nodes than are there",
                        report["after"]["nodes"] == len(result.graph.node) and
                        report["before"]["nodes"] == len(model.graph.node))
        names = {name for node in result.graph.node for name in node.output}
        failures.expect(f"round {round_}: value_info of values that are gone",
                        {value.name for value in result.graph.value_info} <= names)
        failures.compare(f"round {round_}", run(model, feeds), run(result, feeds), masks)
    failures.expect(f"{removed} nodes removed in all", removed > 300)


# ------------------------------------------------------------------- what stands around casts

def _cast(source, result, to, **more):
    return helper.make_node("Cast", [source], [result], to=to, **more)


def _surrounded_model():
    """Casts around Conv, MatMul and Reshape, in If and Loop, in a function, and of constants."""
    half, full, double, long = (TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE,
                                TensorProto.INT64)
    info = helper.make_tensor_value_info
    then_branch = helper.make_graph(
        [_cast("rows", "back", half), _cast("back", "again", double),
         helper.make_node("ReduceSum", ["again"], ["then_sum"], keepdims=0)],
        "then", [], [info("then_sum", double, [])])
    else_branch = helper.make_graph(
        [_cast("ids", "wide", double), helper.make_node("ReduceSum", ["wide"], ["else_sum"], keepdims=0)],
        "else", [], [info("else_sum", double, [])])
    body = helper.make_graph(
        [_cast("ids", "ids_long", long), _cast("ids_long", "ids_back", TensorProto.UINT8),
         _cast("ids_back", "ids_full", full),
         helper.make_node("ReduceMax", ["ids_full"], ["most"], keepdims=0),
         helper.make_node("Add", ["carried", "most"], ["next"]),
         helper.make_node("Identity", ["condition"], ["go_on"])],
        "body", [info("iteration", long, []), info("condition", TensorProto.BOOL, []),
                 info("carried", full, [])],
        [info("go_on", TensorProto.BOOL, []), info("next", full, [])])
    function = helper.make_function(
        "own", "Trip", ["a"], ["b"],
        [_cast("a", "small", TensorProto.INT16), _cast("small", "wide", long),
         _cast("wide", "b", full)],
        [helper.make_opsetid("", 19)])
    nodes = [
        _cast("ids", "ids_32", TensorProto.INT32), _cast("ids_32", "ids_64", long),
        helper.make_node("Gather", ["table", "ids_64"], ["picked"]),
        _cast("picked", "rows", full),
        helper.make_node("MatMul", ["rows", "weight_full"], ["product"]),
        _cast("weight", "weight_full", full),
        helper.make_node("Constant", [], ["one"], value=numpy_helper.from_array(np.array([2.5]))),
        _cast("one", "one_full", full),
        helper.make_node("Mul", ["product", "one_full"], ["scaled"]),
        helper.make_node("Reshape", ["scaled", "shape_long"], ["flat"]),
        _cast("shape", "shape_long", long),
        helper.make_node("If", ["flag"], ["chosen"], name="choice", then_branch=then_branch,
                         else_branch=else_branch),
        helper.make_node("Loop", ["times", "", "start"], ["looped"], name="repeat", body=body),
        helper.make_node("Trip", ["flat"], ["tripped"], domain="own"),
        _cast("flat", "same", full), helper.make_node("Neg", ["same"], ["negated"]),
    ]
    order = {name: i for i, name in enumerate(
        ["ids_32", "ids_64", "picked", "rows", "weight_full", "product", "one", "one_full", "scaled",
         "shape_long", "flat", "chosen", "looped", "tripped", "same", "negated"])}
    nodes.sort(key=lambda node: order[node.output[0]])
    arrays = {"table": _RANDOM.standard_normal((50, 8)).astype(np.float16),
              "weight": _RANDOM.standard_normal((8, 4)), "shape": np.array([-1], np.int32),
              "times": np.array(3, np.int64), "start": np.array(0, np.float32)}
    graph = helper.make_graph(
        nodes, "surrounded",
        [info("ids", TensorProto.UINT8, [6]), info("flag", TensorProto.BOOL, [])],
        [info("chosen", double, []), info("looped", full, []), info("tripped", full, [None]),
         info("negated", full, [None])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()])
    return helper.make_model(graph, functions=[function], ir_version=_IR_VERSION,
                             opset_imports=[helper.make_opsetid("", 19), helper.make_opsetid("own", 1)])


def check_surrounded(tool, failures):
    model = _surrounded_model()
    onnx.checker.check_model(model, full_check=True)
    for inferred in (False, True):
        source = onnx.shape_inference.infer_shapes(model) if inferred else model
        for flags in ([], ["--fold", "all"]):
            result, report = optimise(tool, source, *flags)
            rules = {(each["graph"], each["output"]): each["rule"] for each in report["removed"]}
            # In the branch "rows" of float32 is that which was gathered of float16: it is quieted.
            expected = {("", "ids_32"): "chain", ("", "weight_full"): "constant",
                        ("", "one_full"): "constant", ("", "shape_long"): "constant",
                        ("repeat.body", "ids_back"): "round-trip",
                        ("repeat.body", "ids_long"): "duplicate", ("own.Trip", "wide"): "chain"}
            if inferred:
                expected[("", "same")] = "same-type"
            for key, rule in expected.items():
                if key[1] == "shape_long" and not flags:
                    continue  # 8 bytes for 4, but without the node
                failures.expect(f"{key} went by {rules.get(key)}, not {rule} ({flags})",
                                rules.get(key) == rule)
            for flag in (True, False):
                feeds = {"ids": np.array([0, 3, 49, 7, 7, 20], np.uint8), "flag": np.array(flag)}
                failures.compare(f"surrounded {flags} {flag}", run(source, feeds),
                                 run(result, feeds))


# ------------------------------------------------------------- chains of ONNX Runtime's issues

_F, _H, _D = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE
_I8, _I32, _I64, _B = TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
# The issue (or pull request), the types, values and what the operator's text makes of them.
_ISSUES = (
    ("#433", (_F, _B, _F), [100, 0, 3], [1, 0, 1]),
    ("#4039", (_F, _I32, _F), [1.5, -2.7, 3], [1, -2, 3]),
    ("#8787", (_F, _H, _F), [1e-12, 1.234567e5], [0, np.inf]),
    ("#11994", (_F, _I32, _B), [-0.2, -0.1, 0, 0.1, 0.2], [False] * 5),
    ("#13418", (_D, _I32, _B), [0.98858178], [False]),
    ("#17953", (_D, _F, _D), [0.1, 1 + 2.0 ** -40], [float(np.float32(0.1)), 1]),
    ("#19437", (_F, _H, _F), [70000, 2.0 ** -26], [np.inf, 0]),
    ("#24842", (_F, _H, _I8, _F, _H), [3.7, -5.2], [3, -5]),
    ("#27291", (_I64, _F, _H), [2 ** 11 + 1, 2 ** 12 + 2], [2048, 4096]),
    ("#28089", (_F, _I32, _B), [-0.2, 0.9, 1.0], [False, False, True]),
    ("float32 -> int64 -> int32", (_F, _I64, _I32), [3e9, 5e9, 1e10],
     [-1294967296, 705032704, 1410065408]),
    ("float64 -> int64 -> int32", (_D, _I64, _I32), [3e9, 5000000000.7, 1e12],
     [-1294967296, 705032704, -727379968]),
    ("float32 -> float16 -> int8", (_F, _H, _I8), [100.99], [101]),
)


def check_issues(tool, failures):
    for issue, types, values, expected in _ISSUES:
        nodes = [_cast(f"v{i}", f"v{i + 1}", to) for i, to in enumerate(types[1:])]
        last = f"v{len(nodes)}"
        graph = helper.make_graph(
            nodes, "issue", [helper.make_tensor_value_info("v0", types[0], [len(values)])],
            [helper.make_tensor_value_info(last, types[-1], [len(values)])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)],
                                  ir_version=_IR_VERSION)
        result, _ = optimise(tool, model)
        feeds = {"v0": np.array(values, _NATIVE[types[0]])}
        wanted = [np.array(expected, _NATIVE[types[-1]])]
        failures.compare(f"{issue} as it was, in ONNX Runtime", wanted, run(model, feeds))
        failures.compare(f"{issue}, in ONNX Runtime", wanted, run(result, feeds))
        np.save(tool.folder / "v0.npy", feeds["v0"])
        for name, flags in (("before", []), ("before", ["--optimize"]), ("after", [])):
            tool.run("run", tool.folder / f"{name}.onnx", "--input", f"v0={tool.folder / 'v0.npy'}",
                     "--output-dir", tool.folder / "out", "--force", "-q", *flags)
            failures.compare(f"{issue}, {name} {flags}", wanted,
                             [np.load(tool.folder / "out" / f"{last}.npy")])


def check_same_type_before_mul(tool, failures):
    """#32416: with a same-type Cast in front of a Mul by what folds to one, the graph broke."""
    one = numpy_helper.from_array(np.array([1], np.float32), "one")
    graph = helper.make_graph(
        [_cast("x", "mid", _F), helper.make_node("Div", ["one", "one"], ["folded"]),
         helper.make_node("Mul", ["mid", "folded"], ["wrapped"]),
         helper.make_node("Add", ["wrapped", "one"], ["y"])],
        "mul", [helper.make_tensor_value_info("x", _F, [3])],
        [helper.make_tensor_value_info("y", _F, [3])], [one])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)],
                              ir_version=_IR_VERSION)
    result, report = optimise(tool, model)
    failures.expect("#32416: the Cast stays", [each["output"] for each in report["removed"]] == ["mid"])
    feeds = {"x": np.array([1, -2, np.inf], np.float32)}
    failures.compare("#32416", run(model, feeds), run(result, feeds))
    session = open_session(result, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    failures.compare("#32416, all optimisations", run(model, feeds), session.run(None, feeds))


def main():
    parser = argparse.ArgumentParser(description="Optimised models beside onnx and ONNX Runtime.")
    parser.add_argument("tool")
    failures = Failures()
    with Tool(parser.parse_args().tool) as tool:
        check_issues(tool, failures)
        check_same_type_before_mul(tool, failures)
        check_surrounded(tool, failures)
        check_random(tool, failures)
    print(f"{failures.compared} values and facts compared, {failures.failed} failures")
    return 1 if failures.failed or failures.compared < 50000 else 0


if __name__ == "__main__":
    sys.exit(main())
