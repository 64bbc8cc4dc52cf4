"""Inputs by URL: the same tensors as of the same files here, beside numpy and safetensors; what servers do
wrong is tried again, then told in one line.

SPDX-License-Identifier: Apache-2.0
"""
import filecmp
import gc
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import fsspec
import ml_dtypes
import numpy as np
import onnx
import pytest
import range_server
import safetensors.numpy
import tensorcast as tc
from tensorcast import sources

BIN = pathlib.Path(__file__).parents[1] / "cli" / "bin"
MIB = 1 << 20


@pytest.fixture(name="memory")
def _memory():
    """fsspec's files in memory; nothing of the library's stays lent."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    gc.collect()
    assert not sources._mounted


@pytest.fixture(name="server")
def _server():
    with range_server.served() as files:
        yield files
    # fsspec keeps a file system of each server that was asked, with its connections and the threads at their ends.
    fsspec.get_filesystem_class("http").clear_instance_cache()
    gc.collect()
    assert not sources._mounted


def upload(memory, folder):
    for path in folder.rglob("*"):
        if path.is_file():
            memory.pipe(f"/{path.relative_to(folder.parent)}", path.read_bytes())


def same_files(left, right):
    names = sorted(path.relative_to(left) for path in left.rglob("*"))
    assert names == sorted(path.relative_to(right) for path in right.rglob("*"))
    return all(filecmp.cmp(left / name, right / name, shallow=False) for name in names if (left / name).is_file())


def random_tensors(seed=0):
    rng = np.random.default_rng(seed)
    return {"w": rng.standard_normal((300, 700)).astype(np.float32) * 100, "norm": np.ones(8, np.float32),
            "ids": np.arange(5), "h": rng.standard_normal(1000).astype(ml_dtypes.bfloat16)}


def write_npy(path, tensors):
    np.save(path, tensors["w"])


def write_fortran(path, tensors):
    np.save(path, np.asfortranarray(tensors["w"]))


def write_npz(path, tensors):
    np.savez(path, **{name: tensors[name] for name in ("w", "norm", "ids")})


def write_deflated(path, tensors):
    np.savez_compressed(path, **{name: tensors[name] for name in ("w", "norm", "ids")})


def write_pb(path, tensors):
    onnx.save_tensor(onnx.numpy_helper.from_array(tensors["w"], "w"), path)


def write_onnx(path, tensors):
    weights = [onnx.numpy_helper.from_array(tensors[name], name) for name in ("w", "norm")]
    graph = onnx.helper.make_graph([], "g", [], [], weights)
    onnx.save(onnx.helper.make_model(graph), path, save_as_external_data=True, location="w.data", size_threshold=0)


def write_torch(path, tensors, *options):
    values = tensors["w"][:20, :30]
    text = f'{{"w": tensor("float32", {values.ravel().tolist()}, {values.shape})}}'
    subprocess.run([sys.executable, BIN / "make_torch_file.py", *options, path], input=text, text=True, check=True)


def write_legacy(path, tensors):
    write_torch(path, tensors, "--legacy")


def write_gguf(path, tensors):
    blocks = np.float16(0.5).tobytes() + np.arange(-16, 16, dtype=np.int8).tobytes()
    subprocess.run([sys.executable, BIN / "make_gguf.py", path], text=True, check=True, input=(
        "key general.architecture string llama\n"
        f"tensor w Q8_0 1x32 {blocks.hex()}\ntensor norm F32 3 0.1 2 3\n"))


@pytest.mark.parametrize(("name", "write"), [
    ("x.safetensors", lambda path, tensors: safetensors.numpy.save_file(tensors, path)),
    ("x.npy", write_npy), ("f.npy", write_fortran), ("x.npz", write_npz), ("d.npz", write_deflated),
    ("x.pb", write_pb), ("x.onnx", write_onnx), ("x.pt", write_torch), ("x.bin", write_legacy),
    ("x.gguf", write_gguf),
])
def test_every_format(tmp_path, memory, name, write):
    """What is read and written of a URL is what is read and written of the same file."""
    folder = tmp_path / "in"
    folder.mkdir()
    tensors = random_tensors()
    write(folder / name, tensors)
    upload(memory, folder)
    with tc.open(folder / name) as here, tc.open(f"memory://in/{name}") as there:
        assert there.infos() == here.infos() and len(there) > 0
        assert there.metadata == here.metadata and there.scaled.keys() == here.scaled.keys()
        for tensor in here:
            assert there[tensor].tobytes() == here[tensor].tobytes()
            if name not in ("x.gguf", "x.pt", "x.bin"):
                of_numpy = tensors["w" if len(here) == 1 else tensor]
                assert there[tensor].dtype == of_numpy.dtype and np.array_equal(there[tensor], of_numpy)
            if here.info(tensor).type != "int64":
                assert there.get(tensor, to="float16").tobytes() == here.get(tensor, to="float16").tobytes()
    ending = {".npy": ".npy", ".pb": ".pb", ".onnx": ".onnx"}.get(pathlib.Path(name).suffix, ".safetensors")
    outputs = [tmp_path / place / f"y{ending}" for place in ("here", "there")]
    for output in outputs:
        output.parent.mkdir()
    losses = [tc.convert(source, output, to="bfloat16") if ending != ".npy" else
              tc.convert(source, output, to="float16")
              for source, output in zip((folder / name, f"memory://in/{name}"), outputs, strict=True)]
    assert losses[0] == losses[1] and losses[0]
    assert same_files(outputs[0].parent, outputs[1].parent)
    assert tc.diff(folder / name, f"memory://in/{name}").equal


@pytest.fixture(name="checkpoint")
def _checkpoint(tmp_path):
    """A directory of two shards with their index, float8 with scales in one of them, and other files."""
    folder = tmp_path / "model"
    (folder / "texts").mkdir(parents=True)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 0x70, (256, 128)).astype(np.uint8).view(ml_dtypes.float8_e4m3fn)
    shards = [{"a": rng.standard_normal((3000, 2000)).astype(np.float32)},
              {"model.layers.0.q_proj.weight": codes,
               "model.layers.0.q_proj.weight_scale_inv": np.float32([[0.5], [0.25]]), "b": np.ones(3, np.float32)}]
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    for name, shard in zip(names, shards, strict=True):
        safetensors.numpy.save_file(shard, folder / name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {
        tensor: name for name, shard in zip(names, shards, strict=True) for tensor in shard}}))
    (folder / "config.json").write_text(json.dumps({
        "torch_dtype": "float32", "quantization_config": {
            "quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}}))
    (folder / "texts" / "vocabulary.txt").write_text("one\ntwo\n")
    return folder, shards


def serve(server, folder, at="/models"):
    for path in folder.rglob("*"):
        if path.is_file():
            server.put(f"{at}/{folder.name}/{path.relative_to(folder)}", path.read_bytes())


@pytest.mark.parametrize("threads", [1, 4])
def test_directories(tmp_path, memory, server, checkpoint, threads):
    folder, shards = checkpoint
    upload(memory, folder)
    serve(server, folder)
    tc.convert(folder, tmp_path / "here", to="bfloat16", threads=threads)
    for url in ("memory://model", "memory://model/", f"{server.url}/models/model/", f"{server.url}/models/model"):
        shutil.rmtree(tmp_path / "there", ignore_errors=True)
        tc.convert(url, tmp_path / "there", to="bfloat16", threads=threads)
        assert same_files(tmp_path / "here", tmp_path / "there"), url
        with tc.open(url) as f:
            assert list(f.scaled) == ["model.layers.0.q_proj.weight"]
            assert np.array_equal(f["a"], shards[0]["a"])
            codes = shards[1]["model.layers.0.q_proj.weight"].astype(np.float32)
            codes[:128] *= 0.5
            codes[128:] *= 0.25
            assert np.array_equal(f.get("model.layers.0.q_proj.weight", to="float32"), codes)
        assert tc.diff(folder, url, threads=threads).equal
    # A shard alone finds what stands beside it.
    with tc.open(f"{server.url}/models/model/model-00002-of-00002.safetensors") as f:
        assert list(f.scaled) == ["model.layers.0.q_proj.weight"]


def test_plans(tmp_path, memory, checkpoint):
    folder, _ = checkpoint
    upload(memory, folder)
    plan = tc.plan("memory://model", tmp_path / "out", to="bfloat16")
    assert plan.inputs == ["memory://model"]
    again = tc.Plan.from_json(plan.to_json(), storage_options={})
    assert again.jobs == plan.jobs
    del plan
    gc.collect()
    assert "a" in again.run()
    found = tc.diff(folder, tmp_path / "out")
    assert [one.name for one in found.differing] == ["a"] and found["a"].kind == "values"


def test_runs_are_resumed(tmp_path, memory, checkpoint):
    folder, _ = checkpoint
    upload(memory, folder)
    tc.convert(folder, tmp_path / "here", to="bfloat16")

    def stop(done, total, name):
        raise RuntimeError("stop")

    def convert(**options):
        return tc.convert("memory://model", tmp_path / "out", to="bfloat16", resume=True, **options)

    with pytest.raises(RuntimeError, match="^stop$"):
        convert(progress=stop)
    convert()
    assert same_files(tmp_path / "here", tmp_path / "out") and not (tmp_path / "out.partial").exists()
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(RuntimeError, match="^stop$"):
        convert(progress=stop)
    upload(memory, folder)  # the same bytes, but other objects
    with pytest.raises(tc.FileError, match=r"^memory://model/.* has changed since the run in .* began \(its version\)"):
        convert()


def test_headers_alone(server):
    """What is listed takes some kilobytes, whatever the file's size; a tensor takes what it has."""
    tensors = {f"t{i}": np.full(2 * MIB, i, np.float32) for i in range(5)}
    server.put("/x.safetensors", safetensors.numpy.save(tensors))
    url = f"{server.url}/x.safetensors"
    assert [info.name for info in tc.inspect(url)] == list(tensors)
    assert sum(asked[1] - asked[0] for _, _, asked in server.asked if asked) <= 64 << 10
    server.asked.clear()
    with tc.open(url) as f:
        assert np.array_equal(f["t4"], tensors["t4"])  # the last
    assert sum(asked[1] - asked[0] for _, _, asked in server.asked if asked) < 9 * MIB


def test_several_at_once(server, tmp_path):
    """Ranges are large, are read ahead, and none is read twice."""
    data = np.random.default_rng(0).standard_normal(16 * MIB).astype(np.float32)
    file = safetensors.numpy.save({"w": data})
    server.put("/x.safetensors", file)
    server.fault = lambda method, path, asked: "slow" if asked else None
    tc.convert(f"{server.url}/x.safetensors", tmp_path / "x.safetensors", to="float16", threads=1)
    got = safetensors.numpy.load_file(tmp_path / "x.safetensors")["w"]
    assert np.array_equal(got, data.astype(np.float16))
    ranges = sorted(asked for _, _, asked in server.asked if asked)
    assert ranges[0][0] == 0 and ranges[-1][1] == len(file)
    assert all(one[1] == other[0] for one, other in zip(ranges, ranges[1:], strict=False))
    assert max(end - begin for begin, end in ranges) == 8 * MIB and 3 <= server.most <= 5


def some_file(server, path="/d/x.safetensors", elements=MIB):
    data = np.random.default_rng(5).standard_normal(elements).astype(np.float32)
    server.put(path, safetensors.numpy.save({"w": data}))
    return server.url + path, data


@pytest.fixture(name="soon")
def _soon(monkeypatch):
    """What fails is tried again soon."""
    monkeypatch.setattr(sources, "_FIRST_PAUSE_MS", 5)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("fault", [500, 503, 429, "cut", "drop"])
def test_what_passes_is_tried_again(server, tmp_path, fault):
    url, data = some_file(server, elements=5 * MIB)
    failed = {}

    def fails_twice(method, path, asked):
        failed[method, path, asked] = failed.get((method, path, asked), 0) + 1
        return fault if failed[method, path, asked] <= 2 else None

    server.fault = fails_twice
    tc.convert(url, tmp_path / "x.safetensors", to="float64", loss=False)
    got = safetensors.numpy.load_file(tmp_path / "x.safetensors")["w"]
    assert np.array_equal(got, data.astype(np.float64))
    assert max(failed.values()) >= 3


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(("fault", "why"), [(500, "500, message='Internal Server Error'"), ("drop", "Server disconnected"),
                                            ("cut", "not enough data|payload")])
def test_what_stays_is_told(server, tmp_path, fault, why):
    url, _ = some_file(server, elements=5 * MIB)
    server.fault = lambda method, path, asked: fault if asked and asked[0] > 0 else None
    with pytest.raises(tc.FileError) as caught:
        tc.convert(url, tmp_path / "x.safetensors", to="float16")
    line = str(caught.value)
    assert "\n" not in line
    assert re.match(rf"{re.escape(url)}: bytes \d+ to \d+ cannot be read, tried 5 times: ", line)
    assert re.search(why, line, re.IGNORECASE), line
    assert list(tmp_path.iterdir()) == []  # nothing is left
    begins = [asked[0] for method, _, asked in server.asked if asked]
    if fault != "drop":  # which aiohttp tries again itself
        assert max(begins.count(begin) for begin in begins) == 5


def test_servers_without_ranges(server, tmp_path):
    url, _ = some_file(server)
    server.fault = lambda method, path, asked: "whole"
    with pytest.raises(tc.FileError, match=r"bytes \d+ to \d+ cannot be read: the server gives no parts of files "
                                           r"\(ranges\); download it first$"):
        tc.convert(url, tmp_path / "x.safetensors", to="float16")
    # Of a small one the first range is all.
    server.put("/s.safetensors", safetensors.numpy.save({"w": np.arange(100)}))
    with tc.open(f"{server.url}/s.safetensors") as f:
        assert np.array_equal(f["w"], np.arange(100))


@pytest.mark.parametrize("how", ["version", "size", "gone"])
def test_rewritten_meanwhile(server, tmp_path, how):
    url, _ = some_file(server, elements=5 * MIB)
    data = server.bytes["/d/x.safetensors"]

    def rewrites(method, path, asked):
        if asked and asked[0] > MIB:
            if how == "version":
                server.put("/d/x.safetensors", data, "2")
            elif how == "size":
                server.put("/d/x.safetensors", data + b"x")
            else:
                return lambda: server.bytes.pop("/d/x.safetensors", None) and None
        return None

    server.fault = rewrites
    with pytest.raises(tc.FileError, match="was rewritten while it was read" if how != "gone" else "404"):
        tc.convert(url, tmp_path / "x.safetensors", to="float16")
    assert list(tmp_path.iterdir()) == []


def test_refused_and_missing(server, memory):
    url, _ = some_file(server)
    with pytest.raises(FileNotFoundError, match=r"/d/none.npy: cannot be opened: No such file or directory$") as caught:
        tc.open(f"{server.url}/d/none.npy")
    assert isinstance(caught.value, tc.FileError) and caught.value.filename == f"{server.url}/d/none.npy"
    with pytest.raises(FileNotFoundError):
        tc.open("memory://d/none.npy")
    server.fault = lambda method, path, asked: 403 if path.endswith(".safetensors") else None
    with pytest.raises(PermissionError, match=r"cannot be accessed: 403, message='Forbidden'"):
        tc.open(url)
    # Stores whose files are not listed say so of what is missing beside a file.
    server.fault = lambda method, path, asked: 403 if path.endswith(".json") else None
    with tc.open(url) as f:
        assert f.scaled == {} and f.notes == []
    memory.pipe("/x.safetensors", b"{}{}{}{}{}{}")
    with pytest.raises(tc.ContentsError, match=r"^memory://x.safetensors: "):
        tc.open("memory://x.safetensors")
    memory.pipe("/empty/readme.txt", b"x")
    with pytest.raises(tc.UnsupportedError, match=r"^memory://empty: has no .safetensors file"):
        tc.open("memory://empty")


def test_names_from_elsewhere(memory, tmp_path):
    """An index, and a model, that name what is not below them."""
    memory.pipe("/m/model.safetensors.index.json", json.dumps({"weight_map": {"a": "../x.safetensors"}}).encode())
    memory.pipe("/m/model.safetensors", safetensors.numpy.save({"a": np.ones(1)}))
    memory.pipe("/x.safetensors", safetensors.numpy.save({"a": np.ones(1)}))
    with pytest.raises(tc.ContentsError, match=r"\.\./x\.safetensors"):
        tc.open("memory://m")
    weight = onnx.numpy_helper.from_array(np.ones(4, np.float32), "w")
    onnx.external_data_helper.set_external_data(weight, "../x.safetensors")
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], [weight]))
    memory.pipe("/n/x.onnx", model.SerializeToString())
    with pytest.raises(tc.ContentsError, match=r"\.\."):
        tc.convert("memory://n/x.onnx", tmp_path / "x.safetensors", to="float16")


def test_arguments(memory, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    memory.pipe("/x.npy", (tmp_path / "x.npy").read_bytes())
    for arguments, error, line in (
        (("nope://x",), tc.ArgumentError, r"^nope://x: fsspec cannot open it: Protocol not known: nope$"),
        (("s3://bucket/x",), tc.ArgumentError, r"^s3://bucket/x: s3:// is read through another package: pip install 's3fs'$"),
        (("simplecache::memory://x.npy",), tc.ArgumentError, r"chained URLs \(::\) are not read"),
        ((tmp_path / "x.npy", {"anon": True}), tc.ArgumentError, r"^storage_options are for URLs, and no input is one$"),
        (("memory://x.npy", 5), tc.KindError, r"^storage_options must be a mapping, not int$"),
        (("memory://x.npy", {5: 5}), tc.KindError, r"^each name of storage_options must be a str, not int$"),
    ):
        with pytest.raises(error, match=line):
            tc.open(arguments[0], storage_options=arguments[1] if len(arguments) > 1 else None)
    for call in (tc.convert, tc.plan):
        with pytest.raises(tc.ArgumentError, match=r"^dst is memory://y.npy: outputs are files of this machine"):
            call("memory://x.npy", "memory://y.npy", to="float16")
    # One file system for each place at a time.
    with tc.open("memory://x.npy", storage_options={"who": "one"}):
        with tc.open("memory://x.npy", storage_options={"who": "one"}) as f:
            assert np.array_equal(f["x"], np.ones(3))
        with pytest.raises(tc.ArgumentError, match=r"^memory:// is being read with other storage_options: close"):
            tc.open("memory://x.npy", storage_options={"who": "two"})
    with tc.open("memory://x.npy", storage_options={"who": "two"}) as f:
        assert np.array_equal(f["x"], np.ones(3))


def test_storage_options_arrive(server):
    url, data = some_file(server)
    with tc.open(url, storage_options={"headers": {"X-Who": "me"}}) as f:
        assert np.array_equal(f["w"], data)
        assert server.headers["X-Who"] == "me"
    with pytest.raises(tc.FileError, match="cannot be accessed: .*unexpected keyword argument 'nonsense'$"):
        tc.open(url, storage_options={"nonsense": 1})


def test_a_daemon_thread_at_the_interpreters_end(tmp_path):
    """It asks a file system of Python's when the GIL is not to be had any more; what it was told before that, that the
    file system is closed, it may print."""
    program = textwrap.dedent("""
        import threading, time
        import fsspec, numpy as np, tensorcast as tc
        np.save("x.npy", np.ones(1 << 18, np.float32))
        fsspec.filesystem("memory").pipe("/x.npy", open("x.npy", "rb").read())
        def work():
            while True:
                tc.load_file("memory://x.npy", "float16")
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
    """)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "Fatal" not in done.stderr and "nanobind" not in done.stderr, done.stderr


def test_fsspec_is_asked_for_only_then():
    """Importing the package, and reading files of this machine, imports no fsspec; without it one line says so."""
    code = ("import sys, tempfile, pathlib, numpy as np, tensorcast as tc\n"
            "path = pathlib.Path(tempfile.mkdtemp()) / 'x.npy'\n"
            "np.save(path, np.ones(3))\n"
            "tc.convert(path, path.with_name('y.npy'), to='float32')\n"
            "assert 'fsspec' not in sys.modules\n"
            "sys.modules['fsspec'] = None\n"
            "for url in ('s3://b/x', 'https://h/x.npy', 'memory://x'):\n"
            "    try:\n"
            "        tc.open(url)\n"
            "    except tc.ArgumentError as error:\n"
            "        print(error)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "s3://b/x: URLs are read through fsspec: pip install 's3fs'",
        "https://h/x.npy: URLs are read through fsspec: pip install 'fsspec[http]'",
        "memory://x: URLs are read through fsspec: pip install 'fsspec'"]


def test_threads_share_a_file(server):
    url, data = some_file(server, elements=4 * MIB)
    with tc.open(url) as f:
        got = [None] * 6

        def read(i):
            got[i] = f.get("w", to="float64")

        threads = [threading.Thread(target=read, args=(i,)) for i in range(len(got))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(np.array_equal(one, data.astype(np.float64)) for one in got)


def test_interrupted(server, tmp_path):
    """Ctrl-C ends a conversion whose server has become silent for a while."""
    url, _ = some_file(server, elements=16 * MIB)
    server.fault = lambda method, path, asked: (lambda: time.sleep(0.5)) if asked else None
    code = ("import sys, tensorcast as tc\n"
            "print('begun', flush=True)\n"
            f"tc.convert({url!r}, {str(tmp_path / 'x.npz')!r}, to='float16')\n")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        process.stdout.readline()
        time.sleep(0.8)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in said and process.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_left_open_at_the_end(server):
    """A process ends well whatever is open, and being read ahead."""
    server.put("/x.safetensors", safetensors.numpy.save({
        name: np.zeros(elements, np.float32) for name, elements in (("a", 4 * MIB), ("b", 16 * MIB))}))
    server.fault = lambda method, path, asked: (lambda: time.sleep(0.2)) if asked and asked[0] > 16 * MIB else None
    code = ("import tensorcast as tc\n"
            f"f = tc.open({server.url + '/x.safetensors'!r})\n"
            "assert f.get('a', to='float16').sum() == 0\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert any(asked[0] > 16 * MIB for _, _, asked in server.asked if asked)  # of what was not asked for


def test_opened_and_closed_at_once(memory):
    """Threads that open and close what is of one place, each whenever it comes to it."""
    memory.pipe("/d/x.safetensors", safetensors.numpy.save({"w": np.arange(1000)}))
    wrong = []

    def opens():
        for _ in range(100):
            try:
                with tc.open("memory://d/x.safetensors") as f:
                    assert f["w"].sum() == 499500
            except BaseException as error:  # which a thread would keep for itself
                wrong.append(error)

    threads = [threading.Thread(target=opens) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_forked(server):
    """A child opens again what its parent has open, and ends; the parent's goes on."""
    url, data = some_file(server, elements=6 * MIB)
    code = ("import os, sys, warnings, numpy as np, tensorcast as tc\n"
            "warnings.simplefilter('ignore', DeprecationWarning)  # of threads and fork\n"
            f"f = tc.open({url!r})\n"
            "want = f['w'].sum()\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            f"    with tc.open({url!r}) as again:\n"
            "        assert again['w'].sum() == want\n"
            "    sys.exit(0)\n"
            "assert os.waitpid(child, 0)[1] == 0 and f['w'].sum() == want\n"
            "print(want)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert np.float32(done.stdout) == data.sum()
