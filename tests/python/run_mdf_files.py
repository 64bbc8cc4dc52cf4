#!/usr/bin/env python3
"""Runs model files of MDF's repository by MDF's engine, with its own casts and with ours, and holds
the outputs against each other, bit for bit. Run by hand: the files are not on PyPI.

    run_mdf_files.py inception.json shufflenet_v2.json

Weights, which the files leave out, and inputs are seeded; ports of integers get ones.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import contextlib
import io
import sys

import numpy as np
from modeci_mdf.execution_engine import EvaluableGraph
from modeci_mdf.utils import load_mdf

import tensorcast.mdf


def values_of(graph):
    """Something for each input port that no edge feeds."""
    draw = np.random.default_rng(1)
    fed = {(edge.receiver, edge.receiver_port) for edge in graph.edges}
    values = {}
    for node in graph.nodes:
        for port in node.input_ports:
            if (node.id, port.id) in fed or port.id in values:
                continue
            shape = tuple(port.shape or ())
            is_floating = "float" in (port.type or "float")
            values[port.id] = ((draw.standard_normal(shape) * 0.05).astype(np.float32)
                               if is_floating else np.ones(shape, np.int64))
    return values


def outputs_of(path):
    graph = load_mdf(path).graphs[0]
    with contextlib.redirect_stdout(io.StringIO()):  # the engine tells what it does
        engine = EvaluableGraph(graph=graph, verbose=False)
        engine.evaluate(initializer=values_of(graph))
    return [np.asarray(node.get_output()) for node in engine.output_enodes]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    failures = 0
    for path in parser.parse_args().files:
        own = outputs_of(path)
        for mode in ("compatible", "exact"):
            with tensorcast.mdf.install(mode=mode):
                ours = outputs_of(path)
            is_same = all(a.dtype == b.dtype and a.tobytes() == b.tobytes()
                          for a, b in zip(own, ours, strict=True))
            print(f"{path}, {mode}: {len(own)} outputs {'as MDF has them' if is_same else 'DIFFER'}")
            failures += not is_same
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
