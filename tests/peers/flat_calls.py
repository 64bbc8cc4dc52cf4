"""The flat C interface from Python: every function of graph.h, session.h and flat.h with the types of
its parameters as the headers declare them, and a graph and a session over them.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import pathlib
import re

import numpy as np

_INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include" / "tensorcast"
_SCALARS = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint32_t": ctypes.c_uint32,
            "uint64_t": ctypes.c_uint64, "double": ctypes.c_double}
BY_NAME = -1


class FlatError(Exception):
    """A call that failed: its status, and the text that it left."""

    def __init__(self, name, status, text):
        super().__init__(f"{name}: status {status}: {text}")
        self.status, self.text = status, text


def _parameter(text):
    kind = re.sub(r"\s+", " ", text.strip()).rsplit(" ", 1)[0]
    if text.strip() == "void":
        return None
    if "*" not in text:
        return _SCALARS[kind]
    return ctypes.c_char_p if kind == "const char*" else ctypes.c_void_p


class Library:
    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        for header in ("tensorcast.h", "onnx.h", "flat.h", "graph.h", "session.h"):
            text = re.sub(r"/\*.*?\*/", "", (_INCLUDE / header).read_text(encoding="utf-8"),
                          flags=re.S)
            for result, name, parameters in re.findall(
                    r"TENSORCAST_API\s+(\w+\*?|const char\*)\s+TENSORCAST_CALL\s+(tensorcast_\w+)"
                    r"\(([^()]*)\);", text):
                function = getattr(self._library, name)
                function.restype = (None if result == "void" else
                                    ctypes.c_char_p if "*" in result else _SCALARS[result])
                try:
                    kinds = [_parameter(each) for each in parameters.split(",")]
                except KeyError:
                    continue  # callbacks: none of the flat ones
                function.argtypes = [kind for kind in kinds if kind is not None]

    def raw(self, name, *arguments):
        """Calls tensorcast_NAME, and gives its status."""
        return getattr(self._library, "tensorcast_" + name)(*arguments)

    def __call__(self, name, *arguments):
        status = self.raw(name, *arguments)
        if status:
            raise FlatError(name, status, self.text("last_error"))

    def text(self, name, *arguments):
        """A text that a call gives: asked for its size first."""
        needed = ctypes.c_uint64()
        status = self.raw(name, *arguments, None, 0, ctypes.byref(needed))
        if status:
            raise FlatError(name, status, "the size was not asked for")
        buffer = ctypes.create_string_buffer(needed.value)
        if self.raw(name, *arguments, buffer, needed.value, None):
            raise FlatError(name, status, "of the size that was said")
        return buffer.value.decode()


def _array(values, dtype):
    array = np.ascontiguousarray(values, dtype)
    return array, array.ctypes.data if array.size else None


class FlatGraph:
    def __init__(self, library, opset=0, raises_opset=False, path=None):
        self.call, self.handle = library, ctypes.c_void_p()
        if path is None:
            library("graph_create", opset, int(raises_opset), 0, ctypes.byref(self.handle))
        else:
            library("graph_load", str(path).encode(), 0, 0, ctypes.byref(self.handle))

    def __del__(self):
        if self.handle:
            self.call.raw("graph_destroy", self.handle)

    def _value(self, name, *arguments):
        value = ctypes.c_int64()
        self.call(name, self.handle, *arguments, ctypes.byref(value))
        return value.value

    def input(self, name, element, shape=None, dim_names=""):
        sizes, pointer = _array(shape or [], np.int64)
        return self._value("graph_add_input", name.encode(), element, pointer,
                           -1 if shape is None else len(sizes), dim_names.encode())

    def constant(self, name, element, shape, data):
        sizes, pointer = _array(shape, np.int64)
        return self._value("graph_add_constant", name.encode(), data, len(data), pointer,
                           len(sizes), element, None, 0)

    def cast(self, value, to, saturate=1, round_mode=0, name="", output="", training=1, lda=1.0):
        return self._value("graph_add_cast", value, to, saturate, round_mode, name.encode(),
                           output.encode(), training, lda)

    def cast_like(self, value, target, saturate=1, round_mode=0, name="", output="", training=1,
                  lda=1.0):
        return self._value("graph_add_cast_like", value, target, saturate, round_mode,
                           name.encode(), output.encode(), training, lda)

    def identity(self, value, name="", output=""):
        return self._value("graph_add_identity", value, name.encode(), output.encode())

    def output(self, value, name=""):
        self.call("graph_mark_output", self.handle, value, name.encode())

    def save(self, path, with_training=False):
        self.call("graph_save", self.handle, str(path).encode(), int(with_training), 1)


class FlatSession:
    def __init__(self, graph, backward=False, wide=False, zeros=False):
        self.call, self.handle = graph.call, ctypes.c_void_p()
        self.call("session_create", graph.handle, int(backward), int(wide), int(zeros), 0,
                  ctypes.byref(self.handle))

    def __del__(self):
        if self.handle:
            self.call.raw("session_destroy", self.handle)

    def run(self, inputs):
        """Runs on {name: (type, shape, bytes)}; gives {index: (type, shape, bytes)} of numbers."""
        names = "\n".join(inputs).encode()
        data = b"".join(data for _, _, data in inputs.values())
        shapes, shapes_at = _array([n for _, shape, _ in inputs.values() for n in shape], np.int64)
        ranks, ranks_at = _array([len(shape) for _, shape, _ in inputs.values()], np.int64)
        types, types_at = _array([element for element, _, _ in inputs.values()], np.int32)
        self.call("session_bind_inputs", self.handle, len(inputs), None, 0, names, data, len(data),
                  shapes_at, shapes.size, None, 0, ranks_at, ranks.size, types_at, types.size, 1)
        self.call("session_run", self.handle, None, None, 0)
        counts = [ctypes.c_uint64() for _ in range(4)]
        self.call("session_outputs_size", self.handle, *map(ctypes.byref, counts))
        tensors, size, sizes, lengths = (count.value for count in counts)
        out = ctypes.create_string_buffer(max(size, 1))
        shapes, ranks = np.zeros(sizes, np.int64), np.zeros(tensors, np.int64)
        types, texts = np.zeros(tensors, np.int32), np.zeros(lengths, np.int64)
        self.call("session_copy_outputs", self.handle, out, size, shapes.ctypes.data, sizes,
                  texts.ctypes.data, lengths, ranks.ctypes.data, tensors, types.ctypes.data, tensors)
        found, at, dimension = [], 0, 0
        for rank, element in zip(ranks, types):
            shape = tuple(int(n) for n in shapes[dimension:dimension + rank])
            dimension += rank
            nbytes = ctypes.c_uint64()
            self.call("session_output_size", self.handle, len(found), None, None, None, None,
                      ctypes.byref(nbytes))
            found.append((int(element), shape, out.raw[at:at + nbytes.value]))
            at += nbytes.value
        assert at == size and dimension == sizes
        return found

    def backward(self, gradients, inputs):
        """Gradients of inputs, by name; None where there is none."""
        for name, (element, shape, data) in gradients.items():
            sizes, pointer = _array(shape, np.int64)
            self.call("session_bind_gradient", self.handle, BY_NAME, name.encode(), data, len(data),
                      pointer, sizes.size, element, 1)
        self.call("session_backward", self.handle, None, None)
        found = {}
        for name in inputs:
            has, size, rank = ctypes.c_int32(), ctypes.c_uint64(), ctypes.c_uint64()
            self.call("session_gradient_size", self.handle, BY_NAME, name.encode(),
                      ctypes.byref(has), None, ctypes.byref(rank), None, ctypes.byref(size))
            if not has.value:
                found[name] = None
                continue
            out = ctypes.create_string_buffer(max(size.value, 1))
            shape = np.zeros(rank.value, np.int64)
            self.call("session_copy_gradient", self.handle, BY_NAME, name.encode(), out, size.value,
                      shape.ctypes.data, rank.value)
            found[name] = out.raw[:size.value]
        return found
