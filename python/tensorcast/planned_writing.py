"""What `save_file` and `Writer` write by a conversion's plan: scaled and packed layouts, directories, GGUF.

The declared tensors are lent to the library as a checkpoint that holds nothing yet. The plan is made
from it as from any other, and each of its jobs runs once what it reads was given.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from . import _core, arrays, sources
from .arguments import CAST_OPTIONS, path_text
from .conversion import plan
from .errors import ArgumentError, FileError, KindError, UnsupportedError, first_line
from .outputs import Part
from .types import Array, ScaledFormat

_numbers = itertools.count(1)
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".onnx", ".npz", ".npy", ".pb", ".h5", ".msgpack",
            ".index.json")
_MOST_BYTES = 256 << 20  # in a file beside the weights


def _beside(config: Any) -> dict[str, bytes]:
    """The files that stand beside the weights, by name."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        try:
            return {"config.json": json.dumps(dict(config), indent=2).encode()}
        except (TypeError, ValueError) as error:
            raise KindError(f"config is not JSON: {first_line(error, 'json refuses it')}") from None
    folder, found = path_text(config, "config"), {}
    try:
        for entry in os.scandir(folder):
            if not entry.is_file() or entry.name.lower().endswith(_WEIGHTS):
                continue
            if entry.stat().st_size > _MOST_BYTES:
                raise UnsupportedError(f"{entry.path} has {entry.stat().st_size:,} bytes, too many for a file beside weights")
            with open(entry.path, "rb") as file:
                found[entry.name] = file.read()
    except OSError as error:
        raise FileError(f"config: {first_line(error, 'it cannot be read')}") from error
    if "config.json" not in found:
        raise ArgumentError(f"config: {folder} has no config.json")
    return found


class PlanRequest(NamedTuple):
    """What a plan is made from."""

    to: Any
    layout: str | None
    rules: Any
    config: Any
    options: dict[str, Any]


def request_of(target: str, to: Any, layout: str | None, rules: Any, config: Any,
               options: dict[str, Any], *, casts: bool) -> PlanRequest | None:
    """What `save_file` and `Writer` are asked for if that takes a plan, else None. A file of plain types takes none,
    and if the caller `casts` by itself, `to` takes none either.
    """
    is_plain_type = to is None or casts and not (isinstance(to, str) and to in ("same", *get_args(ScaledFormat)))
    is_plain = layout is None and not rules and config is None and is_plain_type
    if is_plain and not target.lower().endswith(".gguf") and options.keys() <= {*CAST_OPTIONS, "all_types"}:
        return None
    if layout is not None and to is None and not rules:  # a scaled format, in its usual names
        formats = get_args(ScaledFormat)
        if layout not in formats:
            meant = _core.meant_name(layout, formats) if isinstance(layout, str) else ""
            raise ArgumentError(f"layout is {layout!r}: alone it is one of {', '.join(formats)}; with to it says whose names "
                                f"weights get, as in to='int4-group', layout='gptq'{meant}")
        layout, to = None, layout
    return PlanRequest(to, layout, rules, config, options)


class PlannedOutput:
    """Takes the place of the extension's writer of plain files in `Writer`."""

    def __init__(self, path: str, declared: list[tuple[str, int, tuple[int, ...], Any]], metadata: dict[str, str],
                 overwrite: bool, request: PlanRequest) -> None:
        self._tensors = [(number, shape, arrays.bits_of(number) < 8) for _, number, shape, _ in declared]
        self._names = [name for name, *_ in declared]
        source = f"{sources.WRITERS}{next(_numbers)}/{os.path.basename(path.rstrip(os.sep)) or 'model'}"
        self._lent = _core.LentArrays(source, declared, metadata, _beside(request.config))
        try:
            self._plan = plan(source, path, to=request.to, layout=request.layout, rules=request.rules, **request.options)
            self._outputs = self._plan.begin(overwrite=overwrite)
        except BaseException:
            self._lent.close()
            raise
        self._parts: list[Part] = []
        self._written: set[int] = set()
        places = {name: index for index, name in enumerate(self._names)}
        self._needs: dict[int, set[int]] = {}  # for a tensor, those that have to be there with it
        self._jobs: dict[int, tuple[int, int, int]] = {}
        whole = {job: (job, first, elements) for unit in self._plan.units(2**63 - 1)
                 for job, first, elements in unit.ranges}
        groups: dict[int, set[int]] = {}
        for job, group in enumerate(_core.groups(self._plan._core)):
            index = places[self._plan.jobs[job].name]
            self._jobs[index] = whole[job]
            self._needs[index] = {index} if group is None else groups.setdefault(group, set())
            self._needs[index].add(index)

    def write(self, index: int, array: Array, number: int, packed: bool, options: dict[str, Any],
              threads: int | None) -> None:
        if index in self._written:
            raise ArgumentError("the tensor is written already")
        wanted, shape, is_packed = self._tensors[index]
        is_own = number != wanted or packed != is_packed
        if is_own:
            array = arrays.cast_numbers(arrays.Source(array, number, shape, packed), wanted, options, is_packed,
                                        threads, None, None)
        self._written.add(index)
        if index not in self._jobs:
            return  # it is left out
        together = self._needs[index]
        is_ready = together <= self._written
        # An array that waits for others is copied: the caller may change its memory meanwhile.
        self._lent.put(index, array if is_own or is_ready else array.copy())
        if is_ready:
            self._parts.append(self._outputs.run([self._jobs[each] for each in sorted(together)], loss=False,
                                                 threads=threads))
            for each in together:
                self._lent.drop(each)

    def commit(self) -> None:
        for index, name in enumerate(self._names):
            if index not in self._written:
                raise ArgumentError(f"the file is not complete: {name} was not written")
        self._outputs.commit(self._parts)

    def close(self) -> None:
        self._outputs.close()
        self._lent.close()
