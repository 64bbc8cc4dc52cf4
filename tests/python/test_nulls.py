"""Arrays of pyarrow, polars and pandas: their values, and what lacks one refused by every door.

SPDX-License-Identifier: Apache-2.0
"""
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import tensorcast as tc

RUNS = pc.run_end_encode(pa.array([1, 1, None, None, 2]))
CODES = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 0]), pa.array([0.5, None]))


class Marked(pa.ExtensionType):
    """A type of the user's over a dictionary."""

    def __init__(self):
        super().__init__(CODES.type, "tensorcast.marked")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


# What holds a null, and what the message calls its place.
WITH_NULLS = {
    "pyarrow": (pa.array([1, None, 3], pa.int32()), "x[1] "),
    "pyarrow, floats": (pa.array([1.5, 2.5, None], pa.float32()), "x[2] "),
    "pyarrow, float16": (pa.array([np.float16(1), None], pa.float16()), "x[1] "),
    "pyarrow, wide integers": (pa.array([2**60 + 1, None]), "x[1] "),
    "pyarrow, texts": (pa.array(["1", None]), "x[1] "),
    "pyarrow, truths": (pa.array([None, True]), "x[0] "),
    "pyarrow, a slice": (pa.array([None, 1, 2, None])[1:], "x[2] "),
    "pyarrow, a dictionary": (pa.array(["1", None, "1"]).dictionary_encode(), "x[1] "),
    "pyarrow, chunks": (pa.chunked_array([[1, 2], [None]], pa.int8()), "x[2] "),
    "pyarrow, a table": (pa.table({"a": [1, 2], "b": [3, None]}), "x['b'][1] "),
    "pyarrow, a batch": (pa.record_batch({"a": [None, 2]}), "x['a'][0] "),
    # Those in the values are not in null_count.
    "pyarrow, a dictionary's value": (CODES, "x[2] "),
    "pyarrow, a dictionary's value in a slice": (CODES[1:], "x[1] "),
    "pyarrow, a dictionary's value in chunks": (pa.chunked_array([CODES[:2], CODES[2:]]), "x[2] "),
    "pyarrow, runs": (RUNS, "x[2] "),
    "pyarrow, runs of floats": (pc.run_end_encode(pa.array([1.5, None])), "x[1] "),
    "pyarrow, a slice of runs": (RUNS[1:], "x[1] "),
    "pyarrow, runs in chunks": (pa.chunked_array([RUNS[:2], RUNS[3:]]), "x[2] "),
    "pyarrow, a table of runs": (pa.table({"a": RUNS[4:], "b": RUNS[2:3]}), "x['b'][0] "),
    "pyarrow, a type over a dictionary, in chunks": (pa.chunked_array([pa.ExtensionArray.from_storage(Marked(), CODES)]),
                                                     "x[2] "),
    "polars": (pl.Series([1, None, 3], dtype=pl.Int32), "x[1] "),
    "polars, floats": (pl.Series([1.5, None], dtype=pl.Float32), "x[1] "),
    "polars, texts": (pl.Series(["1", None]), "x[1] "),
    "polars, truths": (pl.Series([True, None]), "x[1] "),
    "polars, arrays": (pl.Series([[1, 2], [3, None]], dtype=pl.Array(pl.Int32, 2)), "x[1,1] "),
    "polars, arrays of arrays": (pl.Series([[[1, 2], [3, 4]], [[None, 6], [7, 8]]], dtype=pl.Array(pl.Int8, (2, 2))),
                                 "x[1,0,0] "),
    "polars, structures": (pl.Series([{"a": 1.0}, {"a": None}]), "x[1,0] "),
    "polars, structures of two": (pl.Series([{"a": 1, "b": 2}, {"a": 3, "b": None}]), "x[1,1] "),
    "polars, a structure that is null": (pl.Series([{"a": 1.0}, None]), "x[1] "),
    "polars, arrays of structures": (pl.Series([[{"a": 1.0}], [{"a": None}]],
                                               dtype=pl.Array(pl.Struct({"a": pl.Float64}), 1)), "x[1,0,0] "),
    "polars, a table": (pl.DataFrame({"a": [1, 2], "b": [None, 0.5]}), "x['b'][0] "),
    "pandas": (pd.array([1, None, 3], dtype="Int32"), "x[1] "),
    "pandas, a series": (pd.Series([1, None], dtype="Int8"), "x[1] "),
    "pandas, an index": (pd.Index([None, 2], dtype="UInt16"), "x[0] "),
    "pandas, truths": (pd.Series([True, None], dtype="boolean"), "x[1] "),
    "pandas, over pyarrow": (pd.Series([1, None], dtype="int32[pyarrow]"), "x[1] "),
    "pandas, over pyarrow's dictionary": (pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([CODES]))), "x[2] "),
    "pandas, an index over one": (pd.Index(pd.arrays.ArrowExtensionArray(pa.chunked_array([CODES]))), "x[2] "),
    "pandas, texts": (pd.Series(["1", None], dtype="string"), "x[1] "),
    "pandas, categories": (pd.Series([1, None, 1]).astype("category"), "x[1] "),
    "pandas, a table": (pd.DataFrame({"a": [0.5, 1], "b": pd.Series([None, 1], dtype="Int32")}), "x['b'][0] "),
    "a list": ([pa.array([1, 2]), pa.array([None, 4])], "x[1][0] "),
    "a list of runs": ([RUNS[:2], RUNS[1:3]], "x[1][1] "),
    "a list of structures": ([pl.Series([{"a": 1.0}]), pl.Series([{"a": None}])], "x[1][0,0] "),
    "a list of lists": ([[pl.Series([1, 2])], [pl.Series([3, None])]], "x[1][0][1] "),
}


def doors():
    """The ways by which arrays come in."""
    graph = tc.graph.Graph()
    graph.mark_output(graph.cast(graph.add_input("x", "int32"), "float32"), "y")
    session, model = tc.graph.Session(graph, backward=True), tc.graph.Session.load(graph.serialize())
    return {
        "cast": lambda x: tc.cast(x, "int8"), "out": lambda x: tc.cast(x, out=np.zeros(3, np.int8)),
        "texts": lambda x: tc.cast(x, "string"), "packed": lambda x: tc.cast(x, "int4", packed=True),
        "bits": lambda x: tc.cast(x, "int8", from_type="int64"), "format": tc.format,
        "loss": lambda x: tc.loss(x, "float16"), "parse": lambda x: tc.parse(x, "int8"),
        "explain": lambda x: tc.explain(x, "int8"), "mdf": lambda x: tc.mdf.cast(x, 7),
        "constant": lambda x: tc.graph.Graph().add_constant("c", x), "session": lambda x: session.run([x]),
        "model": lambda x: model.run({"x": x}), "gradient": lambda x: session.backward([x]),
    }


@pytest.mark.parametrize("name", WITH_NULLS)
def test_a_null_is_refused_by_every_door(name):
    x, place = WITH_NULLS[name]
    for door, call in doors().items():
        with pytest.raises(tc.KindError) as refused:
            call(x)
        line = str(refused.value)
        assert line.startswith(place) and "is null" in line and "fill it" in line and "\n" not in line, (door, line)


@pytest.mark.parametrize("name", [name for name in WITH_NULLS if "list" not in name and "arrays" not in name])
def test_what_the_message_advises_is_there(name):
    x, _ = WITH_NULLS[name]
    with pytest.raises(tc.KindError) as refused:
        tc.cast(x, "int8")
    fill, drop = (words.partition("(")[0] for words in str(refused.value).split(" .")[1:])
    columns = x.columns if isinstance(x, (pa.Table, pa.RecordBatch)) else [x]
    assert all(hasattr(column, fill) and hasattr(column, drop) for column in columns)


@pytest.mark.parametrize("x, want", [
    (pa.array([1, 2, 300], pa.int32()), [1, 2, 44]), (pa.array([0.5, float("nan")]), [0, 0]),
    (pa.chunked_array([[1, 2], [3]]), [1, 2, 3]), (pa.table({"a": [1, 2], "b": [3, 4]}), [[1, 3], [2, 4]]),
    (pa.array(["1", "2"]), [1, 2]), (pa.array([None, 5, 6])[1:], [5, 6]), (pa.Tensor.from_numpy(np.arange(2.0)), [0, 1]),
    (RUNS[:2], [1, 1]), (RUNS[4:], [2]), (pc.run_end_encode(pa.array([0.5, float("nan")])), [0, 0]), (CODES[:2], [0, 0]),
    (pl.Series([{"a": 1, "b": 2}, {"a": 3, "b": 4}]), [[1, 2], [3, 4]]), (pl.Series([{"a": float("nan")}]), [[0]]),
    (pl.Series([1, 2], dtype=pl.Int64), [1, 2]), (pl.Series([1.5, float("nan")]), [1, 0]), (pl.Series(["7"]), [7]),
    (pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)), [[1, 2], [3, 4]]), (pl.DataFrame({"a": [1], "b": [2]}), [[1, 2]]),
    (pd.Series([1, 2], dtype="Int32"), [1, 2]), (pd.Series([1.5, np.nan]), [1, 0]), (pd.DataFrame({"a": [1.5, np.nan]}), [[1], [0]]),
    (pd.Series([1.5, np.nan]).astype(pd.SparseDtype(float)), [1, 0]), ([pa.array([1, 2]), pa.array([3, 4])], [[1, 2], [3, 4]]),
], ids=lambda value: type(value).__module__)
def test_what_has_all_its_values_is_cast(x, want):
    """NaN is a number's own, and goes to 0 as it does from numpy."""
    assert tc.cast(x, "int8").tolist() == want


def test_a_lazy_frame_is_refused_by_every_door():
    for door, call in doors().items():
        with pytest.raises(tc.KindError) as refused:
            call(pl.LazyFrame({"a": [1]}))
        assert str(refused.value) == "x is a LazyFrame, whose data are not read yet: cast x.collect()", door
