"""Arrays of other libraries are read and made here. A library is imported only if it is asked for by
name: its objects can only exist once it was imported.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import importlib
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from .errors import ArgumentError, KindError, UnsupportedError, first_line
from .types import Array

# What is read: numpy's memory, ONNX's number of the elements' type, their shape, whether they are packed.
Memory = tuple[Array, int, tuple[int, ...], bool]


@functools.cache
def _name_of(number: int) -> str:
    """What numpy calls a type; asking numpy takes longer than a small tensor does."""
    return str(_core.type_dtype(number).name)


class _Torch:
    """Reads, writes and makes those tensors of torch that the extension does not take itself: with a torch
    before 2.10, of subclasses and layouts of their own, and what is refused.
    """

    name = "torch"
    # numpy can look at elements of these types, whatever their bits mean.
    _BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
    _FLOAT4 = 23  # torch packs two to a byte

    def has(self, x: Any) -> bool:
        tensor = getattr(sys.modules.get("torch"), "Tensor", None)
        return tensor is not None and isinstance(x, tensor)

    def type_of(self, x: Any) -> int:
        """The type of its elements, as ONNX's number."""
        try:
            return _core.type_number(x.dtype)
        except ArgumentError as error:
            raise KindError(str(error)) from None

    def is_recorded(self, x: Any) -> bool:
        """Whether a cast of it has to be an operator of torch's, because it requires a gradient or is traced."""
        torch = sys.modules["torch"]
        if x.requires_grad and torch.is_grad_enabled():
            return True
        if getattr(type(x), "__torch_dispatch__", None) is not getattr(torch.Tensor, "__torch_dispatch__", None):
            return True  # FakeTensor
        modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
        functorch = getattr(torch._C, "_functorch", None)  # torch has both from 2.0 on
        return bool((modes is not None and modes()) or torch._is_functional_tensor(x)
                    or (functorch is not None and functorch.is_functorch_wrapped_tensor(x)))

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
            if x.numel() and x.data_ptr() == 0:  # functorch's, and what was given back
                raise RuntimeError("its storage is empty")
            return number, np.asarray(bits.numpy())
        except RuntimeError as error:  # a subclass without memory: FakeTensor, functorch's
            raise KindError(f"a {type(x).__name__} without memory that numpy can look at: "
                            f"{first_line(error, 'torch refuses it')}") from error

    def read(self, x: Any) -> Memory:
        """Its memory, not copied if numpy can look at it."""
        number, bits = self._memory(x)
        if number != self._FLOAT4:
            return bits.view(_core.type_dtype(number)), number, bits.shape, False
        if bits.ndim == 0:
            raise KindError("a torch.float4_e2m1fn_x2 without dimensions: it holds two elements")
        shape = (*bits.shape[:-1], 2 * bits.shape[-1])
        return np.ascontiguousarray(bits), number, shape, True

    def writable(self, out: Any) -> Array:
        if out.requires_grad:
            raise ArgumentError("out requires a gradient: give out.detach()")
        number, bits = self._memory(out)
        if out.is_neg():
            raise ArgumentError("out is a negated view of its memory: take the tensor "
                                "that is returned")
        if number == self._FLOAT4:
            raise UnsupportedError("out of torch.float4_e2m1fn_x2: take the tensor that is returned")
        return bits.view(_core.type_dtype(number))

    def written(self, out: Any) -> None:
        """Tells the library that its array has been written to."""
        # Autograd then refuses gradients that need what stood there before.
        graph = sys.modules["torch"].autograd.graph
        if hasattr(graph, "increment_version"):  # torch has it from 2.2 on
            graph.increment_version(out)

    def wrap(self, made: Array, number: int, packed: bool) -> Any:
        """A tensor whose memory is numpy's."""
        torch = sys.modules["torch"]
        made = np.asarray(made)
        if not made.dtype.isnative:
            raise UnsupportedError("torch has no tensors in the other order of bytes: cast x.numpy()")
        pack = packed and made.ndim == 1 and made.dtype == np.uint8
        if not pack and number == self._FLOAT4:
            shape = self._pairs(made.shape)
            made, stream = np.ascontiguousarray(made), np.empty(made.size // 2, np.uint8)
            _core.cast_into(made, number, stream, number, made.size, {}, False, True, None, None)
            made = stream.reshape(shape)
        elif made.dtype.kind not in "biu" or made.dtype.itemsize == 1:
            made = made.view(self._BITS[made.dtype.itemsize])
        return self._of_bits(made, 0 if pack else number)

    def packs(self, number: int) -> bool:
        """Whether its tensors of a type are packed as streams are."""
        return number == self._FLOAT4

    def of_stream(self, stream: Array, number: int, shape: tuple[int, ...]) -> Any:
        """A tensor of elements of this shape whose memory is that of a packed stream."""
        return self._of_bits(stream.reshape(self._pairs(shape)), number)

    @staticmethod
    def _pairs(shape: tuple[int, ...]) -> tuple[int, ...]:
        if not shape or shape[-1] % 2:
            raise ArgumentError("torch.float4_e2m1fn_x2 holds two elements in a byte, and the "
                                "last dimension is odd: pad it, or cast x.numpy()")
        return (*shape[:-1], shape[-1] // 2)

    def _of_bits(self, bits: Array, number: int) -> Any:
        """A tensor of a type from integers of its width; for number 0, of these integers."""
        torch = sys.modules["torch"]
        tensor = torch.from_numpy(bits)
        if number == 0:
            return tensor
        name = _name_of(number) + ("_x2" if number == self._FLOAT4 else "")
        if name.startswith("float6_"):  # torch has no float6: these are codes
            return tensor
        if not hasattr(torch, name):
            raise UnsupportedError(f"this torch has no {name}: cast x.numpy()")
        return tensor.view(getattr(torch, name))

    def device_of(self, x: Any) -> Any:
        return x.device

    def on_device(self, made: Any, device: Any) -> Any:
        """The tensor on a device, which may have any of torch's names for it."""
        try:
            return made.to(device)
        except (RuntimeError, AssertionError, TypeError) as error:  # no such device, or no memory
            raise ArgumentError(f"device {device!r}: {first_line(error, 'torch refuses it')}") from error


def narrow_jax(dtype: Any) -> Any:
    """A function that jax has compiled, which makes an array of a type of less than a byte of its codes in
    bytes. Copying numpy's array takes jax several times as long.
    """
    jax = sys.modules["jax"]
    codes = f"uint{_core.type_row(_core.dtype_number(dtype))['bits']}"
    return jax.jit(lambda x: jax.lax.bitcast_convert_type(x.astype(codes), dtype))


class _Jax:
    """Reads and makes arrays of jax by the same functions."""

    name = "jax"

    def has(self, x: Any) -> bool:
        array = getattr(sys.modules.get("jax"), "Array", None)
        return array is not None and isinstance(x, array)

    def type_of(self, x: Any) -> int:
        try:
            number = int(_core.dtype_number(np.dtype(x.dtype)))
        except TypeError:  # jax's keys have a dtype of their own
            number = 0
        if number == 0:
            raise KindError(f"jax's {x.dtype} is not an element type of ONNX")
        return number

    def read(self, x: Any) -> Memory:
        number = self.type_of(x)
        if isinstance(x, sys.modules["jax"].core.Tracer):
            raise KindError("jax is tracing: a cast inside jit or grad has no values yet")
        if any(device.platform != "cpu" for device in x.devices()):
            raise KindError("an array on another device: take jax.device_put(x, jax.devices('cpu')[0])")
        if x.is_deleted():
            raise ArgumentError("a JAX array that was deleted or donated")
        array = np.asarray(x)
        return array, number, array.shape, False

    def writable(self, out: Any) -> Array:
        raise ArgumentError("out is a JAX array, which nothing can write to")

    def written(self, out: Any) -> None:
        """Nothing can write to one."""

    def wrap(self, made: Array, number: int, packed: bool) -> Any:
        jax = sys.modules["jax"]
        made = np.asarray(made)
        if not made.dtype.isnative:
            raise UnsupportedError("jax has no arrays in the other order of bytes: cast a numpy array")
        try:
            result = jax.numpy.asarray(made)
        except Exception as error:  # a TypeError, or one of XLA's own
            raise UnsupportedError(f"jax has no arrays of {made.dtype} here: cast a numpy array"
                                   ) from error
        if result.dtype != made.dtype:
            raise ArgumentError(f"jax makes {result.dtype} of {made.dtype}: set its option "
                                "jax_enable_x64, or cast a numpy array")
        return result

    def device_of(self, x: Any) -> Any:
        devices = x.devices()
        return next(iter(devices)) if len(devices) == 1 else x.sharding

    def on_device(self, made: Any, device: Any) -> Any:
        """The array on one of jax's devices or shardings, or on a device of a platform ("gpu", "gpu:1")."""
        jax = sys.modules["jax"]
        try:
            if isinstance(device, str):
                platform, _, index = device.partition(":")
                device = jax.devices(platform)[int(index or 0)]
            return jax.device_put(made, device)
        except (RuntimeError, LookupError, ValueError, TypeError) as error:
            raise ArgumentError(f"device {device!r}: {first_line(error, 'jax refuses it')}") from error


_FRAMEWORKS: tuple[_Torch | _Jax, ...] = (_Torch(), _Jax())


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor of torch."""
    return isinstance(kind_of(x), _Torch)


def is_recorded(x: Any) -> bool:
    """Whether a cast of it has to be an operator of its library's."""
    kind = kind_of(x)
    return isinstance(kind, _Torch) and kind.is_recorded(x)


def kind_of(x: Any) -> _Torch | _Jax | None:
    """The library of an array; None if it is numpy's, or numpy makes an array of it."""
    if type(x) is np.ndarray:
        return None
    for framework in _FRAMEWORKS:
        if framework.has(x):
            return framework
    return None


@dataclass(frozen=True)
class Place:
    """The library that results are for, None being numpy, and the device there."""

    kind: _Torch | _Jax | None = None
    device: Any = None

    def packs(self, number: int) -> bool:
        """Whether this library packs arrays of a type, so that `of_stream` makes them."""
        return isinstance(self.kind, _Torch) and self.kind.packs(number)

    def of_stream(self, stream: Array, number: int, shape: tuple[int, ...]) -> Any:
        """Does what `put` does, with a packed stream of a type that this library packs."""
        assert isinstance(self.kind, _Torch)
        return self._placed(self.kind.of_stream(stream, number, shape))

    def put(self, made: Any, number: int, packed: bool) -> Any:
        """Turns numpy's memory into an array of this library, without a copy if possible."""
        return made if self.kind is None else self._placed(self.kind.wrap(made, number, packed))

    def _placed(self, wrapped: Any) -> Any:
        """The array on the device."""
        if self.device is None or self.kind is None:
            return wrapped
        return self.kind.on_device(wrapped, self.device)


_NAMES = {"np": "numpy", "numpy": "numpy", "pt": "torch", "torch": "torch", "pytorch": "torch",
          "jax": "jax", "flax": "jax"}  # safetensors' names for them


def place_of(like: Any) -> Place:
    """The place of an array."""
    kind = kind_of(like)
    return Place() if kind is None else Place(kind, kind.device_of(like))


def place_named(framework: Any, device: Any) -> Place:
    """The place of a library by its name; the library is imported."""
    name = _NAMES.get(framework) if isinstance(framework, str) else None
    if name is None:
        raise ArgumentError(f"framework is {framework!r}: give 'np', 'pt' or 'jax'")
    if name == "numpy":
        if device is not None and device != "cpu":
            raise ArgumentError(f"device is {device!r}, and numpy's arrays have none: give framework 'pt' or 'jax'")
        return Place()
    try:
        importlib.import_module(name)
    except ImportError as error:
        raise ArgumentError(f"framework {framework!r} needs {name}, which cannot be imported "
                            f"({first_line(error, 'no reason')}): pip install {name}") from error
    (kind,) = (each for each in _FRAMEWORKS if each.name == name)
    return Place(kind, device)
