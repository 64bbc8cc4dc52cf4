"""What type checkers and editors read of the package is what it takes: mypy and pyright on right and on wrong
calls, the words and options of the signatures beside those of the extension.

SPDX-License-Identifier: Apache-2.0
"""
import inspect
import json
import pathlib
import re
import subprocess
import sys
import typing

import ml_dtypes
import numpy as np
import pytest
import tensorcast as tc
from tensorcast import _core, frameworks, signatures, types

CALLS = pathlib.Path(__file__).with_name("typed_calls.py")


def wrong_lines():
    """The lines that have to be refused, and a pattern of what is said of them."""
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    return {number: line.partition("# wrong: ")[2] for number, line in enumerate(lines, 1) if "# wrong: " in line}


def hold(said):
    """`said`: line -> what a checker says of it. All wrong lines are there, and no other."""
    wrong = wrong_lines()
    assert len(wrong) > 15 and sorted(said) == sorted(wrong), said
    for number, pattern in wrong.items():
        assert re.search(pattern, said[number]), (number, said[number])


def test_mypy(tmp_path):
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--hide-error-context", "--cache-dir", tmp_path, CALLS],
                          capture_output=True, text=True, cwd=tmp_path, check=False)
    said = {}
    for number, text in re.findall(r"^[^\n]*:(\d+): error: (.*)$", done.stdout, re.MULTILINE):
        said[int(number)] = said.get(int(number), "") + text
    hold(said)


def test_pyright(tmp_path):
    pyright = pathlib.Path(sys.executable).with_name("pyright")
    command = [pyright] if pyright.exists() else [sys.executable, "-m", "pyright"]
    done = subprocess.run([*command, "--outputjson", "--pythonpath", sys.executable, CALLS], capture_output=True, text=True,
                          cwd=tmp_path, check=False)
    said = {}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            number = each["range"]["start"]["line"] + 1
            said[number] = said.get(number, "") + each["message"]
    hold(said)


def keywords(function):
    return {name for name, each in inspect.signature(function).parameters.items() if each.kind is each.KEYWORD_ONLY}


def test_options_are_those_of_the_extension():
    options = set(typing.get_type_hints(signatures.CastOptions))
    assert options == set(_core.cast_options)
    arguments = set(typing.get_type_hints(signatures.CastArguments))
    assert arguments | {"like", "out", "loss"} == keywords(tc.cast)
    assert set(typing.get_type_hints(signatures.PlanOptions)) == keywords(tc.plan) - {"to", "rules"} | options
    opened = {*signatures.OpenOptions.__annotations__}
    assert opened == keywords(tc.open) - {"framework"}
    assert opened | {*signatures.LoadOptions.__annotations__} == keywords(tc.load_file) - {"framework"} | options
    assert {*signatures.ReadOptions.__annotations__} | {"like", "out", "loss"} == keywords(tc.TensorFile.get_tensor) | options


def test_every_word_of_a_signature_is_taken(tmp_path):
    for option, words in (("round_mode", signatures.RoundMode), ("integer_overflow", signatures.IntegerOverflow),
                          ("fnuz_infinity", signatures.FnuzInfinity), ("finite_only_nan", signatures.FiniteOnlyNan),
                          ("string_style", signatures.StringStyle)):
        for word in typing.get_args(words):
            tc.cast(np.ones(1), "float16", **{option: word})
        with pytest.raises(tc.ArgumentError, match=option):
            tc.cast(np.ones(1), "float16", **{option: "other"})
    np.savez(tmp_path / "a.npz", w=np.ones((64, 256), np.float32))
    assert set(typing.get_args(signatures.Framework)) == set(frameworks._NAMES)
    for word in typing.get_args(signatures.Keep):
        tc.plan(tmp_path / "a.npz", tmp_path / "b.npz", to="float16", keep=[word])
    for word in typing.get_args(types.ScaledFormat):
        suffix = "gguf" if re.fullmatch("q._.", word) else "safetensors"
        try:
            tc.plan(tmp_path / "a.npz", tmp_path / f"b.{suffix}", to=word)
        except tc.Error as error:  # which is not about the word
            assert "not an element type" not in str(error), word


def test_names_of_types():
    names = typing.get_args(types.TypeName)
    assert set(names) >= set(tc.type_names()) and len(set(names)) == len(names)
    for name in names:
        tc.type_name(name)
    # ml_dtypes' own names are among them.
    for name in tc.type_names():
        dtype = tc.finfo(name).dtype
        assert name == "string" or dtype.name in names, dtype
    assert np.dtype(ml_dtypes.float8_e4m3fn).name in names


def test_dir_is_what_is_public():
    """`__all__`, and the two that `import *` leaves to Python's own."""
    assert dir(tc) == sorted([*tc.__all__, "__version__", "format", "open"])
    assert all(hasattr(tc, name) for name in dir(tc))


@pytest.mark.parametrize(("name", "said"), [
    ("float8", "may be float8e4m3fn or float8e5m2: give one of these names"),
    ("Float6", "may be float6e2m3 or float6e3m2: give one of these names"),
    ("nvfp4", "is a format of weights with scales, which plan and convert write: it is not an element type"),
    ("FP8_ROW", "is a format of weights with scales, which plan and convert write: it is not an element type"),
    ("tensor(float)", "is ONNX's word for tensors of float32: give that"),
    ("tensor(double)", "is ONNX's word for tensors of float64: give that"),
    ("tensor(float8e4m3fn)", "is ONNX's word for tensors of float8e4m3fn: give that"),
    ("int1", "is not an element type: those of less than a byte are int2, int4, uint2 and uint4"),
    ("torch.int1", "is not an element type: those of less than a byte are int2, int4, uint2 and uint4"),
    ("complex64", "is not an element type: cast the real part and the imaginary one"),
    ("torch.qint8", "has a scale beside its integers, and is not an element type: cast x.dequantize()"),
    ("GPTQ", 'is a layout of weights, which plan and convert write with to="int4-group" and layout='),
    ("Q4_K_M", "is a type of GGUF's, with codes and scales, which can be read but not written"),
    ("iq2-xxs", "is a type of GGUF's, with codes and scales, which can be read but not written"),
    ("tf32", "is not a stored type: the nearest are float32 and bfloat16"),
])
def test_names_that_mean_something_else(name, said):
    with pytest.raises(tc.ArgumentError) as caught:
        tc.cast([1.0], name)
    assert str(caught.value) == f'"{name}" {said}'


@pytest.mark.parametrize("numbers", [[1, 2], [1, 2.5], [True, False], [True, 2.5], [float("nan"), 1], [2**63, 2**63 + 1],
                                     [[1, 2.5], [3, 4]], [np.float32(0.1), np.float32(2)], [np.int8(3), 2.5],
                                     [np.float16(1.5), np.int64(2)], [ml_dtypes.bfloat16(1.5), ml_dtypes.bfloat16(2)]])
@pytest.mark.parametrize("to", ["float16", "int8", "string", "bfloat16"])
def test_objects_that_are_numbers(numbers, to):
    objects = np.array(numbers, object)
    made, want = tc.cast(objects, to), tc.cast(np.array(numbers), to)  # as numpy's own array of them
    assert made.dtype == want.dtype and made.shape == want.shape
    assert made.tolist() == want.tolist() if to == "string" else made.tobytes() == want.tobytes()
    if to == "float16" and objects.ndim == 1 and max(numbers) < 4:
        assert made.tolist() == [float(np.float16(number)) for number in numbers]


@pytest.mark.parametrize(("objects", "error", "words"), [
    ([1, "2"], tc.KindError, r"x\[1\] is str: an array of objects has to hold only numbers, or only str and bytes"),
    (["1", 2], tc.KindError, r"x\[1\] is int: an array of objects has to hold only numbers, or only str and bytes"),
    ([[1, 2], [3, None]], tc.KindError, r"x\[1, 1\] is NoneType"),
    ([2**60 + 1, 0.5], tc.RangeError, "1152921504606846977"),
    ([2**70, 1], tc.RangeError, "64 bits"),
    ([1 + 2j, 1], tc.KindError, ".real and .imag")])
def test_objects_that_are_not_all_numbers(objects, error, words):
    with pytest.raises(error, match=words):
        tc.cast(np.array(objects, object), "float16")
