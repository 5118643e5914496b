# SPDX-License-Identifier: MIT
"""What ssh and Slurm cost and what faults cost, on the machines of the tests (dent/tests/support/ssh_server.py, slurm_cluster.py).

    executors.py <dent> <library of test kernels> [--candidates 64] [--faulty 200] [--failures 10] [--kills 50]
        [--only PART...] [--json FILE]

One check of a small kernel here and there; a loop over one slot and over two; many checks whose workers, jobs, slots,
nodes and coordinator are killed meanwhile; one whose coordinator is killed again and again. Exits 1 when a result is lost or there twice.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/support"))
from machine import wait_until
from slurm_cluster import NODES, SlurmCluster
from ssh_server import SshServer


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
        """Attaches to each; how many have one verdict and each step once."""
        whole = 0
        for job in jobs:
            code, out = self.dent(root, "attach", job)
            if code != 0:
                print(f"attach {job}: exit code {code}: {out[-1000:]}", file=sys.stderr)
        for ledger in (root / ".dent/sessions").glob("*/ledger.jsonl"):
            records = [json.loads(line) for line in ledger.read_text().splitlines()]
            steps = [record["step"] for record in records if record["kind"] == "gate"]
            whole += sum(record["kind"] == "verdict" for record in records) == 1 and len(steps) == len(set(steps))
        return whole

    def overhead(self, times=5):
        """Of the whole command; the first one there also brings dent, or waits for a slot."""
        root = self.project("overhead")
        results = {"here_s": statistics.median(self.timed(root, "check") for _ in range(times))}
        with SshServer() as server:
            with (root / "dent.toml").open("a") as manifest:
                manifest.write(f'[executor.box]\nkind = "ssh"\nhost = "box"\nssh_config = "{server.folder}/ssh_config"\n'
                               f'workdir = "{server.folder}/disk"\n')
            for name, executor in (("ssh", "box"), ("slurm", "cluster")):
                results[f"{name}_first_s"] = self.timed(root, "check", "--on", executor)
                results[f"{name}_s"] = statistics.median(self.timed(root, "check", "--on", executor) for _ in range(times))
        self.end_of_slots()
        return results

    def loop(self, name, candidates, extra):
        """Candidates that differ in their bytes alone: each is built, checked and measured, and none is kept."""
        root = self.project(name, extra)
        (root / "kernel.cpp").write_text("""void scale(const float* x, float* y, int n) {
  volatile float work = RUNG;
  for (int i = 0; i < 2000; ++i) work = work + 1;
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
""")
        kernel = 'kernel = { sources = ["kernel.cpp"], entry = "void scale(const float* x, float* y, int n)", flags = ["-DRUNG=-1"] }'
        manifest = (root / "dent.toml").read_text().replace(f'kernel = {{ library = "{self.kernels}", entry = "right" }}', kernel)
        rungs = "".join(f'[[variants]]\nname = "v{n}"\nphase = "compute"\nflags = ["-DRUNG={n}"]\n' for n in range(candidates))
        (root / "dent.toml").write_text(manifest + "[performance]\nseconds = 1\nbaseline_within = 50\n"
                                        "[optimize]\nproposers = [\"variants\"]\nsanitize_every = 1000\nmin_gain = 0.5\n" + rungs)
        return root

    def slots(self, candidates):
        """Two processors a slot: one fits on a node. More candidates at a time than slots, so that none waits for work. From the
        first proposal to the last outcome: start and end of a loop are one job after the other."""
        seconds, outcomes = {}, {}
        for slots, extra in ((1, ["--cpus-per-task=2", "--exclude=n2"]), (2, ["--cpus-per-task=2"])):
            root = self.loop(f"slots {slots}", candidates, extra)
            code, out = self.dent(root, "optimize", "-q", "-n", str(candidates), "--on", "cluster", "--parallel", "4")
            records = [json.loads(line) for ledger in (root / ".dent/sessions").glob("*/ledger.jsonl")
                       for line in ledger.read_text().splitlines()]
            times = {kind: [datetime.datetime.fromisoformat(record["time"].replace("Z", "+00:00")) for record in records
                            if record["kind"] == kind] for kind in ("iteration", "outcome")}
            if len(times["outcome"]) != candidates:
                raise RuntimeError(f"{len(times['outcome'])} outcomes of {candidates}, exit code {code}: {out}")
            outcomes[slots] = len({record["data"]["iteration"] for record in records if record["kind"] == "outcome"})
            seconds[slots] = (max(times["outcome"]) - min(times["iteration"])).total_seconds()
            self.end_of_slots()
        return {"candidates": candidates, "one_slot_s": seconds[1], "two_slots_s": seconds[2], "share": seconds[2] / seconds[1],
                "outcomes": outcomes}

    def faults(self, jobs, failures):
        """Spread over the run: the next one comes when so many tries more have ended. Each kind in turn."""
        root = self.project("faults")
        dice, sent = random.Random(7), []
        sender = threading.Thread(target=lambda: [sent.extend(self.send(root, 1)) for _ in range(jobs)])
        sender.start()
        wait_until(lambda: sent, 600, "nothing is sent")
        self.attached = self.start(root, "attach", sent[0])
        kinds = [self.kill_a_worker, self.kill_a_job, self.requeue_a_slot, self.kill_a_slot, self.lose_a_node,
                 self.kill_the_coordinator]
        injected = []
        while len(injected) < failures:
            ended = len(list(self.folder.glob("shared of faults/*/jobs/*/tries/*/end")))
            if ended >= jobs:
                raise RuntimeError(f"all is done after {len(injected)} failures")
            kind = kinds[len(injected) % len(kinds)]
            if ended >= len(injected) * jobs // (2 * failures) and kind(dice, root, sent):
                injected.append(kind.__name__)
            time.sleep(0.02)
        sender.join()
        self.attached.communicate()
        whole = self.collect(root, sent)
        self.end_of_slots()
        return {"jobs": jobs, "failures": len(injected), "kinds": {kind: injected.count(kind) for kind in injected},
                "results": whole}

    # Each returns whether there was something to do it to.
    def kill_one(self, dice, name, word):
        """A process of a node, by its name and by the first word behind that."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, IndexError):
                words = (entry / "cmdline").read_text().split("\0")
                if pathlib.Path(words[0]).name == name and words[1] == word and self.is_on_a_node(int(entry.name)):
                    found.append(int(entry.name))
        with contextlib.suppress(OSError):
            if found:
                os.kill(dice.choice(found), signal.SIGKILL)
                return True
        return False

    def is_on_a_node(self, pid):
        """Also within a cell, which is a namespace of its own."""
        nodes = {self.cluster.machines[node].pid for node in NODES}
        while pid > 1 and pid not in nodes:
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        return pid in nodes

    def kill_a_worker(self, dice, root, sent):
        return self.kill_one(dice, "dent-worker", "")

    def kill_a_job(self, dice, root, sent):
        return self.kill_one(dice, "dent", "job")

    def kill_a_slot(self, dice, root, sent):
        return self.kill_one(dice, "dent", "slot")

    def requeue_a_slot(self, dice, root, sent):
        running = self.cluster.run("squeue", "-h", "-t", "running", "-o", "%i", check=False).split()
        return bool(running) and not self.cluster.run("scontrol", "requeue", dice.choice(running), check=False)

    def lose_a_node(self, dice, root, sent):
        node = dice.choice(NODES)
        if not self.cluster.processes(node):
            return False
        self.cluster.lose(node)
        self.cluster.back(node)
        return True

    def kill_the_coordinator(self, dice, root, sent):
        """The connection between who waits and what runs."""
        self.attached.kill()
        self.attached.communicate()
        self.attached = self.start(root, "attach", dice.choice(sent))
        return True

    def kills(self, kills):
        root = self.project("kills", shapes=10 * kills)
        dice = random.Random(7)
        process, killed = self.start(root, "check", "--on", "cluster"), 0
        while killed < kills and process.poll() is None:
            time.sleep(dice.uniform(0.05, 1))
            process.kill()
            process.communicate()
            killed += 1
            sent = any((root / ".dent/jobs").glob("*/job.json"))  # else it was killed before there was a job
            process = self.start(root, *(("attach", "latest") if sent else ("check", "--on", "cluster")))
        process.communicate()
        whole = self.collect(root, ["latest"])
        self.end_of_slots()
        left = sum(len(self.cluster.processes(node)) for node in NODES)
        return {"kills": killed, "results": whole, "processes_left": left}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dent")
    parser.add_argument("kernels")
    parser.add_argument("--candidates", type=int, default=64)
    parser.add_argument("--faulty", type=int, default=200)
    parser.add_argument("--failures", type=int, default=10)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--only", nargs="+", choices=("overhead", "slots", "kills", "faults"), metavar="PART",
                        default=["overhead", "slots", "kills", "faults"])
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dent-slurm-bench-"))
    results = {"machine": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}
    try:
        with SlurmCluster() as cluster:
            bench = Bench(cluster, os.path.abspath(given.dent), os.path.abspath(given.kernels), folder)
            for name, part in (("overhead", bench.overhead), ("slots", lambda: bench.slots(given.candidates)),
                               ("kills", lambda: bench.kills(given.kills)),
                               ("faults", lambda: bench.faults(given.faulty, given.failures))):
                if name not in given.only:
                    continue
                results[name] = part()
                print(name, json.dumps(results[name]), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")
    lost = results.get("faults", {}).get("results", given.faulty) != given.faulty
    lost = lost or results.get("kills", {}).get("results", 1) != 1
    sys.exit(1 if lost or results.get("kills", {}).get("processes_left") else 0)


if __name__ == "__main__":
    main()
