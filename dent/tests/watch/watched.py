# SPDX-License-Identifier: MIT
"""A project with a recorded loop in it, and a `dent watch` that serves it."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time

SESSION = "20260101-000000-000"
# Text that a candidate may write into its sources, and that the page must not execute.
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
PATCH = f"""diff --git a/kernel.cpp b/kernel.cpp
--- a/kernel.cpp
+++ b/kernel.cpp
@@ -1,2 +1,2 @@
-for (int i = 0; i < n; ++i) y[i] = 2 * x[i];  // {HOSTILE}
+for (int i = 0; i < n; i += 4) store(y + i, load(x + i) * 2);
"""
MANIFEST = """version = 1
name = "scale"
shapes = [{{ name = "tiny", n = 37 }}, {{ name = "small", n = 1000 }}]
[kernel]
library = "{0}"
entry = "right"
[baseline.plain]
library = "{0}"
entry = "right"
[operator]
name = "scale"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ library = "{0}", entry = "reference" }}
[performance]
seconds = 0.5
same_within = 0.5
precision = 0.9
baseline_within = 50
[correctness]
seeds = 1
[budget]
minutes = 30
"""


def wait_for(ask, what, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(0.1)
    raise AssertionError(f"after {seconds} s still not: {what}")


class Watched:
    def __init__(self, dent, kernels):
        self.dent = dent
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dent-watch-"))
        (self.folder / "dent.toml").write_text(MANIFEST.format(kernels))
        session = self.folder / ".dent" / "sessions" / SESSION
        (session / "artifacts" / "patches").mkdir(parents=True)
        golden = pathlib.Path(__file__).parent.parent / "records" / "golden" / "optimize.jsonl"
        shutil.copy(golden, session / "ledger.jsonl")
        for number in range(1, 5):
            (session / "artifacts" / "patches" / f"{number:03}.patch").write_text(PATCH)
        self.server = None
        self.port = 0
        self.start()

    def start(self):
        """At the port that it had before, if any."""
        self.server = subprocess.Popen(
            [self.dent, "watch", "-p", self.folder, "--json", "--port", str(self.port)],
            stdout=subprocess.PIPE,
            text=True,
        )
        text = ""
        while line := self.server.stdout.readline():
            text += line
            if line == "}\n":
                break
        self.url = json.loads(text)["url"]
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def stop(self):
        self.server.terminate()
        code = self.server.wait(30)
        self.server.stdout.close()
        return code

    def run(self):
        """A session of its own, to be watched."""
        return subprocess.Popen(
            [self.dent, "run", "-p", self.folder, "-q", "--without", "profile"], stdout=subprocess.DEVNULL
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server.poll() is None:
            self.server.kill()
            self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
