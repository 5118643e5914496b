# SPDX-License-Identifier: MIT
"""What the worker for Python functions counts as waiting for a processor."""

import importlib.util
import pathlib
import time

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "src/workers/python"


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("dent_worker", FOLDER / "dent_worker.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not module._threads():
        pytest.skip("the system does not count it")
    return module


def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_is_a_number_from_zero_up(worker):
    before, clock, began = worker._threads(), worker._process_now(), worker._now()
    work(0.01)
    assert worker._waited_since(before, clock, began) >= 0


def test_is_not_known_of_threads_that_have_ended(worker, monkeypatch):
    # The process ran for 60 ms, of which the thread that is still there ran 10.
    monkeypatch.setattr(worker, "_threads", lambda: {"1": [10_000_000, 70]})
    monkeypatch.setattr(worker, "_process_now", lambda: 60_000_000)
    assert worker._waited_since({"1": [0, 0]}, 0, 0) is None


def test_is_not_known_where_the_system_does_not_count_it(worker):
    assert worker._waited_since({}, worker._process_now(), worker._now()) is None


def test_counts_what_each_thread_waited_for(worker, monkeypatch):
    monkeypatch.setattr(worker, "_threads", lambda: {"1": [900, 70], "2": [400, 5]})
    monkeypatch.setattr(worker, "_process_now", lambda: 1000)
    assert worker._waited_since({"1": [100, 20]}, 0, 0) == 55


def test_one_thread_waits_no_longer_than_it_does_not_run(worker, monkeypatch):
    monkeypatch.setattr(worker, "_threads", lambda: {"1": [1000, 70]})
    monkeypatch.setattr(worker, "_process_now", lambda: 1000)
    monkeypatch.setattr(worker, "_now", lambda: 1030)
    assert worker._waited_since({"1": [0, 0]}, 0, 0) == 30
