"""Which values casts of numpy's arrays give, beside rationals, numpy and ml_dtypes.

SPDX-License-Identifier: Apache-2.0
"""
import math

import ml_dtypes
import numpy as np
import oracle
import pytest
import tensorcast as tc

# Every code of the narrow floats; of the wide ones what lies around every midpoint and limit.
NARROW = [name for name in oracle.DTYPES if oracle.DTYPES[name].itemsize <= 2]


def marks():
    """Floats where casts to narrow floats and integers turn, as float64."""
    values = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e300, -1e300, 5e-324, 1e-40, 3e9, 2.0**31,
              2.0**63, -(2.0**63), 2.0**64, 1e25, 448, 464, 465, 512, 65504, 65519.99, 65520, 2.5, 1.5,
              0.5, 7.5, -8.5, 8, 127.5, 128, 255.9, 256, 1 + 2.0**-8 + 2.0**-40]
    for name in oracle.NARROW_FLOATS:
        finite = oracle._finite_values(name)[0]
        for low, high in list(zip(finite, finite[1:]))[:: max(1, len(finite) // 60)]:
            middle = float((low + high) / 2)
            values += [float(low), middle, math.nextafter(middle, math.inf),
                       math.nextafter(middle, 0)]
    return np.array(values + [-value for value in values])


def same(got, want):
    return (got == want and math.copysign(1, got) == math.copysign(1, want)) or (
        math.isnan(got) and math.isnan(want))


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("to", oracle.NARROW_FLOATS)
def test_float64_to_narrow_floats_beside_rationals(to, saturate):
    x = marks()
    got = tc.cast(x, to, saturate=saturate)
    assert got.dtype == oracle.DTYPES[to]
    for value, result in zip(x.tolist(), got.astype(np.float64).tolist(), strict=True):
        want = oracle.cast_to_narrow_float(value, to, saturate)
        if want == 0 and ("fnuz" in to or math.isnan(value)):
            assert result == 0, value
        else:
            assert same(result, want), (value, result, want)


@pytest.mark.parametrize("to", oracle.INTEGERS)
def test_float64_to_integers_beside_rationals(to):
    x = marks()
    got = tc.cast(x, to).astype(object).tolist()
    assert [int(value) for value in got] == [oracle.cast_to_integer(v, to) for v in x.tolist()]


@pytest.mark.parametrize("source", NARROW)
@pytest.mark.parametrize("to", ["float32", "float64"])
def test_every_code_widens_to_its_value(source, to):
    x = oracle.every_code(source)
    with np.errstate(all="ignore"):
        want = x.astype(to)  # exact, so numpy and ml_dtypes have no choice
    got = tc.cast(x, to)
    assert np.array_equal(got, want, equal_nan=True)
    assert np.array_equal(np.signbit(got)[got == 0], np.signbit(want)[want == 0])


@pytest.mark.parametrize("source", NARROW)
def test_every_code_comes_back(source):
    x = oracle.every_code(source)
    # float8e8m0's powers of two are float32's, so nothing is rounded either way
    back = tc.cast(tc.cast(x, "float32"), source)
    is_nan = np.isnan(x.astype(np.float64)) if source in oracle.NARROW_FLOATS else np.zeros(x.size, bool)
    codes = f"u{x.dtype.itemsize}"
    infinite = np.isinf(x.astype(np.float64))
    keeps = ~is_nan & ~(infinite if source == "float8e5m2" else False)
    if source == "float8e8m0":
        keeps = ~np.isnan(x.astype(np.float64))
    assert np.array_equal(back.view(codes)[keeps], x.view(codes)[keeps])


@pytest.mark.parametrize("to", ["bfloat16", "float16"])
def test_float32_rounds_as_numpy_does(to):
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2**32, 200_000, np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        want = x.astype(oracle.DTYPES[to])
    got = tc.cast(x, to)
    number = ~np.isnan(x)
    assert np.array_equal(got.view(np.uint16)[number], want.view(np.uint16)[number])
    assert np.isnan(got[~number].astype(np.float32)).all()


@pytest.mark.parametrize("source", [name for name in oracle.INTEGERS if oracle.INTEGERS[name][0] >= 8])
@pytest.mark.parametrize("to", [name for name in oracle.INTEGERS if oracle.INTEGERS[name][0] >= 8])
def test_integers_wrap_as_numpy_does(source, to):
    x = np.random.default_rng(3).integers(0, 256, 8 * 1000, np.uint8).view(source)
    assert np.array_equal(tc.cast(x, to), x.astype(to))


def test_integer_overflow_saturates():
    x = np.array([-1e30, -129, 127.9, 128, math.inf, -math.inf, math.nan])
    assert tc.cast(x, "int8", integer_overflow="saturate").tolist() == [-128, -128, 127, 127, 127, -128, 0]


def test_float8e8m0_modes():
    x = np.array([1.0, 1.1, 1.5, 1.6])
    assert tc.cast(x, "float8e8m0").astype(float).tolist() == [1, 2, 2, 2]
    assert tc.cast(x, "float8e8m0", round_mode="down").astype(float).tolist() == [1, 1, 1, 1]
    assert tc.cast(x, "float8e8m0", round_mode="nearest").astype(float).tolist() == [1, 1, 2, 2]


def test_nan_and_infinity_options():
    inf = np.array([math.inf], np.float32)
    assert tc.cast(inf, "float8e4m3fnuz").astype(float)[0] == 240
    assert math.isnan(tc.cast(inf, "float8e4m3fnuz", fnuz_infinity="nan").astype(float)[0])
    nan = np.array([math.nan], np.float32)
    assert tc.cast(nan, "float4e2m1").view(np.uint8)[0] in (0, 8)
    assert tc.cast(nan, "float4e2m1", finite_only_nan="max").astype(float)[0] == 6


@pytest.mark.parametrize("name", oracle.BITS)
def test_packed_streams(name):
    bits = oracle.BITS[name]
    x = np.tile(oracle.every_code(name), 20)[:77]
    codes = x.view(np.uint8).astype(np.uint16) & ((1 << bits) - 1)
    stream = np.packbits(((codes[:, None] >> np.arange(bits)) & 1).astype(np.uint8).ravel(),
                         bitorder="little")
    assert np.array_equal(tc.cast(x, name, packed=True), stream)
    unpacked = tc.cast(stream, name, from_type=name, packed="in", shape=77)
    assert unpacked.tobytes() == x.tobytes()
    wide = tc.cast(stream, "float32", from_type=name, packed=True, shape=(7, 11))
    assert np.array_equal(wide, x.astype(np.float32).reshape(7, 11))
    assert np.array_equal(tc.cast(wide, name, packed=True), stream)


def values_of(name):
    """Every value of a type of less than a byte, as float64."""
    return np.unique(oracle.every_code(name).astype(np.float64))


@pytest.mark.parametrize("name", oracle.BITS)
def test_narrow_elements_have_the_bytes_that_ml_dtypes_writes(name, tmp_path):
    """Of every value, by every way out: the bytes of ml_dtypes' own array of these values."""
    values = values_of(name)
    own = values.astype(oracle.DTYPES[name])
    bytes_of_own = np.array([int(v) for v in values], own.dtype) if name in oracle.INTEGERS else own
    assert own.tobytes() == bytes_of_own.tobytes()  # ml_dtypes agrees with itself
    want, many = own.tobytes(), np.tile(values, (1 << 21) // values.size)
    out = np.full(values.shape, 0xFF, np.uint8).view(own.dtype)
    tc.cast(values, out=out)
    np.save(tmp_path / "x.npy", values)
    graph = tc.graph.Graph(28)
    graph.mark_output(graph.cast(graph.add_input("x", "float64"), name), "y")
    graph.mark_output(graph.add_constant("c", own), "c")
    made = tc.graph.Session(graph).run([values])
    ways = {
        "cast": tc.cast(values, name), "out": out, "copy": tc.cast(own, name), "strides": tc.cast(values[::-1], name)[::-1],
        "list": tc.cast(values.tolist(), name), "loss": tc.cast(values, name, loss=True)[0],
        "texts": tc.parse(tc.format(values), name), "like": tc.cast(values, like=own),
        "file": tc.open(tmp_path / "x.npy").get("x", to=name), "session": made["y"], "constant": made["c"],
        "model": tc.graph.Session.load(graph.serialize()).run([values])["y"],
        "unpacked": tc.cast(tc.cast(values, name, packed=True), name, from_type=name, packed="in", shape=values.size),
        "0-d": np.array([tc.cast(value, name) for value in values], own.dtype),
    }
    for way, got in ways.items():
        assert got.dtype == own.dtype and got.tobytes() == want, way
    assert tc.cast(many, name).tobytes() == many.astype(own.dtype).tobytes()


@pytest.mark.parametrize("name", oracle.BITS)
def test_what_stands_above_a_narrow_element_is_not_read(name):
    """ml_dtypes' arithmetic leaves bits there: -x of int4 is 0xFF for 1."""
    codes = np.arange(256, dtype=np.uint8)
    x, clean = codes.view(oracle.DTYPES[name]), (codes & (1 << oracle.BITS[name]) - 1).view(oracle.DTYPES[name])
    assert tc.cast(x, name).tobytes() == clean.tobytes()
    assert tc.cast(x, "float32").tobytes() == tc.cast(clean, "float32").tobytes()
    assert tc.cast(x, name, packed=True).tobytes() == tc.cast(clean, name, packed=True).tobytes()
    if name in ("int4", "int2"):
        negative = -np.array([1, 0], x.dtype)
        assert tc.cast(negative, x.dtype).tobytes() == np.array([-1, 0], x.dtype).tobytes()


def test_more_than_one_piece_of_narrow_elements():
    x = np.random.default_rng(1).integers(-8, 8, (1 << 20) + 12345).astype(np.int8)
    four = tc.cast(x, "int4")
    assert np.array_equal(four.astype(np.int8), x)
    assert np.array_equal(tc.cast(four, "float16").astype(np.int8), x)
    stream = tc.cast(four, "int4", packed=True)
    low, high = stream & 15, stream >> 4
    want = np.stack([low, high], 1).ravel()[: x.size]
    assert np.array_equal(want, x.view(np.uint8) & 15)


def test_raw_codes_by_from_type():
    raw = np.array([0x3F80, 0x7F80, 0xC049], np.uint16)
    assert tc.cast(raw, "float32", from_type="bfloat16").tolist() == [1.0, math.inf, -3.140625]
    assert tc.cast(raw.astype(">u2"), "float32", from_type="bfloat16").tolist() == [1.0, math.inf, -3.140625]


@pytest.mark.parametrize("threads", [1, 3, 0])
@pytest.mark.parametrize("to", ["bfloat16", "float8_e4m3fn", "int4", "float6_e2m3fn"])
def test_threads_change_nothing(threads, to):
    x = np.random.default_rng(5).standard_normal(2_500_000).astype(np.float32) * 4
    assert np.array_equal(tc.cast(x, to, threads=threads).view("u1"), tc.cast(x, to).view("u1"))


def sample(name):
    """Values of a type: every one of a narrow type, of a wide one those around which casts turn."""
    dtype = oracle.DTYPES[name]
    if name in ("float32", "float64"):
        with np.errstate(over="ignore"):
            return marks().astype(dtype)
    if name in oracle.INTEGERS and dtype.itemsize > 1:
        limits = np.iinfo(dtype)
        random = np.random.default_rng(11).integers(0, 256, 200 * dtype.itemsize, np.uint8).view(dtype)
        return np.append(random, np.array([limits.min, limits.max, 0, 1, limits.max // 2 + 1], dtype))
    return oracle.every_code(name)[:: 64 if dtype.itemsize == 2 else 1]  # infinities and NaN among them


def numbers(array, name):
    """An array's values as exact Python numbers."""
    is_float = "float" in name
    return array.astype(np.float64 if is_float else np.uint64 if name == "uint64" else np.int64).tolist()


@pytest.mark.parametrize("source", oracle.DTYPES)
def test_every_pair_beside_rationals(source):
    x = sample(source)
    values = numbers(x, source)
    for to in oracle.DTYPES:
        got = tc.cast(x, to)
        assert got.dtype == oracle.DTYPES[to]
        if source == to:
            assert got.tobytes() == x.tobytes(), to
        elif to in ("float32", "float64"):
            with np.errstate(all="ignore"):
                want = x.astype(to)  # one rounding, to nearest, by the processor
            assert np.array_equal(got, want, equal_nan=True), to
        else:
            for value, result in zip(values, numbers(got, to), strict=True):
                want = oracle.cast(value, to)
                if want == 0 and ("fnuz" in to or math.isnan(value)):
                    assert result == 0, (to, value)
                else:
                    assert same(result, want), (to, value, result, want)


def test_ml_dtypes_agrees_where_it_saturates_nothing():
    """ml_dtypes never saturates: ours with saturate=False, for every float16."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = x[~np.isnan(x)]
    for to in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz,
               ml_dtypes.float8_e5m2fnuz):
        with np.errstate(all="ignore"):
            want = x.astype(to)
        got = tc.cast(x, to, saturate=False)
        assert np.array_equal(got.view(np.uint8), want.view(np.uint8)), to
