# SPDX-License-Identifier: MIT
"""Tells PyTorch's compiler what to do with attention() and attention_varlen(), which it can't look into."""

import warnings


def teach_compiler(*natives):
    """Puts the functions of flashmoe_science.torch in the place of `natives` wherever they are compiled.

    In a release that can't be told so, compiled functions call those from outside of their graphs.
    """
    try:
        from torch.compiler import substitute_in_graph

        from . import torch as operators

        for native in natives:
            substitute_in_graph(native)(getattr(operators, native.__name__))
    except Exception as error:
        warnings.warn(
            f"flashmoe_science: torch.compile will break its graph at attention(): {error}", stacklevel=2
        )
