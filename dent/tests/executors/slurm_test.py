# SPDX-License-Identifier: MIT
"""dent on a real Slurm cluster, with each fault injected for real.

    slurm_test.py <dent> <library of test kernels> [unittest's own arguments]
"""

import contextlib
import ctypes
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
CLONE_NEWNS = 0x00020000
PATIENCE = 600  # seconds that anything may take on a busy machine: no test passes or fails by how long it took


def cluster(**options):
    try:
        return SlurmCluster(**options)
    except Unavailable as why:
        raise unittest.SkipTest(str(why)) from None


class OnSlurm(unittest.TestCase):
    """A cluster for the class, a project for each test."""

    options = {}
    idle_seconds = 30

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
workdir = "{self.shared()}"
slurm = {{ extra = ["--mem=500"] }}
idle_seconds = {self.idle_seconds}
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
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        """Of a test that failed, or of one that was not asked for."""
        process.terminate()  # dent is two processes, one of which looks after the other
        process.wait(timeout=PATIENCE)

    def dent(self, root, *words):
        return self.end_of(self.start(root, *words))

    @staticmethod
    def end_of(process):
        return process.wait(timeout=PATIENCE), process.printed.read_text()

    def shared(self):
        """The file system that all nodes see."""
        return self.folder / "shared file system"

    def queue(self):
        return next(self.shared().glob("slurm-cluster-*"), None)

    def slot_log(self):
        return "".join(log.read_text() for log in self.queue().glob("slots/*/log"))

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

    def test_a_slot_that_has_been_idle_for_long_enough_ends(self):
        self.idle_seconds = 1
        self.assertEqual(0, self.dent(self.project(), "check", "--on", "cluster")[0])
        wait_until(lambda: not self.cluster.run("squeue", "-h"), PATIENCE, "it has not ended")
        self.assertIn("JobState=COMPLETED", (self.cluster.folder / "jobcomp.txt").read_text().splitlines()[-1])

    def test_there_are_no_more_slots_than_wanted(self):
        root = self.project(shapes=LONG, executor="slots = 1")
        jobs = [self.start(root, "check", "--on", "cluster") for _ in range(3)]
        wait_until(lambda: self.queue() and len(list(self.queue().glob("jobs/*"))) == 3, PATIENCE, "not all are in the queue")
        self.begun()
        self.assertEqual(1, len(self.cluster.run("squeue", "-h", "-o", "%i").split()))
        for job in jobs:
            code, out = self.end_of(job)
            self.assertEqual(0, code, out)
        self.assertEqual(1, len(list(self.queue().glob("slots/*"))))

    def test_a_slot_has_the_device_that_it_asked_for(self):
        seen = self.folder / "seen"
        root = self.project(executor=f'setup = "echo $CUDA_VISIBLE_DEVICES > \'{seen}\'"')
        manifest = root / "dent.toml"
        manifest.write_text(manifest.read_text().replace("slurm = { ", 'slurm = { gres = "gpu:1", '))
        code, out = self.dent(root, "check", "--on", "cluster")
        self.assertEqual(0, code, out)
        self.assertIn(seen.read_text().strip(), ("0", "1"))
        self.assertIn("gpu:1", self.cluster.job(self.slurm_job())["TresPerNode"])

    def test_sbatch_by_a_template(self):
        """The executor `batch` of the page."""
        page = (pathlib.Path(__file__).parent.parent.parent / "docs/executors.md").read_text()
        block = page[page.index("[executor.batch]"):]
        root = self.project(shapes=LONG, executor=block[:block.index("```")] + f'dent = "{DENT}"\n')
        process = self.start(root, "check", "--on", "batch")
        code, out = self.end_of(process)
        self.assertEqual(0, code, out)
        self.assertTrue(list(self.folder.glob("dent-*.out")))
        self.assertEqual(1, sum(record["kind"] == "verdict" for record in self.records(root)))

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
            with contextlib.suppress(OSError):
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

    def test_a_loop_over_two_slots(self):
        """Start, diagnosis, candidates and winner: all of it is measured there."""
        root = self.folder / "a loop"
        root.mkdir()
        (root / "kernel.cpp").write_text("void scale(const float* x, float* y, int n) {\n"
                                         "  volatile float work = 0;\n"
                                         "  for (int i = 0; i < SPIN * 500; ++i) work = work + 1;\n"
                                         "  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];\n}\n"
                                         'extern "C" double scripted_ns(const char*) { return SPIN * 5e3; }\n')
        entry = 'sources = ["kernel.cpp"], entry = "void scale(const float* x, float* y, int n)"'
        (root / "dent.toml").write_text(f"""version = 1
shapes = [{{ name = "small", n = 64 }}]
kernel = {{ {entry} }}
baseline.slow = {{ {entry}, flags = ["-DSPIN=64"] }}
tunables = {{ SPIN = [64, 16, 1], UNREAD = [0, 1] }}
performance = {{ seconds = 0.2, precision = 0.5, baseline_within = 50 }}
correctness = {{ seeds = 1 }}
[operator]
name = "scale"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ library = "{KERNELS}", entry = "reference" }}
[executor.cluster]
kind = "slurm"
workdir = "{self.folder}/shared file system"
slurm = {{ extra = ["--mem=1000"] }}
""")
        code, out = self.dent(root, "optimize", "-n", "3", "--on", "cluster", "--parallel", "2")
        self.assertEqual(0, code, out)
        records = self.records(root)
        gates = [record for record in records if record["kind"] == "gate"]
        self.assertEqual([], [gate["data"]["step"] for gate in gates if "job" not in gate])
        steps = [gate["data"]["step"] for gate in gates]
        self.assertEqual(len(steps), len(set(steps)), steps)
        self.assertEqual(3, sum(record["kind"] == "outcome" for record in records))
        self.assertEqual([], list(self.queue().glob("jobs/*")))

    def test_what_slurm_refuses_is_an_error_with_its_words(self):
        root = self.project()
        manifest = root / "dent.toml"
        manifest.write_text(manifest.read_text().replace("slurm = { ", 'slurm = { partition = "none", '))
        code, out = self.dent(root, "check", "--on", "cluster")
        self.assertEqual(3, code, out)
        self.assertIn("invalid partition", out.lower())


class ControllerTest(OnSlurm):
    """A cluster of its own: numbers of jobs are given twice after it, and a node that has seen one refuses it and is drained."""

    idle_seconds = 2  # scancel does not reach a slot that the controller has forgotten

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


class FullDiskTest(OnSlurm):
    """A shared file system that is full. It is mounted where only this process and what it starts see it, and goes with them."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a file system for a test needs root")
        if ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
            raise unittest.SkipTest("there can't be a namespace of mounts here")
        cls.disk = pathlib.Path(tempfile.mkdtemp(prefix="dent slurm disk "))
        cls.addClassCleanup(shutil.rmtree, cls.disk, ignore_errors=True)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", cls.disk], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "--lazy", cls.disk], check=True)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.make_room)

    def shared(self):
        return self.disk

    def fill(self):
        with open(self.disk / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))

    def make_room(self):
        (self.disk / "filler").unlink(missing_ok=True)

    def test_a_job_that_can_not_be_put_there_says_why(self):
        root = self.project(executor=f'dent = "{DENT}"')
        self.fill()
        code, out = self.dent(root, "check", "--on", "cluster")
        self.assertEqual(3, code, out)
        self.assertIn("No space left", out)
        self.make_room()
        code, out = self.dent(root, "attach")
        self.assertEqual(0, code, out)

    def test_a_job_that_runs_out_of_it_ends_with_the_cause(self):
        """Its slot waits for room to say so."""
        root = self.project(shapes=LONG, executor=f'dent = "{DENT}"')
        process = self.start(root, "check", "--on", "cluster")
        job = self.begun()
        self.fill()
        wait_until(lambda: "No space left" in (job / "log").read_text() or "No space left" in self.slot_log(), PATIENCE,
                   "nobody has missed it")
        self.make_room()
        code, out = self.end_of(process)
        self.assertEqual(3, code, out)
        self.assertIn("No space left", out)


class TimeLimitTest(OnSlurm):
    """Slurm counts in minutes, so that this begins before the first test and ends behind the last. On a cluster of its own."""

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def begin(cls):
        cls.cluster = cluster()
        unittest.addModuleCleanup(cls.cluster.__exit__)
        cls.first = OnSlurm()
        cls.first.cluster = cls.cluster
        cls.first.setUp()
        unittest.addModuleCleanup(cls.first.doCleanups)
        met = cls.first.folder / "met its limit"
        # The first try ends only when it is killed: the slot can't say any more what has become of it.
        cls.root = cls.first.project(executor=f"""setup = "[ -e '{met}' ] || {{ touch '{met}'; trap '' TERM; while :; do sleep 1; done; }}" """)
        manifest = cls.root / "dent.toml"
        manifest.write_text(manifest.read_text().replace('"--mem=500"', '"--mem=500", "--time=1", "--signal=B:CONT@1"'))
        cls.process = cls.first.start(cls.root, "check", "--on", "cluster")

    def setUp(self):
        pass  # begin() has done it

    def test_a_job_that_meets_its_time_limit_is_tried_again(self):
        code, out = self.end_of(self.process)
        self.assertEqual(0, code, out)
        self.first.assert_whole(self.root)
        self.assertIn("JobState=TIMEOUT", (self.cluster.folder / "jobcomp.txt").read_text())


def setUpModule():
    TimeLimitTest.begin()


if __name__ == "__main__":
    run_tests()
