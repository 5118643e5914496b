# SPDX-License-Identifier: MIT
"""A definition in FlashInfer-Bench's format, as dent calls it: axes, inputs and outputs by name, and a reference in
PyTorch. `dent import flashinfer` copies this file beside the definition."""

import json
import math
import pathlib
import re
import struct

import torch

torch.set_grad_enabled(False)

DTYPES = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "int64": "int64",
    "int32": "int32",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
}
# What an index points into: the product of the first of these lists whose axes the definition has.
_POINTS_INTO = {
    "kv_indices": [["num_pages"]],
    "block_table": [["num_pages"]],
    "sparse_indices": [["num_pages", "page_size"]],
    "topk_ids": [["num_experts"]],
    "positions": [["max_seq_len"]],
    "initial_state_indices": [["pool_size"]],
    "state_batch_indices": [["state_cache_size"]],
}


class NoRule(Exception):
    """What an input is to hold can't be told from its name and type."""


def axes_of(definition, given):
    """All axes: constants, those that a workload gives, and those that follow from others."""
    axes = {name: axis["value"] for name, axis in definition["axes"].items() if axis["type"] == "const"}
    axes.update({name: int(value) for name, value in given.items() if name in definition["axes"]})
    for name, axis in definition["axes"].items():
        if axis["type"] == "expr":
            axes[name] = _compute(axis["expression"], axes)
    return axes


def _compute(expression, axes):
    if not re.fullmatch(r"[\w\s+\-*/%().]+", expression):
        raise ValueError(f"an expression that is none of axes: {expression}")
    return int(eval(expression, {"__builtins__": {}}, dict(axes)))


def shape_of(spec, axes):
    return [axes[name] if isinstance(name, str) else int(name) for name in spec["shape"]]


def scalars_of(definition):
    return [name for name, spec in definition["inputs"].items() if spec["shape"] is None]


def tensors_of(definition):
    return [name for name, spec in definition["inputs"].items() if spec["shape"] is not None]


def load(source):
    namespace = {"__name__": "definition"}
    exec(compile(source, "definition.json:reference", "exec"), namespace)
    return namespace


def total_of(definition, name):
    """The axis that the last of these offsets is equal to, by the definition's constraints."""
    for constraint in definition.get("constraints") or []:
        found = re.fullmatch(rf"(\w+) == {name}\[-1\](\.item\(\))?", constraint.strip())
        if found:
            return found.group(1)
    return None


def is_made(definition, workload, name):
    """Whether an input is neither drawn from a distribution nor one value throughout."""
    spec = definition["inputs"][name]
    return (
        workload.get("inputs", {}).get(name, {}).get("type") in ("safetensors", "custom")
        or spec["dtype"].startswith(("int", "uint"))
        or name == "probs"
    )


def make(definition, name, axes, random):
    """An input with a structure, by its name: offsets, indices, lengths, probabilities."""
    spec = definition["inputs"][name]
    shape, dtype = shape_of(spec, axes), getattr(torch, spec["dtype"])
    if name == "probs":
        return torch.softmax(2 * torch.randn(shape, generator=random), dim=-1).to(dtype)
    if name.endswith("indptr") or name == "cu_seqlens":
        total = axes.get(total_of(definition, name) or "", shape[0] - 1)
        return (torch.arange(shape[0]) * total // (shape[0] - 1)).to(dtype)
    if "last_page_len" in name:
        return torch.randint(1, axes["page_size"] + 1, shape, generator=random).to(dtype)
    if name == "seq_lens":
        longest = axes["max_num_pages"] * axes["page_size"]
        return torch.randint(max(1, longest // 2), longest + 1, shape, generator=random).to(dtype)
    if name == "top_k":  # more would make the output random
        return torch.ones(shape, dtype=dtype)
    for factors in _POINTS_INTO.get(name, []):
        if all(factor in axes for factor in factors):
            return _indices(math.prod(axes[factor] for factor in factors), shape, random).to(dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=random).to(dtype)
    raise NoRule(f"no rule for the values of {name}: {spec.get('description', 'it has no description')}")


def _indices(bound, shape, random):
    """None twice in a row where there are enough of them."""
    rows = math.prod(shape[:-1])
    drawn = []
    for _ in range(rows):
        turns = -(-shape[-1] // bound)
        drawn.append(torch.cat([torch.randperm(bound, generator=random) for _ in range(turns)])[: shape[-1]])
    return torch.stack(drawn).reshape(shape)


def read_safetensor(path, key):
    """One tensor of a safetensors file: 8 bytes of length, a JSON header, and the bytes that it points to."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    about = json.loads(data[8 : 8 + length])[key]
    kinds = {"BF16": "bfloat16", "F64": "float64", "F32": "float32", "F16": "float16", "BOOL": "bool", "U8": "uint8"}
    kinds.update({f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)})
    kinds.update({"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"})
    first, last = (8 + length + at for at in about["data_offsets"])
    values = torch.frombuffer(bytearray(data[first:last]), dtype=torch.uint8)
    return values.view(getattr(torch, kinds[about["dtype"]])).reshape(about["shape"])


class Definition:
    """Of a project's folder: definition.json, and in workloads.json what its shapes stand for."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.definition = json.loads((folder / "definition.json").read_text())
        self.workloads = json.loads((folder / "workloads.json").read_text())["shapes"]
        self.code = load(self.definition["reference"])
        self.names = list(self.definition["inputs"])

    def arguments(self, tensors, numbers):
        """In the definition's order. What is given as float64 has the values of the declared type."""
        given, arguments = iter(tensors), []
        for name in self.names:
            spec = self.definition["inputs"][name]
            if spec["shape"] is None:
                kind = {"bool": bool, "float": float}.get(spec["dtype"].rstrip("0123456789"), int)
                arguments.append(kind(numbers[name]))
                continue
            tensor = next(given).to(getattr(torch, spec["dtype"]))
            arguments.append(tensor if spec["shape"] else tensor.reshape(()))
        return arguments

    def outputs(self, result):
        """In the definition's order and types, each with a dimension at least."""
        specs = self.definition["outputs"]
        if isinstance(result, dict):
            result = [result[name] for name in specs]
        values = list(result) if isinstance(result, (tuple, list)) else [result]
        values = [torch.as_tensor(value, dtype=getattr(torch, s["dtype"])) for value, s in zip(values, specs.values())]
        return [value.reshape(1) if value.dim() == 0 else value.contiguous() for value in values]

    def run(self, tensors, numbers):
        return self.outputs(self.code["run"](*self.arguments(tensors, numbers)))

    def reference(self, tensors, numbers):
        return [output.double() for output in self.run(tensors, numbers)]

    def workload_for(self, axes):
        for workload in self.workloads.values():
            if all(axes.get(name) == value for name, value in workload["axes"].items()):
                return workload
        return {"axes": axes, "inputs": {}}

    def inputs(self, names, seed, axes, numbers):
        """What has fill = "python" in dent.toml."""
        workload = self.workload_for(axes)
        torch.manual_seed(seed)
        custom, made = None, []
        for name in names:
            source = workload["inputs"].get(name, {})
            if source.get("type") == "custom":
                if custom is None:
                    entry = self.code[self.definition["custom_inputs_entrypoint"]]
                    custom = entry({**axes, **numbers}, torch.device("cpu"))
                values = custom[name]
            elif source.get("type") == "safetensors" and pathlib.Path(source["path"]).exists():
                values = read_safetensor(source["path"], source["tensor_key"])
            else:
                values = make(self.definition, name, axes, torch.Generator().manual_seed(seed))
            values = values.to(getattr(torch, self.definition["inputs"][name]["dtype"])).contiguous()
            made.append(values.reshape(1) if values.dim() == 0 else values)
        return made if len(made) > 1 else made[0]
