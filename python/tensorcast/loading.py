"""`load_file` reads a file or a checkpoint as a dict, `save_file` writes one.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _core, arrays, files, sources
from .arguments import CAST_OPTIONS, check_options, flag, path_text, text
from .errors import ArgumentError, KindError, UnsupportedError, first_line
from .types import STRING, TypeLike

Patterns = str | Iterable[str]


def _chosen(rows: list[tuple[str, int, int, int]], patterns: Patterns, what: str) -> set[str]:
    """The names that a pattern matches, each of which has to match one."""
    found: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matches = [row[0] for row, is_match in zip(rows, _core.matches(text(pattern, f"each of {what}"), rows))
                   if is_match]
        if not matches:
            raise ArgumentError(f"{what}: {pattern!r} matches no tensor of {len(rows)} (patterns match whole names; "
                                "list(tensorcast.open(path)) has them)")
        found.update(matches)
    return found


def _is_cast(number: int, all_types: bool) -> bool:
    """Whether a type is one of those that `to` is of."""
    return number != 0 and number != STRING and (all_types or _core.type_row(number)["kind"] == "float")


def load_file(path: str | os.PathLike[str], to: TypeLike = None, *, framework: str = "np", device: Any = None,
              select: Patterns = (), exclude: Patterns = (), all_types: bool = False, ignore_scales: bool = False,
              threads: int | None = None, assume_type: TypeLike = None, allow_hard_links: bool = False,
              root: str | None = None, storage_options: Mapping[str, Any] | None = None,
              **options: Any) -> dict[str, Any]:
    """Reads a file, or all files of a checkpoint's directory: a dict of the weights as the model knows them.

    Scales are applied and packed weights decoded, each value rounded once. One tensor is read after the
    other, on all cores: beside what is returned some MiB of memory are taken, and one tensor where
    they go to another device.

    Parameters
    ----------
    path : path or URL
        As `open`.
    to : type, optional
        Of floating tensors, weights of codes and scales among them; the others stay as they are. By
        default each is of the file's own type, weights of codes and scales of the one that config.json
        says the model is built in, or float32.
    framework : {"np", "pt", "jax"}
        Arrays of numpy, torch's tensors or arrays of JAX.
    device : optional
        Of torch or JAX, as `open`.
    select, exclude : str or iterable of str
        Patterns of names, as `convert` has them: those that are read, and those that are not.
    all_types : bool
        Cast integers and bool too.
    ignore_scales : bool
        Read what is stored, codes and scales under their own names.
    threads, **options
        As `cast`.
    assume_type, allow_hard_links, root, storage_options
        As `open`.

    Returns
    -------
    dict of str to array
        In the file's order.

    Raises
    ------
    ArgumentError
        Also where a pattern matches nothing, or the framework is not installed.
    FileError, ContentsError, UnsupportedError
        Also where a weight has scales that cannot be applied.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> tc.save_file({"w": np.float32([0.1, 512]), "ids": np.arange(2)}, path)
    >>> weights = tc.load_file(path, "bfloat16")
    >>> weights["w"].dtype.name, weights["ids"].dtype.name
    ('bfloat16', 'int64')
    """
    check_options(options, "load_file", load_file, CAST_OPTIONS)
    number = None if to is None else _core.type_number(to)
    every = flag(all_types, "all_types")
    asked = arrays.thread_count(threads)
    with files.open(path, framework=framework, device=device, assume_type=assume_type,
                    allow_hard_links=allow_hard_links, root=root, storage_options=storage_options) as file:
        view = file.raw if flag(ignore_scales, "ignore_scales") else file
        infos = {info.name: info for info in view.infos()}
        numbers = {name: 0 if info.type is None else int(_core.type_number(info.type)) for name, info in infos.items()}
        rows = [(name, numbers[name], len(info.shape), math.prod(info.shape)) for name, info in infos.items()]
        names = _chosen(rows, select, "select") if select else set(infos)
        names -= _chosen(rows, exclude, "exclude")
        loaded: dict[str, Any] = {}
        for name in infos:
            if name in names:
                wanted = to if number is not None and _is_cast(numbers[name], every) else None
                loaded[name] = view.get_tensor(name, to=wanted, threads=asked, **options)
    return loaded


def _declared(tensors: Mapping[str, Any], name: str) -> tuple[int, tuple[int, ...]]:
    """The type and the shape of one that is to be written."""
    if isinstance(tensors, files.Tensors):  # which is not read for that
        info = tensors.info(name)
        if info.type is None:
            raise UnsupportedError(f"tensor {name!r} is {info.dtype}, which is not written from Python: convert copies it")
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


def save_file(tensors: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None, *,
              to: TypeLike = None, all_types: bool = False, overwrite: bool = False, threads: int | None = None,
              **options: Any) -> None:
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
    target = sources.local_path(path_text(path), "path")
    number = None if to is None else _core.type_number(to)
    if number == STRING:
        raise UnsupportedError("to is string: cast the arrays, then save them")
    said = {text(key, "a key of metadata"): text(value, f"metadata {key!r}") for key, value in (metadata or {}).items()}
    if target.lower().endswith(".gguf"):  # whose readers want some tensors in types of their own
        raise UnsupportedError(f"{os.path.basename(target)!r}: save a .safetensors, and let convert make the .gguf of it")
    if said and not target.lower().endswith((".safetensors", ".pb")):
        raise ArgumentError(f"metadata has no place in {os.path.basename(target)!r}: .safetensors and .pb have one")
    every, asked = flag(all_types, "all_types"), arrays.thread_count(threads)
    declared: list[tuple[str, int, tuple[int, ...], Any]] = []
    for name in tensors:
        own, shape = _declared(tensors, text(name, "a tensor's name"))
        texts = _core.Texts(_source(tensors[name], name).given()) if own == STRING else None
        declared.append((name, number if number is not None and _is_cast(own, every) else own, shape, texts))
    writer = _core.TensorWriter(target, declared, said, flag(overwrite, "overwrite"))
    try:
        for index, (name, _, shape, texts) in enumerate(declared):
            if texts is not None:
                writer.write_texts(index, texts)
                continue
            source = _source(tensors[name], name)
            if source.shape != shape:
                raise ArgumentError(f"tensor {name!r} has changed its shape from {shape} to {source.shape}")
            writer.write(index, source.given(), source.number, source.packed, options, asked)
        writer.commit()
    finally:
        writer.close()
