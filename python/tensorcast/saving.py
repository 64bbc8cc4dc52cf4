"""`save_file` and `Writer` write a caller's arrays to a file, whole or not at all.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Unpack

import numpy as np

from . import _core, arrays, casting, files, sources
from .arguments import CAST_OPTIONS, check_options, count, flag, path_text, text
from .conversion import Rules
from .errors import ArgumentError, KindError, UnsupportedError, first_line
from .loading import is_cast
from .planned_writing import PlannedOutput, PlanRequest, request_of
from .progress import Progress, shown
from .signatures import Path, WriterOptions
from .types import STRING, ScaledFormat, TypeLike, type_name

# A tensor as the extension's writer takes it: its name, ONNX's number of its type, its shape, its texts or None.
_Declared = tuple[str, int, tuple[int, ...], Any]


def _declared(tensors: Mapping[str, Any], name: str) -> tuple[int, tuple[int, ...]]:
    """The type and the shape of a tensor that is to be written."""
    if isinstance(tensors, files.Tensors):  # not read for this
        info = tensors.info(name)
        if info.type is None:
            raise UnsupportedError(f"tensor {name!r} is {info.dtype}, which is not written from Python: "
                                   "convert copies it")
        return int(_core.type_number(info.type)), info.shape
    source = _source(tensors[name], name)
    return source.number, source.shape


def _source(x: Any, name: str) -> arrays.Source:
    if x is None or isinstance(x, (str, bytes, int, float, complex, list, tuple)) and not isinstance(x, np.generic):
        raise KindError(f"tensor {name!r} is a {type(x).__name__}: give an array of numpy, torch or JAX")
    with _named(name):
        return arrays.read(x, None, False, None)


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Errors name the tensor that they are about."""
    try:
        yield
    except (ArgumentError, KindError, UnsupportedError) as error:
        raise type(error)(f"tensor {name!r}: {first_line(error, 'it is not an array')}") from error


def _unicode(value: Any, what: str) -> str:
    """A text, if files can hold it; bytes that were not UTF-8 where it came from are let through."""
    try:
        text(value, what).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ArgumentError(f"{what} has half of a surrogate pair, which no file can hold: {value!r}") from None
    return str(value)


def _said(metadata: Mapping[str, str] | None) -> dict[str, str]:
    return {_unicode(key, "a key of metadata"): _unicode(value, f"metadata {key!r}")
            for key, value in (metadata or {}).items()}


def _opened(target: str, declared: list[_Declared], metadata: Mapping[str, str] | None, overwrite: bool,
            plan: PlanRequest | None) -> Any:
    """What writes the tensors, under a temporary name at first: the extension's writer of a file, or a plan's outputs."""
    said, replaces = _said(metadata), flag(overwrite, "overwrite")
    if plan is not None:
        return PlannedOutput(target, declared, said, replaces, plan)
    if not os.path.splitext(target)[1]:
        raise UnsupportedError(f"{os.path.basename(target)!r} has no ending that names its format: .safetensors, .npz, .npy or .pb; "
                               "config= or layout= makes a directory")
    if said and not target.lower().endswith((".safetensors", ".pb")):
        raise ArgumentError(f"metadata has no place in {os.path.basename(target)!r}: .safetensors and .pb have one")
    return _core.TensorWriter(target, declared, said, replaces)


def save_file(tensors: Mapping[str, Any], path: Path, metadata: Mapping[str, str] | None = None, *,
              to: TypeLike | ScaledFormat | Literal["same"] | None = None, layout: str | None = None, rules: Rules = (),
              config: Mapping[str, Any] | Path | None = None, overwrite: bool = False, threads: int | None = None,
              progress: Progress = None, **options: Unpack[WriterOptions]) -> None:
    r"""Writes arrays to a file, in the format that its ending names, or to a checkpoint's directory, whole or
    not at all.

    They are written one after the other, from where they are. An array with gaps, or with another order of
    bytes, is copied, one at a time. Elements of less than a byte are packed.

    Parameters
    ----------
    tensors : mapping of str to array
        Arrays of numpy and JAX, and torch's tensors, on the CPU; or what `open` returns, from which one
        tensor is read after the other.
    path : path
        A .safetensors or .npz file; for one tensor also .npy or .pb. With `layout`, `rules`, `config` or
        an option of `convert` also a .gguf, or a directory, with an index if it has several files.
    metadata : mapping of str to str, optional
        For .safetensors and .pb.
    to : type, optional
        Floating tensors are cast to this type as they are written.
    layout : str, optional
        What weights become: "fp8-block", "nvfp4", "q8_0" or another scaled format, in its usual names. With
        `to`, it says whose names they get: ``to="int4-group", layout="gptq"``.
    rules, **options
        As in `convert`, which makes the same decisions: which tensors are weights, what they are called,
        and what config.json says of them. The options of `cast` are among them.
    config : mapping or path, optional
        For a directory: its config.json, or the path of a model's directory, whose config.json,
        tokenizer and other files beside the weights are copied.
    overwrite : bool
        Replace what exists.
    threads
        As in `cast`.
    progress : bool, callable or tqdm, optional
        As in `Plan.run`, told tensor by tensor, in bytes of the file; texts are not counted.

    Raises
    ------
    ArgumentError
        Also if the file exists and `overwrite` is False.
    KindError
        Something is not an array.
    FileError, UnsupportedError
        Also if the format does not have a tensor's type. Nothing is written then.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> tc.save_file({"w": np.float32([0.1, 512])}, folder / "model.safetensors", {"by": "me"}, to="float8_e4m3fn")
    >>> with tc.open(folder / "model.safetensors") as f:
    ...     print(f.metadata, f["w"])
    {'by': 'me'} [0.101562 448]
    >>> weights = {"model.layers.0.mlp.up_proj.weight": np.ones((256, 256), np.float32)}
    >>> tc.save_file(weights, folder / "fp8", layout="fp8-block", config={"model_type": "llama"})
    >>> with tc.open(folder / "fp8") as f:
    ...     print(sorted(f.raw)[1], f.scaled["model.layers.0.mlp.up_proj.weight"].split(":")[0])
    model.layers.0.mlp.up_proj.weight_scale_inv fp8-block (DeepSeek)
    """
    check_options(options, "save_file", save_file, WriterOptions.__annotations__)
    if not isinstance(tensors, Mapping):
        raise KindError(f"tensors must be a mapping of names to arrays, not {type(tensors).__name__}")
    asked = arrays.thread_count(threads)
    target = sources.local_path(path_text(path), "path")
    plan = request_of(target, to, layout, rules, config, dict(options), casts=True)
    number = None if to is None or plan is not None else _core.type_number(to)
    if number == STRING:
        raise UnsupportedError("to is string: cast the arrays, then save them")
    every = flag(options.pop("all_types", False), "all_types")
    declared: list[_Declared] = []
    for name in tensors:
        own, shape = _declared(tensors, _unicode(name, "a tensor's name"))
        texts = _core.Texts(_source(tensors[name], name).given()) if own == STRING else None
        declared.append((name, number if number is not None and is_cast(own, every) else own, shape, texts))
    sizes = [arrays.packed_bytes(own, math.prod(shape)) if texts is None else 0 for _, own, shape, texts in declared]
    done, total = 0, sum(sizes)
    with (contextlib.closing(_opened(target, declared, metadata, overwrite, plan)) as writer,
          shown(progress, os.path.basename(target)) as tell):
        for index, (name, _, shape, texts) in enumerate(declared):
            if texts is not None:
                writer.write_texts(index, texts)
                continue
            source = _source(tensors[name], name)
            if source.shape != shape:
                raise ArgumentError(f"tensor {name!r} has changed its shape from {shape} to {source.shape}")
            writer.write(index, source.given(), source.number, source.packed, {} if plan is not None else options, asked)
            done += sizes[index]
            if tell is not None:
                tell(done, total, name)
        writer.commit()


class Writer:
    """Writes a file, or a checkpoint's directory, tensor by tensor, so that each can be let go before the next
    is made.

    Use it in a ``with``. The output gets its name when the block ends and every tensor was written; if
    it ends with an error, nothing is left.

    Parameters
    ----------
    path, metadata, overwrite
        As in `save_file`. With any of the arguments below, also a directory, with an index if it has
        several files, or a .gguf.
    tensors : mapping of str to (type, shape)
        All that will be written, in any order; a file begins with what is in it. A `TensorInfo` does as
        well: ``{info.name: info for info in f.infos()}``. Strings are written first.
    layout, to, rules, config, **options
        As in `save_file`. What a tensor becomes is decided by the type that it was declared with.

    Notes
    -----
    Weights that share a scale (in nvfp4 those that runtimes load as one matrix: q, k and v) are held until
    the last of them is written.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> with tc.Writer(path, {"a": ("bfloat16", (2, 3)), "b": ("int8", (4,))}) as out:
    ...     out.write("b", np.arange(4))
    ...     out.write("a", np.ones((2, 3), np.float32))
    >>> tc.load_file(path)["b"]
    array([0, 1, 2, 3], dtype=int8)
    >>> weights = {"model.layers.0.mlp.up_proj.weight": np.ones((256, 256), np.float32)}
    >>> with tc.Writer(path.parent / "fp8", {name: ("bfloat16", w.shape) for name, w in weights.items()},
    ...                layout="fp8-block", config={"model_type": "llama"}) as out:
    ...     for name, w in weights.items():
    ...         out.write(name, w)
    >>> with tc.open(path.parent / "fp8") as f:
    ...     print(sorted(f.raw)[1], f.scaled["model.layers.0.mlp.up_proj.weight"].split(":")[0])
    model.layers.0.mlp.up_proj.weight_scale_inv fp8-block (DeepSeek)
    """

    def __init__(self, path: Path, tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None, *,
                 overwrite: bool = False, layout: str | None = None,
                 to: TypeLike | ScaledFormat | Literal["same"] | None = None, rules: Rules = (),
                 config: Mapping[str, Any] | Path | None = None, **options: Unpack[WriterOptions]) -> None:
        check_options(options, "Writer", Writer, WriterOptions.__annotations__)
        if not isinstance(tensors, Mapping):
            raise KindError(f"tensors must be a mapping of names to (type, shape), not {type(tensors).__name__}")
        declared = [_planned(_unicode(name, "a tensor's name"), what) for name, what in tensors.items()]
        self._places = {name: (index, number, shape) for index, (name, number, shape, _) in enumerate(declared)}
        self._target = sources.local_path(path_text(path), "path")
        self._request = request_of(self._target, to, layout, rules, config, dict(options), casts=False)
        self._rest = (declared, metadata, overwrite)
        self._options = {name: value for name, value in options.items() if name in CAST_OPTIONS and self._request is None}
        self._texts: dict[int, Any] = {}  # written before the file is begun, whose beginning depends on them
        self._texts_missing = {name for name, number, *_ in declared if number == STRING}
        if self._texts_missing and (self._request is not None
                                    or not self._target.lower().endswith((".npz", ".npy", ".pb"))):
            raise UnsupportedError(f"tensor {min(self._texts_missing)!r} holds strings, which only .npz, .npy and .pb files hold, "
                                   "and only as they are")
        self._is_over = False
        self._core: Any = None
        self._begin()

    def _begin(self) -> None:
        """Opens the file once it has the texts that the file begins with."""
        if self._texts_missing:
            return
        declared, metadata, overwrite = self._rest
        declared = [(*one[:3], self._texts.get(index)) for index, one in enumerate(declared)]
        self._core = _opened(self._target, declared, metadata, overwrite, self._request)
        for index, texts in self._texts.items():
            self._core.write_texts(index, texts)
        self._texts.clear()

    def write(self, name: str, x: Any, *, threads: int | None = None, **options: Any) -> None:
        """Writes a tensor, cast to the type that it was declared with.

        Parameters
        ----------
        name : str
        x : array
            As in `save_file`, of the declared shape.
        threads, **options
            As in `cast`.

        Raises
        ------
        ArgumentError
            The tensor was not declared, has another shape, or is written already.
        KindError
            It is not an array.
        FileError
        """
        check_options(options, "write", Writer.write, CAST_OPTIONS)
        if not isinstance(name, str) or name not in self._places:
            raise ArgumentError(f"{name!r} is not one of the {len(self._places)} tensors that were declared"
                                f"{_core.meant_name(name, self._places) if isinstance(name, str) else ''}")
        index, number, shape = self._places[name]
        options = {**self._options, **options}
        source = _source(x, name)
        if source.shape != shape:
            raise ArgumentError(f"tensor {name!r} has shape {source.shape}, and was declared with {shape}")
        if STRING in (number, source.number) and number != source.number:
            with _named(name):
                source = arrays.read(casting.cast(x, type_name(number), threads=threads, **options), None, False, None)
        if self._is_over:
            raise ArgumentError("the file is closed")
        if number == STRING:
            self._write_texts(name, index, _core.Texts(source.given()))
            return
        if self._core is None:
            raise ArgumentError(f"tensor {min(self._texts_missing)!r} holds strings, which the file begins with: write it first")
        self._core.write(index, source.given(), source.number, source.packed, options, arrays.thread_count(threads))

    def _write_texts(self, name: str, index: int, texts: Any) -> None:
        if name not in self._texts_missing:
            raise ArgumentError("the tensor is written already")
        self._texts[index] = texts
        self._texts_missing.remove(name)
        self._begin()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._is_over = True
        try:
            if kind is None and self._core is None:
                raise ArgumentError(f"the file is not complete: {min(self._texts_missing)} was not written")
            if kind is None:
                self._core.commit()
        finally:
            if self._core is not None:
                self._core.close()


def _planned(name: str, what: Any) -> _Declared:
    if isinstance(what, files.TensorInfo):
        what = (what.type, what.shape)
    if not isinstance(what, (tuple, list)) or len(what) != 2:
        raise KindError(f"tensor {name!r} must be declared as (type, shape), not as {type(what).__name__}")
    number, shape = int(_core.type_number(what[0])), what[1]
    if not isinstance(shape, (tuple, list)):
        raise KindError(f"the shape of tensor {name!r} must be a tuple of int")
    return name, number, tuple(count(size, f"a size of tensor {name!r}") for size in shape), None
