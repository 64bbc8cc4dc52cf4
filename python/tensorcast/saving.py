"""`save_file` and `Writer` write arrays of a caller's to a file, whole or not at all.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping
from typing import Any, Literal, Unpack

import numpy as np

from . import _core, arrays, files, sources
from .arguments import CAST_OPTIONS, check_options, count, flag, path_text, text
from .conversion import Rules
from .errors import ArgumentError, KindError, UnsupportedError, first_line
from .loading import is_cast
from .planned_writing import PlannedOutput
from .progress import Progress, shown
from .signatures import CastOptions, Path, WriterOptions
from .types import STRING, ScaledFormat, TypeLike, type_name

# A tensor as the extension's writer takes it: name, ONNX's number of its type, shape, its texts or None.
_Declared = tuple[str, int, tuple[int, ...], Any]


def _declared(tensors: Mapping[str, Any], name: str) -> tuple[int, tuple[int, ...]]:
    """The type and the shape of one that is to be written."""
    if isinstance(tensors, files.Tensors):  # which is not read for that
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
    try:
        return arrays.read(x, None, False, None)
    except (ArgumentError, KindError, UnsupportedError) as error:
        raise type(error)(f"tensor {name!r}: {first_line(error, 'it is no array')}") from error


def _unicode(value: Any, what: str) -> str:
    """A text as files can have it: bytes that were no UTF-8 where it came from are taken back."""
    try:
        text(value, what).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ArgumentError(f"{what} has half of a surrogate pair, which no file can hold: {value!r}") from None
    return str(value)


def _said(metadata: Mapping[str, str] | None) -> dict[str, str]:
    return {_unicode(key, "a key of metadata"): _unicode(value, f"metadata {key!r}")
            for key, value in (metadata or {}).items()}


def _opened(path: str | os.PathLike[str], declared: list[_Declared], metadata: Mapping[str, str] | None,
            overwrite: bool) -> Any:
    """The extension's writer of a file that stands beside its name."""
    target, said = sources.local_path(path_text(path), "path"), _said(metadata)
    if target.lower().endswith(".gguf"):  # whose readers want some tensors in types of their own
        raise UnsupportedError(f"{os.path.basename(target)!r}: tensorcast.Writer writes it, by layout=")
    if said and not target.lower().endswith((".safetensors", ".pb")):
        raise ArgumentError(f"metadata has no place in {os.path.basename(target)!r}: .safetensors and .pb have one")
    return _core.TensorWriter(target, declared, said, flag(overwrite, "overwrite"))


def save_file(tensors: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None, *,
              to: TypeLike | None = None, all_types: bool = False, overwrite: bool = False, threads: int | None = None,
              progress: Progress = None, **options: Unpack[CastOptions]) -> None:
    """Writes arrays to a file, in the format that its ending says; whole, or not at all.

    They are written one after the other, from where they are: what has gaps, or another order of
    bytes, is copied, one at a time. Elements of less than a byte are packed.

    Parameters
    ----------
    tensors : mapping of str to array
        Arrays of numpy and JAX, torch's tensors, of the CPU; or what `open` gives, of which one
        tensor is read after the other.
    path : path
        .safetensors, .npz, or of one tensor .npy or .pb. `convert` makes other files of these, and
        directories.
    metadata : mapping of str to str, optional
        Of .safetensors and .pb.
    to : type, optional
        Of floating tensors: they are cast as they are written.
    all_types : bool
        Cast integers and bool too.
    overwrite : bool
        Replace a file that exists.
    threads, **options
        As `cast`.
    progress : bool, callable or tqdm, optional
        As `Plan.run`, tensor by tensor, in bytes of the file; texts are not counted.

    Raises
    ------
    ArgumentError
        Also where the file exists and is not to be replaced.
    KindError
        Something is no array.
    FileError, UnsupportedError
        Also where the format has not a tensor's type. Then nothing is written.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> tc.save_file({"w": np.float32([0.1, 512])}, path, {"by": "me"}, to="float8_e4m3fn")
    >>> with tc.open(path) as f:
    ...     print(f.metadata, f["w"])
    {'by': 'me'} [0.101562 448]
    """
    check_options(options, "save_file", save_file, CAST_OPTIONS)
    if not isinstance(tensors, Mapping):
        raise KindError(f"tensors are a mapping of names to arrays, and not {type(tensors).__name__}")
    number = None if to is None else _core.type_number(to)
    if number == STRING:
        raise UnsupportedError("to is string: cast the arrays, then save them")
    every, asked = flag(all_types, "all_types"), arrays.thread_count(threads)
    declared: list[_Declared] = []
    for name in tensors:
        own, shape = _declared(tensors, _unicode(name, "a tensor's name"))
        texts = _core.Texts(_source(tensors[name], name).given()) if own == STRING else None
        declared.append((name, number if number is not None and is_cast(own, every) else own, shape, texts))
    sizes = [arrays.packed_bytes(own, math.prod(shape)) if texts is None else 0 for _, own, shape, texts in declared]
    done, total = 0, sum(sizes)
    with (contextlib.closing(_opened(path, declared, metadata, overwrite)) as writer,
          shown(progress, os.path.basename(os.fsdecode(path))) as tell):
        for index, (name, _, shape, texts) in enumerate(declared):
            if texts is not None:
                writer.write_texts(index, texts)
                continue
            source = _source(tensors[name], name)
            if source.shape != shape:
                raise ArgumentError(f"tensor {name!r} has changed its shape from {shape} to {source.shape}")
            writer.write(index, source.given(), source.number, source.packed, options, asked)
            done += sizes[index]
            if tell is not None:
                tell(done, total, name)
        writer.commit()


class Writer:
    """A file, or a checkpoint's directory, that is written tensor by tensor, each let go before the next is
    made.

    To be used in a ``with``: the output has its name when that ends and every tensor was written; where
    it ends with an error, nothing is left.

    Parameters
    ----------
    path, metadata, overwrite
        As `save_file`; with any of what follows also a directory, with an index where it has several
        files, or a .gguf.
    tensors : mapping of str to (type, shape)
        All that will be written, in any order; a file begins with what is in it. A `TensorInfo` says
        it too: ``{info.name: info for info in f.infos()}``.
    layout : str, optional
        What weights become: "fp8-block", "nvfp4", "q8_0" or another scaled format, in its usual names; or
        with `to` whose names they get: ``to="int4-group", layout="gptq"``.
    to, rules, **options
        As `convert`, whose decisions they are: which tensors are weights, what they are called, what
        config.json says of them. Each is decided by the type that it was declared with.
    config : mapping or path, optional
        Of a directory: its config.json; or the directory of a model, whose config.json, tokenizer and
        other files beside the weights are copied.

    Notes
    -----
    Weights that share a scale (of nvfp4 what runtimes load as one matrix: q, k and v) are held until
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
            raise KindError(f"tensors are a mapping of names to (type, shape), and not {type(tensors).__name__}")
        declared = [_planned(_unicode(name, "a tensor's name"), what) for name, what in tensors.items()]
        self._places = {name: (index, number, shape) for index, (name, number, shape, _) in enumerate(declared)}
        self._core: Any
        if layout is None and to is None and not rules and config is None and not options:
            self._core = _opened(path, declared, metadata, overwrite)
            return
        if layout is not None and to is None and not rules:
            layout, to = None, layout
        target = sources.local_path(path_text(path), "path")
        self._core = PlannedOutput(target, declared, _said(metadata), flag(overwrite, "overwrite"), config,
                                   {"to": to, "rules": rules, "layout": layout, **options})

    def write(self, name: str, x: Any, *, threads: int | None = None, **options: Any) -> None:
        """Writes a tensor, cast to the type that it was declared with.

        Parameters
        ----------
        name : str
        x : array
            As `save_file`, of the shape that was declared.
        threads, **options
            As `cast`.

        Raises
        ------
        ArgumentError
            It was not declared, has another shape, or is written already.
        KindError
            It is no array.
        FileError
        """
        check_options(options, "write", Writer.write, CAST_OPTIONS)
        if not isinstance(name, str) or name not in self._places:
            raise ArgumentError(f"{name!r} is none of the {len(self._places)} tensors that were declared")
        index, _, shape = self._places[name]
        source = _source(x, name)
        if source.number == STRING:
            raise UnsupportedError(f"tensor {name!r} is of strings: parse them first, or give them to save_file")
        if source.shape != shape:
            raise ArgumentError(f"tensor {name!r} has shape {source.shape}, and was declared with {shape}")
        self._core.write(index, source.given(), source.number, source.packed, options, arrays.thread_count(threads))

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._core.commit()
        finally:
            self._core.close()


def _planned(name: str, what: Any) -> _Declared:
    if isinstance(what, files.TensorInfo):
        what = (what.type, what.shape)
    if not isinstance(what, (tuple, list)) or len(what) != 2:
        raise KindError(f"tensor {name!r} is declared as (type, shape), and not as {type(what).__name__}")
    number, shape = int(_core.type_number(what[0])), what[1]
    if number == STRING:
        raise UnsupportedError(f"tensor {name!r} is {type_name(number)}, whose texts the file's beginning depends on: "
                               "give them to save_file")
    if not isinstance(shape, (tuple, list)):
        raise KindError(f"the shape of tensor {name!r} is a tuple of int")
    return name, number, tuple(count(size, f"a size of tensor {name!r}") for size in shape), None
