#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A proposer that thinks by rule: the smallest program that can drive `dent optimize`, in an agent's place.

dent starts it in a worktree, gives it the brief on stdin, and takes its answer from stdout. It climbs the rungs that the
manifest offers, then makes the one edit of sources that it knows, then says that it has no more ideas. The same brief gives the same
answer: all that it remembers is in the brief's history.

    [optimize]
    command = "python3 proposer.py"
"""

import json
import pathlib
import sys

EDIT = ("vector.cpp", "#define TILE_ROWS 2", "#define TILE_ROWS 4")


def answer(brief):
    tried = {past.get("variant") for past in brief["history"]}
    edited = any("files" in past for past in brief["history"])
    now = brief["incumbent"]["variant"]
    for rung in brief["variants"]:
        if rung["name"] not in tried and rung["name"] != now:
            return {"bottleneck": f"{brief['phase']}: {now} is at {brief['speedup']:.2f}x of the baseline",
                    "change": rung["about"], "expected": "faster on every shape", "variant": rung["name"]}
    file, before, after = EDIT
    source = pathlib.Path(file).read_text()
    if not edited and now == "vector" and before in source:
        pathlib.Path(file).write_text(source.replace(before, after))
        return {"bottleneck": "too little work between two loads", "change": f"{before} -> {after}",
                "expected": "up to 1.5x: each vector of keys is used by four rows", "files": [file]}
    return {"done": True, "reason": f"{len(brief['history'])} changes tried"}


if __name__ == "__main__":
    print(json.dumps({**answer(json.load(sys.stdin)), "usd": 0.0, "input_tokens": 0, "output_tokens": 0}))
