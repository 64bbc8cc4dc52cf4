"""The GIL, signals, fork, threads of Python, subinterpreters.

SPDX-License-Identifier: Apache-2.0
"""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import tensorcast as tc

BIG = np.zeros(1 << 27, np.float32)  # 512 MiB, of pages that are all one


def test_the_gil_is_given_back():
    """While a cast runs another thread goes on."""
    count = 0
    done = threading.Event()

    def run():
        tc.cast(BIG, "float16", threads=1)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    assert count > 5


def test_many_threads_at_once():
    x = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    want = tc.cast(x, "float8_e4m3fn").view(np.uint8)
    wrong = []

    def run():
        for _ in range(30):
            if not np.array_equal(tc.cast(x, "float8_e4m3fn").view(np.uint8), want):
                wrong.append(1)
            tc.cast(x, "int4", saturate=False)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("call", [
    "for _ in range(1000): tc.cast(x, 'bfloat16', out=y)",
    "for _ in range(1000): tc.format(x[:4_000_000])",
])
def test_ctrl_c(call):
    program = textwrap.dedent(f"""
        import numpy as np, tensorcast as tc, ml_dtypes
        x = np.zeros(1 << 27, np.float32)
        y = np.zeros(1 << 27, ml_dtypes.bfloat16)
        print("ready", flush=True)
        {call}
    """)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.7)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said and process.returncode != 0
    assert time.monotonic() - began < 20  # of a run of minutes, on a machine with other work


def test_a_handlers_exception_comes_out():
    def handler(*_):
        raise RuntimeError("from the handler")

    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(RuntimeError, match="from the handler"):
            for _ in range(1000):
                tc.cast(BIG, "float64", out=None, threads=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_fork():
    """After calls on several threads a child casts, on several threads too."""
    x = np.arange(4_000_000, dtype=np.float32)
    want = int(tc.cast(x, "float16", threads=4).view(np.uint16).sum())
    child = os.fork()
    if child == 0:
        same = int(tc.cast(x, "float16", threads=4).view(np.uint16).sum()) == want
        os._exit(0 if same else 1)
    for _ in range(600):
        gone, status = os.waitpid(child, os.WNOHANG)
        if gone:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0


def test_subinterpreters_are_refused_by_an_import_error():
    """Said, not crashed, and the first interpreter has what it had."""
    program = textwrap.dedent("""
        import _xxsubinterpreters as interpreters
        import tensorcast
        other = interpreters.create()
        try:
            interpreters.run_string(other, "import tensorcast")
        except interpreters.RunFailedError as error:
            print("refused:", error)
        print(tensorcast.loss([0.1], "int8").counts["to_zero"])  # here all is as it was
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    if sys.version_info >= (3, 13):
        pytest.skip("the module has another name from 3.13 on")
    assert done.returncode == 0 and "is not for subinterpreters" in done.stdout and done.stdout.endswith("\n1\n"), done.stderr[-500:]


def test_a_daemon_thread_at_the_interpreters_end():
    """It is in a call, short or long, when the GIL is not to be had any more."""
    program = textwrap.dedent(r"""
        import builtins, os, threading, time
        import numpy as np
        import tensorcast as tc
        x, out = np.ones(300 << 20, np.uint8), np.empty(300 << 20, np.float32)

        class Late:
            def __init__(self):
                self.kept = tc.cast, time.sleep, os.write, x[:1 << 23], np.empty(1 << 23, np.float16)

            def __del__(self):  # when the modules have been cleared
                cast, sleep, write, some, made = self.kept
                sleep(0.7)
                cast(some, out=made, threads=2)
                write(1, b"%d" % (made.tobytes() == b"\0\x3c" * made.size))

        builtins.late = Late()
        for call in (lambda: tc.cast(x, "float32", out=out, threads=1), lambda: tc.cast(x[:1 << 20], "float16")):
            def work(call=call):
                while True:
                    call()
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "1", done.stderr
