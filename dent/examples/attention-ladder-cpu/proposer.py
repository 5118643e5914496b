#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A proposer that thinks by rule: the smallest program that can drive `dent optimize`, in an agent's place.

dent starts it in a worktree, gives it the brief on stdin, and takes its answer from stdout. It climbs the rungs that the
manifest offers, then takes larger tiles, then makes the one edit of sources that it knows, then has no more ideas. The same
brief gives the same answer: all that it remembers is in the brief's history.

    [optimize]
    command = "python3 proposer.py"
"""

import json
import pathlib
import sys

TILES = {"PANEL_KEYS": "12", "THREADS": "2"}
EDIT = ("panels.cpp", "  Floats y = all(1.5353362e-4F);\n  y = y * f2 + (1.3398874e-3F", "  Floats y = (1.3398874e-3F")


def answer(brief):
    history = brief["history"]
    variants = {past.get("variant") for past in history}
    tunables = {past["assignment"]["tunable"] for past in history if "assignment" in past}
    now = brief["incumbent"]["variant"]
    for rung in brief["variants"]:
        if rung["name"] not in variants and rung["name"] != now:
            return {"bottleneck": f"{brief['phase']}: {now} is at {brief['speedup']:.2f}x of the baseline",
                    "change": rung["about"], "expected": "faster on every shape", "variant": rung["name"]}
    for tunable in brief["tunables"]:
        value = TILES.get(tunable["name"])
        if value in tunable["values"] and value != tunable["now"] and tunable["name"] not in tunables:
            return {"bottleneck": "too little work between two loads", "change": f"{tunable['about']}: {value}",
                    "expected": "up to 1.5x", "tunable": tunable["name"], "value": value}
    file, before, after = EDIT
    source = pathlib.Path(file).read_text()
    if now == "panels" and before in source and not any("files" in past for past in history):
        pathlib.Path(file).write_text(source.replace(before, after))
        return {"bottleneck": "the exponential", "change": "one term of its polynomial less",
                "expected": "a few per cent, within the bound of the result", "files": [file]}
    return {"done": True, "reason": f"{len(history)} changes tried"}


if __name__ == "__main__":
    print(json.dumps({**answer(json.load(sys.stdin)), "usd": 0.0, "input_tokens": 0, "output_tokens": 0}))
