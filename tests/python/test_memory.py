"""The memory of results: where it lies, that it is kept and given back, and that nobody sees another's.

SPDX-License-Identifier: Apache-2.0
"""
import gc
import os
import pathlib
import resource
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
import tensorcast as tc

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _a_limit():
    """Each test begins with nothing kept, and 64 MiB that may be."""
    before = tc.result_memory()["limit"]
    tc.result_memory(limit=0)
    tc.result_memory(limit=64 * MIB)
    yield
    tc.result_memory(limit=before)


@pytest.mark.parametrize("elements", [3000, 1 << 14, (1 << 14) + 3, 1 << 18, (1 << 20) + 1, 5_000_000])
def test_results_begin_at_a_cache_line(elements):
    x = np.arange(elements, dtype=np.float32)
    for made in (tc.cast(x, "float16"), tc.cast(x, "int8"), tc.cast(x, "int4", packed=True),
                 tc.cast(x[::-1], "float64"), tc.cast(x, "float32", loss=True)[0],
                 tc.cast(np.asfortranarray(x[: elements // 4 * 4].reshape(4, -1)), "float64")):
        assert made.nbytes < 1 << 12 or made.ctypes.data % 64 == 0
        assert made.flags.owndata or made.base is not None


def test_what_is_given_back_is_used_again():
    x = np.arange(MIB, dtype=np.float32)
    made = tc.cast(x, "float64")
    address = made.ctypes.data
    assert tc.result_memory()["kept"] == 0
    view = made[5:]
    del made
    assert tc.result_memory()["kept"] == 0  # the view holds it
    assert tc.cast(x, "float64").ctypes.data != address
    del view
    kept = tc.result_memory()["kept"]
    assert 8 * MIB <= kept <= 2 * 9 * MIB
    again = tc.cast(x, "int64")  # of the same size
    assert again.ctypes.data == address and again.tolist()[:3] == [0, 1, 2]
    smaller = tc.cast(x[: MIB - 1000], "int64")  # nearly
    assert tc.result_memory()["kept"] < kept and np.array_equal(smaller, x[: MIB - 1000])


def test_a_checkpoint_of_many_tensors_is_kept():
    """All of its blocks; those beyond half a gigabyte the system may take, and what is read next is written anew."""
    tc.result_memory(limit=1024 * MIB)
    x = np.arange(MIB, dtype=np.float32)
    for turn in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        held = [tc.cast(x, "float64") for _ in range(80)]
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        assert all(np.array_equal(each, x) for each in held[::13])
        assert len({each.ctypes.data for each in held}) == 80
        del held
        assert tc.result_memory()["kept"] >= 80 * x.nbytes * 2
    assert faults < 80 * x.nbytes * 2 // 4096 // 4  # of the second turn: new memory has one for each page


def test_small_results_are_not_kept():
    for _ in range(10):
        tc.cast(np.zeros(100_000, np.float32), "float16")
    assert tc.result_memory()["kept"] == 0


def test_the_limit_holds():
    random = np.random.default_rng(3)
    tc.result_memory(limit=16 * MIB)
    held = []
    for _ in range(200):
        held.append(tc.cast(np.zeros(random.integers(1, 8 * MIB), np.int8), "uint8"))
        if len(held) > 4:
            held.pop(random.integers(len(held)))
        assert tc.result_memory()["kept"] <= 16 * MIB
    del held
    assert 0 < tc.result_memory()["kept"] <= 16 * MIB
    too_large = tc.cast(np.zeros(20 * MIB, np.int8), "uint8")
    kept = tc.result_memory()["kept"]
    del too_large
    assert tc.result_memory()["kept"] == kept
    assert tc.result_memory(limit=3 * MIB)["kept"] <= 3 * MIB
    assert tc.result_memory(limit=0) == {"limit": 0, "kept": 0}
    tc.cast(np.zeros(MIB, np.int8), "float64")
    assert tc.result_memory()["kept"] == 0
    for wrong in (-1, 2**63, 1.5, "1"):
        with pytest.raises(tc.Error):
            tc.result_memory(limit=wrong)


@pytest.mark.parametrize("n", [3000, 300_000])
def test_numpy_may_resize_and_give_away_a_result(n):
    x = np.arange(n, dtype=np.float32)
    made = tc.cast(x, "float64")
    made.resize(n * 7 // 3, refcheck=False)
    assert np.array_equal(made[:n], x) and not made[n:].any()
    made.resize(100, refcheck=False)
    assert made.tolist() == list(range(100))
    objects = tc.cast(x, "string")  # an array of objects, which numpy clears
    assert objects[7] == "7.0"
    fortran = tc.cast(np.asfortranarray(x.reshape(3, -1)), "int64")
    assert fortran.flags.f_contiguous and np.array_equal(fortran, x.reshape(3, -1))
    other = np.arange(24 * 1000, dtype=np.int16).reshape(4, 1000, 6).transpose(2, 0, 1)
    assert np.array_equal(tc.cast(other, "float32"), other)


@pytest.mark.parametrize(("least", "most"), [(100_000, 400_000), (400, 60_000)])
def test_each_result_is_its_own(least, most):
    """Results of many threads that are held, looked at and given back in turn; those of less than half a MiB have the
    memory of the one given back last, if it is of about their size."""
    wrong = []

    def run(number):
        random = np.random.default_rng(number)
        held = []
        for turn in range(60):
            value = number * 100 + turn
            size = int(random.integers(least, most))
            held.append((value, tc.cast(np.full(size, value, np.int32), random.choice(["float64", "int64"]))))
            if len(held) > 3:
                value, array = held.pop(int(random.integers(len(held))))
                if not (array == value).all():
                    wrong.append(value)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and tc.result_memory()["kept"] <= 64 * MIB


def test_a_child_has_its_own():
    x = np.arange(MIB, dtype=np.float32)
    tc.cast(x, "float64")
    stop = threading.Event()

    def others():
        while not stop.is_set():
            tc.cast(x, "float64")

    thread = threading.Thread(target=others)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if np.array_equal(tc.cast(x, "float64"), x) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(("said", "limit"), [("0", 0), ("1048576", MIB), ("nonsense", None), ("", None)])
def test_the_environment_says_the_limit(said, limit):
    done = subprocess.run([sys.executable, "-c", "import tensorcast as tc; print(tc.result_memory()['limit'])"],
                          capture_output=True, text=True, check=True, env={**os.environ, "TENSORCAST_RESULT_MEMORY": said})
    if limit is None:
        machine = min([os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *limits_of_groups()])
        limit = min(1024 * MIB, machine // 16)
    assert int(done.stdout) == limit


def memory_groups():
    """The folders of this process's control groups that have memory, each with the name of its limit."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            yield pathlib.Path("/sys/fs/cgroup"), group, "memory.max"
        elif "memory" in controllers.split(","):
            yield pathlib.Path("/sys/fs/cgroup/memory"), group, "memory.limit_in_bytes"


def limits_of_groups():
    found = []
    for root, group, name in memory_groups():
        folder = pathlib.PurePosixPath(group)
        for each in (folder, *folder.parents):
            path = root / str(each).lstrip("/") / name
            if path.exists() and path.read_text().strip().isdigit():
                found.append(int(path.read_text()))
    return found


@pytest.mark.parametrize("below", ["", "/inner"])
def test_a_container_limits_it(below):
    """In a control group of half a gigabyte, and in one below that, a sixteenth of that is kept."""
    for root, group, name in memory_groups():
        outer = root / group.strip("/") / f"tensorcast-test-{os.getpid()}"
        try:
            outer.mkdir()
        except OSError:
            continue
        inner = pathlib.Path(f"{outer}{below}")
        try:
            (outer / name).write_text(str(512 * MIB))
            inner.mkdir(exist_ok=True)
            done = subprocess.run(["sh", "-c", 'echo $$ > "$0/cgroup.procs" || exit 7; exec "$@"', inner, sys.executable, "-c",
                                   "import tensorcast as tc; print(tc.result_memory()['limit'])"],
                                  capture_output=True, text=True, check=False)
        except OSError:
            continue
        finally:
            for folder in dict.fromkeys((inner, outer)):
                if folder.exists():
                    folder.rmdir()
        if done.returncode != 7:
            assert done.stdout == f"{32 * MIB}\n", done.stderr
            return
    pytest.skip("the system lets nobody make a control group of memory here")


def test_nothing_is_lost():
    def resident():
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * 4096

    x = np.arange(MIB, dtype=np.float32)

    def once():
        tc.cast(x, "float64")
        tc.cast(x, ml_dtypes.bfloat16)[::3].copy()
        tc.cast(x[::2], "float16")

    for _ in range(20):
        once()
    gc.collect()
    before = resident()
    for _ in range(300):
        once()
    assert resident() - before < 16 * MIB
