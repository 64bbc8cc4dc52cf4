"""Converts a checkpoint by several processes of this machine, as another engine would by its own means.

    python examples/python/many_processes.py IN OUT TYPE

The plan and the handle are texts: they can go by a file or over a network, to machines that have both
folders under the same paths. What comes back from a unit can be pickled.

SPDX-License-Identifier: Apache-2.0
"""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import tensorcast as tc


def work(plan: str, handle: str, unit: tc.Unit) -> tc.Part:
    """Runs anywhere, and may run again if it is not known whether it ran."""
    with tc.Plan.from_json(plan).join(handle) as outputs:
        return outputs.run(unit, threads=1)


def main() -> None:
    src, dst, to = sys.argv[1:]
    plan = tc.plan(src, dst, to=to)
    units = plan.units()
    with plan.begin() as outputs, ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(work, plan.to_json(), outputs.handle, unit) for unit in units if not unit.for_creator]
        parts = [outputs.run(unit) for unit in units if unit.for_creator]
        losses = outputs.commit([*parts, *(each.result() for each in running)])
    for name, report in losses.items():
        print(f"{name}: {report.verdict}")


if __name__ == "__main__":
    main()
