# SPDX-License-Identifier: MIT
"""Reads tasks of KernelBench, and writes one line of JSON for each on descriptor 3: the files of a project, or why
there is none. Started by `dent import kernelbench`, in a cell where there can be one: a task is a program.

    dent_kernelbench.py DEVICE MEMORY_BYTES FILE...
"""

import inspect
import math
import pathlib
import re

import dent_import
import dent_task
from dent_import import SETS, TAKEN, Refused, about, first_of, in_parentheses, listed, plain
from dent_kernelbench_check import DTYPES, check, tolerance_of
from dent_kernelbench_sizes import choose_shapes, expression, neighbours

_TRIED = 64 << 20  # bytes of the largest shape on which float32 is held against float64


def forward_names(source, sizes, count):
    """Parameters of Model.forward, for its arguments."""
    module = dent_task.load(source, sizes)
    named = [p.name for p in inspect.signature(module.Model.forward).parameters.values() if p.kind <= 1][1:]
    return [named[i] if i < len(named) else f"input_{i}" for i in range(count)]


def manifest(name, device, shapes, rows, checked, needed):
    head = [
        "# Written by `dent import kernelbench`.",
        "version = 1",
        f'name = "{name}"',
        "shapes = [",
    ]
    for shape, numbers, size in rows["shapes"]:
        weight = ", weight = 0" if shape == "tiny" and len(rows["shapes"]) > 1 else ""
        sizes = listed(f"{key} = {value}" for key, value in numbers.items())
        head.append(f'  {{ name = "{shape}", {sizes}{weight} }},  # {size}')
    where = '\ndevice = "cuda"' if device == "cuda" else ""
    text = "\n".join(head) + f"""
]
[kernel]
python = "candidate:forward"{where}
[baseline.eager]
python = "glue:forward"
[operator]
name = "{name}"
"""
    text += "".join(f"inputs.{row}\n" for row in rows["inputs"])
    text += "".join(f"outputs.{row}\n" for row in rows["outputs"])
    if rows["made"]:
        text += 'inputs_from = { python = "glue:inputs" }\n'
    if rows["parameters"]:
        text += f"parameters = {{ {listed(rows['parameters'])} }}\n"
    text += f'reference = {{ python = "glue:forward", dtype = "{checked.reference}" }}\n'
    text += tolerance_of(checked)
    if device == "cuda":
        text += "[correctness]\ndeterministic = false  # cuDNN adds up some gradients and transposed convolutions in any order\n"
    text += f"[limits]\nmemory_gib = {needed}\nload_seconds = 120\n"
    return text + '[optimize]\nprotect = ["task.py", "dent_task.py"]\n'


def glue(task, names, weights, keys, checked, made):
    given, sizes = listed(names + weights), listed(keys.values())
    arguments = listed(repr(value) for value in checked.arguments)
    inputs, state, values = in_parentheses(names), in_parentheses(weights), in_parentheses(keys.values())
    text = f'''"""What dent calls of task.py: its model in PyTorch as the baseline and, in float64, as the reference."""

import pathlib

from dent_task import Task

_task = Task(
    pathlib.Path(__file__).with_name("task.py").read_text(),
    scale={tuple(keys)!r},
    weights={tuple(checked.weights)!r},
    arguments=[{arguments}],
    made={tuple(made)!r},
)


def forward({given}, {sizes}):
    return _task.forward({inputs}, {state}, {values})
'''
    if made:
        text += f'''

def inputs(seed, {sizes}):
    return _task.inputs(seed, {values})
'''
    candidate = f'''"""The candidate: to begin with, the task's own model. Change it, or let [kernel] in dent.toml name another."""

import glue


def forward({given}, {sizes}):
    return glue.forward({given}, {sizes})
'''
    return text, candidate


def project(path, device, memory):
    source = path.read_text()
    for part in ("class Model", "def get_inputs", "def get_init_inputs"):
        if part not in source:
            raise Refused(f"no `{part}`: is it a task of KernelBench?")
    shapes, notes = choose_shapes(source, device, memory)
    checked = check(source, shapes)
    first = shapes[0][2]
    if small := [sizes for _, sizes, seen in shapes[1:] if seen.bytes() <= _TRIED]:
        checked.compare_at(source, small[-1])
    if any(dtype not in DTYPES for _, dtype in first.tensors()):
        raise Refused("tensors of a type that dent does not have")
    if any(0 in shape for _, _, seen in shapes for shape, _ in seen.tensors()):
        raise Refused("a tensor without elements")
    taken = set(TAKEN)
    keys = {name: plain(name, taken) for name in dent_task.sizes_of(source)}
    all_names = forward_names(source, shapes[0][1], len(checked.arguments))
    names = [plain(n, taken) for n, value in zip(all_names, checked.arguments) if value is None]
    parameters = [
        f"{plain(n, taken)} = {float(value)!r}" for n, value in zip(all_names, checked.arguments) if value is not None
    ]
    weights = [plain(name, taken) for name in checked.weights]
    own = [{} for _ in shapes]  # sizes of a shape that follow from no other
    samples = shapes + neighbours(source, shapes[0][1], first)

    def dimensions(name, of):
        texts = []
        for i in range(len(of(first)[0])):
            values = [of(seen)[0][i] for _, _, seen in samples]
            text = expression(values, samples, keys)
            if text is None:
                text = plain(f"{name}_{i}", taken)
                for sizes, value in zip(own, values):
                    sizes[text] = value
            texts.append(f'"{text}"')
        return listed(texts or ['"1"'])

    rows = {"inputs": [], "outputs": [], "parameters": parameters}
    made = []
    for i, name in enumerate(names):
        fill = checked.fills[i] or "python"
        if fill == "python":
            made.append(i)
        dtype = DTYPES[first.inputs[i][1]]
        shape = dimensions(name, lambda seen, i=i: seen.inputs[i])
        rows["inputs"].append(f'{name} = {{ dtype = "{dtype}", shape = [{shape}], fill = "{fill}" }}')
    for i, (name, state) in enumerate(zip(weights, checked.weights)):
        made.append(len(names) + i)
        shape = dimensions(name, lambda seen, state=state: seen.state[state])
        dtype = DTYPES[first.state[state][1]]
        rows["inputs"].append(
            f'{name} = {{ dtype = "{dtype}", shape = [{shape}], fill = "python", constant = true }}'
        )
    for i in range(len(first.outputs)):
        name = plain("out" if len(first.outputs) == 1 else f"out_{i}", taken)
        shape = dimensions(name, lambda seen, i=i: seen.outputs[i])
        rows["outputs"].append(f'{name} = {{ dtype = "{DTYPES[first.outputs[i][1]]}", shape = [{shape}] }}')
    rows["made"] = made
    rows["shapes"], report = [], []
    for (shape, sizes, seen), more in zip(shapes, own):
        needed = SETS * seen.bytes() / 2**30 + 0.5
        numbers = {**{keys[key]: value for key, value in sizes.items()}, **more}
        rows["shapes"].append((shape, numbers, f"{seen.bytes() / 2**20:.3g} MiB of tensors"))
        report.append({"name": shape, "bytes": seen.bytes(), "needed_gib": needed})
    if checked.dropout:
        notes.append("dropout is switched off: an output that is random can't be wrong")
    if checked.written:
        notes.append(f"not among the inputs, since the model writes to them: {first_of(checked.written)}")
    if checked.why_not_double:
        notes.append(f"its reference is PyTorch in float32: {checked.why_not_double}")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", path.stem)
    most = max(8, math.ceil(max(row["needed_gib"] for row in report)))
    toml = manifest(name, device, shapes, rows, checked, most)
    called, candidate = glue(path, names, weights, keys, checked, made)
    files = {"dent.toml": toml, "task.py": source, "glue.py": called, "candidate.py": candidate}
    files["README.md"] = about(name, "kernelbench", notes)
    files["dent_task.py"] = pathlib.Path(dent_task.__file__).read_text()
    return {"name": name, "files": files, "shapes": report, "notes": notes}


if __name__ == "__main__":
    dent_import.main(project)
