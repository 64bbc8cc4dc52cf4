#!/usr/bin/env python3
"""Times every pair beside numpy with ml_dtypes, ONNX Runtime and PyTorch, in one process.

    peers.py path/to/libtensorcast.so [--csv ROWS] [--from T]... [--to T]... [--size N]...
             [--rounds N] [--target T] [--offset BYTES] [--commit HASH]
    peers.py --tables ROWS

Run it with a Python that has tests/peers/requirements.txt and torch. Every library casts the same
values on one thread into memory that has been written before, at 16, 1,000, 32,768 and 1 M elements,
and at 16 M for the pairs that people use. Ours takes turns with each of theirs, first as often as
second; a round is the calling thread's CPU time of some calls, which other programs on the machine
disturb less than the clock on the wall, and the ratio theirs/ours the median of the rounds.

Ours is a bound plan, called twice over: in a loop in C ("ratio": what a C or C++ program has), and
by ctypes as theirs are called from Python ("ratio_called": the call then counts on both sides).
Packed types stay packed with us and ONNX Runtime; numpy has one element in each byte. Lowest first.
--tables prints the pages' tables of the rows. About five minutes.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import csv
import ctypes
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

POPULAR = (("float32", "bfloat16"), ("float32", "float16"), ("float32", "float8e4m3fn"),
           ("bfloat16", "float32"), ("float16", "float32"), ("float32", "int8"),
           ("float8e4m3fn", "bfloat16"), ("int4", "float16"))
SIZES = (16, 1_000, 32_768, 1_000_000)
LARGEST = 16_000_000
PEERS = {"numpy": "numpy + ml_dtypes", "onnxruntime": "ONNX Runtime", "torch": "PyTorch"}
COLUMNS = ("elements", "from", "to", "library", "ours_ns", "theirs_ns", "ratio", "ratio_called")
BEHIND = 0.95
_TORCH_NAMES = {"float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz",
                "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz",
                "float8e8m0": "float8_e8m0fnu"}


offset = 0  # of sources and destinations from a cache line


def aligned(size):
    """Bytes that begin at a cache line, or a few bytes beyond one, written before."""
    memory = np.zeros(size + 128, np.uint8)
    memory.fill(0)
    begin = -memory.ctypes.data % 64 + offset
    return memory[begin:begin + size]


def limit(name):
    """The largest magnitude of a type, or 120 where it has more: everyday numbers."""
    kind = TYPES[name]
    if kind.is_float:
        return min(120.0, float(ml_dtypes.finfo(kind.dtype).max))
    return min(120.0, float(kind.high)) if kind.is_integer else 1.0


def source_codes(source, target, count):
    """Normally distributed numbers of both types' range; of integers all codes."""
    rng, kind = np.random.default_rng(1), TYPES[source]
    if not kind.is_float:
        bits = 1 if kind.kind == "bool" else kind.bits
        return rng.integers(0, 1 << bits, count, np.uint64).astype(kind.code_dtype)
    most = min(limit(source), limit(target))
    values = (rng.standard_normal(count, np.float32) * most / 4).clip(-most, most)
    if TYPES[target].kind in ("uint", "bool") or "float8e8m0" in (source, target):
        values = np.maximum(np.abs(values), most / 64)
    return kind.codes(values.astype(kind.dtype))


class Ours:
    """A bound plan, called by a loop in C or by ctypes."""

    def __init__(self, library, loop, target, pair, codes):
        source, to = (TYPES[name] for name in pair)
        data = source.packed(codes)
        before = aligned(len(data))
        before[:] = np.frombuffer(data, np.uint8)
        after = aligned((len(codes) * to.bits + 7) // 8)
        plan, u64 = ctypes.c_void_p(), ctypes.c_uint64
        status = library.tensorcast_plan_create(source.onnx_type, to.onnx_type, None, target,
                                                ctypes.byref(plan))
        assert status == 0, status
        self._kept, self._destroy = (before, after), lambda: library.tensorcast_plan_destroy(plan)
        ends = [ctypes.c_void_p(memory.ctypes.data) for memory in (before, after)]
        sizes = [u64(len(memory)) for memory in (before, after)]
        self._run, self._loop = library.tensorcast_plan_run, loop.repeat_plan
        self._of_run = (plan, ends[0], sizes[0], u64(0), ends[1], sizes[1], u64(0), u64(len(codes)), None)
        self._of_loop = (ctypes.cast(self._run, ctypes.c_void_p), plan, ends[0], sizes[0], ends[1],
                         sizes[1], u64(len(codes)))

    def __del__(self):
        self._destroy()

    def called(self):
        assert self._run(*self._of_run) == 0

    def repeated(self, times):
        assert self._loop(*self._of_loop, ctypes.c_uint64(times)) == 0


def numpy_cast(pair, codes):
    source, to = (TYPES[name] for name in pair)
    before = aligned(codes.nbytes)
    before[:] = codes.view(np.uint8)
    before, after = before.view(source.dtype), aligned(len(codes) * to.dtype.itemsize).view(to.dtype)
    return lambda: np.copyto(after, before, casting="unsafe")


def onnxruntime_cast(pair, codes):
    """Packed types stay packed; the output goes into memory that is there."""
    source, to = (TYPES[name] for name in pair)
    constant = onnx.TensorProto(data_type=source.onnx_type, dims=[len(codes)], name="x",
                                raw_data=source.packed(codes))
    node = helper.make_node("Cast", ["x"], ["y"], to=to.onnx_type)
    output = helper.make_tensor_value_info("y", to.onnx_type, [len(codes)])
    model = helper.make_model(helper.make_graph([node], "cast", [], [output], [constant]),
                              opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    after = aligned((len(codes) * to.bits + 7) // 8)
    binding = session.io_binding()
    binding.bind_output("y", "cpu", 0, to.onnx_type, [len(codes)], after.ctypes.data)

    def cast():
        session.run_with_iobinding(binding)
    cast.kept = after
    return cast


def torch_cast(pair, codes):
    if min(TYPES[name].bits for name in pair) < 8:
        return None  # it has no casts of packed types
    kinds = [getattr(torch, _TORCH_NAMES.get(name, name)) for name in pair]
    before = aligned(codes.nbytes)
    before[:] = codes.view(np.uint8)
    before = torch.from_numpy(before).view(kinds[0])
    after = torch.from_numpy(aligned(len(codes) * TYPES[pair[1]].dtype.itemsize)).view(kinds[1])
    return lambda: after.copy_(before)


CASTS = {"numpy": numpy_cast, "onnxruntime": onnxruntime_cast, "torch": torch_cast}


def peers_of(pair, codes):
    """{library: a function that casts once}, of those that have the pair."""
    found = {}
    for name, make in CASTS.items():
        try:
            cast = make(pair, codes)
            if cast:
                cast()
                found[name] = cast
        except Exception:  # each library says in its own way that it has no such cast
            continue
    return found


def repeater(cast):
    def repeated(times):
        for _ in range(times):
            cast()
    return repeated


def seconds(repeated, times):
    begin = time.thread_time()
    repeated(times)
    return (time.thread_time() - begin) / times


def measure(ours, peers, rounds, sample):
    """{library: (ours, theirs, theirs/ours, theirs/ours called by ctypes)}, in seconds."""
    runs = {"loop": ours.repeated, "called": repeater(ours.called),
            **{name: repeater(cast) for name, cast in peers.items()}}
    times = {}
    for name, run in runs.items():
        run(1)
        times[name] = max(1, int(sample / max(seconds(run, 1), 20e-9)))
        times[name] = max(1, int(sample / max(seconds(run, min(times[name], 100)), 2e-9)))
    took = collections.defaultdict(list)
    for i in range(rounds):
        for name in list(runs)[::-1 if i % 2 else 1]:
            took[name].append(seconds(runs[name], times[name]))
    ratio = {key: {name: statistics.median(b / a for a, b in zip(took[key], took[name]))
                   for name in peers} for key in ("loop", "called")}
    return {name: (statistics.median(took["loop"]), statistics.median(took[name]),
                   ratio["loop"][name], ratio["called"][name]) for name in peers}


def rows_of(library, loop, target, pair, size, rounds):
    codes = source_codes(*pair, size)
    peers = peers_of(pair, codes)
    ours = Ours(library, loop, target, pair, codes)
    sample = 300e-6 if size <= SIZES[-1] else 0
    found = measure(ours, peers, rounds if sample else min(rounds, 9), sample)
    return [(size, *pair, name, *(f"{t / size * 1e9:.4f}" for t in (a, b)), f"{c:.3f}", f"{d:.3f}")
            for name, (a, b, c, d) in found.items()]


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def commit():
    found = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "describe", "--always", "--dirty"],
                           stdout=subprocess.PIPE, text=True, check=False)
    return found.stdout.strip() or "unknown"


def build_loop(folder):
    path = pathlib.Path(folder) / "repeat_plan.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path,
                    pathlib.Path(__file__).with_name("repeat_plan.c")], check=True)
    return ctypes.CDLL(str(path))


def head(arguments, library, target):
    compiler = subprocess.run(["c++", "--version"], stdout=subprocess.PIPE, text=True, check=False)
    library.tensorcast_version.restype = library.tensorcast_target_name.restype = ctypes.c_char_p
    if not target:
        first, count = (ctypes.c_int32 * 16)(), ctypes.c_uint64()
        library.tensorcast_targets(first, ctypes.c_uint64(16), ctypes.byref(count))
        target = first[0]
    return [f"# cpu: {processor()}", f"# compiler: {compiler.stdout.splitlines()[0]}",
            f"# commit: {arguments.commit or commit()}",
            f"# tensorcast: {library.tensorcast_version().decode()}, "
            f"target {library.tensorcast_target_name(target).decode()}",
            f"# numpy: {np.__version__} with ml_dtypes {ml_dtypes.__version__}",
            f"# onnxruntime: {onnxruntime.__version__}", f"# torch: {torch.__version__}",
            f"# one thread, CPU time, the median of {arguments.rounds} rounds "
            f"(at most 9 at {LARGEST}), memory {arguments.offset} bytes from a line; ours from C, and called by ctypes"]


def summary(rows):
    """How many are behind at each size, and which, lowest first."""
    for size in sorted({int(row["elements"]) for row in rows}):
        best = {}
        for row in rows:
            if int(row["elements"]) == size:
                pair = row["from"], row["to"]
                if pair not in best or float(row["ratio"]) < float(best[pair]["ratio"]):
                    best[pair] = row
        for ratio, what in (("ratio", "from C"), ("ratio_called", "called by ctypes")):
            figures = [float(row[ratio]) for row in best.values()]
            print(f"{size:>10} elements, {what}: {sum(f < BEHIND for f in figures)} of {len(figures)} "
                  f"pairs behind, median {statistics.median(figures):.2f}")
        for row in sorted(best.values(), key=lambda row: float(row["ratio"])):
            if float(row["ratio"]) < 1:
                print(f"    {row['ratio']} {row['from']} → {row['to']}, {PEERS[row['library']]}")


def tables(rows):
    """The pages' tables of the pairs that people use."""
    found = {(int(row["elements"]), row["from"], row["to"], row["library"]): float(row["ratio"])
             for row in rows}
    for size in sorted({key[0] for key in found}):
        print(f"\n{size:,} elements:\n\n| cast | {' | '.join(PEERS.values())} |\n|---|---|---|---|")
        for pair in POPULAR:
            cells = [found.get((size, *pair, name)) for name in PEERS]
            shown = ["–" if cell is None else f"{cell:.0f}×" if cell >= 9.95 else f"{cell:.1f}×"
                     for cell in cells]
            print(f"| {pair[0]} → {pair[1]} | {' | '.join(shown)} |")


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def number_to_largest(text):
    number = int(text)
    if not 1 <= number <= LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {LARGEST}")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="libtensorcast.so")
    parser.add_argument("--csv", help="write the rows to this file")
    parser.add_argument("--from", action="append", choices=TYPES, dest="sources")
    parser.add_argument("--to", action="append", choices=TYPES, dest="destinations")
    parser.add_argument("--size", action="append", type=number_to_largest, help=f"to {LARGEST}")
    parser.add_argument("--rounds", type=number_to_largest, default=9)
    parser.add_argument("--target", help="an instruction set instead of the best")
    parser.add_argument("--offset", type=int, default=0, choices=range(0, 64, 8),
                        help="of all memory from a cache line, in bytes")
    parser.add_argument("--commit", help="of the library, where it is not this checkout's")
    arguments = parser.parse_args()
    global offset
    offset = arguments.offset
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    torch.set_num_threads(1)
    library, target = ctypes.CDLL(arguments.library), ctypes.c_int32()  # the best
    if arguments.target:
        name = arguments.target.encode()
        if library.tensorcast_target_parse(name, ctypes.c_uint64(len(name)), ctypes.byref(target)) != 0:
            parser.error(f"--target: no instruction set is called {arguments.target}")
        number, count = (ctypes.c_int32 * 16)(), ctypes.c_uint64()
        library.tensorcast_targets(number, ctypes.c_uint64(16), ctypes.byref(count))
        if target.value not in number[:count.value]:
            parser.error(f"--target: this machine does not run {arguments.target}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        loop = build_loop(folder)
        for size in arguments.size or (*SIZES, LARGEST):
            for source in TYPES:
                for to in TYPES:
                    if source == to or size >= LARGEST and (source, to) not in POPULAR:
                        continue
                    if source in (arguments.sources or TYPES) and to in (arguments.destinations or TYPES):
                        rows += rows_of(library, loop, target.value, (source, to), size, arguments.rounds)
    if not rows:
        parser.error(f"none of these casts has a peer (with {LARGEST} elements only those that people use are run)")
    rows = [dict(zip(COLUMNS, row)) for row in rows]
    rows.sort(key=lambda row: (int(row["elements"]), float(row["ratio"])))
    summary(rows)
    if arguments.csv:
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            file.write("\n".join(head(arguments, library, target.value)) + "\n")
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--tables"] and len(sys.argv) == 3:
        tables(read(sys.argv[2]))
    else:
        try:
            import ml_dtypes
            import numpy as np
            import onnx
            import onnxruntime
            import torch
            from onnx import helper
        except ImportError as error:
            sys.exit(f"{__doc__}\n{error}: install tests/peers/requirements.txt and torch")

        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "peers"))
        from element_types import TYPES  # tests/peers/element_types.py

        main()
