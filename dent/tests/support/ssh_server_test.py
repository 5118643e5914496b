# SPDX-License-Identifier: MIT
"""The ssh server of the tests does what it says: each fault is seen by a real client, and nothing is left behind."""

import pathlib
import subprocess
import sys
import time
import unittest

from fixture import run_tests
from machine import Unavailable, alive, wait_until
from ssh_server import SshServer


def server(**options):
    try:
        return SshServer(**options)
    except Unavailable as why:
        raise unittest.SkipTest(str(why)) from None


def ssh(at, command, *options):
    return subprocess.run(at.client("ssh", "-n", *options, "box", command), capture_output=True, text=True, timeout=60)


class SshServerTest(unittest.TestCase):
    def at(self, **options):
        at = server(**options)
        self.addCleanup(at.__exit__)
        return at

    def test_a_command_runs_there_and_its_code_comes_back(self):
        at = self.at()
        done = ssh(at, "echo there; exit 14")
        self.assertEqual(("there\n", 14), (done.stdout, done.returncode), done.stderr)
        self.assertEqual(f"{at.folder}/home\n", ssh(at, "echo ~").stdout)

    def test_a_killed_daemon_takes_no_connection_and_no_work_with_it(self):
        at = self.at()
        self.assertEqual(0, ssh(at, "setsid -f sleep 1000 </dev/null >/dev/null 2>&1").returncode)
        at.kill()
        self.assertEqual(0, ssh(at, "pidof sleep").returncode, "the connection that is held open has ended")
        self.assertEqual(255, ssh(at, "true", "-o", "ControlPath=none").returncode)
        at.start()
        self.assertEqual(0, ssh(at, "pidof sleep", "-o", "ControlPath=none").returncode)

    def test_a_dropped_connection_leaves_the_work_alone(self):
        at = self.at()
        client = subprocess.Popen(at.client("ssh", "-n", "box", "echo begun; exec sleep 1000"), stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        self.assertEqual("begun\n", client.stdout.readline())
        at.drop()
        self.assertEqual(255, client.wait(10))
        client.stdout.close()
        self.assertEqual(0, ssh(at, "pidof sleep").returncode)

    def test_a_lost_machine_takes_everything_with_it_and_comes_back(self):
        at = self.at()
        self.assertEqual(0, ssh(at, f"setsid -f sleep 1000 </dev/null >/dev/null 2>&1; touch {at.folder}/kept").returncode)
        there = at.processes()
        self.assertTrue(there)
        at.lose()
        self.assertFalse([pid for pid in there if alive(pid)])
        self.assertEqual(255, ssh(at, "true").returncode)
        at.back()
        self.assertEqual(1, ssh(at, "pidof sleep").returncode)
        self.assertEqual(0, ssh(at, f"test -e {at.folder}/kept").returncode)

    def test_unknown_and_changed_host_keys_are_refused(self):
        at = self.at()
        at.distrust()
        self.assertIn("host key is known for", ssh(at, "true").stderr)
        at.trust()
        self.assertEqual(0, ssh(at, "true", "-o", "ControlPath=none").returncode)
        at.kill()
        at.new_host_key()
        at.start()
        done = ssh(at, "true", "-o", "ControlPath=none")
        self.assertEqual(255, done.returncode)
        self.assertIn("HAS CHANGED", done.stderr)

    def test_a_cut_link_is_noticed_and_heals(self):
        at = self.at(network=True)
        self.assertEqual(0, ssh(at, "setsid -f sleep 1000 </dev/null >/dev/null 2>&1").returncode)
        for end in (at.near, at.machine):  # no way out, whatever is up or down
            routes = subprocess.run(["nsenter", "-t", str(end.pid), "-n", "ip", "route", "show", "default"],
                                    capture_output=True, text=True, check=True)
            self.assertEqual("", routes.stdout)
        client = subprocess.Popen(at.client("ssh", "-n", "box", "echo begun; sleep 1000"), stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        self.assertEqual("begun\n", client.stdout.readline())
        at.cut()
        self.assertEqual(255, client.wait(30))
        client.stdout.close()
        self.assertEqual(255, ssh(at, "true").returncode)
        at.heal()
        self.assertEqual(0, ssh(at, "pidof sleep").returncode)

    def test_a_full_disk_is_full_there_and_nowhere_else(self):
        at = self.at(disk=4)
        size = ssh(at, f"df --output=size -m {at.folder}/disk | tail -n 1").stdout.strip()
        self.assertEqual("4", size)  # before anything is written: the machine's own disk is not for filling
        done = ssh(at, f"head -c 8000000 /dev/zero > {at.folder}/disk/x")
        self.assertIn("No space left on device", done.stderr)
        self.assertEqual([], list((at.folder / "disk").iterdir()))

    def test_a_wrong_clock_is_wrong_there(self):
        at = self.at(clock=3600)
        self.assertAlmostEqual(3600, int(ssh(at, "date +%s").stdout) - time.time(), delta=60)

    def test_its_shared_memory_is_its_own(self):
        """Names in there are made of process numbers, which are the same on every machine of the tests."""
        at = self.at()
        if at.machine.user:
            self.skipTest("a file system for a test needs root")
        name = pathlib.Path(f"/dev/shm/{at.folder.name}")
        self.assertEqual(0, ssh(at, f"touch {name}").returncode)
        self.assertFalse(name.exists())

    def test_it_ends_with_whoever_started_it(self):
        server().__exit__()  # skips where it can't run
        program = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("ssh_server.py")],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        facts = dict(line.rstrip("\n").split(" ", 1) for line in iter(program.stdout.readline, "ready\n"))
        self.assertEqual(0, subprocess.run(["ssh", "-n", "-F", facts["config"], "box",
                                            "setsid -f sleep 1000 </dev/null >/dev/null 2>&1"]).returncode)
        below = int(pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()[0])
        program.kill()  # no chance to tidy up
        program.wait()
        program.stdin.close()
        program.stdout.close()
        wait_until(lambda: not alive(below), 10, "the machine lives on")
        subprocess.run(["rm", "-r", facts["folder"]], check=True)

    def test_as_a_program_it_answers_and_tidies_up(self):
        server().__exit__()
        program = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("ssh_server.py")],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        facts = dict(line.rstrip("\n").split(" ", 1) for line in iter(program.stdout.readline, "ready\n"))
        for line, answer in (("kill", "ok\n"), ("start", "ok\n"), ("explode", "error: ")):
            program.stdin.write(line + "\n")
            program.stdin.flush()
            self.assertTrue(program.stdout.readline().startswith(answer))
        program.stdin.close()
        program.wait(20)
        program.stdout.close()
        self.assertFalse(pathlib.Path(facts["folder"]).exists())


if __name__ == "__main__":
    run_tests()
