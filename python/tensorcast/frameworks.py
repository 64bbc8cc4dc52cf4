"""Arrays of other libraries, each by a row of its own. None is imported here: an object of theirs
can only come from where they are.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from . import _core
from .errors import ArgumentError, KindError, UnsupportedError

if TYPE_CHECKING:
    from .arrays import Array, Source


class Framework(Protocol):
    """How arrays of a library are read, written and made."""

    name: str

    def has(self, x: Any) -> bool:
        """Whether it is one of theirs."""

    def type_of(self, x: Any) -> int:
        """The type of its elements, as ONNX's number."""

    def read(self, x: Any) -> Source:
        """Its memory, not copied where numpy can look at it."""

    def writable(self, out: Any) -> Array:
        """The same, to write to."""

    def written(self, out: Any) -> None:
        """Tells the library that its array has been written to."""

    def wrap(self, made: Array, number: int, packed: bool) -> Any:
        """One that has numpy's memory as its own."""


class _Torch:
    name = "torch"
    # Elements of one size, whatever they mean: what numpy can look at.
    _BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
    _DTYPES = {
        1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
        9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16",
        17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz",
        21: "uint4", 22: "int4", 23: "float4_e2m1fn_x2", 24: "float8_e8m0fnu", 25: "uint2",
        26: "int2",
    }
    _FLOAT4 = 23  # two to a byte, as torch has it

    def has(self, x: Any) -> bool:
        tensor = getattr(sys.modules.get("torch"), "Tensor", None)
        return tensor is not None and isinstance(x, tensor)

    def type_of(self, x: Any) -> int:
        try:
            return _core.type_number(x.dtype)
        except ArgumentError:
            raise KindError(f"{x.dtype} is not an element type of ONNX") from None

    def _memory(self, x: Any) -> tuple[int, Array]:
        torch = sys.modules["torch"]
        if x.device.type != "cpu":
            raise KindError(f"a tensor on {x.device}: tensorcast casts on the CPU, take x.cpu()")
        if x.is_nested:
            raise KindError("a nested tensor: cast its parts, x.unbind()")
        if x.layout != torch.strided:
            raise KindError(f"a tensor of layout {x.layout}: take x.to_dense()")
        number = self.type_of(x)
        try:
            bits = x.detach().resolve_neg().view(getattr(torch, self._BITS[x.element_size()]))
            return number, np.asarray(bits.numpy())
        except RuntimeError as error:  # a subclass without memory: FakeTensor, functorch's
            from .arrays import first_line

            raise KindError(f"a {type(x).__name__} without memory that numpy can look at: "
                            f"{first_line(error, 'torch refuses it')}") from error

    def read(self, x: Any) -> Source:
        from .arrays import Source

        number, bits = self._memory(x)
        if number != self._FLOAT4:
            return Source(bits.view(_core.type_dtype(number)), number, bits.shape)
        if bits.ndim == 0:
            raise KindError("a torch.float4_e2m1fn_x2 without dimensions: it holds two elements")
        shape = (*bits.shape[:-1], 2 * bits.shape[-1])
        return Source(np.ascontiguousarray(bits), number, shape, packed=True)

    def writable(self, out: Any) -> Array:
        if out.requires_grad:
            raise ArgumentError("out requires a gradient: give out.detach()")
        number, bits = self._memory(out)
        if number == self._FLOAT4:
            raise UnsupportedError("out of torch.float4_e2m1fn_x2: take the tensor that is returned")
        return bits.view(_core.type_dtype(number))

    def written(self, out: Any) -> None:
        # Autograd then refuses gradients that need what stood there.
        graph = sys.modules["torch"].autograd.graph
        if hasattr(graph, "increment_version"):  # from torch 2.2 on
            graph.increment_version(out)

    def wrap(self, made: Array, number: int, packed: bool) -> Any:
        torch = sys.modules["torch"]
        made = np.asarray(made)
        if not made.dtype.isnative:
            raise UnsupportedError("torch has no tensors in the other order of bytes: cast x.numpy()")
        pack = packed and made.ndim == 1 and made.dtype == np.uint8
        if not pack and number == self._FLOAT4:
            if made.ndim == 0 or made.shape[-1] % 2:
                raise ArgumentError("torch.float4_e2m1fn_x2 holds two elements in a byte, and the "
                                    "last dimension is odd: pad it, or cast x.numpy()")
            stream = np.empty(made.size // 2, np.uint8)
            _core.cast_into(made, number, stream, number, made.size, {}, False, True, None, None)
            made = stream.reshape(*made.shape[:-1], made.shape[-1] // 2)
        elif made.dtype.kind not in "biu" or made.dtype.itemsize == 1:
            made = made.view(self._numpy_bits(made.dtype.itemsize))
        tensor = torch.from_numpy(made)
        name = self._DTYPES.get(number)
        if pack or name is None:  # float6, of which torch has none: codes
            return tensor
        if not hasattr(torch, name):
            raise UnsupportedError(f"this torch has no {name}: cast x.numpy()")
        return tensor.view(getattr(torch, name))

    def _numpy_bits(self, itemsize: int) -> np.dtype[Any]:
        return np.dtype(self._BITS[itemsize])


class _Jax:
    name = "jax"

    def has(self, x: Any) -> bool:
        array = getattr(sys.modules.get("jax"), "Array", None)
        return array is not None and isinstance(x, array)

    def type_of(self, x: Any) -> int:
        try:
            number = int(_core.dtype_number(np.dtype(x.dtype)))
        except TypeError:  # jax's own, of keys
            number = 0
        if number == 0:
            raise KindError(f"jax's {x.dtype} is not an element type of ONNX")
        return number

    def read(self, x: Any) -> Source:
        from .arrays import Source

        number = self.type_of(x)
        if isinstance(x, sys.modules["jax"].core.Tracer):
            raise KindError("jax is tracing: a cast inside jit or grad has no values yet")
        if any(device.platform != "cpu" for device in x.devices()):
            raise KindError("an array on another device: take jax.device_put(x, jax.devices('cpu')[0])")
        if x.is_deleted():
            raise ArgumentError("a JAX array that was deleted or donated")
        array = np.asarray(x)
        return Source(array, number, array.shape)

    def writable(self, out: Any) -> Array:
        raise ArgumentError("out is a JAX array, which nothing can write to")

    def written(self, out: Any) -> None:
        pass

    def wrap(self, made: Array, number: int, packed: bool) -> Any:
        jax = sys.modules["jax"]
        made = np.asarray(made)
        if not made.dtype.isnative:
            raise UnsupportedError("jax has no arrays in the other order of bytes: cast numpy's")
        try:
            result = jax.numpy.asarray(made)
        except Exception as error:  # of XLA, TypeError or its own
            raise UnsupportedError(f"jax has no arrays of {made.dtype} here: cast a numpy array"
                                   ) from error
        if result.dtype != np.asarray(made).dtype:
            raise ArgumentError(f"jax makes {np.asarray(made).dtype} {result.dtype}: set its "
                                "option jax_enable_x64, or cast a numpy array")
        return result


_FRAMEWORKS: tuple[Framework, ...] = (_Torch(), _Jax())


def kind_of(x: Any) -> Framework | None:
    """The row of an array; none of numpy's, and of what numpy makes an array of."""
    if type(x) is np.ndarray:
        return None
    for framework in _FRAMEWORKS:
        if framework.has(x):
            return framework
    return None


def written(out: Any) -> None:
    """Tells a library of what was written to an array of its own."""
    kind = kind_of(out)
    if kind is not None:
        kind.written(out)
