"""Bars of progress: on a terminal, in a notebook, with tqdm and without, and where nobody looks.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pty
import re
import subprocess
import sys
import termios

import nbclient
import nbformat
import numpy as np
import pytest
import tensorcast as tc
from tensorcast import progress

EVIL = "w\x1b[2J\u202e\n<b>"

# Every line is drawn, though the work is done at once.
PROGRAM = """
import sys
if {without}: sys.modules["tqdm"] = None
import tensorcast as tc
from tensorcast import progress
progress._PERIOD = 0
{call}
print("done")
"""
CALL = "tc.convert('in.safetensors', 'out.safetensors', to='float16', overwrite=True, progress=True)"


@pytest.fixture
def folder(tmp_path):
    tc.save_file({"a": np.ones((600, 700), np.float32), EVIL: np.ones(3, np.float32)}, tmp_path / "in.safetensors")
    return tmp_path


def on_terminal(folder, call, without_tqdm):
    """What a program writes to a terminal for its errors, and what to stdout, which is none."""
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 200))
    program = PROGRAM.format(without=without_tqdm, call=call)
    # What is written fits into the terminal's buffer, so that nobody has to read it meanwhile.
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, stderr=terminal, stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "TERM": "xterm"})
    os.close(terminal)
    said = b""
    while True:
        try:
            piece = os.read(controller, 1 << 16)
        except OSError:
            break
        said += piece
        if not piece:
            break
    os.close(controller)
    return said.decode(), done.stdout


CALLS = [CALL, "tc.diff('in.safetensors', 'in.safetensors', progress=True)", "tc.load_file('in.safetensors', progress=True)",
         "tc.save_file(tc.open('in.safetensors'), 'c.safetensors', progress=True)",
         "with (plan := tc.plan('in.safetensors', 'b.safetensors', to='int8')).begin() as o: o.run(plan.units()[0], progress=True)"]


@pytest.mark.parametrize("call", CALLS)
def test_a_line_without_tqdm(folder, call):
    said, printed = on_terminal(folder, call, without_tqdm=True)
    size = "3.4 MB" if "diff" in call else "1.7 MB"  # of both sides
    assert "━" * 20 + f" 100 %  {size} of {size}" in said and re.search("[kMG]B/s", said), said
    lines = [line for line in said.split("\r") if line.strip()]
    assert all(f"of {size}" in line for line in lines) and said.endswith("\r") and "\n" not in said
    if "_file" in call or "convert" in call:
        assert r"w\x1b[2J\u202e\n<b>" in said
    assert "\x1b" not in said and "\u202e" not in said and printed == "done\n"
    assert said.split("\r")[-2].strip() == ""  # the line is free again


@pytest.mark.parametrize("call", CALLS)
def test_tqdms_bar(folder, call):
    said, printed = on_terminal(folder, call, without_tqdm=False)
    assert "100%|" in said and re.search(r"(1\.68M/1\.68|3\.36M/3\.36)M", said) and printed == "done\n", said
    title = "out.safetensors: " if call == CALL else ""
    assert title in said and "\x1b[2J" not in said


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("without_tqdm", [False, True])
def test_nothing_is_drawn_where_nobody_looks(folder, call, without_tqdm):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(without=without_tqdm, call=call)], cwd=folder, capture_output=True,
                          text=True, check=True)
    assert done.stderr == "" and done.stdout == "done\n"


def test_in_a_notebook(folder):
    first = "import sys, tensorcast as tc\nfrom tensorcast import progress\nprogress._PERIOD = 0\n"
    cells = [first + CALL + ";", "sys.modules['tqdm'] = None\nsys.modules.pop('tqdm.auto', None)\n" + CALL + ";"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    texts = ["".join(out["text"] for out in cell.outputs) for cell in book.cells]
    assert {out["name"] for cell in book.cells for out in cell.outputs} == {"stdout"}, book.cells
    assert "100%|" in texts[0] and "out.safetensors" in texts[0]
    assert "━" * 20 + " 100 %" in texts[1] and texts[1].endswith("\n") and r"\x1b[2J" in texts[1]


def test_what_is_raised_ends_the_bar(folder, monkeypatch):
    closed = []
    bar = type("Bar", (), {"show": lambda *_: 1 / 0, "close": lambda self: closed.append(True)})()
    monkeypatch.setattr(progress, "_own_bar", lambda title: bar)
    with pytest.raises(ZeroDivisionError):
        tc.convert(folder / "in.safetensors", folder / "out.safetensors", to="float16", progress=True)
    assert closed == [True] and not (folder / "out.safetensors").exists()
    (folder / "out.safetensors").touch()
    with pytest.raises(tc.ArgumentError, match="exists"):
        tc.convert(folder / "in.safetensors", folder / "out.safetensors", to="float16", progress=True)
    assert closed == [True, True]


@pytest.mark.parametrize("given", ["yes", 5, object()])
def test_what_is_no_progress(folder, given):
    for call in (tc.convert, tc.diff):
        more = {"to": "float16"} if call is tc.convert else {}
        with pytest.raises(tc.ArgumentError, match="progress must be True, a callable, or a bar that has total and update"):
            call(folder / "in.safetensors", folder / "in.safetensors", progress=given, **more)


def test_the_figures_of_a_line():
    line = progress._line(1_500_000_000, 3_000_000_000, 2.0, "x" * 100)
    assert line.startswith("━" * 10 + "┄" * 10 + "  50 %  1.5 GB of 3.0 GB  750.0 MB/s  0:02 left  …xxx") and len(line) < 140
    assert progress._line(0, 10**13, 0.0, "w") == "┄" * 20 + "   0 %  0 B of 10.0 TB  w"
    assert "2:46:40 left" in progress._line(1000, 10_001_000, 1.0, "w")
    assert progress._line(0, 0, 1.0, "") == "━" * 20 + " 100 %  0 B of 0 B  "
