# SPDX-License-Identifier: MIT
"""Ctrl-C during a long call on the CPU."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import flashmoe_science as fm

# Minutes of work, were it not for the signal: forward, or the backward pass of what would be a forward's results.
CALLS = """
import os, signal, sys, threading
import numpy as np
import flashmoe_science as fm
q, lse = np.zeros((1, 1, 1 << 18, 64), np.float32), np.zeros((1, 1, 1 << 18), np.float32)
signal.signal(signal.SIGINT, signal.default_int_handler)  # where this process is a job in the background it is ignored
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    fm.attention(q, q, q) if sys.argv[1] == "forward" else fm.attention_backward(q, q, q, q, lse, q)
except KeyboardInterrupt:
    print("interrupted")
assert fm.attention(q[..., :8, :], q[..., :8, :], q[..., :8, :]).shape == (1, 1, 8, 64)
print("and went on")
"""


@pytest.mark.parametrize("call", ["forward", "backward"])
def test_ctrl_c_ends_a_long_call(call):
    run = subprocess.run(
        [sys.executable, "-c", CALLS, call],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.split("\n")[:2] == ["interrupted", "and went on"], run.stderr


def test_a_handler_that_raises_nothing_gets_the_whole_result():
    q = np.random.default_rng(0).standard_normal((1, 2, 4096, 64), np.float32)
    expected = fm.attention(q, q, q, threads=1)
    seen = []
    handler = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        timers = [threading.Timer(0.02 * i, os.kill, (os.getpid(), signal.SIGINT)) for i in range(1, 4)]
        for timer in timers:
            timer.start()
        out = fm.attention(q, q, q, threads=1)
        for timer in timers:
            timer.join()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len(seen) >= 1
    assert np.array_equal(out, expected)
