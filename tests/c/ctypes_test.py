"""The C interface from Python's ctypes: threads at once, Python callbacks, structs by their layout.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import math
import pathlib
import random
import struct
import sys
import threading
import unittest
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

FLOAT32, INT32, STRING, FLOAT8E4M3FN, INT4 = 1, 6, 8, 17, 22
OK, NULL_POINTER, INVALID_TYPE, BUFFER_TOO_SMALL, NOT_A_NUMBER = 0, 3, 1, 5, 13
BAD_STRUCT, EXECUTOR_FAILED = 17, 18

Task = ctypes.CFUNCTYPE(None, c_void_p, c_size_t)
ParallelFor = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, Task, c_void_p)


def kept_layouts():
    """{struct: (size, {field: offset})} of struct_layouts.txt, which check_abi.py keeps true."""
    layouts = {}
    for line in (pathlib.Path(__file__).parent / "struct_layouts.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, *numbers = line.split()
        if not line.startswith(" "):
            fields = {}
            layouts[name] = (int(numbers[0]), fields)
        else:
            fields[name] = int(numbers[0])
    return layouts


LAYOUTS = kept_layouts()


class Struct:
    """A struct as bytes, laid out as the kept file says."""

    def __init__(self, name):
        size, self.fields = LAYOUTS[name]
        self.buffer = ctypes.create_string_buffer(size)
        self.set("struct_size", "I", size)

    def set(self, field, code, value):
        struct.pack_into("=" + code, self.buffer, self.fields[field], value)

    def get(self, field, code):
        values = struct.unpack_from("=" + code, self.buffer, self.fields[field])
        return values[0] if len(values) == 1 else values


def load(path):
    library = ctypes.CDLL(path)
    library.tensorcast_status_text.restype = c_char_p
    library.tensorcast_plan_create.argtypes = [c_int32, c_int32, c_void_p, c_int32, c_void_p]
    library.tensorcast_plan_run.argtypes = [
        c_void_p, c_void_p, c_uint64, c_uint64, c_void_p, c_uint64, c_uint64, c_uint64, c_void_p
    ]
    library.tensorcast_plan_destroy.argtypes = [c_void_p]
    library.tensorcast_cast.argtypes = [
        c_int32, c_void_p, c_uint64, c_int32, c_void_p, c_uint64, c_uint64, c_void_p, c_void_p
    ]
    library.tensorcast_executor_create.argtypes = [c_uint32, c_void_p]
    library.tensorcast_executor_create_custom.argtypes = [
        c_uint32, ParallelFor, c_void_p, c_void_p
    ]
    library.tensorcast_executor_destroy.argtypes = [c_void_p]
    library.tensorcast_loss_meter_create.argtypes = [c_int32, c_int32, c_void_p, c_void_p]
    library.tensorcast_loss_meter_merge.argtypes = [c_void_p, c_void_p]
    library.tensorcast_loss_meter_report.argtypes = [c_void_p, c_void_p]
    library.tensorcast_loss_meter_destroy.argtypes = [c_void_p]
    library.tensorcast_parse_strings.argtypes = [
        c_void_p, c_uint64, c_char_p, c_uint64, c_int32, c_void_p, c_uint64, c_void_p, c_void_p,
        c_void_p,
    ]
    library.tensorcast_type_nearest.argtypes = [c_char_p, c_uint64, c_void_p, c_uint64, c_void_p]
    return library


def at_once(jobs):
    """Runs callables on threads that start together; raises what one raised."""
    barrier = threading.Barrier(len(jobs))
    errors = []

    def run(job):
        barrier.wait()
        try:
            job()
        except Exception as error:  # to be raised where the test sees it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Ctypes(unittest.TestCase):
    def integers(self, n, seed):
        """Integers, as codes of int32; Python knows what int4 makes of them."""
        generator = random.Random(seed)
        values = [generator.randrange(-(2**31), 2**31) for _ in range(n)]
        packed = bytearray((n + 1) // 2)
        for i, value in enumerate(values):
            packed[i // 2] |= (value & 15) << (i % 2 * 4)
        return (c_int32 * n)(*values), bytes(packed)

    def test_one_plan_by_many_threads(self):
        plan = c_void_p()
        self.assertEqual(LIBRARY.tensorcast_plan_create(INT32, INT4, None, 0, byref(plan)), OK)

        def job(seed):
            source, expected = self.integers(5001, seed)
            for _ in range(50):
                result = ctypes.create_string_buffer(len(expected))
                status = LIBRARY.tensorcast_plan_run(
                    plan, source, 4 * 5001, 0, result, len(expected), 0, 5001, None
                )
                self.assertEqual(status, OK)
                self.assertEqual(result.raw, expected)

        at_once([lambda seed=seed: job(seed) for seed in range(8)])
        LIBRARY.tensorcast_plan_destroy(plan)

    def test_meters_of_many_threads_merge(self):
        n = 4096
        source = (ctypes.c_float * n)(*[512.0 if i % 4 == 0 else 0.5 for i in range(n)])
        meters = [c_void_p() for _ in range(6)]
        executor = c_void_p()
        self.assertEqual(LIBRARY.tensorcast_executor_create(2, byref(executor)), OK)

        def job(meter):
            status = LIBRARY.tensorcast_loss_meter_create(FLOAT32, FLOAT8E4M3FN, None, byref(meter))
            self.assertEqual(status, OK)
            result = ctypes.create_string_buffer(n)
            for chunk in range(4):
                run = Struct("tensorcast_run")
                run.set("loss", "Q", meter.value)
                run.set("executor", "Q", executor.value)
                run.set("loss_index", "Q", chunk * n)
                status = LIBRARY.tensorcast_cast(
                    FLOAT32, source, 4 * n, FLOAT8E4M3FN, result, n, n, None, run.buffer
                )
                self.assertEqual(status, OK)
            self.assertEqual(result.raw[:4], b"\x7e\x30\x30\x30")

        at_once([lambda meter=meter: job(meter) for meter in meters])
        for meter in meters[1:]:
            self.assertEqual(LIBRARY.tensorcast_loss_meter_merge(meters[0], meter), OK)
        report = Struct("tensorcast_loss_report")
        self.assertEqual(LIBRARY.tensorcast_loss_meter_report(meters[0], report.buffer), OK)
        total = 6 * 4 * n
        counts = report.get("counts", "16Q")
        self.assertEqual(report.get("elements", "Q"), total)
        self.assertEqual(counts[3], total - total // 4)  # exact
        self.assertEqual(counts[6], total // 4)  # to_limit
        self.assertEqual(sum(counts[:9]), total)
        self.assertEqual(report.get("max_abs_error", "d"), 64.0)
        squares = total // 4 * 512.0**2 + total * 3 // 4 * 0.25
        self.assertEqual(report.get("sum_squares", "d"), squares)
        self.assertAlmostEqual(
            report.get("snr_db", "d"), 10 * math.log10(squares / (total // 4 * 64.0**2)), places=9
        )
        for meter in meters:
            LIBRARY.tensorcast_loss_meter_destroy(meter)
        LIBRARY.tensorcast_executor_destroy(executor)

    def run_with(self, parallel_for):
        """A cast large enough for an executor, over a pool written in Python."""
        n = 1 << 20
        source, expected = self.large
        executor = c_void_p()
        callback = ParallelFor(parallel_for)
        status = LIBRARY.tensorcast_executor_create_custom(2, callback, None, byref(executor))
        self.assertEqual(status, OK)
        result = ctypes.create_string_buffer(n // 2)
        run = Struct("tensorcast_run")
        run.set("executor", "Q", executor.value)
        status = LIBRARY.tensorcast_cast(
            INT32, source, 4 * n, INT4, result, n // 2, n, None, run.buffer
        )
        LIBRARY.tensorcast_executor_destroy(executor)
        return status, result.raw == expected

    @classmethod
    def setUpClass(cls):
        cls.large = cls.integers(cls, 1 << 20, 99)

    def test_a_pool_in_python(self):
        tasks_seen = []

        def parallel_for(_, tasks, task, task_context):
            tasks_seen.append(tasks)
            at_once([lambda i=i: task(task_context, i) for i in range(tasks)])

        self.assertEqual(self.run_with(parallel_for), (OK, True))
        self.assertGreater(tasks_seen[0], 1)

    def test_a_pool_that_raises(self):
        def parallel_for(_, tasks, task, task_context):
            task(task_context, 0)
            raise RuntimeError("the pool is shut")

        seen = []
        hook, sys.unraisablehook = sys.unraisablehook, lambda error: seen.append(error.exc_value)
        try:
            status, _ = self.run_with(parallel_for)
        finally:
            sys.unraisablehook = hook
        self.assertEqual(status, EXECUTOR_FAILED)
        self.assertEqual([str(error) for error in seen], ["the pool is shut"])

    def test_strings_by_many_threads(self):
        def job(seed):
            generator = random.Random(seed)
            values = [generator.randrange(-(2**31), 2**31) for _ in range(3000)]
            texts = [str(value).encode() for value in values]
            bad = generator.randrange(3000)
            offsets = (c_uint64 * 3001)()
            for i, text in enumerate(texts):
                offsets[i + 1] = offsets[i] + len(text)
            data = b"".join(texts)
            result = (c_int32 * 3000)()
            status = LIBRARY.tensorcast_parse_strings(
                offsets, 3001, data, len(data), INT32, result, 12000, None, None, None
            )
            self.assertEqual(status, OK)
            self.assertEqual(list(result), values)
            data = bytearray(data)
            data[offsets[bad]] = 0xFF
            failure = Struct("tensorcast_parse_failure")
            status = LIBRARY.tensorcast_parse_strings(
                offsets, 3001, bytes(data), len(data), INT32, result, 12000, None, None,
                failure.buffer,
            )
            self.assertEqual(status, NOT_A_NUMBER)
            self.assertEqual(failure.get("index", "Q"), bad)
            text = failure.get("text", "65s").split(b"\0")[0]
            self.assertEqual(text, b"\\xFF" + texts[bad][1:])

        at_once([lambda seed=seed: job(seed) for seed in range(6)])

    def test_refusals_reach_python(self):
        status = LIBRARY.tensorcast_cast(FLOAT32, None, 0, INT32, None, 0, 1, None, None)
        self.assertEqual(status, NULL_POINTER)
        self.assertEqual(LIBRARY.tensorcast_plan_create(14, 1, None, 0, None), NULL_POINTER)
        self.assertEqual(
            LIBRARY.tensorcast_plan_create(14, 1, None, 0, byref(c_void_p())), INVALID_TYPE
        )
        options = Struct("tensorcast_options")
        options.set("struct_size", "I", 0)
        value = ctypes.c_float(1)
        byte = ctypes.c_uint8()
        status = LIBRARY.tensorcast_cast(
            FLOAT32, byref(value), 4, 2, byref(byte), 1, 1, options.buffer, None
        )
        self.assertEqual(status, BAD_STRUCT)
        buffer = ctypes.create_string_buffer(64)
        self.assertEqual(LIBRARY.tensorcast_type_nearest(b"e4m4", 4, buffer, 64, None), OK)
        self.assertEqual(len(buffer.value.split(b", ")), 3)
        self.assertEqual(
            LIBRARY.tensorcast_type_nearest(b"e4m4", 4, buffer, 4, None), BUFFER_TOO_SMALL
        )
        self.assertEqual(LIBRARY.tensorcast_status_text(-5), b"unknown status")


if __name__ == "__main__":
    LIBRARY = load(sys.argv.pop(1))
    unittest.main()
