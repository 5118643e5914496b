# SPDX-License-Identifier: MIT
"""activate(): every scaled_dot_product_attention of the process is computed here where it can be.

Our kernels stand in front of PyTorch's at the dispatcher, below autograd and torch.compile, and call them for what
they can't do. Where PyTorch keeps a register of attention implementations that can be taken back (from 2.11 on),
this is one of them, named "flashmoe".
"""

import collections
import threading
import warnings

import torch
from torch.utils.flop_counter import flop_registry

from . import _aten

NAME = "flashmoe"
_lock = threading.RLock()
_installed = None  # the _Installation, while there is one
_replaced = None  # the implementation that was active in PyTorch's register before


class Activation:
    """What activate() gives: an account of who computed what. As a context manager it ends what it began.

    ours: forward passes computed here; theirs: how many went to the kernels before, by reason.
    """

    def __init__(self):
        self.ours = 0
        self.theirs = collections.Counter()

    def _record(self, reason):
        with _lock:
            if reason is None:
                self.ours += 1
            else:
                self.theirs[reason] += 1

    def __str__(self):
        reasons = "".join(f"\n  {count} to PyTorch: {reason}" for reason, count in self.theirs.most_common())
        return f"flashmoe: {self.ours} of {self.ours + sum(self.theirs.values())} attentions computed here{reasons}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with _lock:
            if self._record in _aten.listeners:
                _aten.listeners.remove(self._record)
                if not _aten.listeners:
                    deactivate()


def _in_front_of(before, ours):
    def kernel(keyset, *args, **kwargs):
        result = ours(*args, **kwargs)
        return before.call_boxed(keyset, *args, **kwargs) if result is None else result

    return kernel


def _alone(name, ours):
    def kernel(*args, **kwargs):
        result = ours(*args, **kwargs)
        if result is None:
            raise NotImplementedError(
                f"{name}: neither PyTorch nor flashmoe computes this on a CPU; the logger flashmoe_science says why\n"
                f"  try: float32, float16 or bfloat16, head_dim up to 256, no dropout"
            )
        return result

    return kernel


class _Installation:
    """Our kernels in PyTorch's dispatcher, until remove(), which puts everything back."""

    def __init__(self):
        self.library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Warning only once for all operators")
            for device, operators in _aten.OPERATORS.items():
                for ours in operators:
                    self._put(ours, device)
        # The layers of torch.nn have a way of their own for inference, past scaled_dot_product_attention.
        self.fast_path = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        self.counted = self._count()

    def _put(self, ours, device):
        name = f"aten::{ours.__name__}"
        if torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, device):
            kernel = _in_front_of(torch.library.get_kernel(name, device), ours)
            self.library.impl(ours.__name__, kernel, device, with_keyset=True, allow_override=True)
        elif device == "CPU":  # a build without CUDA has none for that
            self.library.impl(ours.__name__, _alone(name, ours), device)

    def _count(self):
        formulas = {getattr(torch.ops.aten, name): formula for name, formula in _aten.FLOPS.items()}
        added = {operator: formula for operator, formula in formulas.items() if operator not in flop_registry}
        flop_registry.update(added)
        return list(added)

    def remove(self):
        global _installed
        with _lock:
            if self.library is None:
                return
            self.library._destroy()
            self.library = None
            torch.backends.mha.set_fastpath_enabled(self.fast_path)
            for operator in self.counted:
                flop_registry.pop(operator, None)
            _aten.listeners.clear()
            _installed = None


def install():
    """What PyTorch's register calls. Once installed, the same again."""
    global _installed
    with _lock:
        if _installed is None:
            if not hasattr(torch.library, "get_kernel"):
                raise NotImplementedError(
                    f"activate: PyTorch from 2.10 on can call the kernel that another one replaces; this is "
                    f"{torch.__version__}\n  try: call flashmoe_science.sdpa by name"
                )
            _installed = _Installation()
        return _installed


def _register():
    """torch.nn.attention where it can take an implementation back, else None."""
    attention = torch.nn.attention
    return attention if hasattr(attention, "restore_flash_attention_impl") else None


def activate() -> Activation:
    """Has F.scaled_dot_product_attention, and so all that is built on it, computed here from now on.

    Also torch.nn.attention.varlen, torch.nn.MultiheadAttention and the Transformer layers, autograd and
    torch.compile included, on the CPU and on GPUs. What the kernels here can't do goes to those that were there
    before. deactivate() ends it, or

        with flashmoe_science.activate() as account:
            model(x)
        print(account)  # flashmoe: 12 of 12 attentions computed here

    Calling it again while it is active changes nothing.
    """
    global _replaced
    with _lock:
        if _installed is None:
            register = _register()
            if register is None:
                install()
            else:
                register.register_flash_attention_impl(NAME, register_fn=install)
                _replaced = register.current_flash_attention_impl()
                register.activate_flash_attention_impl(NAME)
        activation = Activation()
        _aten.listeners.append(activation._record)
        return activation


def deactivate() -> None:
    """Ends what activate() began, however often it was called. Without one, does nothing."""
    global _replaced
    with _lock:
        if _installed is None:
            return
        register = _register()
        if register is not None and register.current_flash_attention_impl() == NAME:
            register.restore_flash_attention_impl()
            if _replaced is not None:
                register.activate_flash_attention_impl(_replaced)
        else:
            _installed.remove()
        _replaced = None
