# SPDX-License-Identifier: MIT
"""dent on a real Slurm cluster, with each fault injected for real.

    slurm_test.py <dent> <library of test kernels> [unittest's own arguments]
"""

import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from fixture import run_tests
from machine import Unavailable, wait_until
from slurm_cluster import NODES, SlurmCluster

DENT, KERNELS = sys.argv[1:3]
del sys.argv[1:3]
INTERRUPTED = 14
LONG = 40  # shapes: long enough for something to happen meanwhile
PATIENCE = 600  # seconds that anything may take on a busy machine: no test passes or fails by how long it took


def cluster(**options):
    try:
        return SlurmCluster(**options)
    except Unavailable as why:
        raise unittest.SkipTest(str(why)) from None


class OnSlurm(unittest.TestCase):
    """A cluster for the class, a project for each test."""

    options = {}

    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster(**cls.options)
        cls.addClassCleanup(cls.cluster.__exit__)

    def setUp(self):
        self.cluster.wait_for_nodes()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dent slurm test "))
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(self.end_of_jobs)

    def end_of_jobs(self):
        self.cluster.run("scancel", "-u", self.cluster.folder.owner())
        wait_until(lambda: not self.cluster.run("squeue", "-h", check=False), PATIENCE, "jobs are left")
        for node in NODES:
            wait_until(lambda: not self.cluster.processes(node), PATIENCE, f"processes are left on {node}")

    def project(self, entry="right", shapes=2, executor=""):
        """y = 2 x, and an executor for it. Each shape is a step of its own, and takes a moment."""
        root = self.folder / "a project"
        root.mkdir()
        sizes = ", ".join(f'{{ name = "s{n}", n = {n} }}' for n in range(37, 37 + shapes))
        (root / "dent.toml").write_text(f"""version = 1
shapes = [{sizes}]
kernel = {{ library = "{KERNELS}", entry = "{entry}" }}
baseline.plain = {{ library = "{KERNELS}", entry = "right" }}
limits = {{ call_seconds = 60 }}
[operator]
name = "scale"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ library = "{KERNELS}", entry = "reference" }}
[executor.cluster]
kind = "slurm"
workdir = "{self.folder}/shared file system"
slurm = {{ extra = ["--mem=500"] }}
{executor}
""")
        return root

    def environment(self):
        return {**os.environ, **self.cluster.environment, "HOME": str(self.folder)}

    def start(self, root, *words):
        """dent in the background; what it prints goes to a file, which can be looked at meanwhile."""
        handle, name = tempfile.mkstemp(prefix="printed-", dir=self.folder)
        with open(handle, "wb") as out:
            process = subprocess.Popen([DENT, *words, "-p", str(root)], env=self.environment(), stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=out)
        process.printed = pathlib.Path(name)
        return process

    def dent(self, root, *words):
        return self.end_of(self.start(root, *words))

    @staticmethod
    def end_of(process):
        return process.wait(timeout=PATIENCE), process.printed.read_text()

    def queue(self):
        return next((self.folder / "shared file system").glob("slurm-cluster-*"), None)

    def tries(self):
        """Folders of all tries of all jobs that are in the queue."""
        return sorted(self.queue().glob("jobs/*/tries/*"), key=lambda folder: int(folder.name)) if self.queue() else []

    def slurm_job(self):
        """The number of the one slot."""
        return self.cluster.run("squeue", "-h", "-t", "running", "-o", "%i").split()[0]

    def begun(self, records=4, number=1):
        """Waits until that try has so many records."""
        def look():
            found = [folder for folder in self.tries() if folder.name == str(number)]
            ledger = found[0] / "ledger.jsonl" if found else None
            return ledger and ledger.exists() and ledger.read_bytes().count(b"\n") >= records and found[0]
        return wait_until(look, PATIENCE, f"try {number} has not come so far: {self.tries()}")

    def records(self, root):
        sessions = sorted((root / ".dent/sessions").iterdir())
        self.assertEqual(1, len(sessions))
        return [json.loads(line) for line in (sessions[0] / "ledger.jsonl").read_text().splitlines()]

    def assert_whole(self, root):
        """Every step once, a verdict, and nothing left in the queue."""
        records = self.records(root)
        gates = [record["data"]["step"] for record in records if record["kind"] == "gate"]
        self.assertEqual(len(gates), len(set(gates)), gates)
        self.assertEqual(1, sum(record["kind"] == "verdict" for record in records))
        planned = [step["step"] for step in records[0]["data"]["plan"]]
        self.assertEqual(set(planned), set(gates) & set(planned))
        self.assertEqual([], list(self.queue().glob("jobs/*")))
        self.assertEqual([], list(self.queue().glob("preparing/*")))
        return records


class SlurmTest(OnSlurm):
    def test_a_check_there_is_a_check_here(self):
        root = self.project()
        code, out = self.dent(root, "check", "--on", "cluster")
        self.assertEqual(0, code, out)
        records = self.assert_whole(root)
        self.assertIn("cluster", [record["data"].get("executor") for record in records])
        self.assertTrue(list((root / ".dent/sessions").glob("*/report.md")))

    def test_the_exit_code_passes_through(self):
        code, out = self.dent(self.project("wrong"), "check", "--on", "cluster")
        self.assertEqual(5, code, out)

    def test_a_second_job_finds_the_slot(self):
        root = self.project()
        self.assertEqual(0, self.dent(root, "check", "--on", "cluster")[0])
        first = self.slurm_job()
        self.assertEqual(0, self.dent(root, "check", "--on", "cluster")[0])
        self.assertEqual(first, self.slurm_job())

    def test_a_requeued_slot_resumes_by_itself(self):
        root = self.project(shapes=LONG)
        process = self.start(root, "check", "--on", "cluster")
        self.begun()
        slot = self.slurm_job()
        self.cluster.run("scontrol", "requeue", slot)
        self.begun(number=2)
        times = self.cluster.job(slot)
        requeued, eligible = (datetime.datetime.fromisoformat(times[key]) for key in ("SubmitTime", "EligibleTime"))
        self.assertLess((eligible - requeued).total_seconds(), 120, "Slurm's own delay was left as it is")
        code, out = self.end_of(process)
        self.assertEqual(0, code, out)
        self.assert_whole(root)

    def test_a_preempted_slot_resumes_by_itself(self):
        root = self.project(shapes=LONG)
        process = self.start(root, "check", "--on", "cluster")
        self.begun()
        self.cluster.run("sbatch", "--parsable", "-p", "high", "-N", "2", "--exclusive", "--output=/dev/null", "--wrap", "true")
        code, out = self.end_of(process)
        self.assertEqual(0, code, out)
        self.assertIn("PREEMPTED", (self.cluster.folder / "jobcomp.txt").read_text())
        self.assert_whole(root)

    def test_out_of_time_it_goes_on_in_a_new_allocation(self):
        root = self.project(shapes=LONG)
        process = self.start(root, "check", "--on", "cluster")
        self.begun()
        self.cluster.run("scancel", "--signal=USR1", "--batch", self.slurm_job())  # as --signal=B:USR1@90 does
        code, out = self.end_of(process)
        self.assertEqual(0, code, out)
        self.assert_whole(root)

    def test_a_lost_node_is_replaced_by_another(self):
        root = self.project(shapes=LONG)
        process = self.start(root, "check", "--on", "cluster")
        self.begun()
        node = self.cluster.job(self.slurm_job())["BatchHost"]
        self.cluster.lose(node)
        try:
            code, out = self.end_of(process)
        finally:
            self.cluster.back(node)
        self.assertEqual(0, code, out)
        self.assert_whole(root)

    def test_a_killed_slot_is_replaced(self):
        root = self.project(shapes=LONG)
        process = self.start(root, "check", "--on", "cluster")
        self.begun()
        node = self.cluster.job(self.slurm_job())["BatchHost"]
        for pid in self.cluster.processes(node):  # scancel would tell it to end first
            if pathlib.Path(f"/proc/{pid}/comm").read_text() == "dent\n":
                os.kill(pid, signal.SIGKILL)
        code, out = self.end_of(process)
        self.assertEqual(0, code, out)
        self.assert_whole(root)

    def test_a_killed_coordinator_finds_its_job_again(self):
        root = self.project(shapes=LONG)
        process = self.start(root, "check", "--on", "cluster")
        self.begun()
        process.send_signal(signal.SIGKILL)
        self.end_of(process)
        code, out = self.dent(root, "attach", "latest")
        self.assertEqual(0, code, out)
        self.assert_whole(root)

    def test_a_cancelled_job_ends_and_leaves_nothing(self):
        root = self.project(shapes=LONG)
        code, out = self.dent(root, "check", "--on", "cluster", "--detach")
        self.assertEqual(0, code, out)
        self.begun()
        self.assertIn("RUNNING", self.dent(root, "jobs")[1])
        self.assertEqual(0, self.dent(root, "cancel", "latest")[0])
        wait_until(lambda: "CANCELLED" in self.dent(root, "jobs")[1], PATIENCE, "it is not cancelled")

    def test_too_little_memory_is_a_recorded_result(self):
        root = self.project(executor='setup = "head -c 900000000 /dev/zero | tail -c 800000000 | sleep 30"')
        code, out = self.dent(root, "check", "--on", "cluster")
        self.assertEqual(INTERRUPTED, code, out)
        self.assertIn("OUT_OF_MEMORY", out)

    def test_a_clock_that_is_an_hour_ahead_changes_nothing(self):
        library = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
        if not library:
            self.skipTest("faketime is not installed")
        root = self.project(executor=f'envs = {{ LD_PRELOAD = "{library}", FAKETIME = "+3600", DONT_FAKE_MONOTONIC = "1" }}')
        code, out = self.dent(root, "check", "--on", "cluster")
        self.assertEqual(0, code, out)
        self.assert_whole(root)

    def test_what_slurm_refuses_is_an_error_with_its_words(self):
        root = self.project()
        manifest = root / "dent.toml"
        manifest.write_text(manifest.read_text().replace("slurm = { ", 'slurm = { partition = "none", '))
        code, out = self.dent(root, "check", "--on", "cluster")
        self.assertEqual(3, code, out)
        self.assertIn("invalid partition", out.lower())


class ControllerTest(OnSlurm):
    """A cluster of its own: numbers of jobs are given twice after it, and a node that has seen one refuses it and is drained."""

    def test_a_killed_controller_is_waited_for(self):
        """It may have forgotten the slot, which it saves every few seconds, give its number away and drain the node."""
        root = self.project(shapes=LONG)
        process = self.start(root, "check", "--on", "cluster")
        self.begun()
        self.cluster.kill("slurmctld")
        wait_until(lambda: "does not answer" in process.printed.read_text() or process.poll() is not None, PATIENCE,
                   "dent has not missed it")
        self.cluster.start("slurmctld")
        code, out = self.end_of(process)
        self.assertEqual(0, code, out)
        self.assert_whole(root)


if __name__ == "__main__":
    run_tests()
