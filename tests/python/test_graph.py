"""Graphs: built, changed, saved, run forward and backward; beside ONNX's checker and reference.

SPDX-License-Identifier: Apache-2.0
"""
import re
import xml.etree.ElementTree

import numpy as np
import onnx
import pytest
import tensorcast as tc
from onnx.reference import ReferenceEvaluator
from tensorcast.graph import Graph, Session


def small_graph():
    graph = Graph(21)
    x = graph.add_input("x", "float32", [2, "n", None])
    half = graph.cast(x, "float16", name="narrow")
    graph.mark_output(graph.cast(half, "float32", name="widen"), "y")
    graph.mark_output(half, "half")
    return graph


X = np.float32([[[0.1], [65520]], [[1e-9], [-2]]])


def test_building_and_saving(tmp_path):
    graph = small_graph()
    graph.save(tmp_path / "g.onnx")
    proto = onnx.load(tmp_path / "g.onnx")
    onnx.checker.check_model(proto, full_check=True)
    assert proto == onnx.ModelProto.FromString(graph.serialize())
    want = ReferenceEvaluator(proto).run(["y", "half"], {"x": X})
    got = Session(graph).run({"x": X})
    assert np.array_equal(got["y"], want[0]) and np.array_equal(got["half"], want[1])
    names = [node.name for node in Graph.load(tmp_path / "g.onnx").nodes()]
    assert names == [node.name for node in Graph.load(proto).nodes()] == ["narrow", "widen"]
    with pytest.raises(tc.ArgumentError, match="g.onnx"):
        graph.save(tmp_path / "g.onnx")
    graph.save(tmp_path / "g.onnx", overwrite=True)


def test_looking_and_changing():
    graph = small_graph()
    assert [node.name for node in graph.nodes()] == ["narrow", "widen"]
    node = graph.node("narrow")
    assert node == graph.node(0) and (node.from_type, node.to_type) == ("float32", "float16")
    value = graph.value("x")
    assert value.kind == "input" and value.shape == (2, "n", None) and value.readers == 1
    assert value.value == graph.inputs[0] == node.inputs[0]
    graph.set("narrow", to="bfloat16")
    assert graph.node("narrow").to_type == "bfloat16" and graph.value(graph.outputs[1]).type == "bfloat16"
    graph.set(None, lda_coeff=0.5)
    assert {node.lda_coeff for node in graph.nodes()} == {0.5}
    graph.rename_node("narrow", "first")
    graph.rename_value(graph.inputs[0], "input")
    assert "first" in graph.summary() and graph.summary(csv=True).count("\n") == 3
    with pytest.raises(tc.ArgumentError, match="first"):
        graph.remove_node("first")
    assert graph.opset == 21
    graph.set_lowest_opset()
    assert graph.opset == 13
    with pytest.raises(tc.ArgumentError, match="99"):
        graph.opset = 99


def test_constants_of_every_kind():
    for array in (np.array(tc.cast([1.5, -2], "int4")), np.array(["a", "äö"], object), np.float32(2.5),
                  np.zeros((0, 2), np.int8), np.arange(6).reshape(2, 3)[:, ::-1]):
        graph = Graph(25)
        graph.mark_output(graph.add_constant("c", array), "y")
        got = Session(graph).run({})["y"]
        assert got.shape == np.shape(array) and got.tolist() == np.asarray(array).tolist()


def test_backward_beside_numpy():
    """Casts pass gradients, cast to the type of what they read, times their coefficient."""
    graph = Graph(21)
    x = graph.add_input("x", "float64", ["n"])
    unused = graph.add_input("unused", "float32", ["n"])
    half = graph.cast(x, "float16", lda_coeff=0.25)
    graph.mark_output(graph.cast(half, "float32"), "a")
    graph.mark_output(graph.cast(unused, "int8"), "b")
    session = Session(graph, backward=True)
    data = {"x": np.linspace(-2, 2, 5), "unused": np.zeros(5, np.float32)}
    session.run(data)
    g = np.float32([0.1, 0.2, 1e-9, 4, 5])
    got = session.backward({"a": g})
    assert np.array_equal(got["x"], g.astype(np.float16).astype(np.float64) * 0.25)
    assert got["unused"] is None
    again = session.backward([g * 2])
    assert np.array_equal(again["x"], (g * 2).astype(np.float16).astype(np.float64) * 0.25)
    zeros = Session(graph, backward=True, gives_zeros=True)
    zeros.run(data)
    assert zeros.backward({"a": g})["unused"].tolist() == [0] * 5
    with pytest.raises(tc.Error):
        Session(graph).backward({"a": g})


def test_sessions_do_not_hold_what_is_gone():
    session = Session(small_graph())
    for i in range(20):
        got = session.run({"x": np.full((2, i, 1), i, np.float32)}, outputs=["half"])
        assert list(got) == ["half"] and got["half"].shape == (2, i, 1) and (got["half"] == i).all()
    with pytest.raises(tc.ArgumentError, match="no output 'z'"):
        session.run([X], outputs=["z"])
    with pytest.raises(tc.Error, match="x"):
        session.run([X.astype(np.float64)])
    assert np.array_equal(session.run([X])["half"], X.astype(np.float16))


def test_optimizing():
    graph = Graph(21)
    x = graph.add_input("x", "float32", ["n"])
    graph.mark_output(graph.cast(graph.cast(x, "float64"), "float32"), "y")
    report = graph.optimize(nan_payloads_may_change=True)
    assert report.casts_before == 2 and report.casts_after == 1  # which gives the output its name
    assert graph.node(0).from_type == graph.node(0).to_type == "float32"
    assert np.array_equal(Session(graph).run([np.float32([1, 2])])["y"], [1, 2])


def test_values_of_another_graph_are_refused():
    graph, other = small_graph(), small_graph()
    with pytest.raises(tc.ArgumentError):
        graph.cast(other.inputs[0], "int8")


def drawn(graph):
    """The picture's boxes, (left, top, right, bottom) and the text that is shown whole, and of each edge its ends."""
    (svg,) = re.findall("<svg.*?</svg>", graph._repr_html_(), re.DOTALL)
    root = xml.etree.ElementTree.fromstring(svg)
    boxes = []
    for group in root.iter("g"):
        rects = group.findall("rect")
        if rects:
            x, y, width, height = (float(rects[0].get(name)) for name in ("x", "y", "width", "height"))
            boxes.append(((x, y, x + width, y + height), group.find("title").text))
    lines = [[float(each) for each in re.split("[MC ]", path.get("d"))[1:]] for path in root.iter("path") if path.get("fill") == "none"]
    width, height = float(root.get("width")), float(root.get("height"))
    assert all(0 <= x < right <= width and 0 <= y < bottom <= height for (x, y, right, bottom), _ in boxes)
    return boxes, [(tuple(line[:2]), tuple(line[-2:])) for line in lines]


def edges_of(boxes, lines):
    """Each edge by the titles of the boxes that its ends touch, one from below and the other from above."""
    found = set()
    for (x, y), (to_x, to_y) in lines:
        (above,) = [title for (left, _, right, bottom), title in boxes if abs(bottom - y) < 0.11 and left < x < right]
        (below,) = [title for (left, top, right, _), title in boxes if abs(top - to_y) < 0.11 and left < to_x < right]
        found.add((above, below))
    assert len(found) == len(lines)
    return found


def test_a_picture_has_nodes_and_edges():
    graph = tc.graph.Graph()
    x = graph.add_input("x", "float32", ["n", 3])
    like = graph.add_constant("</svg><script>", np.float16([1, 2]))
    narrow = graph.cast(x, "float16", name="narrow")
    graph.mark_output(graph.cast_like(graph.identity(narrow, name="same"), like, name="&\u202e"), "y")
    graph.mark_output(narrow, "z")
    graph.mark_output(graph.cast(x, "int8", name="n" * 50), "far")
    boxes, lines = drawn(graph)
    assert edges_of(boxes, lines) == {
        ("x float32[n, 3]", "Cast float32 → float16 narrow"), ("Cast float32 → float16 narrow", "Identity same"),
        ("Identity same", "CastLike float16 → float16 &\\u202e"), ("</svg><script> float16[2]", "CastLike float16 → float16 &\\u202e"),
        ("CastLike float16 → float16 &\\u202e", "y float16[n, 3]"), ("Cast float32 → float16 narrow", "z float16[n, 3]"),
        ("x float32[n, 3]", "Cast float32 → int8 " + "n" * 50), ("Cast float32 → int8 " + "n" * 50, "far int8[n, 3]")}
    (top,) = [top for (_, top, _, _), title in boxes if title.startswith("</svg>")]
    assert top == max(top for (_, top, _, _), title in boxes if title == "Identity same")  # just above its reader
    assert "<svg" not in tc.graph.Graph()._repr_html_()


@pytest.mark.parametrize("seed", range(5))
def test_pictures_of_random_graphs(seed):
    """Boxes do not overlap, and every edge goes down, from one box to another, passing by the others."""
    random, graph = np.random.default_rng(seed), tc.graph.Graph()
    names = {graph.add_input(f"x{i}", "float32"): f"x{i} float32" for i in range(3)}
    wanted = set()
    for i in range(60):
        value = list(names)[-int(random.integers(1, min(len(names), 25) + 1))]
        to, before = random.choice(["float16", "int8", "float32"]), graph.value(value).type
        made = graph.cast(value, str(to), name=f"node{i}")
        names[made] = f"Cast {before} → {to} node{i}"
        wanted.add((names[value], names[made]))
    graph.mark_output(list(names)[-1], "y")
    boxes, lines = drawn(graph)
    found = edges_of(boxes, lines)
    assert wanted < found and len(found) == len(wanted) + 1
    for place, ((left, top, right, bottom), _) in enumerate(boxes):
        assert not any(left < b and a < right and top < d and c < bottom for (a, c, b, d), _ in boxes[:place])


def test_a_large_graph_has_no_picture():
    graph = tc.graph.Graph()
    value = graph.add_input("x", "float32")
    for _ in range(301):
        value = graph.cast(value, "float32")
    graph.mark_output(value, "y")
    assert "<svg" not in graph._repr_html_() and "and 201 more" in graph._repr_html_()
