#!/usr/bin/env python3
"""Models whose weights are stored as codes and scales: onnx checks them, rationals give their codes
and scales, and ONNX Runtime runs them as it runs the original with its weights replaced by code times
scale, which numpy multiplies, bit for bit.

    check_onnx_scales.py TOOL

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from onnx_runs import run_model
from tool import Tool, ToolError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scale"))
import check_written as exact  # noqa: E402  pylint: disable=wrong-import-position

_RANDOM = np.random.default_rng(11)
_CODES = {"int8-row": ("int8", exact.INT8, np.int8),
          "fp8-row": ("float8e4m3fn", exact.E4M3, ml_dtypes.float8_e4m3fn),
          "fp8-tensor": ("float8e4m3fn", exact.E4M3, ml_dtypes.float8_e4m3fn)}

# ---------------------------------------------------------------------------------- models


def _weights(*shape, dtype):
    return (_RANDOM.standard_normal(shape) / 3).astype(dtype)


def _odd(dtype):
    """Columns of zeros, NaN, infinities, one value, tiny and huge ones."""
    values = _weights(32, 64, dtype=dtype)
    least = ml_dtypes.finfo(dtype).smallest_subnormal
    values[:, 0] = 0
    values[:, 1] = np.array(-0.0, dtype)
    values[3, 2] = np.inf
    values[4, 2] = -np.inf
    values[:, 3] = np.inf
    values[5, 4] = np.nan
    values[:, 5] = np.nan
    values[:, 6] = least
    values[:, 7] = -least * 3
    values[:, 8] = min(float(ml_dtypes.finfo(dtype).max), 3e38)  # scales are float32
    values[:, 9] = 127 * np.linspace(0, 1, 255)[_RANDOM.integers(0, 255, 32)]  # ties
    values[0, 9] = 127
    return values


class Model:
    """A model, and of each of its weights the axis of the output channels; others have none."""

    def __init__(self, opset, ir_version, dtype):
        self.dtype = np.dtype(dtype)
        self.element = helper.np_dtype_to_tensor_dtype(self.dtype)
        self.axes, self.left = {}, {}
        self.nodes, self.initializers, self.inputs, self.outputs = [], {}, {}, {}
        self.has_branches = ir_version >= 4
        self.has_functions = ir_version >= 8
        self._add_layers()
        self._add_shared()
        self._add_choice()
        functions = [self._function(opset)] if self.has_functions else []
        graph = helper.make_graph(
            self.nodes, "g",
            [self._value(name, shape) for name, shape in self.inputs.items()]
            + ([helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                for name, array in self.initializers.items()] if ir_version < 4 else [])
            + ([helper.make_tensor_value_info("flag", TensorProto.BOOL, [])]
               if self.has_branches else []),
            [self._value(name, [None] * rank) for name, rank in self.outputs.items()],
            [numpy_helper.from_array(array, name) for name, array in self.initializers.items()])
        imports = [helper.make_opsetid("", opset)]
        if functions:
            imports.append(helper.make_opsetid("local", 1))
        self.proto = helper.make_model(graph, opset_imports=imports, functions=functions,
                                       ir_version=ir_version)

    def _value(self, name, shape):
        return helper.make_tensor_value_info(name, self.element, shape)

    def _constant(self, name, array):
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))

    def _apply(self, op, weight, shape, output, *more, **attributes):
        self.inputs[f"for_{output}"] = shape
        self.nodes.append(helper.make_node(op, [f"for_{output}", weight, *more], [output],
                                           **attributes))
        self.outputs[output] = len(shape)

    def _add_layers(self):
        def weight(name, *shape, axis):
            self.initializers[name] = _weights(*shape, dtype=self.dtype)
            self.axes[name] = axis

        def other(name, why, *shape):
            self.initializers[name] = _weights(*shape, dtype=self.dtype)
            self.left[name] = why

        if self.dtype in (np.float32, np.float16):  # Conv has others from opset 22 on, or no kernel
            weight("conv", 16, 8, 3, 3, axis=0)
            other("conv_bias", "used by Conv, not as a weight", 16)
            self._apply("Conv", "conv", [1, 8, 7, 7], "convolved", "conv_bias")
            weight("deconv", 16, 6, 3, 4, axis=1)
            self._apply("ConvTranspose", "deconv", [1, 16, 5, 5], "deconvolved", group=2)
            weight("line", 64, 4, 5, axis=0)
            self._apply("Conv", "line", [1, 4, 11], "lined")
        weight("gemm_t", 40, 32, axis=0)
        other("gemm_bias", "used by Gemm, not as a weight", 40)
        self._apply("Gemm", "gemm_t", [2, 32], "gemm_t_out", "gemm_bias", transB=1)
        weight("gemm_n", 40, 48, axis=1)
        self._apply("Gemm", "gemm_n", [2, 40], "gemm_n_out", "gemm_n_bias", alpha=0.5)
        other("gemm_n_bias", "used by Gemm, not as a weight", 48)
        weight("matmul", 48, 33, axis=1)
        self._apply("MatMul", "matmul", [2, 48], "matmul_out")
        weight("batched", 3, 33, 12, axis=2)
        self._apply("MatMul", "batched", [3, 2, 33], "batched_out")
        other("small", "fewer than 1,024 values", 31, 33)
        self._apply("MatMul", "small", [2, 31], "small_out")
        self.initializers["odd"] = _odd(self.dtype)
        self.axes["odd"] = 1
        self._apply("MatMul", "odd", [2, 32], "odd_out")
        other("embedding", "used by Gather, not as a weight", 70, 16)
        self.initializers["ids"] = np.array([3, 1, 69], np.int64)
        self.nodes.append(helper.make_node("Gather", ["embedding", "ids"], ["rows"]))
        self.outputs["rows"] = 2
        other("left", "used by MatMul, not as a weight", 40, 40)  # its first input
        self.inputs["for_left"] = [40, 2]
        self.nodes.append(helper.make_node("MatMul", ["left", "for_left"], ["left_out"]))
        self.outputs["left_out"] = 2
        constant = _weights(12, 90, dtype=self.dtype)
        self.nodes.append(self._constant("constant", constant))
        self.axes["constant"] = 1
        self._apply("MatMul", "constant", [2, 12], "constant_out")

    def _add_shared(self):
        self.initializers["same"] = _weights(32, 36, dtype=self.dtype)
        self.axes["same"] = 1
        self.initializers["zeros"] = np.zeros(36, self.dtype)
        self.left["zeros"] = "used by Gemm, not as a weight"
        self._apply("Gemm", "same", [2, 32], "same_gemm", "zeros")
        self._apply("MatMul", "same", [2, 32], "same_matmul")
        self.initializers["both"] = _weights(34, 34, dtype=self.dtype)
        self.left["both"] = "used by Gemm along axis 0 and by MatMul along axis 1"
        self.initializers["none"] = np.zeros(34, self.dtype)
        self.left["none"] = "used by Gemm, not as a weight"
        self._apply("Gemm", "both", [2, 34], "both_gemm", "none", transB=1)
        self._apply("MatMul", "both", [2, 34], "both_matmul")
        self.initializers["mixed"] = _weights(34, 34, dtype=self.dtype)
        self.left["mixed"] = "used by Add, not as a weight"
        self._apply("MatMul", "mixed", [2, 34], "mixed_matmul")
        self._apply("Add", "mixed", [34, 34], "mixed_add")

    def _add_choice(self):
        """Subgraphs: an initializer of their own, a Constant, a weight of the graph around them."""
        if not self.has_branches:
            return
        self.initializers["outer"] = _weights(16, 64, dtype=self.dtype)
        self.axes["outer"] = 1
        inner = _weights(16, 64, dtype=self.dtype)
        branches = []
        for name, nodes, initializers in (
                ("then", [helper.make_node("MatMul", ["for_chosen", "inner"], ["then_out"])],
                 [numpy_helper.from_array(inner, "inner")]),
                ("else", [self._constant("held", inner * 2),
                          helper.make_node("MatMul", ["for_chosen", "held"], ["one"]),
                          helper.make_node("MatMul", ["for_chosen", "outer"], ["two"]),
                          helper.make_node("Add", ["one", "two"], ["else_out"])], [])):
            branches.append(helper.make_graph(nodes, name, [], [self._value(f"{name}_out", [None, None])],
                                              initializers))
        self.inputs["for_chosen"] = [2, 16]
        self.nodes.append(helper.make_node("If", ["flag"], ["chosen"], name="choice",
                                           then_branch=branches[0], else_branch=branches[1]))
        self.outputs["chosen"] = 2
        self.axes.update({"inner": 1, "held": 1})

    def _function(self, opset):
        self.inputs["for_called"] = [2, 10]
        self.nodes.append(helper.make_node("Layer", ["for_called"], ["called"], domain="local"))
        self.outputs["called"] = 2
        self.axes["body"] = 1
        return helper.make_function(
            "local", "Layer", ["a"], ["b"],
            [self._constant("body", _weights(10, 110, dtype=self.dtype)),
             helper.make_node("MatMul", ["a", "body"], ["b"])], [helper.make_opsetid("", opset)])


def _graphs(model):
    """All lists of nodes with their initializers, subgraphs' and functions' too."""
    def inside(nodes, initializers):
        yield nodes, initializers
        for node in nodes:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    yield from inside(attribute.g.node, attribute.g.initializer)

    yield from inside(model.graph.node, model.graph.initializer)
    for function in model.functions:
        yield from inside(function.node, [])


def _values(model):
    """The tensors by name: initializers, and values of Constants."""
    found = {}
    for nodes, initializers in _graphs(model):
        for tensor in initializers:
            assert tensor.name not in found, f"two of the name {tensor.name}"
            found[tensor.name] = tensor
        for node in nodes:
            if node.op_type == "Constant":
                found[node.output[0]] = node.attribute[0].t
    return found


def _makers(model):
    return {name: node for nodes, _ in _graphs(model) for node in nodes for name in node.output}


# ------------------------------------------------------------------------------- the oracle


def _fraction(value):
    value = float(value)
    return value if not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0) \
        else Fraction(value)


def quantise(array, axis, name, rule):
    """Codes, scales and code times scale, by rationals; `axis` None: one scale."""
    element = _CODES[name][1]
    channels = 1 if axis is None else array.shape[axis]
    cells = np.zeros(array.shape, int)
    if axis is not None:
        cells += np.arange(channels).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    amax = [Fraction(0)] * channels
    for value, cell in zip(array.flat, cells.flat):
        if math.isfinite(value):
            amax[cell] = max(amax[cell], abs(Fraction(float(value))))
    scales = [exact.float_scale(a, element.most, rule) for a in amax]
    codes, again = [], []
    for value, cell in zip(map(_fraction, array.flat), cells.flat):
        negative = math.copysign(1, value) < 0
        if isinstance(value, float) and math.isnan(value):
            code = element.nan(negative)
        elif isinstance(value, float) and math.isinf(value):
            code = element.encode(element.most * 2, negative)
        else:
            code = element.encode(Fraction(value) / scales[cell], negative)
        codes.append(code)
        again.append(exact.files.multiply(element.decode(code), scales[cell]))
    return codes, scales, again


def _check_weight(name, array, made, makers, report, case):
    """What is stored of one weight; returns its values as DequantizeLinear gives them."""
    target, opset, rule = case["target"], case["opset"], case["rule"]
    word, _, code_type = _CODES[target]
    axis = case["axes"][name] if target.endswith("-row") and opset >= 13 else None
    back = makers[name]
    if array.dtype != np.float32:
        assert back.op_type == "Cast" and back.input[0] == f"{name}__float32", f"{name}: {back}"
        back = makers[back.input[0]]
    assert back.op_type == "DequantizeLinear" and back.domain == "", f"{name}: {back}"
    assert list(back.input) == [f"{name}__{word}", f"{name}__scale"], f"{name}: {back.input}"
    axes = {a.name: a.i for a in back.attribute}
    assert axes == ({} if axis is None else {"axis": axis}), f"{name}: {axes}"
    codes, scales, again = quantise(array, axis, target, rule)
    stored, scale = made[back.input[0]], made[back.input[1]]
    assert stored.data_type == helper.np_dtype_to_tensor_dtype(np.dtype(code_type)), name
    assert tuple(stored.dims) == array.shape, f"{name}: {stored.dims}"
    got = numpy_helper.to_array(stored)
    assert got.tobytes() == bytes(codes), f"{name}: codes differ"
    assert scale.data_type == TensorProto.FLOAT, name
    assert tuple(scale.dims) == (() if axis is None else (array.shape[axis],)), name
    factors = numpy_helper.to_array(scale)
    assert [Fraction(float(s)) for s in factors.flat] == scales, f"{name}: scales differ"
    errors = [abs(Fraction(float(b)) - Fraction(float(a))) for a, b in zip(array.flat, again)
              if math.isfinite(a) and math.isfinite(b)]
    said = report[name]["loss"]["max_abs_error"]
    assert said == float(max(errors)), f"{name}: its largest error is said to be {said}"
    assert report[name]["to"] == target and report[name]["to_layout"] == "onnx", report[name]
    shape = [-1 if i == axis else 1 for i in range(array.ndim)]
    with np.errstate(over="ignore", invalid="ignore"):
        product = got.astype(np.float32) * (factors if axis is None else factors.reshape(shape))
        return product.astype(array.dtype)


# ---------------------------------------------------------------------------------- running


def _check_run(before, after, wanted, model):
    """Of float16 ONNX Runtime leaves out a Cast to it and back again, so that outputs are only near."""
    is_exact = model.dtype != np.float16
    feeds = {name: _weights(*shape, dtype=model.dtype) for name, shape in model.inputs.items()}
    for flag in (True, False) if model.has_branches else (None,):
        if flag is not None:
            feeds["flag"] = np.array(flag)
        got, want, plain = (run_model(path, feeds) for path in (after, wanted, before))
        changed = 0
        for name, array in want.items():
            if is_exact:
                assert np.array_equal(got[name], array, equal_nan=True), f"{name} differs"
            else:
                assert np.allclose(got[name], array, 0.02, 0.02, equal_nan=True), f"{name} is far"
            changed += not np.array_equal(plain[name], array, equal_nan=True)
        assert changed >= len(model.axes) // 2, "the check cannot fail"


def _check_values(path, values, model):
    """The weights of the main graph as they come out of what is stored."""
    shown = onnx.load(path)
    names = [name for name in model.axes if name in model.initializers or name == "constant"]
    del shown.graph.output[:]
    shown.graph.output.extend(helper.make_tensor_value_info(name, model.element,
                                                            values[name].shape) for name in names)
    onnx.save(shown, path.with_name("shown.onnx"))
    feeds = {name: _weights(*shape, dtype=model.dtype) for name, shape in model.inputs.items()}
    feeds["flag"] = np.array(True)
    got = run_model(path.with_name("shown.onnx"), feeds)
    for name in names:
        assert np.array_equal(got[name], values[name], equal_nan=True), f"{name} comes out otherwise"


def check(tool, target, opset, ir_version, dtype, external=False, rule="amax"):
    """One model, converted by default."""
    model = Model(opset, ir_version, dtype)
    before, after, wanted = (tool.folder / n for n in ("before.onnx", "after.onnx", "wanted.onnx"))
    for old in tool.folder.glob("*.data"):
        old.unlink()
    if external:
        onnx.save_model(onnx.ModelProto.FromString(model.proto.SerializeToString()), before,
                        save_as_external_data=True, location="before.data", size_threshold=0,
                        convert_attribute=False)
    else:
        onnx.save(model.proto, before)
    flags = [] if rule == "amax" else ["--scale", rule]
    said, notes = tool.run("convert", before, "-o", after, "--to", target, "--force", "--json",
                           "--threads", 1, *flags)
    report = json.loads(said)
    assert (tool.folder / "after.onnx.data").exists() == external, "a data file or none"
    one_scale = "one scale, not one for each row: DequantizeLinear takes only one up to opset 12"
    assert (one_scale in notes) == (target.endswith("-row") and opset < 13), notes
    onnx.checker.check_model(after, full_check=True)
    made = onnx.load(after)
    for name in ("input", "output", "value_info"):
        if name == "input" and ir_version < 4:
            continue  # an initializer's goes with it
        assert getattr(made.graph, name) == getattr(model.proto.graph, name), f"another {name}"
    lost = {entry["name"].split("/")[-1]: entry for entry in report["tensors"]}
    assert set(lost) == set(model.axes), f"scaled are {sorted(lost)}"
    left = {entry["name"]: entry["reason"] for entry in report["left_alone"]}
    assert left.pop("ids") == "not floating"
    assert left == model.left, f"left alone: {left}"
    case = {"target": target, "opset": opset, "rule": rule, "axes": model.axes}
    stored, makers = _values(made), _makers(made)
    replaced = onnx.ModelProto.FromString(model.proto.SerializeToString())
    values = {}
    for name, tensor in _values(replaced).items():
        if name not in model.axes:
            continue
        array = numpy_helper.to_array(tensor)
        values[name] = _check_weight(name, array, stored, makers, lost, case)
        tensor.CopyFrom(numpy_helper.from_array(values[name], tensor.name))
    # Eight threads write the same bytes.
    parallel = tool.folder / "parallel" / "after.onnx"
    parallel.parent.mkdir(exist_ok=True)
    for old in parallel.parent.iterdir():
        old.unlink()
    tool.run("convert", before, "-o", parallel, "--to", target, "--no-report", "--threads", 8,
             *flags)
    for path in (after, *tool.folder.glob("after.onnx.data")):
        assert (parallel.parent / path.name).read_bytes() == path.read_bytes(), "other bytes"
    if dtype == ml_dtypes.bfloat16:
        return  # ONNX Runtime's kernels on a CPU have no bfloat16
    onnx.save(replaced, wanted)
    _check_run(before, after, wanted, model)
    _check_values(after, values, model)


def check_loss(tool):
    """`loss` measures what `convert` makes, in one table with plain types."""
    model = Model(18, 8, np.float32)
    before, after = tool.folder / "before.onnx", tool.folder / "after.onnx"
    onnx.save(model.proto, before)
    said, _ = tool.run("convert", before, "-o", after, "--to", "int8-row", "--force", "--json")
    wanted = {entry["name"]: entry["loss"] for entry in json.loads(said)["tensors"]}
    said, _ = tool.run("loss", before, "--to", "int8-row,bf16", "--json")
    table = json.loads(said)["types"]
    assert [entry["to"] for entry in table] == ["int8-row", "bfloat16"]
    got = {entry["name"]: entry["loss"] for entry in table[0]["tensors"]}
    assert got == wanted, "loss measures something else"


def check_named(tool):
    """A rule takes what it names: along its channels, or with one scale."""
    model = Model(21, 10, np.float32)
    before, after = tool.folder / "before.onnx", tool.folder / "after.onnx"
    onnx.save(model.proto, before)
    _, notes = tool.run("convert", before, "-o", after, "--rule", "embedding=int8-row", "--rule",
                        "both=fp8-row", "--rule", "small=int8-row", "--rule", "matmul=fp8-tensor",
                        "--rule", "batched=float16", "--force", "--json")
    assert ("2 tensors have one scale, not one for each row: without a use as a weight" in notes), notes
    onnx.checker.check_model(after, full_check=True)
    makers = _makers(onnx.load(after))
    axes = {name: [a.i for a in makers[name].attribute]
            for name in ("embedding", "both", "small", "matmul")}
    assert axes == {"embedding": [], "both": [], "small": [1], "matmul": []}, axes
    assert makers["batched"].op_type == "Cast"


def check_refused(tool):
    """What the opset does not have is refused in one line, and nothing is written."""
    after = tool.folder / "refused.onnx"
    for target, opset, ir_version, words in (
            ("int8-row", 9, 4, "DequantizeLinear has int8 from opset 10 on, and the model's is 9"),
            ("fp8-row", 18, 8, "DequantizeLinear has float8e4m3fn from opset 19 on"),
            ("fp8-tensor", 9, 4, "convert_version(model, 19)"),
            ("fp8-block", 21, 10, "does not write fp8-block into models"),
            ("nvfp4", 21, 10, "it writes fp8-tensor, fp8-row, int8-row")):
        before = tool.folder / "before.onnx"
        onnx.save(Model(opset, ir_version, np.float32).proto, before)
        try:
            tool.run("convert", before, "-o", after, "--to", target)
            raise AssertionError(f"{target} at opset {opset} was written")
        except ToolError as error:
            lines = str(error).strip().splitlines()
            assert lines[1] == "exit code 2" and len(lines) == 3, str(error)
            assert words in lines[2], lines[2]
        assert not after.exists()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    arguments = parser.parse_args()
    cases = [("int8-row", opset, ir, dtype)
             for opset, ir in ((10, 5), (11, 3), (12, 7), (13, 7), (18, 8), (19, 9), (21, 10))
             for dtype in (np.float32, np.float16)]
    cases += [(target, opset, ir, dtype) for target in ("fp8-row", "fp8-tensor")
              for opset, ir in ((19, 9), (21, 10), (23, 11)) for dtype in (np.float32, np.float16)]
    cases += [("int8-row", 18, 8, np.float64), ("int8-row", 18, 8, ml_dtypes.bfloat16),
              ("fp8-row", 21, 10, ml_dtypes.bfloat16),
              ("int8-row", 12, 7, np.float32, True), ("int8-row", 18, 8, np.float32, True),
              ("fp8-row", 21, 10, np.float16, True),
              ("int8-row", 18, 8, np.float32, False, "pow2"),
              ("fp8-tensor", 21, 10, np.float32, False, "pow2")]
    failures = 0
    with Tool(arguments.tool) as tool:
        checks = [(check_loss, ()), (check_named, ()), (check_refused, ())]
        checks += [(check, case) for case in cases]
        for one, case in checks:
            try:
                one(tool, *case)
            except (AssertionError, ToolError, onnx.checker.ValidationError,
                    onnx.shape_inference.InferenceError,
                    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
                    onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph,
                    onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented) as error:
                print(f"{one.__name__} {case}: {type(error).__name__}: {error}")
                failures += 1
    print(f"{len(checks) - failures} of {len(checks)} models hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
