"""`diff` compares two files of tensors, or two checkpoints, by what their tensors mean.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, arrays, sources, tables
from .arguments import flag, path_text, renames, says_nearest, text
from .errors import ArgumentError
from .loss import Figures, LossReport
from .progress import Progress, shown
from .signatures import Path
from .types import TypeLike

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]


@dataclass(frozen=True)
class DiffSide:
    """A tensor as its side has it.

    `type` is None if the library does not know it, and for a weight that is held as codes and scales;
    `layout` then says how ("fp8-block"). `bytes` is what the tensor takes in the file.
    """

    name: str
    dtype: str
    type: str | None
    layout: str | None
    shape: tuple[int, ...]
    bytes: int


_WORDS = {"only_in_a": "only in A", "only_in_b": "only in B", "shape": "other shape", "values": "other values"}


def _words(kind: str) -> str:
    """A `TensorDiff.kind` in the words of the tool's table."""
    return _WORDS.get(kind, kind.replace("_", " "))


@dataclass(frozen=True)
class TensorDiff:
    """How a tensor of A compares with that of B.

    `kind` is only_in_a, only_in_b, shape, incomparable (texts and numbers, say), values, same_values or
    same_bytes; for the last two, `equal` is True. `elements` were compared and `different` of them differ;
    `first` is the index of the first one that does, in C's order, or None. `loss` has the figures for
    numbers that are not the same bytes, with A as the source and B as the result.
    """

    kind: str
    a: DiffSide | None
    b: DiffSide | None
    elements: int
    different: int
    first: int | None
    loss: LossReport | None

    @property
    def name(self) -> str:
        """The name in A, or in B if the tensor is only there."""
        side = self.a or self.b
        assert side is not None
        return side.name

    @property
    def equal(self) -> bool:
        return self.kind in ("same_values", "same_bytes")


class Diff:
    """What `diff` found.

    Attributes
    ----------
    equal : bool
        Whether both have the same names with the same shapes and values.
    tensors : list of TensorDiff
        The worst first.
    notes : list of str
        What you should know, a line for each thing.
    """

    def __init__(self, equal: bool, tensors: list[TensorDiff], notes: list[str]) -> None:
        self.equal = equal
        self.tensors = tensors
        self.notes = notes

    @property
    def differing(self) -> list[TensorDiff]:
        """The tensors that are not equal, the worst first."""
        return [one for one in self.tensors if not one.equal]

    @property
    def counts(self) -> dict[str, int]:
        """How many tensors there are of each kind that occurs."""
        counts: dict[str, int] = {}
        for one in self.tensors:
            counts[one.kind] = counts.get(one.kind, 0) + 1
        return counts

    def __getitem__(self, name: str) -> TensorDiff:
        for one in self.tensors:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_frame(self) -> pd.DataFrame:
        """The tensors as a pandas.DataFrame by `name`, the worst first: their kind, both sides' types and
        shapes, how many elements differ, and the figures of their loss.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        columns: dict[str, list[Any]] = {"name": [one.name for one in self.tensors], "kind": [one.kind for one in self.tensors]}
        for side in ("a", "b"):
            for field in ("dtype", "layout", "shape", "bytes"):
                columns[f"{field}_{side}"] = [getattr(getattr(one, side), field, None) for one in self.tensors]
        columns |= {field: [getattr(one, field) for one in self.tensors] for field in ("elements", "different", "first")}
        for figure in ("snr_db", "rmse", "max_abs_error", "max_rel_error"):
            columns[figure] = [getattr(one.loss, figure, math.nan) for one in self.tensors]
        return tables.frame(columns, "name")

    def _told(self) -> str:
        counts = ", ".join(f"{count} {_words(kind)}" for kind, count in self.counts.items())
        return f"{'equal' if self.equal else 'not equal'}: {counts or 'no tensor'}"

    def _repr_html_(self) -> str:
        titles = ["tensor", "kind", "A", "B", "shape", ">elements", ">different", ">max abs error", ">SNR"]

        def row(one: TensorDiff) -> list[Any]:
            a, b, loss = one.a, one.b, one.loss
            types = [None if side is None else side.layout or side.type or side.dtype for side in (a, b)]
            shapes = [side.shape for side in (a, b) if side is not None]
            shape = shapes[0] if len({*shapes}) == 1 else " → ".join(map(tables.shape_text, shapes))
            return [tables.Name(one.name), _words(one.kind), *types, shape, one.elements, one.different,
                    *((None, None) if loss is None else (loss.max_abs_error, tables.Decibels(loss.snr_db)))]

        return tables.page(tables.table(self._told(), titles, map(row, self.tensors), len(self.tensors)),
                           *map(tables.line, self.notes))

    def __repr__(self) -> str:
        return f"<Diff {self._told()}>"


@says_nearest
def diff(a: Path, b: Path, *, rename: Mapping[str, str] | Iterable[tuple[str, str]] = (),
         only: Iterable[str] = (), exclude: Iterable[str] = (), ignore_scales: bool = False,
         assume_type: TypeLike | None = None, allow_hard_links: bool = False,
         root: str | None = None, root_of_b: str | None = None,
         storage_options: Mapping[str, Any] | None = None,
         threads: int | None = None, progress: Progress = None) -> Diff:
    """Compares the tensors of two files or directories by their values, in bounded memory.

    Scales are applied. Integers are compared as integers, and all other numbers by value, whatever their
    types. NaN equals NaN, and -0 equals +0.

    Parameters
    ----------
    a, b : path
        Files that `open` takes, in any formats, or checkpoints' directories; URLs too.
    rename : mapping or pairs of str
        Patterns of names in `a`, and the names under which `b` has those tensors: a * stands for
        what a * of the pattern matched, and \\1 for a group of one that begins with ``re:``.
    only, exclude : iterable of str
        Patterns of the tensors that are compared, and of those that are not, as in `plan`.
    ignore_scales : bool
        Compare codes and scales as they are stored.
    assume_type, root
        As in `open`, each for whichever of the two it suits.
    root_of_b : str, optional
        The root of `b`, if it differs from that of `a`.
    allow_hard_links, storage_options
        As in `open`.
    threads, progress
        As in `Plan.run`.

    Returns
    -------
    Diff

    Raises
    ------
    ArgumentError, FileError, ContentsError, UnsupportedError
    KeyboardInterrupt
        At Ctrl-C.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.savez(folder / "a.npz", w=np.float32([1, 2, 3]), n=np.arange(3))
    >>> np.savez(folder / "b.npz", w=np.float64([1, 2.5, 3]), n=np.arange(3, dtype=np.int8))
    >>> found = tc.diff(folder / "a.npz", folder / "b.npz")
    >>> found
    <Diff not equal: 1 other values, 1 same values>
    >>> found["w"].different, found["w"].first, found["w"].loss.max_abs_error
    (1, 1, 0.5)
    """
    pairs = renames(rename)
    lists = {}
    for name, patterns in (("only", only), ("exclude", exclude)):
        if isinstance(patterns, str):
            raise ArgumentError(f"{name} must be a list of texts, not a single text")
        lists[name] = [text(pattern, f"each of {name}") for pattern in patterns]
    sides = [path_text(a, "a"), path_text(b, "b")]
    with sources.lend(sides, storage_options), shown(progress, "diff") as tell:
        equal, tensors, notes = _core.diff({
            **lists, "a": sides[0], "b": sides[1], "rename": pairs,
            "ignore_scales": flag(ignore_scales, "ignore_scales"), "assume_type": assume_type,
            "allow_hard_links": flag(allow_hard_links, "allow_hard_links"),
            "root": None if root is None else text(root, "root"),
            "root_of_b": None if root_of_b is None else text(root_of_b, "root_of_b"),
        }, arrays.thread_count(threads), tell)

    def side(fields: Any) -> DiffSide | None:
        return None if fields is None else DiffSide(*fields)

    return Diff(equal, [
        TensorDiff(kind, side(of_a), side(of_b), elements, different, first,
                   None if loss is None else LossReport(Figures(loss)))
        for kind, of_a, of_b, elements, different, first, loss in tensors], list(notes))
