"""Files as mappings: `open`, `load_file` and `save_file` beside numpy, safetensors and onnx.

SPDX-License-Identifier: Apache-2.0
"""
import collections.abc
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import onnx
import pytest
import safetensors
import safetensors.numpy
import tensorcast as tc

BFLOAT16 = ml_dtypes.bfloat16


def bits(array):
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).tobytes()


def same(got, want):
    """Whether two dicts of arrays are the same to the bit."""
    return list(got) == list(want) and all(
        got[name].dtype == array.dtype and got[name].shape == array.shape and bits(got[name]) == bits(array)
        for name, array in want.items())


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(28)
    tensors = {"l.0.w": rng.standard_normal((300, 700)).astype(np.float32), "l.1.w": rng.standard_normal((4, 5, 6)),
               "l.0.norm": np.ones(8, np.float16), "ids": np.arange(5), "mask": np.array([True, False]),
               "scalar": np.array(2.5, np.float32), "none": np.zeros((0, 3), np.float32)}
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file(tensors, path, {"by": "a test"})
    return path, safetensors.numpy.load_file(path)  # in the file's order


def test_it_is_a_mapping(model):
    path, tensors = model
    with tc.open(path) as f:
        assert isinstance(f, collections.abc.Mapping) and isinstance(f.raw, collections.abc.Mapping)
        tensors = {name: tensors[name] for name in f}
        assert same(dict(f), tensors) and same(dict(f.items()), tensors) and same(dict(f.raw), tensors)
        assert f.keys() == tensors.keys() and f.keys() & {"ids", "x"} == {"ids"} and len(f) == len(tensors)
        assert sum(array.size for array in f.values()) == sum(array.size for array in tensors.values())
        assert f.get("x") is None and f.get("x", 3) == 3 and "x" not in f and 1 not in f
        assert f == f and f != f.raw and len({f, f.raw}) == 2 and not f.scaled
        with pytest.raises(tc.KindError, match="get has no option 'too'"):
            f.get("x", too="int8")


def test_a_file_is_loaded(model):
    path, tensors = model
    everything = tc.load_file(path)
    assert everything.keys() == tensors.keys()
    assert same({name: everything[name] for name in tensors}, tensors)
    small = tc.load_file(path, "bfloat16")
    for name, array in tensors.items():
        want = array.astype(np.float32).astype(BFLOAT16) if name != "l.1.w" and array.dtype.kind == "f" else array
        if name == "l.1.w":  # numpy rounds float64 to bfloat16 by way of float32
            want = tc.cast(array, "bfloat16")
        assert small[name].dtype == want.dtype and bits(small[name]) == bits(want), name
    every = tc.load_file(path, np.float64, all_types=True, select=["ids", "mask", "*.w"], exclude="l.1*")
    assert set(every) == {"ids", "mask", "l.0.w"} and {array.dtype.name for array in every.values()} == {"float64"}
    assert every["ids"].tolist() == [0, 1, 2, 3, 4] and every["mask"].tolist() == [1, 0]
    assert set(tc.load_file(path, select="dtype:float16")) == {"l.0.norm"}
    assert tc.load_file(path, "float8_e4m3fn", select="l.0.norm", saturate=False, threads=2)["l.0.norm"].dtype == ml_dtypes.float8_e4m3fn


@pytest.mark.parametrize(("arguments", "error", "line"), [
    ({"select": "x.*"}, tc.ArgumentError, "select: 'x.*' matches no tensor of 7"),
    ({"exclude": ["ids", "x"]}, tc.ArgumentError, "exclude: 'x' matches no tensor"),
    ({"framework": "tf"}, tc.ArgumentError, "framework is 'tf': give 'np', 'pt' or 'jax'"),
    ({"framework": None}, tc.ArgumentError, "framework is None"),
    ({"device": "cuda"}, tc.ArgumentError, "numpy's arrays have none"),
    ({"framework": "pt"}, tc.ArgumentError, "needs torch, which cannot be imported .*pip install torch"),
    ({"framwork": "pt"}, tc.KindError, "load_file has no option 'framwork': the nearest is framework"),
    ({"to": "nvfp4"}, tc.ArgumentError, "nvfp4"), ({"threads": "x"}, tc.KindError, "threads"),
    ({"select": [1]}, tc.KindError, "each of select"), ({"all_types": 1}, tc.KindError, "all_types")])
def test_what_is_refused(model, arguments, error, line):
    with pytest.raises(error, match=line) as caught:
        tc.load_file(model[0], **arguments)
    assert "\n" not in str(caught.value)


def test_a_callers_own_memory(model):
    path, tensors = model
    w = tensors["l.0.w"]
    with tc.open(path) as f:
        for made in (np.empty(w.shape, np.float32), np.empty(w.shape, BFLOAT16), np.empty(w.shape, ">f8"),
                     np.empty(w.shape, np.float16, order="F"), np.empty((600, 700), np.float32)[::2]):
            assert f.get_tensor("l.0.w", out=made) is made
            assert np.array_equal(made, w.astype(made.dtype))
        stream = np.empty(w.size // 2, np.uint8)
        assert f.get("l.0.w", to="int4", packed=True, out=stream) is stream
        assert np.array_equal(stream, tc.cast(w, "int4", packed=True))
        result, report = f.get("l.0.w", out=np.empty(w.shape, ml_dtypes.float8_e5m2), loss=True)
        assert report == tc.loss(w, "float8_e5m2") and bits(result) == bits(tc.cast(w, "float8_e5m2"))
        assert f.get("l.0.w", like=np.zeros(1, np.int8)).dtype == np.int8
        assert f.get("l.0.norm", out=np.empty(8, object)).tolist() == ["1.0"] * 8
        fixed = np.empty(w.shape, np.float32)
        fixed.flags.writeable = False
        for options, line in (({"out": np.empty((3, 2), np.float32)}, "out has shape"), ({"out": fixed}, "read-only"),
                              ({"out": np.empty(w.shape), "to": "int8"}, "out holds float64, and to says int8"),
                              ({"out": np.empty(w.shape), "like": w}, "give one"), ({"out": [1]}, "numpy, torch or JAX")):
            with pytest.raises(tc.Error, match=line):
                f.get_tensor("l.0.w", **options)


def random_index(rng, shape):
    """One that numpy takes: integers, slices of every kind, dots."""
    index = []
    for size in shape:
        kind = rng.integers(4)
        if kind == 0 and size:
            index.append(int(rng.integers(-size, size)))
        elif kind == 1:
            index.append(slice(None))
        else:
            ends = [None if rng.integers(4) == 0 else int(rng.integers(-size - 2, size + 3)) for _ in "ab"]
            index.append(slice(*ends, int(rng.choice([-3, -1, 1, 1, 2]))))
    if rng.integers(3) == 0:
        index = index[:rng.integers(len(index) + 1)]
        if rng.integers(2):
            index.append(...)
    return tuple(index)


def test_parts(tmp_path):
    rng = np.random.default_rng(29)
    tensors = {"a": rng.standard_normal((7, 11, 5)).astype(np.float32), "b": rng.standard_normal((1, 3, 1)),
               "packed": rng.integers(-8, 8, (9, 3, 5)).astype(ml_dtypes.int4), "line": np.arange(3001),
               "rows": rng.standard_normal((13, 20_000)).astype(np.float16), "none": np.zeros((0, 3), np.float32),
               "wide": rng.integers(0, 255, (3, 5, (1 << 18) + 3), np.uint8), "scalar": np.float64([2.5])[0]}
    path = tmp_path / "x.safetensors"
    tc.save_file(tensors, path)
    with tc.open(path) as f:
        for name, array in tensors.items():
            part = f.get_slice(name)
            assert part.shape == array.shape and part.get_shape() == list(array.shape)
            for _ in range(150 if array.size < 10_000 else 25):
                index = random_index(rng, array.shape)
                got, want = part[index], array[index]
                assert got.shape == want.shape and got.dtype == want.dtype and bits(got) == bits(want), (name, index)
        assert bits(f.get_slice("a", to="float16")[2:, 3]) == bits(tensors["a"][2:, 3].astype(np.float16))
        assert f.get_slice("a", to=">f8")[0].dtype == ">f8" and f.get_slice("a", to="string")[0, 0, 0] == str(tensors["a"][0, 0, 0])
        part = f.get_slice("a")
        assert len(part) == 7 and part.get_dtype() == "F32" and "'a'" in repr(part)
        for index, error in ((7, IndexError), ((0, -12), IndexError), ((0, 0, 0, 0), IndexError), ("x", TypeError),
                             ([0], TypeError), (True, TypeError), (None, TypeError), ((..., ...), ValueError),
                             (slice(None, None, 0), ValueError), (slice("a"), ValueError)):
            with pytest.raises(error) as caught:
                part[index]
            assert isinstance(caught.value, tc.Error) and "\n" not in str(caught.value)
        with pytest.raises(TypeError):
            len(f.get_slice("scalar"))
    with pytest.raises(tc.ArgumentError, match="closed"):
        part[0]
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.savez(tmp_path / "y.npz", f=fortran, t=np.array([["a", "ä"], ["c", "d"]]))
    with tc.open(tmp_path / "y.npz") as f:
        assert f.get_slice("f")[:, 1:].tolist() == [[1, 2], [4, 5]] and f.get_slice("t")[:, 1].tolist() == ["ä", "d"]


def test_many_threads_read_one_file(model):
    path, tensors = model
    wrong = []
    with tc.open(path) as f:
        def read(to):
            for name in ("l.0.w", "l.1.w", "l.0.norm") * 10:
                if bits(f.get(name, to=to)) != bits(tensors[name].astype(to)):
                    wrong.append((name, to))

        threads = [threading.Thread(target=read, args=(to,)) for to in (np.float16, np.float32, np.float64) * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_memory_is_that_of_one_tensor(tmp_path):
    """A file of 256 MiB, of which each tensor is let go before the next is read."""
    path = tmp_path / "x.safetensors"
    safetensors.numpy.save_file({f"w{i}": np.full((1 << 22,), i, np.float32) for i in range(16)}, path)
    program = ("import resource, sys, tensorcast as tc\n"
               "tc.result_memory(limit=0)\n"
               "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
               "with tc.open(sys.argv[1]) as f:\n"
               "    for name in f:\n"
               "        assert f.get(name, to='float16')[-1] == int(name[1:])\n"
               "    tc.save_file(f, sys.argv[2], to='bfloat16')\n"
               "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n")
    done = subprocess.run([sys.executable, "-c", program, path, tmp_path / "y.safetensors"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64 << 10  # KiB
    made = tc.load_file(tmp_path / "y.safetensors")
    assert all((made[f"w{i}"] == i).all() for i in range(16)) and made["w0"].dtype == BFLOAT16


ARRAYS = {"w": np.linspace(-3, 3, 6, dtype=np.float32).reshape(2, 3), "turned": np.arange(6.0).reshape(2, 3).T,
          "swapped": np.arange(3, dtype=">i4"), "stepped": np.arange(10, dtype=np.uint8)[::3], "b": np.array([True]),
          "scalar": np.array(1.5, np.float16), "none": np.zeros((0, 2), np.int64), "half": np.float32([[0.1]]).astype(BFLOAT16)}


def test_others_read_what_is_saved(tmp_path):
    native = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in ARRAYS.items()}
    tc.save_file(ARRAYS, tmp_path / "x.safetensors", {"by": "me"})
    read = safetensors.numpy.load_file(tmp_path / "x.safetensors")
    assert same({name: read[name] for name in native}, native)
    with safetensors.safe_open(tmp_path / "x.safetensors", "np") as f:
        assert f.metadata() == {"by": "me"}
    small = np.float32([1, 2]).astype(ml_dtypes.float8_e4m3fn)  # which safetensors' numpy has not
    tc.save_file({"w": small}, tmp_path / "small.safetensors")
    (read,) = safetensors.deserialize((tmp_path / "small.safetensors").read_bytes())
    assert read[1]["dtype"] == "F8_E4M3" and bytes(read[1]["data"]) == small.tobytes()
    plain = {name: array for name, array in native.items() if array.dtype != BFLOAT16}
    texts = {"t": np.array([["ä", "bc"]]), "o": np.array(["x", ""], object)}
    tc.save_file({**plain, **texts}, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as f:
        assert same({name: f[name] for name in plain}, plain)
        assert f["t"].tolist() == [["ä", "bc"]] and f["o"].tolist() == ["x", ""]
    tc.save_file({"w": ARRAYS["turned"]}, tmp_path / "x.npy")
    assert np.array_equal(np.load(tmp_path / "x.npy"), ARRAYS["turned"])
    tc.save_file({"w": ARRAYS["half"]}, tmp_path / "x.pb")
    proto = onnx.load_tensor(tmp_path / "x.pb")
    assert proto.data_type == onnx.TensorProto.BFLOAT16 and bits(onnx.numpy_helper.to_array(proto)) == bits(ARRAYS["half"])


def test_casts_on_the_way_out(tmp_path):
    x = (np.random.default_rng(1).standard_normal((500, 701)) * 100).astype(np.float32)
    path = tmp_path / "x.safetensors"
    for to in ("float16", "float8_e5m2", "float32", "int4", "float4_e2m1fn"):
        tc.save_file({"w": x, "ids": np.arange(3)}, path, to=to, overwrite=True, threads=2)
        got = tc.load_file(path)
        assert bits(got["w"]) == bits(tc.cast(x, to)) and got["ids"].dtype == np.int64
    tc.save_file({"w": x}, path, to="float16", overwrite=True)
    assert bits(safetensors.numpy.load_file(path)["w"]) == bits(x.astype(np.float16))
    narrow = np.arange(-8, 7).astype(ml_dtypes.int4)
    tc.save_file({"w": narrow, "ids": narrow}, path, to="int8", all_types=True, overwrite=True)
    assert safetensors.numpy.load_file(path)["w"].tolist() == list(range(-8, 7))


class Changing(collections.abc.Mapping):
    """A mapping whose last tensor fails, or is another, the second time."""

    def __init__(self, again):
        self.asked, self.again = 0, again

    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 2

    def __getitem__(self, name):
        self.asked += name == "b"
        if self.asked > 1:
            return self.again()
        return np.zeros(3, np.float32)


def test_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.safetensors"

    def fail():
        raise RuntimeError("enough")

    x = {"w": np.zeros(2, np.float32)}
    for tensors, options, error, line in (
            (Changing(fail), {}, RuntimeError, "enough"),
            (Changing(lambda: np.zeros(4, np.float32)), {}, ValueError, "'b' has changed its shape"),
            ({"w": [1.0]}, {}, TypeError, "'w' is a list"), ({"w": None}, {}, TypeError, "'w' is a NoneType"),
            ({1: x["w"]}, {}, TypeError, "a tensor's name must be a str"), ({"a\ud800": x["w"]}, {}, ValueError, "surrogate"),
            (x, {"metadata": {"a": "\ud800"}}, ValueError, "metadata 'a' has half of a surrogate"), ([x], {}, TypeError, "mapping"),
            ({"w": np.zeros(2, complex)}, {}, TypeError, "tensor 'w': numpy's complex128"),
            ({"w": np.array(["a"])}, {}, tc.UnsupportedError, "string"), (x, {"metadata": {"a": 1}}, TypeError, "metadata 'a'"),
            (x, {"to": "string"}, tc.UnsupportedError, "to is string"), (x, {"overwrit": True}, TypeError, "nearest is overwrite")):
        with pytest.raises(error, match=line) as caught:
            tc.save_file(tensors, path, **options)
        assert "\n" not in str(caught.value) and list(tmp_path.iterdir()) == []
    for name, line in (("x.gguf", "no known one has these tensors"), ("x.pt", "read, not written"), ("x", "'x' has no ending that names its format: .*config= or layout= makes a directory"), ("no/x.npy", "no"),
                       ("x.onnx", "model")):
        with pytest.raises(tc.Error, match=line):
            tc.save_file(x, tmp_path / name)
    with pytest.raises(tc.ArgumentError, match="metadata has no place in 'x.npz'"):
        tc.save_file(x, tmp_path / "x.npz", {"a": "b"})
    with pytest.raises(tc.ArgumentError, match="holds one tensor"):
        tc.save_file({"a": x["w"], "b": x["w"]}, tmp_path / "x.npy")
    assert list(tmp_path.iterdir()) == []
    tc.save_file(x, path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        tc.save_file({}, path)
    with pytest.raises(RuntimeError, match="enough"):
        tc.save_file(Changing(fail), path, overwrite=True)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with tc.open(path) as f:  # onto the file that is read
        tc.save_file(f, path, to="float16", overwrite=True)
    assert safetensors.numpy.load_file(path)["w"].dtype == np.float16
    tc.save_file({}, path, overwrite=True)
    assert tc.load_file(path) == {}


def test_a_file_is_written_tensor_by_tensor(tmp_path):
    path = tmp_path / "x.safetensors"
    x = np.linspace(-500, 500, 3001, dtype=np.float32)
    planned = {"w": ("float16", (3001,)), "codes": ("int4", [3, 5]), "turned": (np.float64, (3, 2)), "none": ("int8", (0,)), "scalar": (BFLOAT16, ())}
    codes = np.arange(-7, 8).reshape(3, 5).astype(ml_dtypes.int4)
    with tc.Writer(path, planned, {"by": "me"}) as out:
        out.write("turned", np.arange(6.0).reshape(2, 3).T)
        out.write("w", x, threads=2)
        assert [each.name for each in tmp_path.iterdir()] != ["x.safetensors"]
        out.write("scalar", np.float32(1.5))
        out.write("none", np.zeros(0, bool))
        out.write("codes", codes)
    read = safetensors.numpy.load_file(path)
    assert bits(read["w"]) == bits(x.astype(np.float16)) and np.array_equal(read["turned"], np.arange(6.0).reshape(2, 3).T)
    assert read["scalar"] == 1.5 and read["scalar"].dtype == BFLOAT16 and read["none"].shape == (0,)
    flat = codes.astype(np.int8).ravel() & 15
    assert read["codes"].tolist() == (flat[::2] | np.append(flat[1::2], 0) << 4).tolist()
    with tc.open(path) as f, tc.Writer(path, {info.name: info for info in f.infos()}, overwrite=True) as out:
        for name, array in f.items():
            out.write(name, array)
    assert same(safetensors.numpy.load_file(path), read) and bits(tc.load_file(path)["codes"]) == bits(codes)


def test_strings_are_written_first(tmp_path):
    """A file's beginning depends on them; numpy reads it."""
    planned = {"w": ("float32", (2,)), "names": ("string", (2, 1)), "numbers": ("string", (3,)), "parsed": ("int8", (2,))}
    names = np.array([["a\0b"], ["ü" * 9]], object)
    with tc.Writer(tmp_path / "x.npz", planned) as out:
        out.write("names", names)
        with pytest.raises(tc.ArgumentError, match="'numbers' holds strings, which the file begins with: write it first"):
            out.write("w", np.float32([1, 2]))
        with pytest.raises(tc.ArgumentError, match="written already"):
            out.write("names", names)
        out.write("numbers", np.float32([0.5, 2, np.nan]))
        out.write("w", np.array(["1.5", "-2"]))
        out.write("parsed", np.array([b"-7", b"7"]))
    with np.load(tmp_path / "x.npz") as read:
        assert read["names"].tolist() == names.tolist() and read["numbers"].tolist() == ["0.5", "2.0", "nan"]
        assert read["w"].tolist() == [1.5, -2] and read["parsed"].tolist() == [-7, 7] and read["w"].dtype == np.float32
    with tc.Writer(tmp_path / "x.pb", {"t": ("string", (2,))}) as out:
        out.write("t", np.array(["a", "b"]))
    assert onnx.numpy_helper.to_array(onnx.load_tensor(tmp_path / "x.pb")).tolist() in ([b"a", b"b"], ["a", "b"])
    before = sorted(tmp_path.iterdir())
    with pytest.raises(tc.UnsupportedError, match="'names' holds strings, which only .npz, .npy and .pb files hold"):
        tc.Writer(tmp_path / "y.safetensors", planned)
    with pytest.raises(tc.ArgumentError, match="not complete: names was not written"), tc.Writer(tmp_path / "y.npz", planned) as out:
        out.write("numbers", np.array(["1", "2", "3"]))
    with pytest.raises(FileExistsError), tc.Writer(tmp_path / "x.npz", {"t": ("string", (1,))}) as out:
        out.write("t", np.array(["a"]))
    assert sorted(tmp_path.iterdir()) == before


def test_what_is_not_written_whole_is_not_there(tmp_path):
    path = tmp_path / "x.npz"
    x = np.zeros(3, np.float32)
    planned = {"a": ("float32", (3,)), "b": ("int8", (3,))}
    with pytest.raises(tc.ArgumentError, match="b was not written"), tc.Writer(path, planned) as out:
        out.write("a", x)
    for name, tensor, error, line in (("c", x, tc.ArgumentError, "'c' is not one of the 2"), ("a", x[:2], tc.ArgumentError, "shape"),
                                      ("b", ["a"], tc.KindError, "list"), ("b", np.array(["a"] * 3), tc.ArgumentError, "tensor .b.: x.0. is .*not a number")):
        with pytest.raises(error, match=line), tc.Writer(path, planned) as out:
            out.write(name, tensor)
    with pytest.raises(tc.ArgumentError, match="written already"), tc.Writer(path, planned) as out:
        out.write("a", x)
        out.write("a", x)
    with pytest.raises(RuntimeError, match="enough"), tc.Writer(path, planned) as out:
        out.write("a", x)
        raise RuntimeError("enough")
    with pytest.raises(tc.ArgumentError, match="closed"):
        out.write("b", x)
    for wrong in ({"a": "float32"}, {"a": ("float32", 3)}, {"a": ("float32", (-1,))}, {"a": ("x", (3,))},
                  {1: ("int8", (3,))}, [], {"a": ("float64", (2**62, 2**62))}):
        with pytest.raises(tc.Error) as caught:
            tc.Writer(path, wrong)
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
