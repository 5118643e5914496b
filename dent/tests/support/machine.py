# SPDX-License-Identifier: MIT
"""A machine of the tests: processes in namespaces of their own (pids, mounts, if asked for the network).

Its daemons can be started and killed one by one; killed as a whole, nothing of it lives on, whatever has called setsid. It dies
with whoever started it, since its first process ends when the pipe to it is closed. Nothing of the system outside is changed.
Works as root and, where user namespaces are allowed, as an ordinary user; Unavailable says why where it does not.

    with Machine() as machine:
        machine.start("sshd", ["/usr/sbin/sshd", "-D", "-f", config], log)
        machine.kill("sshd")
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time


class Unavailable(Exception):
    """The fixture can't be had here; the text says why. Tests skip with it."""


def require(*programs):
    for program in programs:
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            raise Unavailable(f"{program} is not installed (scripts/install-deps installs it)")


def wait_until(condition, seconds, what):
    """What `condition` returns, as soon as that is true."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"after {seconds} s: {what}")
        time.sleep(0.02)


def alive(pid):
    """Whether the process runs. A zombie does not."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    return False


class Machine:
    def __init__(self, network=False, mounts=()):
        """`network`: one of its own, with nothing but loopback. `mounts`: pairs of a folder and the MiB of a tmpfs over it."""
        require("unshare", "nsenter")
        self.network = network
        self.mounts = list(mounts)
        self.user = os.geteuid() != 0
        if self.user and (network or mounts):
            raise Unavailable("a network or a file system for a test needs root")
        self.boot()

    def boot(self):
        namespaces = ["-m", "-p", "-f", "--mount-proc", "--kill-child=KILL"]
        if self.user:
            namespaces += ["-U", "--map-current-user"]
        if self.network:
            namespaces += ["-n"]
        self.process = subprocess.Popen(["unshare", *namespaces, sys.executable, os.path.abspath(__file__)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if self.process.stdout.readline() != "up\n":
            self.process.wait()
            raise Unavailable("unshare can't make the namespaces of a machine here (are user namespaces allowed?)")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            self.pid = int(children.read().split()[0])  # its first process, as seen from outside
        if not self.user:
            self.ask(mount="/run", mib=8)  # what daemons of root leave there
            self.ask(mount="/dev/shm", mib=64)  # names made of process numbers, which are the same in every machine
        for folder, mib in self.mounts:
            self.ask(mount=folder, mib=mib)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the machine is gone"}')
        if "error" in answer:
            raise RuntimeError(f"{request}: {answer['error']}")
        return answer

    def start(self, name, argv, log, env=None):
        """A daemon that stays in the foreground, known by `name`."""
        self.ask(start=name, argv=argv, log=str(log), env=env or {})

    def kill(self, name, number=signal.SIGKILL):
        """The daemon alone, not what it has started. Waits until it is gone, where the signal is one that ends it."""
        self.ask(kill=name, number=int(number))

    def runs(self, name):
        return self.ask(runs=name)["runs"]

    def entered(self, *argv):
        """The command line that runs `argv` inside."""
        inside = ["-U", "--preserve-credentials"] if self.user else []
        return ["nsenter", "-t", str(self.pid), *inside, "-m", "-p", *(["-n"] if self.network else []), "--", *argv]

    def lose(self):
        """The power fails: every process of it is gone when this returns."""
        self.process.kill()  # unshare, whose death its child does not survive, and with that no process inside
        self.process.wait()
        wait_until(lambda: not alive(self.pid), 10, "the machine does not end")
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.lose()


def first_process():
    """Process 1 inside: does what it is told, buries orphans, and ends when nobody holds the pipe to it any more."""
    daemons = {}  # name -> pid
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *ignored: None)

    def bury():
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, _ = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                for name in [name for name, of in daemons.items() if of == pid]:
                    del daemons[name]

    def start(request):
        with open(request["log"], "ab") as log:
            started = subprocess.Popen(request["argv"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True, env={**os.environ, **request["env"]})
        daemons[request["start"]] = started.pid
        started.returncode = 0  # bury() waits for it

    def kill(request):
        pid = daemons[request["kill"]]
        os.kill(pid, request["number"])
        if request["number"] in (signal.SIGKILL, signal.SIGTERM):
            wait_until(lambda: bury() or pid not in daemons.values(), 10, f"{request['kill']} does not end")

    def obey(request):
        if "mount" in request:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={request['mib']}m,mode=755", "none", request["mount"]],
                           check=True)
        elif "start" in request:
            start(request)
        elif "kill" in request:
            kill(request)
        return {"runs": request.get("runs") in daemons}

    print("up", flush=True)
    waiting = b""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        bury()
        if 0 not in ready:
            continue
        read = os.read(0, 65536)
        if not read:
            os._exit(0)
        *lines, waiting = (waiting + read).split(b"\n")
        for line in lines:
            try:
                answer = obey(json.loads(line))
            except Exception as problem:  # noqa: BLE001: whoever asked gets to see it
                answer = {"error": repr(problem)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    first_process()
