"""`open` reads tensors of safetensors, npy, npz, pb and onnx files, and of directories, on demand.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Unpack, overload

from . import _core, arrays, casting, sources
from .arguments import CAST_OPTIONS, check_options, flag, path_text, says_nearest, text
from .errors import ArgumentError, KindError, UnsupportedError
from .loss import LossReport
from .signatures import CastOptions, Packed
from .types import STRING, Array, TypeLike, numpys_dtype, type_name

_FLOAT64 = 11  # ONNX's number


class NoTensorError(ArgumentError, KeyError):
    """A name that the file does not have; also a KeyError, as of a mapping."""

    __str__ = Exception.__str__  # KeyError's quotes the line


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as its file declares it.

    `dtype` is the file's own word, `type` tensorcast's name or None where it has none; `nbytes`
    what the elements take packed.
    """

    name: str
    dtype: str
    type: str | None
    shape: tuple[int, ...]
    nbytes: int


class TensorFile:
    """An open file of tensors: a mapping of names, as `open` gives it.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npz"
    >>> np.savez(path, w=np.float32([[0.1, 448], [512, -1]]))
    >>> with tc.open(path) as f:
    ...     print(list(f), f.info("w").shape)
    ...     print(f.get("w", to="float8_e4m3fn"))
    ['w'] (2, 2)
    [[0.101562 448]
     [448 -1]]
    """

    def __init__(self, path: str | os.PathLike[str], *, assume_type: TypeLike | None = None,
                 allow_hard_links: bool = False, root: str | None = None,
                 storage_options: Mapping[str, Any] | None = None) -> None:
        number = None if assume_type is None else _core.type_number(assume_type)
        self._path = path_text(path)
        self._lent = sources.lend([self._path], storage_options)
        try:
            self._file = _core.TensorFile(self._path, number, flag(allow_hard_links, "allow_hard_links"),
                                          None if root is None else text(root, "root"))
        except BaseException:
            self._lent.close()
            raise
        self._infos: list[tuple[Any, ...]] = self._file.infos()
        self._index: dict[str, int] = {}
        for index, info in enumerate(self._infos):
            self._index.setdefault(info[0], index)
        # Scaled weights are found when a tensor is first cast: the indices of their codes, and what
        # is known of each, by name.
        self._weights: dict[str, tuple[int, str]] | None = None
        self._codes: frozenset[int] = frozenset()

    def close(self) -> None:
        """Lets the file go; what was read stays. Raises nothing; `get` then raises `ArgumentError`."""
        self._file.close()
        self._lent.close()

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return bool(self._file.closed)

    @property
    def metadata(self) -> dict[str, str]:
        """safetensors' __metadata__, a TensorProto's metadata_props."""
        return dict(self._file.metadata())

    @property
    def notes(self) -> list[str]:
        """What should be known of how the file was understood, a line each."""
        return list(self._file.notes())

    @property
    def scaled(self) -> dict[str, str]:
        """The weights that are stored as codes and scales, and how each is: the layout, and what
        says so. `get` casts their values."""
        return {name: known for name, (_, known) in self._scaled_weights().items()}

    def _scaled_weights(self) -> dict[str, tuple[int, str]]:
        if self._weights is None:
            weights = self._file.scaled_weights()
            self._codes = frozenset(codes for _, codes, _ in weights)
            self._weights = {name: (codes, known) for name, codes, known in weights}
        return self._weights

    def _scaled_codes(self, name: str, target: int) -> int | None:
        """The index of the codes of the scaled weight of that name, or of the codes that have it;
        raises where a tensor's values are not known."""
        weights = self._scaled_weights()
        if name in weights:
            return weights[name][0]
        index = self._at(name)
        self._file.refuse_weight(index, target)
        return index if index in self._codes else None

    def keys(self) -> list[str]:
        """The tensors' names, in the file's order. Raises nothing, even of a closed file."""
        return list(self._index)

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> Array:
        return self.get(name)

    def _at(self, name: str) -> int:
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise NoTensorError(f"{os.path.basename(self._path)!r} has no tensor {name!r}") from None

    def info(self, name: str) -> TensorInfo:
        """What the file says of a tensor; raises `ArgumentError`, a KeyError too, where it has none of
        that name."""
        own, dtype, number, shape, nbytes, _ = self._infos[self._at(name)]
        return TensorInfo(own, dtype, type_name(number) if number else None, shape, nbytes)

    def infos(self) -> list[TensorInfo]:
        """Of all tensors, in the file's order."""
        return [self.info(name) for name in self._index]

    @overload
    def get(self, name: str, *, to: TypeLike | None = None, packed: Packed = False, loss: Literal[False] = False,
            threads: int | None = None, ignore_scales: bool = False, **options: Unpack[CastOptions]) -> Array: ...
    @overload
    def get(self, name: str, *, to: TypeLike | None = None, packed: Packed = False, loss: Literal[True],
            threads: int | None = None, ignore_scales: bool = False,
            **options: Unpack[CastOptions]) -> tuple[Array, LossReport]: ...
    @overload
    def get(self, name: str, *, to: TypeLike | None = None, packed: Packed = False, loss: bool,
            threads: int | None = None, ignore_scales: bool = False, **options: Unpack[CastOptions]) -> Any: ...
    def get(self, name: str, *, to: TypeLike | None = None, packed: Packed = False, loss: bool = False,
            threads: int | None = None, ignore_scales: bool = False, **options: Unpack[CastOptions]) -> Any:
        """Reads a tensor, cast piece by piece: no more memory than the result and some MiB.

        A weight that is stored as codes and scales is, with `to`, its values: code times scale,
        rounded once to the type, as `convert` writes them. Its name is the weight's or that of its
        codes. Without `to` a tensor is as it is stored.

        Parameters
        ----------
        name : str
        to : type, optional
            As `cast`; by default the file's own.
        packed, loss, threads, **options
            As `cast`.
        ignore_scales : bool
            Cast the bare codes where scales would be applied.

        Returns
        -------
        numpy.ndarray
            Of the tensor's shape; or a pair of it and a `LossReport`, in which a scaled weight is
            float64. A type that tensorcast does not know is read as its bytes, one-dimensional
            uint8.

        Raises
        ------
        ArgumentError
            The file has no such tensor (a KeyError too), or is closed.
        FileError
            It cannot be read any more.
        ContentsError, UnsupportedError
            Also where a weight has scales that cannot be applied.

        Examples
        --------
        >>> import numpy as np, tempfile, pathlib
        >>> import tensorcast as tc
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npz"
        >>> np.savez(path, w=np.float32([[0.1, 448], [512, -1]]))
        >>> with tc.open(path) as f:
        ...     w, report = f.get("w", to="float8_e4m3fn", loss=True)
        >>> w.shape, report.counts["to_limit"]
        ((2, 2), 1)
        """
        check_options(options, "get", TensorFile.get, CAST_OPTIONS)
        threads = arrays.thread_count(threads)
        packed = casting.packs(packed)
        codes = None
        if to is not None and not flag(ignore_scales, "ignore_scales"):
            codes = self._scaled_codes(name, _core.type_number(to))
        scaled = codes is not None
        index = self._at(name) if codes is None else codes
        _, dtype, number, shape, _, fortran = self._infos[index]
        if scaled:
            number, fortran = _FLOAT64, False
        elif number == 0:
            if to is not None or loss:
                raise UnsupportedError(f"tensor {name!r} is {dtype}, which is not cast: leave out to")
            return self._file.read_bytes(index)
        target = number if to is None else _core.type_number(to)
        if loss and STRING in (number, target):
            raise UnsupportedError("casts from and to string have no loss report")
        if number == STRING:
            texts = self._file.read_texts(index).array(shape[::-1] if fortran else shape, "O")
            texts = texts.T if fortran else texts
            return texts if to is None else casting.cast(texts, to, packed=packed, threads=threads,
                                                         **options)
        if to is not None and target == STRING:
            values = self._file.read_numbers(index, scaled, number, {}, False, threads, None)
            return casting.cast(values.T if fortran else values, to, threads=threads, **options)
        meter = _core.LossMeter(number, target, dict(options)) if loss else None
        if meter is not None and fortran:
            raise KindError(f"tensor {name!r} stands in Fortran's order: read it, then measure")
        made = self._file.read_numbers(index, scaled, target, dict(options), packed, threads, meter)
        if fortran:
            if packed and arrays.bits_of(target) < 8:
                raise UnsupportedError(f"tensor {name!r} stands in Fortran's order: read it, then pack")
            made = made.T
        form = numpys_dtype(to)
        if form is not None and not form.isnative:
            made = made.astype(form)
        return made if meter is None else (made, LossReport(meter))

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{len(self)} tensors"
        return f"<TensorFile {self._path!r}: {state}>"


@says_nearest
def open(path: str | os.PathLike[str], *, assume_type: TypeLike | None = None,
         allow_hard_links: bool = False, root: str | None = None,
         storage_options: Mapping[str, Any] | None = None) -> TensorFile:
    """Opens a file of tensors, or a checkpoint's directory; reads its header alone.

    What is listed is what is stored; `TensorFile.get` with a type applies the scales of a
    checkpoint, which `TensorFile.scaled` lists.

    Parameters
    ----------
    path : path or URL
        .safetensors, .npy, .npz, .pb, .onnx, .pt, .pth, .bin, .ckpt, .gguf, or a checkpoint's directory;
        of this machine, or by a URL that fsspec opens (``hf://``, ``s3://``, ``gs://``, ``https://``),
        of which only what is asked for is read.
    assume_type : type, optional
        Of npy files whose dtype does not say it (``<V1``, ``<V2``).
    allow_hard_links : bool
        Of files that hold a model's data.
    root : str, optional
        Of torch's files (.pt, .pth, .bin, .ckpt): the key of the dict that holds the tensors, or
        keys from the top on joined by dots; "." is the top itself.
    storage_options : mapping, optional
        Of a URL: what fsspec's file system is made with (``{"anon": True}``).

    Returns
    -------
    TensorFile
        A mapping of names, and a context manager that closes the file.

    Raises
    ------
    ArgumentError
        Of a URL whose package is not installed, too; the line names it.
    FileError, ContentsError, UnsupportedError

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npy"
    >>> np.save(path, np.float32([0.1, 512]))
    >>> with tc.open(path) as f:
    ...     f.info("w").type, f.get("w", to="float16").dtype
    ('float32', dtype('float16'))
    """
    return TensorFile(path, assume_type=assume_type, allow_hard_links=allow_hard_links, root=root,
                      storage_options=storage_options)


@says_nearest
def inspect(path: str | os.PathLike[str], *, assume_type: TypeLike | None = None,
            root: str | None = None, storage_options: Mapping[str, Any] | None = None) -> list[TensorInfo]:
    """What a file of tensors holds; reads its header alone.

    Raises
    ------
    FileError, ContentsError, UnsupportedError

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npy"
    >>> np.save(path, np.zeros((2, 3), np.int16))
    >>> [(info.name, info.type, info.shape) for info in tc.inspect(path)]
    [('w', 'int16', (2, 3))]
    """
    with open(path, assume_type=assume_type, root=root, storage_options=storage_options) as file:
        return file.infos()
