"""Conversions by all machines of a Ray cluster (https://docs.ray.io): `convert`.

    import tensorcast as tc
    tc.ray.convert("/shared/model", "/shared/small", to="bfloat16")

The files lie in a folder that every machine has under the same path. This process plans, and makes the
outputs under temporary names; tasks write them, unit by unit; then this process alone gives them their
names. docs/many_machines.md says what is promised, and what happens if machines fail. Ray is imported when
`convert` is called: ``pip install 'tensorcast[ray]'``.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Unpack

from . import _core, sources
from .arguments import CAST_OPTIONS, check_options, count, flag, path_text
from .conversion import Plan, Rules, plan
from .errors import ArgumentError, ContentsError, Error, FileError, UnsupportedError, reworded
from .loss import Losses
from .outputs import UNIT_BYTES, Outputs, Part, Unit
from .progress import Progress, shown
from .signatures import Path, PlanOptions
from .types import ScaledFormat, TypeLike

__all__ = ["LostWorkerError", "convert"]

_SECONDS_TO_STOP = 10.0  # for tasks to end by themselves before their processes are ended


class LostWorkerError(Error, RuntimeError):
    """Ray gave up a unit because its worker or machine ended again and again; the message has what Ray said."""


def convert(
    src: Path,
    dst: Path,
    *,
    to: TypeLike | ScaledFormat | None = None,
    rules: Rules = (),
    overwrite: bool = False,
    loss: bool = True,
    progress: Progress = True,
    cpus: int = 1,
    max_retries: int = 3,
    unit_bytes: int = UNIT_BYTES,
    task_options: Mapping[str, Any] | None = None,
    **more: Unpack[PlanOptions],
) -> Losses:
    """Converts a file or a checkpoint's directory by tasks of a Ray cluster, with the same bytes and reports as
    `tensorcast.convert`.

    If Ray is not initialised, ``ray.init()`` does that: in the cluster of RAY_ADDRESS, or on this machine
    alone.

    Parameters
    ----------
    src, dst : path
        Paths in folders that each machine of the cluster has under the same path. The output is a directory,
        or a .safetensors, .npy, .pb or .gguf file. `src` may be a URL, which each machine reads by itself.
    to, rules, overwrite, loss
        As in `tensorcast.convert`.
    progress : bool, callable or tqdm
        As in `Plan.run`, told unit by unit.
    cpus : int
        How many of its machine's CPUs a task takes, and how many threads it runs on.
    max_retries : int
        How often Ray runs a unit again if its worker or its machine ended; -1 means for ever.
    unit_bytes : int
        About how much of the input a task takes.
    task_options : mapping, optional
        More options of ``ray.remote``: "resources", "memory", "scheduling_strategy", "runtime_env" ...
    **more
        What else `plan` takes: only=, keep=, layout= ..., and the options of `cast`.

    Returns
    -------
    Losses
        As in `tensorcast.convert`.

    Raises
    ------
    ArgumentError, FileError, ContentsError
        As in `tensorcast.convert`. If a task raised it, the line begins with the unit and the machine.
    UnsupportedError
        Only one process can write the output (.npz, models), or a machine has another tensorcast.
    LostWorkerError
        Workers of a unit ended more than `max_retries` times.
    ImportError
        Ray is not installed (``pip install 'tensorcast[ray]'``).
    KeyboardInterrupt
        At Ctrl-C. Whatever is raised, the tasks are ended, and every output is as it was.

    Examples
    --------
    >>> import tensorcast as tc
    >>> losses = tc.ray.convert("/shared/model", "/shared/small", to="bfloat16")  # doctest: +SKIP
    >>> losses["lm_head.weight"].snr_db  # doctest: +SKIP
    56.1
    """
    check_options(more, "ray.convert", convert, plan, CAST_OPTIONS)
    src, dst = _whole_path(src, "src"), _whole_path(dst, "dst")
    if more.get("like") is not None:
        more["like"] = _whole_path(more["like"], "like")
    if count(cpus, "cpus", 1 << 20) == 0:
        raise ArgumentError("cpus is 0: give what a task takes, 1 or more")
    max_retries = max_retries if max_retries == -1 else count(max_retries, "max_retries", 1 << 30)
    measures = flag(loss, "loss")
    ray = _ray()
    made = plan(src, dst, to=to, rules=rules, **more)
    units = made.units(unit_bytes)
    title = os.path.basename(made.outputs[0].rstrip("/"))
    with shown(progress, title) as tell, made.begin(overwrite=overwrite) as outputs:
        teller = _Teller(units, tell)
        shared = _shared(made, outputs, measures, cpus, more.get("storage_options"))
        if not ray.is_initialized():
            ray.init()
        options = {"num_cpus": cpus, "max_retries": max_retries, "retry_exceptions": False, **(task_options or {})}
        with contextlib.closing(_Tasks(ray, options, ray.put(shared))) as tasks:
            parts = _run_all(tasks, units, outputs, measures, teller)
        return outputs.commit(parts)


def _run_all(tasks: _Tasks, units: list[Unit], outputs: Outputs, measures: bool, teller: _Teller) -> list[Part]:
    parts = []
    waiting = [unit for unit in reversed(units) if not unit.for_creator]
    while waiting or tasks.running:
        while waiting and tasks.has_room():
            tasks.start(waiting.pop())
        for unit, part in tasks.ended():
            parts.append(part)
            teller.tell(unit)
    for unit in units:
        if unit.for_creator:
            parts.append(outputs.run(unit, loss=measures))
            teller.tell(unit)
    return parts


class _Tasks:
    """The units that are being done, each in a task of its own."""

    def __init__(self, ray: Any, options: dict[str, Any], shared: Any) -> None:
        self._ray, self._options, self._shared = ray, options, shared
        self._task = ray.remote(_run_unit)
        self.running: dict[Any, Unit] = {}

    def has_room(self) -> bool:
        """Whether to start another. More tasks wait in Ray than run, so that no machine idles, and a cluster that
        grows with what waits does so; but not many thousands, each of which might have to be cancelled.
        """
        there: float = self._ray.cluster_resources().get("CPU", 0)
        return len(self.running) < max(64, 4 * there)

    def start(self, unit: Unit) -> None:
        named = self._task.options(**{"name": f"tensorcast {unit.name}", **self._options})
        self.running[named.remote(self._shared, unit.file, unit.ranges)] = unit

    def ended(self) -> list[tuple[Unit, Part]]:
        """Waits for one or more tasks, and returns what they found; raises what one of them raised."""
        # In short waits, so that Ctrl-C is heard at once.
        done: list[Any] = []
        while self.running and not done:
            done, _ = self._ray.wait(list(self.running), num_returns=1, timeout=0.5)
        found = []
        for reference in done:
            unit = self.running.pop(reference)
            found.append((unit, self._part_of(unit, reference)))
        return found

    def _part_of(self, unit: Unit, reference: Any) -> Part:
        exceptions = self._ray.exceptions
        try:
            place, got = self._ray.get(reference)
        except exceptions.RayTaskError as error:
            if "failed to import" in str(error):
                raise UnsupportedError(
                    f"{unit.name}: a machine of the cluster has no tensorcast {_version()}: "
                    f"pip install 'tensorcast[ray]=={_version()}' on each of them") from error
            raise
        except exceptions.RayError as error:
            said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise LostWorkerError(f"{unit.name}: Ray gave it up: {said}") from error
        if isinstance(got, Error):
            raise reworded(got, f"{unit.name}, on {place}: {got}")
        part: Part = got
        return part

    def close(self) -> None:
        """Ends what still runs, and waits for that: afterwards the outputs may be removed."""
        running = list(self.running)
        self.running.clear()
        for force in (False, True):
            for reference in running:
                with contextlib.suppress(Exception):  # it has ended meanwhile
                    self._ray.cancel(reference, force=force)
            until = time.monotonic() + _SECONDS_TO_STOP
            while running and time.monotonic() < until:
                _, running = self._ray.wait(running, num_returns=len(running), timeout=0.5)


class _Teller:
    """Tells how far the units are."""

    def __init__(self, units: list[Unit], tell: Callable[[int, int, str], object] | None) -> None:
        self._done, self._all, self._tell = 0, sum(unit.nbytes for unit in units), tell

    def tell(self, unit: Unit) -> None:
        self._done += unit.nbytes
        if self._tell is not None:
            self._tell(self._done, self._all, unit.name)


def _whole_path(path: Any, what: str) -> str:
    """The path from the root, since workers have a working folder of their own. A URL is the same everywhere."""
    text = path_text(path, what)
    if sources.is_url(text):
        return text
    return os.path.abspath(text) + ("/" if text.endswith("/") else "")


def _ray() -> Any:
    try:
        ray = importlib.import_module("ray")
        importlib.import_module("ray.exceptions")
    except ImportError as error:
        raise ImportError(f"tensorcast.ray needs Ray: pip install 'tensorcast[ray]' ({error})") from error
    return ray


def _version() -> str:
    return str(_core.version)


def _shared(made: Plan, outputs: Outputs, measures: bool, cpus: int, storage_options: Any) -> dict[str, Any]:
    """What every task is given, in Python's own types, which another version of the package can read too."""
    return {"version": _version(), "plan": made.to_json(), "handle": outputs.handle, "inputs": _states(made),
            "loss": measures, "threads": cpus, "storage_options": storage_options}


def _states(made: Plan) -> list[tuple[str, int, int]]:
    """The files that a plan reads, with what tells another machine whether it has the same ones."""
    states = []
    for path in _core.input_files(made._core):
        if os.path.isfile(path):
            state = os.stat(path)
            states.append((path, state.st_size, state.st_mtime_ns))
    return states


# ----------------------------------------------------------------------------------- in the workers

_last_plan: tuple[Any, Plan] | None = None


def _run_unit(shared: dict[str, Any], file: str, ranges: Any) -> tuple[str, Part | Error]:
    """What a task does: one unit. What is refused is returned, not raised, because Ray would put it in its own words."""
    place = os.uname().nodename
    try:
        if shared["version"] != _version():
            raise UnsupportedError(f"tensorcast is {_version()} here and {shared['version']} where convert was called: "
                                   "install the same version on all machines")
        unit = Unit(file, 0, 1, 0, False, tuple(tuple(each) for each in ranges))
        with _joined(shared) as outputs:
            return place, outputs.run(unit, loss=shared["loss"], threads=shared["threads"])
    except Error as error:
        return place, error


def _joined(shared: dict[str, Any]) -> Outputs:
    made = _plan_of(shared)
    try:
        return made.join(shared["handle"])
    except FileError as error:
        raise reworded(error, f"{error}; or this machine has another folder under that path") from None


def _plan_of(shared: dict[str, Any]) -> Plan:
    """The plan, which is most often that of this process's next task, too."""
    global _last_plan
    key = (shared["plan"], shared["inputs"], shared["storage_options"])
    if _last_plan is None or _last_plan[0] != key:
        for path, size, written_at in shared["inputs"]:
            try:
                state = os.stat(path)
            except OSError as error:
                raise FileError(error.errno, f"{path}: {error.strerror}: every machine needs the input's folder "
                                             "under this path", path) from None
            if (state.st_size, state.st_mtime_ns) != (size, written_at):
                raise ContentsError(f"{path}: is another file here than where convert was called, or was rewritten: "
                                    "every machine needs the same folder under this path")
        _last_plan = (key, Plan.from_json(shared["plan"], storage_options=shared["storage_options"]))
    return _last_plan[1]
