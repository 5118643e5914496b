# SPDX-License-Identifier: MIT
"""flash_attn's functions, by its names, arguments and results, computed here.

    from flashmoe_science.flash_attn import flash_attn_func  # instead of: from flash_attn import flash_attn_func

Positional arguments are in the order of version 2; those that only later versions have are taken by name. In the order
of version 3, and with its results, the functions are in flashmoe_science.flash_attn.version3. An argument that is not supported
yet is refused by name unless it has its default. Tensors may be on the CPU too, and float32.
"""

from ._interface import (
    flash_attn_func,
    flash_attn_kvpacked_func,
    flash_attn_qkvpacked_func,
    flash_attn_varlen_func,
    flash_attn_varlen_kvpacked_func,
    flash_attn_varlen_qkvpacked_func,
)
from ._kvcache import flash_attn_with_kvcache

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
    "flash_attn_with_kvcache",
]
