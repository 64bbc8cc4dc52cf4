#!/usr/bin/env python3
"""Runs ONNX's own backend tests of Cast and CastLike on one of two backends.

    run_backend_tests.py path/to/libtensorcast.so    that of examples/python/onnx_backend.py
    run_backend_tests.py                             tensorcast.onnx.Backend, of the package

The runner (onnx.backend.test) loads the models and the data and compares, all by itself. How many
tests there are is known, so that none is left out unseen.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import sys
import unittest

import onnx.backend.test

if len(sys.argv) > 1:
    os.environ["TENSORCAST_LIBRARY"] = sys.argv[1]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))
    from onnx_backend import TensorcastBackend as Backend
else:
    from tensorcast.onnx import Backend

EXPECTED = 172  # 60 of Cast, 112 of CastLike, at opset 25


def main():
    runner = onnx.backend.test.BackendTest(Backend, __name__)
    runner.include(r"^test_cast")
    runner.include(r"^test_castlike")
    suite = unittest.TestSuite()
    for case in runner.test_cases.values():
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            name = test.id().rsplit(".", 1)[1]
            if name.startswith("test_cast") and name.endswith("_cpu"):
                suite.addTest(test)
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    if result.skipped or result.testsRun != EXPECTED:
        print(f"{result.testsRun} tests ran, {len(result.skipped)} skipped; expected {EXPECTED} "
              f"and none: {result.skipped[:3]}", file=sys.stderr)
        return 1
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
