#!/usr/bin/env python3
"""tensorcast as a backend of ONNX's own interface, onnx.backend.base, through the C interface.

    python examples/python/onnx_backend.py        (pip install . onnx)

    from onnx_backend import TensorcastBackend
    (y,) = TensorcastBackend.run_model(onnx.load("casts.onnx"), [x])

Arrays are numpy's, with ml_dtypes' types where numpy has none. Those of less than a byte, which
ml_dtypes keeps one to a byte, are packed on the way in and unpacked on the way out. The library
is what TENSORCAST_LIBRARY names, that of the installed package, or libtensorcast.so.0.1 where the
system looks.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p

import ml_dtypes
import numpy
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType

STRING, INPUTS = 8, 0
# ONNX's number of a type: numpy's or ml_dtypes' type.
NUMPY_TYPES = {
    1: numpy.float32, 2: numpy.uint8, 3: numpy.int8, 4: numpy.uint16, 5: numpy.int16,
    6: numpy.int32, 7: numpy.int64, 9: numpy.bool_, 10: numpy.float16, 11: numpy.float64,
    12: numpy.uint32, 13: numpy.uint64, 16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn,
    18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e5m2fnuz,
    21: ml_dtypes.uint4, 22: ml_dtypes.int4, 23: ml_dtypes.float4_e2m1fn,
    24: ml_dtypes.float8_e8m0fnu, 25: ml_dtypes.uint2, 26: ml_dtypes.int2,
    27: ml_dtypes.float6_e2m3fn, 28: ml_dtypes.float6_e3m2fn}
BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}


class Tensor(ctypes.Structure):
    """tensorcast_tensor."""

    _fields_ = [("struct_size", c_uint32), ("type", c_int32), ("shape", POINTER(c_uint64)),
                ("rank", c_uint64), ("data", c_void_p), ("data_bytes", c_uint64),
                ("offsets", POINTER(c_uint64)), ("offsets_count", c_uint64)]


def library_path():
    """Where the C interface is."""
    if "TENSORCAST_LIBRARY" in os.environ:
        return os.environ["TENSORCAST_LIBRARY"]
    try:
        import tensorcast
    except ImportError:
        return "libtensorcast.so.0.1"
    return tensorcast.c_library()


LIBRARY = ctypes.CDLL(library_path())
LIBRARY.tensorcast_status_text.restype = c_char_p
LIBRARY.tensorcast_session_destroy.argtypes = [c_void_p]
LIBRARY.tensorcast_results_destroy.argtypes = [c_void_p]


class TensorcastError(Exception):
    """What the library says is wrong."""


def check(status, error=None):
    """Raises what a status says."""
    if status != 0:
        text = error.value if error is not None and error.value else None
        raise TensorcastError((text or LIBRARY.tensorcast_status_text(status)).decode())


def pack(codes, bits):
    """Codes of one to a byte as a dense bit stream, the first in the lowest bits."""
    each = codes.reshape(-1, 1) >> numpy.arange(bits, dtype=numpy.uint8) & 1
    return numpy.packbits(each.astype(numpy.uint8), axis=None, bitorder="little")


def unpack(stream, bits, count):
    """The reverse of pack."""
    each = numpy.unpackbits(stream, bitorder="little")[:count * bits].reshape(count, bits)
    return (each << numpy.arange(bits, dtype=numpy.uint8)).sum(axis=1, dtype=numpy.uint8)


def tensor_of(array, kind):
    """A Tensor over an array, and what must live as long. `kind`: the type that a model declares."""
    array = numpy.asarray(array)
    keep = [(c_uint64 * max(1, array.ndim))(*array.shape)]
    tensor = Tensor(ctypes.sizeof(Tensor), kind, keep[0], array.ndim)
    if kind == STRING:
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.flat]
        offsets = numpy.cumsum([0] + [len(text) for text in texts]).astype(numpy.uint64)
        keep.append((c_uint64 * len(offsets))(*offsets.tolist()))
        data = numpy.frombuffer(b"".join(texts) or b"\0", dtype=numpy.uint8)
        tensor.offsets, tensor.offsets_count = keep[1], len(offsets)
        tensor.data_bytes = int(offsets[-1])
    else:
        expected = numpy.dtype(NUMPY_TYPES[kind])
        # Old data has bfloat16 as uint16: the bits are what is meant.
        if array.dtype != expected and array.dtype.kind == "u":
            array = array.view(expected)
        elif array.dtype != expected:
            raise TensorcastError(f"an input is {array.dtype}, and {expected} in the model")
        data = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
        if kind in BITS:
            data = pack(data & (2 ** BITS[kind] - 1), BITS[kind])
        tensor.data_bytes = data.size
    tensor.data = data.ctypes.data
    return tensor, keep + [data]


def array_of(tensor):
    """A copy of what a Tensor views."""
    shape = tuple(tensor.shape[i] for i in range(tensor.rank))
    raw = ctypes.string_at(tensor.data, tensor.data_bytes) if tensor.data_bytes else b""
    if tensor.type == STRING:
        offsets = tensor.offsets[:tensor.offsets_count]
        texts = [raw[a - offsets[0]:b - offsets[0]].decode() for a, b in zip(offsets, offsets[1:])]
        return numpy.array(texts, dtype=object).reshape(shape)
    data = numpy.frombuffer(bytearray(raw), dtype=numpy.uint8)
    if tensor.type in BITS:
        bits, count = BITS[tensor.type], int(numpy.prod(shape, dtype=numpy.int64))
        data = unpack(data, bits, count)
    return data.view(NUMPY_TYPES[tensor.type]).reshape(shape)


class TensorcastRep(BackendRep):
    """A loaded model."""

    def __init__(self, model, contradictions):
        data = model if isinstance(model, bytes) else model.SerializeToString()
        self.session = c_void_p()
        status = LIBRARY.tensorcast_session_parse(data, c_uint64(len(data)), contradictions, 0, 0,
                                                  byref(self.session))
        error = ctypes.create_string_buffer(1024)
        LIBRARY.tensorcast_last_error(error, c_uint64(len(error)), None)
        check(status, error)
        count = c_uint64()
        check(LIBRARY.tensorcast_session_value_count(self.session, INPUTS, byref(count)))
        self.types = []
        for i in range(count.value):
            kind = c_int32()
            check(LIBRARY.tensorcast_session_value(self.session, INPUTS, c_int64(i), None, None,
                                                   byref(kind), None, None))
            self.types.append(kind.value)

    def __del__(self):
        LIBRARY.tensorcast_session_destroy(self.session)

    def run(self, inputs, **kwargs):
        """The outputs, as arrays; inputs beyond those given take their defaults."""
        tensors = (Tensor * max(1, len(self.types)))()
        keep = []
        for i, kind in enumerate(self.types):
            tensors[i].struct_size = ctypes.sizeof(Tensor)
            if i < len(inputs):
                tensors[i], alive = tensor_of(inputs[i], kind)
                keep.append(alive)
        error = ctypes.create_string_buffer(1024)
        results = c_void_p()
        check(LIBRARY.tensorcast_results_create(byref(results)))
        try:
            check(LIBRARY.tensorcast_session_run_tensors(
                self.session, tensors, c_uint64(len(self.types)), None, None, None, None, results,
                error, c_uint64(len(error))), error)
            count = c_uint64()
            check(LIBRARY.tensorcast_results_count(results, byref(count)))
            arrays = []
            for i in range(count.value):
                view = Tensor(ctypes.sizeof(Tensor))
                check(LIBRARY.tensorcast_results_view(results, c_uint64(i), byref(view)))
                arrays.append(array_of(view))
            return tuple(arrays)
        finally:
            LIBRARY.tensorcast_results_destroy(results)


class TensorcastBackend(Backend):
    """Runs models of Cast, CastLike, Identity, Constant and functions of these, on the CPU."""

    contradictions = 0  # 1: the stored tests' side where the operator's text says otherwise

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        return TensorcastRep(model, cls.contradictions)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        try:
            cls.prepare(model, device)
        except TensorcastError:
            return False
        return True

    @classmethod
    def supports_device(cls, device):
        return Device(device).type == DeviceType.CPU


def main():
    """Casts four numbers to float8 and back."""
    nodes = [onnx.helper.make_node("Cast", ["x"], ["small"], to=onnx.TensorProto.FLOAT8E4M3FN),
             onnx.helper.make_node("Cast", ["small"], ["y"], to=onnx.TensorProto.FLOAT)]
    graph = onnx.helper.make_graph(
        nodes, "casts", [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    (y,) = TensorcastBackend.run_model(
        model, [numpy.array([0.1, 448, 512, -1e-9], dtype=numpy.float32)])
    print(*y)


if __name__ == "__main__":
    main()
