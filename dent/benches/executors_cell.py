# SPDX-License-Identifier: MIT
"""What a cell costs: when a worker starts, and when a kernel is called in it.

    executors_cell.py <dent> <library of test kernels> [--starts 200] [--rounds 5] [--json FILE]

Starts: `true` behind the arguments that dent gives bubblewrap for a candidate's worker, and without them, in turn. Calls: the
candidate's time per call that `dent bench` finds with `sandbox = "required"` and with `"off"`, in turn.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def project(root, kernels, sandbox):
    root.mkdir()
    (root / "dent.toml").write_text(f"""version = 1
sandbox = "{sandbox}"
shapes = [{{ name = "tiny", n = 37 }}, {{ name = "large", n = 1000000 }}]
kernel = {{ library = "{kernels}", entry = "right" }}
baseline.plain = {{ library = "{kernels}", entry = "right" }}
[operator]
name = "scale"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ library = "{kernels}", entry = "reference" }}
""")
    return root


def run(*argv, **more):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)
    return done.returncode, done.stdout + done.stderr


def arguments_of_a_cell(dent, root, folder):
    """As bubblewrap gets them for a worker: noted by a program that stands in front of it."""
    noted, front = folder / "arguments", folder / "front"
    front.write_text(f"""#!{sys.executable}
import json, os, sys
if any(word.endswith("dent-worker") for word in sys.argv):
    open({str(noted)!r}, "w").write(json.dumps(sys.argv[1:]))
os.execvp("bwrap", ["bwrap", *sys.argv[1:]])
""")
    front.chmod(0o755)
    code, out = run(dent, "check", "-p", str(root), env={**os.environ, "DENT_BWRAP": str(front)})
    if code != 0:
        raise RuntimeError(out)
    words = json.loads(noted.read_text())
    return words[:words.index("--") + 1]


def starts(words, times):
    def one(argv):
        start = time.monotonic()
        subprocess.run(argv, stdin=subprocess.DEVNULL, check=True)
        return 1000 * (time.monotonic() - start)

    taken = {"inside": [], "outside": []}
    for _ in range(times):
        taken["outside"].append(one(["true"]))
        taken["inside"].append(one(["bwrap", *words, "true"]))
    middle = {where: statistics.median(all_of) for where, all_of in taken.items()}
    return {"starts": times, "outside_ms": middle["outside"], "inside_ms": middle["inside"],
            "added_ms": middle["inside"] - middle["outside"], "added_max_ms": max(taken["inside"]) - middle["outside"]}


def call_ns(dent, root):
    """Shape -> the candidate's median time per call."""
    code, out = run(dent, "bench", "-p", str(root))
    newest = max((root / ".dent/sessions").iterdir())
    found = {}
    for line in (newest / "ledger.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "comparison":
            found[record["data"]["shape"]] = record["data"]["candidate_ns"]
    if not found:
        raise RuntimeError(f"{code}: {out}")
    return found


def calls(dent, projects, rounds):
    taken = {name: {} for name in projects}
    for _ in range(rounds):
        for name, root in projects.items():
            for shape, ns in call_ns(dent, root).items():
                taken[name].setdefault(shape, []).append(ns)
    return {shape: {"rounds": rounds, **{f"{name}_ns": statistics.median(taken[name][shape]) for name in projects},
                    "ratio": statistics.median(taken["required"][shape]) / statistics.median(taken["off"][shape])}
            for shape in taken["off"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dent")
    parser.add_argument("kernels")
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    dent, kernels = os.path.abspath(given.dent), os.path.abspath(given.kernels)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dent-cell-bench-"))
    try:
        projects = {name: project(folder / name, kernels, name) for name in ("off", "required")}
        results = {"start": starts(arguments_of_a_cell(dent, projects["required"], folder), given.starts),
                   "calls": calls(dent, projects, given.rounds), "load_average": os.getloadavg()[0]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(results, indent=1))
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
