#!/usr/bin/env python3
"""The files of --report: exponents against numpy's frexp, one set of figures in page, JSON and table, names
that no form may take for more than names, what is refused, and the size of a page of 100,000 tensors.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import json
import math
import subprocess
import sys

import ml_dtypes
import numpy as np

from element_types import TYPES
from report_data import HOSTILE_NAMES, read_page, words, write_safetensors
from tool import Tool, assumed, write_npy

_COUNTS = ("to_limit", "to_infinity", "to_nan", "nan_lost", "wrapped", "to_zero", "to_subnormal")
_MEGABYTE = 1_000_000


def report_of(tool, ending, *arguments):
    """The report that a command writes, by its ending."""
    path = tool.folder / f"report{ending}"
    try:
        tool.run(*arguments, "-q", "--force", "--report", path)
    except Exception as error:  # of diff and verify, whose exit code 1 says that there is a difference
        if "exit code 1\n" not in str(error):
            raise
    if ending == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    if ending == ".csv":
        with open(path, encoding="utf-8", newline="") as text:
            return list(csv.DictReader(text))
    return read_page(path)


def exponents_of(values):
    """What a report has of long doubles that were all looked at."""
    finite = values[np.isfinite(values)]
    some = finite[finite != 0]
    exponents = np.frexp(some)[1] - 1
    first = int(exponents.min()) if some.size else None
    return {"sampled": values.size, "zeros": int((finite == 0).sum()), "not_finite": int(values.size - finite.size),
            "first_exponent": first, "counts": np.bincount(exponents - first).tolist() if some.size else []}


def zones_of(values, dtype):
    """How many float32 lie in powers of two of which a type holds nothing, only subnormals, or no number."""
    exponents = np.frexp(values[values != 0])[1] - 1
    least = np.ldexp(np.float32(1), exponents)
    most = np.nextafter(np.ldexp(np.float32(1), exponents + 1), np.float32(0))
    info = ml_dtypes.finfo(dtype)
    with np.errstate(over="ignore"):
        to_zero = most.astype(dtype).astype(np.float32) == 0
    subnormal = (most < float(info.smallest_normal)) & ~to_zero
    return {"to_zero": int(to_zero.sum()), "to_subnormal": int(subnormal.sum()),
            "beyond": int((least > float(info.max)).sum())}


def check_histograms(tool):
    """inspect --histogram --json: the same exponents, and what narrow types make of them."""
    rng = np.random.default_rng(6)
    values = np.ldexp(rng.uniform(1, 2, 4000), rng.integers(-30, 21, 4000)).astype(np.float32)
    values[::7] *= -1
    values[::97] = 0
    path = tool.folder / "histogram.npy"
    np.save(path, values)
    out, _ = tool.run("inspect", path, "--histogram", "histogram", "--json")
    [found] = json.loads(out)["histograms"]
    assert found["exponents"] == exponents_of(values), found["exponents"]
    assert len(found["types"]) == 7
    for one in found["types"]:
        expected = zones_of(values, TYPES[one["type"]].dtype)
        assert one == {"type": one["type"], **expected}, f"{one} is not {expected}"
        assert one["type"] == "bfloat16" or any(expected.values())


def check_exponents(tool):
    """Every type, all codes of it or random ones; then tensors of which a part is looked at."""
    rng = np.random.default_rng(5)
    for name, source in TYPES.items():
        size = 1 << min(source.bits, 10)
        codes = np.arange(size) if source.bits <= 8 else rng.integers(0, 1 << source.bits, size, np.uint64)
        path = tool.folder / "in.npy"
        write_npy(path, source, codes.astype(source.code_dtype))
        target = "float64" if name != "float64" else "float32"
        loss = report_of(tool, ".json", "loss", path, "--to", target, "--all-types", *assumed(name))
        [tensor] = loss["types"][0]["tensors"]
        expected = exponents_of(source.values(codes.astype(source.code_dtype)))
        assert tensor["exponents"] == expected, f"{name}: {tensor['exponents']} is not {expected}"
    # Rows of 1,024 in which one column differs: it is seen as often as any other.
    for rows, least in ((3, 1024), (16, 1024), (128, 4096), (1024, 4096), (8192, 32768)):
        values = np.full((rows, 1024), 1.5, np.float32)
        values[:, 700:764] = 64
        path = tool.folder / "columns.npy"
        np.save(path, values)
        found = []
        for threads in ("1", "2", "5"):
            for to in ("bfloat16", "fp8-row", "fp8-tensor"):  # these are read once, and more than once
                loss = report_of(tool, ".json", "loss", path, "--to", to, "--threads", threads, "--tensor", "*")
                found.append(loss["types"][0]["tensors"][0]["exponents"])
        assert all(one == found[0] for one in found), f"exponents depend on the threads or the type: {found}"
        counts = found[0]["counts"]
        assert found[0]["sampled"] == sum(counts) >= least and found[0]["sampled"] <= values.size, found[0]
        share, expected = counts[6] / sum(counts), 64 / 1024
        assert abs(share - expected) < 6 * math.sqrt(expected / (sum(counts) / 32)), (rows, share)


def same(shown, exact, digits=5e-5):
    """Whether a figure of a page is one of the JSON's."""
    if exact is None or shown is None:
        return shown is None or not math.isfinite(shown)
    return shown == exact or abs(shown - exact) <= digits * abs(exact)


def check_row(page, series, row, tensor, line):
    """One tensor in the three forms."""
    loss, where = tensor["loss"], tensor["name"]
    figures = series["figures"]
    figure = lambda key: figures[key][row] if key in figures else 0  # a column without any is left out
    assert words(page["type"], row) in (tensor["type"], tensor.get("layout")), where
    assert page["elements"][row] == int(line["elements"]) == tensor["elements"], where
    assert page["bytes"][row] == int(line["bytes"]) == tensor["bytes"], where
    for key in _COUNTS:
        assert same(figure(key), loss["counts"][key]), (where, key)
    for key, count in loss["counts"].items():
        assert int(line[key]) == count, (where, key)
    for key in ("max_abs_error", "rmse", "amax", "smallest_nonzero"):
        assert same(figure(key), loss[key] or 0), (where, key, figure(key), loss[key])
        assert line[key] == "" if loss[key] is None else float(line[key]) == loss[key], (where, key)
    if loss["snr_db"] is None:
        assert line["snr_db"] in ("inf", ""), where
        assert figure("snr_db") in (None, math.inf), where
    else:
        assert float(line["snr_db"]) == loss["snr_db"], where
        assert abs(figure("snr_db") - loss["snr_db"]) <= 0.00051, where


def make_model(path):
    """A few layers of weights, with norms, an outlier, zeros, an integer."""
    rng = np.random.default_rng(8)
    tensors = []
    for layer in range(6):
        scale = 0.02 / (1 + layer)
        for kind, shape in (("self_attn.q_proj", (64, 128)), ("mlp.up_proj", (256, 128)), ("mlp.down_proj", (128, 256))):
            values = (rng.standard_normal(shape) * scale).astype(np.float32)
            if layer == 2:
                values[3, 5] = 900
            if layer == 4:
                values[:9] = 0
            tensors.append((f"model.layers.{layer}.{kind}.weight", "BF16", shape, values.astype(ml_dtypes.bfloat16).tobytes()))
        tensors.append((f"model.layers.{layer}.input_layernorm.weight", "F32", (128,), np.ones(128, "<f4").tobytes()))
        tensors.append((f"model.layers.{layer}.mlp.up_proj.bias", "F32", (256,), (rng.standard_normal(256) * 1e-4).astype("<f4").tobytes()))
    tensors.append(("model.embed_tokens.weight", "F32", (100, 128), rng.standard_normal((100, 128)).astype("<f4").tobytes()))
    tensors.append(("position_ids", "I64", (16,), np.arange(16, dtype="<i8").tobytes()))
    write_safetensors(path, tensors)


def check_figures(tool):
    """The same figures in all forms, of each command."""
    model, output = tool.folder / "model.safetensors", tool.folder / "out.safetensors"
    make_model(model)
    for to in ("float8e4m3fn", "nvfp4"):
        command = ("convert", model, "-o", output, "--to", to)
        page, _ = report_of(tool, ".html", *command)
        table, whole = report_of(tool, ".csv", *command), report_of(tool, ".json", *command)
        printed = json.loads(tool.run(*command, "-q", "--force", "--json")[0])
        for tensor in whole["tensors"]:
            tensor_printed = next(one for one in printed["tensors"] if one["name"] == tensor["name"])
            assert tensor.pop("exponents")["sampled"] > 0 and tensor == tensor_printed
        assert {**whole, "tensors": 0} == {**printed, "tensors": 0}
        rows = len(whole["tensors"]) + len(whole["left_alone"])
        assert len(page["names"]) == len(table) == rows
        for row, tensor in enumerate(whole["tensors"]):
            assert page["names"][row] == table[row]["name"] == tensor["name"]
            assert words(page["series"][0]["to"], row) == table[row]["to"] == tensor["to"]
            check_row(page, page["series"][0], row, tensor, table[row])
        left = [page["states"][state][0] for state in page["series"][0]["state"]].count("left alone")
        assert left == len(whole["left_alone"]) == [line["verdict"] for line in table].count("left alone")
        advised = [command for _, _, command in page["notes"] if command]
        assert advised or to != "float8e4m3fn"
        for command_line in advised:  # each can be run as it stands
            assert subprocess.run(["bash", "-c", f'tensorcast() {{ "{tool.executable}" "$@"; }}\n{command_line}'],
                                  cwd=tool.folder, capture_output=True, check=False).returncode == 0, command_line

    command = ("loss", model, "--to", "bfloat16,float8e4m3fn,fp8-row,mxfp4")
    page, _ = report_of(tool, ".html", *command)
    table, whole = report_of(tool, ".csv", *command), report_of(tool, ".json", *command)
    assert [series["title"] for series in page["series"]] == [one["to"] for one in whole["types"]]
    lines = {(line["to"], line["name"]): line for line in table}
    assert len(lines) == sum(len(one["tensors"]) for one in whole["types"])
    for series, one in zip(page["series"], whole["types"]):
        cast = [row for row, state in enumerate(series["state"]) if state >= 0]
        assert [page["names"][row] for row in cast] == [tensor["name"] for tensor in one["tensors"]]
        for row, tensor in zip(cast, one["tensors"]):
            check_row(page, series, row, tensor, lines[one["to"], tensor["name"]])

    command = ("diff", model, output)
    page, _ = report_of(tool, ".html", *command)
    table, whole = report_of(tool, ".csv", *command), report_of(tool, ".json", *command)
    assert whole == json.loads(subprocess.run([tool.executable, *command, "-q", "--json"], capture_output=True, check=False).stdout)
    assert len(page["names"]) == len(table) == len(whole["tensors"])
    for row, tensor in enumerate(whole["tensors"]):
        assert page["names"][row] == table[row]["name"] == (tensor["a"] or tensor["b"])["name"]
        assert page["states"][page["series"][0]["state"][row]][0].replace(" ", "_").replace("other_", "") in (
            tensor["kind"], tensor["kind"].replace("incomparable", "kind"))
        different = page["series"][0]["figures"].get("different", [0] * len(table))[row]
        assert (tensor["different"] or 0) == (different or 0) == int(table[row]["different"] or 0)

    broken = tool.folder / "broken.safetensors"
    tool.run("convert", model, "-o", output, "--to", "float8e4m3fn", "-q", "--force", "--no-report")
    data = bytearray(output.read_bytes())
    data[-5] ^= 1
    broken.write_bytes(data)
    for path, wrong in ((output, 0), (broken, 1)):
        page, _ = report_of(tool, ".html", "verify", model, path)
        table, whole = report_of(tool, ".csv", "verify", model, path), report_of(tool, ".json", "verify", model, path)
        assert len(page["names"]) == len(table) == len(whole["faulty_tensors"]) == wrong
        assert whole["right"] == (wrong == 0)
        assert page["names"] == [one["name"] for one in whole["faulty_tensors"]] == [line["name"] for line in table]


def check_names(tool):
    """Hostile names stand in a page as text that is escaped, in a table as texts, in the JSON as they are."""
    path, output = tool.folder / "hostile.safetensors", tool.folder / "out.safetensors"
    data = np.linspace(-600, 600, 64, dtype="<f4").tobytes()
    write_safetensors(path, [(name, "F32", (8, 8), data) for name in HOSTILE_NAMES])
    command = ("convert", path, "-o", output, "--to", "float8e4m3fn")
    page, around = report_of(tool, ".html", *command)
    _, plain = report_of(tool, ".html", "convert", tool.folder / "columns.npy", "-o", tool.folder / "out.npy", "--to", "float16")
    assert around == plain, "what stands around the data depends on it"
    assert around.count("</script>") == 2 and "http" not in around.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    table, whole = report_of(tool, ".csv", *command), report_of(tool, ".json", *command)
    assert {tensor["name"] for tensor in whole["tensors"]} == set(HOSTILE_NAMES)
    for shown, line, tensor in zip(page["names"], table, whole["tensors"]):
        name = tensor["name"]
        assert line["name"] == ("'" + name if name[:1] in ("=", "+", "-", "@", "\t", "\r") and name else name)
        assert all(c.isprintable() or c == " " for c in shown) and (shown == name or "\\x" in shown), shown
    # A name that is not UTF-8 is a file's.
    odd = tool.folder / b"odd\xff.npy".decode("utf-8", "surrogateescape")
    np.save(odd, np.ones(4, np.float32))
    page, _ = report_of(tool, ".html", "loss", odd, "--to", "float16")
    table = report_of(tool, ".csv", "loss", odd, "--to", "float16")
    assert page["names"] == ["odd\\xFF"] and table[0]["name"] == "odd�", (page["names"], table[0]["name"])


def refused(tool, *arguments):
    """The line with which the tool refuses, and its exit code."""
    done = subprocess.run([tool.executable, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if "note:" not in line]
    return done.returncode, lines[-1] if lines else ""


def check_files(tool):
    """An existing file is replaced where that is asked for alone; nothing is left of what failed."""
    model, output = tool.folder / "model.safetensors", tool.folder / "new.safetensors"
    command = ("convert", model, "-o", output, "--to", "bfloat16", "-q")
    for name, said in (("report.txt", "has to end in .html, .json or .csv"), ("nowhere/report.html", "nowhere"),
                       ("new.safetensors", "has to end in")):
        code, line = refused(tool, *command, "--report", tool.folder / name)
        assert code in (2, 4) and said in line and not output.exists(), (name, code, line)
    report = tool.folder / "kept.html"
    report.write_text("kept")
    for one in (command, ("loss", model, "--to", "bfloat16"), ("diff", model, model), ("verify", model, model, "--to", "bfloat16")):
        code, line = refused(tool, *one, "--report", report)
        assert code == 2 and "kept.html" in line and report.read_text() == "kept" and not output.exists(), (code, line)
    code, line = refused(tool, *command, "--report", report, "--no-report")
    assert code == 2 and "--no-report" in line
    code, line = refused(tool, "loss", model, "--to", "bfloat16", "--force")
    assert code == 2 and "--report" in line
    # A file of the input is none, by whatever name.
    folder = tool.folder / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(model.read_bytes())
    (folder / "config.json").write_text("{}")
    code, line = refused(tool, "convert", folder, "-o", tool.folder / "made", "--to", "bfloat16", "--force", "--report", folder / "config.json")
    assert code == 2 and "config.json" in line and (folder / "config.json").read_text() == "{}", line
    # A conversion that fails has no report.
    code, _ = refused(tool, "convert", model, "-o", output, "--to", "bfloat16", "--tensor", "none.such", "--report", tool.folder / "fails.html")
    assert code == 2 and not (tool.folder / "fails.html").exists()
    assert not list(tool.folder.glob(".*tensorcast*")), list(tool.folder.glob(".*"))


def check_size(tool):
    """100,000 tensors as a large mixture of experts has them: less than 3 MB, with the worst ones' histograms."""
    rng = np.random.default_rng(7)
    tensors = []
    for layer in range(61):
        for expert in range(546):
            for kind in ("gate_proj", "up_proj", "down_proj"):
                values = (rng.standard_normal(256, np.float32) * 0.01 * rng.uniform(.2, 3)).astype(ml_dtypes.bfloat16)
                tensors.append((f"model.layers.{layer}.mlp.experts.{expert}.{kind}.weight", "BF16", (16, 16), values.tobytes()))
    tensors += [(f"model.layers.{i}.input_layernorm.weight", "BF16", (128,), values.tobytes()[:256]) for i in range(82)]
    path = tool.folder / "many.safetensors"
    write_safetensors(path, tensors)
    page, _ = report_of(tool, ".html", "convert", path, "-o", tool.folder / "many-out.safetensors", "--to", "float8e4m3fn")
    size = (tool.folder / "report.html").stat().st_size
    assert len(page["names"]) == 100_000 and size < 3 * _MEGABYTE, size
    drawn = sum(one is not None for one in page["exponents"])
    assert drawn == page["histograms"] >= 1000
    print(f"a page of 100,000 tensors takes {size / _MEGABYTE:.2f} MB, with {drawn} histograms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    with Tool(parser.parse_args().tool) as tool:
        for check in (check_exponents, check_histograms, check_figures, check_names, check_files, check_size):
            check(tool)
            print(f"{check.__name__}: holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
