# SPDX-License-Identifier: MIT
"""An sshd on loopback with keys and configuration of its own, on a machine that can be lost.

    ssh_server.py [--network] [--disk MIB] [--clock SECONDS] [--foreign]

As a program it speaks fixture.py's language. `--network`: both ends have a network of their own with no route out of it, and the
link between them can be cut; clients then run by the prefix that the fact `near` gives. `--disk`: the far side's folder
FOLDER/disk is a file system of that size. `--clock`: commands there see a clock that is wrong by so much.
`--foreign`: the far side says that its instruction set is another one; only cmake, which builds for it, learns the truth.
"""

import argparse
import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from fixture import serve
from machine import Machine, Unavailable, require, wait_until

NEAR, FAR = "10.99.77.1", "10.99.77.2"


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


class SshServer:
    def __init__(self, network=False, disk=0, clock=0, foreign=False):
        require("sshd", "ssh", "ssh-keygen")
        if clock:
            require("faketime")
        if network:
            require("ip")
        self.address, self.port = (FAR, 22) if network else ("127.0.0.1", free_port())
        # A short path, as the name of a Unix socket in it has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dent-ssh-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.near = None
        try:
            self.write(clock, self.foreign_path() if foreign else "")
            for name in ("disk", "home"):  # of the far side; the account's own home is nobody's to write to
                (self.folder / name).mkdir()
            self.machine = Machine(network=network, mounts=[(str(self.folder / "disk"), disk)] if disk else [])
            if network:
                self.near = Machine(network=True)
                self.connect()
            self.start()
        except BaseException:
            self.__exit__()
            raise

    def write(self, clock, path):
        at = self.folder
        self.new_host_key()
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at / "id"], check=True)
        shutil.copy(at / "id.pub", at / "authorized_keys")
        self.trust()
        (at / "sshd_config").write_text(f"""Port {self.port}
ListenAddress {self.address}
HostKey {at}/host_key
PidFile none
AuthorizedKeysFile {at}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
LogLevel VERBOSE
SetEnv HOME={at}/home{path}
Subsystem sftp internal-sftp
""" + (f"""ForceCommand exec faketime -f {clock:+d} /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n""" if clock else ""))
        (at / "ssh_config").write_text(f"""Host box
  HostName {self.address}
  Port {self.port}
  User {getpass.getuser()}
  IdentityFile {at}/id
  IdentitiesOnly yes
  UserKnownHostsFile {at}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ControlMaster auto
  ControlPath {at}/cm-%C
  ControlPersist 60
  ServerAliveInterval 1
  ServerAliveCountMax 2
  ConnectTimeout 5
""")
        # ssh takes its configuration from the account's home or from -F, never from a variable: tests put this first in PATH.
        (at / "bin").mkdir()
        (at / "bin/ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {at}/ssh_config "$@"\n')
        (at / "bin/ssh").chmod(0o755)

    def foreign_path(self):
        far_bin = self.folder / "far-bin"
        far_bin.mkdir()
        (far_bin / "uname").write_text("""#!/bin/sh
[ "$*" != -m ] || [ "$(cat /proc/$PPID/comm)" = cmake ] && exec /usr/bin/uname "$@"
echo alpha
""")
        (far_bin / "uname").chmod(0o755)
        return f" PATH={far_bin}:/usr/local/bin:/usr/bin:/bin"

    def new_host_key(self):
        """What a machine that was installed anew has. sshd takes it when it starts."""
        for name in ("host_key", "host_key.pub"):
            (self.folder / name).unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "host_key"], check=True)

    def trust(self):
        """The host's key becomes known, as after a look at its fingerprint."""
        kind, key = (self.folder / "host_key.pub").read_text().split()[:2]
        name = f"[{self.address}]:{self.port}" if self.port != 22 else self.address
        (self.folder / "known_hosts").write_text(f"{name} {kind} {key}\n")

    def distrust(self):
        (self.folder / "known_hosts").write_text("")

    def connect(self):
        """A link between the two networks. Neither has a route to anywhere else."""
        def ip(machine, *words):
            subprocess.run(["nsenter", "-t", str(machine.pid), "-n", "ip", *words], check=True)
        ip(self.near, "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", str(self.machine.pid))
        for machine, link, address in ((self.near, "v0", NEAR), (self.machine, "v1", FAR)):
            ip(machine, "addr", "add", f"{address}/30", "dev", link)
            ip(machine, "link", "set", link, "up")
            ip(machine, "link", "set", "lo", "up")

    def start(self):
        log = self.folder / "sshd.log"
        if not self.machine.user:
            subprocess.run(self.machine.entered("mkdir", "-p", "-m", "755", "/run/sshd"), check=True)
        said = log.read_text().count("Server listening") if log.exists() else 0
        self.machine.start("sshd", [shutil.which("sshd", path="/usr/sbin:/usr/bin:/usr/local/sbin"), "-D", "-e", "-f",
                                    str(self.folder / "sshd_config")], log)
        wait_until(lambda: log.read_text().count("Server listening") > said, 10, f"sshd does not listen: {log.read_text()}")

    def kill(self):
        """sshd alone: connections and work live on."""
        self.machine.kill("sshd")

    def drop(self):
        """Every connection is cut by the far side; sshd and the work live on."""
        for pid in self.processes():
            command = self.command_of(pid)
            if not command.startswith("sshd: ") or "[listener]" in command:
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @staticmethod
    def command_of(pid):
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""

    def processes(self):
        """Those of the far side, by their numbers outside, its first one aside."""
        inside = os.readlink(f"/proc/{self.machine.pid}/ns/pid")
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int(entry.name) != self.machine.pid and os.readlink(entry / "ns/pid") == inside:
                    found.append(int(entry.name))
        return found

    def cut(self):
        self.link("down")

    def heal(self):
        self.link("up")

    def link(self, state):
        if not self.near:
            raise Unavailable("without --network there is no link")
        subprocess.run(["nsenter", "-t", str(self.machine.pid), "-n", "ip", "link", "set", "v1", state], check=True)

    def lose(self):
        """The machine is gone at once, with all that runs there. Its disk is kept, but for --disk."""
        self.machine.lose()

    def back(self):
        """It is there again, on the same port."""
        self.machine.boot()
        if self.near:
            self.near.lose()
            self.near.boot()
            self.connect()
        self.start()

    def client(self, *argv):
        """A command line as it runs on the near side."""
        prefix = ["nsenter", "-t", str(self.near.pid), "-n", "--"] if self.near else []
        return [*prefix, "env", f"PATH={self.folder}/bin:{os.environ['PATH']}", *argv]

    def facts(self):
        return {"folder": self.folder, "host": "box", "config": self.folder / "ssh_config", "path": self.folder / "bin",
                "disk": self.folder / "disk", "home": self.folder / "home", "far_bin": self.folder / "far-bin", "port": self.port,
                "log": self.folder / "sshd.log",
                "near": f"nsenter -t {self.near.pid} -n --" if self.near else "env"}

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for machine in (getattr(self, "machine", None), self.near):
            if machine:
                machine.lose()
        # Clients that hold a connection open end by themselves when it is closed, but not where the link was cut.
        for control in self.folder.glob("cm-*"):
            subprocess.run(["ssh", "-F", self.folder / "ssh_config", "-o", f"ControlPath={control}", "-O", "exit", "box"],
                           stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", action="store_true")
    parser.add_argument("--disk", type=int, default=0, metavar="MIB")
    parser.add_argument("--clock", type=int, default=0, metavar="SECONDS")
    parser.add_argument("--foreign", action="store_true")
    given = parser.parse_args()
    serve(lambda: SshServer(given.network, given.disk, given.clock, given.foreign),
          ("start", "kill", "drop", "cut", "heal", "lose", "back", "new_host_key", "trust", "distrust"))
