"""Conversions by a cluster of Ray's, of two nodes in this machine: what one machine makes, and what happens
where workers, nodes, the driver or the file system fail. ray_faults/sitecustomize.py makes them fail.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import errno
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

import numpy as np
import pytest
import ray
import ray.cluster_utils
import tensorcast as tc
from tensorcast import progress

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import made_checkpoint  # noqa: E402

SMALL = 2_000_000  # of a unit: four of a weight, and one of what stands before it
UNITS = 15


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def cluster(faults):
    os.environ["RAY_FAULTS"] = str(faults)
    # Of this cluster alone: it leaves nothing in the home and in Ray's own folder, and says nothing to anybody.
    own = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # short: it has sockets
    os.mkdir(os.path.join(own, "ray"))
    os.environ.update(RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0", RAY_TMPDIR=own)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "ray_faults"), os.environ.get("PYTHONPATH", "")])
    made = ray.cluster_utils.Cluster(initialize_head=True, head_node_args={
        "num_cpus": 1, "env_vars": {"RAY_FAULTS_NODE": "head"}, "include_dashboard": False})
    made.add_node(num_cpus=1, env_vars={"RAY_FAULTS_NODE": "second"}, resources={"second": 1})
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()
    while os.path.exists(own):  # processes that end still write to it
        shutil.rmtree(own, ignore_errors=True)
        time.sleep(0.1)


@pytest.fixture
def checkpoint(tmp_path, cluster, faults):
    tensors = made_checkpoint.make(tmp_path / "in")
    losses = tc.convert(tmp_path / "in", tmp_path / "whole", to="bfloat16")
    for path in faults.iterdir():
        path.unlink()
    return tmp_path, tensors, losses


def convert(folder, **more):
    more = {"unit_bytes": SMALL, "progress": False, **more}
    return tc.ray.convert(folder / "in", folder / "out", to="bfloat16", **more)


def check_done(checkpoint, losses):
    """What one machine makes, and ml_dtypes."""
    folder, tensors, whole = checkpoint
    assert losses == whole and list(losses) == list(whole)
    assert made_checkpoint.contents(folder / "out") == made_checkpoint.contents(folder / "whole")
    made_checkpoint.check_bfloat16(folder / "out", tensors)
    assert left_in(folder) == ["in", "out", "whole"]


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def log(faults):
    """(node, process, file) of each unit that a worker began."""
    if not (faults / "log").exists():
        return []
    return [tuple(line.split()) for line in (faults / "log").read_text().splitlines()]


def extra_node(cluster, name, **variables):
    """A node that takes only the tasks that ask for it."""
    node = cluster.add_node(num_cpus=1, resources={name: 1}, env_vars={"RAY_FAULTS_NODE": name, **variables})
    return node, {"resources": {name: 0.01}}


def test_a_cluster_makes_what_one_machine_makes(checkpoint, faults):
    seen = []
    (faults / "slow").write_text("0.2")  # so that both nodes get some
    losses = convert(checkpoint[0], progress=lambda *done: seen.append(done))
    check_done(checkpoint, losses)
    assert len(seen) == len(log(faults)) == UNITS
    assert {node for node, _, _ in log(faults)} == {"head", "second"}
    done, total, name = seen[-1]
    assert done == total == sum(each.nbytes for each in checkpoint[1].values())
    assert re.fullmatch(r"model-0000[123]-of-00003\.safetensors \([1-5] of 5\)", name)
    with pytest.raises(tc.ArgumentError, match="the output exists"):
        convert(checkpoint[0])
    check_done(checkpoint, convert(checkpoint[0], overwrite=True, unit_bytes=1 << 30))
    assert convert(checkpoint[0], overwrite=True, loss=False) == {}


def test_what_progress_raises_ends_it(checkpoint):
    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="^enough$"):
        convert(checkpoint[0], progress=stop)
    assert left_in(checkpoint[0]) == ["in", "whole"]
    with pytest.raises(tc.ArgumentError, match="cpus is 0"):
        convert(checkpoint[0], cpus=0)


def test_a_bar(checkpoint, capfd, monkeypatch):
    convert(checkpoint[0], progress=True)
    assert capfd.readouterr().err.count("%") == 0  # nobody looks
    monkeypatch.setattr(progress, "_place", lambda: "terminal")
    convert(checkpoint[0], progress=True, overwrite=True)
    assert re.search(r"out: 100%.*18\.\dM/18\.\dM", capfd.readouterr().err)


def test_a_file_relative_to_the_working_folder(checkpoint, monkeypatch):
    folder, tensors, _ = checkpoint
    monkeypatch.chdir(folder)
    x = tensors["layers.1.weight"]
    np.save("x.npy", x)
    losses = tc.ray.convert("x.npy", "y.npy", to="float16", unit_bytes=SMALL, saturate=False, progress=False)
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    assert np.array_equal(np.load("y.npy"), want, equal_nan=True)
    assert losses["x"] == tc.loss(x, "float16", saturate=False)


def test_the_example(checkpoint, cluster):
    folder = checkpoint[0]
    controller, terminal = pty.openpty()  # the bar is drawn for those who look
    termios.tcsetwinsize(terminal, (24, 100))
    program = subprocess.Popen([sys.executable, HERE.parents[1] / "examples" / "python" / "ray_convert.py", folder / "in",
                                folder / "out", "bfloat16"], env={**os.environ, "RAY_ADDRESS": cluster.address},
                               stdout=subprocess.PIPE, stderr=terminal, text=True)
    os.close(terminal)
    said = b""
    with contextlib.suppress(OSError), os.fdopen(controller, "rb", buffering=0) as errors:
        while piece := errors.read(1 << 16):
            said += piece
    printed, _ = program.communicate()
    assert "layers.1.weight: good" in printed and "100%" in said.decode(), said.decode()
    with tc.open(folder / "out") as made, tc.open(folder / "whole") as whole:
        assert np.array_equal(made["layers.1.weight"].view(np.uint16), whole["layers.1.weight"].view(np.uint16))


def test_an_input_by_url(checkpoint):
    folder = checkpoint[0]
    losses = tc.ray.convert((folder / "in").as_uri(), folder / "out", to="bfloat16", unit_bytes=SMALL, progress=False)
    check_done(checkpoint, losses)
    with pytest.raises(tc.ArgumentError, match="^dst is s3://a/b: outputs are files"):
        tc.ray.convert(folder / "in", "s3://a/b", to="bfloat16")


def test_strings_are_written_by_the_driver(checkpoint):
    folder = checkpoint[0]
    np.save(folder / "a.npy", np.arange(3000, dtype=np.float32))
    tc.ray.convert(folder / "a.npy", folder / "b.npy", to="string", progress=False)
    assert np.load(folder / "b.npy").tolist()[:2] == ["0.0", "1.0"]
    with pytest.raises(tc.UnsupportedError, match="can only be written by one process"):
        tc.ray.convert(folder / "a.npy", folder / "b.npz", to="float16", progress=False)
    assert left_in(folder) == ["a.npy", "b.npy", "in", "whole"]


def test_a_worker_is_killed(checkpoint, faults):
    """Once a part of its unit is written: another runs it again."""
    (faults / "kill").touch()
    check_done(checkpoint, convert(checkpoint[0], unit_bytes=1 << 30))
    assert not (faults / "kill").exists()
    files = [file for _, _, file in log(faults)]
    assert len(files) == 4 and len(set(files)) == 3  # one of them twice


def test_workers_are_killed_again_and_again(checkpoint, faults):
    (faults / "kill").touch()
    with pytest.raises(tc.ray.LostWorkerError, match=r"^model-0000\d-of-00003.safetensors.*: Ray gave it up: "):
        convert(checkpoint[0], max_retries=0)
    assert left_in(checkpoint[0]) == ["in", "whole"]


def test_a_node_is_killed(checkpoint, faults, cluster):
    node, _ = extra_node(cluster, "doomed")
    (faults / "slow").write_text("0.3")
    killed = []

    def kill(*_):
        if not killed and "doomed" in {node for node, _, _ in log(faults)}:
            cluster.remove_node(node, allow_graceful=False)
            killed.append(len(log(faults)))

    check_done(checkpoint, convert(checkpoint[0], progress=kill))
    assert killed and killed[0] < UNITS


def test_a_slow_worker_holds_one_unit(checkpoint, faults):
    (faults / "slow").write_text("3 second")
    check_done(checkpoint, convert(checkpoint[0]))
    slow = [node for node, _, _ in log(faults)].count("second")
    assert len(log(faults)) == UNITS and slow <= 2


def test_no_space_is_left(checkpoint, faults, cluster):
    """Found out by a worker: the folder's file system has reserved nothing."""
    folder = checkpoint[0]
    (faults / "small").write_text("1000000")
    with pytest.raises(tc.FileError) as caught:
        convert(folder)
    (faults / "small").unlink()
    assert caught.value.errno == errno.EFBIG
    place = r"^model-0000\d-of-00003\.safetensors \(\d of 5\), on [^:]+: "
    assert re.search(place + ".*raise the limit on the size of files", str(caught.value)), caught.value
    assert left_in(folder) == ["in", "whole"]


def test_a_full_disk(checkpoint, faults, cluster):
    """The same by the error that a full disk gives, where the tests have built what injects it."""
    folder = checkpoint[0]
    library = os.environ.get("INJECT_FAULTS")
    if not library:
        pytest.skip("INJECT_FAULTS names no library")
    node, there = extra_node(cluster, "full", RAY_FAULTS_PRELOAD=library)
    with pytest.raises(tc.FileError) as caught:
        convert(folder, task_options=there)
    assert caught.value.errno == errno.ENOSPC and "free some room" in str(caught.value), caught.value
    assert left_in(folder) == ["in", "whole"]
    cluster.remove_node(node)


@pytest.mark.parametrize(("package", "said"), [
    ("9.9.9", "tensorcast is 9.9.9 here and .* where convert was called: install the same version on all machines$"),
    ("missing", "a machine of the cluster has no tensorcast .*: pip install ")])
def test_another_package_on_a_machine(checkpoint, cluster, package, said):
    node, there = extra_node(cluster, f"odd{package[0]}", RAY_FAULTS_PACKAGE=package)
    with pytest.raises(tc.UnsupportedError, match=rf"^model-0000\d-of-00003.*: {said}") as caught:
        convert(checkpoint[0], task_options=there)
    assert "\n" not in str(caught.value)
    assert left_in(checkpoint[0]) == ["in", "whole"]
    cluster.remove_node(node)


DRIVER = """
import sys, ray, tensorcast as tc
ray.init(address=sys.argv[1], log_to_driver=False)
try:
    tc.ray.convert(sys.argv[2] + "/in", sys.argv[2] + "/out", to="bfloat16", unit_bytes=2_000_000, progress=False)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_driver_ends(checkpoint, faults, cluster, number):
    folder = checkpoint[0]
    (faults / "slow").write_text("1")
    with subprocess.Popen([sys.executable, "-c", DRIVER, cluster.address, str(folder)], stdout=subprocess.PIPE,
                          text=True) as driver:
        while not log(faults):
            time.sleep(0.05)
        driver.send_signal(number)
        said, _ = driver.communicate(timeout=60)
    workers = {int(process) for _, process, _ in log(faults)}
    if number == signal.SIGINT:
        assert "interrupted" in said.splitlines()  # Ray says that nodes went, before and after it
        assert left_in(folder) == ["in", "whole"]
    else:
        assert len(left_in(folder)) == 3 and not (folder / "out").exists()
    begun = len(log(faults))
    (faults / "slow").unlink()
    check_done(checkpoint, convert(folder))  # what was left is removed
    until = time.monotonic() + 30
    while [process for process in workers if (pathlib.Path("/proc") / str(process)).exists()]:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert len(log(faults)) == begun + UNITS  # nobody went on
