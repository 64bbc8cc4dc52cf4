"""A server of files in memory for the tests of URLs: with ranges, and with what servers do wrong.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import http.server
import re
import threading
import time


class Files:
    """What is served, by path: "/model/config.json". A fault is asked before each answer.

    fault(method, path, range) gives None, or what to do instead: a status, "cut" (half of the body, then
    nothing), "drop" (no answer), "whole" (no range), "slow", or a function to call first.
    """

    def __init__(self):
        self.bytes = {}
        self.versions = {}
        self.fault = lambda method, path, asked: None
        self.asked = []  # (method, path, begin and end of the range, or None)
        self.headers = {}  # of the last request
        self.lock = threading.Lock()
        self.now = self.most = 0
        self.url = ""

    def put(self, path, data, version="1"):
        self.bytes[path] = data
        self.versions[path] = version


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):  # noqa: N802  (http.server's names)
        self.answer(False)

    def handle(self):
        with contextlib.suppress(ConnectionError):  # a client that has gone
            super().handle()

    def do_GET(self):  # noqa: N802
        files = self.server.files
        with files.lock:
            files.now += 1
            files.most = max(files.most, files.now)
        try:
            self.answer(True)
        finally:
            with files.lock:
                files.now -= 1

    def answer(self, has_body):
        files, path = self.server.files, self.path.split("?")[0]
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        asked = (int(found[1]), int(found[2]) + 1) if found else None
        with files.lock:
            files.asked.append((self.command, path, asked))
            files.headers = dict(self.headers)
            fault = files.fault(self.command, path, asked)
        if callable(fault):
            fault = fault()
        if fault == "drop":
            self.close_connection = True
            return
        if fault == "slow":
            time.sleep(0.05)
        if isinstance(fault, int):
            self.send(fault, b"no", has_body)
        elif path in files.bytes:
            self.send_file(files.bytes[path], files.versions[path], asked, fault, has_body)
        elif path.endswith("/") and any(name.startswith(path) for name in files.bytes):
            names = sorted({name[len(path):].partition("/")[0] + "/" * ("/" in name[len(path):])
                            for name in files.bytes if name.startswith(path)})
            links = "".join(f'<a href="{name}">{name}</a>\n' for name in ["../", "?C=N;O=D", *names])
            self.send(200, f"<html><body>{links}</body></html>".encode(), has_body, {"Content-Type": "text/html"})
        elif any(name.startswith(path + "/") for name in files.bytes):
            self.send(301, b"", has_body, {"Location": path + "/"})
        else:
            self.send(404, b"none", has_body)

    def send_file(self, data, version, asked, fault, has_body):
        headers = {"ETag": f'"{version}"'} if version else {}
        if asked is None or fault == "whole":
            return self.send(200, data, has_body, headers)
        begin, end = asked
        if begin >= len(data):
            return self.send(416, b"", has_body)
        headers["Content-Range"] = f"bytes {begin}-{min(end, len(data)) - 1}/{len(data)}"
        return self.send(206, data[begin:end], has_body, headers, fault == "cut")

    def send(self, status, body, has_body, headers=None, is_cut=False):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if has_body:
            self.wfile.write(body[:len(body) // 2] if is_cut else body)
        if is_cut:
            self.wfile.flush()
            self.close_connection = True


@contextlib.contextmanager
def served():
    """Files, on a port of their own until the end of the with."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.files = Files()
    server.files.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.files
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
