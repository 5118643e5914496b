# SPDX-License-Identifier: MIT
"""How long this process was ready but had no processor: the time that other programs took from a measurement.

system/own_waiting.h does the same for kernels in libraries.
"""

import os
import time

# Stored before any code of the candidate is imported, which might replace them.
_open, _listdir = open, os.listdir
_now, _process_now = time.perf_counter_ns, time.process_time_ns
_READING_NS = 50_000  # tolerance for threads that run between two readings


def of_threads():
    """For each thread of this process: its running time, and the time in which it was ready but had no
    processor, in ns."""
    found = {}
    for thread in _listdir("/proc/self/task"):
        try:
            with _open(f"/proc/self/task/{thread}/schedstat") as file:
                found[thread] = [int(word) for word in file.read().split()[:2]]
        except OSError:  # the thread has ended, or the system has no schedstat
            continue
    return found


class Running:
    """The threads' counters at construction."""

    def __init__(self, threads=of_threads, process_now=_process_now, now=_now):
        self.read = threads, process_now, now
        self.threads, self.ran, self.began = (read() for read in self.read)

    def waited_since(self):
        """Total waiting time of the threads since construction; None if unknown, because threads have ended
        and their counters are lost."""
        threads, ran, now = (read() for read in self.read)
        passed, ran = now - self.began, ran - self.ran
        if not threads or not self.threads:
            return None
        grown = [[b - a for a, b in zip(self.threads.get(thread, (0, 0)), times)] for thread, times in threads.items()]
        if ran - sum(own for own, _ in grown) > ran // 100 + _READING_NS:
            return None
        waited = sum(max(own, 0) for _, own in grown)
        return min(waited, max(0, passed - ran)) if len(threads) == len(self.threads) == 1 else waited
