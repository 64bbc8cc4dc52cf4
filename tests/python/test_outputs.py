"""Outputs that several processes write: units, what is refused, processes that are killed, and those that go
on too long.

SPDX-License-Identifier: Apache-2.0
"""
import multiprocessing
import os
import pathlib
import pickle
import resource
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import safetensors.numpy
import tensorcast as tc

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import made_checkpoint  # noqa: E402

SMALL = 2_000_000  # of a unit: four of a weight, and one of what stands before it
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "python" / "many_processes.py"
MAKE_GGUF = pathlib.Path(__file__).parents[1] / "cli" / "bin" / "make_gguf.py"


@pytest.fixture
def checkpoint(tmp_path):
    return tmp_path, made_checkpoint.make(tmp_path / "in")


@pytest.fixture
def whole(checkpoint):
    """What one process makes, and says."""
    folder, _ = checkpoint
    losses = tc.convert(folder / "in", folder / "whole", to="bfloat16")
    return made_checkpoint.contents(folder / "whole"), losses


def run_units(json, handle, units):
    """In another process."""
    with tc.Plan.from_json(json).join(handle) as outputs:
        return [outputs.run(unit) for unit in units]


def run_and_die(json, handle, unit):
    """In another process, which is killed once a part of the unit is written."""
    with tc.Plan.from_json(json).join(handle) as outputs:
        outputs.run(unit, threads=1, progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))


def processes(count):
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_two_processes_make_what_one_makes(checkpoint, whole):
    folder, tensors = checkpoint
    plan = tc.plan(folder / "in", folder / "out", to="bfloat16")
    units = plan.units(SMALL)
    assert len(units) > 9 and plan.units(SMALL) == units
    assert {unit.file for unit in units} == {str(folder / "out" / f"model-0000{i}-of-00003.safetensors")
                                             for i in (1, 2, 3)}
    assert units[0].name == f"model-00001-of-00003.safetensors (1 of {units[0].parts})"
    assert plan.units()[0].name == "model-00001-of-00003.safetensors" and len(plan.units()) == 3
    assert sum(unit.nbytes for unit in units) == sum(job.bytes_before for job in plan.jobs)
    with plan.begin() as outputs, processes(2) as pool:
        work = [pool.submit(run_units, plan.to_json(), outputs.handle, units[i::2]) for i in (0, 1)]
        parts = [part for each in work for part in each.result()]
        assert not (folder / "out").exists()
        losses = outputs.commit(parts)
    assert made_checkpoint.contents(folder / "out") == whole[0]
    assert losses == whole[1] and list(losses) == list(whole[1]) and losses["layers.1.none"].elements == 0
    assert left_in(folder) == ["in", "out", "whole"]
    made_checkpoint.check_bfloat16(folder / "out", tensors)


@pytest.mark.parametrize("ending", [".safetensors", ".npy", ".pb", ".gguf"])
def test_files_of_each_format_that_is_shared(tmp_path, ending):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((12, 1024)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    source = tmp_path / "x.npy"
    if ending == ".gguf":  # which is written of its kind
        source = tmp_path / "x.gguf"
        values = " ".join(str(float(value)) for value in x.ravel())
        subprocess.run([sys.executable, MAKE_GGUF, source], text=True, check=True,
                       input=f"key general.architecture string llama\ntensor blk.0.attn_q.weight F32 12x1024 {values}\n")
    whole = tc.convert(source, tmp_path / f"whole{ending}", to="float16", all_types=True)
    plan = tc.plan(source, tmp_path / f"out{ending}", to="float16", all_types=True)
    units = plan.units(10_000)
    assert len(units) == 6
    with plan.begin() as outputs:
        parts = run_units(plan.to_json(), outputs.handle, reversed(units))
        assert outputs.commit(parts) == whole
    assert (tmp_path / f"out{ending}").read_bytes() == (tmp_path / f"whole{ending}").read_bytes()
    if ending == ".npy":
        assert np.array_equal(np.load(tmp_path / "out.npy"), x.astype(np.float16))


def test_a_process_is_killed_and_its_unit_run_again(checkpoint, whole):
    folder, _ = checkpoint
    plan = tc.plan(folder / "in", folder / "out", to="bfloat16")
    units = plan.units()
    with plan.begin() as outputs:
        handle = outputs.handle
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=run_and_die, args=(plan.to_json(), handle, units[1]))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        (begun,) = folder.glob(".out.tensorcast-*.tmp")
        written = (begun / os.path.basename(units[1].file)).read_bytes()
        done = whole[0][os.path.basename(units[1].file)]
        assert len(written) == len(done) and written != done  # a part of it
        assert outputs.commit(run_units(plan.to_json(), handle, units)) == whole[1]
    assert made_checkpoint.contents(folder / "out") == whole[0]


@pytest.mark.parametrize("is_committed", [True, False])
def test_who_goes_on_after_the_end_writes_nothing(checkpoint, whole, is_committed):
    """A process that was thought dead; the input is another by then, so that it would write other bytes."""
    folder, _ = checkpoint
    plan = tc.plan(folder / "in", folder / "out", to="bfloat16")
    units = plan.units(SMALL)
    outputs = plan.begin()
    handle = outputs.handle
    zombie = tc.Plan.from_json(plan.to_json()).join(handle)
    parts = [zombie.run(unit) for unit in units]
    outputs.commit(parts) if is_committed else outputs.close()
    before = left_in(folder)
    with open(folder / "in" / "model-00001-of-00003.safetensors", "r+b") as file:
        file.seek(-(1 << 20), os.SEEK_END)
        file.write(b"\x77" * (1 << 20))
    for unit in units:
        with pytest.raises(tc.FileError) as caught:
            zombie.run(unit)
        assert "\n" not in str(caught.value)
    with pytest.raises(tc.FileError, match="the process that began it may have ended"):
        tc.Plan.from_json(plan.to_json()).join(handle)
    zombie.close()
    assert left_in(folder) == before == ["in", *(["out"] if is_committed else []), "whole"]
    if is_committed:
        assert made_checkpoint.contents(folder / "out") == whole[0]


def test_what_is_not_whole_is_not_committed(checkpoint):
    folder, _ = checkpoint
    plan = tc.plan(folder / "in", folder / "out", to="bfloat16")
    units = plan.units(SMALL)
    with plan.begin() as outputs:
        parts = [outputs.run(unit) for unit in units]
        with pytest.raises(tc.ArgumentError, match="^'layers.1.weight': element [0-9]+ is in no part: run its unit"):
            outputs.commit(parts[:1] + parts[2:])
        with pytest.raises(tc.ArgumentError, match="^'layers.1.weight': element [0-9]+ is in two parts$"):
            outputs.commit([*parts, parts[1]])
        with pytest.raises(tc.ArgumentError, match="is in no part"):
            outputs.commit([])
        with pytest.raises(tc.ArgumentError, match="loss of some parts was measured"):
            outputs.commit([*parts[:-1], outputs.run(units[-1], loss=False)])
        with pytest.raises(tc.KindError, match="parts must be what Outputs.run returns"):
            outputs.commit([1])
        for ranges, error in (([(0, 3, 5)], tc.ArgumentError), ([(999, 0, 1)], tc.ArgumentError),
                              ([(0, -1, 5)], tc.ArgumentError), ([(0, 0)], tc.KindError), (5, tc.KindError)):
            with pytest.raises(error) as caught:
                outputs.run(ranges)
            assert "\n" not in str(caught.value)
    assert left_in(folder) == ["in"]
    with pytest.raises(tc.ArgumentError, match="these outputs are closed"):
        outputs.run(units[0])
    outputs.close()
    with plan.begin() as outputs:
        assert outputs.commit([outputs.run(unit, loss=False) for unit in units]) == {}
    with pytest.raises(tc.ArgumentError, match="the output exists"):
        plan.begin()
    with plan.begin(overwrite=True) as outputs:
        outputs.commit([outputs.run(unit) for unit in units])


def test_joined_outputs_are_not_committed_and_handles_are_of_one_plan(checkpoint):
    folder, _ = checkpoint
    plan = tc.plan(folder / "in", folder / "out", to="bfloat16")
    other = tc.plan(folder / "in", folder / "out", to="float16")
    with plan.begin() as outputs:
        with plan.join(outputs.handle) as joined:
            parts = [joined.run(unit) for unit in plan.units()]
            with pytest.raises(tc.ArgumentError, match="committed by the process that created them"):
                joined.commit(parts)
        for handle, error in ((outputs.handle, tc.ContentsError), ("", tc.ContentsError), ("{}", tc.ContentsError),
                              (None, tc.KindError)):
            with pytest.raises(error) as caught:
                other.join(handle)
            assert "\n" not in str(caught.value)
        losses = outputs.commit(pickle.loads(pickle.dumps(parts)))
    assert losses["layers.1.weight"] == tc.loss(weight_of(folder), "bfloat16")


def weight_of(folder):
    with tc.open(folder / "in") as file:
        return file["layers.1.weight"]


def test_the_example(checkpoint, whole):
    folder, _ = checkpoint
    done = subprocess.run([sys.executable, EXAMPLE, folder / "in", folder / "out", "bfloat16"], capture_output=True,
                          text=True, check=False)
    assert "layers.1.weight: good\n" in done.stdout, done.stderr
    assert made_checkpoint.contents(folder / "out") == whole[0]


def test_more_files_than_may_be_open(tmp_path):
    (tmp_path / "in").mkdir()
    rng = np.random.default_rng(1)
    tensors = {f"t{i:02}": rng.standard_normal(1024).astype(np.float32) for i in range(40)}
    safetensors.numpy.save_file(tensors, tmp_path / "in" / "model.safetensors")
    plan = tc.plan(tmp_path / "in", tmp_path / "out", to="bfloat16", max_shard_bytes=2048)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))  # a quarter of them are kept open
    try:
        with plan.begin() as outputs, plan.join(outputs.handle) as joined:
            parts = [joined.run(unit) for unit in plan.units()]
            assert len(parts) == 40
            outputs.commit(parts)
            with pytest.raises(tc.FileError):
                joined.run(plan.units()[-1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    made_checkpoint.check_bfloat16(tmp_path / "out", tensors)


def test_strings_are_for_the_process_that_began(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3000, dtype=np.float32))
    plan = tc.plan(tmp_path / "a.npy", tmp_path / "b.npy", to="string")
    (unit,) = plan.units(100)
    assert unit.for_creator
    with plan.begin() as outputs:
        with plan.join(outputs.handle) as joined, pytest.raises(tc.ArgumentError, match="strings are converted by"):
            joined.run(unit)
        outputs.commit([outputs.run(unit)])
    assert np.load(tmp_path / "b.npy").tolist()[:2] == ["0.0", "1.0"]


def test_what_one_process_has_to_write_has_no_handle(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3000, np.float32))
    plan = tc.plan(tmp_path / "a.npy", tmp_path / "b.npz", to="float16")
    with plan.begin() as outputs, pytest.raises(tc.UnsupportedError, match="only be written by one process"):
        outputs.handle  # noqa: B018
    assert left_in(tmp_path) == ["a.npy"]


def test_a_process_that_is_forked_removes_nothing(checkpoint, whole):
    """It has the outputs too, in its memory, and ends as Python does."""
    folder, _ = checkpoint
    code = f"""
import os, sys
import tensorcast as tc
plan = tc.plan({str(folder / "in")!r}, {str(folder / "out")!r}, to="bfloat16")
with plan.begin() as outputs:
    child = os.fork()
    if child == 0:
        try:
            outputs.run(plan.units()[0])
        except tc.ArgumentError as error:
            print(error, flush=True)
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
    outputs.commit(map(outputs.run, plan.units()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "these outputs are another process's: join them in this one, by their handle\n", done.stderr
    assert done.returncode == 0, done.stderr
    assert made_checkpoint.contents(folder / "out") == whole[0]


def test_progress_and_interrupts(checkpoint):
    folder, _ = checkpoint
    plan = tc.plan(folder / "in", folder / "out", to="bfloat16")
    seen = []

    def stop(*done):
        seen.append(done)
        raise RuntimeError("enough")

    with plan.begin() as outputs:
        with pytest.raises(RuntimeError, match="^enough$"):
            outputs.run(plan.units()[0], progress=stop)
        assert seen
        # A run that was ended can be run again.
        outputs.commit([outputs.run(unit) for unit in plan.units()])


def test_weights_that_become_scaled_are_made_whole(checkpoint):
    folder, _ = checkpoint
    asked = {"to": "int8-row", "rules": {"*.weight": "int8-row"}}
    whole = tc.convert(folder / "in", folder / "whole", **asked)
    plan = tc.plan(folder / "in", folder / "out", **asked)
    units = plan.units(100_000)
    weights = [each for unit in units for each in unit.ranges if plan.jobs[each[0]].format == "int8-row"]
    assert len(weights) == 3 and all(first == 0 and some == 3000 * 512 for _, first, some in weights)
    with plan.begin() as outputs:
        assert outputs.commit(run_units(plan.to_json(), outputs.handle, units)) == whole
    assert made_checkpoint.contents(folder / "out") == made_checkpoint.contents(folder / "whole")
    with tc.open(folder / "out") as file:
        scale = np.abs(weight_of(folder)[1:]).max(axis=1) / 127
        assert np.allclose(file.raw["layers.1.weight_scale"].astype(float).ravel()[1:], scale, rtol=1e-2)
