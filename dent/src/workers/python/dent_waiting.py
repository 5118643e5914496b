# SPDX-License-Identifier: MIT
"""For how long this process was ready to run and had no processor: what other programs took from a measurement.

system/own_waiting.h does it for kernels that are libraries.
"""

import os
import time

# Taken before any code of the candidate's is imported: replacing them later changes nothing here.
_open, _listdir = open, os.listdir
_now, _process_now = time.perf_counter_ns, time.process_time_ns
_READING_NS = 50_000  # what threads that still run may add between two readings


def of_threads():
    """Of each thread of this process: for how long it ran, and was ready to run and had no processor, in ns."""
    found = {}
    for thread in _listdir("/proc/self/task"):
        try:
            with _open(f"/proc/self/task/{thread}/schedstat") as file:
                found[thread] = [int(word) for word in file.read().split()[:2]]
        except OSError:  # it has ended meanwhile, or the system has no such count
            continue
    return found


class Running:
    """What the threads had counted when this was made."""

    def __init__(self, threads=of_threads, process_now=_process_now, now=_now):
        self.read = threads, process_now, now
        self.threads, self.ran, self.began = (read() for read in self.read)

    def waited_since(self):
        """For how long threads had to wait since then, added up; None where that is not known: threads that have
        ended have taken their counts along."""
        threads, ran, now = (read() for read in self.read)
        passed, ran = now - self.began, ran - self.ran
        if not threads or not self.threads:
            return None
        grown = [[b - a for a, b in zip(self.threads.get(thread, (0, 0)), times)] for thread, times in threads.items()]
        if ran - sum(own for own, _ in grown) > ran // 100 + _READING_NS:
            return None
        waited = sum(max(own, 0) for _, own in grown)
        return min(waited, max(0, passed - ran)) if len(threads) == len(self.threads) == 1 else waited
