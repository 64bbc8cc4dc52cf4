"""`open` reads tensors of safetensors, npy, npz, pb, onnx, torch and gguf files, and of directories, on demand.

It lists a model's weights, as the model knows them; `TensorFile.raw` lists what is stored.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from . import _core, arrays, frameworks, reading, sources, tables
from .arguments import CAST_OPTIONS, check_options, flag, path_text, says_nearest, text
from .choosing import Patterns, chosen
from .errors import ArgumentError, KindError
from .histograms import Exponents
from .loss import LossReport
from .reading import A_co
from .signatures import CastOptions, Framework, JaxName, NumpyName, OpenOptions, Packed, ReadOptions, TorchName
from .types import Array, TypeLike, type_name

if TYPE_CHECKING:  # where one is not installed, its arrays are Any
    import jax  # type: ignore[import-not-found,unused-ignore]
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import torch  # type: ignore[import-not-found,unused-ignore]

Default = TypeVar("Default")


class NoTensorError(ArgumentError, KeyError):
    """The file has no tensor of that name; also a KeyError, as a mapping raises."""

    __str__ = Exception.__str__  # KeyError's quotes the line


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as its file declares it.

    `dtype` is the file's own word for the type, `type` is tensorcast's name, or None if it has none, and
    `nbytes` is how many bytes the packed elements take. For a weight that is stored as codes and scales,
    `dtype` is the layout, and `type` is what it is read as.
    """

    name: str
    dtype: str
    type: str | None
    shape: tuple[int, ...]
    nbytes: int


class Inspection(list[TensorInfo]):
    """What a file declares: a list of `TensorInfo`, which notebooks show as a table; `inspect` returns one."""

    def to_frame(self) -> pd.DataFrame:
        """A pandas.DataFrame by `name`, with the columns of `TensorInfo` and the number of `elements`.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        columns: dict[str, list[Any]] = {each.name: [getattr(info, each.name) for info in self] for each in fields(TensorInfo)}
        return tables.frame({**columns, "elements": [math.prod(info.shape) for info in self]}, "name")

    def _table(self, caption: str) -> str:
        rows = ((tables.Name(info.name), info.dtype, info.type, info.shape, math.prod(info.shape), info.nbytes) for info in self)
        sizes = f"{len(self):,} tensors, {sum(info.nbytes for info in self):,} bytes"
        return tables.table(f"{caption}{sizes}", ["tensor", "dtype", "type", "shape", ">elements", ">bytes"], rows, len(self))

    def _repr_html_(self) -> str:
        return tables.page(self._table(""))


class _Opened:
    """A file, and what it stores by name; both views of the file share it."""

    def __init__(self, path: str, core: Any, lent: sources.Lent, place: frameworks.Place, mmap: bool) -> None:
        self.path, self.core, self.lent, self.place, self.mmap = path, core, lent, place, mmap
        self.stored: dict[str, reading.Stored] = {}
        self.sizes: list[int] = []
        for index, (name, dtype, number, shape, nbytes, fortran) in enumerate(core.infos()):
            self.sizes.append(nbytes)
            self.stored.setdefault(name, reading.Stored(name, index, dtype, number, shape, fortran, False, number))

    def missing(self, name: object, names: Iterable[str]) -> NoTensorError:
        """The error for a name that is none of `names`."""
        if not isinstance(name, str):
            more = ""
        elif name in self.stored:
            more = " of its own: it is a part of a weight, or was not selected, and stands in .raw"
        else:
            more = _core.meant_name(name, names)
        return NoTensorError(f"{os.path.basename(self.path)!r} has no tensor {name!r}{more}")


class Tensors(Mapping[str, A_co]):
    """A mapping of names to tensors that are read when they are asked for."""

    def __init__(self, opened: _Opened) -> None:
        self._opened = opened

    def _listed(self) -> dict[str, reading.Stored]:
        return self._opened.stored

    def _find(self, name: str, to: int | None, ignore_scales: bool) -> reading.Stored:
        try:
            return self._opened.stored[name]
        except (KeyError, TypeError):
            raise self._opened.missing(name, self._opened.stored) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed())

    def __len__(self) -> int:
        return len(self._listed())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._listed()

    def __getitem__(self, name: str) -> A_co:
        return self.get_tensor(name)

    def __eq__(self, other: object) -> bool:
        return self is other  # a Mapping's would read everything

    __hash__ = object.__hash__

    @overload
    def get(self, name: str, default: None = None, **how: Unpack[ReadOptions]) -> A_co | None: ...
    @overload
    def get(self, name: str, default: Default, **how: Unpack[ReadOptions]) -> A_co | Default: ...
    @overload
    def get(self, name: str, default: Any = None, *, like: Any = None, out: Any = None, loss: bool = False,
            **how: Unpack[ReadOptions]) -> Any: ...
    def get(self, name: str, default: Any = None, **how: Any) -> Any:
        """Does what `get_tensor` does, but returns `default` if there is no tensor of that name. Raises the same
        otherwise.
        """
        check_options(how, "get", Tensors.get_tensor, CAST_OPTIONS)
        if name in self or how.get("ignore_scales") and name in self._opened.stored:
            return self.get_tensor(name, **how)
        return default

    @overload
    def get_tensor(self, name: str, *, loss: Literal[False] = False, **how: Unpack[ReadOptions]) -> A_co: ...
    @overload
    def get_tensor(self, name: str, *, loss: Literal[True], **how: Unpack[ReadOptions]) -> tuple[A_co, LossReport]: ...
    @overload
    def get_tensor(self, name: str, *, like: Any = None, out: Any = None, loss: Literal[True],
                   **how: Unpack[ReadOptions]) -> tuple[Any, LossReport]: ...
    @overload
    def get_tensor(self, name: str, *, like: Any = None, out: Any = None, loss: bool = False,
                   **how: Unpack[ReadOptions]) -> Any: ...
    def get_tensor(self, name: str, *, to: TypeLike | None = None, like: Any = None, out: Any = None,
                   packed: Packed = False, loss: bool = False, threads: int | None = None,
                   ignore_scales: bool = False, **options: Unpack[CastOptions]) -> Any:
        """Reads a tensor and casts it piece by piece: that takes no more memory than the result and some MiB.

        A weight that is stored as codes and scales is read as its values: code times scale, rounded once to
        the type, as `convert` writes them.

        Parameters
        ----------
        name : str
        to : type, optional
            As in `cast`. By default it is the file's own type, and for a weight of codes and scales the one
            that config.json says the model is built in, or float32.
        like : array, optional
            The result has the type, the library and the device of this array.
        out : array, optional
            Takes the result: a numpy array or a torch tensor on the CPU, of the tensor's shape. The tensor
            is cast to its type.
        packed, loss, threads, **options
            As in `cast`.
        ignore_scales : bool
            Cast the bare codes if scales would be applied; `name` is then one of `raw`.

        Returns
        -------
        array
            An array of the tensor's shape, in the library that `open` was told, or that of `like`; or `out`,
            if given. With ``loss=True``, a pair of it and a `LossReport`, in which a weight of codes and
            scales counts as float64. A type that tensorcast does not know is read as its bytes, as
            one-dimensional uint8.

        Raises
        ------
        ArgumentError
            The file has no such tensor (also a KeyError), or is closed.
        FileError
            It can no longer be read.
        ContentsError, UnsupportedError
            Also if a weight has scales that cannot be applied.

        Examples
        --------
        >>> import numpy as np, tempfile, pathlib
        >>> import tensorcast as tc
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npz"
        >>> np.savez(path, w=np.float32([[0.1, 448], [512, -1]]))
        >>> here = np.empty((2, 2), np.float16)
        >>> with tc.open(path) as f:
        ...     w, report = f.get_tensor("w", to="float8_e4m3fn", loss=True)
        ...     f.get_tensor("w", out=here) is here
        True
        >>> w.shape, report.counts["to_limit"]
        ((2, 2), 1)
        """
        if (to is like is out is threads is None and self._opened.mmap
                and not (options or packed or loss or ignore_scales)):
            made = reading.as_it_is(self._opened.core, self._find(name, None, False), self._opened.place)
            if made is not None:
                return made
        check_options(options, "get_tensor", Tensors.get_tensor, CAST_OPTIONS)
        number = None if to is None else _core.type_number(to)
        for model in (out, like):
            number = arrays.type_of(model) if number is None and model is not None else number
        one = self._find(name, number, flag(ignore_scales, "ignore_scales"))
        return reading.read(self._opened.core, one, self._opened.place, reading.Wish(
            to, like, out, packed, loss, arrays.thread_count(threads), dict(options), self._opened.mmap))

    def get_slice(self, name: str, *, to: TypeLike | None = None, threads: int | None = None,
                  ignore_scales: bool = False, **options: Unpack[CastOptions]) -> reading.TensorSlice[A_co]:
        """Returns a tensor that is read in parts, by an index: ``f.get_slice("w", to="bfloat16")[:, 128:256]``.

        Parameters
        ----------
        name, to, threads, ignore_scales, **options
            As in `get_tensor`.

        Raises
        ------
        ArgumentError, FileError, ContentsError, UnsupportedError
            As in `get_tensor`; for an index beyond the end the error is an IndexError too.

        Examples
        --------
        >>> import numpy as np, tempfile, pathlib
        >>> import tensorcast as tc
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npy"
        >>> np.save(path, np.arange(12, dtype=np.int16).reshape(3, 4))
        >>> with tc.open(path) as f:
        ...     part = f.get_slice("w", to="float32")
        ...     part.shape, part[1:, 2].tolist()
        ((3, 4), [6.0, 10.0])
        """
        check_options(options, "get_slice", Tensors.get_slice, CAST_OPTIONS)
        number = None if to is None else _core.type_number(to)
        one = self._find(name, number, flag(ignore_scales, "ignore_scales"))
        return reading.TensorSlice(self._opened.core, one, self._opened.place, reading.Wish(
            to, threads=arrays.thread_count(threads), options=dict(options), mmap=self._opened.mmap))

    def info(self, name: str) -> TensorInfo:
        """What is known of a tensor before it is read. Raises `ArgumentError`, also a KeyError, if there is none
        of that name.
        """
        one = self._listed().get(name) if isinstance(name, str) else None
        if one is None:
            one = self._find(name, None, False)
        number = one.usual
        nbytes = arrays.packed_bytes(number, math.prod(one.shape)) if one.scaled else self._opened.sizes[one.index]
        return TensorInfo(one.name, one.dtype, type_name(number) if number else None, one.shape, nbytes)

    def infos(self) -> Inspection:
        """What is known of all tensors, in the file's order."""
        return Inspection(self.info(name) for name in self)

    def to_frame(self) -> pd.DataFrame:
        """The result of `infos` as a pandas.DataFrame.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return self.infos().to_frame()

    def exponents(self, name: str, *, ignore_scales: bool = False) -> Exponents:
        """Counts how many values of a tensor have which exponent, as `tensorcast.exponents` does for an array.
        All values are read, with scales applied, in bounded memory.

        Parameters
        ----------
        name, ignore_scales
            As in `get_tensor`.

        Raises
        ------
        ArgumentError, FileError, ContentsError
            As in `get_tensor`.
        UnsupportedError
            Also for texts and for types that tensorcast does not know.

        Examples
        --------
        >>> import numpy as np, tempfile, pathlib
        >>> import tensorcast as tc
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npy"
        >>> np.save(path, np.float32([0.1, 512, 600]))
        >>> with tc.open(path) as f:
        ...     f.exponents("w").beside("float8_e4m3fn").beyond
        2
        """
        return reading.count_exponents(self._opened.core, self._find(name, None, flag(ignore_scales, "ignore_scales")))

    def _repr_html_(self) -> str:
        if self._opened.core.closed:
            return tables.page(tables.line(repr(self)))
        return tables.page(self.infos()._table(f"{self._opened.path}: "))

    def __repr__(self) -> str:
        state = "closed" if self._opened.core.closed else f"{len(self)} tensors"
        return f"<{type(self).__name__} {self._opened.path!r}: {state}>"


class RawTensors(Tensors[A_co]):
    """What a file stores under the file's own names, codes and scales too: `TensorFile.raw`."""


class TensorFile(Tensors[A_co]):
    """An open file of tensors: a mapping from the weights' names, as `open` returns it.

    The names are those that the model knows. A weight that is stored as codes and scales is listed once
    and read as its values; its parts are not listed, but are found in `raw`.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npz"
    >>> np.savez(path, w=np.float32([[0.1, 448], [512, -1]]))
    >>> with tc.open(path) as f:
    ...     print(list(f), f.info("w").shape, f.get("x"))
    ...     print(f.get("w", to="float8_e4m3fn"))
    ['w'] (2, 2) None
    [[0.101562 448]
     [448 -1]]
    """

    def __init__(self, path: str | os.PathLike[str], *, framework: Framework = "np", device: Any = None,
                 select: Patterns = (), exclude: Patterns = (), mmap: bool = True,
                 assume_type: TypeLike | None = None, allow_hard_links: bool = False, root: str | None = None,
                 storage_options: Mapping[str, Any] | None = None) -> None:
        place = frameworks.place_named(framework, device)
        number = None if assume_type is None else _core.type_number(assume_type)
        where = path_text(path)
        lent = sources.lend([where], storage_options)
        try:
            core = _core.TensorFile(where, number, flag(allow_hard_links, "allow_hard_links"),
                                    None if root is None else text(root, "root"))
            super().__init__(_Opened(where, core, lent, place, flag(mmap, "mmap")))
            # Weights are found when they are first asked for: those of many files never are.
            self._weights: dict[str, reading.Stored] | None = None
            self._known: dict[str, str] = {}
            self._refuses = True  # whether some weight is refused; known with the weights
            if select or exclude:
                names = chosen(self.infos(), select, exclude)
                self._weights = {name: one for name, one in self._listed().items() if name in names}
                self._known = {name: known for name, known in self._known.items() if name in names}
        except BaseException:
            lent.close()
            raise

    def close(self) -> None:
        """Closes the file; what was read stays. Raises nothing; reading from it then raises `ArgumentError`."""
        self._opened.core.close()
        self._opened.lent.close()

    def __enter__(self) -> TensorFile[A_co]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return bool(self._opened.core.closed)

    @property
    def metadata(self) -> dict[str, str]:
        """safetensors' __metadata__, a TensorProto's metadata_props, or the keys of a GGUF file."""
        return dict(self._opened.core.metadata())

    @property
    def notes(self) -> list[str]:
        """What you should know about how the file was understood, a line for each thing."""
        return list(self._opened.core.notes())

    @property
    def raw(self) -> RawTensors[A_co]:
        """The tensors as they are stored, with codes and scales under their own names: a mapping of the same
        kind, open for as long as this one.
        """
        return RawTensors(self._opened)

    @property
    def scaled(self) -> dict[str, str]:
        """The weights that are stored as codes and scales, and for each one its layout and how that is known."""
        self._listed()
        return dict(self._known)

    def _listed(self) -> dict[str, reading.Stored]:
        if self._weights is None:
            weights, left, self._refuses = self._opened.core.weights()
            by_codes = {codes: reading.Stored(name, codes, known.split(":")[0], 0, tuple(shape), scaled=True,
                                              usual=usual)
                        for name, codes, known, shape, usual in weights}
            keeps = None if left is None else set(left)
            self._known = {name: known for name, _, known, *_ in weights}
            listed: dict[str, reading.Stored] = {}
            for one in self._opened.stored.values():
                if keeps is None or one.index in keeps:
                    one = by_codes.get(one.index, one)
                    listed.setdefault(one.name, one)
            self._weights = listed
        return self._weights

    def _find(self, name: str, to: int | None, ignore_scales: bool) -> reading.Stored:
        if ignore_scales:
            return super()._find(name, to, True)
        listed = self._listed()
        if not isinstance(name, str) or name not in listed:
            raise self._opened.missing(name, listed)
        one = listed[name]
        if self._refuses and not one.scaled:
            self._opened.core.refuse_weight(one.index, to)
        return one


@overload
def open(path: str | os.PathLike[str], *, framework: NumpyName = "np", **how: Unpack[OpenOptions]) -> TensorFile[Array]: ...
@overload
def open(path: str | os.PathLike[str], *, framework: TorchName, **how: Unpack[OpenOptions]) -> TensorFile[torch.Tensor]: ...
@overload
def open(path: str | os.PathLike[str], *, framework: JaxName, **how: Unpack[OpenOptions]) -> TensorFile[jax.Array]: ...
@overload
def open(path: str | os.PathLike[str], *, framework: Framework, **how: Unpack[OpenOptions]) -> TensorFile[Any]: ...
@says_nearest
def open(path: str | os.PathLike[str], *, framework: Framework = "np", device: Any = None, select: Patterns = (),
         exclude: Patterns = (), mmap: bool = True, assume_type: TypeLike | None = None, allow_hard_links: bool = False, root: str | None = None,
         storage_options: Mapping[str, Any] | None = None) -> TensorFile[Any]:
    """Opens a file of tensors, or a checkpoint's directory, and reads only its header.

    It lists the weights, by the names that the model has for them. When they are read, scales are
    applied and packed weights are decoded. `TensorFile.raw` lists what is stored.

    Parameters
    ----------
    path : path or URL
        A .safetensors, .npy, .npz, .pb, .onnx, .pt, .pth, .bin, .ckpt or .gguf file, or a checkpoint's
        directory, on this machine or by a URL that fsspec opens (``hf://``, ``s3://``, ``gs://``,
        ``https://``). By URL only what is asked for is fetched.
    framework : {"np", "pt", "jax"}
        Read tensors as numpy's arrays, torch's tensors or JAX's arrays.
    device : optional
        For torch and JAX: where each tensor goes once it is read ("cuda", "cuda:1", "gpu").
    select, exclude : str or iterable of str
        Patterns of names, as in `convert`: the weights that are listed, and those that are not.
    mmap : bool
        Map a tensor from the file if it can be, and is neither cast nor has scales. Nothing is then
        read before you look at it, and writing to an array changes that array alone. But what others
        write to the file meanwhile may be seen in it, and if they cut the file, the process ends. If
        False, all that is read is a copy.
    assume_type : type, optional
        The type of npy files whose dtype does not say it (``<V1``, ``<V2``).
    allow_hard_links : bool
        Read a model's data also from files that have hard links.
    root : str, optional
        For torch's files (.pt, .pth, .bin, .ckpt): the key of the dict that holds the tensors, or
        keys from the top on joined by dots; "." is the top itself.
    storage_options : mapping, optional
        For a URL: the options of fsspec's file system (``{"anon": True}``).

    Returns
    -------
    TensorFile
        A mapping from names to tensors, and a context manager that closes the file.

    Raises
    ------
    ArgumentError
        Also if a URL's package is not installed; the message names it.
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
    return TensorFile(path, framework=framework, device=device, select=select, exclude=exclude, mmap=mmap,
                      assume_type=assume_type, allow_hard_links=allow_hard_links, root=root, storage_options=storage_options)


@says_nearest
def inspect(path: str | os.PathLike[str], *, assume_type: TypeLike | None = None,
            root: str | None = None, storage_options: Mapping[str, Any] | None = None) -> Inspection:
    """Lists what a file of tensors stores, as `TensorInfo`; reads only its header.

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
        return file.raw.infos()
