# SPDX-License-Identifier: MIT
"""Compilers that work when a function is called: which there are in this process, and what Triton's autotuner chose.

A function may be written in any of them. Nothing here asks for its language: what is known of a kernel is read from
the files that its compiler leaves in its cache.
"""

import gc
import json
import os
import sys

# By the module that a function cannot do without; torch.compile is there once a function was wrapped in it.
_COMPILERS = {"triton": "triton", "torch._dynamo": "torch.compile", "cutlass": "CuTe DSL", "numba": "numba"}


def interpret():
    """On the CPU Triton's kernels run by its interpreter. Before Triton is imported."""
    os.environ.setdefault("TRITON_INTERPRET", "1")


def interpreted():
    return os.environ.get("TRITON_INTERPRET") == "1"


def compilers():
    """Name and version of those that the kernel's modules have imported."""
    found = {}
    for module, name in _COMPILERS.items():
        if module in sys.modules and not (name == "triton" and interpreted()):
            owner = sys.modules[module.partition(".")[0]]
            found[name] = str(getattr(owner, "__version__", "unknown"))
    return found


class Tuner:
    """Triton's autotuned kernels. Each has a choice for every key, which is what its arguments are like."""

    def __init__(self):
        if interpreted():
            for autotuner in self._autotuners():  # nothing to time: the first configuration is as good as any
                del autotuner.configs[1:]

    def _autotuners(self):
        module = sys.modules.get("triton.runtime.autotuner")
        if module is None:
            return []
        return [thing for thing in gc.get_objects() if type(thing) is module.Autotuner]

    def chosen(self):
        found = []
        for autotuner in self._autotuners():
            for key, config in autotuner.cache.items():
                found.append({"kernel": _name(autotuner), "key": _as_text(key), "config": str(config)})
        return sorted(found, key=lambda one: (one["kernel"], one["key"]))

    def pin(self, tuned):
        for autotuner in self._autotuners():
            configs = {str(config): config for config in autotuner.configs}
            for one in tuned:
                if one["kernel"] == _name(autotuner) and one["config"] in configs:
                    autotuner.cache[_as_key(json.loads(one["key"]))] = configs[one["config"]]


def _name(autotuner):
    function = autotuner
    while hasattr(function, "fn"):
        function = function.fn
    return f"{function.__module__}.{function.__qualname__}"


def _as_text(key):
    return json.dumps(key, default=str)


def _as_key(value):
    return tuple(_as_key(one) for one in value) if isinstance(value, list) else value
