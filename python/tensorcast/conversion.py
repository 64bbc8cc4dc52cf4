"""`convert` and `plan` convert whole files of tensors, in bounded memory.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from json import loads
from typing import TYPE_CHECKING, Any, Literal, Unpack

from . import _core, arrays, sources, tables
from .arguments import CAST_OPTIONS, check_options, count, flag, path_text, renames, text
from .errors import ArgumentError, KindError
from .loss import Losses, LossReport
from .outputs import UNIT_BYTES, Outputs, Unit
from .progress import Progress, shown
from .signatures import CastOptions, Group, Keep, Path, PlanOptions, RepackLayout, Resume, ScaleRule
from .types import ScaledFormat, TypeLike

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

Rules = Mapping[str, TypeLike | ScaledFormat] | Iterable[tuple[str, TypeLike | ScaledFormat]]
Renames = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Job:
    """One tensor of an output, and what becomes of it.

    `action` is copy, cast, parse, print or quantise. `reason` says why as one word, and `text` says it in
    words. `format` is the format of a scaled tensor, else None. `from_type` is None if the library does not
    know the type, and `bytes_after` is None if it is known only once the tensor is printed. `name` is the
    name in the input, and `written_as` the one in the output; if a weight becomes codes and scales, these
    are named after it.
    """

    name: str
    action: str
    shape: tuple[int, ...]
    from_type: str | None
    to_type: str | None
    format: str | None
    bytes_before: int
    bytes_after: int | None
    reason: str
    text: str
    written_as: str


class Plan:
    """A conversion as data, to be looked at, kept as JSON and run. `plan` makes one.

    Attributes
    ----------
    jobs : list of Job
        What becomes of each tensor, in the outputs' order.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.savez(folder / "a.npz", w=np.ones((2, 3), np.float32))
    >>> made = tc.plan(folder / "a.npz", folder / "b.npz", to="float16")
    >>> print(made.table())
    tensor  action  shape  from     to       bytes before  after  why
    w       cast    2 × 3  float32  float16  24            12     the request's type
    >>> tc.Plan.from_json(made.to_json()).jobs == made.jobs
    True
    """

    def __init__(self, core: Any, lent: sources.Lent) -> None:
        self._core = core
        self._lent = lent  # for inputs that are URLs
        self._lock = threading.Lock()  # one thread at a time runs a plan
        self._telling: int | None = None  # the thread that is in `progress`
        self.jobs: list[Job] = [Job(*job) for job in core.jobs()]

    @staticmethod
    def from_json(json: str, *, storage_options: Mapping[str, Any] | None = None) -> Plan:
        """Makes a plan again from what `to_json`, or the tool's --write-plan, wrote.

        `storage_options` are for inputs that are URLs, as in `open`.

        Raises
        ------
        ContentsError
            The text is not a plan, or something would now be decided otherwise: because a file has changed, say.
        """
        lent = sources.lend(_inputs_of(text(json, "a plan")), storage_options)
        return Plan(_core.ConversionPlan.from_json(json), lent)

    def to_json(self) -> str:
        """The plan as a text for `from_json`; docs/conversion_plan.md has its members."""
        return str(self._core.to_json())

    @property
    def inputs(self) -> list[str]:
        """The paths that are read."""
        return list(self._core.inputs())

    @property
    def outputs(self) -> list[str]:
        """The paths that are written."""
        return list(self._core.outputs())

    @property
    def notes(self) -> list[str]:
        """What you should know, a line for each thing; after a run, also what it found in the scales that it read."""
        return list(self._core.notes())

    def run(self, *, overwrite: bool = False, loss: bool = True, resume: Resume = False,
            threads: int | None = None, progress: Progress = None) -> Losses:
        """Writes the outputs, whole or not at all.

        Parameters
        ----------
        overwrite : bool
            Replace an output that exists.
        loss : bool
            Measure what casts of numbers lose.
        resume : bool or "strict"
            Keep what is done in OUT.partial, and go on where an interrupted run of the same plan stopped. The
            tool's --resume does the same, and either goes on with the other's run. "strict" recognises inputs
            by all their bytes.
        threads : int, optional
            As in `cast`.
        progress : bool, callable or tqdm, optional
            True draws a bar on a terminal or in a notebook, and nothing anywhere else: tqdm's bar if that is
            installed, else a line like the tool's. A callable is called now and then with (bytes done, bytes
            in all, tensor's name). An object with ``total`` and ``update``, such as a bar of tqdm's, is
            updated. What these raise ends the run.

        Returns
        -------
        Losses
            A dict of names and reports, one for each tensor that was cast from numbers to numbers.

        Raises
        ------
        ArgumentError
            An output exists and `overwrite` is False. With ``resume``, also if OUT.partial belongs to
            another conversion, or another process is at work there.
        FileError, ContentsError, UnsupportedError
            A file is refused. Every output is then as it was.
        KeyboardInterrupt
            At Ctrl-C. Every output is then as it was, too.
        """
        asked = arrays.thread_count(threads)
        is_strict = isinstance(resume, str) and resume == "strict"
        if isinstance(resume, str) and not is_strict:
            raise ArgumentError(f"resume is {resume!r}; expected True, False or 'strict'")
        is_resumed = is_strict or flag(resume, "resume")
        replaces, measures = flag(overwrite, "overwrite"), flag(loss, "loss")
        with self._teller(progress) as tell, self._lock:
            losses = (self._core.resume(replaces, measures, is_strict, asked, tell) if is_resumed
                      else self._core.run(replaces, measures, asked, tell))
        return Losses({self.jobs[job].name: LossReport(meter, gain_db) for job, meter, gain_db in losses})

    def units(self, most_bytes: int = UNIT_BYTES) -> list[Unit]:
        """Cuts the work for several processes: by the outputs' files, and each of these into units.

        The same plan is always cut alike, so one of n processes can take ``plan.units()[i::n]``.

        Parameters
        ----------
        most_bytes : int
            About how many bytes of the input's tensors a unit has. Larger tensors are cut by rows, except
            strings and weights that become scaled ones or are repacked, which are made whole.

        Raises
        ------
        ArgumentError
            The output would have too many files.
        """
        with self._lock:
            cut = _core.units(self._core, count(most_bytes, "most_bytes"))
        return [Unit(*unit) for unit in cut]

    def begin(self, *, overwrite: bool = False) -> Outputs:
        """Makes the outputs under temporary names, for `Outputs.run` here and in processes that `join`.

        Use it in a ``with``: what is not committed at its end is removed.

        Parameters
        ----------
        overwrite : bool
            Replace an output that exists, at `Outputs.commit`.

        Raises
        ------
        ArgumentError
            An output exists and `overwrite` is False.
        FileError, ContentsError, UnsupportedError
        """
        with self._lock:
            made = _core.begin(self._core, flag(overwrite, "overwrite"))
        return Outputs(self, made, self._lock)

    def join(self, handle: str) -> Outputs:
        """The outputs that another process has begun, found by its `Outputs.handle`, to run units of them.

        The plan has to be the same, by `to_json` and `from_json`. The other process may run on another machine,
        if the outputs' folder is there under the same path.

        Raises
        ------
        ContentsError
            The handle belongs to another plan, or is not a handle.
        FileError
            The outputs are not there: they were committed or removed, or the folder is another one.
        """
        with self._lock:
            made = _core.join(self._core, text(handle, "a handle"))
        return Outputs(self, made, self._lock)

    @contextmanager
    def _teller(self, progress: Progress) -> Iterator[Callable[..., None] | None]:
        """What a run calls to tell `progress`; refused inside such a call."""
        if self._telling == threading.get_ident():
            raise ArgumentError("progress runs the plan that runs it")
        with shown(progress, os.path.basename(self.outputs[0].rstrip("/"))) as tell:

            def told(done: int, total: int, name: str) -> None:
                assert tell is not None
                self._telling = threading.get_ident()
                try:
                    tell(done, total, name)
                finally:
                    self._telling = None

            yield None if tell is None else told

    def _rows(self) -> list[tuple[str, ...]]:
        return [(job.name, job.action, tables.shape_text(job.shape),
                 job.from_type or "unknown", job.format or job.to_type or "unknown",
                 f"{job.bytes_before:,}", "" if job.bytes_after is None else f"{job.bytes_after:,}",
                 job.text or job.reason.replace("_", " ")) for job in self.jobs]

    _TITLES = ("tensor", "action", "shape", "from", "to", "bytes before", "after", "why")

    def table(self) -> str:
        """The jobs as a table of text."""
        rows = [self._TITLES, *self._rows()]
        rows = [tuple(cell.encode("utf-8", "replace").decode() for cell in row) for row in rows]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self._TITLES))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                         for row in rows)

    def to_frame(self) -> pd.DataFrame:
        """The jobs as a pandas.DataFrame by `name`, with the columns of `Job`.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return tables.frame({each.name: [getattr(job, each.name) for job in self.jobs] for each in fields(Job)}, "name")

    def _repr_html_(self) -> str:
        after = [job.bytes_after for job in self.jobs]
        sizes = "" if None in after else (f"; {sum(job.bytes_before for job in self.jobs):,} bytes become "
                                          f"{sum(size for size in after if size is not None):,}")
        titles = ["tensor", "action", "shape", "from", "to", ">bytes before", ">after", "why"]
        rows = ((tables.Name(job.name), job.action, job.shape, job.from_type, job.format or job.to_type, job.bytes_before,
                 job.bytes_after, job.text or job.reason.replace("_", " ")) for job in self.jobs)
        return tables.page(tables.table(f"{', '.join(self.outputs)}: {self._counted()}{sizes}", titles, rows, len(self.jobs)),
                           *map(tables.line, self.notes))

    def _counted(self) -> str:
        return f"{len(self.jobs)} tensors, {sum(job.action != 'copy' for job in self.jobs)} of them changed"

    def __repr__(self) -> str:
        return f"<Plan {', '.join(self.outputs)}: {self._counted()}>"


def _inputs_of(json: str) -> list[str]:
    """The texts that are inputs in a plan's JSON; the library says what else may be wrong with it."""
    try:
        request = loads(json)["request"]
        inputs = [file["input"] for file in request["files"]] + [request.get("like")]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return []
    return [path for path in inputs if isinstance(path, str)]


def _group(group: int | str | None) -> int | None:
    """The number of columns in a group; 0 means the whole row."""
    if group is None or group == "channel":
        return None if group is None else 0
    if isinstance(group, bool) or group not in (32, 64, 128):
        raise ArgumentError(f"group is {group!r}; expected 32, 64, 128 or 'channel'")
    return int(group)


def plan(
    src: Path,
    dst: Path,
    *,
    to: TypeLike | ScaledFormat | Literal["same"] | None = None,
    rules: Rules = (),
    only: Iterable[str] = (),
    exclude: Iterable[str] = (),
    select: Iterable[str] = (),
    keep: Iterable[Keep] = (),
    all_types: bool = False,
    ignore_scales: bool = False,
    layout: str | None = None,
    scale_rule: ScaleRule | None = None,
    repack: RepackLayout | None = None,
    group: Group | None = None,
    asymmetric: bool = False,
    rotate: bool = False,
    assume_type: TypeLike | None = None,
    allow_hard_links: bool = False,
    root: str | None = None,
    max_shard_bytes: int = 0,
    like: Path | None = None,
    storage_options: Mapping[str, Any] | None = None,
    rename: Renames = (),
    **options: Unpack[CastOptions],
) -> Plan:
    r"""Decides what a conversion would do to each tensor; writes nothing.

    Parameters
    ----------
    src, dst : path
        .safetensors, .npy, .npz, .pb, .onnx or .gguf files, or checkpoints' directories. `src` may
        also be a .pt, .pth, .bin or .ckpt file, or a URL, as in `open`.
    to : type, optional
        What floating tensors become if no rule matches them: a type; a scaled format (fp8-tensor,
        fp8-row, fp8-block, int8-row, int4-group, int8-group, mxfp8, mxfp6, mxfp4, nvfp4, or for a
        .gguf q8_0, q5_1, q5_0, q4_1, q4_0); or "same", which leaves them as they are, as does the default.
    rules : mapping or pairs of str and type
        Patterns of names, and what tensors that match become. The first rule that matches wins.
    only, exclude : iterable of str
        Patterns of the tensors that are cast, and of those that are not.
    select : iterable of str
        Patterns of the tensors that are written, each with its scales; the others are left out.
    keep : iterable of {"small", "norms", "embeddings", "head", "packed"}
        Kinds of tensors that are left alone.
    all_types : bool
        Cast integers too.
    ignore_scales : bool
        Cast the bare codes if scales would be applied.
    layout : str, optional
        How scaled tensors are named: "compressed-tensors" or another of the layouts that
        `tensorcast types` lists. By default it is the first one listed for the format.
    scale_rule : {"amax", "pow2" or "up", "round", "ocp", "mse", "mse-fine",
            "four-over-six"}, optional
        How scales are chosen. By default it is "amax" for fp8-*, int*-* and nvfp4, and "round" for mx*.
        "mse", "mse-fine" (int*-*) and "four-over-six" (nvfp4) search for the scales that lose least.
    repack : str, optional
        The layout that quantised weights go into as they are, code for code and value for value:
        "compressed-tensors", "gptq", "awq", "mlx", "modelopt", "comfyui", "gpt-oss" or "gguf".
        Nothing is cast then.
    group : {32, 64, 128, "channel"}, optional
        For int4-group and int8-group: how many columns share a scale, "channel" meaning all of a row.
        By default it is 128, and 64 in the layout "mlx".
    asymmetric : bool
        For int4-group and int8-group: with zero points, or with biases of their own.
    rotate : bool
        For int8-row in the layout "comfyui": rotate the rows in groups of 256 (ConvRot).
    assume_type, allow_hard_links, root
        As in `open`.
    max_shard_bytes : int
        For directories: the size of each file; 0 leaves the files as they are.
    like : path, optional
        For .gguf outputs: a GGUF file, or its URL, whose keys they get, and whose tensors, in its order.
    storage_options
        As in `open`.
    rename : mapping or pairs of str
        Patterns of names, and the names under which tensors that match are written: ``{"model.*":
        "*"}``, ``{r"re:layers\.(\d+)\.(.*)": r"blk.\1.\2"}``. The first that matches wins. Scales
        go with their weights.
    **options
        The options of `cast`: saturate, round_mode, ...

    Returns
    -------
    Plan

    Raises
    ------
    ArgumentError, FileError, ContentsError, UnsupportedError

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.savez(folder / "a.npz", w=np.float32([0.1, 512]), norm=np.float32([1]))
    >>> made = tc.plan(folder / "a.npz", folder / "b.safetensors", to="float8_e4m3fn",
    ...                rules={"norm": "bfloat16"})
    >>> [(job.name, job.to_type) for job in made.jobs]
    [('w', 'float8e4m3fn'), ('norm', 'bfloat16')]
    >>> made.run()["w"].counts["to_limit"]
    1
    """
    check_options(options, "plan", plan, CAST_OPTIONS)
    pairs = list(rules.items() if isinstance(rules, Mapping) else rules)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise KindError("rules must be a mapping, or pairs of a pattern and a type")
        text(pair[0], "the pattern of a rule")
    lists = {}
    for name, patterns in (("only", only), ("exclude", exclude), ("select", select), ("keep", keep)):
        if isinstance(patterns, str):
            raise ArgumentError(f"{name} must be a list of texts, not a single text")
        lists[name] = [text(pattern, f"each of {name}") for pattern in patterns]
    source, example = path_text(src, "src"), None if like is None else path_text(like, "like")
    target = sources.local_path(path_text(dst, "dst"), "dst")
    lent = sources.lend([source] if example is None else [source, example], storage_options)
    return Plan(_core.ConversionPlan.make({
        **lists, "files": [(source, target)], "to": to,
        "rules": pairs, "all_types": flag(all_types, "all_types"),
        "ignore_scales": flag(ignore_scales, "ignore_scales"), "layout": layout,
        "scale_rule": scale_rule, "repack": repack, "group": _group(group),
        "asymmetric": flag(asymmetric, "asymmetric"), "rotate": flag(rotate, "rotate"),
        "assume_type": assume_type,
        "allow_hard_links": flag(allow_hard_links, "allow_hard_links"),
        "root": None if root is None else text(root, "root"),
        "max_shard_bytes": count(max_shard_bytes, "max_shard_bytes"),
        "like": example, "rename": renames(rename), "options": options,
    }), lent)


def convert(src: Path, dst: Path, *, to: TypeLike | ScaledFormat | Literal["same"] | None = None, rules: Rules = (),
            overwrite: bool = False, loss: bool = True, resume: Resume = False,
            threads: int | None = None, progress: Progress = None, **more: Unpack[PlanOptions]) -> Losses:
    """Converts a file of tensors: it makes a `plan`, which documents the arguments, and runs it (`Plan.run`).

    Returns
    -------
    Losses
        A dict of names and reports: what each tensor that was cast lost. Notebooks show it as a table. It
        is empty with ``loss=False``.

    Raises
    ------
    ArgumentError
        Also if the output exists and `overwrite` is False.
    FileError, ContentsError, UnsupportedError

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import tensorcast as tc
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.savez(folder / "a.npz", w=np.float32([0.1, 448, 512]), norm=np.ones(2, np.float32))
    >>> losses = tc.convert(folder / "a.npz", folder / "b.npz", to="float8_e4m3fn",
    ...                     rules={"norm": "bfloat16"})
    >>> {name: report.counts["to_limit"] for name, report in losses.items()}
    {'w': 1, 'norm': 0}
    """
    check_options(more, "convert", convert, plan, CAST_OPTIONS)
    made = plan(src, dst, to=to, rules=rules, **more)
    return made.run(overwrite=overwrite, loss=loss, resume=resume, threads=threads, progress=progress)
