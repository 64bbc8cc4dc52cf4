"""What notebooks show and what pandas is given: pages with hostile names, frames beside numpy's figures.

SPDX-License-Identifier: Apache-2.0
"""
import html.parser
import math
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pandas as pd
import pytest
import tensorcast as tc

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\u202eb", "nul\x00x", "half\udcff", "tab\tnew\nline",
           "\x1b[31mred", "&lt;b&gt;", "</style></table></div>", "x" * 3000, "é $m^2$ 权重"]
TAGS = {"div", "style", "table", "thead", "tbody", "tr", "th", "td", "p", "b", "span", "svg", "line", "rect", "text", "tspan", "title", "g", "path"}
ATTRIBUTES = {"class", "style", "role", "aria-label", "viewbox", "xmlns", "x", "y", "x1", "x2", "y1", "y2", "dy", "width", "height", "fill",
              "stroke", "stroke-width", "font-size", "text-anchor", "d", "rx", "opacity", "font-family", "stroke-opacity", "stroke-dasharray"}


class Page(html.parser.HTMLParser):
    """A page as a browser reads it: its texts, and the cells of each row."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.rows, self.open = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS and {name for name, _ in attributes} <= ATTRIBUTES, (tag, attributes)
        if tag in ("line", "path", "rect") and self.get_starttag_text().endswith("/>"):
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            return
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def shown(thing):
    text = thing._repr_html_()
    text.encode()  # as it goes to the browser
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "") and "url(" not in text and "@import" not in text
    page = Page(text)
    assert all(each.isprintable() or each.isspace() for each in "".join(page.texts))
    return page


def spelt(name):
    """A name as a page has it, worked out another way than the package does."""
    return "".join(each if each == " " or each.isprintable() else repr(each)[1:-1] for each in name)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A file whose tensors have hostile names, as far as the format has them."""
    folder = tmp_path_factory.mktemp("hostile")
    names = [name for name in HOSTILE if "\udcff" not in name]
    tc.save_file({name: np.float32([0.1, 448, 512, 1e-9]) for name in names}, folder / "a.safetensors")
    return folder / "a.safetensors", names


def first_column(page):
    return [row[0] for row in page.rows]


def test_hostile_names(hostile, tmp_path):
    path, names = hostile
    plan = tc.plan(path, tmp_path / "b.safetensors", to="float8_e4m3fn")
    losses = plan.run()
    with tc.open(path) as file:
        things = [plan, losses, tc.inspect(path), file, file.raw, file.infos(), tc.diff(path, tmp_path / "b.safetensors")]
        for thing in things:
            assert {spelt(name) for name in names} <= set(first_column(shown(thing))), type(thing)
    assert "closed" in "".join(shown(file).texts)
    assert {*losses.to_frame().index} == {*names} == {*tc.inspect(path).to_frame().index}


def test_names_that_are_no_text():
    report = tc.loss([0.1], "float16")
    losses = tc.Losses(dict.fromkeys(HOSTILE, report))
    assert {spelt(name) for name in HOSTILE} <= set(first_column(shown(losses)))
    assert list(losses.to_frame().index) == HOSTILE


def test_hostile_graphs():
    graph = tc.graph.Graph()
    allowed = [each for each in HOSTILE if not any(ord(one) < 32 for one in each) and "\udcff" not in each]
    for place, name in enumerate(allowed):
        value = graph.cast(graph.add_input(name, "float32", ["<i>n", None]), "float8_e4m3fn", saturate=False, name=f"node {place} {name}")
        graph.mark_output(value, f"out {name}")
        page = shown(graph)
        row = page.rows[-1]
        assert row[0] == spelt(f"node {place} {name}") and row[4:] == [spelt(name), spelt(f"out {name}"), "saturate=False"]
    assert "<i>n" in page.rows[0][1]
    frame = graph.to_frame()
    assert list(frame.op_type.unique()) == ["Cast"] and frame.inputs[0] == (HOSTILE[0],) and frame.outputs[0] == (f"out {HOSTILE[0]}",)


def test_what_optimize_did():
    graph = tc.graph.Graph()
    x = graph.add_input("x", "int8")
    graph.mark_output(graph.cast(graph.cast(x, "float16", name="<b>first"), "float32", name="second"), "y")
    report = graph.optimize()
    page = shown(report)
    assert ["casts", "2", "1"] in page.rows and any("<b>first" in row or "second" in row for row in page.rows[-1:])
    frame = report.to_frame()
    assert len(frame) == len(report.removed) == 1 and list(frame.columns) == list(report.removed[0])


def test_what_losses_say(tmp_path):
    rng = np.random.default_rng(1)
    arrays = {"far": np.float32([1e-9, 2e-9, 3e-9, 1]), "fine": rng.standard_normal(4096).astype(np.float32), "same": np.float32([1, 2]),
              "over": np.float32([1e4, 1, 2, 3])}
    losses = tc.Losses({name: tc.loss(x, "float8_e4m3fn") for name, x in arrays.items()})
    frame = losses.to_frame()
    assert list(frame.index) == list(arrays) and frame.index.name == "name"
    for name, x in arrays.items():
        y = np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
        x = x.astype(np.float64)
        row = frame.loc[name]
        assert row.elements == x.size and row.exact == np.sum(x == y) and row.to_zero == np.sum((x != 0) & (y == 0))
        assert row.to_limit == np.sum(np.abs(x) > 464) and row.max_abs_error == np.max(np.abs(x - y))
        noise = np.sum((x - y) ** 2)
        want = 10 * math.log10(np.sum(x * x) / noise) if noise else math.inf
        assert math.isclose(row.snr_db, want, rel_tol=1e-9) and row.to_type == "float8e4m3fn" and math.isnan(row.gain_db)
    counts = frame[["nan", "nan_lost", "to_nan", "exact", "wrapped", "to_infinity", "to_limit", "to_zero", "rounded"]]
    assert (counts.sum(axis=1) == frame.elements).all()
    page = shown(losses)
    assert page.rows[0] == ["name", "verdict", "SNR", "from", "to", "values", "not exact", "→ zero", "at the limit", "max rel error"]
    assert first_column(page)[1:] == ["over", "far", "fine", "same"]  # the worst first
    far = next(row for row in page.rows if row[0] == "far")
    assert far[1:9] == ["● poor", f"{losses['far'].snr_db:.1f} dB", "float32", "float8e4m3fn", "4", "75.0 %", "75.0 %", "·"]
    assert pickle.loads(pickle.dumps(losses)) == losses and type(pickle.loads(pickle.dumps(losses))) is tc.Losses


def test_losses_of_several_types():
    x = np.random.default_rng(2).standard_normal(500).astype(np.float32)
    losses = tc.loss(x, ["bf16", np.float16, "float4_e2m1fn"], saturate=False)
    assert list(losses) == ["bfloat16", "float16", "float4e2m1"]
    assert losses["float16"] == tc.loss(x, "float16", saturate=False)
    assert tc.loss(x, ("int8",)) == {"int8": tc.loss(x, "int8")}
    with pytest.raises(tc.ArgumentError, match="to is an empty list: give one type or more"):
        tc.loss(x, [])
    with pytest.raises(tc.ArgumentError):
        tc.loss(x, ["bfloat16", "nonsense"])


def test_a_report_as_a_row():
    report = tc.loss(np.float32([0.1, 512, math.nan]), "float8e4m3fn")
    frame = report.to_frame()
    assert frame.shape[0] == 1 and frame.to_limit[0] == 1 and frame.verdict[0] == report.verdict
    rows = dict((row[0], row[1:]) for row in shown(report).rows)
    assert rows["to limit"] == ["1", "33.3 %", "[1] 512 → 448"] and rows["max abs error"] == ["64", "", "[1] 512 → 448"]
    both = pd.concat([frame, tc.loss([1.0], "int8").to_frame()])
    assert list(both.to_type) == ["float8e4m3fn", "int8"]


def test_plans_and_files_as_frames(tmp_path):
    np.savez(tmp_path / "a.npz", w=np.ones((2, 3), np.float32), ids=np.arange(4), one=np.float32(1))
    plan = tc.plan(tmp_path / "a.npz", tmp_path / "b.npz", to="float16")
    frame = plan.to_frame()
    assert list(frame.index) == [job.name for job in plan.jobs] == ["w", "ids", "one"]
    assert list(frame.bytes_before) == [24, 32, 4] and list(frame.bytes_after) == [12, 32, 2] and frame["shape"]["w"] == (2, 3)
    assert shown(plan).rows[1] == ["w", "cast", "2 × 3", "float32", "float16", "24", "12", "the request's type"]
    frame = tc.inspect(tmp_path / "a.npz").to_frame()
    assert list(frame.elements) == [6, 4, 1] and list(frame.nbytes) == [24, 32, 4] and frame.index.name == "name"
    assert isinstance(tc.inspect(tmp_path / "a.npz"), list)
    plan.run()
    found = tc.diff(tmp_path / "a.npz", tmp_path / "b.npz").to_frame()
    assert set(found.kind) == {"same_values", "same_bytes"} and found.dtype_b["w"] != found.dtype_a["w"]
    np.savez(tmp_path / "c.npz", w=np.ones((3, 2), np.float32), other=np.arange(4))
    diff = tc.diff(tmp_path / "a.npz", tmp_path / "c.npz")
    frame, rows = diff.to_frame(), {row[0]: row for row in shown(diff).rows}
    assert rows["w"][1:5] == ["other shape", "float32", "float32", "2 × 3 → 3 × 2"] and rows["ids"][1:5] == ["only in A", "int64", "–", "4"]
    assert "not equal: 2 only in A, 1 only in B, 1 other shape" in " ".join(shown(diff).texts)
    assert ["code", "0x3DCD"] in shown(tc.explain(0.1, "bfloat16")).rows
    assert frame.loc["w", ["shape_a", "shape_b"]].tolist() == [(2, 3), (3, 2)] and frame.kind["other"] == "only_in_b"
    assert set(tc.Losses().to_frame().columns) == set(tc.loss([1.0], "int8").to_frame().columns)


def test_of_many_the_first_are_shown():
    report = tc.loss([0.1], "float16")
    losses = tc.Losses({f"layers.{place}.weight": report for place in range(5000)})
    text = losses._repr_html_()
    assert len(text) < 60_000 and len(Page(text).rows) == 101
    assert "… and 4,900 more: to_frame() has all." in text and len(losses.to_frame()) == 5000


def test_nothing_is_imported_before_it_is_asked_for():
    told = subprocess.run(
        [sys.executable, "-c", "import sys, tensorcast; print({'pandas', 'matplotlib', 'tqdm', 'IPython'} & set(sys.modules))"],
        capture_output=True, text=True, check=True).stdout
    assert told == "set()\n"


@pytest.mark.parametrize(("package", "call"), [("pandas", "report.to_frame()"), ("pandas", "tc.Losses(a=report).to_frame()"),
                                               ("pandas", "tc.exponents([1.5]).to_frame()"), ("matplotlib", "tc.plot_loss(report)"),
                                               ("matplotlib", "tc.plot_exponents([1.5])")])
def test_what_is_not_installed_is_said(package, call):
    program = f"import sys; sys.modules['{package}'] = None; import tensorcast as tc; report = tc.loss([1.5], 'int8'); {call}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    what = call.partition("(")[0].rpartition(".")[2] if package == "matplotlib" else "to_frame"
    assert f"ImportError: {what} needs {package}, which cannot be imported: pip install {package}" in done.stderr
