#!/usr/bin/env python3
"""Checkpoints and files of S3 by their URLs, beside the same files here: moto's server and s3fs.

    check_s3.py --tool TOOL      (which says where the build is)

Also with faults on the way: a server that is too busy now and then, an object that is written anew while it
is read, a bucket that is not there.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import filecmp
import json
import logging
import os
import pathlib
import tempfile

import installed_wheel

# Not s3fs' own: it says that there are no others.
os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="us-east-1")
logging.getLogger("werkzeug").setLevel(logging.ERROR)


def made_checkpoint(folder, np):
    import safetensors.numpy

    rng = np.random.default_rng(0)
    shards = [{"a": rng.standard_normal((3000, 4000)).astype(np.float32)}, {"b": np.arange(5, dtype=np.float32)}]
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    (folder / "texts").mkdir(parents=True)
    for name, shard in zip(names, shards, strict=True):
        safetensors.numpy.save_file(shard, folder / name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {
        tensor: name for name, shard in zip(names, shards, strict=True) for tensor in shard}}))
    (folder / "config.json").write_text('{"torch_dtype": "float32"}')
    (folder / "texts" / "vocabulary.txt").write_text("one\ntwo\n")
    return {**shards[0], **shards[1]}


def fails(call, error, *words):
    try:
        call()
    except error as caught:
        line = str(caught)
        assert "\n" not in line and all(word in line for word in words), line
        return
    raise AssertionError(f"{error} was expected")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    installed_wheel.add_to_path(parser.parse_args().tool)
    import numpy as np
    import s3fs
    import tensorcast as tc
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    options = {"endpoint_url": "http://{}:{}".format(*server.get_host_and_port())}
    store = s3fs.S3FileSystem(**options)
    store.mkdir("bucket")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "model"
        tensors = made_checkpoint(folder, np)
        store.put(str(folder), "bucket/models/", recursive=True)

        with tc.open("s3://bucket/models/model", storage_options=options) as f:
            assert all(np.array_equal(f.raw[name], tensor) for name, tensor in tensors.items())
        made = [pathlib.Path(temporary) / name for name in ("here", "there")]
        tc.convert(folder, made[0], to="bfloat16")
        tc.convert("s3://bucket/models/model", made[1], to="bfloat16", storage_options=options)
        for path in made[0].rglob("*"):
            if path.is_file():
                assert filecmp.cmp(path, made[1] / path.relative_to(made[0]), shallow=False), path
        shard = "s3://bucket/models/model/model-00001-of-00002.safetensors"
        tc.convert(shard, made[0] / "one.npz", to="float16", storage_options=options)
        assert np.array_equal(np.load(made[0] / "one.npz")["a"], tensors["a"].astype(np.float16))
        assert tc.diff(folder, "s3://bucket/models/model", storage_options=options).equal

        # Each range fails twice, in a way that s3fs itself does not try again.
        plain, tried = s3fs.S3FileSystem._call_s3, collections.Counter()

        async def busy(self, method, *arguments, **named):
            if method == "get_object":
                tried[named["Range"]] += 1
                if tried[named["Range"]] <= 2:
                    raise OSError("SlowDown: please reduce your request rate")
            return await plain(self, method, *arguments, **named)

        s3fs.S3FileSystem._call_s3 = busy
        tc.convert(shard, made[0] / "busy.npz", to="float16", storage_options=options)
        s3fs.S3FileSystem._call_s3 = plain
        assert len(tried) > 3 and set(tried.values()) == {3}
        assert filecmp.cmp(made[0] / "busy.npz", made[0] / "one.npz", shallow=False)

        plan = tc.plan("s3://bucket/models/model", made[0] / "new", to="float16", storage_options=options)
        store.pipe("bucket/models/model/model-00002-of-00002.safetensors",
                   (folder / "model-00002-of-00002.safetensors").read_bytes()[:-1] + b"\x01")
        fails(plan.run, tc.FileError, "model-00002-of-00002.safetensors: was rewritten while it was read")
        assert not (made[0] / "new").exists()
        del plan

        for url in ("s3://bucket/none.npy", "s3://nowhere/x.npy"):
            fails(lambda url=url: tc.open(url, storage_options=options), FileNotFoundError, url, "cannot be opened")
        fails(lambda: tc.open("s3://bucket", storage_options=options), tc.UnsupportedError,
              "has no .safetensors file")
    server.stop()
    print("S3: a directory and a file converted as here; a busy server, a rewritten object, a missing bucket")


if __name__ == "__main__":
    main()
