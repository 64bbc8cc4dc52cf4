"""The outside opinions: how numpy with ml_dtypes, ONNX's reference and ONNX Runtime cast codes.

Each library is asked for every pair and option set; where it refuses, that is said, not guessed.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import warnings

import numpy as np
import onnx
from onnx import helper

from element_types import FLOAT8, TYPES

# The newest opset that each library takes; 28 adds the float6 types.
_OPSETS = {"onnx": 28, "onnxruntime": 25}
_IR_VERSIONS = {21: 10, 25: 13, 28: 14}
# At opsets 21 to 23 the official data of casts to int4 and uint4 saturate.
_SATURATING = 21
_FLOATS_OF_21 = ("float64", "float32", "float16", "bfloat16", *FLOAT8)


class Refused(Exception):
    """The library has no such cast."""


class NumpyCast:
    """numpy's astype, with ml_dtypes' types: it never saturates."""

    name = "numpy"
    pairs = 589  # of the 625, those it has

    @staticmethod
    def option_sets(_, target):
        if target == "float8e8m0":
            return [{"saturate": "false", "round-mode": "nearest"}]
        return [{"saturate": "false"} if target in FLOAT8 else {}]

    @staticmethod
    def cast(source, codes, target, _):
        array = TYPES[source].array(codes)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = array.astype(TYPES[target].dtype)
            except TypeError as error:
                raise Refused(str(error)) from error
        return TYPES[target].codes(result)


def _onnx_option_sets(source, target):
    if target in ("int4", "uint4") and source in _FLOATS_OF_21:
        return [{}, {"integer-overflow": "saturate"}]
    if target in FLOAT8:
        return [{}, {"saturate": "false"}]
    if target == "float8e8m0":
        return [{"saturate": saturate, "round-mode": mode}
                for saturate in ("true", "false") for mode in ("up", "down", "nearest")]
    return [{}]


def _cast_model(source, codes, target, options, opset):
    """A model that is one Cast of a constant; saturating integers are those of opset 21."""
    opset = _SATURATING if "integer-overflow" in options else opset
    attributes = {"to": TYPES[target].onnx_type}
    if "saturate" in options:
        attributes["saturate"] = int(options["saturate"] == "true")
    if "round-mode" in options:
        attributes["round_mode"] = options["round-mode"]
    constant = onnx.TensorProto(data_type=TYPES[source].onnx_type, dims=[len(codes)], name="x",
                                raw_data=TYPES[source].packed(codes))
    output = helper.make_tensor_value_info("y", TYPES[target].onnx_type, [len(codes)])
    node = helper.make_node("Cast", ["x"], ["y"], **attributes)
    graph = helper.make_graph([node], "cast", [], [output], [constant])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                             ir_version=_IR_VERSIONS[opset])


class OnnxReferenceCast:
    """ONNX's own reference evaluator, which rests on numpy and ml_dtypes."""

    name = "onnx"
    pairs = 600
    option_sets = staticmethod(_onnx_option_sets)

    @staticmethod
    def cast(source, codes, target, options):
        from onnx.reference import ReferenceEvaluator

        model = _cast_model(source, codes, target, options, _OPSETS["onnx"])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = ReferenceEvaluator(model).run(None, {})[0]
            except (TypeError, RuntimeError, ValueError, KeyError, NotImplementedError) as error:
                raise Refused(str(error)) from error
        return TYPES[target].codes(np.asarray(result))


class OnnxRuntimeCast:
    """ONNX Runtime's Cast on the CPU."""

    name = "onnxruntime"
    pairs = 484
    option_sets = staticmethod(_onnx_option_sets)

    def __init__(self):
        from onnx_runs import open_session

        self._open_session = open_session

    def cast(self, source, codes, target, options):
        model = _cast_model(source, codes, target, options, _OPSETS["onnxruntime"])
        try:
            result = self._open_session(model).run_with_ort_values(["y"], {})[0]
        except Exception as error:  # the library's exceptions have no base of their own
            if type(error).__module__.startswith("onnxruntime"):
                raise Refused(str(error)) from error
            raise
        # numpy knows half of these types: take the bytes where they lie, packed as ONNX packs.
        size = (len(codes) * TYPES[target].bits + 7) // 8
        data = ctypes.string_at(result._ortvalue.data_ptr(), size)
        return TYPES[target].unpacked(data, len(codes))


LIBRARIES = {library.name: library for library in (NumpyCast, OnnxReferenceCast, OnnxRuntimeCast)}
