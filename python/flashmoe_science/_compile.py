# SPDX-License-Identifier: MIT
"""Tells PyTorch's compiler what to do with attention(), a native function that it can't look into.

It is told when it is loaded, by whoever loads it: to import it takes seconds, and PyTorch itself is never imported by
this package.
"""

import importlib.util
import sys
import warnings

COMPILER = "torch._dynamo"


def teach_compiler(native):
    """Puts the operator of flashmoe_science.torch in the place of `native` wherever it is compiled.

    In a release that can't be told so, compiled functions call `native` from outside of their graphs.
    """
    try:
        from torch.compiler import substitute_in_graph

        from . import torch as operators

        substitute_in_graph(native)(operators.attention)
    except Exception as error:
        warnings.warn(
            f"flashmoe_science: torch.compile will break its graph at attention(): {error}", stacklevel=2
        )


class _WhenImported:
    """A finder of modules that finds one, once, and has something done after it was loaded."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path=None, target=None):
        if name != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_then(module):
                load(module)
                self.then()

            spec.loader.exec_module = load_and_then
        return spec


def teach_compiler_when_loaded(native):
    if COMPILER in sys.modules:
        teach_compiler(native)
    else:
        sys.meta_path.insert(0, _WhenImported(COMPILER, lambda: teach_compiler(native)))
