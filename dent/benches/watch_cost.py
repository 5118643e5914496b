# SPDX-License-Identifier: MIT
"""What does the live page cost a measurement?

    watch_cost.py <dent> [--pairs 200] [--browser] [--quick] [--json FILE]

Takes the same kernel through `dent bench` with and without a `dent watch` that somebody reads, in random order, and
compares the times of a call. Without --browser the reader is this process; with it, a headless chromium beside it, which
is a program of its own and may cost what it likes. --quick only shows that it works: short, and one shape. Prints the median ratio (with / without) and its 95 % interval. Run it
on a quiet machine.
"""

import argparse
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "watch"))
import browser


class Reader:
    """A `dent watch` on the project, and somebody who reads it."""

    def __init__(self, dent, project, with_browser):
        command = [dent, "watch", "-p", project, "--port", "0"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        url = self.server.stdout.readline().split(" at ")[1].split()[0]
        self.page = browser.Browser() if with_browser else None
        if self.page:
            self.page.open(url)
        self.stream = urllib.request.urlopen(url + "events")
        self.events = 0
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            for line in self.stream:
                self.events += line.startswith(b"event: part")
        except (OSError, ValueError):
            pass  # the server has ended

    def end(self):
        if self.page:
            self.page.close()
        self.server.terminate()
        self.server.wait()
        self.server.stdout.close()
        self.thread.join(10)
        return self.events


def call_ns(dent, project, quick):
    command = [dent, "bench", "-p", project, "--json", "-q", *(["--shape", "tiny"] if quick else [])]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    shapes = json.loads(said.stdout)["report"]["comparisons"]
    if not shapes:
        raise SystemExit(f"nothing was measured: {said.stdout}{said.stderr}")
    return math.exp(sum(math.log(one["candidate_ns"]) for one in shapes) / len(shapes))


def median_interval(values):
    """The median, and order statistics that enclose it in 95 of 100 cases."""
    values, n = sorted(values), len(values)
    below, rank = 0.0, 0
    for k in range(n // 2):
        below += math.comb(n, k) / 2**n
        if 2 * below > 0.05:
            break
        rank = k + 1
    centre = values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2
    return centre, values[rank - 1], values[n - rank]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dent", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.pairs < 6:
        parser.error("fewer than 6 pairs have no 95 % interval")
    dent = str(options.dent.resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dent-watch-cost-"))
    project, ratios, events = folder / "project", [], 0
    try:
        subprocess.run([dent, "init", "attention", str(project)], check=True, stdout=subprocess.DEVNULL)
        with (project / "dent.toml").open("a") as manifest:
            manifest.write(f"\n[performance]\nseconds = {0.1 if options.quick else 1}\nbaseline_within = 50\n")
        call_ns(dent, project, options.quick)  # builds
        for pair in range(options.pairs):
            times = {}
            for watched in random.sample([True, False], 2):
                reader = Reader(dent, project, options.browser) if watched else None
                times[watched] = call_ns(dent, project, options.quick)
                events += reader.end() if reader else 0
            ratios.append(times[True] / times[False])
            print(f"{pair + 1} of {options.pairs}: {ratios[-1]:.4f}", file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    centre, low, high = median_interval(ratios)
    found = {"pairs": len(ratios), "ratio": centre, "low": low, "high": high, "parts_sent": events, "browser": options.browser}
    print(f"with / without: {centre:.4f} ({low:.4f} to {high:.4f}, 95 %) over {len(ratios)} pairs; {events} parts were sent")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


main()
