# SPDX-License-Identifier: MIT
"""What Slurm costs and what faults cost, on the cluster of the tests (tests/support/slurm_cluster.py).

    executors_slurm.py <dent> <library of test kernels> [--jobs 64] [--faulty 200] [--failures 10] [--kills 50] [--json FILE]

One check of a small kernel here and there; many of them over one slot and over two; many with slots that are requeued, killed
and lost with their node meanwhile; one whose coordinator is killed again and again. Exits 1 when a result is lost or there twice.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/support"))
from machine import wait_until
from slurm_cluster import NODES, SlurmCluster


class Bench:
    def __init__(self, cluster, dent, kernels, folder):
        self.cluster, self.dent_program, self.kernels, self.folder = cluster, dent, kernels, folder

    def project(self, name, extra=(), shapes=2):
        root = self.folder / name
        root.mkdir()
        sizes = ", ".join(f'{{ name = "s{n}", n = {n} }}' for n in range(37, 37 + shapes))
        (root / "dent.toml").write_text(f"""version = 1
shapes = [{sizes}]
kernel = {{ library = "{self.kernels}", entry = "right" }}
baseline.plain = {{ library = "{self.kernels}", entry = "right" }}
[operator]
name = "scale"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ library = "{self.kernels}", entry = "reference" }}
[executor.cluster]
kind = "slurm"
workdir = "{self.folder}/shared of {name}"
slurm = {{ extra = {json.dumps(["--mem=500", *extra])} }}
""")
        return root

    def start(self, root, *words):
        return subprocess.Popen([self.dent_program, *words, "-p", str(root)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={**os.environ, **self.cluster.environment, "HOME": str(self.folder)})

    def dent(self, root, *words):
        process = self.start(root, *words)
        out, _ = process.communicate()
        return process.returncode, out

    def timed(self, root, *words):
        start = time.monotonic()
        code, out = self.dent(root, *words)
        if code != 0:
            raise RuntimeError(out)
        return time.monotonic() - start

    def end_of_slots(self):
        self.cluster.run("scancel", "-u", self.cluster.folder.owner(), check=False)
        wait_until(lambda: not self.cluster.run("squeue", "-h", check=False), 120, "slots are left")

    def send(self, root, count):
        jobs = []
        for _ in range(count):
            code, out = self.dent(root, "check", "--on", "cluster", "--detach")
            if code != 0:
                raise RuntimeError(out)
            jobs.append(out.strip().splitlines()[-1])
        return jobs

    def collect(self, root, jobs):
        """Attaches to each; how many have exactly one verdict."""
        whole = 0
        for job in jobs:
            self.dent(root, "attach", job)
        for ledger in (root / ".dent/sessions").glob("*/ledger.jsonl"):
            kinds = [json.loads(line)["kind"] for line in ledger.read_text().splitlines()]
            whole += kinds.count("verdict") == 1
        return whole

    def overhead(self, times=5):
        root = self.project("overhead")
        here = [self.timed(root, "check") for _ in range(times)]
        first = self.timed(root, "check", "--on", "cluster")
        there = [self.timed(root, "check", "--on", "cluster") for _ in range(times)]
        self.end_of_slots()
        return {"here_s": statistics.median(here), "slurm_s": statistics.median(there), "slurm_first_s": first}

    def slots(self, jobs):
        """Two processors a slot: one fits on a node."""
        seconds = {}
        for slots, extra in ((1, ["--cpus-per-task=2", "--exclude=n2"]), (2, ["--cpus-per-task=2"])):
            root = self.project(f"slots {slots}", extra, shapes=20)  # longer than it takes to send it
            sent = self.send(root, jobs)
            start = min(file.stat().st_mtime for file in self.folder.glob(f"shared of slots {slots}/*/jobs/*/tries/1/by"))
            self.collect(root, sent)
            ends = [file.stat().st_mtime for file in (root / ".dent/sessions").glob("*/ledger.jsonl")]
            seconds[slots] = max(ends) - start
            self.end_of_slots()
        return {"jobs": jobs, "one_slot_s": seconds[1], "two_slots_s": seconds[2], "share": seconds[2] / seconds[1]}

    def faults(self, jobs, failures):
        root = self.project("faults")
        sent = self.send(root, jobs)
        dice = random.Random(7)
        attached = self.start(root, "attach", sent[-1])
        injected = 0
        while injected < failures:
            running = self.cluster.run("squeue", "-h", "-t", "running", "-o", "%i", check=False).split()
            if running:
                job = dice.choice(running)
                kind = injected % 3
                if kind == 0:
                    self.cluster.run("scontrol", "requeue", job, check=False)
                elif kind == 1:
                    self.cluster.run("scancel", "--signal=KILL", "--full", job, check=False)
                else:
                    node = dice.choice(NODES)
                    self.cluster.lose(node)
                    self.cluster.back(node)
                injected += 1
            elif attached.poll() is not None:
                break
            time.sleep(1)
        attached.communicate()
        whole = self.collect(root, sent)
        self.end_of_slots()
        return {"jobs": jobs, "failures": injected, "results": whole}

    def kills(self, kills):
        root = self.project("kills", shapes=10 * kills)
        dice = random.Random(7)
        process, killed = self.start(root, "check", "--on", "cluster"), 0
        while killed < kills and process.poll() is None:
            time.sleep(dice.uniform(0.05, 1))
            process.kill()
            process.communicate()
            killed += 1
            process = self.start(root, "attach", "latest")
        process.communicate()
        whole = self.collect(root, ["latest"])
        self.end_of_slots()
        left = sum(len(self.cluster.processes(node)) for node in NODES)
        return {"kills": killed, "results": whole, "processes_left": left}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dent")
    parser.add_argument("kernels")
    parser.add_argument("--jobs", type=int, default=64)
    parser.add_argument("--faulty", type=int, default=200)
    parser.add_argument("--failures", type=int, default=10)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dent-slurm-bench-"))
    results = {}
    try:
        with SlurmCluster() as cluster:
            bench = Bench(cluster, os.path.abspath(given.dent), os.path.abspath(given.kernels), folder)
            for name, part in (("overhead", bench.overhead), ("slots", lambda: bench.slots(given.jobs)),
                               ("kills", lambda: bench.kills(given.kills)),
                               ("faults", lambda: bench.faults(given.faulty, given.failures))):
                results[name] = part()
                print(name, json.dumps(results[name]), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")
    lost = results["faults"]["results"] != given.faulty or results["kills"]["results"] != 1
    sys.exit(1 if lost or results["kills"]["processes_left"] else 0)


if __name__ == "__main__":
    main()
