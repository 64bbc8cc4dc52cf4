#!/usr/bin/env python3
"""Five inputs and what numpy with ml_dtypes, ONNX Runtime, PyTorch and the tool make of each.

    first_page.py path/to/tensorcast [README.md reading_a_report.md]

Prints the table of the first page; given both pages, says whether the first has its rows. PyTorch is
asked where it is installed: elsewhere its column is not compared. Where the real checkpoint is (kept
by scripts/checkpoint.py), the second page's reports on it are the tool's too, line by line.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper

from element_types import TYPES
from onnx_runs import open_session
from tool import Tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import checkpoint  # noqa: E402  (scripts/checkpoint.py)

try:
    import torch
except ImportError:
    torch = None

HEADER = ("cast", "input", "numpy + ml_dtypes", "ONNX Runtime", "PyTorch", "tensorcast", "")
# source, target, the inputs, and what the row is there for
ROWS = (
    ("float32", "float8e4m3fn", (500.0,), "ONNX's operator saturates"),
    ("float32", "int32", (3e9,), "C leaves it open, x86 and ARM differ; here the low bits everywhere"),
    ("float64", "bfloat16", (1 + 2**-8 + 2**-40,), "theirs is rounded twice, by way of float32"),
    ("float32", "int4", (1.5, 2.5), "truncated; ties away; ties to even, as int4.md of ONNX says"),
    ("string", "int32", ("1e5",), "ONNX Runtime ignores what follows the 1"),
)
_TORCH_NAMES = {"float8e4m3fn": "float8_e4m3fn"}


def shown(values):
    return ", ".join(f"{float(value):.10g}" for value in np.asarray(values).ravel())


def array_of(source, inputs):
    return np.array(inputs, str if source == "string" else TYPES[source].dtype)


def by_numpy(source, target, inputs):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(array_of(source, inputs).astype(TYPES[target].dtype))
        except ValueError:
            return "an error"


def by_onnxruntime(source, target, inputs):
    """By Cast at opset 25, and a second, exact one to float64, which numpy knows."""
    from_type = onnx.TensorProto.STRING if source == "string" else TYPES[source].onnx_type
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["narrow"], to=TYPES[target].onnx_type),
         helper.make_node("Cast", ["narrow"], ["y"], to=onnx.TensorProto.DOUBLE)],
        "cast", [value("x", from_type, [None])], [value("y", onnx.TensorProto.DOUBLE, [None])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    session = open_session(model)
    array = array_of(source, inputs)
    return shown(session.run(None, {"x": array.astype(object) if source == "string" else array})[0])


def by_torch(source, target, inputs):
    to = torch and getattr(torch, _TORCH_NAMES.get(target, target), None)
    if torch is None or source == "string":
        return "no strings" if source == "string" else None
    try:
        return shown(torch.tensor(inputs, dtype=getattr(torch, source)).to(to).double().numpy())
    except (RuntimeError, NotImplementedError, TypeError):
        return f"no {target}"


def by_tool(tool, source, target, inputs):
    before, after = tool.folder / "in.npy", tool.folder / "out.npy"
    np.save(before, array_of(source, inputs))
    tool.run("convert", before, "-o", after, "--to", target, "--all-types", "--force", "-q",
             "--no-report")
    return shown(np.load(after).view(TYPES[target].dtype))


# What the second page shows of the real checkpoint; the first line of a report has the file's name.
REPORTS = (("convert", "--to", "float8e4m3fn", "-o", "{output}"),
           ("loss", "--to", "fp8-block,int8-row,mxfp4,nvfp4,bf16"))


def unquoted(tool, page):
    """The lines of the tool's reports that the page does not have."""
    if not checkpoint.has_real():
        return []
    lines = []
    for command, *rest in REPORTS:
        arguments = [word.format(output=tool.folder / "out.safetensors") for word in rest]
        report, _ = tool.run(command, checkpoint.real_path(), *arguments)
        lines += report.split(" SNR dB by tensor")[0].splitlines()[1:]
    return [line for line in lines if line.strip() and line not in page]


def main():
    with Tool(sys.argv[1]) as tool:
        rows = [(f"{source} → {target}",
                 " and ".join(f'"{x}"' if source == "string" else
                              "1 + 2⁻⁸ + 2⁻⁴⁰" if source == "float64" else f"{x:g}".replace("e+0", "e")
                              for x in inputs),
                 by_numpy(source, target, inputs), by_onnxruntime(source, target, inputs),
                 by_torch(source, target, inputs), by_tool(tool, source, target, inputs), why)
                for source, target, inputs, why in ROWS]
        page, reports = (pathlib.Path(name).read_text(encoding="utf-8") for name in sys.argv[2:4]) \
            if sys.argv[2:] else (None, None)
        lost = unquoted(tool, reports.splitlines()) if reports else []
    if page is None:
        for row in (HEADER, ("---",) * len(HEADER), *rows):
            print("| " + " | ".join("?" if cell is None else cell for cell in row) + " |")
        print(f"numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}, ONNX Runtime "
              f"{onnxruntime.__version__}, PyTorch {torch.__version__ if torch else '-'}")
        return 0
    cells_of = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
    missing = [row for row in rows
               if not any(len(cells) == len(row) and
                          all(want in (None, cell) for want, cell in zip(row, cells))
                          for cells in cells_of)]
    for row in missing:
        print(f"{sys.argv[2]} does not have {row}")
    for line in lost:
        print(f"{sys.argv[3]} does not have {line}")
    return 1 if missing or lost else 0


if __name__ == "__main__":
    sys.exit(main())
