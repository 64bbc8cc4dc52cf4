"""What is refused, each with one line and an exception that Python's own classes catch too.

SPDX-License-Identifier: Apache-2.0
"""
import errno
import os
import pickle

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorcast as tc

X = np.zeros(3, np.float32)
READ_ONLY = np.zeros(3, np.int8)
READ_ONLY.flags.writeable = False


class NoDevice:
    """Of an exchange whose device raises."""

    def __dlpack__(self, **named):
        raise AssertionError("not asked for")

    def __dlpack_device__(self):
        raise RuntimeError("two\nlines")


def small():
    graph = tc.graph.Graph()
    graph.add_input("x", "float32", [2])
    return graph


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: tc.cast(X), ValueError, "a cast needs a type"),
    (lambda: tc.cast(X, "flaot16"), ValueError, "the nearest are float16"),
    (lambda: tc.cast(X, ""), ValueError, "not an element type"),
    (lambda: tc.cast(X, 14), ValueError, "complex"),
    (lambda: tc.cast(X, 2**80), ValueError, "not ONNX's number"),
    (lambda: tc.cast(X, -1), ValueError, "not ONNX's number"),
    (lambda: tc.cast(X, True), TypeError, "not by bool"),
    (lambda: tc.cast(X, 1.0), TypeError, "not by float"),
    (lambda: tc.cast(X, ["float32"]), TypeError, "not by list"),
    (lambda: tc.cast(X, "complex64"), ValueError, "not an element type"),
    (lambda: tc.cast(X, np.dtype([("a", "f4")])), TypeError, "not an element type"),
    (lambda: tc.cast(X, np.complex64), TypeError, "not an element type"),
    (lambda: tc.cast(X.astype(complex), "float32"), TypeError, ".real and .imag"),
    (lambda: tc.cast(np.array(["NaT"], "M8[s]"), "int64"), TypeError, "astype"),
    (lambda: tc.cast(np.zeros(2, [("a", "f4")]), "int8"), TypeError, "fields one by one"),
    (lambda: tc.cast(np.zeros(2, "V3"), "int8"), TypeError, "from_type"),
    (lambda: tc.cast(np.zeros(2, np.longdouble), "int8"), TypeError, "more than 64 bits"),
    (lambda: tc.cast(np.ma.masked_array([1.0], [True]), "int8"), TypeError, "masked"),
    (lambda: tc.cast(np.array([1, None], object), "int8"), TypeError, "x[1] is NoneType"),
    (lambda: tc.cast([None], "int8"), TypeError, "x[0] is NoneType"),
    (lambda: tc.cast(object(), "int8"), TypeError, "x is object"),
    (lambda: tc.cast([2**70], "int8"), OverflowError, "beyond 64 bits"),
    (lambda: tc.cast(2**70, "float32"), OverflowError, "beyond 64 bits"),
    (lambda: tc.cast([[1], [1, 2]], "int8"), ValueError, "x is not an array"),
    (lambda: tc.cast(["1", "x"], "int8"), ValueError, 'x[1] is "x", which is not a number'),
    (lambda: tc.cast(["nan"], "int8"), ValueError, 'x[0] is "nan"'),
    (lambda: tc.cast(["\ud800"], "int8"), ValueError, "x[0]"),
    (lambda: tc.cast(np.array([b"\xff"]), "string"), ValueError, "not UTF-8"),
    (lambda: tc.cast(X, "int8", out=np.zeros(4, np.int8)), ValueError, "shape (4,)"),
    (lambda: tc.cast(X, "int8", out=np.zeros((3, 1), np.int8)), ValueError, "shape (3, 1)"),
    (lambda: tc.cast(X, "int8", out=np.zeros(3, np.int16)), ValueError, "out holds int16"),
    (lambda: tc.cast(X, out=READ_ONLY), ValueError, "out is read-only"),
    (lambda: tc.cast(X, out=[1, 2, 3]), TypeError, "not list"),
    (lambda: tc.cast(X, out=np.ma.zeros(3, np.int8)), TypeError, "masked"),
    (lambda: tc.cast(X, out=np.zeros(3), like=np.zeros(3)), ValueError, "give one"),
    (lambda: tc.cast(X, "int8", saturate="yes"), TypeError, "saturate must be True or False"),
    (lambda: tc.cast(X, "int8", round_mode="sideways"), ValueError, '"up", "down", "nearest"'),
    (lambda: tc.cast(X, "int8", round_mode="nearst"), ValueError, '"nearest"; did you mean nearest?'),
    (lambda: tc.cast(X, "int8", integer_overflow=None), ValueError, "integer_overflow must be one of"),
    (lambda: tc.cast(X, "int8", nonsense=1), TypeError, "nonsense"),
    (lambda: tc.cast(X, "int8", threads=-1), ValueError, "threads is -1"),
    (lambda: tc.cast(X, "int8", threads=10**6), ValueError, "threads is"),
    (lambda: tc.cast(X, "int8", threads=1.5), TypeError, "float"),
    (lambda: tc.cast(X, "int8", threads="2"), TypeError, "threads must be an int"),
    (lambda: tc.cast(X, "int8", packed=np.array([1, 2])), ValueError, "packed must be True, False"),
    (lambda: tc.cast(X, "float\ud800"), ValueError, "half of a surrogate pair"),
    (lambda: tc.cast(X, 10**5000), ValueError, "not ONNX's number"),
    (lambda: tc.cast(X, "i8"), ValueError, "is int64 to numpy and int8 to tensorcast"),
    (lambda: tc.cast(X, "U8"), ValueError, "is string to numpy and uint8 to tensorcast"),
    (lambda: tc.cast(X, "float"), ValueError, "is float64 to numpy and float32 to tensorcast"),
    (lambda: tc.cast(X, list), TypeError, "the class list is not a type of elements"),
    (lambda: tc.cast(X, np.dtype), TypeError, "the class dtype"),
    (lambda: tc.cast([2**64 - 1, -1], "uint64"), OverflowError, "18446744073709551615"),
    (lambda: tc.cast([2**63, -1], "string"), OverflowError, "9223372036854775808"),
    (lambda: tc.cast([2**53 + 1, 0.5], "int64"), OverflowError, "9007199254740993"),
    (lambda: tc.cast([[0.5, np.int64(2**53 + 1)]], "int64"), OverflowError, "9007199254740993"),
    (lambda: tc.cast(X, out=np.zeros(3, "M8[s]")), TypeError, "not an element type of ONNX"),
    (lambda: tc.graph.Session(5), TypeError, "a session is made from a Graph"),
    (lambda: tc.graph.Session.load(b"", optimize="x"), TypeError, "optimize must be True or False"),
    (lambda: small().remove_node(None), ValueError, "by its index or its name"),
    (lambda: tc.cast([1, None], "int8"), TypeError, "x[1] is NoneType"),
    (lambda: tc.cast("1\0", "float32"), ValueError, "x is"),
    (lambda: tc.cast(np.zeros(2, ml_dtypes.float8_e3m4), "int8"), TypeError, "astype"),
    (lambda: tc.cast(["1", "2"], "int4", packed=True, out=np.zeros(1, np.float32)), ValueError,
     "a packed result is uint8"),
    (lambda: tc.cast(["1"], "int4", packed=True, out=np.zeros(1, "U3")), ValueError,
     "a packed result is uint8"),
    (lambda: tc.cast(NoDevice(), "int8"), TypeError, "does not say its device"),
    (lambda: tc.parse([["1"], ["1", "2"]], "int8"), ValueError, "x is not an array"),
    (lambda: tc.explain("1\ud800", "bfloat16"), ValueError, "half of a surrogate pair"),
    (lambda: tc.explain("abc", "int8"), ValueError, '"abc" is not a number'),
    (lambda: tc.loss(X, "int8").merge(5), TypeError, "a LossReport is merged"),
    (lambda: tc.loss(X, "int8", loss=True), ValueError, "not an option of it"),
    (lambda: tc.cast(X, "int8", shape=3), ValueError, "packed"),
    (lambda: tc.cast(X, "int8", from_type="int8"), ValueError, "elements of 4 bytes"),
    (lambda: tc.cast(np.zeros(2, np.uint8), "int8", from_type="int4", packed=True), ValueError, "needs shape"),
    (lambda: tc.cast(np.zeros(2, np.uint8), "int8", from_type="int4", packed=True, shape=5), ValueError, "take 3"),
    (lambda: tc.cast(np.zeros(2, np.uint8), "int8", from_type="int4", packed=True, shape=-4), ValueError, "a size in shape is -4"),
    (lambda: tc.cast(np.zeros(2, np.uint8), "int8", from_type="int4", packed=True, shape=(2**40, 2**40)), ValueError, "take"),
    (lambda: tc.cast(np.zeros(0, np.uint8), "int8", from_type="int4", packed=True, shape=(0, 2**62)), ValueError,
     "more elements"),
    (lambda: tc.cast(np.zeros(1, np.uint8), "int8", from_type="int4", packed=True, shape=(1,) * 70), ValueError,
     "70 dimensions"),
    (lambda: tc.cast(np.zeros(1, np.uint8), "int8", from_type="int4", packed=True, shape=2.5), TypeError,
     "a size in shape"),
    (lambda: tc.cast(np.zeros(1, np.uint8), "int8", from_type="int4", packed=True, shape="ab"), TypeError,
     "shape must be an int"),
    (lambda: tc.cast(X, "string", loss=True), ValueError, "no loss report"),
    (lambda: tc.parse(X, "int8"), TypeError, "parse takes texts"),
    (lambda: tc.explain("half", "int8"), ValueError, "not a number"),
    (lambda: tc.explain([1, 2], "int8"), TypeError, "one number or text"),
    (lambda: tc.explain(256, "int8", from_type="uint8"), ValueError, "not a code of uint8"),
    (lambda: tc.explain(1.5, "int8", from_type="uint8"), TypeError, "code"),
    (lambda: tc.open("no-such-file.npy"), OSError, "no-such-file.npy"),
    (lambda: tc.open("a\0b"), ValueError, "NUL"),
    (lambda: tc.open(3.5), TypeError, ""),
    (lambda: tc.convert("no-such-file.npy", "b.npy", to="int8"), OSError, "no-such-file.npy"),
    (lambda: tc.plan("a.npy", "b.npy", keep="norms"), ValueError, "a list of texts"),
    (lambda: tc.plan("a.npy", "b.npy", to="fp8-rows"), ValueError, "not an element type"),
    (lambda: tc.plan("a.npy", "b.npy", layout="mine"), ValueError, "layout must be one of"),
    (lambda: tc.plan("a.npy", "b.npy", layout="gpqt"), ValueError, "; did you mean gptq?"),
    (lambda: tc.plan("a.npy", "b.npy", repack="AQW"), ValueError, "; did you mean awq?"),
    (lambda: tc.plan("a.npy", "b.npy", keep=["norm"]), ValueError, "; did you mean norms?"),
    (lambda: tc.cast(X, "float16", saturat=1), TypeError, "cast has no option 'saturat': the nearest is saturate"),
    (lambda: tc.cast([1], "float16", thread=1), TypeError, "cast has no option 'thread': the nearest is threads"),
    (lambda: tc.cast(too="float16"), TypeError, "cast has no option 'too': the nearest is to"),
    (lambda: tc.cast(X, "float16", **{"\ud800": 1}), TypeError, "cast has no option"),
    (lambda: tc.format(X, stile="ort"), TypeError, "format has no option 'stile': the nearest is style"),
    (lambda: tc.open("a.npy", asume_type="int8"), TypeError, "open has no option 'asume_type': the nearest is assume_type"),
    (lambda: tc.inspect("a.npy", assume_typ="int8"), TypeError, "inspect has no option 'assume_typ': the nearest is assume_type"),
    (lambda: tc.onnx.optimize(b"", fold=True), TypeError, "optimize has no option 'fold': the nearest is fold_all"),
    (lambda: tc.mdf.install(mod="strict"), TypeError, "install has no option 'mod': the nearest is mode"),
    (lambda: tc.mdf.load("a.json", type="int8"), TypeError, "load has no option 'type': the nearest is types"),
    (lambda: tc.mdf.save(small(), "a.json", overwrit=True), TypeError, "save has no option 'overwrit': the nearest is overwrite"),
    (lambda: tc.plan("a.npy", "b.npy", satruate=1), TypeError, "plan has no option 'satruate': the nearest is saturate"),
    (lambda: tc.convert("a.npy", "b.npy", ovrwrite=True), TypeError,
     "convert has no option 'ovrwrite': the nearest is overwrite"),
    (lambda: tc.convert("a.npy", "b.npy", round_moed="up"), TypeError, "convert has no option 'round_moed': the nearest is round_mode"),
    (lambda: tc.convert("a.npy", "b.npy", expert=[]), TypeError, "convert has no option 'expert'"),
    (lambda: tc.loss(X, "int8", thread=1), TypeError, "loss has no option 'thread': the nearest is threads"),
    (lambda: tc.parse(["1"], "int8", integer_overfow="wrap"), TypeError, "parse has no option 'integer_overfow'"),
    (lambda: tc.explain(1, "int8", saturated=True), TypeError, "explain has no option 'saturated'"),
    (lambda: tc.plan("a.npy", "b.npy", scale_rule="pow3"), ValueError, 'scale_rule must be one of "round", "up", "ocp", "amax"'),
    (lambda: tc.plan("a.npy", "b.npy", to="fp8-row", rules={}, out="c"), TypeError, "plan has no option 'out'"),
    (lambda: tc.Plan.from_json("{"), ValueError, ""),
    (lambda: tc.graph.Session.load(b"nonsense"), ValueError, ""),
    (lambda: tc.graph.Session.load(17), TypeError, "neither bytes nor an onnx.ModelProto"),
    (lambda: tc.onnx.optimize(b"\xff\xff"), ValueError, ""),
    (lambda: tc.onnx.optimize("a.onnx"), ValueError, "give output"),
    (lambda: tc.graph.Graph(opset=99), ValueError, "opset"),
    (lambda: tc.graph.Graph().cast("x", "int8"), TypeError, "a Value"),
    (lambda: tc.graph.Graph().node("x"), ValueError, "x"),
    (lambda: tc.graph.Graph().node(5), ValueError, ""),
    (lambda: tc.graph.Graph().serialize(), ValueError, "output"),
    (lambda: tc.graph.Graph().serialize(with_training=1), TypeError, "with_training must be True or False"),
    (lambda: tc.graph.Graph().optimize(fold_all=1), TypeError, "fold_all must be True or False"),
    (lambda: tc.graph.Graph().optimize(nan_payloads_may_change="x"), TypeError, "nan_payloads_may_change must be True"),
    (lambda: tc.plan("a.npy", "b.npy", max_shard_bytes=-1), ValueError, "max_shard_bytes is -1"),
    (lambda: tc.plan("a.npy", "b.npy", all_types="x"), TypeError, "all_types must be True or False"),
    (lambda: tc.plan("a.npy", "b.npy", rules=[("a",)]), TypeError, "pairs"),
    (lambda: tc.plan("a.npy", "b.npy", rules=[1]), TypeError, "pairs"),
    (lambda: tc.plan("a.npy", "b.npy", rules={1: "int8"}), TypeError, "the pattern of a rule"),
    (lambda: tc.plan("a.npy", "b.npy", only=[1]), TypeError, "each of only"),
    (lambda: tc.plan("a.npy", "\ud800"), ValueError, "dst has half"),
    (lambda: tc.plan("a.npy", "b\0.npy"), ValueError, "dst must not have a NUL"),
    (lambda: tc.Plan.from_json(5), TypeError, "a plan must be a str"),
    (lambda: tc.graph.Graph("x"), TypeError, "opset must be an int"),
    (lambda: tc.graph.Graph(2**70), ValueError, "opset is"),
    (lambda: tc.graph.Graph().add_input(5, "int8"), TypeError, "a name must be a str"),
    (lambda: tc.graph.Graph().add_input("x", "int8", [-1]), ValueError, "a dimension"),
    (lambda: tc.graph.Graph().add_input("x", "int8", 5), TypeError, "shape must be a sequence"),
    (lambda: tc.graph.Graph().identity(tc.graph.Value(-1, 0)), ValueError, "a value's graph"),
    (lambda: tc.graph.Graph().identity(tc.graph.Value("a", 0)), TypeError, "a value's graph"),
    (lambda: small().cast(small().inputs[0], "int8", lda_coeff="x"), TypeError, "lda_coeff must be a number"),
    (lambda: small().mark_output(small().inputs[0], 5), TypeError, "a name must be a str"),
    (lambda: small().node(1.5), TypeError, "by its index or its name"),
])
def test_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    line = str(caught.value)
    assert words in line and line and "\n" not in line
    assert isinstance(caught.value, tc.Error) or "unexpected keyword" in line or error is TypeError


@pytest.mark.parametrize(("name", "nearest"), [
    ("flaot16", "; the nearest are float16 and bfloat16"),
    ("hlaf", "; the nearest is float16"),
    ("uint9", "; the nearest are uint8, uint4 and uint2"),
    ("nvpf4", "; did you mean nvfp4, a format of weights with scales, which plan and convert write?"),
    ("FP8_BLOK", "; did you mean fp8-block, a format of weights with scales, which plan and convert write?"),
    ("diff", ""),  # no type is near
])
def test_nearest_types(name, nearest):
    with pytest.raises(ValueError) as raised:
        tc.cast(X, name)
    assert str(raised.value) == f'"{name}" is not an element type{nearest}'


def test_nothing_of_out_is_written_where_a_text_is_no_number():
    out = np.full(2, 7, np.int8)
    with pytest.raises(tc.ArgumentError):
        tc.cast(["1", "x"], out=out)
    assert out.tolist() == [7, 7]


def test_errors_are_both():
    assert issubclass(tc.ArgumentError, (tc.Error, ValueError))
    for error, own in ((tc.ArgumentError, ValueError), (tc.KindError, TypeError),
                       (tc.RangeError, OverflowError), (tc.FileError, OSError),
                       (tc.ContentsError, ValueError), (tc.UnsupportedError, ValueError)):
        assert issubclass(error, tc.Error) and issubclass(error, own)


def dropped(call):
    """A call as a user who may not do everything, as root may."""
    if os.geteuid() != 0:
        return call()
    os.seteuid(65534)
    try:
        return call()
    finally:
        os.seteuid(0)


def graph_of_one():
    graph = small()
    graph.mark_output(graph.cast(graph.inputs[0], "int8"), "y")
    return graph


@pytest.fixture
def files(tmp_path):
    """A folder in which each way to be refused has a name."""
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "folder").mkdir()
    (tmp_path / "secret.npy").write_bytes((tmp_path / "x.npy").read_bytes())
    (tmp_path / "secret.npy").chmod(0)
    graph_of_one().save(tmp_path / "m.onnx")
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    return tmp_path


MISSING = [
    lambda f: tc.open(f / "no.npy"), lambda f: tc.inspect(f / "no.safetensors"), lambda f: tc.graph.Session.load(f / "no.onnx"),
    lambda f: tc.graph.Graph.load(f / "no.onnx"), lambda f: tc.mdf.load(f / "no.json"),
    lambda f: tc.onnx.optimize(f / "no.onnx", f / "y.onnx"), lambda f: tc.convert(f / "no.npy", f / "y.npy", to="int8"),
    lambda f: tc.plan(f / "no.onnx", f / "y.onnx", to="float16"), lambda f: tc.convert(f / "no", f / "y", to="int8"),
]
EXISTS = [
    lambda f: tc.convert(f / "x.npy", f / "y.npy", to="int8"), lambda f: tc.plan(f / "x.npy", f / "y.npy", to="int8").run(),
    lambda f: graph_of_one().save(f / "y.npy"), lambda f: tc.mdf.save(graph_of_one(), f / "y.json"),
    lambda f: tc.onnx.optimize(f / "m.onnx", f / "y.onnx"), lambda f: tc.convert(f / "m.onnx", f / "y.onnx", to="bfloat16"),
]


@pytest.mark.parametrize("call", MISSING)
def test_a_missing_file_is_pythons_own_error(call, files):
    with pytest.raises(FileNotFoundError) as caught:
        call(files)
    error = caught.value
    assert isinstance(error, tc.FileError) and error.errno == errno.ENOENT
    assert error.filename.startswith(str(files / "no")) and str(error).count(str(files)) == 1 and "\n" not in str(error)


@pytest.mark.parametrize("call", EXISTS)
def test_an_output_that_exists_is_pythons_own_error(call, files):
    for name in ("y.npy", "y.json", "y.onnx"):
        (files / name).write_bytes(b"kept")
    with pytest.raises(FileExistsError, match="or replace it with overwrite=True$") as caught:
        call(files)
    error = caught.value
    assert isinstance(error, tc.ArgumentError) and isinstance(error, ValueError) and error.errno == errno.EEXIST
    assert error.filename.startswith(str(files / "y.")) and (files / "y.npy").read_bytes() == b"kept"


@pytest.mark.parametrize("call, error, ours, number, name", [
    (lambda f: dropped(lambda: tc.open(f / "secret.npy")), PermissionError, tc.FileError, errno.EACCES, "secret.npy"),
    (lambda f: dropped(lambda: tc.convert(f / "x.npy", f / "y.npy", to="int8")), PermissionError, tc.FileError,
     errno.EACCES, "y.npy"),
    (lambda f: tc.open(f / "x.npy" / "z.npy"), NotADirectoryError, tc.FileError, errno.ENOTDIR, "x.npy/z.npy"),
    (lambda f: tc.convert(f / "x.npy", f / "x.npy" / "y.npy", to="int8"), NotADirectoryError, tc.FileError,
     errno.ENOTDIR, "x.npy/y.npy"),
    (lambda f: tc.convert(f / "x.npy", f / "none" / "y.npy", to="int8"), FileNotFoundError, tc.FileError, errno.ENOENT,
     "none/y.npy"),
    (lambda f: tc.graph.Session.load(f / "folder"), IsADirectoryError, tc.UnsupportedError, errno.EISDIR, "folder"),
    (lambda f: graph_of_one().save(f / "folder"), IsADirectoryError, tc.ArgumentError, errno.EISDIR, "folder"),
    (lambda f: tc.convert(f / "x.npy", f / "folder" / "", to="int8"), ValueError, tc.ArgumentError, None, None),
])
def test_what_the_system_refuses_is_pythons_own_error(call, error, ours, number, name, files):
    with pytest.raises(error) as caught:
        call(files)
    assert isinstance(caught.value, ours)
    if number is not None:
        assert caught.value.errno == number and caught.value.filename == str(files / name)


def test_errors_of_files_go_through_pickle(files):
    for call in (MISSING[0], lambda f: graph_of_one().save(f / "m.onnx")):
        with pytest.raises(tc.Error) as caught:
            call(files)
        back = pickle.loads(pickle.dumps(caught.value))
        assert type(back) is type(caught.value) and str(back) == str(caught.value)
        assert (back.errno, back.filename) == (caught.value.errno, caught.value.filename)


def test_what_failed_before_is_not_told_again(files):
    with pytest.raises(FileNotFoundError):
        tc.open(files / "no.npy")
    with pytest.raises(tc.ContentsError) as caught:
        (files / "bad.npy").write_bytes(b"nonsense")
        tc.open(files / "bad.npy")
    assert not isinstance(caught.value, OSError)
    with pytest.raises(tc.ArgumentError) as caught:
        tc.cast(X, "int8", out=np.zeros(4, np.int8))
    assert not isinstance(caught.value, OSError)


def test_both_names_of_a_scale_rule(files):
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    safetensors.numpy.save_file({"a.weight": x}, files / "a.safetensors")
    for format, names in (("fp8-row", ("pow2", "up", "POW2")), ("mxfp8", ("up", "pow2"))):
        made = []
        for index, name in enumerate(names):
            out = files / f"{format}{index}.safetensors"
            tc.convert(files / "a.safetensors", out, to=format, scale_rule=name)
            made.append(out.read_bytes())
        assert all(one == made[0] for one in made)


def test_rows_are_rotated_where_it_is_asked(files):
    x = np.random.default_rng(2).standard_normal((16, 256)).astype(np.float32)
    safetensors.numpy.save_file({"a.weight": x}, files / "a.safetensors")
    out = files / "rotated.safetensors"
    tc.convert(files / "a.safetensors", out, to="int8-row", layout="comfyui", rotate=True)
    with safetensors.safe_open(out, "np") as file:
        assert '"convrot":true' in file.metadata()["_quantization_metadata"]
    with pytest.raises(ValueError, match="rotated"):
        tc.plan(files / "a.safetensors", out, to="fp8-row", rotate=True)


def test_memory_that_is_not_there(monkeypatch):
    with pytest.raises((MemoryError, ValueError)):
        tc.cast(np.broadcast_to(np.float32(1), (1 << 50,)), "float64")


@pytest.mark.parametrize("call", [lambda: tc.cast(), lambda: tc.cast(X, "int8", 1), lambda: tc.cast(X, "int8", to="int8"),
                                  lambda: tc.format(), lambda: tc.open()], ids=range(5))
def test_too_few_and_too_many_arguments_are_pythons_own_error(call):
    with pytest.raises(TypeError) as raised:
        call()
    assert not isinstance(raised.value, tc.Error) and "argument" in str(raised.value)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no file system without room")
def test_no_room_is_the_systems_own_number(tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(tc.FileError) as refused:
        tc.convert(tmp_path / "a.npy", "/proc/x.npy", to="float16")
    assert (refused.value.errno, refused.value.filename) == (errno.ENOSPC, "/proc/x.npy")


def test_a_limit_of_files_is_the_systems_own_number(tmp_path):
    resource = pytest.importorskip("resource")
    np.save(tmp_path / "a.npy", X)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        with pytest.raises(tc.FileError) as refused:
            tc.convert(tmp_path / "a.npy", tmp_path / "b.npy", to="float16")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (refused.value.errno, refused.value.filename) == (errno.EFBIG, str(tmp_path / "b.npy"))
