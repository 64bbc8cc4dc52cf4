"""Casts four floats to float8e4m3fn, reports what that lost, prints the results, and reads a text.

It needs Python and ctypes only. The argument is the path of the library; without one it is that of
the installed package (`pip install .`), or libtensorcast.so.0.1 where the system looks.
SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int32, c_uint32, c_uint64, c_void_p

FLOAT32, FLOAT16, FLOAT8E4M3FN = 1, 10, 17
TO_LIMIT = 6


class Example(ctypes.Structure):
    _fields_ = [("index", c_uint64), ("source_code", c_uint64), ("result_code", c_uint64)]


class LossReport(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32), ("kinds", c_uint32), ("from_type", c_int32), ("to", c_int32),
        ("elements", c_uint64), ("counts", c_uint64 * 16), ("first", Example * 16),
        ("compared", c_uint64), ("max_abs_error", c_double), ("max_abs_example", Example),
        ("compared_nonzero", c_uint64), ("max_rel_error", c_double), ("max_rel_example", Example),
        ("sum_squares", c_double), ("sum_squared_error", c_double), ("rmse", c_double),
        ("snr_db", c_double), ("finite", c_uint64), ("amax", c_double),
        ("smallest_nonzero", c_double),
    ]


class Run(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("loss_index", c_uint64),
                ("executor", c_void_p), ("loss", c_void_p)]


class ParseFailure(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("index", c_uint64),
                ("text", c_char * 65)]


def library_path():
    if len(sys.argv) > 1:
        return sys.argv[1]
    try:
        import tensorcast
    except ImportError:
        return "libtensorcast.so.0.1"
    return tensorcast.c_library()


library = ctypes.CDLL(library_path())
# ctypes passes plain integers as 32 bits unless it is told the types.
library.tensorcast_status_text.restype = c_char_p
library.tensorcast_loss_meter_create.argtypes = [c_int32, c_int32, c_void_p, POINTER(c_void_p)]
library.tensorcast_loss_meter_report.argtypes = [c_void_p, POINTER(LossReport)]
library.tensorcast_loss_meter_destroy.argtypes = [c_void_p]
library.tensorcast_loss_meter_destroy.restype = None
library.tensorcast_cast.argtypes = [
    c_int32, c_void_p, c_uint64, c_int32, c_void_p, c_uint64, c_uint64, c_void_p, POINTER(Run)
]
library.tensorcast_printed_bytes.argtypes = [
    c_int32, c_void_p, c_uint64, c_uint64, c_void_p, POINTER(Run), POINTER(c_uint64)
]
library.tensorcast_print_strings.argtypes = [
    c_int32, c_void_p, c_uint64, c_uint64, c_void_p, c_uint64, c_void_p, c_uint64, c_void_p,
    POINTER(Run),
]
library.tensorcast_parse_strings.argtypes = [
    c_void_p, c_uint64, c_char_p, c_uint64, c_int32, c_void_p, c_uint64, c_void_p, POINTER(Run),
    POINTER(ParseFailure),
]


def status_text(status):
    return library.tensorcast_status_text(status).decode()


def check(status):
    if status != 0:
        sys.exit(f"tensorcast: {status_text(status)}")


weights = (ctypes.c_float * 4)(0.1, 448, 512, -1e-9)
codes = (ctypes.c_uint8 * 4)()  # a float8 is a byte

# Cast, and measure: without a meter, nothing is measured.
meter = c_void_p()
check(library.tensorcast_loss_meter_create(FLOAT32, FLOAT8E4M3FN, None, byref(meter)))
run = Run(struct_size=ctypes.sizeof(Run), loss=meter)
check(library.tensorcast_cast(FLOAT32, weights, ctypes.sizeof(weights), FLOAT8E4M3FN, codes,
                              ctypes.sizeof(codes), 4, None, byref(run)))
print("codes:", bytes(codes).hex(" "))

report = LossReport(struct_size=ctypes.sizeof(LossReport))
check(library.tensorcast_loss_meter_report(meter, byref(report)))
library.tensorcast_loss_meter_destroy(meter)
print(f"of {report.elements} values {report.counts[TO_LIMIT]} went to the limit, "
      f"SNR {report.snr_db:.1f} dB")

# Print what they stand for: cast back, and ask how many bytes the texts take first.
values = (ctypes.c_float * 4)()
check(library.tensorcast_cast(FLOAT8E4M3FN, codes, 4, FLOAT32, values, 16, 4, None, None))
size = c_uint64()
check(library.tensorcast_printed_bytes(FLOAT32, values, 16, 4, None, None, byref(size)))
offsets = (c_uint64 * 5)()
texts = ctypes.create_string_buffer(size.value)
check(library.tensorcast_print_strings(FLOAT32, values, 16, 4, offsets, 5, texts, size, None, None))
print("values:", *(texts.raw[offsets[i] : offsets[i + 1]].decode() for i in range(4)))

# Parse: string i is bytes starts[i] to starts[i + 1] - 1.
numbers = b"1.51e400half"
starts = (c_uint64 * 4)(0, 3, 8, 12)
halves = (ctypes.c_uint16 * 3)()  # a float16 is 16 bits
failure = ParseFailure(struct_size=ctypes.sizeof(ParseFailure))
status = library.tensorcast_parse_strings(starts, 4, numbers, len(numbers), FLOAT16, halves,
                                          ctypes.sizeof(halves), None, None,
                                          byref(failure))
print(f'text {failure.index}, "{failure.text.decode()}": {status_text(status)}')
check(library.tensorcast_parse_strings(starts, 3, numbers, len(numbers), FLOAT16, halves,
                                       ctypes.sizeof(halves), None, None, None))
print(f"float16: {halves[0]:04x} {halves[1]:04x}")
