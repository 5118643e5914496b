#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether dent optimize keeps what is no improvement: many loops over candidates that differ in their bytes and not in what
they do. Says how many loops kept anything, at most 2 of 100 may, and exits with 1 when more did.

    python dent/benches/loop_aa.py build/release/dent/dent --json loop_aa.json
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import tempfile
import time

MANIFEST = """version = 1
name = "equals"
shapes = [{{ name = "tiny", n = 256 }}, {{ name = "small", n = 4096 }}]
[kernel]
sources = ["kernel.cpp"]
entry = "void scale(const float* x, float* y, int n)"
[baseline.same]
sources = ["kernel.cpp"]
entry = "void scale(const float* x, float* y, int n)"
flags = ["-DMARK=0"]
[operator]
name = "scale"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ source = "reference.cpp", entry = "reference" }}
[performance]
seconds = {seconds}
baseline_within = 50
[correctness]
seeds = 1
[tunables]
MARK = {{ from = 0, to = {candidates} }}
[budget]
iterations = {candidates}
"""
KERNEL = """extern "C" const int mark[] = {MARK};
void scale(const float* x, float* y, int n) {
  for (int r = 0; r < 512; ++r)
    for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + static_cast<float>(r - r);
}
"""
REFERENCE = """#include <dent/kernel.h>
extern "C" int reference(const dent_call* call) {
  const double* x = static_cast<const double*>(call->inputs[0].data);
  double* y = static_cast<double*>(call->outputs[0].data);
  for (long i = 0; i < call->outputs[0].sizes[0]; ++i) y[i] = 2 * x[i];
  return 0;
}
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dent")
    parser.add_argument("--loops", type=int, default=100)
    parser.add_argument("--candidates", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="time box of a shape")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    loops = kept = measured = screened = 0
    loads = []
    begun = time.monotonic()
    for _ in range(arguments.loops):
        loads.append(os.getloadavg()[0])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "dent.toml").write_text(MANIFEST.format(**vars(arguments)))
            (folder / "kernel.cpp").write_text(KERNEL)
            (folder / "reference.cpp").write_text(REFERENCE)
            run = subprocess.run(
                [arguments.dent, "optimize", "-q", "--json", "-p", name],
                capture_output=True,
                text=True,
                check=False,
            )
            iterations = json.loads(run.stdout)["report"].get("climb", {}).get("iterations", [])
        loops += 1
        kept += any(step["kept"] for step in iterations)
        measured += sum("gain" in step or step["stage"] == "guard" for step in iterations)
        screened += sum(step["stage"] in ("confirmation", "kept") for step in iterations)
        print(
            f"{loops} loops, {measured} candidates measured, {screened} passed the screening, {kept} loops kept one",
            flush=True,
        )
    if arguments.json:
        result = {
            "what": "dent optimize over candidates that differ in their bytes alone",
            "machine": platform.machine(),
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "cores": os.cpu_count(),
            "load": sum(loads) / len(loads),
            "loops": loops,
            "candidates_a_loop": arguments.candidates,
            "candidates_measured": measured,
            "passed_the_screening": screened,
            "loops_that_kept_one": kept,
            "seconds": round(time.monotonic() - begun),
        }
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    raise SystemExit(0 if kept <= max(1, arguments.loops // 50) else 1)


if __name__ == "__main__":
    main()
