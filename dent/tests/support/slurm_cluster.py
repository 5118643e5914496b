# SPDX-License-Identifier: MIT
"""A Slurm cluster on loopback: munged, slurmctld and two slurmd, with configuration and state of its own.

    slurm_cluster.py [--forget SECONDS] [--cgroup]

As a program it speaks fixture.py's language. Nodes n1 and n2 have two processors and two GPUs each, which are stand-in device
files. Jobs of the partition `high` preempt those of `low`, the default. Each node is a machine that can be lost. `--forget`: how
long a job that has ended is known. `--cgroup`: memory is limited by cgroups, as on most clusters; else by Slurm's own look at it.
"""

import argparse
import contextlib
import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

from fixture import serve
from machine import Machine, Unavailable, require, wait_until

NODES = ("n1", "n2")
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def daemon(name):
    return shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


def free_ports(count):
    """All held before the first is given away, so that they differ."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class SlurmCluster:
    def __init__(self, forget=300, cgroup=False):
        require("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
        if cgroup and not (os.geteuid() == 0 and os.access(CGROUPS / "memory/cgroup.procs", os.W_OK)):
            raise Unavailable("limits by cgroups need root and a writable version 1 hierarchy")
        self.cgroup = cgroup
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dent-slurm-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.machines = {}
        try:
            self.write(forget)
            for name in ("control", *NODES):
                self.machines[name] = Machine()
            self.machines["control"].start("munged", [
                daemon("munged"), "--foreground", "--force", f"--socket={self.folder}/munge.sock",
                f"--key-file={self.folder}/munge.key", f"--pid-file={self.folder}/munged.pid",
                f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed", "--num-threads=2"],
                self.folder / "munged.out")
            wait_until((self.folder / "munge.sock").exists, 60, "munged does not listen")
            self.start("slurmctld")
            for node in NODES:
                self.start(node)
            self.wait_for_nodes()
        except BaseException:
            self.__exit__()
            raise

    def write(self, forget):
        at = self.folder
        user = getpass.getuser()
        host = socket.gethostname().split(".")[0]
        controller, *nodes = free_ports(1 + len(NODES))
        (at / "state").mkdir()
        with open(os.open(at / "munge.key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
            key.write(os.urandom(128))
        if os.geteuid() == 0:
            (at / "dev").mkdir()
            for number in (0, 1):
                os.mknod(at / f"dev/nvidia{number}", 0o020666, os.makedev(1, 3))
            devices = [f"{at}/dev/nvidia[0-1]"]
        else:
            devices = ["/dev/null", "/dev/zero"]
        (at / "gres.conf").write_text("".join(f"NodeName=n[1-2] Name=gpu File={device}\n" for device in devices))
        if self.cgroup:
            (at / "cgroup.conf").write_text(f"""CgroupPlugin=cgroup/v1
CgroupMountpoint={CGROUPS}
CgroupAutomount=no
ConstrainRAMSpace=yes
ConstrainDevices=no
""")
        (at / "slurm.conf").write_text(f"""ClusterName=dent
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={at}/munge.sock
CredType=cred/munge
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd-%n.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd-%n.log
ProctrackType=proctrack/{"cgroup" if self.cgroup else "linuxproc"}
TaskPlugin=task/{"cgroup" if self.cgroup else "none"}
SwitchType=switch/none
MpiDefault=none
ReturnToService=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={at}/jobcomp.txt
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
DefMemPerCPU=200
{"" if self.cgroup else "JobAcctGatherParams=OverMemoryKill"}
MinJobAge={forget}
KillWait=2
SlurmdTimeout=3
SlurmctldTimeout=10
InactiveLimit=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
""" + "".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=2000 Gres=gpu:2\n"
              for node, port in zip(NODES, nodes)) + f"""
PartitionName=low Nodes={",".join(NODES)} Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=0 MaxTime=INFINITE State=UP
PartitionName=high Nodes={",".join(NODES)} PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
""")

    @property
    def environment(self):
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *argv, check=True):
        """A client of Slurm; what it prints."""
        done = subprocess.run(argv, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{argv} ended with {done.returncode}: {done.stderr}")
        return done.stdout.strip()

    def start(self, name):
        """slurmctld, or the slurmd of a node."""
        conf = str(self.folder / "slurm.conf")
        if name == "slurmctld":
            self.machines["control"].start(name, [daemon(name), "-D", "-f", conf], self.folder / "slurmctld.out")
        else:
            self.machines[name].start("slurmd", [daemon("slurmd"), "-D", "-f", conf, "-N", name], self.folder / f"{name}.out")

    def kill(self, name):
        """The daemon alone: jobs and their slurmstepd live on."""
        if name == "slurmctld":
            self.machines["control"].kill(name)
        else:
            self.machines[name].kill("slurmd")

    def lose(self, node):
        """The node is gone at once, with every process of every job on it, and Slurm notices."""
        self.machines[node].lose()
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=lost")

    def back(self, node):
        if self.machines[node].process.returncode is not None:
            self.machines[node].boot()
        self.start(node)
        self.resume(node)

    def down(self, node):
        """Set down by the administrator: its jobs get SIGTERM."""
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def resume(self, node):
        self.run("scontrol", "update", f"nodename={node}", "state=resume")
        self.wait_for_nodes()

    def wait_for_nodes(self):
        def usable():
            return sum(int(line) for line in self.run("sinfo", "-h", "-p", "low", "-t", "idle,mix,alloc", "-o", "%D",
                                                       check=False).split())
        wait_until(lambda: usable() == len(NODES), 300, f"not all nodes are there: see {self.folder}/slurmctld.log")

    def job(self, number):
        """What Slurm knows of a job: field -> value."""
        line = self.run("scontrol", "show", "job", str(number), "-o")
        return dict(word.split("=", 1) for word in line.split() if "=" in word)

    def processes(self, node):
        """Those of a node, by their numbers outside, slurmd and the node's first one aside."""
        machine = self.machines[node]
        inside = os.readlink(f"/proc/{machine.pid}/ns/pid")
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                own = int(entry.name) == machine.pid or (entry / "comm").read_text() == "slurmd\n"
                if not own and os.readlink(entry / "ns/pid") == inside:
                    found.append(int(entry.name))
        return found

    def facts(self):
        return {"folder": self.folder, "conf": self.folder / "slurm.conf", "completions": self.folder / "jobcomp.txt"}

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for machine in self.machines.values():
            machine.lose()
        if self.cgroup:  # those that slurmd has made, innermost first
            for group in CGROUPS.glob("*/slurm_n[12]"):
                for folder, _, _ in os.walk(group, topdown=False):
                    with contextlib.suppress(OSError):
                        os.rmdir(folder)
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forget", type=int, default=300, metavar="SECONDS")
    parser.add_argument("--cgroup", action="store_true")
    given = parser.parse_args()
    serve(lambda: SlurmCluster(given.forget, given.cgroup), ("start", "kill", "lose", "back", "down", "resume"))
