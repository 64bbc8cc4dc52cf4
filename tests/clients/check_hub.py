#!/usr/bin/env python3
"""A model of the Hub by its URL, hf://, beside the same files here: huggingface_hub and a stand-in of its server.

    check_hub.py --tool TOOL      (which says where the build is)

Also a file that gets another blob while it is read, a revision by name, and what is not there.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import filecmp
import hashlib
import http.server
import json
import os
import pathlib
import re
import tempfile
import threading
import urllib.parse

import installed_wheel

REPOSITORY = "org/model"
COMMIT = "a" * 40


class Hub(http.server.BaseHTTPRequestHandler):
    """What huggingface_hub asks for: the repository, a folder's listing, ranges of files."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):  # noqa: N802  (http.server's name)
        path = urllib.parse.unquote(self.path.split("?")[0])
        files = self.server.files
        if re.fullmatch(rf"/api/models/{REPOSITORY}(/revision/(main|{COMMIT}))?", path):
            return self.send_json({"_id": "1", "id": REPOSITORY, "modelId": REPOSITORY, "sha": COMMIT, "private": False,
                                   "tags": [], "downloads": 0, "likes": 0, "siblings": []})
        if found := re.fullmatch(rf"/api/models/{REPOSITORY}/tree/(main|{COMMIT})(?:/(.*))?", path):
            folder = f"{found[2]}/" if found[2] else ""
            names = {name[len(folder):].partition("/")[::2] for name in files if name.startswith(folder)}
            if names:
                return self.send_json([self.entry(folder + name) for name, rest in names if not rest] + [
                    {"type": "directory", "path": folder + name, "oid": "d" * 40, "size": 0}
                    for name in {name for name, rest in names if rest}])
        found = re.fullmatch(rf"/{REPOSITORY}/resolve/(main|{COMMIT})/(.*)", path)
        if found and found[2] in files:
            data = files[found[2]]
            begin, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
            return self.send(206, data[begin:last + 1], {"Content-Range": f"bytes {begin}-{last}/{len(data)}"})
        kind = "EntryNotFound" if REPOSITORY in path else "RepoNotFound"
        return self.send(404, b'{"error": "not found"}', {"X-Error-Code": kind})

    def entry(self, name):
        data = self.server.files[name]
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    def send_json(self, value):
        self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def send(self, status, body, headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    installed_wheel.add_to_path(parser.parse_args().tool)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever).start()
    # huggingface_hub reads these when it is imported.
    os.environ.update(HF_ENDPOINT=f"http://127.0.0.1:{server.server_address[1]}", HF_HUB_DISABLE_TELEMETRY="1",
                      HF_HUB_DISABLE_XET="1")
    try:
        check(server)
    finally:
        server.shutdown()
        server.server_close()
    print("the Hub: a repository and a file converted as here, at a revision too; a new blob, missing names")


def check(server):
    import numpy as np
    import safetensors.numpy
    import tensorcast as tc

    tensors = {"a": np.random.default_rng(0).standard_normal((3000, 4000)).astype(np.float32),
               "b": np.arange(5, dtype=np.float32)}
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    server.files = {name: safetensors.numpy.save({tensor: tensors[tensor]})
                    for name, tensor in zip(names, tensors, strict=True)}
    server.files["model.safetensors.index.json"] = json.dumps(
        {"metadata": {}, "weight_map": dict(zip(tensors, names, strict=True))}).encode()
    server.files["config.json"] = b'{"torch_dtype": "float32"}'
    server.files["texts/vocabulary.txt"] = b"one\ntwo\n"
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        for name, data in server.files.items():
            (root / "model" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "model" / name).write_bytes(data)
        tc.convert(root / "model", root / "here", to="bfloat16")
        for i, url in enumerate((f"hf://{REPOSITORY}", f"hf://{REPOSITORY}@{COMMIT}")):
            with tc.open(url) as f:
                assert all(np.array_equal(f.raw[name], tensor) for name, tensor in tensors.items())
            tc.convert(url, root / f"there{i}", to="bfloat16")
            for path in (root / "here").rglob("*"):
                if path.is_file():
                    assert filecmp.cmp(path, root / f"there{i}" / path.relative_to(root / "here"), shallow=False), path
            assert tc.diff(root / "model", url).equal
        with tc.open(f"hf://{REPOSITORY}/{names[1]}") as f:
            assert list(f) == ["b"] and np.array_equal(f["b"], tensors["b"])

        plan = tc.plan(f"hf://{REPOSITORY}", root / "new", to="float16")
        server.files[names[1]] = safetensors.numpy.save({"b": tensors["b"][::-1].copy()})
        try:
            plan.run()
        except tc.FileError as error:
            assert f"{names[1]}: was rewritten while it was read" in str(error), error
        else:
            raise AssertionError("another blob was taken for the one that was opened")
        assert not (root / "new").exists()
        for url in (f"hf://{REPOSITORY}/none.npy", "hf://org/none"):
            try:
                tc.open(url)
            except FileNotFoundError as error:
                assert isinstance(error, tc.FileError) and url in str(error), error
            else:
                raise AssertionError(f"{url} was opened")


if __name__ == "__main__":
    main()
