# SPDX-License-Identifier: MIT
"""The sizes of a task of KernelBench: those that it is tried at, and what else follows from them."""

import math

import dent_task
import torch
from dent_import import SETS, Refused, needs

TINY = 1 << 16  # bytes of inputs, weights and outputs together
_MEDIUM = {"cpu": 4 << 20, "cuda": 64 << 20}
_LEAST = {"tiny": 4, "medium": 16, "cut": 16}  # that a size is made


def make_model(module):
    """On the device that has no memory. A constructor may read values of its tensors, which has to happen on one that has."""
    try:
        return dent_task.make_model(module)
    except RuntimeError:
        with torch.device("cpu"):
            return dent_task.make_model(module).to("meta")


class Seen:
    """A task at given sizes: tensors on a device that has no memory, so that no size is too large."""

    def __init__(self, source, sizes):
        with torch.device("meta"):
            module = dent_task.load(source, sizes)
            given = module.get_inputs()
            model = make_model(module)
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
    room = max((memory - (1 << 29)) // SETS, TINY)
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
    for name, most in (("tiny", TINY), ("medium", _MEDIUM[device])):
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
