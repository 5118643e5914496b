#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How dent tells short kernels apart on a GPU: a kernel of about 2 us against itself, against ones that take 3 % and 10 % longer,
and against one of about 5 us; each many times. What they really take is measured beside it, in long graphs of many calls.

    python3 dent/benches/gpu_clock.py build/cuda/dent/dent --json gpu_clock.json
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

CYCLES = {"base": 2600, "3": 2720, "10": 3000, "long": 8600}
SOURCES = pathlib.Path(__file__).resolve().parent / "gpu_clock"
KERNEL = """__global__ void kernel(int n, const float* x, float* y) {{
  const long long start = clock64();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
  while (clock64() - start < {cycles}) {{
  }}
}}
"""
MANIFEST = """version = 1
name = "spin"
shapes = [{shapes}]
[kernel]
sources = ["kernel.cu"]
entry = "__global__ void kernel(int n, const float* x, float* y)"
launch = {{ grid = "ceil(n/256)", block = "256" }}
[baseline.other]
sources = ["other.cu"]
entry = "__global__ void kernel(int n, const float* x, float* y)"
launch = {{ grid = "ceil(n/256)", block = "256" }}
[operator]
name = "twice"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ python = "reference:twice" }}
[performance]
seconds = {seconds}
baseline_within = 50
[correctness]
seeds = 1
"""


def truth(folder):
    program = folder / "truth"
    names = {"base": "CYCLES_BASE", "3": "CYCLES_3", "10": "CYCLES_10", "long": "CYCLES_LONG"}
    defines = [f"-D{names[key]}={cycles}" for key, cycles in CYCLES.items()]
    source = str(SOURCES / "truth.cu")
    subprocess.run(
        ["nvcc", "-O3", "-std=c++17", "-arch=native", *defines, source, "-o", str(program)], check=True
    )
    times = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    return {key: times[str(cycles)] for key, cycles in CYCLES.items()}


def compare(dent, folder, other, times, seconds):
    """The base kernel against `other`, `times` times: one comparison for each shape, all of the same size."""
    project = folder / f"against_{other}"
    project.mkdir()
    (project / "kernel.cu").write_text(KERNEL.format(cycles=CYCLES["base"]))
    (project / "other.cu").write_text(KERNEL.format(cycles=CYCLES[other]))
    (project / "reference.py").write_text("def twice(x):\n    return 2 * x\n")
    shapes = ", ".join(f'{{ name = "r{i}", n = {132 * 256} }}' for i in range(times))
    (project / "dent.toml").write_text(MANIFEST.format(shapes=shapes, seconds=seconds))
    ran = subprocess.run([dent, "bench", "-p", str(project), "--json"], capture_output=True, text=True)
    try:
        session = json.loads(ran.stdout)
        comparisons = session["report"]["comparisons"]
    except (ValueError, KeyError):
        raise SystemExit(
            f"dent bench ended with {ran.returncode}:\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
        ) from None
    return [
        {
            "verdict": c["verdict"],
            "ratio": c.get("ratio"),
            "candidate_us": c["candidate_ns"] / 1e3,
            "baseline_us": c["baseline_ns"] / 1e3,
            "pairs": c["pairs"],
            "clock": c.get("clock"),
        }
        for c in comparisons
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dent")
    parser.add_argument("--times", type=int, default=12, help="comparisons against each other kernel")
    parser.add_argument("--seconds", type=float, default=2, help="time box of each")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    name = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()[0]
    document = {
        "device": name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "seconds": arguments.seconds,
        "against": {},
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        document["really_us"] = truth(folder)
        dent = pathlib.Path(arguments.dent).resolve()
        for other in CYCLES:
            results = compare(dent, folder, other, arguments.times, arguments.seconds)
            document["against"][other] = results
            really = document["really_us"][other] / document["really_us"]["base"]
            told = sorted(r["ratio"]["centre"] for r in results if r["ratio"])
            verdicts = {
                v: sum(r["verdict"] == v for r in results) for v in ("FASTER", "SAME", "SLOWER", "AMBIGUOUS")
            }
            print(
                f"{other}: really {really:.4f}, told {told[0]:.4f} to {told[-1]:.4f}, {verdicts}", flush=True
            )
            if arguments.json:
                arguments.json.write_text(json.dumps(document, indent=1) + "\n")


main()
