# SPDX-License-Identifier: MIT
"""Has something done as soon as a module is loaded, by whoever loads it.

So parts of PyTorch are told about us that take long to import, or may never be: this package imports none of them.
"""

import importlib.util
import sys


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


def when_loaded(name, then):
    """Calls then() after the module of that name is loaded: now, if it is."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _WhenImported(name, then))
