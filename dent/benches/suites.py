#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Task suites that others have published: what imports, and what dent says of their own references.

    suites.py imports NAME@COMMIT=TABLE.json...     TABLE.json: what `dent import SUITE PATH --json` printed
    suites.py verdicts FOLDER       of the projects below a folder that `dent suite run FOLDER` has measured, with the candidate
                                    as imported: the suite's own reference, which is as fast as itself

Prints one JSON document, which scripts/write-results reads: dent/docs/results/suites_import.json, suites_same_GPU.json.
"""

import argparse
import collections
import datetime
import json
import subprocess
import sys
from pathlib import Path

SHAPE = ("shape", "verdict", "ratio", "candidate_ns", "baseline_ns", "pairs", "clock", "reason")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def imports(tables):
    suites = []
    for table in tables:
        name, _, file = table.rpartition("=")
        name, _, commit = name.partition("@")
        document = json.loads(Path(file).read_text())
        refused = [task for task in document["tasks"] if task.get("refused")]
        suites.append(
            {
                "suite": name or document["suite"],
                "commit": commit,
                "imported": document["imported"],
                "of": len(document["tasks"]),
                "refused": [{"task": Path(task["task"]).stem, "why": task["refused"]} for task in refused],
            }
        )
    return {"suites": suites}


def verdicts(folder, dent):
    # Its exit code says whether all are right and were reached, which the rows say too.
    shown = subprocess.run([dent, "suite", "show", str(folder), "--json"], capture_output=True, text=True)
    suite = json.loads(shown.stdout)
    rows = []
    for row in suite["rows"]:
        if row.get("verdict") == "INTERRUPTED":
            continue  # not reached
        one = {"task": row["project"], "verdict": row.get("verdict", "NONE"), "reason": row["reason"]}
        one["seconds"] = row["seconds"]
        report = folder / row["project"] / ".dent" / "sessions" / (row.get("session") or "-") / "report.json"
        if report.exists():
            compared = json.loads(report.read_text())["comparisons"]
            one["shapes"] = [{key: shape.get(key) for key in SHAPE} for shape in compared]
        rows.append(one)
    counts = collections.Counter(row["verdict"] for row in rows)
    return {
        "gpu": output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
        "run": len(rows),
        "same": counts["SAME"],
        "verdicts": dict(counts),
        "rows": rows,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("imports", "verdicts"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--dent", default="dent", help="the program")
    arguments = parser.parse_args()
    found = (
        imports(arguments.paths) if arguments.what == "imports" else verdicts(Path(arguments.paths[0]), arguments.dent)
    )
    about = {
        "date": datetime.date.today().isoformat(),
        "torch": output_of(sys.executable, "-c", "import torch; print(torch.__version__)"),
    }
    json.dump({**about, **found}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
