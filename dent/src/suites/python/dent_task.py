# SPDX-License-Identifier: MIT
"""A task in KernelBench's format, at any size: its file has a class Model, get_inputs() and get_init_inputs(), and
its sizes are constants at the top level of the module. `dent import` copies this file beside the task."""

import ast
import types

import torch

torch.set_grad_enabled(False)
# The answer is compared with one in float64: convolutions of the GPU's keep the precision that they are declared with.
torch.backends.cudnn.allow_tf32 = False

_ARITHMETIC = (ast.Expression, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
_LISTS = (ast.Tuple, ast.List, ast.Load)


def _is_size(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _literal(node):
    """The value of an expression without names in it; None where it has some."""
    if not all(isinstance(part, _ARITHMETIC + _LISTS) for part in ast.walk(node)):
        return None
    return eval(compile(ast.Expression(node), "constant", "eval"), {"__builtins__": {}})


def _constants(tree):
    """Assignments at the top level, `name = 3 * 128`, `name = (128, 128)` and `a, b = 32, 64`: (name, expression,
    value). Of `a = b = 128` the first name stands for both."""
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target, given = node.targets[0], node.value
        several = isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple)
        for place, expression in zip(target.elts, given.elts) if several else [(target, given)]:
            value = _literal(expression) if isinstance(place, ast.Name) else None
            if _is_size(value) or (isinstance(value, (tuple, list)) and value and all(map(_is_size, value))):
                yield place.id, expression, value


class _Replace(ast.NodeTransformer):
    def __init__(self, new):
        self.new = new  # by the identity of the old one

    def visit(self, node):
        return self.new.get(id(node)) or self.generic_visit(node)


def sizes_of(source):
    """The sizes that a task was published with, by name; elements of a list `shape` are shape_0, shape_1, ..."""
    sizes = {}
    for name, _, value in _constants(ast.parse(source)):
        if _is_size(value):
            sizes[name] = value
        else:
            sizes.update({f"{name}_{i}": item for i, item in enumerate(value)})
    return sizes


def load(source, sizes):
    """The task's module with other sizes. What it computes from them at its top level follows."""
    tree = ast.parse(source)
    new = {}
    for name, expression, value in _constants(tree):
        if _is_size(value):
            changed = sizes.get(name, value)
        else:
            changed = type(value)(sizes.get(f"{name}_{i}", item) for i, item in enumerate(value))
        new[id(expression)] = ast.copy_location(ast.parse(repr(changed), mode="eval").body, expression)
    tree = _Replace(new).visit(tree)
    module = types.ModuleType("task")
    exec(compile(ast.fix_missing_locations(tree), "task.py", "exec"), module.__dict__)
    return module


def make_model(module):
    """In training mode, as the suite runs it, but without dropout: an output that is random can't be wrong."""
    model = module.Model(*module.get_init_inputs()).requires_grad_(False)
    for part in model.modules():
        if isinstance(part, torch.nn.modules.dropout._DropoutNd):
            part.eval()
    return model


def state_of(model):
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def in_double(tensors):
    return any(tensor.dtype is torch.float64 for tensor in tensors)


def with_a_dimension(tensor):
    """A manifest has no shape for a single number but [1]."""
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


def as_outputs(result, double):
    """A list of tensors with a dimension at least, in the type that is asked for."""
    outputs = [with_a_dimension(output) for output in (result if isinstance(result, (tuple, list)) else [result])]
    return [output.double() for output in outputs] if double else outputs


class Task:
    """`scale`: names of the sizes; `weights`: parameters and buffers by their names in the state of the model;
    `arguments`: what forward() gets, None for an input; `made`: which of the inputs and weights inputs() returns."""

    def __init__(self, source, scale, weights=(), arguments=(None,), made=()):
        self.source, self.scale, self.made = source, scale, made
        self.weights, self.arguments = weights, arguments
        self.models = {}

    def _module(self, sizes):
        return load(self.source, dict(zip(self.scale, sizes)))

    def _model(self, sizes, like):
        key = (*sizes, like.dtype, like.device)
        if key not in self.models:
            model = make_model(self._module(sizes)).to(like.device, like.dtype if like.is_floating_point() else None)
            self.models[key] = model, [state_of(model)[name] for name in self.weights]
        return self.models[key]

    def forward(self, inputs, weights, sizes):
        """What the task's model gives with these weights: the tensors take the places of its own."""
        model, places = self._model(sizes, next((t for t in (*inputs, *weights) if t.is_floating_point()), inputs[0]))
        for place, weight in zip(places, weights):
            place.data = weight if place.dim() else weight.reshape(())
        given = iter(inputs)
        result = model(*(next(given) if value is None else value for value in self.arguments))
        return as_outputs(result, in_double((*inputs, *weights)))

    def inputs(self, seed, sizes):
        """Inputs of the task and weights as its model begins with, from a seed; by a GPU, where there is one, since a
        processor draws a call's random numbers in a thousand times what the call takes."""
        torch.manual_seed(seed)
        module = self._module(sizes)
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            state = state_of(make_model(module)) if self.weights else {}
            given = [value for value in module.get_inputs() if isinstance(value, torch.Tensor)]
        everything = given + [state[name] for name in self.weights]
        return [with_a_dimension(everything[i].detach()).contiguous() for i in self.made]
