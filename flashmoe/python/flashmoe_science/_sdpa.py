# SPDX-License-Identifier: MIT
"""sdpa(): torch.nn.functional.scaled_dot_product_attention, computed here where it can be."""

from typing import Optional

import torch

from ._C import attention
from ._support import log_once, why_not_attention, why_not_dropout, why_not_mask


def why_not(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Optional[torch.Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Optional[str]:
    """Why sdpa() of the same arguments goes to PyTorch's own kernels; None when it is computed here."""
    if attn_mask is not None and is_causal:
        return "attn_mask and is_causal are both given"
    if not all(isinstance(tensor, torch.Tensor) for tensor in (query, key, value)):
        return "query, key or value is no tensor"
    if query.dim() == key.dim() == value.dim() == 3:  # [B, S, D]: a batch of one, of B heads
        if query.shape[0] != key.shape[0]:
            return f"query has shape {tuple(query.shape)} and key {tuple(key.shape)}"
        query, key, value, enable_gqa = query[None], key[None], value[None], True
        if isinstance(attn_mask, torch.Tensor) and attn_mask.dim() > 3:
            return f"attn_mask has {attn_mask.dim()} dimensions and query 3"
    reason = why_not_attention(query, key, value)
    if reason is None and query.shape[1] != key.shape[1] and not enable_gqa:
        return f"query has {query.shape[1]} heads and key {key.shape[1]}, without enable_gqa"
    if reason is None and attn_mask is not None:
        reason = why_not_mask(query, key, value, attn_mask)
    return why_not_dropout(query, dropout_p) if reason is None else reason


def attend(query, key, value, attn_mask, dropout_p, is_causal, scale):
    """sdpa() of what why_not() lets pass."""
    causal = "top_left" if is_causal else False
    options = {"attn_mask": attn_mask, "dropout_p": dropout_p}
    if query.dim() == 3:
        return attention(query[None], key[None], value[None], causal, scale, **options)[0]
    return attention(query, key, value, causal, scale, **options)


def sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Optional[torch.Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """torch.nn.functional.scaled_dot_product_attention: the same arguments, the same meaning.

    query: [B, Hq, Sq, D]; key, value: [B, Hkv, Skv, D]; attn_mask: broadcast to [B, Hq, Sq, Skv]; returns
    [B, Hq, Sq, D]. is_causal is aligned top-left. dropout_p counts whenever it is above 0, in training or not; the draw is
    another than PyTorch's.
    What the kernels here can't do, PyTorch computes, and refuses what it refuses; why_not() tells which and why.
    """
    reason = why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if reason is None:
        return attend(query, key, value, attn_mask, dropout_p, is_causal, scale)
    if not torch.compiler.is_compiling():
        log_once("sdpa", reason)
    options = {"enable_gqa": True} if enable_gqa else {}  # which PyTorch has from 2.5 on
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **options
    )
