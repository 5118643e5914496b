#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every rung of dent/examples/attention-ladder, at several settings, against PyTorch's attention on this GPU.

Checks each against float64 first (awkward lengths, several heads), then times it at S = 32 and S = 128: warm, as a graph of
launches, and cold, one call at a time behind a flush of the L2 cache, as dent does. Needs nvcc and PyTorch with CUDA.

    python dent/benches/attention_ladder.py --json ladder.json
"""

import argparse
import concurrent.futures
import ctypes
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "flashmoe" / "benches"))
import harness
import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "attention-ladder"
ENTRY = """#include <cuda_runtime.h>
cudaError_t attention(const void* q, const void* k, const void* v, void* out, int B, int H, int S, cudaStream_t stream);
extern "C" int ladder(const void* q, const void* k, const void* v, void* out, int B, int H, int S, void* stream) {
  return attention(q, k, v, out, B, H, S, (cudaStream_t)stream);
}
"""
SETTINGS = [("naive", {"ROWS": rows}) for rows in (64, 16)]
SETTINGS += [
    ("split", {"WARP_ROWS": rows, "KV_SPLITS": splits}) for rows, splits in ((4, 1), (4, 4), (1, 4), (2, 4))
]
SETTINGS += [("tensor", {"WARPS": warps}) for warps in (2, 4, 8)]
SETTINGS += [
    ("async", {"WARPS": w, "KEYS": k, "STAGES": s})
    for w, k, s in ((2, 16, 2), (4, 16, 2), (4, 32, 1), (8, 16, 1))
]
SETTINGS += [
    ("rows8", {"WARPS": w, "KEYS": k, "STAGES": s})
    for w, k, s in ((2, 16, 2), (4, 16, 2), (4, 32, 1), (4, 32, 2), (8, 16, 1), (2, 64, 1))
]
SETTINGS += [("rows8", {"WARPS": 4, "KEYS": 32, "STAGES": 1, "EXACT": 1})]
BOUND = 2e-3  # fp16 weights and outputs, values of about 1


def build(folder, rung, setting):
    library = folder / ("-".join([rung, *map(str, setting.values())]) + ".so")
    major, minor = torch.cuda.get_device_capability()
    architecture = f"sm_{major}{minor}" + ("a" if major == 9 else "")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    subprocess.run(
        [
            nvcc,
            "-std=c++20",
            "-O3",
            f"-arch={architecture}",
            "-shared",
            "-Xcompiler=-fPIC",
            *(f"-D{name}={value}" for name, value in setting.items()),
            str(FOLDER / f"{rung}.cu"),
            str(folder / "entry.cu"),
            "-o",
            str(library),
        ],
        check=True,
    )
    return ctypes.CDLL(str(library)).ladder


def inputs(heads, rows):
    return [torch.randn(1, heads, rows, 64, device="cuda", dtype=torch.float16) for _ in range(3)]


def caller(entry):
    def call(q, k, v, out):
        status = entry(
            *(ctypes.c_void_p(x.data_ptr()) for x in (q, k, v, out)),
            1,
            q.shape[1],
            q.shape[2],
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")

    return call


def largest_error(call):
    worst = 0.0
    for heads, rows in ((1, 1), (1, 7), (2, 32), (1, 64), (3, 77), (2, 128), (2, 200), (2, 256), (1, 512)):
        q, k, v = inputs(heads, rows)
        out = torch.full_like(q, float("nan"))
        call(q, k, v, out)
        expected = torch.softmax(q.double() @ k.double().mT / 8, -1) @ v.double()
        error = (out.double() - expected).abs().max().item()
        worst = max(worst, error) if not math.isnan(error) else float("inf")
    return worst


def warm_us(work, nodes=64):
    """The time of a launch in each of five graphs."""
    times = []
    for _ in range(5):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(nodes):
                work()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(3):
            graph.replay()
        samples = []
        for _ in range(9):
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            samples.append(begin.elapsed_time(end) * 1e3 / nodes)
        times.append(statistics.median(samples))
    return times


def cold_us(work, flush, batches=5, calls=60):
    """The median of each batch of calls."""
    return [cold_batch_us(work, flush, calls) for _ in range(batches)]


def times_of(work, flush):
    """Median over the graphs, or the batches, and the lowest and highest of them."""
    return {
        f"{heat}{name}_us": of(times)
        for heat, times in (("warm", warm_us(work)), ("cold", cold_us(work, flush)))
        for name, of in (("", statistics.median), ("_low", min), ("_high", max))
    }


def cold_batch_us(work, flush, calls):
    pairs = [tuple(torch.cuda.Event(enable_timing=True) for _ in range(2)) for _ in range(calls)]
    for begin, end in pairs:
        flush.zero_()
        begin.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) * 1e3 for begin, end in pairs)


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--json", type=pathlib.Path)
    arguments.add_argument("--only", help="one rung")
    chosen = arguments.parse_args()
    settings = [setting for setting in SETTINGS if chosen.only in (None, setting[0])]
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    results = {
        "environment": harness.gpu_environment(torch),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "bound": BOUND,
        "rungs": [],
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "entry.cu").write_text(ENTRY)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            entries = list(pool.map(lambda s: build(folder, *s), settings))
        problems = {
            rows: [*inputs(1, rows), torch.empty(1, 1, rows, 64, device="cuda", dtype=torch.float16)]
            for rows in (32, 128)
        }
        base = {}
        for rows, (q, k, v, _) in problems.items():
            sdpa = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)  # noqa: B023
            base[rows] = times_of(sdpa, flush)
        results["sdpa"] = base
        print(
            f"{results['gpu']}, SDPA: "
            + ", ".join(
                f"S={rows} {t['warm_us']:.2f} us warm, {t['cold_us']:.2f} cold" for rows, t in base.items()
            )
        )
        failed = False
        for (rung, setting), entry in zip(settings, entries):
            call = caller(entry)
            error = largest_error(call)
            right = error <= BOUND
            failed = failed or not right
            line = {"rung": rung, **setting, "max_error": error}
            text = f"{'PASS' if right else 'FAIL'} {rung:7} {setting!s:45} error {error:.1e}"
            for rows, tensors in problems.items():
                work = lambda: call(*tensors)  # noqa: B023
                line[f"S{rows}"] = times_of(work, flush)
                text += f"  S={rows}: " + " ".join(
                    f"{line[f'S{rows}'][kind]:.2f} us ({base[rows][kind] / line[f'S{rows}'][kind]:.2f}x)"
                    for kind in ("warm_us", "cold_us")
                )
            results["rungs"].append(line)
            print(text, flush=True)
    speed = {
        kind: [base[128][kind] / line["S128"][kind] for line in results["rungs"]]
        for kind in ("warm_us", "cold_us")
    }
    if not chosen.only:
        print(f"the start, S = 128: {speed['warm_us'][0]:.3f}x of SDPA warm, {speed['cold_us'][0]:.3f}x cold")
    print(f"the best, S = 128: {max(speed['warm_us']):.2f}x of SDPA warm, {max(speed['cold_us']):.2f}x cold")
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
