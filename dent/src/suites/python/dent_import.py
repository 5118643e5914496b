# SPDX-License-Identifier: MIT
"""What readers of task suites have in common. Each is started by `dent import`, in a cell where there can be one: a task
is a program. It writes one line of JSON for each task on descriptor 3: the files of a project, or why there is none.

    reader.py DEVICE MEMORY_BYTES FILE...
"""

import json
import keyword
import math
import os
import pathlib
import re
import signal
import sys
import traceback

import torch

SETS = 8  # of all tensors that dent has in memory at once; gates/preflight says the same
TAKEN = {"name", "weight", "seed", "min", "max", "ceil", "floor", "log2", "sqrt", "stream"}
_REPLIES = 3
_SECONDS = 100  # for one task


class Refused(Exception):
    """Why a task has no project."""


def why(problem):
    lines = [line for line in str(problem).splitlines() if line.strip()]
    text = lines[0].strip() if lines else ""
    return f"{type(problem).__name__}: {text}"[:200] if text else type(problem).__name__


def plain(name, taken):
    """A name for the manifest and for parameters of a C function."""
    word = re.sub(r"\W+", "_", name).strip("_")
    if not word or word[0].isdigit():
        word = "w_" + word
    while word in taken or keyword.iskeyword(word):
        word += "_"
    taken.add(word)
    return word


def needs(gib):
    """Rounded up: what is too large by little may not read as what fits."""
    return f"{math.ceil(10 * gib) / 10:.1f} GiB"


def shown(text, most=200):
    """Foreign text for a person to read: one line, and nothing that a terminal obeys."""
    return "".join(c if c.isprintable() else " " for c in str(text)[:most])


def about(name, suite, notes):
    """README.md of a project. Its manifest holds no text of the task's, not in comments either."""
    text = f"# {name}\n\nWritten by `dent import {suite}`.\n"
    if notes:
        text += "\nWhat differs from the task:\n\n" + "".join(f"- {shown(note)}\n" for note in notes)
    return text


def listed(items):
    return ", ".join(items)


def first_of(items, most=3):
    """For a person: a network has hundreds of buffers."""
    items = list(items)
    more = len(items) - most
    return listed(items[:most]) + (f" and {more} more" if more > 0 else "")


def in_parentheses(items):
    items = list(items)
    return f"({listed(items)}{',' if len(items) == 1 else ''})"


def _answer(project, path, device, memory):
    try:
        return project(path, device, memory)
    except Refused as reason:
        return {"refused": str(reason)}
    except Exception as problem:
        traceback.print_exc()
        return {"refused": why(problem)}


def _in_a_process(project, path, device, memory):
    """What a task does to its process is done to no other."""
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        line = json.dumps({"task": str(path), **_answer(project, path, device, memory)}) + "\n"
        data = line.encode()
        while data:
            data = data[os.write(_REPLIES, data) :]
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status == 0:
        return
    reason = f"its process ended with status {status >> 8}"
    if os.WIFSIGNALED(status):
        word = signal.Signals(os.WTERMSIG(status)).name
        reason = f"took longer than {_SECONDS} s" if word == "SIGALRM" else f"its process died of {word}"
    os.write(_REPLIES, (json.dumps({"task": str(path), "refused": reason}) + "\n").encode())


def main(project):
    """`project(path, device, memory)` returns a project's name, files, shapes and notes, or raises Refused."""
    torch.set_num_threads(1)
    device, memory = sys.argv[1], int(sys.argv[2])
    for path in sys.argv[3:]:
        _in_a_process(project, pathlib.Path(path), device, memory)
