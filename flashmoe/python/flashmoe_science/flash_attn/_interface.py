# SPDX-License-Identifier: MIT
"""flash_attn_func and its kin, as version 2 has them."""

from ._attend import attend, attend_packed, gathered, window_of
from ._options import refuse, refuse_dropout, scores_of

_NO_WINDOW = (-1, -1)


def _result(q, out, lse, return_attn_probs):
    """Where it is asked for more than out, version 2 gives three things. The third tells which weights were dropped: none."""
    return (out, lse, q.new_empty(0)) if return_attn_probs else out


def flash_attn_func(
    q,
    k,
    v,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=_NO_WINDOW,
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    **of_other_versions,
):
    """q: [B, Sq, Hq, D]; k, v: [B, Sk, Hkv, D]. Gives out [B, Sq, Hq, D], or (out, lse [B, Hq, Sq], nothing)."""
    scores = scores_of(softcap, alibi_slopes, of_other_versions, dropout_p)
    chunk = of_other_versions.pop("attention_chunk", 0)
    refuse("flash_attn_func", of_other_versions)
    refuse_dropout("flash_attn_func", dropout_p, return_attn_probs)
    out, lse = attend(
        q,
        k,
        v,
        causal=causal,
        scale=softmax_scale,
        window=window_of(window_size),
        deterministic=deterministic,
        scores=scores,
        chunk=chunk,
    )
    return _result(q, out, lse, return_attn_probs)


def flash_attn_kvpacked_func(q, kv, *args, **options):
    """flash_attn_func of q [B, Sq, Hq, D] and kv [B, Sk, 2, Hkv, D]; the other arguments as there."""
    return flash_attn_func(q, *kv.unbind(2), *args, **options)


def flash_attn_qkvpacked_func(qkv, *args, **options):
    """flash_attn_func of qkv [B, S, 3, H, D]; the other arguments as there."""
    return flash_attn_func(*qkv.unbind(2), *args, **options)


def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q=None,
    max_seqlen_k=None,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=_NO_WINDOW,
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    block_table=None,
    *,
    seqused_q=None,
    seqused_k=None,
    **of_other_versions,
):
    """Sequences one behind the other: q [tokens, Hq, D], k and v [tokens, Hkv, D], sequence i from cu_seqlens[i] to
    cu_seqlens[i + 1]. Gives out [tokens, Hq, D], or (out, lse [Hq, tokens], nothing). max_seqlen_q and _k change nothing.
    With block_table [B, pages of a sequence], k and v are [pages, page size, Hkv, D], and gathered.
    """
    scores = scores_of(softcap, alibi_slopes, of_other_versions, dropout_p)
    chunk = of_other_versions.pop("attention_chunk", 0)
    refuse("flash_attn_varlen_func", of_other_versions)
    refuse_dropout("flash_attn_varlen_func", dropout_p, return_attn_probs)
    if block_table is not None:
        k, v = (gathered(cache, block_table, cu_seqlens_k) for cache in (k, v))
    out, lse = attend_packed(
        q,
        k,
        v,
        cu_seqlens_q,
        cu_seqlens_k,
        seqused_q,
        seqused_k,
        causal=causal,
        scale=softmax_scale,
        window=window_of(window_size),
        deterministic=deterministic,
        scores=scores,
        chunk=chunk,
    )
    return _result(q, out, lse, return_attn_probs)


def flash_attn_varlen_kvpacked_func(
    q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q=None, max_seqlen_k=None, *args, **options
):
    """flash_attn_varlen_func of q [tokens, Hq, D] and kv [tokens, 2, Hkv, D]; the other arguments as there."""
    k, v = kv.unbind(1)
    return flash_attn_varlen_func(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, *args, **options
    )


def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen=None, *args, **options):
    """flash_attn_varlen_func of qkv [tokens, 3, H, D]; the other arguments as there."""
    q, k, v = qkv.unbind(1)
    return flash_attn_varlen_func(q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *args, **options)
