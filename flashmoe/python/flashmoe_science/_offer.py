# SPDX-License-Identifier: MIT
"""Puts "flashmoe" on PyTorch's list of attention implementations, from which its users choose; chooses nothing."""

import sys


def _install():
    from ._activate import install

    return install()


def offer_implementation():
    """torch.nn.attention.activate_flash_attention_impl("flashmoe") works after this, in releases that have it."""
    attention = sys.modules["torch.nn.attention"]
    if hasattr(attention, "register_flash_attention_impl"):
        attention.register_flash_attention_impl("flashmoe", register_fn=_install)
