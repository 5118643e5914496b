# SPDX-License-Identifier: MIT
"""attention() as PyTorch knows it: operators with gradients, shapes without data, autocast and vmap rules.

torch.ops.flashmoe_science.attention, attention_with_lse and attention_backward. flashmoe_science.attention comes here
by itself where PyTorch has to see the call (gradients, autocast, tracers, torch.func, torch.compile), so there is no
need to import this module but to use the operators by name.
"""

from typing import Optional, Sequence, Tuple, Union

import torch

from ._autograd import recorded_attention
from ._dropout import seed_of
from ._operators import attention_operator, attention_with_lse_operator
from ._rules import (
    ARRAYS,
    NOT_FORWARD_MODE,
    NUMBERS,
    SCORE_NUMBERS,
    SCORES,
    compute,
    flat_lengths,
    flat_scores,
    lowered,
)

__all__ = ["attention", "attention_varlen"]

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def lowered_attention(
    q,
    k,
    v,
    causal,
    scale,
    return_lse,
    out,
    *,
    threads,
    programmatic,
    deterministic,
    window,
    lengths=None,
    scores=None,
):
    """What flashmoe_science.attention comes to under torch.autocast: plain tensors need no dispatcher for it."""
    options = {"threads": threads, "programmatic": programmatic, "window": window}
    recorded = {"deterministic": deterministic, "lengths": lengths, "scores": scores}
    if not all(type(t) in _PLAIN for t in (q, k, v)) or torch._C._are_functorch_transforms_active():
        return operated_attention(q, k, v, causal, scale, return_lse, out, **options, **recorded)
    q, k, v = lowered(q, k, v)
    flat = flat_scores(scores)
    wanted = (
        t for t in (q, k, v, *flat[1 : len(SCORES)]) if t is not None
    )  # there are no gradients of slopes
    if torch.is_grad_enabled() and any(t.requires_grad for t in wanted):
        return recorded_attention(q, k, v, causal, scale, return_lse, out, **options, **recorded)
    return compute(q, k, v, causal, scale, return_lse, flat_lengths(lengths), flat, **options)


def _check_supported(name, tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"attention: {name} is a {type(tensor).__name__}, and PyTorch watches the call (autocast, a tracer, a mode)\n"
            f"  try: torch.as_tensor({name})"
        )
    if tensor.is_nested:
        raise TypeError(
            f"attention: {name} is a nested tensor; accepted are dense ones\n"
            f"  try: torch.nested.to_padded_tensor, or one call for each of its parts"
        )
    if tensor.layout != torch.strided:
        raise TypeError(
            f"attention: {name} has layout {tensor.layout}; accepted are dense tensors\n"
            f"  try: {name}.to_dense()"
        )


def _has_tangent(tensor):
    return torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None


def operated_attention(
    q,
    k,
    v,
    causal,
    scale,
    return_lse,
    out,
    *,
    threads,
    programmatic,
    deterministic,
    window,
    lengths=None,
    scores=None,
):
    """attention() and attention_varlen() through the operators."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        _check_supported(name, tensor)
    if not torch.compiler.is_compiling():
        if torch._C._are_functorch_transforms_active():  # which registered operators do not go together with
            return recorded_attention(
                *lowered(q, k, v),
                causal,
                scale,
                return_lse,
                out,
                threads=threads,
                programmatic=programmatic,
                deterministic=deterministic,
                window=window,
                lengths=lengths,
                scores=scores,
            )
        if any(map(_has_tangent, (q, k, v))):
            raise NotImplementedError(NOT_FORWARD_MODE)
    operator = attention_with_lse_operator if return_lse else attention_operator
    mask = causal if isinstance(causal, str) else "bottom_right" if causal else "none"
    if window is not None:  # as the operators have it
        window = [-1 if side is None else side for side in window]
    arrays, numbers = (), {}
    if lengths is not None:
        flat = flat_lengths(lengths)
        arrays, numbers = flat[: len(ARRAYS)], dict(zip(NUMBERS, flat[len(ARRAYS) :]))
    if scores is not None:
        flat = flat_scores(scores)
        arrays = (*(arrays or (None,) * len(ARRAYS)), *flat[: len(SCORES)])
        numbers.update(zip(SCORE_NUMBERS, flat[len(SCORES) :]))
    result = operator(
        q,
        k,
        v,
        mask,
        scale,
        *arrays,
        threads=threads,
        programmatic=programmatic,
        deterministic=deterministic,
        window=window,
        **numbers,
    )
    if out is None:
        return result
    if out.shape != q.shape or out.dtype != q.dtype:
        raise ValueError(
            f"attention: out is {out.dtype} of shape {list(out.shape)}; it must be {q.dtype} of shape "
            f"{list(q.shape)}, as q"
        )
    if not return_lse:
        return out.copy_(result)
    return out.copy_(result[0]), result[1]


def _scores(softcap, dropout_p, *arrays, dropout_seed):
    scores = (softcap, dropout_p or None, *arrays, seed_of(dropout_p, dropout_seed))
    return None if all(score is None for score in scores) else scores


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: Union[bool, str] = False,
    scale: Optional[float] = None,
    return_lse: bool = False,
    out: Optional[torch.Tensor] = None,
    *,
    threads: int = 0,
    programmatic: bool = False,
    deterministic: Optional[bool] = None,
    window: Optional[Sequence[Optional[int]]] = None,
    q_lengths: Optional[torch.Tensor] = None,
    kv_lengths: Optional[torch.Tensor] = None,
    documents: Optional[torch.Tensor] = None,
    prefix: Optional[torch.Tensor] = None,
    left_padding: Optional[torch.Tensor] = None,
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[torch.Tensor] = None,
    sinks: Optional[torch.Tensor] = None,
    attn_mask: Optional[torch.Tensor] = None,
    dropout_p: float = 0.0,
    dropout_seed: Union[int, torch.Tensor, torch.Generator, None] = None,
) -> Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]:
    """flashmoe_science.attention, through the operators. For PyTorch tensors alone; shapes as there.

    q, out: [B, Hq, Sq, D]; k, v: [B, Hkv, Skv, D]; q_lengths, kv_lengths, prefix, left_padding: int32 [B];
    documents: int32 [B, Skv] or [Skv]; alibi_slopes: [Hq] or [B, Hq];
    sinks: [Hq]; attn_mask: broadcast to [B, Hq, Sq, Skv].
    Returns out, or (out, lse) with lse [B, Hq, Sq] in float32.
    """
    arrays = (None, None, q_lengths, kv_lengths, documents, prefix, left_padding)
    plain = all(array is None for array in arrays) and not chunk and not first_keys
    return operated_attention(
        q,
        k,
        v,
        causal,
        scale,
        return_lse,
        out,
        threads=threads,
        programmatic=programmatic,
        deterministic=deterministic,
        window=window,
        lengths=None if plain else (*arrays, None, None, chunk, first_keys),
        scores=_scores(softcap, dropout_p, alibi_slopes, sinks, attn_mask, dropout_seed=dropout_seed),
    )


def attention_varlen(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
    *,
    seqused_q: Optional[torch.Tensor] = None,
    seqused_k: Optional[torch.Tensor] = None,
    causal: Union[bool, str] = False,
    scale: Optional[float] = None,
    return_lse: bool = False,
    out: Optional[torch.Tensor] = None,
    threads: int = 0,
    programmatic: bool = False,
    deterministic: Optional[bool] = None,
    window: Optional[Sequence[Optional[int]]] = None,
    documents: Optional[torch.Tensor] = None,
    prefix: Optional[torch.Tensor] = None,
    left_padding: Optional[torch.Tensor] = None,
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[torch.Tensor] = None,
    sinks: Optional[torch.Tensor] = None,
    dropout_p: float = 0.0,
    dropout_seed: Union[int, torch.Tensor, torch.Generator, None] = None,
) -> Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]:
    """flashmoe_science.attention_varlen, through the operators. For PyTorch tensors alone; shapes as there.

    q, out: [total_q, Hq, D]; k, v: [total_k, Hkv, D]; cu_seqlens_q, cu_seqlens_k: int32 [sequences + 1];
    documents: int32 [total_k]; prefix, left_padding: int32 [sequences].
    Returns out, or (out, lse) with lse [Hq, total_q] in float32.
    """
    return operated_attention(
        q,
        k,
        v,
        causal,
        scale,
        return_lse,
        out,
        threads=threads,
        programmatic=programmatic,
        deterministic=deterministic,
        window=window,
        lengths=(
            cu_seqlens_q,
            cu_seqlens_k,
            seqused_q,
            seqused_k,
            documents,
            prefix,
            left_padding,
            max_seqlen_q,
            max_seqlen_k,
            chunk,
            first_keys,
        ),
        scores=_scores(softcap, dropout_p, alibi_slopes, sinks, None, dropout_seed=dropout_seed),
    )
