"""Each remedy of a refusal: its word, its subject and the argument that the text names.

SPDX-License-Identifier: Apache-2.0
"""
import copy
import errno
import pathlib
import pickle
import sys

import pytest
import tensorcast as tc
from tensorcast import _core

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "c"))
import refused_files  # noqa: E402

BAD_INPUT = 23
ARGUMENTS = {
    "allow_hard_links": "with allow_hard_links=True",
    "allow_overwriting": "with overwrite=True",
    "choose_one_tensor": "choose one with only=",
    "leave_out": "leave it with exclude=",
    "ignore_scales": "give ignore_scales=True",
    "take_directory": "open the directory",
    "keep_packed": 'with keep=["packed"]',
    "assume_type": "say which with assume_type",
    "match_rule": "in rules=: ",
    "match_chosen": "in only=: ",
    "match_excluded": "in exclude=: ",
    "match_selected": "in select=: ",
    "match_names": "rules.toml:7: ",
    "choose_root": "choose with root=",
}


@pytest.fixture
def folder(tmp_path):
    refused_files.write(tmp_path)
    return tmp_path


def check(error, folder, word, subject, argument=None):
    assert isinstance(error, tc.Error) and error.remedy == word, str(error)
    assert error.subject == refused_files.subject_in(folder, subject)
    assert isinstance(error.code, int) and error.code > 0
    assert (argument or ARGUMENTS[word]) in str(error) and "\n" not in str(error)


def test_every_remedy_has_a_test():
    # The C header's are C++'s (tests/c/constants_test.cc), in the order of their numbers.
    assert _core.remedies == tuple(refused_files.remedies())[1:]
    assert set(_core.remedies) == set(ARGUMENTS)
    assert set(refused_files.CONVERSIONS) == set(ARGUMENTS) - {
        "match_rule", "match_excluded", "match_selected", "match_names"}


@pytest.mark.parametrize("word", refused_files.CONVERSIONS)
def test_of_a_conversion(folder, word):
    source, output, pattern, subject = refused_files.CONVERSIONS[word]
    with pytest.raises(tc.Error) as caught:
        tc.convert(folder / source, folder / output, to="int32" if word == "leave_out" else "float32",
                   only=[pattern] if pattern else (), all_types=True)
    check(caught.value, folder, word, subject)
    if word == "allow_overwriting":
        assert (caught.value.errno, caught.value.filename) == (errno.EEXIST, caught.value.subject)


@pytest.mark.parametrize(("word", "asked"), [
    ("match_rule", {"rules": {"nosuch": "float16"}}), ("match_chosen", {"only": ["nosuch"]}),
    ("match_excluded", {"exclude": ["nosuch"]}), ("match_selected", {"select": ["nosuch"]}),
    ("match_names", {"rename": {"nosuch": "x"}})])
def test_patterns_that_match_nothing_say_whose_they_are(folder, word, asked):
    with pytest.raises(tc.ArgumentError) as caught:
        tc.plan(folder / "two.safetensors", folder / "out.safetensors", to="float16", **asked)
    check(caught.value, folder, word, "nosuch", "in rename=: " if "rename" in asked else None)
    assert caught.value.code == BAD_INPUT
    assert str(caught.value).endswith("'nosuch' matches no tensor (patterns match whole names; "
                                      "list(tensorcast.open(path)) has them)")


def test_a_rule_that_stands_in_a_file(folder):
    made = tc.plan(folder / "two.safetensors", folder / "out.safetensors", to="float16", rules={"w": "float16"})
    json = made.to_json().replace('"where":""', '"where":"rules.toml:7"').replace('"where": ""',
                                                                                '"where": "rules.toml:7"')
    (folder / "two.safetensors").unlink()
    refused_files.write_safetensors(folder / "two.safetensors", {"v": ("F32", [1], bytes(4))})
    with pytest.raises(tc.Error) as caught:
        tc.Plan.from_json(json)
    check(caught.value, folder, "match_names", "w")


def test_of_an_open_file(folder):
    for file, tensor, word in (("scaled.safetensors", "a.weight", "ignore_scales"),
                               ("sharded/model-00001-of-00002.safetensors", "b.weight", "take_directory")):
        with tc.open(folder / file) as opened, pytest.raises(tc.ContentsError) as caught:
            opened.get(tensor, to="float32")
        check(caught.value, folder, word, tensor)
    with pytest.raises(tc.Error) as caught:
        tc.open(folder / "void.npy")
    check(caught.value, folder, "assume_type", "/void.npy")


def test_what_nothing_lifts(folder):
    with pytest.raises(FileNotFoundError) as caught:
        tc.open(folder / "missing.npy")
    error = caught.value
    assert (error.remedy, error.code, error.errno) == (None, 20, errno.ENOENT)
    assert error.subject == error.filename == str(folder / "missing.npy")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (again.remedy, again.code, again.subject) == (None, 20, error.subject)
    (folder / "bad.npy").write_bytes(b"nothing")
    with pytest.raises(tc.ContentsError) as caught:
        tc.open(folder / "bad.npy")
    assert (caught.value.remedy, caught.value.code) == (None, 21)
    assert caught.value.subject == str(folder / "bad.npy") and not hasattr(caught.value, "errno")
    # Of calls without a text, and of Python's part alone.
    with pytest.raises(tc.Error) as caught:
        tc.cast([1.0], "flaot16")
    assert (caught.value.remedy, caught.value.subject) == (None, None)


def test_what_nobody_foresaw_is_an_internal_error():
    # The package checks before: no number is made of this text.
    with pytest.raises(tc.InternalError, match="^internal error: ") as caught:
        _core.load_mdf("none", {"x": "y"}, None)
    assert (caught.value.code, caught.value.remedy, caught.value.subject) == (27, None, None)
