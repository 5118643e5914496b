#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ours against PyTorch's scaled_dot_product_attention on the CPU: one run, the same threads, interleaved.

python flashmoe/benches/attention_cpu.py                      all cells (six to ten minutes on two cores)
python flashmoe/benches/attention_cpu.py --quick              a few cells, short
python flashmoe/benches/attention_cpu.py --json results.json  saved after each cell
"""

import argparse
import os
import sys
import time
from dataclasses import asdict, dataclass, fields, replace

import harness

TOLERANCE = {
    "float32": 1e-4,
    "bfloat16": 5e-2,
    "float16": 1e-2,
}  # of values of order 1: a wrong kernel is not timed


@dataclass(frozen=True)
class Cell:
    dtype: str
    mask: str  # full or causal
    q_heads: int
    kv_heads: int
    q_rows: int
    kv_rows: int
    head_dim: int

    @property
    def group(self):
        return f"{self.dtype} {'decode' if self.q_rows == 1 else self.mask}"

    @property
    def gflop(self):
        """Of the products alone, counting only what the mask leaves."""
        pairs = self.q_rows * self.kv_rows
        if self.mask == "causal":
            pairs = sum(i + 1 + self.kv_rows - self.q_rows for i in range(self.q_rows))
        return 4e-9 * self.q_heads * pairs * self.head_dim

    def comparable(self, result):
        """What of a result both sides have."""
        return result

    def __str__(self):
        rows = f"S={self.q_rows}" if self.q_rows == self.kv_rows else f"Sq={self.q_rows} Skv={self.kv_rows}"
        heads = f"H={self.q_heads}" if self.q_heads == self.kv_heads else f"H={self.q_heads}/{self.kv_heads}"
        return f"{self.dtype:8} {self.mask:6} {heads:6} D={self.head_dim:<3} {rows}"


FIELDS = [field.name for field in fields(Cell)]


def cells(quick):
    lengths = (32, 128, 512) if quick else (32, 64, 128, 256, 512, 1024, 2048, 4096)
    for dtype in ("float32", "bfloat16"):
        for mask in ("full", "causal"):
            for dim in (64,) if quick else (64, 128):
                for rows in lengths:
                    yield Cell(dtype, mask, 8, 8, rows, rows, dim)
        for dim in (128,) if quick else (64, 128):
            yield Cell(dtype, "full", 32, 8, 1, 2048 if quick else 8192, dim)


def calls_for(cell, package, torch, threads):
    generator = torch.Generator().manual_seed(cell.q_rows * 1000 + cell.head_dim)

    def normal(heads, rows):
        return torch.randn(1, heads, rows, cell.head_dim, generator=generator).to(getattr(torch, cell.dtype))

    q, k, v = (
        normal(cell.q_heads, cell.q_rows),
        normal(cell.kv_heads, cell.kv_rows),
        normal(cell.kv_heads, cell.kv_rows),
    )
    causal = cell.mask == "causal"
    grouped = {"enable_gqa": True} if cell.q_heads != cell.kv_heads else {}
    sdpa = torch.nn.functional.scaled_dot_product_attention
    return {
        "flashmoe": lambda: package.attention(q, k, v, causal=causal, threads=threads),
        "torch": lambda: sdpa(q, k, v, is_causal=causal, **grouped),
    }


def tensors(result):
    return result if isinstance(result, tuple) else (result,)


def measure(cell, calls, gflop, budget_s, peak):
    # The results to compare come from calls that the sampling makes anyway: some of PyTorch's take a minute.
    first = {}
    samples = harness.sample(
        {name: lambda name=name, call=call: first.setdefault(name, call()) for name, call in calls.items()},
        budget_s,
    )
    rivals = [name for name in calls if name != "flashmoe"]
    rival = min(rivals, key=lambda name: harness.median(samples[name]))
    difference = max(
        float((cell.comparable(ours).double() - cell.comparable(theirs).double()).abs().max())
        for result in (first["flashmoe"], calls["flashmoe"]())
        for ours, theirs in zip(tensors(result), tensors(first[rival]))
    )
    ratio, low, high = harness.ratio_of_medians(samples[rival], samples["flashmoe"])
    ours_s = harness.median(samples["flashmoe"])
    gflops = gflop / ours_s
    return {
        **asdict(cell),
        "group": cell.group,
        "flashmoe_us": ours_s * 1e6,
        "torch_us": harness.median(samples[rival]) * 1e6,
        **({"fastest_of_torch": rival} if len(rivals) > 1 else {}),
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "gflops": gflops,
        "fma_share": gflops / peak["gflops"] if peak else None,
        "max_difference": difference,
        "correct": difference <= TOLERANCE[cell.dtype],
        "samples_us": {name: [round(s * 1e6, 3) for s in values] for name, values in samples.items()},
    }


def line(cell, result):
    interval = (
        f"{result['ratio_low']:.2f} to {result['ratio_high']:.2f}" if result["ratio_low"] else "one sample"
    )
    share = f"{100 * result['fma_share']:5.1f} %" if result["fma_share"] else "      -"
    verdict = "" if result["correct"] else f"   WRONG: differs by {result['max_difference']:.3g}"
    return (
        f"{cell!s:42} {result['flashmoe_us']:11.1f} {result['torch_us']:12.1f} {result['ratio']:8.2f}x "
        f"({interval:>14}) {result['gflops']:8.1f} {share}{verdict}"
    )


def ratios_against_fp32(results):
    """PyTorch's bf16 is slower than its fp32 on many CPUs; what its user would switch from is the faster one."""

    def key(result):
        return [result.get(name) for name in (*FIELDS, "lengths", "layout") if name != "dtype"]

    theirs = [result for result in results if result["dtype"] == "float32"]
    ours = [result for result in results if result["dtype"] == "bfloat16" and result["correct"]]
    return [b["torch_us"] / a["flashmoe_us"] for a in ours for b in theirs if key(a) == key(b)]


def summary(results):
    groups = {}
    for result in results:
        if result["correct"]:
            groups.setdefault(result["group"], []).append(result["ratio"])
    everything = [ratio for ratios in groups.values() for ratio in ratios]
    if everything:
        groups["all"] = everything
    against_fp32 = ratios_against_fp32(results)
    if against_fp32:
        groups["bfloat16 against PyTorch's float32"] = against_fp32
    return {
        name: {"cells": len(ratios), "geometric_mean": harness.geometric_mean(ratios), "least": min(ratios)}
        for name, ratios in groups.items()
    }


def expectation(cell, results):
    """A word of patience, from the cell with half the rows, where a single call of PyTorch's takes long."""
    for result in results:
        if replace(cell, q_rows=cell.q_rows // 2, kv_rows=cell.kv_rows // 2) == Cell(
            **{n: result[n] for n in FIELDS}
        ):
            call_s = 4e-6 * result["torch_us"]
            return f" (PyTorch: about {call_s:.0f} s for one call)" if call_s > harness.LONG_SECONDS else ""
    return ""


def parse(description):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few small cells, short")
    parser.add_argument("--json", metavar="FILE", help="save the results here, after each cell")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="for both sides")
    parser.add_argument("--seconds", type=float, help="time for each cell (default 3, or 0.3 with --quick)")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help='cells whose line contains this, e.g. "D=64"'
    )
    return parser.parse_args()


def run(name, description, cells, calls_for, gflop_of, inference=True):
    """A bench named `name`: cells(quick) are timed by the calls that calls_for(cell, package, torch, threads) gives."""
    options = parse(description)
    package = harness.load_package()
    torch = harness.load_torch(options.threads)
    if torch is None:
        sys.exit(
            f"{name}: PyTorch is not installed, and there is nothing to compare with\n"
            "  try: scripts/python-env bench, or flashmoe/benches/bench_correctness_and_speed.py, which can do with NumPy"
        )
    peak = harness.fma_peak(options.threads)
    environment = harness.environment(package, torch, options.threads)
    harness.warn_if_busy(environment)
    budget_s = options.seconds or (0.3 if options.quick else 3.0)
    todo = [cell for cell in cells(options.quick) if options.only in str(cell)]
    document = {
        "bench": name,
        "environment": environment,
        "fma_peak": peak,
        "cells": [],
        "summary": {},
    }

    print(harness.in_words(environment))
    if peak:
        print(
            f"FMA rate, measured: {peak['gflops']:.0f} GFLOP/s in fp32 on {peak['threads']} threads (the shares "
            f"below are of this; bf16 instructions can exceed it)"
        )
    print(
        f"{'B=1':42} {'flashmoe us':>11} {'PyTorch us':>12} {'ratio':>9} {'(95 % interval)':>16} {'GFLOP/s':>8} share"
    )
    started = time.monotonic()
    with torch.inference_mode(inference):
        for done, cell in enumerate(todo):
            harness.say(
                f"[{done + 1} of {len(todo)}, {time.monotonic() - started:.0f} s so far] {cell}"
                f"{expectation(cell, document['cells'])}"
            )
            calls = calls_for(cell, package, torch, options.threads)
            result = measure(cell, calls, gflop_of(cell), budget_s, peak)
            document["cells"].append(result)
            document["summary"] = summary(document["cells"])
            if options.json:
                harness.save_json(options.json, document)
            print(line(cell, result), flush=True)
    print()
    for title, group in document["summary"].items():
        print(
            f"{title:34} geometric mean {group['geometric_mean']:6.2f}x, least {group['least']:6.2f}x "
            f"({group['cells']} cells)"
        )
    sys.exit(0 if all(result["correct"] for result in document["cells"]) else 1)


if __name__ == "__main__":
    run("attention_cpu", __doc__, cells, calls_for, lambda cell: cell.gflop)
