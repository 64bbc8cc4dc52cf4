"""Converts a checkpoint by all machines of a Ray cluster (`pip install 'tensorcast[ray]'` on each of them).

    RAY_ADDRESS=HEAD:6379 python examples/python/ray_convert.py IN OUT TYPE

Without RAY_ADDRESS, and where no cluster runs here, by the cores of this machine.

SPDX-License-Identifier: Apache-2.0
"""

import sys

import tensorcast as tc


def main() -> None:
    src, dst, to = sys.argv[1:]
    losses = tc.ray.convert(src, dst, to=to, keep=["norms"])
    for name, report in losses.items():
        print(f"{name}: {report.verdict}")


if __name__ == "__main__":
    main()
