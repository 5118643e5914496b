# SPDX-License-Identifier: MIT
"""The most memory that a call holds above its inputs: output, workspace and temporaries, of any library, counted.

A child process with flashmoe/benches/heap_peak.c preloaded counts every heap allocation made during one call. Where PyTorch
brings an allocator of its own, which that can't see, what its profiler records is added.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import harness
import rivals


def measure(shapes, dtype, causal, threads):
    """[{side: bytes}] for each shape, or (None, why not)."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None, "no C compiler to build flashmoe/benches/heap_peak.c with"
    with tempfile.TemporaryDirectory() as folder:
        counter = Path(folder) / "heap_peak.so"
        source = Path(__file__).with_name("heap_peak.c")
        try:
            subprocess.run(
                [compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(counter)],
                check=True,
                capture_output=True,
                timeout=60,
            )
            request = json.dumps({"shapes": shapes, "dtype": dtype, "causal": causal, "threads": threads})
            child = subprocess.run(
                [sys.executable, __file__, request],
                check=True,
                capture_output=True,
                text=True,
                timeout=300,
                env={**os.environ, "LD_PRELOAD": str(counter)},
            )
        except (OSError, subprocess.SubprocessError) as error:
            return None, f"{error}"
        return json.loads(child.stdout.splitlines()[-1]), ""


# -- in the child


def in_new_thread(function):
    """A thread of its own starts without the workspace that the module keeps for a thread."""
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def heap_bytes(counter, call):
    def counted():
        counter.heap_peak_start()
        out = call()
        peak = counter.heap_peak_bytes()
        del out
        return peak

    return in_new_thread(counted)


def torch_allocator_bytes(torch, call):
    """Peak of PyTorch's own allocator during one call, from the allocations that its profiler records."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profiler:
        out = call()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    del out
    return peak


def main():
    request = json.loads(sys.argv[1])
    package = harness.load_package()
    torch = harness.load_torch(request["threads"])
    counter = ctypes.CDLL(None)
    counter.heap_peak_bytes.restype = ctypes.c_long
    hidden = torch and heap_bytes(counter, lambda: torch.empty(1 << 20, dtype=torch.uint8)) < 1 << 20
    results = []
    for shape in request["shapes"]:
        problem = rivals.Problem(**shape, dtype=request["dtype"])
        calls = rivals.calls(problem, package, torch, request["causal"], request["threads"])
        result = {}
        for side, call in calls.items():
            in_new_thread(call)  # thread pools and the like are set up once, not per call
            result[side] = heap_bytes(counter, call) - heap_bytes(
                counter, lambda: None
            )  # less the thread's own
            if hidden:
                result[side] += torch_allocator_bytes(torch, call)
        results.append(result)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
