#!/usr/bin/env python3
"""Archives and strings: numpy reads what the tool writes, and the tool what numpy saves.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import sys
import zipfile

import ml_dtypes
import numpy as np

from tool import Tool, ToolError

# Every type that numpy itself has, odd counts, a scalar, zero sizes, both orders.
_NATIVE = ("?", "i1", "u1", "<i2", ">i2", "<u4", ">u8", "<f2", ">f4", "<f8")


def _arrays(seed):
    rng = np.random.default_rng(seed)
    arrays = {}
    for dtype in _NATIVE:
        for shape in ((), (0,), (1,), (3, 5), (2, 3, 7)):
            values = rng.integers(0, 100, shape)
            arrays[f"{np.dtype(dtype).name}/{len(shape)}/{values.size}{dtype[0]}"] = (
                np.asarray(values).astype(dtype))
    arrays["fortran"] = np.asfortranarray(rng.normal(size=(5, 7)))
    arrays["caf\u00e9"] = np.arange(5.0)
    arrays["many"] = rng.normal(size=200_001).astype(np.float32)
    return arrays


def _texts(rng, count):
    """Numbers as people write them, and the numbers."""
    values = rng.normal(size=count) * 10.0 ** rng.integers(-30, 30, count)
    forms = ("{!r}", " {!r}\t", "{:.3e}", "{:+.17g}", "{:f}", "\n{:E} ")
    texts = [forms[i % len(forms)].format(float(value)) for i, value in enumerate(values)]
    texts[:6] = ["nan", "-inf", "Infinity", "-0.0", "  7", "1e400"]
    return texts


def _same(got, want, what):
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    assert got.flags.f_contiguous == want.flags.f_contiguous, f"{what}: another order"
    assert got.tobytes("A") == want.tobytes("A"), f"{what}: other bytes"


def check_copies(tool):
    """What numpy saves, stored and deflated, comes back: names, order, dtypes, every byte."""
    arrays = _arrays(3)
    before, after = tool.folder / "in.npz", tool.folder / "out.npz"
    for save in (np.savez, np.savez_compressed):
        save(before, **arrays)
        tool.run("convert", before, "-o", after, "--to", "float32", "--exclude", "*", "--force",
                 "-q", "--no-report")
        with np.load(after, allow_pickle=False) as loaded:
            assert loaded.files == list(arrays), f"{save.__name__}: names {loaded.files}"
            for name, array in arrays.items():
                _same(loaded[name], array.astype(array.dtype.newbyteorder("<")), name)
        with zipfile.ZipFile(after) as archive:
            assert archive.testzip() is None
            for info in archive.infolist():
                with open(after, "rb") as file:
                    file.seek(info.header_offset + 26)
                    lengths = int.from_bytes(file.read(2), "little") + int.from_bytes(
                        file.read(2), "little")
                begin = info.header_offset + 30 + lengths
                assert begin % 64 == 0, f"{info.filename}: its data begin at {begin}"


def check_casts(tool):
    """Casts inside an archive, to a type of numpy's and to one of ml_dtypes'."""
    arrays = _arrays(4)
    before, after = tool.folder / "in.npz", tool.folder / "out.npz"
    np.savez_compressed(before, **arrays)
    for target, dtype in (("float16", np.dtype(np.float16)),
                          ("bfloat16", np.dtype(ml_dtypes.bfloat16)),
                          ("float8e5m2", np.dtype(ml_dtypes.float8_e5m2))):
        tool.run("convert", before, "-o", after, "--to", target, "--saturate", "false", "--force",
                 "-q", "--no-report")
        with np.load(after, allow_pickle=False) as loaded:
            for name, array in arrays.items():
                want = array.astype(array.dtype.newbyteorder("<"))
                if want.dtype.kind == "f":
                    want = want.astype(dtype) if want.dtype != dtype else want
                    _same(loaded[name].view(dtype), want, f"{name} as {target}")
                else:
                    _same(loaded[name], want, f"{name}, left alone")


def check_parsed(tool):
    """Texts to float64 and float32, as numpy itself reads them."""
    rng = np.random.default_rng(5)
    before, after = tool.folder / "in.npy", tool.folder / "out.npy"
    texts = _texts(rng, 10_001)
    for array in (np.array(texts), np.array(texts).astype(">U40"),
                  np.array([text.encode() for text in texts]),
                  np.asfortranarray(np.array(texts[:10_000]).reshape(100, 100)),
                  np.array("2.5"), np.array([], "<U3")):
        np.save(before, array)
        tool.run("convert", before, "-o", after, "--to", "float64", "--force", "-q",
                 "--no-report")
        want = np.asarray([float(text) for text in array.ravel(order="K").tolist()])
        got = np.load(after)
        assert got.shape == array.shape, f"shape {got.shape}"
        assert got.flags.f_contiguous == array.flags.f_contiguous
        flat = got.ravel(order="K")
        nan = np.isnan(want)
        assert np.array_equal(np.isnan(flat), nan)
        assert np.array_equal(flat[~nan].view(np.uint64), want[~nan].view(np.uint64)), array.dtype


def check_printed(tool):
    """float64 as text: numpy reads the same numbers, in an array as narrow as it can be."""
    rng = np.random.default_rng(6)
    values = rng.normal(size=(101, 99)) * 10.0 ** rng.integers(-300, 300, (101, 99))
    before, after = tool.folder / "in.npy", tool.folder / "out.npy"
    for array in (values, np.asfortranarray(values), np.array(0.1), np.zeros((0, 2))):
        np.save(before, array)
        tool.run("convert", before, "-o", after, "--to", "string", "--force", "-q", "--no-report")
        got = np.load(after, allow_pickle=False)
        assert got.dtype.kind == "U" and got.shape == array.shape
        assert got.flags.f_contiguous == array.flags.f_contiguous
        assert got.size == 0 or np.array_equal(got.astype(np.float64), array)
        widest = max((len(text) for text in got.ravel().tolist()), default=1)
        assert got.dtype.itemsize == 4 * max(1, widest), f"{got.dtype} for {widest} characters"


def check_texts_copied(tool):
    """Strings that nothing selects come back as they were, whatever they hold."""
    before, after = tool.folder / "in.npz", tool.folder / "out.npz"
    arrays = {"u": np.array([["caf\u00e9", "\U0001F600"], ["", "a\0b"]]),
              "s": np.array([b"\xff\xfe", b"", b"abc"]),
              "wide": np.array(["a", "b"], "<U50"), "w": np.array([1.5, 2.5], np.float32)}
    np.savez(before, **arrays)
    tool.run("convert", before, "-o", after, "--to", "float16", "--force", "-q", "--no-report")
    with np.load(after, allow_pickle=False) as loaded:
        for name in ("u", "s", "wide"):
            _same(loaded[name], arrays[name], name)


_CHECKS = {"copies": check_copies, "casts": check_casts, "parsed": check_parsed,
           "printed": check_printed, "texts_copied": check_texts_copied}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the tensorcast executable")
    arguments = parser.parse_args()
    failures = 0
    with Tool(arguments.tool) as tool:
        for name, check in _CHECKS.items():
            try:
                check(tool)
            except (AssertionError, ToolError, ValueError, KeyError) as error:
                print(f"{name}: {type(error).__name__}: {error}")
                failures += 1
    print(f"npz: {len(_CHECKS) - failures} of {len(_CHECKS)} checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
