# SPDX-License-Identifier: MIT
"""Exact attention for NumPy arrays and PyTorch tensors.

>>> import numpy, flashmoe_science
>>> q = numpy.random.rand(1, 8, 128, 64).astype("float32")
>>> flashmoe_science.attention(q, q, q, causal=True).shape
(1, 8, 128, 64)

Neither NumPy nor PyTorch is imported here; whichever the caller uses is used. PyTorch tensors that require grad are
differentiated; inside torch.compile, attention() is the operator torch.ops.flashmoe_science.attention (see
flashmoe_science.torch).

For programs that call PyTorch's attention already: sdpa() is scaled_dot_product_attention by another name, and
activate() takes over the one that is there; why_not() tells what is left to PyTorch. For programs that are written for
them: flashmoe_science.flash_attn and flashmoe_science.transformers.
"""

try:
    from ._C import (
        __version__,
        attention,
        attention_backward,
        attention_varlen,
        attention_varlen_backward,
        explain,
        get_num_threads,
        set_num_threads,
    )
except ImportError as error:
    import sys as _sys

    raise ImportError(
        f"flashmoe_science: the native module _C can't be loaded for Python "
        f"{_sys.version_info.major}.{_sys.version_info.minor} ({error})\n"
        f"  try: `pip install .`, or `python setup.py build_ext --inplace`, in the repository's root"
    ) from error

from ._compile import teach_compiler as _teach_compiler
from ._flops import teach_counters as _teach_counters
from ._offer import offer_implementation as _offer_implementation
from ._when_loaded import when_loaded as _when_loaded

_when_loaded("torch._dynamo", lambda: _teach_compiler(attention, attention_varlen))
_when_loaded("torch.utils.flop_counter", _teach_counters)
_when_loaded("torch.nn.attention", _offer_implementation)

_OF_PYTORCH = {
    "sdpa": "_sdpa",
    "why_not": "_sdpa",
    "activate": "_activate",
    "deactivate": "_activate",
    "flash_attn": "flash_attn",
    "transformers": "transformers",
}


def __getattr__(name):
    """What needs PyTorch is loaded when it is asked for."""
    if name in _OF_PYTORCH:
        from importlib import import_module

        module = import_module(f".{_OF_PYTORCH[name]}", __name__)
        value = getattr(module, name, module)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_OF_PYTORCH})


__all__ = [
    "attention",
    "attention_backward",
    "attention_varlen",
    "attention_varlen_backward",
    "explain",
    "get_num_threads",
    "set_num_threads",
    "__version__",
]
