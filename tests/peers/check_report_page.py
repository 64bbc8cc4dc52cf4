#!/usr/bin/env python3
"""A page of --report in headless Chromium: what it shows on a phone and on 4K, light and dark, by keyboard, with
hostile names, without a network, and how soon. Ends with 77, which ctest takes for skipped, where there is no Chromium.

    check_report_page.py TOOL [--pictures FOLDER]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import statistics
import sys

import browser
from check_report import make_model
from report_data import HOSTILE_NAMES, read_page, write_safetensors
from tool import Tool

_SKIPPED = 77
_SCREENS = {"phone": (390, 844, 2), "desk": (1440, 900, 1), "4k": (3840, 2160, 1)}


def address(path):
    return path.resolve().as_uri()


def names_shown(page):
    return page.run("[...document.querySelectorAll('.row')].filter((r) => !r.hidden).sort((a, b) => a.place - b.place)"
                    ".map((r) => r.querySelector('.name').title)")


def check_screens(page, path, pictures):
    """On each screen, in both themes: nothing is cut off, everything can be read, a tensor can be opened."""
    for screen, size in _SCREENS.items():
        for theme in ("light", "dark"):
            page.size(*size, dark=theme == "dark")
            page.open(address(path))
            assert not page.errors(), page.errors()
            page.run("document.getElementById('row-0').click()")
            assert page.run("document.querySelector('#detail .histogram') !== null")
            wider = page.run(browser.WIDER)
            assert wider == [], (screen, theme, wider)
            contrast = page.run(browser.CONTRAST)
            assert contrast[0] >= 4.5, (screen, theme, contrast)
            ground = page.run("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, ground[4:-1].split(","))) < 200) == (theme == "dark"), (theme, ground)
            if pictures:
                page.picture(pictures / f"{screen}-{theme}-open.png")
                page.press("Escape")
                page.run("scrollTo(0, 0)")
                page.picture(pictures / f"{screen}-{theme}.png")
    page.run("document.getElementById('theme').click()")  # light, whatever the system has
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(247, 247, 245)"


def check_table(page, path):
    """Worst first, as the data has it; searched, filtered, sorted, and walked through with keys."""
    data, _ = read_page(path)
    series, names = data["series"][0], data["names"]
    snr = series["figures"]["snr_db"]
    low = lambda i: snr[i] if snr[i] is not None else float("-inf")
    order = sorted(range(len(names)), key=lambda i: (series["state"][i], low(i), i))
    page.size(*_SCREENS["desk"])
    page.open(address(path))
    assert names_shown(page) == [names[i] for i in order][:len(names_shown(page))] and len(names_shown(page)) >= 10
    assert page.run("document.getElementById('count').textContent") == f"{len(names)} tensors"

    wait = "new Promise((done) => setTimeout(done, 150))"
    page.press("/")
    for key in "up_proj":
        page.press(key)
    page.run(wait)
    assert names_shown(page) == [names[i] for i in order if "up_proj" in names[i]]
    page.run("document.getElementById('search').value = ''; document.getElementById('search').dispatchEvent(new Event('input'))")
    page.run(wait)
    kinds = page.run("[...document.getElementById('kind').options].map((o) => o.text)")
    assert "mlp.down_proj.weight (6)" in kinds and "All kinds" in kinds, kinds
    page.run("[...document.getElementById('kind').options].find((o) => o.text.startsWith('mlp.down_proj')).selected = true;"
             "document.getElementById('kind').dispatchEvent(new Event('change'))")
    assert names_shown(page) == [names[i] for i in order if names[i].endswith("mlp.down_proj.weight")]
    page.run("document.getElementById('kind').value = '-1'; document.getElementById('kind').dispatchEvent(new Event('change'))")
    lost = [i for i in order if data["states"][series["state"][i]][0] == "lost"]
    assert lost
    page.run("document.querySelector('#states button.bad').click()")
    assert names_shown(page) == [names[i] for i in lost]
    page.run("document.querySelector('#states button.bad').click()")
    page.run("[...document.querySelectorAll('#titles button')].find((b) => b.textContent === 'SNR dB').click()")
    known = sorted((i for i in range(len(names)) if snr[i] is not None), key=lambda i: (snr[i], i))
    assert names_shown(page)[:8] == [names[i] for i in known][:8]
    page.run("document.querySelector('#titles button').click()")  # worst first again

    page.run("document.getElementById('rows').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.press(key)
    assert page.run("document.querySelector('#detail .head .name').textContent") == names[order[1]]
    page.press("End")
    assert page.run("document.querySelector('#detail .head .name').textContent") == names[order[-1]]
    page.press("Escape")
    assert page.run("document.getElementById('detail').childElementCount") == 0


def check_tensor_asked_for(page, path):
    """#tensor=NAME opens that tensor, and what it opens is in sight."""
    data, _ = read_page(path)
    name = data["names"][-1]
    for screen, size in _SCREENS.items():
        page.size(*size)
        page.open("about:blank", ready="true")
        page.open(address(path) + "#tensor=" + name)
        assert page.run("document.querySelector('#detail .head .name').textContent") == name
        box = page.run("(({top, bottom}) => [top, bottom, innerHeight])(document.querySelector('#detail .head').getBoundingClientRect())")
        assert 0 <= box[0] and box[1] <= box[2], (screen, box)


def check_largest_value(page, path):
    """A value beyond a type's range is shown also if the sample has not got it."""
    page.open(address(path))
    sample = "{sampled: 1024, zeros: 0, notFinite: 0, first: -7, counts: [512, 512]}"
    e4m3 = "[2 ** -9, 2 ** -6, 448]"
    assert page.run(f"sharesOf({sample}, {e4m3}, 900)") == [0, 0.5, 0.5, 0.5 / 1024]
    assert page.run(f"sharesOf({sample}, {e4m3}, 448)") == [0, 0.5, 0.5, 0]
    bars = f"[...histogramOf({sample}, ['float8e4m3fn', false, {e4m3}], AMAX).querySelectorAll('rect > title')].map((t) => t.parentNode.getAttribute('class'))"
    assert page.run(bars.replace("AMAX", "900")) == ["sub", "in", "out"]
    assert page.run(bars.replace("AMAX", "0.01")) == ["sub", "in"]


def check_heat_map(page, path):
    """A cell for each layer and kind, coloured in order of SNR; Enter shows its tensor."""
    data, _ = read_page(path)
    names, snr = data["names"], data["series"][0]["figures"]["snr_db"]
    page.open(address(path))
    cells = page.run("[...document.querySelectorAll('#map rect')].map((r) => [r.cell.strip.text, r.cell.layer, r.cell.snr, r.getAttribute('fill')])")
    of = {(kind, layer): (value, colour) for kind, layer, value, colour in cells}
    found = 0
    for name, value in zip(names, snr):
        if name.startswith("model.layers.") and value is not None:
            layer, kind = name.removeprefix("model.layers.").split(".", 1)
            shown, _ = of[kind, int(layer)]
            assert shown == value or (shown is None and value == float("inf")), (name, shown, value)
            found += 1
    assert found == 30 and len({colour for _, colour in of.values()}) > 5
    page.run("document.getElementById('map').focus()")
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.press(key)
    kind = cells[0][0]
    assert names_shown(page) == [f"model.layers.2.{kind}"], names_shown(page)
    assert "layer 2" in page.run("document.getElementById('count').textContent")


def check_hostile(page, path):
    """Names are text, whatever they say, and widen no page; nothing is asked for from anywhere."""
    page.size(*_SCREENS["phone"])
    page.open(address(path))
    assert page.run(browser.WIDER) == [], page.run(browser.WIDER)
    page.size(*_SCREENS["desk"])
    page.open(address(path))
    assert not page.errors() and page.run("document.title").startswith("convert: "), page.run("document.title")
    assert page.run("document.querySelectorAll('script').length") == 2 and page.run("document.images.length") == 0
    data, _ = read_page(path)
    assert sorted(names_shown(page)) == sorted(data["names"]) and len(data["names"]) == len(HOSTILE_NAMES)
    page.run("[...document.querySelectorAll('.row')].forEach((r) => r.click())")
    page.run("document.querySelectorAll('.copy button').forEach((b) => b.click())")
    assert page.run("document.title").startswith("convert: ")
    asked = [one for one in page.requests() if one != address(path)]
    assert asked == [], asked
    # And nothing could be: the page's policy refuses it.
    assert page.run("fetch('https://example.org').then(() => 'fetched', () => 'refused')") == "refused"


def measure(page, path):
    """Milliseconds to the first paint, to the head, and to everything; the median of several."""
    times = []
    for _ in range(7):
        page.open(address(path))
        times.append(page.run(
            "new Promise((done) => setTimeout(() => done(['first-contentful-paint', 'head', 'rest']"
            ".map((name) => (performance.getEntriesByName(name)[0] || {startTime: NaN}).startTime)), 200))"))
    return [statistics.median(column) for column in zip(*times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    parser.add_argument("--pictures", type=pathlib.Path, help="a folder for pictures of every screen")
    parser.add_argument("--time", type=pathlib.Path, help="only measure how soon this page is there")
    arguments = parser.parse_args()
    executable = browser.find()
    if executable is None:
        print("skipped: neither chromium nor google-chrome is installed (apt-get install chromium)")
        return _SKIPPED
    with browser.Browser(executable) as page, Tool(arguments.tool) as tool:
        if arguments.time:
            page.size(*_SCREENS["desk"])
            print("first paint {:.0f} ms, figures and advice {:.0f} ms, all of it {:.0f} ms".format(*measure(page, arguments.time)))
            return 0
        model, path, hostile = tool.folder / "model.safetensors", tool.folder / "report.html", tool.folder / "hostile.html"
        make_model(model)
        tool.run("convert", model, "-o", tool.folder / "out.safetensors", "--to", "float8e4m3fn", "-q", "--report", path)
        names = tool.folder / "hostile.safetensors"
        write_safetensors(names, [(name, "F32", (2,), b"\0\0\x80?\0\0\0D") for name in HOSTILE_NAMES])
        tool.run("convert", names, "-o", tool.folder / "names.safetensors", "--to", "float8e4m3fn", "-q", "--report", hostile)
        if arguments.pictures:
            arguments.pictures.mkdir(parents=True, exist_ok=True)
        check_screens(page, path, arguments.pictures)
        check_table(page, path)
        check_tensor_asked_for(page, path)
        check_largest_value(page, path)
        check_heat_map(page, path)
        check_hostile(page, hostile)
        for command in (("loss", model, "--to", "bfloat16,mxfp4,float8e4m3fn"), ("diff", model, tool.folder / "out.safetensors")):
            try:
                tool.run(*command, "-q", "--force", "--report", path)
            except Exception as error:
                if "exit code 1\n" not in str(error):
                    raise
            page.open(address(path))
            page.run("document.getElementById('row-0').click()")
            assert not page.errors() and page.run(browser.WIDER) == [], (command, page.errors())
    print("the page holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
