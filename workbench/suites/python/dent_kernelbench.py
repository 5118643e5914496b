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
import torch
from dent_import import SETS, TAKEN, Refused, in_parentheses, listed, needs, plain, why
from torch.overrides import TorchFunctionMode

_TINY, _MEDIUM = 1 << 16, {"cpu": 4 << 20, "cuda": 64 << 20}  # bytes of inputs, weights and outputs together
_LEAST = {"tiny": 4, "medium": 16, "cut": 16}  # that a size is made
_TRIED = 64 << 20  # bytes of the largest shape on which float32 is held against float64
_SUITES_TOLERANCE = 1e-4  # absolute and relative, of float32
_UNITS = 64 * 2.0**-24  # dent's own bound in float32, of an element and of the output's size
_DTYPES = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
}


class Draws(TorchFunctionMode):
    """Knows which tensors are what torch.rand or torch.randn gave."""

    def __init__(self):
        super().__init__()
        self.fills, self.alive = {}, []

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function in (torch.rand, torch.randn):
            self.fills[id(result)] = "uniform" if function is torch.rand else "normal"
            self.alive.append(result)  # so that nothing else gets its id
        return result


class Seen:
    """A task at given sizes: tensors on a device that has no memory, so that no size is too large."""

    def __init__(self, source, sizes):
        with torch.device("meta"):
            module = dent_task.load(source, sizes)
            given = module.get_inputs()
            model = dent_task.make_model(module)
            result = model(*given)
        self.inputs = [(tuple(value.shape), value.dtype) for value in given if isinstance(value, torch.Tensor)]
        self.state = {name: (tuple(t.shape), t.dtype) for name, t in dent_task.state_of(model).items()}
        self.outputs = [(tuple(t.shape), t.dtype) for t in dent_task.as_outputs(result, False)]

    def tensors(self):
        return [*self.inputs, *self.state.values(), *self.outputs]

    def is_like(self, other):
        """Sizes may decide which layers there are: with others it is another task."""
        mine, theirs = self.tensors(), other.tensors()
        return list(self.state) == list(other.state) and [len(s) for s, _ in mine] == [len(s) for s, _ in theirs]

    def bytes(self):
        return sum(math.prod(shape) * dtype.itemsize for shape, dtype in self.tensors())


def try_to_see(source, sizes):
    try:
        return Seen(source, sizes)
    except Exception:  # such sizes are none of this task's
        return None


def shrink_evenly(source, sizes, most):
    """All sizes halved, so that what one is to another stays: groups, for example, keep several channels each."""
    seen = Seen(source, sizes)
    while seen.bytes() > most:
        trial = {name: max(1, value // 2) for name, value in sizes.items()}
        smaller = try_to_see(source, trial)
        if not smaller or not smaller.is_like(seen) or smaller.bytes() >= seen.bytes():
            break
        sizes, seen = trial, smaller
    return sizes, seen


def shrink(source, sizes, most, least):
    """The largest size halved, again and again, as long as the task still makes sense and gets smaller by it."""
    seen, fixed = Seen(source, sizes), set()
    while seen.bytes() > most:
        free = [name for name, value in sizes.items() if name not in fixed and value >= 2 * least]
        if not free:
            break
        name = max(free, key=sizes.get)
        equal = [other for other in free if sizes[other] == sizes[name]]  # which may have to stay equal
        for names in ([name], equal) if len(equal) > 1 else ([name],):
            trial = {**sizes, **{each: (sizes[each] + 1) // 2 for each in names}}
            smaller = try_to_see(source, trial)
            if smaller and smaller.is_like(seen) and smaller.bytes() <= 0.95 * seen.bytes():
                sizes, seen = trial, smaller
                break
        else:
            fixed.add(name)
    return sizes, seen


def choose_shapes(source, device, memory):
    published = dent_task.sizes_of(source)
    if not published:
        raise Refused("no sizes: there are no whole numbers at the top level of the file")
    whole = Seen(source, published)
    shapes, notes = [], []
    room = max((memory - (1 << 29)) // SETS, _TINY)
    last = ("published", published, whole)
    if whole.bytes() > room:
        sizes, seen = shrink(source, published, room, _LEAST["cut"])
        last = ("cut", sizes, seen)
        needed, asked = SETS * whole.bytes() / 2**30 + 0.5, memory / 2**30
        was = ", ".join(f"{name} = {value}" for name, value in published.items())
        notes.append(f"published with {was}: that needs {needs(needed)}; cut to fit {asked:.1f} GiB")
        if seen.bytes() > room:
            least = SETS * seen.bytes() / 2**30 + 0.5
            raise Refused(f"needs {needs(least)}, cut as far as it goes; --memory-gib raises the {asked:.1f}")
    for name, most in (("tiny", _TINY), ("medium", _MEDIUM[device])):
        sizes, seen = shrink(source, last[1], most, _LEAST[name])
        if sizes != last[1] and all(sizes != other for _, other, _ in shapes):
            shapes.append((name, sizes, seen))
    return [*shapes, last], notes


def neighbours(source, sizes, like):
    """The task with one of its sizes doubled, each in turn: tells sizes apart that happen to be equal."""
    found = []
    for name, value in sizes.items():
        doubled = {**sizes, name: 2 * value}
        if value > 1 and (seen := try_to_see(source, doubled)) and seen.is_like(like):
            found.append(("", doubled, seen))
    return found


def expression(values, samples, keys):
    """What gives these values, one for each sample, from the sizes; None where nothing plain does."""
    columns = {keys[name]: [sizes[name] for _, sizes, _ in samples] for name in keys}
    if len(set(values)) == 1:
        return str(values[0])
    for key, column in columns.items():
        if column == values:
            return key
    for key, column in columns.items():
        for other in range(2, 9):
            for text, result in (
                (f"{key}*{other}", [a * other for a in column]),
                (f"floor({key}/{other})", [a // other for a in column]),
                (f"{key}+{other - 1}", [a + other - 1 for a in column]),
                (f"{key}-{other - 1}", [a - other + 1 for a in column]),
            ):
                if result == values:
                    return text
        for second, factors in columns.items():
            if [a * b for a, b in zip(column, factors)] == values:
                return f"{key}*{second}"
    return None


class Checked:
    """The task as it runs, small, on this machine's CPU."""

    def __init__(self, source, sizes):
        torch.manual_seed(1)
        module = dent_task.load(source, sizes)
        draws = Draws()
        with draws:
            given = module.get_inputs()
        for value in given:
            if isinstance(value, torch.Tensor) and value.dtype not in _DTYPES:
                raise Refused(f"an input of type {value.dtype}")
            if not isinstance(value, (torch.Tensor, int, float, bool)):
                raise Refused(f"an input that is a {type(value).__name__}")
        self.fills = [draws.fills.get(id(v)) for v in given if isinstance(v, torch.Tensor)]
        self.arguments = [None if isinstance(value, torch.Tensor) else value for value in given]
        self.inputs = [value.contiguous() for value in given if isinstance(value, torch.Tensor)]
        if not self.inputs:
            raise Refused("no tensor among its inputs")
        again = [value for value in module.get_inputs() if not isinstance(value, torch.Tensor)]
        if again != [value for value in self.arguments if value is not None]:
            raise Refused("a number among its inputs that is another one in every call")
        model = dent_task.make_model(module)
        state = dent_task.state_of(model)
        before = {name: tensor.clone() for name, tensor in state.items()}
        first = self._run(model, self.inputs)
        self.written = [name for name, tensor in state.items() if not torch.equal(tensor, before[name])]
        self.weights = [name for name in state if name not in self.written]
        if any(torch.isnan(output).any() for output in first if output.is_floating_point()):
            raise Refused("its output has NaN in it")
        torch.manual_seed(2)
        if any(not torch.equal(a, b) for a, b in zip(first, self._run(model, self.inputs))):
            raise Refused("its output is random, so nobody can say whether it is right")
        self.dropout = any(
            isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.p > 0 for part in model.modules()
        )
        self.reference, self.why_not_double = "fp64", ""
        self.error = self.share = 0.0
        self.zeros_pass = self.vanishes = True
        try:
            self._compare(first, self._in_double(model, first))
        except Exception as problem:
            self.reference, self.why_not_double = "fp32", why(problem)
            self._compare(first, first)

    def compare_at(self, source, sizes):
        """Errors of float32 grow with the sizes: what they are there. `zeros_pass` is for any shape."""
        if self.reference != "fp64":
            return
        torch.manual_seed(1)
        module = dent_task.load(source, sizes)
        inputs = [value.contiguous() for value in module.get_inputs() if isinstance(value, torch.Tensor)]
        model = dent_task.make_model(module)
        first = self._run(model, inputs)
        small, self.zeros_pass = self.zeros_pass, True
        self._compare(first, self._in_double(model, first, inputs))
        self.zeros_pass = self.zeros_pass or small

    def is_noise(self):
        """Whether float32 has nothing right of a result that is almost 0."""
        return self.vanishes and self.share > 1 / _UNITS

    def _run(self, model, inputs):
        given = iter(t.clone() for t in inputs)
        return dent_task.as_outputs(model(*(next(given) if v is None else v for v in self.arguments)), False)

    def _in_double(self, model, first, inputs=None):
        inputs = self.inputs if inputs is None else inputs
        wide = self._run(model.double(), [t.double() if t.is_floating_point() else t for t in inputs])
        if [t.shape for t in wide] != [t.shape for t in first]:
            raise Refused("outputs of other shapes in float64")
        return wide

    def _compare(self, first, wide):
        """Float32 as PyTorch has it, against float64."""
        for got, right in zip(first, wide):
            got, right = got.double(), right.double()
            finite = torch.isfinite(right)
            error = (got - right)[finite].abs()
            right = right[finite]
            if not error.numel():
                continue
            allowed = _UNITS * (right.abs() + right.square().mean().sqrt())
            self.error = max(self.error, (error / (1 + right.abs())).max().item())
            self.share = max(self.share, (error / allowed).nan_to_num().max().item())
            small = (right.abs() <= _SUITES_TOLERANCE * (1 + right.abs())).all().item()
            self.vanishes = self.vanishes and small
            self.zeros_pass = self.zeros_pass and small and bool((right != 0).any())


def check(source, shapes):
    """Runs the smallest shape. Sizes may be too small for an operator that did not say so without memory, or
    leave nothing to compute: a group of one element less its mean is 0."""
    trouble = None
    largest = shapes[-1][1]
    smaller = [lambda least=least: shrink(source, largest, _TINY, least) for least in (16, 32, 64)]
    for smallest in (None, lambda: shrink_evenly(source, largest, _TINY), *smaller):
        if smallest:
            shapes[0] = ("tiny", *smallest())
        try:
            checked = Checked(source, shapes[0][1])
            if not checked.is_noise():
                return checked
            trouble = Refused("its output is rounding errors and nothing else: float32 and float64 do not agree on it")
        except Refused:
            raise
        except Exception as problem:
            trouble = problem
        if shapes[0][0] != "tiny":
            break
    raise trouble


def tolerance_of(checked):
    """The suite's own where it says something; beside it what dent's would be."""
    used = f"PyTorch in float32 takes {100 * checked.share:.0f} % of it"
    if checked.reference != "fp64":
        used = "not tried: see reference"
    ours = f"dent's own bound is {_UNITS:.1e} of an element and of the output's size; {used}"
    if checked.zeros_pass:
        return f"# The suite's tolerance, {_SUITES_TOLERANCE:g}, would let zeros pass. {ours[0].upper()}{ours[1:]}.\n"
    least = max(_SUITES_TOLERANCE, 4 * checked.error)
    text = f"tolerance = {{ absolute = {least:.2g}, relative = {least:.2g} }}"
    whose = "the suite's"
    if least > _SUITES_TOLERANCE:
        whose += f" is {_SUITES_TOLERANCE:g}, and PyTorch's float32 is off by {checked.error:.1g}"
    return f"{text}  # {whose}; {ours}\n"


def forward_names(source, sizes, count):
    """Parameters of Model.forward, for its arguments."""
    module = dent_task.load(source, sizes)
    named = [p.name for p in inspect.signature(module.Model.forward).parameters.values() if p.kind <= 1][1:]
    return [named[i] if i < len(named) else f"input_{i}" for i in range(count)]


def manifest(name, task, device, shapes, rows, checked, needed):
    head = [
        f"# Written by `dent import kernelbench {task}`.",
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
    if checked.why_not_double:
        text += f"# Not in float64: {checked.why_not_double}.\n"
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
    if any(dtype not in _DTYPES for _, dtype in first.tensors()):
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
        dtype = _DTYPES[first.inputs[i][1]]
        shape = dimensions(name, lambda seen, i=i: seen.inputs[i])
        rows["inputs"].append(f'{name} = {{ dtype = "{dtype}", shape = [{shape}], fill = "{fill}" }}')
    for i, (name, state) in enumerate(zip(weights, checked.weights)):
        made.append(len(names) + i)
        shape = dimensions(name, lambda seen, state=state: seen.state[state])
        dtype = _DTYPES[first.state[state][1]]
        rows["inputs"].append(
            f'{name} = {{ dtype = "{dtype}", shape = [{shape}], fill = "python", constant = true }}'
        )
    for i in range(len(first.outputs)):
        name = plain("out" if len(first.outputs) == 1 else f"out_{i}", taken)
        shape = dimensions(name, lambda seen, i=i: seen.outputs[i])
        rows["outputs"].append(f'{name} = {{ dtype = "{_DTYPES[first.outputs[i][1]]}", shape = [{shape}] }}')
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
        notes.append(f"not among the inputs, since the model writes to them: {listed(checked.written)}")
    if checked.why_not_double:
        notes.append(f"its reference is PyTorch in float32: {checked.why_not_double}")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", path.stem)
    most = max(8, math.ceil(max(row["needed_gib"] for row in report)))
    toml = manifest(name, path.name, device, shapes, rows, checked, most)
    toml = toml.replace("\nversion = 1", "".join(f"\n# {note}" for note in notes) + "\nversion = 1", 1)
    called, candidate = glue(path, names, weights, keys, checked, made)
    files = {"dent.toml": toml, "task.py": source, "glue.py": called, "candidate.py": candidate}
    files["dent_task.py"] = pathlib.Path(dent_task.__file__).read_text()
    return {"name": name, "files": files, "shapes": report, "notes": notes}


if __name__ == "__main__":
    dent_import.main(project)
