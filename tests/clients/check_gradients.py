#!/usr/bin/env python3
"""Gradients through casts, beside PyTorch's autograd.

    check_gradients.py --tool TENSORCAST

Random chains of casts among float16, bfloat16, float32, float64 and, in a session that lets them
pass, the float8 types; the gradient of the last value is given, that of the first must have
PyTorch's bits. In half of them the value is read by two chains: where PyTorch rounds the sum of two
contributions as often as we do, once, that must have its bits too. One Cast of a graph may have a
coefficient, for which PyTorch multiplies the gradient by a hook. Gradients are values of float32
that no chain takes below its types' normal range or beyond their largest: PyTorch casts float64 to
the narrow types by way of float32, and has no saturation to float8.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import random
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from flat_calls import FlatGraph, FlatSession, Library  # noqa: E402

USUAL = {1: torch.float32, 10: torch.float16, 11: torch.float64, 16: torch.bfloat16}
WIDE = USUAL | {17: torch.float8_e4m3fn, 18: torch.float8_e4m3fnuz, 19: torch.float8_e5m2,
                20: torch.float8_e5m2fnuz}
CHAINS = 600
N = 256


def data(tensor):
    return tensor.detach().contiguous().view(torch.uint8).numpy().tobytes()


def check_chain(library, chance):
    """One graph; gives how many types its chains went through."""
    wide = chance.random() < 0.5
    types = WIDE if wide else USUAL
    is_shared = chance.random() < 0.5
    first = chance.choice([1, 11] if is_shared else list(types))
    draw = np.random.default_rng(chance.getrandbits(32))
    x = torch.from_numpy(draw.uniform(-4, 4, N).astype(np.float32)).to(types[first])
    x.requires_grad_(True)
    graph = FlatGraph(library)
    value = graph.input("x", first)
    gradients, outputs, length, scaled = {}, [], 0, None
    for name in ("y", "z") if is_shared else ("y",):
        y, at = x, value
        for _ in range(chance.randint(1, 1 if is_shared else 5)):
            to = chance.choice(list(types))
            # One of the Casts may have a coefficient: a power of two, which keeps all exact.
            lda = chance.choice([1.0, 0.5, 2.0, -1.0]) if scaled is None else 1.0
            y, at, length = y.to(types[to], copy=True), graph.cast(at, to, lda=lda), length + 1
            if lda != 1.0:
                scaled = lda
                y.register_hook(lambda g, lda=lda: (g.float() * lda).to(g.dtype))
        graph.output(at, name)
        # Magnitudes from 1/8 to 8: normal in every type here, and their sums too.
        dy = torch.from_numpy((draw.uniform(0.125, 8, N) * draw.choice([-1, 1], N))
                              .astype(np.float32)).to(y.dtype)
        dtype = next(each for each, torch_type in types.items() if torch_type == y.dtype)
        gradients[name] = (dtype, (N,), data(dy))
        outputs.append((y, dy))
    torch.autograd.backward([y for y, _ in outputs], [dy for _, dy in outputs])
    session = FlatSession(graph, backward=True, wide=wide)
    session.run({"x": (first, (N,), data(x))})
    ours = session.backward(gradients, ["x"])["x"]
    assert ours == data(x.grad), f"{types[first]}: other bits"
    return length


def check_none(library):
    """Where PyTorch has no gradient there is none here: through integers and booleans."""
    for to in (6, 3, 9):
        graph = FlatGraph(library)
        x = graph.input("x", 1)
        graph.output(graph.cast(graph.cast(x, to), 1), "y")
        session = FlatSession(graph, backward=True)
        session.run({"x": (1, (2,), bytes(8))})
        assert session.backward({"y": (1, (2,), bytes(8))}, ["x"])["x"] is None
        there = {6: torch.int32, 3: torch.int8, 9: torch.bool}[to]
        assert not torch.zeros(2, requires_grad=True).to(there).to(torch.float32).requires_grad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", type=pathlib.Path, required=True)
    built = parser.parse_args().tool.resolve().parents[1]
    library = Library(built / "src" / "libtensorcast.so")
    check_none(library)
    lengths = failures = 0
    for seed in range(CHAINS):
        try:
            lengths += check_chain(library, random.Random(seed))
        except AssertionError as error:
            print(f"chain {seed}: {error}")
            failures += 1
    print(f"{CHAINS - failures} of {CHAINS} graphs of {lengths} casts have PyTorch's gradients")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
