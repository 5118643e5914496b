# SPDX-License-Identifier: MIT
"""A task of KernelBench as it runs: whether dent can judge it, and how far float32 is off."""

import dent_task
import torch
from dent_import import Refused, why
from dent_kernelbench_sizes import TINY, shrink, shrink_evenly
from torch.overrides import TorchFunctionMode

_SUITES_TOLERANCE = 1e-4  # absolute and relative, of float32
_UNITS = 64 * 2.0**-24  # dent's own bound in float32, of an element and of the output's size
DTYPES = {
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


class Checked:
    """The task as it runs, small, on this machine's CPU."""

    def __init__(self, source, sizes):
        torch.manual_seed(1)
        module = dent_task.load(source, sizes)
        draws = Draws()
        with draws:
            given = module.get_inputs()
        for value in given:
            if isinstance(value, torch.Tensor) and value.dtype not in DTYPES:
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
    smaller = [lambda least=least: shrink(source, largest, TINY, least) for least in (16, 32, 64)]
    for smallest in (None, lambda: shrink_evenly(source, largest, TINY), *smaller):
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
