# SPDX-License-Identifier: MIT
"""Tells PyTorch's compiler what to do with attention(), a native function that it can't look into."""

import warnings


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
