#!/usr/bin/env python3
"""The Python package beside JAX: arrays in and out, and what is refused.

    check_jax.py --tool TOOL      (which says where the build is)

The package is that of tests/python's wheel, which ctest's python.wheel installs.

SPDX-License-Identifier: Apache-2.0
"""
import argparse

import installed_wheel


def types(tc, jax, np):
    """Every type that JAX has, to and from float32, beside the cast of numpy's array."""
    x = np.float32([[0.5, 1, -2], [3, 0, 448]])
    for name in tc.type_names():
        if "64" in name or name.startswith(("float6", "int2", "uint2", "string")):
            continue
        got = tc.cast(jax.numpy.asarray(x), name)
        want = tc.cast(x, name)
        assert isinstance(got, jax.Array) and got.dtype == want.dtype and got.shape == (2, 3), name
        assert np.asarray(got).tolist() == want.tolist(), name
        back = tc.cast(got, jax.numpy.float32)
        assert isinstance(back, jax.Array) and np.array_equal(np.asarray(back), tc.cast(want, "float32")), name
        assert tc.cast(got, name) is got, name  # nothing can write to it


def narrow_types(tc, jax, np):
    """Types of less than a byte, whose second result of a shape is made by a compiled function."""
    for name in ("int4", "uint4", "int2", "uint2", "float4_e2m1fn"):
        dtype = tc.finfo(name).dtype
        for size in (0, 1, 17, 1000):
            for seed in range(3):
                x = np.random.default_rng(seed).standard_normal(size).astype("float32") * 4
                got = tc.cast(jax.numpy.asarray(x), name)
                assert isinstance(got, jax.Array) and got.dtype == dtype and got.shape == x.shape, name
                assert np.asarray(got).tobytes() == tc.cast(x, name).tobytes(), (name, size, seed)
    for _ in range(3):
        try:
            tc.cast(jax.numpy.ones(3), "float6_e2m3fn")
        except tc.Error as error:
            assert "jax has no arrays of float6_e2m3fn" in str(error), error
        else:
            raise AssertionError("jax has no float6")


def kinds(tc, jax, np):
    """Which kind comes out."""
    ones = jax.numpy.ones(2)
    assert isinstance(tc.cast(np.ones(2), like=ones), jax.Array)
    assert isinstance(tc.cast(ones, like=np.ones(2, np.int8)), np.ndarray)
    got, report = tc.cast(jax.numpy.arange(4) * 1000.0, "float8_e4m3fn", loss=True)
    assert report.counts["to_limit"] == 3 and isinstance(got, jax.Array)
    assert tc.cast(jax.numpy.float32(1.5), "float16").shape == ()


def results(tc, jax, np):
    """Results of every size hold what numpy's do, own their memory and give it back."""
    limit = tc.result_memory()["limit"]
    tc.result_memory(limit=0)
    tc.result_memory(limit=32 << 20)
    for size in (0, 1, 16, 1000, 32768, 1_000_003):
        x = jax.numpy.linspace(-500, 500, size, dtype="float32")
        for name in ("bfloat16", "float8_e4m3fn", "int8", "uint16", "bool", "float16", "int4", "float4_e2m1fn"):
            got = tc.cast(x, name)
            assert np.asarray(got).tobytes() == tc.cast(np.asarray(x), name).tobytes(), (size, name)
        y = tc.cast(x, "bfloat16")
        assert jax.numpy.array_equal(jax.jit(lambda a: a + a)(y), y + y)
        assert jax.numpy.array_equal(y, x.astype("bfloat16"))
    del got, y
    kept = tc.result_memory()["kept"]
    assert 0 < kept <= 32 << 20
    held = tc.cast(x, "int32")
    values = np.asarray(held).copy()
    for _ in range(20):
        tc.cast(x * 2, "int32")
    assert np.array_equal(np.asarray(held), values)
    matrix = jax.numpy.arange(12.0).reshape(3, 4)
    assert np.asarray(tc.cast(matrix.T, "int8")).tolist() == np.arange(12).reshape(3, 4).T.tolist()
    tc.result_memory(limit=limit)


def refusals(tc, jax):
    ones = jax.numpy.ones(2)
    for call, words in ((lambda: tc.cast(ones, "float64"), "jax_enable_x64"),
                        (lambda: tc.cast(ones, "string"), "no strings"),
                        (lambda: tc.cast(ones, out=ones), "nothing can write to"),
                        (lambda: jax.jit(lambda x: tc.cast(x, "float16"))(ones), "tracing"),
                        (lambda: tc.cast(ones.astype("complex64"), "int8"), "not an element type")):
        try:
            call()
        except tc.Error as error:
            assert words in str(error) and "\n" not in str(error), error
        else:
            raise AssertionError(f"an error with {words!r} was expected")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    installed_wheel.add_to_path(parser.parse_args().tool)
    import jax
    import numpy as np
    import tensorcast as tc

    types(tc, jax, np)
    narrow_types(tc, jax, np)
    kinds(tc, jax, np)
    results(tc, jax, np)
    refusals(tc, jax)
    print("jax: every type that it has, narrow ones again, kinds, results of every size, refusals")


if __name__ == "__main__":
    main()
