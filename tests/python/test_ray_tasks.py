"""What a task of a Ray cluster does and refuses, without a cluster (test_ray.py has one), and the package where
there is no Ray.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import tensorcast as tc

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import made_checkpoint  # noqa: E402


def test_a_task_refuses_what_is_not_the_same_on_its_machine(tmp_path):
    folder = tmp_path
    made_checkpoint.make(folder / "in")
    plan = tc.plan(folder / "in", folder / "out", to="bfloat16")
    (unit, *_) = plan.units()
    run = tc.ray._run_unit
    shard = folder / "in" / "model-00001-of-00003.safetensors"
    with plan.begin() as outputs:
        shared = tc.ray._shared(plan, outputs, True, 1, None)
        assert len(shared["inputs"]) >= 3
        place, part = run(shared, unit.file, unit.ranges)
        assert place and isinstance(part, tc.Part)

        def refused(error, line, **other):
            tc.ray._last_plan = None  # as in another process
            _, got = run({**shared, **other}, unit.file, unit.ranges)
            assert isinstance(got, error), got
            assert line in str(got) and "\n" not in str(got), got
            assert str(pickle.loads(pickle.dumps(got))) == str(got)

        refused(tc.UnsupportedError, f"tensorcast is {tc.__version__} here and 9.9.9 where convert was called",
                version="9.9.9")
        times = shard.stat()
        os.utime(shard, ns=(times.st_atime_ns, times.st_mtime_ns + 10**9))
        refused(tc.ContentsError, f"{shard}: is another file here than where convert was called")
        os.utime(shard, ns=(times.st_atime_ns, times.st_mtime_ns))
        (folder / "in").rename(folder / "elsewhere")
        refused(tc.FileError, "every machine needs the input's folder under this path")
        (folder / "elsewhere").rename(folder / "in")
        outputs.close()
        refused(tc.FileError, "or this machine has another folder under that path")


def test_a_task_reads_a_url(tmp_path):
    tensors = made_checkpoint.make(tmp_path / "in")
    options = {"skip_instance_cache": True}
    plan = tc.plan((tmp_path / "in").as_uri(), tmp_path / "out", to="bfloat16", storage_options=options)
    with plan.begin() as outputs:
        shared = tc.ray._shared(plan, outputs, True, 1, options)
        outputs.commit(tc.ray._run_unit(shared, unit.file, unit.ranges)[1] for unit in plan.units())
    made_checkpoint.check_bfloat16(tmp_path / "out", tensors)
    tc.ray._last_plan = None


def test_ray_is_not_imported_and_missed_in_one_line(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3, np.float32))
    code = f"""
import sys
import tensorcast as tc
assert "ray" not in sys.modules, "imported"
sys.modules["ray"] = None
try:
    tc.ray.convert({str(tmp_path / "a.npy")!r}, {str(tmp_path / "b.npy")!r}, to="float16")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("tensorcast.ray needs Ray: pip install 'tensorcast[ray]'"), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]
    with pytest.raises(tc.KindError, match="ray.convert has no option 'satturate': the nearest is saturate"):
        tc.ray.convert("a", "b", to="int8", satturate=True)
