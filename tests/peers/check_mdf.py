#!/usr/bin/env python3
"""MDF models beside MDF's own engine and its readers of JSON, YAML and BSON.

    check_mdf.py TOOL

  - random models made with MDF's API and saved by it in each syntax: a run here gives what its
    engine gives, in the type that was asked for. The values are whole or halves from 0 to 100, which
    none of MDF's conversions on the way (float64 to float32 before a cast, float32 to float64 after
    it, int32 to int64 before) changes;
  - random ONNX models of casts, turned into each syntax: MDF loads them, and its engine gives what
    ONNX Runtime gives of the ONNX model; turned back they are the same nodes;
  - plain scalars of YAML, numbers of JSON and of BSON are what PyYAML, json and bson read;
  - what the engine cannot evaluate, or evaluates to something that is not a graph of casts, is
    refused here and not run.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import io
import json
import math
import random
import sys

import bson
import numpy as np
import onnx
import onnxruntime
import yaml
from modeci_mdf.execution_engine import EvaluableGraph
from modeci_mdf.mdf import Edge, Function, Graph, InputPort, Model, Node, OutputPort, Parameter
from onnx import helper

from tool import Tool, ToolError

_MODELS = 60
_ENDINGS = ("json", "yaml", "bson")
# What MDF casts to (skl2onnx's Variable.from_pb), but strings.
_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_,
          11: np.float64}
# What an engine's input may be without a conversion before the first cast.
_INPUTS = ("float32", "int64", "uint8", "int8", "bool")


def values(rng, dtype, shape):
    made = np.array([rng.randrange(201) / 2 for _ in range(math.prod(shape))])
    return made.reshape(shape).astype(dtype)


def evaluate(model, feeds):
    """The values of all output ports, by node and port; MDF's engine prints what it does."""
    with contextlib.redirect_stdout(io.StringIO()):
        engine = EvaluableGraph(model.graphs[0])
        engine.evaluate(initializer=feeds)
    return {(name, port): output.curr_value for name, node in engine.enodes.items()
            for port, output in node.evaluable_outputs.items()}


def written_to(rng, number):
    """Ways in which files say a type."""
    return rng.choice([number, str(number), float(number), [number], f"{number}.0"])


class RandomModel:
    """Nodes of MDF's API in a row, each reading what was there before."""

    def __init__(self, rng):
        self.rng = rng
        self.model = Model(id="model")
        self.graph = Graph(id="graph")
        self.model.graphs.append(self.graph)
        self.feeds = {}
        self.sources = []  # (node, port)
        self.types = {}  # of a source: the type that it must have here
        for index in range(rng.randrange(2, 6)):
            self.add(index)

    def port(self, node, index):
        """An input port of the node, with an edge or fed, its id and its type."""
        rng = self.rng
        if self.sources and rng.random() < 0.7:
            sender, sender_port = rng.choice(self.sources)
            name = f"p{index}_{len(node.input_ports)}"
            node.input_ports.append(InputPort(id=name))
            weight = rng.choice([None, {"weight": 1}, {"weight": 1.0}])
            self.graph.edges.append(Edge(
                id=f"e{len(self.graph.edges)}", sender=sender, sender_port=sender_port,
                receiver=node.id, receiver_port=name, parameters=weight))
            return name, self.types[sender, sender_port]
        dtype = rng.choice(_INPUTS)
        shape = rng.choice([(3,), (2, 2), (1,)])
        name = f"x{len(self.feeds)}"
        self.feeds[name] = values(rng, dtype, shape)
        node.input_ports.append(InputPort(
            id=name, shape=rng.choice([shape, str(shape)]), type=rng.choice([dtype, "float", None])))
        return name, np.dtype(dtype)

    def constant(self, node):
        """A parameter that holds something, its id and its type."""
        rng = self.rng
        value = rng.choice([rng.randrange(100), [1, 2.5, 3], [[1, 2], [3, 4]], [True, False],
                            rng.randrange(100) / 2, [0.5]])
        name = f"k{len(node.parameters)}"
        node.parameters.append(Parameter(id=name, value=value))
        return name, np.asarray(value).dtype

    def add(self, index):
        rng = self.rng
        node = Node(id=f"n{index}")
        self.graph.nodes.append(node)
        readable = [self.port(node, index)]
        if rng.random() < 0.5:
            readable.append(self.constant(node))
        for step in range(rng.randrange(1, 4)):
            source, dtype = rng.choice(readable)
            kind = rng.choice(["Cast", "Cast", "Cast", "Identity"])
            name = f"t{step}"
            args = {"input": source}
            made = dtype
            if kind == "Cast":
                number = rng.choice(list(_TYPES))
                made = np.dtype(_TYPES[number])
                to = written_to(rng, number)
                if rng.random() < 0.2 and node.get_parameter("to") is None and step == 0:
                    node.parameters.append(Parameter(id="to", value=number))
                else:
                    args["to"] = to
            elif np.dtype(dtype) in (np.dtype(np.float64), np.dtype(np.int32)):
                continue  # MDF's Identity changes their types
            if rng.random() < 0.5:
                node.functions.append(Function(id=name, function=f"onnx::{kind}", args=args))
            else:
                node.parameters.append(Parameter(id=name, function=f"onnx::{kind}", args=args))
                # A function does not see what a parameter is computed to be.
                readable = [(name, made)]
                self.finish(node, name, made)
                return
            readable.append((name, made))
        self.finish(node, *readable[-1])

    def finish(self, node, name, dtype):
        node.output_ports.append(OutputPort(id=f"{node.id}_out", value=name))
        self.sources.append((node.id, f"{node.id}_out"))
        self.types[node.id, f"{node.id}_out"] = np.dtype(dtype)

    def outputs(self):
        """Ports without an edge."""
        taken = {(edge.sender, edge.sender_port) for edge in self.graph.edges}
        return [source for source in self.sources if source not in taken]


def run_tool(tool, path, feeds):
    """The outputs of a run, by name."""
    folder = tool.folder / "out"
    arguments = []
    for name, array in feeds.items():
        np.save(tool.folder / f"{name}.npy", array)
        arguments += ["--input", f"{name}={tool.folder / name}.npy"]
    tool.run("run", path, *arguments, "--output-dir", folder, "--force", "-q")
    return folder


def check_random_models(tool):
    casts = 0
    for seed in range(_MODELS):
        rng = random.Random(seed)
        made = RandomModel(rng)
        fed = {port.id: made.feeds[port.id] for node in made.graph.nodes
               for port in node.input_ports if port.id in made.feeds}
        expected = evaluate(made.model, dict(fed))
        for ending in _ENDINGS:
            path = tool.folder / f"model.{ending}"
            getattr(made.model, f"to_{ending}_file")(str(path))
            again = evaluate(Model.from_file(str(path)), dict(fed))
            folder = run_tool(tool, path, fed)
            for node, port in made.outputs():
                got = np.load(folder / f"{port}.npy")
                want = np.asarray(expected[node, port])
                np.testing.assert_array_equal(want, np.asarray(again[node, port]))
                dtype = made.types[node, port]
                assert got.dtype == dtype, f"seed {seed}: {port} is {got.dtype}, not {dtype}"
                assert got.shape == want.shape, f"seed {seed}: {port} has {got.shape}, {want.shape}"
                assert (got == want.astype(dtype)).all(), f"seed {seed}: {port}: {got}, {want}"
                casts += 1
    print(f"{_MODELS} models of MDF's API in {len(_ENDINGS)} syntaxes: {casts} outputs agree")


def random_onnx(rng):
    """A model of casts and identities whose types MDF has, and what is fed."""
    nodes, values_, feeds, inputs, outputs, initializers = [], [], {}, [], [], []
    for index in range(rng.randrange(1, 3)):
        name = rng.choice([f"x{index}", f"in/put.{index}", f"to{index}"])
        number = rng.choice([1, 7, 2])
        inputs.append(helper.make_tensor_value_info(name, number, [2, 2]))
        feeds[name] = values(rng, _TYPES[number], (2, 2))
        values_.append((name, number))
    number = rng.choice([1, 2, 3, 6, 7, 9, 11])
    array = values(rng, _TYPES[number], (2, 2))
    initializers.append(onnx.numpy_helper.from_array(array, "weights/0"))
    values_.append(("weights/0", number))
    for index in range(rng.randrange(1, 6)):
        source, number = rng.choice(values_)
        made = f"value:{index}"
        to = rng.choice(list(_TYPES))
        nodes.append(helper.make_node("Cast", [source], [made], name=f"node {index}", to=to))
        values_.append((made, to))
    for index, (name, number) in enumerate(rng.sample(values_, min(2, len(values_)))):
        out = f"out.{index}"
        nodes.append(helper.make_node("Cast", [name], [out], name=f"last{index}", to=number))
        outputs.append(helper.make_tensor_value_info(out, number, [2, 2]))
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    onnx.checker.check_model(model)
    return model, feeds


def needed_casts(model):
    """The nodes that an output needs, by name, and the types they cast to; others are left out."""
    wanted = {each.name for each in model.graph.output}
    needed = {}
    for node in reversed(model.graph.node):
        if node.output[0] in wanted:
            wanted.update(node.input)
            needed[node.name] = node.attribute[0].i
    return needed


def onnx_name(port):
    return (port.metadata or {}).get("onnx_name", port.id)


def check_written(tool):
    outputs = 0
    for seed in range(_MODELS):
        model, feeds = random_onnx(random.Random(seed))
        path = tool.folder / "model.onnx"
        onnx.save(model, path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        expected = dict(zip([each.name for each in session.get_outputs()],
                            session.run(None, feeds), strict=True))
        ending = _ENDINGS[seed % 3]
        written = tool.folder / f"written.{ending}"
        tool.run("convert", path, "-o", written, "--force", "-q")
        loaded = Model.from_file(str(written))
        assert loaded.onnx_opset_version == "15"
        fed = {port.id: feeds[onnx_name(port)] for node in loaded.graphs[0].nodes
               for port in node.input_ports if onnx_name(port) in feeds}
        got = evaluate(loaded, fed)
        found = {}
        for node in loaded.graphs[0].nodes:
            for port in node.output_ports:
                if onnx_name(port) in expected:
                    found[onnx_name(port)] = np.asarray(got[node.id, port.id])
        assert set(found) == set(expected), f"seed {seed}: {sorted(found)}, {sorted(expected)}"
        for name, want in expected.items():
            assert found[name].shape == want.shape and (found[name] == want).all(), \
                f"seed {seed}: {name}: {found[name]}, {want}"
            outputs += 1
        back = tool.folder / "back.onnx"
        tool.run("convert", written, "-o", back, "--force", "-q")
        returned = onnx.load(back)
        onnx.checker.check_model(returned)
        again = onnxruntime.InferenceSession(back, providers=["CPUExecutionProvider"])
        names = [each.name for each in again.get_outputs()]
        assert set(names) == set(expected), f"seed {seed}: outputs {names}"
        read = {each.name for each in again.get_inputs()}
        for name, value in zip(names, again.run(None, {key: value for key, value in feeds.items()
                                                       if key in read}), strict=True):
            assert value.dtype == expected[name].dtype and (value == expected[name]).all(), seed
        before = needed_casts(model)
        after = {node.name: node.attribute[0].i for node in returned.graph.node
                 if node.op_type == "Cast"}
        assert before == {name: to for name, to in after.items() if name in before}, seed
    print(f"{_MODELS} ONNX models: {outputs} outputs agree in MDF, and after the way back")


def constant_of(tool, text, ending):
    """What a run here gives of a constant, given as the file's text of a list; None: refused."""
    path = tool.folder / f"scalar.{ending}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    try:
        tool.run("run", path, "--output-dir", tool.folder / "scalar", "--force", "-q")
    except ToolError as error:
        assert len(str(error).strip().splitlines()) == 3, error
        return None
    return np.load(tool.folder / "scalar" / "o.npy", allow_pickle=False)


def yaml_of(scalar):
    return ("m:\n  format: ModECI MDF v0.4\n  graphs:\n    g:\n      nodes:\n        A:\n"
            f"          parameters:\n            k: {{value: [{scalar}]}}\n"
            "          output_ports:\n            o: {value: k}\n")


_SCALARS = """
0 1 -1 +1 10 007 010 0o17 0x1F 0x1f -0x10 0b101 1_000 1__0 _1 0.5 .5 -.5 +.5 5. -5. 1e5 1.0e5 1.0e+5
1.5E-3 1E5 1.e+2 .5e+2 -.5e+2 .inf -.inf +.Inf .nan .NaN .NAN inf nan NaN Infinity true True TRUE yes Yes no
off On tRue y n null Null NULL ~ 2001-12-14 1:30 190:20:30 1:60 0:30 1:30.5 12345678901234567890
-9223372036854775808 9223372036854775807 18446744073709551615 -9223372036854775809 0x8000000000000000
1_0.5_0 1.5_5e+3 0_7 08 09.5 0x 0b 0b2 --1 +-1 1+1 . - + _ 4.9e-324 2.2250738585072011e-308 1.0e+400
0.1 123456789.123456789 -0.0 -0 00 0.0 = '1' "1.5" 1e+5 1.0e5.0 6.02214076e+23
""".split()


def check_yaml(tool):
    counts = {"numbers": 0, "truth values": 0, "texts": 0, "refused": 0}
    for scalar in _SCALARS:
        text = yaml_of(scalar)
        try:
            want = yaml.safe_load(text)["m"]["graphs"]["g"]["nodes"]["A"]["parameters"]["k"]["value"][0]
        except (ValueError, yaml.YAMLError):
            want = None  # PyYAML's own readers of numbers refuse it
        got = constant_of(tool, text, "yaml")
        if isinstance(want, bool):
            assert got is not None and got.dtype == np.bool_ and got[0] == want, scalar
            counts["truth values"] += 1
        elif isinstance(want, (int, float)):
            is_base60 = ":" in scalar
            if is_base60 or (isinstance(want, int) and not -2**63 <= want < 2**64):
                assert got is None, scalar
                counts["refused"] += 1
                continue
            assert got is not None, scalar
            assert got.dtype == np.array([want]).dtype, (scalar, got.dtype)
            assert got.tobytes() == np.array([want]).tobytes() or want != want, (scalar, got, want)
            counts["numbers"] += 1
        elif isinstance(want, str):
            assert got is not None and got.dtype.kind == "U" and got[0] == want, (scalar, got, want)
            counts["texts"] += 1
        else:
            counts["refused"] += 1  # null, a date (a text here), what PyYAML refuses
            assert got is None or (got.dtype.kind == "U" and got[0] == scalar), (scalar, got, want)
    print(f"YAML's scalars: {counts}")
    assert min(counts.values()) > 3, counts


def document(value):
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"A": {
        "parameters": {"k": {"value": value}}, "output_ports": {"o": {"value": "k"}}}}}}}}


def check_json_and_bson(tool):
    rng = random.Random(1)
    for _ in range(60):
        kind = rng.randrange(4)
        one = {0: lambda: rng.randrange(-2**63, 2**63), 1: lambda: rng.random() * 10**rng.randrange(-300, 300),
               2: lambda: rng.choice([True, False]),
               3: lambda: rng.choice([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.5])}[kind]
        value = [[one() for _ in range(3)] for _ in range(2)]
        for text, ending in ((json.dumps(document(value)), "json"), (bson.encode(document(value)), "bson"),
                             (yaml.safe_dump(document(value)), "yaml")):
            got = constant_of(tool, text, ending)
            want = np.array(value)
            assert got is not None and got.dtype == want.dtype and got.shape == want.shape, value
            assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), (value, got)
            assert np.array_equal(np.signbit(got), np.signbit(want)) or want.dtype.kind != "f"
    texts = ["é", "\U0001f600", "a\tb", "", "null", "1", "line\nbreak", " x ", "'", "#"]
    for text, ending in ((json.dumps(document(texts)), "json"), (bson.encode(document(texts)), "bson"),
                         (yaml.safe_dump(document(texts), allow_unicode=True), "yaml")):
        got = constant_of(tool, text, ending)
        assert got is not None and got.tolist() == texts, (ending, got)
    print("60 constants in JSON, BSON and YAML, and texts, are what Python reads")


def main():
    with Tool(sys.argv[1]) as tool:
        check_random_models(tool)
        check_written(tool)
        check_yaml(tool)
        check_json_and_bson(tool)
    return 0


if __name__ == "__main__":
    sys.exit(main())
