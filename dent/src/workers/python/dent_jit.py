# SPDX-License-Identifier: MIT
"""Compilers that run when a function is called: which of them this process uses, and what Triton's autotuner
chose.

Nothing here depends on the function's language: properties of a kernel are read from the files that its
compiler leaves in its cache.
"""

import gc
import json
import os
import sys

# Keyed by a module that every user of the compiler imports; torch._dynamo is imported once a function was
# compiled.
_COMPILERS = {"triton": "triton", "torch._dynamo": "torch.compile", "cutlass": "CuTe DSL", "numba": "numba"}


def interpret():
    """Makes Triton interpret kernels on the CPU. Must be called before Triton is imported."""
    os.environ.setdefault("TRITON_INTERPRET", "1")


def interpreted():
    return os.environ.get("TRITON_INTERPRET") == "1"


def compilers():
    """Names and versions of the compilers that the kernel's modules have imported."""
    found = {}
    for module, name in _COMPILERS.items():
        if module in sys.modules and not (name == "triton" and interpreted()):
            owner = sys.modules[module.partition(".")[0]]
            found[name] = str(getattr(owner, "__version__", "unknown"))
    return found


class Tuner:
    """Triton's autotuned kernels. Each has one choice per key; the key describes the arguments."""

    def __init__(self):
        if interpreted():
            for autotuner in self._autotuners():  # nothing to time when interpreting
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
