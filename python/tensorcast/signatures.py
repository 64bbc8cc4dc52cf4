"""What the package's functions take and return, for type checkers and editors: the words of options, the
kinds of arrays, and the options that are handed on. Nothing here acts.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, TypeVar

import numpy as np

from .types import TypeLike

if TYPE_CHECKING:
    from .choosing import Patterns
    from .progress import Progress

Path = str | os.PathLike[str]

RoundMode = Literal["up", "down", "nearest"]
IntegerOverflow = Literal["wrap", "saturate"]
FnuzInfinity = Literal["max", "nan"]
FiniteOnlyNan = Literal["zero", "max"]
StringStyle = Literal["numpy", "ort"]
Packed = bool | Literal["in", "out"]
Keep = Literal["small", "norms", "embeddings", "head", "packed"]
ScaleRule = Literal["amax", "pow2", "up", "round", "ocp", "mse", "mse-fine", "four-over-six"]
RepackLayout = Literal["compressed-tensors", "gptq", "awq", "mlx", "modelopt", "comfyui", "gpt-oss", "gguf"]
Group = Literal[32, 64, 128, "channel"]
NumpyName = Literal["np", "numpy"]
TorchName = Literal["pt", "torch", "pytorch"]
JaxName = Literal["jax", "flax"]
Framework = Literal[NumpyName, TorchName, JaxName]
Resume = bool | Literal["strict"]

# ------------------------------------------------------------------------------ kinds of arrays

T_co = TypeVar("T_co", covariant=True)


class TorchTensor(Protocol[T_co]):
    """A torch.Tensor, recognised by a method that nothing else has, so that type checkers need no torch. A
    Parameter's method gives a Tensor, as a cast of it does.
    """

    def resolve_neg(self) -> T_co: ...


class JaxArray(Protocol[T_co]):
    """A jax.Array, recognised likewise."""

    def block_until_ready(self) -> T_co: ...


class HasArray(Protocol):
    """What numpy makes an array of: columns of pandas, pyarrow and polars among others."""

    def __array__(self, *args: Any, **named: Any) -> Any: ...


class HasDlpack(Protocol):
    """What libraries exchange arrays by."""

    def __dlpack__(self, *args: Any, **named: Any) -> Any: ...


NumpyLike = np.ndarray[Any, Any] | Sequence[Any] | HasArray | HasDlpack
Scalar = str | bytes | bool | int | float | np.generic

# ------------------------------------------------------------------------------------- options


class CastOptions(TypedDict, total=False):
    """How elements are cast: the options that every cast takes."""

    saturate: bool
    round_mode: RoundMode
    integer_overflow: IntegerOverflow
    fnuz_infinity: FnuzInfinity
    finite_only_nan: FiniteOnlyNan
    string_style: StringStyle


class CastArguments(CastOptions, total=False):
    """What `cast` takes besides, for all kinds of arrays."""

    packed: Packed
    from_type: TypeLike | None
    shape: int | Sequence[int] | None
    threads: int | None


class LossArguments(CastArguments, total=False):
    """What `loss` takes: also arrays that name the type."""

    like: Any
    out: Any


class ReadOptions(CastOptions, total=False):
    """What `TensorFile.get` takes besides a name and a default."""

    to: TypeLike | None
    packed: Packed
    threads: int | None
    ignore_scales: bool


class OpenOptions(TypedDict, total=False):
    """What `open` takes besides a path and a framework."""

    device: Any
    select: Patterns
    exclude: Patterns
    mmap: bool
    assume_type: TypeLike | None
    allow_hard_links: bool
    root: str | None
    storage_options: Mapping[str, Any] | None


class LoadOptions(OpenOptions, CastOptions, total=False):
    """What `load_file` takes besides a path, a type and a framework."""

    all_types: bool
    ignore_scales: bool
    threads: int | None
    progress: Progress


class WriterOptions(CastOptions, total=False):
    """What `Writer` takes besides layout, type and rules."""

    only: Iterable[str]
    exclude: Iterable[str]
    select: Iterable[str]
    keep: Iterable[Keep]
    all_types: bool
    ignore_scales: bool
    scale_rule: ScaleRule | None
    group: Group | None
    asymmetric: bool
    rotate: bool
    max_shard_bytes: int
    like: Path | None


class PlanOptions(WriterOptions, total=False):
    """What `plan` takes besides files, type and rules."""

    layout: str | None
    repack: RepackLayout | None
    assume_type: TypeLike | None
    allow_hard_links: bool
    root: str | None
    storage_options: Mapping[str, Any] | None
    rename: Mapping[str, str] | Iterable[tuple[str, str]]
