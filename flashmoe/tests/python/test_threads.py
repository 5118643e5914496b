# SPDX-License-Identifier: MIT
"""Several Python threads at once, calls that let others run, and processes that fork."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flashmoe_science as fm


def test_threads_do_not_disturb_each_other(random):
    shapes = [(1, 2, 5, 16), (2, 3, 70, 64), (1, 8, 33, 128), (1, 1, 200, 32)]
    problems = [[random.standard_normal(shape).astype("f4") for _ in range(3)] for shape in shapes]
    alone = [fm.attention(*problem, causal=True) for problem in problems]

    def worker(start):
        for i in range(24):
            which = (start + i) % len(problems)
            if not np.array_equal(fm.attention(*problems[which], causal=True), alone[which]):
                return f"problem {which} differs in call {i}"
        return ""

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(worker, range(6))) == [""] * 6


def test_other_threads_run_during_a_call(random):
    q, k, v = (random.standard_normal((1, 4, 1024, 64)).astype("f4") for _ in range(3))
    fm.attention(q, k, v)
    span = []

    def call():
        begin = time.monotonic()
        fm.attention(q, k, v)
        span.extend([begin, time.monotonic()])

    def moved_inside(ticks):
        begin, end = span
        return any(begin + 0.2 * (end - begin) < tick < begin + 0.8 * (end - begin) for tick in ticks)

    for _ in range(20):  # the scheduler may keep us away during one call, not during all
        span.clear()
        ticks = []
        thread = threading.Thread(target=call)
        thread.start()
        while thread.is_alive():
            ticks.append(time.monotonic())
        if moved_inside(ticks):
            return
    raise AssertionError("no other Python thread ever ran during a call: the GIL is held")


FORK = """
import os, sys
import numpy as np
import flashmoe_science as fm

q = np.random.default_rng(0).standard_normal((2, 4, 150, 64)).astype("f4")
before = fm.attention(q, q, q)
for _ in range(3):
    child = os.fork()
    if child == 0:
        same = np.array_equal(fm.attention(q, q, q), before)
        os._exit(0 if same else 3)
    assert np.array_equal(fm.attention(q, q, q), before)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

POOL = """
import multiprocessing
import numpy as np
import flashmoe_science as fm

def work(seed):
    q = np.random.default_rng(seed).standard_normal((1, 4, 90, 64)).astype("f4")
    return fm.attention(q, q, q)

if __name__ == "__main__":
    here = [work(i) for i in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map(work, range(4))
    assert all(np.array_equal(a, b) for a, b in zip(here, there))
"""


def run_script(script, root):
    code = f"import sys; sys.path.insert(0, {str(root / 'python')!r})\n{script}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_forked_child_can_call(root):
    run_script(FORK, root)


def test_a_pool_of_forked_workers_can_call(root):
    run_script(POOL, root)


def test_a_thread_may_end_after_its_calls(random):
    q = random.standard_normal((1, 2, 40, 64)).astype("f4")
    expected = fm.attention(q, q, q)
    for _ in range(50):  # each thread has a workspace of its own, which goes with it
        results = []
        thread = threading.Thread(target=lambda: results.append(fm.attention(q, q, q)))
        thread.start()
        thread.join()
        assert np.array_equal(results[0], expected)


def threads_of(q):
    (line,) = [line for line in fm.explain(q, q, q).splitlines() if line.strip().startswith("threads:")]
    return line.split()[1].rstrip(";")


def test_a_number_of_threads_for_calls_that_do_not_say(random):
    q = random.standard_normal((1, 8, 256, 64)).astype("f4")
    before = fm.get_num_threads()
    try:
        fm.set_num_threads(1)
        assert fm.get_num_threads() == 1 and threads_of(q) == "1"
        assert np.array_equal(fm.attention(q, q, q), fm.attention(q, q, q, threads=1))
        for bad, error in ((-1, ValueError), ("two", TypeError), (1 << 40, ValueError)):
            with pytest.raises(error, match="num_threads is"):
                fm.set_num_threads(bad)
        assert fm.get_num_threads() == 1
    finally:
        fm.set_num_threads(before)


@pytest.mark.parametrize(
    "value, said", [("1", "1"), ("0", "0"), ("", "0"), ("-2", "refused"), ("x", "refused")]
)
def test_the_environment_may_say_it(value, said):
    code = (
        "try:\n    import flashmoe_science as fm\n    print(fm.get_num_threads())\n"
        "except ValueError as error:\n    assert 'FLASHMOE_NUM_THREADS is' in str(error); print('refused')"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths, "FLASHMOE_NUM_THREADS": value},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == said, done.stderr
