"""The tables of a notebook in headless Chromium, on a light page and a dark one, a desk's and a phone's: all can be read,
nothing is cut off, nothing runs and nothing is fetched.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

import numpy as np
import pytest
import tensorcast as tc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import browser  # noqa: E402

HOSTILE = ["<script>document.title = 'ran'</script>", '"><img src="https://example.com/x" onerror="document.title=1">', "a\u202eb", "y" * 2000,
           "<style>body { display: none }</style>", "half\udcff", "</table></div><h1>out</h1>"]
# As JupyterLab has them: its rules for tables come first.
PAGE = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>still</title>
<style>body {{ background: {ground}; color: {ink}; font: 14px sans-serif; margin: 8px }}
.output table {{ border: none; table-layout: fixed; font-size: 12px; margin: 0 auto }}
.output td, .output th, .output tr {{ vertical-align: middle; text-align: right; padding: .5em; border: none }}</style>
<body class="output">{body}"""


@pytest.fixture(scope="module")
def chromium():
    if browser.find() is None:
        pytest.skip("there is no Chromium")
    with browser.Browser(browser.find()) as page:
        yield page


@pytest.fixture(scope="module")
def body(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    x = np.random.default_rng(6).standard_normal(500).astype(np.float32)
    tc.save_file({name: x * np.float32(100.0 ** (place - 2)) for place, name in enumerate(HOSTILE) if "\udcff" not in name},
                 folder / "a.safetensors")
    plan = tc.plan(folder / "a.safetensors", folder / "b.safetensors", to="float8_e4m3fn")
    losses = plan.run()
    graph = tc.graph.Graph()
    graph.mark_output(graph.cast(graph.add_input(HOSTILE[1], "float32"), "int8", name=HOSTILE[0]), "y")
    things = [plan, losses, *losses.values(), tc.Losses(dict.fromkeys(HOSTILE, tc.loss(x, "int4"))), tc.inspect(folder / "a.safetensors"),
              tc.diff(folder / "a.safetensors", folder / "b.safetensors"), graph, tc.exponents(x), tc.explain("1e-30", "float16")]
    return "".join(f"<div>{each._repr_html_()}</div>" for each in things)


@pytest.mark.parametrize("size", [(1200, 900, 1), (390, 844, 2)], ids=["desk", "phone"])
@pytest.mark.parametrize(("ground", "ink"), [("#fff", "#000"), ("#111", "#eee")], ids=["light", "dark"])
def test_it_can_be_read(chromium, body, tmp_path, size, ground, ink):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(ground=ground, ink=ink, body=body), encoding="utf-8")
    chromium.size(*size)
    chromium.open(path.as_uri(), ready="document.readyState === 'complete'")
    assert not chromium.errors() and chromium.run("document.title") == "still"
    assert chromium.run("document.querySelectorAll('script, img, h1, a, link, iframe').length") == 0
    assert chromium.run("performance.getEntriesByType('resource').length") == 0
    assert chromium.run("document.documentElement.scrollWidth") == size[0] and chromium.run(browser.WIDER) == []
    rows = chromium.run("[...document.querySelectorAll('td')].map((cell) => [cell.className, getComputedStyle(cell).textAlign])")
    assert len(rows) > 300 and all(align == ("right" if kind == "figure" else "left") for kind, align in rows)
    least = chromium.run("(() => { document.querySelectorAll('.lost, .poor, .good').forEach((mark) => { mark.className = ''; mark.style.color = ''; });"
                         f"return {browser.CONTRAST} }})()")
    assert least[0] >= 4.5, least


@pytest.mark.parametrize("ground", ["#fff", "#111"])
def test_marks_stand_out(chromium, body, tmp_path, ground):
    """As graphics have to, which are not read: three to one."""
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(ground=ground, ink=ground, body=body), encoding="utf-8")
    chromium.open(path.as_uri(), ready="document.readyState === 'complete'")
    chromium.run("document.querySelectorAll('body *:not(style)').forEach((e) => [...e.childNodes].forEach((n) => { if (n.nodeType === 3 && n.data !== '●') n.data = ''; }))")
    assert chromium.run("document.querySelectorAll('.lost').length && document.querySelectorAll('.poor').length && document.querySelectorAll('.good').length")
    least = chromium.run(browser.CONTRAST)
    assert 3 <= least[0] < 99, least
