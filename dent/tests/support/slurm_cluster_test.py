# SPDX-License-Identifier: MIT
"""The Slurm cluster of the tests does what it says. One cluster serves all but the last two tests."""

import pathlib
import subprocess
import sys
import unittest

from fixture import run_tests
from machine import Unavailable, alive, wait_until
from slurm_cluster import NODES, SlurmCluster


def cluster(**options):
    try:
        return SlurmCluster(**options)
    except Unavailable as why:
        raise unittest.SkipTest(str(why)) from None


class SlurmClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.at = cluster()
        cls.addClassCleanup(cls.at.__exit__)

    def tearDown(self):
        self.at.run("scancel", "-u", str(pathlib.Path(self.at.folder).owner()), check=False)
        wait_until(lambda: not self.at.run("squeue", "-h", check=False), 30, "jobs are left")

    def submit(self, script, *options):
        return self.at.run("sbatch", "--parsable", f"--output={self.at.folder}/job-%j", "--open-mode=append", *options,
                           "--wrap", script)

    def output(self, job):
        file = self.at.folder / f"job-{job}"
        return file.read_text() if file.exists() else ""

    def state(self, job, *states):
        return wait_until(lambda: self.at.job(job)["JobState"] in states and self.at.job(job), 60, f"job {job}: {self.at.job(job)}")

    def prints(self, job, text):
        wait_until(lambda: text in self.output(job), 60, f"job {job} does not print {text}: {self.at.job(job)}")

    def test_a_job_gets_one_gpu_and_gives_its_code(self):
        job = self.submit("echo gpu $CUDA_VISIBLE_DEVICES; exit 14", "--gres=gpu:1")
        self.assertEqual("14:0", self.state(job, "FAILED")["ExitCode"])
        self.assertIn("gpu 0", self.output(job))

    def test_jobs_on_one_node_get_different_gpus(self):
        jobs = [self.submit("echo gpu $CUDA_VISIBLE_DEVICES; sleep 2", "--gres=gpu:1", "-w", "n1") for _ in (0, 1)]
        for job in jobs:
            self.state(job, "COMPLETED")
        self.assertEqual({"gpu 0\n", "gpu 1\n"}, {self.output(job) for job in jobs})

    def test_a_requeued_job_runs_again_and_knows_it(self):
        job = self.submit("echo restart ${SLURM_RESTART_COUNT:-0}; exec sleep 1000")
        self.prints(job, "restart 0")
        self.at.run("scontrol", "requeue", job)
        # It would wait two minutes: Reason=BeginTime.
        self.state(job, "PENDING")
        self.at.run("scontrol", "update", f"jobid={job}", "StartTime=now")
        self.prints(job, "restart 1")

    def test_a_job_of_the_higher_partition_preempts(self):
        low = self.submit("trap 'echo TERM; exit 14' TERM; echo begun; sleep 1000 & wait", "-N", "2", "--exclusive")
        self.prints(low, "begun")
        high = self.submit("true", "-p", "high", "-N", "2", "--exclusive")
        self.state(high, "COMPLETED")
        self.assertIn("TERM", self.output(low))
        self.assertEqual("1", self.state(low, "PENDING")["Restarts"])

    def test_a_killed_controller_finds_its_jobs_again(self):
        job = self.submit("echo begun; sleep 1000")
        self.prints(job, "begun")
        saved = self.at.folder / "state/job_state"  # written every 5 s or so after a change; what is younger is forgotten
        before = saved.stat().st_mtime if saved.exists() else 0
        self.at.run("scontrol", "update", f"jobid={job}", "comment=changed")
        wait_until(lambda: saved.exists() and saved.stat().st_mtime > before, 30, "the state is not saved")
        self.at.kill("slurmctld")
        self.at.start("slurmctld")
        self.at.wait_for_nodes()
        self.assertEqual("RUNNING", self.at.job(job)["JobState"])

    def test_a_killed_slurmd_finds_its_jobs_again(self):
        job = self.submit("echo begun; sleep 3; echo ended", "-w", "n2")
        self.prints(job, "begun")
        self.at.kill("n2")
        self.at.start("n2")
        self.prints(job, "ended")
        self.state(job, "COMPLETED")

    def test_a_lost_node_loses_its_jobs_and_comes_back(self):
        job = self.submit("echo begun; setsid sleep 1000", "-w", "n2", "--no-requeue")
        self.prints(job, "begun")
        there = self.at.processes("n2")
        self.assertTrue(there)
        self.at.lose("n2")
        self.assertFalse([pid for pid in there if alive(pid)])
        self.state(job, "NODE_FAIL")
        self.at.back("n2")
        self.state(self.submit("true", "-w", "n2"), "COMPLETED")

    def test_a_node_set_down_ends_its_jobs(self):
        job = self.submit("trap 'echo TERM; exit 14' TERM; echo begun; sleep 1000 & wait", "-w", "n2", "--no-requeue")
        self.prints(job, "begun")
        self.at.down("n2")
        self.state(job, "NODE_FAIL")
        self.prints(job, "TERM")
        self.at.resume("n2")

    def test_a_job_over_its_memory_is_killed(self):
        job = self.submit("head -c 300000000 /dev/zero | tail -c 250000000 | sleep 60", "--mem=50")
        self.assertEqual("0:9", self.state(job, "FAILED")["ExitCode"])
        self.assertIn("exceeded memory limit", self.output(job))


class SlurmClusterAloneTest(unittest.TestCase):
    def test_by_cgroups_a_job_over_its_memory_is_named(self):
        at = cluster(cgroup=True)
        self.addCleanup(at.__exit__)
        job = at.run("sbatch", "--parsable", "--output=/dev/null", "--mem=50", "--wrap",
                     "head -c 300000000 /dev/zero | tail -c 250000000 >/dev/null")
        wait_until(lambda: at.job(job)["JobState"] == "OUT_OF_MEMORY", 60, f"job {job}: {at.job(job)}")

    def test_it_ends_with_whoever_started_it(self):
        cluster().__exit__()  # skips where it can't run
        program = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("slurm_cluster.py")],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        facts = dict(line.rstrip("\n").split(" ", 1) for line in iter(program.stdout.readline, "ready\n"))
        machines = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        self.assertEqual(1 + len(NODES), len(machines))
        program.kill()  # no chance to tidy up
        program.wait()
        program.stdin.close()
        program.stdout.close()
        wait_until(lambda: not any(alive(pid) for pid in machines), 10, "a machine lives on")
        subprocess.run(["rm", "-r", facts["folder"]], check=True)


if __name__ == "__main__":
    run_tests()
