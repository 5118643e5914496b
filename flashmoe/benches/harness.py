# SPDX-License-Identifier: MIT
"""What the Python benches share: the package under test, fair sampling, statistics, and a record of the machine."""

import contextlib
import gc
import importlib
import json
import math
import os
import platform
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def say(text):
    """Progress goes to stderr: stdout is for results."""
    print(text, file=sys.stderr, flush=True)


# -- the package under test


def load_package():
    """flashmoe_science as built in this checkout; where nothing is built here, as installed."""
    if any((ROOT / "flashmoe" / "python" / "flashmoe_science").glob("_C.*.so")):
        sys.path.insert(0, str(ROOT / "flashmoe" / "python"))
    try:
        package = importlib.import_module("flashmoe_science")
    except ImportError as error:
        sys.exit(f"{error}")
    built = Path(package._C.__file__).stat().st_mtime
    newer = [path for path in sources() if path.stat().st_mtime > built]
    if newer:
        say(
            f"warning: the module is older than {newer[0].relative_to(ROOT)}: you may be measuring yesterday's code\n"
            f"  try: python setup.py build_ext --inplace"
        )
    return package


def sources():
    for folder in ("src", "include", "flashmoe/python/module"):
        yield from (
            path for path in (ROOT / folder).rglob("*") if path.suffix in {".h", ".cpp", ".cu", ".cuh"}
        )


def load_torch(threads):
    """PyTorch set to `threads` threads, or None where it is not installed."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(threads)
    return torch


# -- sampling

BLOCK_SECONDS = 30e-3  # short calls are timed many at a time
LONG_SECONDS = 2.0  # a call this long is its own warm-up, and is made once
PATIENCE_SECONDS = 10.0  # that the smallest number of rounds may take; two rounds there are in any case
# Untimed calls before each block. The other side's threads spin for a while after their last call before they sleep:
# GCC's OpenMP for 300,000 pauses, which is 15 ms on x86, ours for 0.1 ms. Calls ten times as long do not notice.
LEAD_IN_SECONDS = 30e-3


def seconds(call, count=1):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def lead_in(call, call_s):
    if call_s > 10 * LEAD_IN_SECONDS:
        return
    end = time.perf_counter() + LEAD_IN_SECONDS
    call()
    while time.perf_counter() < end:
        call()


def sample(calls, budget_s, seed=0, min_rounds=5, max_rounds=100):
    """Times {name: call} side by side: in each round every call once, in random order. Seconds per call and round.

    What slows the machine down for a while then slows all of them, and the ratio within a round stays true.
    """
    order = random.Random(seed)
    samples, call_s = {}, {}
    with quiet_collector():
        for name, call in calls.items():
            first = seconds(call)
            samples[name] = [first] if first > LONG_SECONDS else []
            if not samples[name]:
                call_s[name] = min(first, seconds(call))
        start = time.perf_counter()
        for done in range(max_rounds if call_s else 0):
            spent = time.perf_counter() - start
            if done >= 2 and spent >= (budget_s if done >= min_rounds else PATIENCE_SECONDS):
                break
            for name in order.sample(sorted(call_s), len(call_s)):
                lead_in(calls[name], call_s[name])
                count = max(1, math.ceil(BLOCK_SECONDS / max(call_s[name], 1e-7)))
                samples[name].append(seconds(calls[name], count) / count)
    return samples


@contextlib.contextmanager
def quiet_collector():
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# -- statistics


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def ratio_of_medians(above, below, resamples=2000, seed=0):
    """median(above) / median(below), and its bootstrap 95 % interval: (ratio, low, high).

    Rounds are drawn as pairs where both were sampled in the same ones. One sample has no interval: low and high are
    None.
    """
    ratio = median(above) / median(below)
    if min(len(above), len(below)) < 2:
        return ratio, None, None
    draw = random.Random(seed)
    paired = len(above) == len(below)
    ratios = []
    for _ in range(resamples):
        at = [draw.randrange(len(above)) for _ in above]
        other = at if paired else [draw.randrange(len(below)) for _ in below]
        ratios.append(median([above[i] for i in at]) / median([below[i] for i in other]))
    ratios.sort()
    return ratio, ratios[int(0.025 * resamples)], ratios[int(0.975 * resamples) - 1]


def range_of_ratio(above, below):
    """(low, high) of above / below over all samples of both: wider than any interval, and needs no assumption."""
    return min(above) / max(below), max(above) / min(below)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


# -- records


def output_of(*command):
    try:
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def cpu_name():
    for line in output_of("lscpu").splitlines() or Path("/proc/cpuinfo").read_text().splitlines():
        if line.lower().startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def environment(package, torch, threads):
    """The machine, the software and the day. `package` is None for benches that load a library of their own."""
    commit = output_of("git", "rev-parse", "--short=12", "HEAD")
    changed = commit and output_of("git", "status", "--porcelain", "--untracked-files=no")
    return {
        "cpu": cpu_name(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": threads,
        "load_average": os.getloadavg()[0],
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__ if torch else None,
        **({"flashmoe": package._C.library_version} if package else {}),
        "commit": commit + ("+changes" if changed else ""),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def gpu_environment(torch, package=None):
    fields = (
        "name",
        "driver_version",
        "clocks.sm",
        "clocks.mem",
        "clocks.max.sm",
        "power.draw",
        "temperature.gpu",
    )
    values = output_of("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader").split(", ")
    return {
        **environment(package, torch, 1),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "gpu": dict(zip(fields, values)),
    }


def warn_if_busy(environment):
    if environment["load_average"] > 0.5:
        say(
            f"warning: the machine is busy (load {environment['load_average']:.1f} on {environment['cores']} cores): "
            f"times and ratios are rough, and not for publishing"
        )


def in_words(environment):
    torch = f"PyTorch {environment['torch']}" if environment["torch"] else "no PyTorch"
    return (
        f"{environment['cpu']}, {environment['threads']} of {environment['cores']} cores; "
        f"flashmoe {environment['flashmoe']}, {torch}; commit {environment['commit'] or 'unknown'}"
    )


def save_json(path, document):
    """All or nothing: a reader, or a crash, never meets half a file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".new")
    scratch.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")
    os.replace(scratch, path)


def fma_peak(threads):
    """What fma_peak of this checkout's build prints, or None where it has not been built."""
    found = sorted(ROOT.glob("build/*/flashmoe/benches/fma_peak"), key=lambda path: -path.stat().st_mtime)
    if not found:
        say("note: benches/fma_peak is not built, so there is no share of the FMA rate (make build)")
        return None
    return json.loads(output_of(str(found[0]), str(threads)))
