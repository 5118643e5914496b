# SPDX-License-Identifier: MIT
"""What the worker for Python functions counts as waiting for a processor."""

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "src/workers/python"))
from dent_waiting import Running, of_threads


def between(*readings):
    """What is said of two readings, each of the threads' counts, the process's clock and the time."""
    threads, ran, now = (iter(column).__next__ for column in zip(*readings))
    return Running(threads, ran, now).waited_since()


def test_is_a_number_from_zero_up():
    if not of_threads():
        pytest.skip("the system does not count it")
    running = Running()
    until = time.thread_time() + 0.01
    while time.thread_time() < until:
        pass
    waited = running.waited_since()
    assert waited is None or waited >= 0  # None where one of pytest's threads ended meanwhile


def test_is_not_known_of_threads_that_have_ended():
    # The process ran for 60 ms, of which the thread that is still there ran 10.
    assert between(({"1": [0, 0]}, 0, 0), ({"1": [10_000_000, 70]}, 60_000_000, 60_000_000)) is None


def test_is_not_known_where_the_system_does_not_count_it():
    assert between(({}, 0, 0), ({}, 1000, 1000)) is None


def test_counts_what_each_thread_waited_for():
    assert between(({"1": [100, 20]}, 0, 0), ({"1": [900, 70], "2": [400, 5]}, 1000, 2000)) == 55


def test_one_thread_waits_no_longer_than_it_does_not_run():
    assert between(({"1": [0, 0]}, 0, 0), ({"1": [1000, 70]}, 1000, 1030)) == 30
