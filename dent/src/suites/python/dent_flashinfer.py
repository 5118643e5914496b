# SPDX-License-Identifier: MIT
"""Reads definitions in FlashInfer-Bench's format, which SOL-ExecBench shares. Started by `dent import flashinfer`.

A definition is a JSON file. Its workloads lie in workloads/OP/NAME.jsonl of the same trace set, or beside it in
workload.jsonl; its solutions in solutions/ of the set, or beside it in solution*.json.
"""

import json
import math
import pathlib
import re
import textwrap

import dent_definition
import dent_import
import torch
from dent_definition import DTYPES, axes_of, is_made, scalars_of, shape_of, tensors_of
from dent_import import SETS, TAKEN, Refused, about, in_parentheses, listed, needs, plain

_TOLERANCE = 1e-2  # the suites' own, absolute and relative, where a workload has none
_MOST_ELEMENTS = 10**10  # of one tensor; operators/problem.cpp says the same
_LARGE = 8  # outputs of that size have rounding errors beyond an absolute tolerance
_TRIED = 1 << 29  # bytes of tensors: a smaller shape is run here
_TRIED_WORDS = "0.5 GiB"
# Of axes that a workload gives, where the checkout has none: for a look, and for a measurement.
_AXES = {
    "batch_size": (2, 32),
    "num_seqs": (2, 8),
    "len_indptr": (3, 9),
    "len_cu_seqlens": (3, 9),
    "num_tokens": (3, 128),
    "seq_len": (2, 64),
    "total_q": (6, 2048),
    "total_kv": (10, 2048),
    "total_seq_len": (6, 128),
    "num_kv_indices": (8, 1024),
    "num_pages": (16, 2048),
    "max_num_pages": (40, 64),
    "max_seq_len": (64, 4096),
    "pool_size": (4, 64),
    "state_cache_size": (4, 64),
    "num_qo_heads": (4, 32),
    "num_kv_heads": (2, 8),
    "M": (4, 512),
}
_ANY_AXIS = (3, 256)
_SAMPLING = {"top_k", "top_p"}
_PYTHON = {"python", "triton", "pytorch"}


def trace_set(path):
    """The folder that definitions/ and workloads/ lie in; the definition's own where there is none."""
    for folder in path.parents:
        if folder.name == "definitions":
            return folder.parent
    return path.parent


def workloads_of(path, definition):
    root = trace_set(path)
    places = [path.parent / "workload.jsonl", *sorted(root.glob(f"workloads/**/{definition['name']}.jsonl"))]
    found = []
    for place in places:
        if not place.is_file():
            continue
        for line in place.read_text().splitlines():
            if line.strip():
                row = json.loads(line)
                found.append(row.get("workload", row))
    for workload in found:
        for source in workload["inputs"].values():
            if source.get("type") == "safetensors":
                source["path"] = str((root / source["path"]).resolve())
    return found


def bytes_of(definition, axes):
    total = 0
    for spec in [*definition["inputs"].values(), *definition["outputs"].values()]:
        if spec["shape"] is not None:
            total += math.prod(shape_of(spec, axes)) * getattr(torch, spec["dtype"]).itemsize
    return total


def own_axes(definition, column):
    """Sizes for axes that nobody has given, which keep to the constraints that are equations."""
    var = [name for name, axis in definition["axes"].items() if axis["type"] == "var"]
    axes = {name: _AXES.get(name, _ANY_AXIS)[column] for name in var}
    for constraint in definition.get("constraints") or []:
        found = re.fullmatch(r"(\w+) == (\w+) \+ (\d+)", constraint.strip())
        if found and found.group(1) in axes and found.group(2) in axes:
            axes[found.group(1)] = axes[found.group(2)] + int(found.group(3))
    for source in ("assert T == 1", "assert seq_len == 1"):
        if source in definition["reference"] and "seq_len" in axes:
            axes["seq_len"] = 1
    return axes


class Shape:
    def __init__(self, name, definition, workload):
        self.name, self.workload = name, workload
        self.axes = axes_of(definition, workload["axes"])
        self.bytes = bytes_of(definition, self.axes)
        self.needed = SETS * self.bytes / 2**30 + 0.5  # GiB


def choose_shapes(definition, workloads, memory):
    """A tiny one of our own, and of the workloads the smallest, the median and the largest that fit."""
    notes, room = [], memory / 2**30
    workloads = with_the_same_numbers(definition, workloads, notes)
    first = workloads[0]["inputs"] if workloads else {}
    sources = {name: source for name, source in first.items() if source["type"] != "safetensors"}  # of other sizes
    tiny = Shape("tiny", definition, {"axes": own_axes(definition, 0), "inputs": sources})
    if tiny.needed > room:
        raise Refused(f"needs {needs(tiny.needed)}, and can't be cut to fit {room:.1f} GiB: --memory-gib raises that")
    distinct = {json.dumps(w["axes"], sort_keys=True): w for w in reversed(workloads)}
    shapes = sorted((Shape("", definition, w) for w in distinct.values()), key=lambda shape: shape.bytes)
    fitting = [shape for shape in shapes if shape.needed <= room]
    if len(fitting) < len(shapes):
        most = shapes[-1].needed
        notes.append(f"{len(shapes) - len(fitting)} of {len(shapes)} workloads need up to {needs(most)}; not imported")
    if not fitting:
        own = Shape("medium", definition, {"axes": own_axes(definition, 1), "inputs": sources})
        if not shapes:
            notes.append("no workloads in this checkout: the sizes are dent's own")
        if own.needed > room:
            notes.append(f"a larger shape needs {needs(own.needed)}; cut to the tiny one")
        return ([tiny] if own.needed > room else [tiny, own]), notes
    chosen = {0: "small", len(fitting) // 2: "medium", len(fitting) - 1: "large"}
    for index, name in chosen.items():
        fitting[index].name = name
    chosen = [fitting[index] for index in sorted(chosen)]
    return ([tiny] if tiny.bytes < chosen[0].bytes / 2 else []) + chosen, notes


def default_scalar(definition, name, axes):
    for key in ("head_dim", "head_size"):
        if name in ("sm_scale", "scale") and key in axes:
            return axes[key] ** -0.5
    if name == "sm_scale":
        return 192**-0.5 if "head_dim_ckv" in axes else axes.get("head_dim_qk", 128) ** -0.5
    if name == "eps":
        return 1e-6
    if name == "routed_scaling_factor":
        return 2.5
    if definition["inputs"][name]["dtype"].startswith("int"):
        return 0
    raise Refused(f"no value for the number {name}: the checkout has no workload that gives one")


def numbers_in(definition, workload):
    given = workload["inputs"]
    return {name: given[name]["value"] for name in scalars_of(definition) if "value" in given.get(name, {})}


def with_the_same_numbers(definition, workloads, notes):
    """Those whose numbers most of them have: dent's numbers belong to the operator, not to a shape. Some were written
    as float32, others as float64."""
    numbers = [numbers_in(definition, workload) for workload in workloads]
    kinds = [", ".join(f"{name} = {value:.6g}" for name, value in sorted(each.items())) for each in numbers]
    if len(set(kinds)) < 2:
        return workloads
    usual = max(sorted(set(kinds)), key=kinds.count)
    kept = [workload for workload, kind in zip(workloads, kinds) if kind == usual]
    notes.append(f"{len(workloads) - len(kept)} of {len(workloads)} workloads have other numbers than {usual}; left out")
    return kept


class Checked:
    """The smallest shape, run on this machine's CPU."""

    def __init__(self, definition, shape, numbers, made):
        code = dent_definition.Definition.__new__(dent_definition.Definition)
        code.definition, code.workloads = definition, {shape.name: shape.workload}
        code.code, code.names = dent_definition.load(definition["reference"]), list(definition["inputs"])
        torch.manual_seed(1)
        tensors = {name: self._drawn(definition, name, shape.axes) for name in tensors_of(definition)}
        if made:
            values = code.inputs(made, 1, shape.axes, numbers)
            tensors.update(zip(made, values if len(made) > 1 else [values]))
        for name, tensor in tensors.items():
            wanted = shape_of(definition["inputs"][name], shape.axes)
            if list(tensor.shape) != (wanted or [1]):
                raise Refused(f"{name} has shape {list(tensor.shape)}; the definition says {wanted}")
        first, again = (code.run([t.clone() for t in tensors.values()], numbers) for _ in range(2))
        for name, spec, value, other in zip(definition["outputs"], definition["outputs"].values(), first, again):
            if list(value.shape) != (shape_of(spec, shape.axes) or [1]):
                raise Refused(f"its reference gives {name} another shape than it says: {list(value.shape)}")
            if value.is_floating_point() and torch.isnan(value.float()).any():
                raise Refused(f"{name} has NaN in it")
            if not torch.equal(value.double(), other.double()):
                raise Refused("its output is random, so nobody can say whether it is right")
        finite = [value.double()[torch.isfinite(value.double())] for value in first if value.is_floating_point()]
        self.size = max((value.square().mean().sqrt().item() for value in finite if value.numel()), default=0.0)
        self.small = bool(finite) and all((value.abs() <= _TOLERANCE).all() for value in finite)

    def _drawn(self, definition, name, axes):
        spec = definition["inputs"][name]
        shape = shape_of(spec, axes) or [1]
        if name == "top_p":
            return torch.zeros(shape)
        if "scale" in name:
            return (torch.rand(shape) + 0.5).to(getattr(torch, spec["dtype"]))
        if not spec["dtype"].startswith(("float", "bfloat")):
            return torch.zeros(shape)
        return torch.randn(shape).to(getattr(torch, spec["dtype"]))


def tolerance_of(shapes, checked):
    """The suite's where it says something: it is absolute, so of large outputs it asks too much, of small ones nothing."""
    rules = [shape.workload.get("tolerance") or {} for shape in shapes]
    absolute = max(rule.get("max_atol", _TOLERANCE) for rule in rules)
    relative = max(rule.get("max_rtol", _TOLERANCE) for rule in rules)
    theirs = f"{absolute:g} absolute or {relative:g} relative"
    if checked is not None and (checked.small or checked.size > _LARGE):
        why_not = "would let zeros pass" if checked.small else f"is narrow for outputs of size {checked.size:.2g}"
        return f"# The suite's tolerance, {theirs}, {why_not}: dent's own holds.\n"
    return f"tolerance = {{ absolute = {absolute:g}, relative = {relative:g} }}  # the suite's\n"


def fill_of(definition, name, made, constant, custom):
    spec = definition["inputs"][name]
    if name in made:  # a batch has its offsets and pages for as long as it is served
        fixed = not custom and (spec["dtype"].startswith(("int", "uint")) or constant)
        return 'fill = "python"' + (", constant = true" if fixed else "")
    if name == "top_p":
        return 'fill = "zeros"'
    if spec["dtype"] == "bool":
        return 'fill = "integers"'
    text = 'fill = "uniform", low = 0.5, high = 1.5' if "scale" in name else 'fill = "normal"'
    return text + (", constant = true" if constant else "")


def solution_of(path, definition):
    """(the solution, its entry) of the first in Python that there is; (None, why) where there is none."""
    root, refused = trace_set(path), []
    places = [*sorted(path.parent.glob("solution*.json")), *sorted(root.glob("solutions/**/*.json"))]
    for place in places:
        solution = json.loads(place.read_text())
        if solution.get("definition") != definition["name"]:
            continue
        spec = solution["spec"]
        languages = spec.get("languages") or [spec.get("language")]
        file, _, function = spec["entry_point"].partition("::")
        if set(map(str, languages)) <= _PYTHON and file.endswith(".py"):
            return solution, (file[:-3].replace("/", "."), function)
        refused.append(f"{solution['name']} ({listed(map(str, languages))})")
    return None, f"its solutions are not in Python: {listed(refused)}" if refused else None


def code_of(definition, names, numbers, keys, made, solution, entry):
    given = listed([*names.values(), *numbers])
    tensors = in_parentheses(names.values())
    scalar = "{" + listed(f'"{name}": {key}' for name, key in zip(scalars_of(definition), numbers)) + "}"
    glue = f'''"""What dent calls of definition.json: its reference as it is, as the baseline, and as what is right."""

import pathlib

from dent_definition import Definition

_definition = Definition(pathlib.Path(__file__).parent)


def run({given}):
    return _definition.run({tensors}, {scalar})


def reference({given}):
    return _definition.reference({tensors}, {scalar})
'''
    if made:
        axes = "{" + listed(f'"{name}": {key}' for name, key in keys.items()) + "}"
        glue += f'''

def inputs({listed(["seed", *keys.values(), *numbers])}):
    return _definition.inputs({made!r}, seed, {axes}, {scalar})
'''
    if solution is None:
        return glue, f'''"""The candidate: to begin with, the definition's own reference. Change it, or let [kernel] name another."""

import glue


def run({given}):
    return glue.run({given})
'''
    order = listed(
        names[name] if name in names else numbers[scalars_of(definition).index(name)] for name in definition["inputs"]
    )
    outputs = list(definition["outputs"])
    head = '"""The candidate: a solution, whose files lie in solution/."""\n\nimport pathlib\nimport sys\n\n'
    head += 'sys.path.insert(0, str(pathlib.Path(__file__).with_name("solution")))\n'
    head += f"from {entry[0]} import {entry[1]} as _solution  # noqa: E402\n\n\n"
    if solution["spec"].get("destination_passing_style", True):
        everything = listed([*names.values(), *outputs, *numbers])
        return glue, head + f"def run({everything}):\n    _solution({order}, {listed(outputs)})\n"
    return glue, head + f"def run({given}):\n    return _solution({order})\n"


def manifest(name, device, shapes, keys, rows, numbers, checked, made, visible):
    text = "version = 1\n" + f'name = "{name}"\n'
    if visible:
        text += f"visible = [{listed(json.dumps(path, ensure_ascii=False) for path in visible)}]  # tensors of workloads\n"
    text += "shapes = [\n"
    for shape in shapes:
        sizes = listed(f"{keys[axis]} = {value}" for axis, value in shape.axes.items())
        weight = ", weight = 0" if shape.name == "tiny" and len(shapes) > 1 else ""
        text += f'  {{ name = "{shape.name}", {sizes}{weight} }},  # {shape.bytes / 2**20:.3g} MiB of tensors\n'
    where = '\ndevice = "cuda"' if device == "cuda" else ""
    text += f"""]
[kernel]
python = "candidate:run"{where}
[baseline.reference]
python = "glue:run"
[operator]
name = "{name}"
"""
    text += "".join(f"{row}\n" for row in rows)
    if made:
        text += 'inputs_from = { python = "glue:inputs" }\n'
    if numbers:
        text += f"parameters = {{ {listed(f'{key} = {float(value)!r}' for key, value in numbers.items())} }}\n"
    text += 'reference = { python = "glue:reference", dtype = "fp64" }\n' + tolerance_of(shapes, checked)
    needed = max(8, math.ceil(max(shape.needed for shape in shapes)))
    text += f"[limits]\nmemory_gib = {needed}\nload_seconds = 120\ncall_seconds = 120\n"
    return text + '[optimize]\nprotect = ["definition.json", "workloads.json", "dent_definition.py", "glue.py"]\n'


def project(path, device, memory):
    definition = json.loads(path.read_text())
    for key in ("name", "axes", "inputs", "outputs", "reference"):
        if key not in definition:
            raise Refused(f"no `{key}`: is it a definition of FlashInfer-Bench?")
    specs = {**definition["inputs"], **definition["outputs"]}
    for name, spec in specs.items():
        if spec["dtype"] not in DTYPES:
            raise Refused(f"{name} is {spec['dtype']}, a type that dent does not have")
    workloads = workloads_of(path, definition)
    shapes, notes = choose_shapes(definition, workloads, memory)
    values = numbers_in(definition, shapes[-1].workload)
    values = {
        name: values[name] if name in values else default_scalar(definition, name, shapes[-1].axes)
        for name in scalars_of(definition)
    }
    made = [name for name in tensors_of(definition) if any(is_made(definition, s.workload, name) for s in shapes)]
    missing = {
        source["path"]
        for shape in shapes
        for source in shape.workload["inputs"].values()
        if source.get("type") == "safetensors" and not pathlib.Path(source["path"]).exists()
    }
    if missing:
        notes.append(f"its files of tensors are not here ({len(missing)}): dent makes such inputs from the axes")
    for name, spec in specs.items():
        sizes = [math.prod(shape_of(spec, shape.axes)) for shape in shapes if spec["shape"] is not None]
        if 0 in sizes:
            raise Refused(f"{name} has no elements")
        if sizes and max(sizes) > _MOST_ELEMENTS:
            raise Refused(f"{name} has {max(sizes):.3g} elements; dent takes {_MOST_ELEMENTS:.3g}")
    checked = None
    if shapes[0].bytes <= _TRIED:
        try:
            checked = Checked(definition, shapes[0], values, made)
        except dent_definition.NoRule as reason:
            raise Refused(textwrap.shorten(str(reason), 200, placeholder=" ...")) from None
    else:
        notes.append(f"not tried here: its smallest shape has more than {_TRIED_WORDS} of tensors")
    if _SAMPLING & set(definition["inputs"]):
        notes.append("top_k is 1 and top_p is 0, so that the sample is the most probable: a random one can't be wrong")
    taken = set(TAKEN)
    names = {name: plain(name, taken) for name in tensors_of(definition)}
    outputs = {name: plain(name, taken) for name in definition["outputs"]}
    keys = {name: plain(name, taken) for name in definition["axes"]}
    numbers = {plain(name, taken): value for name, value in values.items()}
    var = {name for name, axis in definition["axes"].items() if axis["type"] != "const"}
    varies = {name for name in names if var & set(definition["inputs"][name]["shape"])}
    rows = []
    for side, listed_names in (("inputs", names), ("outputs", outputs)):
        for name, word in listed_names.items():
            spec = definition[side][name]
            shape = listed(f'"{keys[axis] if axis in keys else axis}"' for axis in spec["shape"] or ["1"])
            constant = bool(varies) and name not in varies
            custom = any(s.workload["inputs"].get(name, {}).get("type") == "custom" for s in shapes)
            fill = f", {fill_of(definition, name, made, constant, custom)}" if side == "inputs" else ""
            rows.append(f'{side}.{word} = {{ dtype = "{DTYPES[spec["dtype"]]}", shape = [{shape}]{fill} }}')
    solution, entry = solution_of(path, definition)
    if solution is not None:
        notes.append(f"candidate: the solution {solution['name']} by {solution.get('author', 'nobody')}")
    elif entry:
        notes.append(entry)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", definition["name"])
    visible = sorted({s["path"] for shape in shapes for s in shape.workload["inputs"].values() if "path" in s} - missing)
    toml = manifest(name, device, shapes, keys, rows, numbers, checked, made, visible)
    head = "# Written by `dent import flashinfer`.\n"
    glue, candidate = code_of(definition, names, list(numbers), keys, made, solution, entry)
    by_shape = {shape.name: shape.workload for shape in shapes}
    # As texts too: `dent export` gives a workload back as it is written here.
    workloads = {"solution": solution["name"] if solution else "", "shapes": by_shape}
    workloads["traced"] = {key: json.dumps(workload) for key, workload in by_shape.items() if workload.get("uuid")}
    files = {"dent.toml": head + toml, "definition.json": path.read_text(), "glue.py": glue, "candidate.py": candidate}
    files["workloads.json"] = json.dumps(workloads, indent=1) + "\n"
    files["README.md"] = about(name, "flashinfer", notes)
    files["dent_definition.py"] = pathlib.Path(dent_definition.__file__).read_text()
    for source in solution["sources"] if solution else []:
        if ".." in pathlib.PurePath(source["path"]).parts or source["path"].startswith("/"):
            raise Refused(f"a source outside of its solution: {source['path']}")
        files[f"solution/{source['path']}"] = source["content"]
    report = [{"name": s.name, "bytes": s.bytes, "needed_gib": s.needed} for s in shapes]
    return {"name": name, "files": files, "shapes": report, "notes": notes}


if __name__ == "__main__":
    dent_import.main(project)
