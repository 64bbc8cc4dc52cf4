"""A headless Chromium, driven by its own protocol over two pipes: it needs nothing but the browser.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

SECONDS_AT_MOST = 60

# What is wider than the screen, and not in something that scrolls or shortens it.
WIDER = """[...document.querySelectorAll('body *')].filter((e) => {
  const box = e.getBoundingClientRect();
  if (box.width === 0 || box.right <= innerWidth + 1) return false;
  for (let outer = e.parentElement; outer !== document.body; outer = outer.parentElement) {
    if (getComputedStyle(outer).overflowX !== 'visible') return false;
  }
  return true;
}).map((e) => e.tagName + '#' + e.id + '.' + e.className).slice(0, 5)"""

# The least contrast of a text with what is behind it, by WCAG's formula.
CONTRAST = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [.2126, .7152, .0722][k], 0);
  const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
  let least = [99];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length || e.closest('svg, script, select')) continue;
    const [x, y] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((a, b) => b - a);
    const ratio = (x + .05) / (y + .05);
    if (ratio < least[0]) least = [ratio, e.textContent.slice(0, 40), e.className];
  }
  return least;
})()"""


def find():
    """The path of a Chromium or Chrome, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class PageError(Exception):
    """What a script threw, or the browser refused."""


class Browser:
    """One page of a browser that can reach no network; in a with block."""

    def __init__(self, executable):
        self._profile = tempfile.TemporaryDirectory(prefix="tensorcast-browser-")
        read_by_browser, self._to = os.pipe()
        self._from, written_by_browser = os.pipe()
        # The protocol's pipes are descriptors 3 and 4. (sh's redirections take no descriptor beyond 9.)
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" 3<&{read_by_browser} 4>&{written_by_browser}', "bash", executable, "--headless",
             "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
             f"--user-data-dir={self._profile.name}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(read_by_browser, written_by_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(read_by_browser)
        os.close(written_by_browser)
        self._input = os.fdopen(self._from, "rb")
        self._number = 0
        self._buffer = b""
        self.events = []
        self._session = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            session, self._session = self._session, None
            self._call("Browser.close")
            del session
        except (OSError, PageError):
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        self._input.close()
        self._profile.cleanup()

    def _message(self):
        while b"\0" not in self._buffer:
            piece = os.read(self._from, 1 << 20)
            if not piece:
                raise PageError("the browser has ended")
            self._buffer += piece
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def _call(self, method, **parameters):
        self._number += 1
        call = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            call["sessionId"] = self._session
        data = json.dumps(call).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data):]
        while True:
            message = self._message()
            if message.get("id") == self._number:
                if "error" in message:
                    raise PageError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def size(self, width, height, scale=1, dark=False):
        """What the page is shown on."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self._call("Emulation.setEmulatedMedia",
                   features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address, ready="document.documentElement?.dataset.ready === 'true'"):
        """Loads a page and waits until the expression is true."""
        self.events.clear()
        self._call("Page.navigate", url=address)
        end = time.monotonic() + SECONDS_AT_MOST
        while not self.run(ready):
            if self.errors():
                raise PageError("\n".join(self.errors()))
            if time.monotonic() > end:
                raise PageError(f"{address}: not ready after {SECONDS_AT_MOST} s")
            time.sleep(0.02)

    def run(self, script):
        """The value of an expression, or of the promise that it is."""
        result = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise PageError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key):
        """A key, pressed and let go."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "End": 35, "Home": 36, "Tab": 9}
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code.get(key, ord(key[0])),
                       **(text if kind == "keyDown" else {}))

    def picture(self, path):
        """What is in sight, as a PNG."""
        data = self._call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def errors(self):
        """What scripts threw, and what the page's policy refused."""
        thrown = [event["params"]["exceptionDetails"] for event in self.events if event["method"] == "Runtime.exceptionThrown"]
        logged = [event["params"]["entry"]["text"] for event in self.events
                  if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"]
        return [one.get("exception", {}).get("description", one["text"]) for one in thrown] + logged

    def requests(self):
        """The addresses that were asked for."""
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
