"""`load_file` reads a file or a checkpoint as a dict.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Unpack, overload

from . import _core, arrays, files
from .arguments import CAST_OPTIONS, check_options, flag
from .choosing import Patterns, chosen
from .progress import Progress, shown
from .signatures import CastOptions, Framework, JaxName, LoadOptions, NumpyName, TorchName
from .types import STRING, Array, TypeLike

if TYPE_CHECKING:  # where one is not installed, its arrays are Any
    import jax  # type: ignore[import-not-found,unused-ignore]
    import torch  # type: ignore[import-not-found,unused-ignore]


def is_cast(number: int, all_types: bool) -> bool:
    """Whether `to` applies to tensors of a type."""
    return number != 0 and number != STRING and (all_types or _core.type_row(number)["kind"] == "float")


@overload
def load_file(path: str | os.PathLike[str], to: TypeLike | None = None, *, framework: NumpyName = "np",
              **how: Unpack[LoadOptions]) -> dict[str, Array]: ...
@overload
def load_file(path: str | os.PathLike[str], to: TypeLike | None = None, *, framework: TorchName,
              **how: Unpack[LoadOptions]) -> dict[str, torch.Tensor]: ...
@overload
def load_file(path: str | os.PathLike[str], to: TypeLike | None = None, *, framework: JaxName,
              **how: Unpack[LoadOptions]) -> dict[str, jax.Array]: ...
@overload
def load_file(path: str | os.PathLike[str], to: TypeLike | None = None, *, framework: Framework,
              **how: Unpack[LoadOptions]) -> dict[str, Any]: ...
def load_file(path: str | os.PathLike[str], to: TypeLike | None = None, *, framework: Framework = "np", device: Any = None,
              select: Patterns = (), exclude: Patterns = (), all_types: bool = False, ignore_scales: bool = False,
              threads: int | None = None, mmap: bool = True, assume_type: TypeLike | None = None,
              allow_hard_links: bool = False, root: str | None = None,
              storage_options: Mapping[str, Any] | None = None, progress: Progress = None,
              **options: Unpack[CastOptions]) -> dict[str, Any]:
    """Reads a file, or all files of a checkpoint's directory, as a dict of the weights as the model knows them.

    Scales are applied and packed weights decoded, each value rounded once. Tensors are read one after the
    other, on all cores. Beside what is returned this takes some MiB of memory, and room for one tensor
    if they go to another device. A tensor that stays as it is in the file is the file's memory, as `open` says.

    Parameters
    ----------
    path : path or URL
        As in `open`.
    to : type, optional
        The type of floating tensors, also of weights stored as codes and scales; the others stay as
        they are. By default tensors keep the file's own type, and weights of codes and scales get the one
        that config.json says the model is built in, or float32.
    framework : {"np", "pt", "jax"}
        Read them as numpy's arrays, torch's tensors or JAX's arrays.
    device : optional
        For torch and JAX, as in `open`.
    select, exclude : str or iterable of str
        Patterns of names, as in `convert`: the weights that are read, and those that are not.
    all_types : bool
        Cast integers and bool too.
    ignore_scales : bool
        Read what is stored: codes and scales, under their own names.
    threads, **options
        As in `cast`.
    mmap, assume_type, allow_hard_links, root, storage_options
        As in `open`.
    progress : bool, callable or tqdm, optional
        As in `Plan.run`, told tensor by tensor, in bytes of the file.

    Returns
    -------
    dict of str to array
        In the file's order.

    Raises
    ------
    ArgumentError
        Also if a pattern matches nothing, or the framework is not installed.
    FileError, ContentsError, UnsupportedError
        Also if a weight has scales that cannot be applied.

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
    bare = flag(ignore_scales, "ignore_scales")
    with files.open(path, framework=framework, device=device, select=() if bare else select,
                    exclude=() if bare else exclude, mmap=mmap, assume_type=assume_type,
                    allow_hard_links=allow_hard_links, root=root, storage_options=storage_options) as file:
        view = file.raw if bare else file
        names: Collection[str] = view
        if bare and (select or exclude):
            found = chosen(view.infos(), select, exclude)
            names = [name for name in view if name in found]
        if number is None and asked is None and not progress and not options:
            return {name: view.get_tensor(name) for name in names}
        loaded: dict[str, Any] = {}
        infos = [view.info(name) for name in names]
        done, total = 0, sum(info.nbytes for info in infos)
        with shown(progress, os.path.basename(os.fsdecode(path))) as tell:
            for info in infos:
                own = 0 if info.type is None else int(_core.type_number(info.type))
                wanted = to if number is not None and is_cast(own, every) else None
                loaded[info.name] = view.get_tensor(info.name, to=wanted, threads=asked, **options)
                done += info.nbytes
                if tell is not None:
                    tell(done, total, info.name)
    return loaded
