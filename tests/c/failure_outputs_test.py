"""After a failure what a C function was to give is null or 0: every function of the headers.

The functions are those the preprocessed headers declare, so that a new one is tried too. Each is
called in ways that must fail, with what it gives filled with ones beforehand.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import ctypes
import re
import subprocess
import sys

OK, BUFFER_TOO_SMALL = 0, 5
# What nothing but want of memory, or of threads, can make fail without an argument.
CANNOT_FAIL = {
    "tensorcast_executor_create", "tensorcast_interrupt_create", "tensorcast_results_create"
}
SCALARS = {
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "double": ctypes.c_double
}


def functions(header, compiler, include):
    """{name: [(type, name of the parameter)]} of the functions that give a status."""
    text = subprocess.run([compiler, "-E", "-P", f"-I{include}", header], check=True,
                          capture_output=True, text=True).stdout
    found = {}
    for name, parameters in re.findall(r"int32_t\s+(tensorcast_\w+)\(([^()]*)\);", text):
        pairs = []
        for parameter in parameters.split(","):
            words = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*", parameter, re.S)
            if words and words[1]:
                pairs.append((re.sub(r"\s+", " ", words[1]).replace(" *", "*"), words[2]))
        found[name] = pairs
    return found


def outputs_of(parameters):
    """Indices of what the function gives: a handle, or a number (not an array, which has a count)."""
    indices = []
    for i, (kind, name) in enumerate(parameters):
        following = parameters[i + 1][1] if i + 1 < len(parameters) else ""
        is_array = following == "capacity" or following.endswith("_count")
        if kind.endswith("**") or (kind.rstrip("*") in SCALARS and kind.endswith("*")
                                   and not is_array):
            indices.append(i)
    return indices


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--header", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--compiler", default="cc")
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)

    def handle(create, *given):
        value = ctypes.c_void_p()
        assert getattr(library, create)(*given, ctypes.byref(value)) == OK
        return value

    # Of numbers: what is asked of strings fails.
    plan = handle("tensorcast_plan_create", 1, 17, None, 0)
    meter = handle("tensorcast_loss_meter_create", 1, 17, None)
    results = handle("tensorcast_results_create")
    handles = {"tensorcast_plan": plan, "tensorcast_loss_meter": meter,
               "tensorcast_results": results}
    # Five bytes of it are near to the names of types, for which five bytes are too few.
    text = ctypes.create_string_buffer(b"int23, no such thing", 64)

    def argument(way, kind, i):
        base = kind.replace("const ", "").rstrip("*")
        if base not in SCALARS and "*" not in kind:
            return ctypes.c_void_p()  # a callback
        if "*" not in kind:
            number = {"nothing": 0, "no type": 999, "numbers": 5}[way]
            if base != "int32_t":
                number = min(number, 5)  # a size, no larger than what is given
            return SCALARS[base](number)
        if way == "nothing" or kind.endswith("**"):
            return ctypes.c_void_p()
        if base in handles:
            return handles[base]
        if base in ("char", "void"):
            return ctypes.cast(text, ctypes.c_void_p)
        return ctypes.c_void_p()

    library.tensorcast_graph_opset(None, None)  # leaves a text, for which 5 bytes are too few
    tried, failures = set(), 0
    declared = functions(arguments.header, arguments.compiler, arguments.include)
    for name, parameters in declared.items():
        given = outputs_of(parameters)
        if not given:
            continue
        for way in "nothing", "no type", "numbers":
            values = [argument(way, kind, i) for i, (kind, _) in enumerate(parameters)]
            cells = {}
            for i in given:
                cells[i] = ctypes.c_uint64(2**64 - 1)
                values[i] = ctypes.byref(cells[i])
            status = getattr(library, name)(*values)
            if status == OK:
                continue
            tried.add(name)
            for i, cell in cells.items():
                width = 8 * ctypes.sizeof(
                    SCALARS.get(parameters[i][0].rstrip("*"), ctypes.c_void_p)
                    if not parameters[i][0].endswith("**") else ctypes.c_void_p)
                left = cell.value % 2**width
                # A size that was too small is said.
                if left != 0 and not (status == BUFFER_TOO_SMALL and left < 100_000):
                    print(f"{name}, {way}: status {status}, {parameters[i][1]} is {left}",
                          file=sys.stderr)
                    failures += 1
    missing = {n for n, p in declared.items() if outputs_of(p)} - tried - CANNOT_FAIL
    if missing:
        print("no way of these failed:", *sorted(missing), file=sys.stderr)
    if len(tried) < 15:
        print(f"only {len(tried)} functions found", file=sys.stderr)
    return 1 if failures or missing or len(tried) < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
