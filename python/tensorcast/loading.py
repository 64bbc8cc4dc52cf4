"""`load_file` reads a file, or a checkpoint, as a dict.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Unpack

from . import _core, arrays, files
from .arguments import CAST_OPTIONS, check_options, flag
from .choosing import Patterns, chosen
from .progress import Progress, shown
from .signatures import CastOptions
from .types import STRING, TypeLike


def is_cast(number: int, all_types: bool) -> bool:
    """Whether a type is one of those that `to` is of."""
    return number != 0 and number != STRING and (all_types or _core.type_row(number)["kind"] == "float")


def load_file(path: str | os.PathLike[str], to: TypeLike | None = None, *, framework: str = "np", device: Any = None,
              select: Patterns = (), exclude: Patterns = (), all_types: bool = False, ignore_scales: bool = False,
              threads: int | None = None, mmap: bool = True, assume_type: TypeLike | None = None,
              allow_hard_links: bool = False, root: str | None = None,
              storage_options: Mapping[str, Any] | None = None, progress: Progress = None,
              **options: Unpack[CastOptions]) -> dict[str, Any]:
    """Reads a file, or all files of a checkpoint's directory: a dict of the weights as the model knows them.

    Scales are applied and packed weights decoded, each value rounded once. One tensor is read after the
    other, on all cores: beside what is returned some MiB of memory are taken, and one tensor where
    they go to another device. What stays as it is in the file is the file's memory, as `open` says.

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
    mmap, assume_type, allow_hard_links, root, storage_options
        As `open`.
    progress : bool, callable or tqdm, optional
        As `Plan.run`, tensor by tensor, in bytes of the file.

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
