#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is it right, and then: how fast is it, and how much memory does it take, against PyTorch on the same threads?

    python flashmoe/benches/bench_correctness_and_speed.py              six shapes, under a minute
    python flashmoe/benches/bench_correctness_and_speed.py --quick      the same, with fewer samples
    python flashmoe/benches/bench_correctness_and_speed.py --json       one JSON document on stdout, or --json FILE

The dtype is fp32 by default on the CPU: that is what PyTorch's CPU attention is tuned for. Its fp16 and bf16 paths can
be many times slower than its own fp32, and a ratio against them says little about us; ask for them with --dtype.
Where PyTorch is not installed, the comparison is with NumPy (two BLAS products and a softmax), and says so.
"""

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

import extra_memory
import harness
import rivals

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
SHAPES = [  # smallest first: a wrong kernel shows on the tiny shape already
    {"name": "Tiny", "heads": 1, "rows": 32},
    {"name": "Small", "heads": 1, "rows": 64},
    {"name": "Medium", "heads": 1, "rows": 128},
    {"name": "Large", "heads": 1, "rows": 256},
    {"name": "XLarge", "heads": 1, "rows": 512},
    {"name": "Multi-head", "heads": 8, "rows": 128},
]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write JSON to FILE, or to stdout"
    )
    parser.add_argument("--dtype", choices=DTYPES, default="fp32")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="for both sides")
    return parser.parse_args()


def check(problem, package, torch):
    """Output and log-sum-exp against float64, element by element, with and without a mask: (ok, what to say)."""
    import oracle

    q, k, v = problem.tensors(torch)
    largest = 0.0
    for causal in (False, True):
        expected = oracle.attention(q, k, v, causal)
        out, lse = package.attention(q, k, v, causal, return_lse=True)
        wrong = oracle.disagreement(out, expected.out, expected.out_bound) or oracle.disagreement(
            lse, expected.lse, expected.lse_bound
        )
        if wrong:
            return False, f"{'causal' if causal else 'full'}: {wrong}"
        largest = max(largest, float(abs(oracle.to_float64(out) - expected.out).max()))
    return True, f"largest error {largest:.1e}"


def check_all(problems, package, torch, tell):
    tell("Correctness, against float64, full and causal, output and log-sum-exp:")
    for problem in problems:
        right, words = check(problem, package, torch)
        tell(f"  {'ok   ' if right else 'WRONG'} {problem}: {words}")
        if not right:
            sys.exit("bench: the result is wrong, so its speed is not measured")


def measure_speed(problem, package, torch, options):
    # The user's own call where it uses all cores anyway; with fewer, the one that can be told so.
    every_core = options.threads == len(os.sched_getaffinity(0))
    calls = rivals.calls(problem, package, torch, options.causal, None if every_core else options.threads)
    samples = harness.sample(calls, 0.3 if options.quick else 3.0, max_rounds=20 if options.quick else 100)
    ratio, low, high = harness.ratio_of_medians(samples["rival"], samples["flashmoe"])
    return {
        "shape": problem.name,
        "batch": problem.batch,
        "heads": problem.heads,
        "rows": problem.rows,
        "head_dim": problem.head_dim,
        "dtype": problem.dtype,
        "causal": options.causal,
        "flashmoe_ms": harness.median(samples["flashmoe"]) * 1e3,
        "rival_ms": harness.median(samples["rival"]) * 1e3,
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "samples": len(samples["flashmoe"]),
    }


def kilobytes(count):
    return "-" if count is None else f"{count / 1024:.0f} KB"


def line(row):
    interval = f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}" if row["ratio_low"] else "one sample"
    ours, theirs = row["flashmoe_extra_bytes"], row["rival_extra_bytes"]
    change = f"{100 * (ours / theirs - 1):+.0f} %" if ours is not None and theirs else ""
    return (
        f"  {row['shape']:10} {row['heads']:2} {row['rows']:4} {row['flashmoe_ms']:12.4f} {row['rival_ms']:10.4f} "
        f"{row['ratio']:7.2f}x ({interval:>12}) {kilobytes(ours):>10} {kilobytes(theirs):>10} {change:>7}"
    )


def main():
    options = parse()
    if importlib.util.find_spec("numpy") is None:
        sys.exit(
            "bench: NumPy is not installed, and the float64 reference needs it\n  try: scripts/python-env bench"
        )
    to_stdout = options.json == "-"
    tell = harness.say if to_stdout else lambda text: print(text, flush=True)
    package = harness.load_package()
    torch = harness.load_torch(options.threads)
    rival = rivals.rival_name(torch)
    if torch is None and options.dtype == "bf16":
        sys.exit("bench: dtype is bf16 and PyTorch is not installed; accepted without it are fp32 and fp16")
    environment = harness.environment(package, torch, options.threads)
    harness.warn_if_busy(environment)
    tell(harness.in_words(environment))
    problems = [rivals.Problem(**shape, dtype=DTYPES[options.dtype]) for shape in SHAPES]
    check_all(problems, package, torch, tell)

    memory, why_not = extra_memory.measure(SHAPES, DTYPES[options.dtype], options.causal, options.threads)
    tell(
        f"\nSpeed, {options.dtype}{', causal' if options.causal else ''}, B=1 D=64: medians of interleaved samples; "
        f"peak extra memory with the output:"
    )
    tell(
        f"  {'shape':10} {'H':>2} {'S':>4} {'FlashMoE ms':>12} {rival + ' ms':>10} {'ratio':>8} {'(95 %)':>14} "
        f"{'FlashMoE':>10} {rival:>10}"
    )
    rows = []
    for index, problem in enumerate(problems):
        row = measure_speed(problem, package, torch, options)
        row["flashmoe_extra_bytes"] = memory[index]["flashmoe"] if memory else None
        row["rival_extra_bytes"] = memory[index]["rival"] if memory else None
        rows.append(row)
        tell(line(row))
    if why_not:
        tell(f"  (memory was not measured: {why_not})")
    speedup = harness.geometric_mean([row["ratio"] for row in rows])
    tell(
        "\nGeometric mean over the six shapes:"
        if torch
        else "\nPyTorch is not installed; compared with NumPy instead. Geometric mean over the six shapes:"
    )
    tell(f"Speedup: {speedup:.2f}x (FlashMoE-Science vs {rival})")
    document = {
        "bench": "bench_correctness_and_speed",
        "environment": environment,
        "rival": rival,
        "rows": rows,
        "speedup": speedup,
    }
    if to_stdout:
        print(json.dumps(document, allow_nan=False))
    elif options.json:
        harness.save_json(options.json, document)


if __name__ == "__main__":
    main()
