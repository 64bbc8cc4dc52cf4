"""Arrays of every layout: shapes, strides, byte orders, offsets, out and like, ownership.

SPDX-License-Identifier: Apache-2.0
"""
import gc
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
import tensorcast as tc
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

TYPES = ["float32", "float64", "float16", "int8", "uint16", "int64"]


@st.composite
def views(draw):
    """An array of any strides, offset and byte order, over a random memory."""
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    if draw(st.booleans()):
        dtype = dtype.newbyteorder()
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    steps = [draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in shape]
    sizes = [max(1, size * abs(step)) for size, step in zip(shape, steps)]
    base = np.random.default_rng(draw(st.integers(0, 99))).integers(-100, 100, sizes)
    array = base.astype(dtype)
    if draw(st.booleans()):  # not aligned
        raw = np.zeros(array.nbytes + 1, np.uint8)
        moved = raw[1:].view(dtype).reshape(array.shape)
        moved[...] = array
        array = moved
    array = array[tuple(slice(None, None, step) for step in steps)]
    array = array[tuple(slice(0, size) for size in shape)]
    axes = draw(st.permutations(range(array.ndim)))
    return array.transpose(axes)


@settings(max_examples=400, deadline=None)
@given(views(), st.sampled_from(["float32", "int4", "bfloat16", "float64", "uint8", "bool"]))
def test_any_layout(x, to):
    got = tc.cast(x, to)
    want = np.array([tc.cast(value, to) for value in np.ascontiguousarray(x).reshape(-1)],
                    dtype=got.dtype).reshape(x.shape)
    assert got.shape == x.shape
    assert np.array_equal(got.view(f"u{got.dtype.itemsize}") if got.ndim else got,
                          want.view(f"u{got.dtype.itemsize}") if got.ndim else want)


@settings(max_examples=300, deadline=None)
@given(views(), st.integers(0, 40), st.integers(0, 40), st.sampled_from(TYPES))
def test_out_of_any_overlap(x, first, second, to):
    """out inside the memory that is read, at any distance: as if x had been copied before."""
    memory = np.random.default_rng(first).integers(0, 100, 400).astype(np.uint8)
    dtype = np.dtype(to)
    source = memory[first:][: 8 * 16].view(np.int32)
    count = source.size
    target = memory[second:][: count * dtype.itemsize].view(dtype)
    want = tc.cast(source.copy(), to)
    assert tc.cast(source, out=target) is target
    assert np.array_equal(target, want, equal_nan=True)
    strided = np.full((*x.shape, 2), 7, dtype)[..., 0]
    tc.cast(x, to, out=strided)
    assert np.array_equal(strided, tc.cast(x, to), equal_nan=True)


def test_out_is_written_in_place():
    x = np.arange(100, dtype=np.float32)
    address = x.ctypes.data
    result = tc.cast(x, out=x.view(np.int32))
    assert result.ctypes.data == address and result.tolist() == list(range(100))
    y = np.arange(8, dtype=np.float32)
    big = np.zeros(8, ">i4")
    tc.cast(y, out=big)
    assert big.dtype == ">i4" and big.tolist() == list(range(8))
    stream = np.zeros(2, np.uint8)
    assert tc.cast([1, 2, 3], "int4", packed=True, out=stream) is stream
    assert stream.tolist() == [0x21, 3]


def test_a_dtype_in_the_other_byte_order_is_given():
    got = tc.cast(np.float32([1.5, -2]), np.dtype(">f8"))
    assert got.dtype == ">f8" and got.tolist() == [1.5, -2]
    assert tc.cast(["7"], np.dtype(">i2")).tobytes() == b"\0\7"


def test_types_by_numpys_texts():
    assert tc.cast([1.5], ">f4").dtype == ">f4" and tc.cast([1.5], "=f4").dtype == np.float32
    assert tc.cast([1.5], np.dtype(">i2").str).tobytes() == b"\0\1"
    for text in ("?", "d", "e", "uint", "ubyte", "longlong", "|b1", "|u1", "<i8"):
        assert tc.cast([1], text).dtype == np.dtype(text)
        assert tc.cast([1], text).dtype == np.dtype(text)  # once more, when it may be remembered
    for text in ("U", "<U8", "|S5", "S"):
        assert tc.cast([15], text).dtype.kind == np.dtype(text).kind
    assert tc.cast([15], "<U8").dtype == "<U8" and tc.cast([15], "O").dtype == object
    assert tc.cast([15], np.dtypes.StringDType).dtype == np.dtypes.StringDType()
    assert tc.cast([15], np.dtypes.Float16DType).dtype == np.float16
    assert tc.cast([15], np.int64(7)).dtype == np.int64
    # The others: each name of the library that numpy knows too means the same or is refused.
    for text in ("i1", "f2", "float16", "float64", "double", "half", "int8", "uint64", "bool"):
        assert tc.finfo(text).dtype == np.dtype(text)


def test_lists_keep_what_python_holds():
    assert tc.cast([2**63, 2**64 - 1], "uint64").tolist() == [2**63, 2**64 - 1]
    assert tc.cast([2**53, 0.5], "int64").tolist() == [2**53, 0]
    assert tc.cast([2**60, 0.5], "float64").tolist() == [2.0**60, 0.5]
    assert tc.cast(["a\0", "b"], "string").tolist() == ["a\0", "b"]
    assert tc.cast(b"a\0", "string") == "a\0"


def test_void_bytes_with_a_type():
    void = np.array([1.5, -2], ml_dtypes.bfloat16).view("V2")
    assert tc.cast(void, "float32", from_type="bfloat16").tolist() == [1.5, -2]
    assert tc.cast(np.array([0x38], np.uint8).view("V1"), "float32", from_type="float8_e4m3fn") == [1]
    with pytest.raises(tc.KindError, match="say what its bytes are with from_type"):
        tc.cast(void, "float32")


def test_fortran_order_stays():
    x = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    y = tc.cast(x, "bfloat16")
    assert y.flags.f_contiguous and np.array_equal(y.astype(np.float32), x)
    z, report = tc.cast(x * 300, "float8_e4m3fn", loss=True)
    assert np.array_equal(z.astype(np.float32), tc.cast((x * 300).copy("C"), "float8_e4m3fn").astype(np.float32))
    assert report.first["to_limit"]["index"] == 2  # in C's order: x[0, 2] is 600


def test_like_gives_type_and_kind():
    x = np.float32([1.5, 2.5])
    assert tc.cast(x, like=np.zeros(1, ml_dtypes.int4)).dtype == ml_dtypes.int4
    assert tc.cast(x, "float16", like=np.zeros(1, np.float16)).dtype == np.float16
    with pytest.raises(tc.ArgumentError, match="like holds float16, and to says int8"):
        tc.cast(x, "int8", like=np.zeros(1, np.float16))


def test_scalars_lists_and_zero_dimensions():
    assert isinstance(tc.cast(np.float32(1.5), "float64"), np.float64)
    assert tc.cast(2.5, "int4") == 2
    assert tc.cast(np.array(2.5), "int4").shape == ()
    assert tc.cast([], "float16").shape == (0,)
    assert tc.cast(np.zeros((0, 3), np.float32), "int4").shape == (0, 3)
    assert tc.cast([[1, 2], [3, 4]], "bfloat16").shape == (2, 2)
    assert tc.cast([True, False], "float32").tolist() == [1, 0]
    assert tc.cast([2**63], "uint64").tolist() == [2**63]


def test_subclasses_are_what_they_hold(tmp_path):
    matrix = np.asmatrix([[1.0, 2.0]])
    assert type(tc.cast(matrix, "float16")) is np.ndarray
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(4,))
    mapped[:] = [1, 2, 3, 4]
    assert tc.cast(mapped, "int8").tolist() == [1, 2, 3, 4]


def test_what_has_dlpack_or_an_array_interface():
    class Interface:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    class Exchanged:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **named):
            return self.array.__dlpack__(**named)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.float32([1.5, 448])
    assert tc.cast(Interface(x), "int8").tolist() == tc.cast(x, "int8").tolist()
    assert tc.cast(Exchanged(x), "int8").tolist() == tc.cast(x, "int8").tolist()
    assert tc.cast(Exchanged(x[::-1]), "int8").tolist() == tc.cast(x[::-1], "int8").tolist()


def test_no_memory_is_lost():
    """Casts of every way and kind, many times: what is held does not grow."""
    x = np.arange(4096, dtype=np.float32)
    strings = np.array(["1", "2"], object)

    def once():
        tc.cast(x, "float8_e4m3fn")
        tc.cast(x[::2], "int4", packed=True)
        tc.cast(strings, "float16")
        tc.cast(tc.format(x[:4]), "float32")
        tc.cast(x, "bfloat16", loss=True)[1].merge(tc.loss(x, "bfloat16")).to_dict()
        for bad in ("nonsense", object()):
            with pytest.raises(tc.Error):
                tc.cast(x, bad)

    for _ in range(50):
        once()
    gc.collect()
    tracemalloc.start()
    before, resident = tracemalloc.get_traced_memory()[0], _resident()
    for _ in range(500):
        once()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000
    assert _resident() - resident < 8 << 20  # 500 of any of these would be more


def _resident():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4096
