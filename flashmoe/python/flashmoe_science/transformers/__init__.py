# SPDX-License-Identifier: MIT
"""Attention for the models of Hugging Face's transformers, from 5.0 on:

    from flashmoe_science.transformers import register
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation=register())

or, for a model that is there, model.set_attn_implementation(register()).
"""

from ._attention import attention_forward
from ._mask import attention_mask

# Of no other implementation: transformers has its own ideas about names with "flash", "sdpa", "/" or "|" in them.
NAME = "dent42"


def register() -> str:
    """Adds the attention, and the masks that go with it, to those that models can be told to use. Gives its name."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, attention_forward)
    AttentionMaskInterface.register(NAME, attention_mask)
    return NAME


__all__ = ["NAME", "register"]
