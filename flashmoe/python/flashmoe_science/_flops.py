# SPDX-License-Identifier: MIT
"""Tells PyTorch's FLOP counter how much the operators compute.

As for scaled_dot_product_attention, which counts pairs of query and key that a mask hides too, and all rows of a padded
batch. Of packed sequences it counts pairs within a sequence, where the lengths can be read.
"""


def _pairs(q_shape, k_shape, cu_seqlens_q, cu_seqlens_k):
    """Of query and key, times heads and head_dim."""
    if cu_seqlens_q is None:
        batch, heads, rows, dim = q_shape
        return batch * heads * rows * k_shape[2] * dim
    total, heads, dim = q_shape
    try:
        lengths = zip(cu_seqlens_q.diff().tolist(), cu_seqlens_k.diff().tolist())
        pairs = sum(rows * keys for rows, keys in lengths)
    except Exception:  # a tensor without data
        pairs = total * k_shape[0]
    return pairs * heads * dim


def _forward(q, k, v, mask="none", scale=None, cu_seqlens_q=None, cu_seqlens_k=None, *_, **__):
    return 4 * _pairs(q.shape, k.shape, cu_seqlens_q, cu_seqlens_k)


def _backward(
    dout, dlse, q, k, v, out, lse, mask="none", scale=None, cu_seqlens_q=None, cu_seqlens_k=None, *_, **__
):
    return 10 * _pairs(q.shape, k.shape, cu_seqlens_q, cu_seqlens_k)


def teach_counters():
    """In a release that can't be told so, the operators count as nothing."""
    try:
        import torch
        from torch.utils.flop_counter import flop_registry

        from . import torch as _  # noqa: F401  the operators
    except ImportError:
        return
    operators = torch.ops.flashmoe_science
    flop_registry[operators.attention] = _forward
    flop_registry[operators.attention_with_lse] = _forward
    flop_registry[operators.attention_backward] = _backward
