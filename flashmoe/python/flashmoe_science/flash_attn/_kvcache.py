# SPDX-License-Identifier: MIT
"""flash_attn_with_kvcache: new keys and values into a cache, in place, and attention over what it then holds."""

import torch

from ._attend import attend_parts, window_of
from ._options import refuse, scores_of


def _rotated(x, cos, sin, positions, interleaved):
    """x: [B, S, H, D], of which the first 2 * cos.shape[1] elements turn by the angles of positions [B, S]."""
    cos, sin = (t[positions].unsqueeze(2).float() for t in (cos, sin))
    width = 2 * cos.shape[-1]
    turning = x[..., :width].float()
    a, b = (turning[..., 0::2], turning[..., 1::2]) if interleaved else turning.chunk(2, -1)
    turned = (a * cos - b * sin, b * cos + a * sin)
    turned = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
    return torch.cat((turned.to(x.dtype), x[..., width:]), -1)


def _check(function, k, v, rotary_cos, cache_seqlens):
    if (k is None) != (v is None):
        raise ValueError(f"{function}: k and v are given together or not at all")
    if k is not None and cache_seqlens is None:
        raise ValueError(f"{function}: k and v are given without cache_seqlens: where do they go?")
    if rotary_cos is not None and k is None:
        raise ValueError(f"{function}: rotary_cos and rotary_sin are given without k and v, which they turn")


def _check_pages(function, page_table, pages, page_size, begins, ends):
    """The page table, with page 0 in places that no key of an entry is in: they may hold anything, -1 say."""
    first = torch.tensor(begins, device=page_table.device)[:, None]
    last = torch.tensor(ends, device=page_table.device)[:, None]
    starts = torch.arange(page_table.shape[1], device=page_table.device)[None] * page_size
    used = (starts < last) & (starts + page_size > first)
    wrong = used & ((page_table < 0) | (page_table >= pages))
    if wrong.any():
        entry, place = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"{function}: page_table[{entry}, {place}] is {page_table[entry, place].item()}, where entry {entry} has keys; the cache "
            f"has the pages 0 to {pages - 1}"
        )
    return torch.where(used, page_table, 0)


def _one_by_one(q, k_cache, v_cache, k, v, cu_seqlens_q, cu_seqlens_k_new, chosen, of_entries, **options):
    """Queries one behind the other, q [tokens, Hq, D], and new keys so too where they have offsets: entry by entry.

    of_entries: what is [B, ...] by name. Gives out [tokens, Hq, D], lse [Hq, tokens].
    """
    begins = cu_seqlens_q.tolist()
    new_begins = None if cu_seqlens_k_new is None else cu_seqlens_k_new.tolist()
    out = q.new_zeros((*q.shape[:2], v_cache.shape[-1]))
    lse = q.new_full((q.shape[1], q.shape[0]), -torch.inf, dtype=torch.float32)
    for b, (begin, end) in enumerate(zip(begins, begins[1:])):
        new = slice(b, b + 1) if new_begins is None else slice(new_begins[b], new_begins[b + 1])
        news = [t if t is None else t[new] if new_begins is None else t[None, new] for t in (k, v)]
        caches = [t if chosen is None else t[chosen[b] : chosen[b] + 1] for t in (k_cache, v_cache)]
        own = {name: value[b : b + 1] for name, value in of_entries.items() if value is not None}
        of_entry = flash_attn_with_kvcache(
            q[None, begin:end], *caches, *news, **own, **options, return_softmax_lse=True
        )
        out[begin:end], lse[:, begin:end] = of_entry[0][0], of_entry[1][0]
    return out, lse


@torch.no_grad()
def flash_attn_with_kvcache(
    q,
    k_cache,
    v_cache,
    k=None,
    v=None,
    rotary_cos=None,
    rotary_sin=None,
    cache_seqlens=None,
    cache_batch_idx=None,
    cache_leftpad=None,
    block_table=None,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    rotary_interleaved=True,
    alibi_slopes=None,
    num_splits=0,
    return_softmax_lse=False,
    *,
    page_table=None,
    rotary_seqlens=None,
    cu_seqlens_q=None,
    cu_seqlens_k_new=None,
    **of_other_versions,
):
    """q: [B, Sq, Hq, D]; k, v: [B, Snew, Hkv, D]; k_cache, v_cache: [B or more, S, Hkv, D], or [pages, page size, Hkv, D] with
    block_table (page_table) [B, pages of an entry]. cache_seqlens: an int, or [B]: how many keys the cache holds before
    this call. Gives out [B, Sq, Hq, D], or (out, lse [B, Hq, Sq]). With cu_seqlens_q [B + 1], q is [tokens, Hq, D], out too, and
    lse [Hq, tokens]; with cu_seqlens_k_new, k and v are [tokens, Hkv, D].

    k and v are written into the cache. The lengths are read by the host. Entries of several lengths are computed in one call,
    but for those of few rows on a GPU, or with cache_leftpad: one length after the other. Pages, and entries chosen by
    cache_batch_idx, are gathered for the call.
    """
    function = "flash_attn_with_kvcache"
    scores = scores_of(softcap, alibi_slopes, of_other_versions)
    chunk = of_other_versions.pop("attention_chunk", 0)
    refuse(function, of_other_versions)
    page_table = block_table if page_table is None else page_table
    _check(function, k, v, rotary_cos, cache_seqlens)
    if page_table is not None and cache_batch_idx is not None:
        page_table, cache_batch_idx = page_table[cache_batch_idx.long()], None
    if cu_seqlens_q is not None:
        entries = cu_seqlens_q.shape[0] - 1
        chosen = None
        if page_table is None:
            chosen = range(entries) if cache_batch_idx is None else cache_batch_idx.tolist()
        if isinstance(cache_seqlens, int):
            cache_seqlens = torch.full((entries,), cache_seqlens)
        result = _one_by_one(
            q,
            k_cache,
            v_cache,
            k,
            v,
            cu_seqlens_q,
            cu_seqlens_k_new,
            chosen,
            {
                "cache_seqlens": cache_seqlens,
                "cache_leftpad": cache_leftpad,
                "page_table": page_table,
                "rotary_seqlens": rotary_seqlens,
                "alibi_slopes": None if alibi_slopes is None else alibi_slopes.expand(entries, -1),
            },
            rotary_cos=rotary_cos,
            rotary_sin=rotary_sin,
            rotary_interleaved=rotary_interleaved,
            softmax_scale=softmax_scale,
            causal=causal,
            window_size=window_size,
            softcap=softcap,
            s_aux=scores.get("sinks"),
            attention_chunk=chunk,
        )
        return result if return_softmax_lse else result[0]
    batch, rows, device = q.shape[0], q.shape[1], q.device
    window = window_of(window_size)

    capacity = k_cache.shape[1] * (1 if page_table is None else page_table.shape[1])
    if isinstance(cache_seqlens, torch.Tensor):
        held = cache_seqlens.to(device, torch.int64)
    else:
        held = torch.full((batch,), capacity if cache_seqlens is None else cache_seqlens, device=device)
    lengths, ends = held, held.tolist() if cache_seqlens is not None else [capacity] * batch

    if rotary_cos is not None:
        start = (held if rotary_seqlens is None else rotary_seqlens.to(device, torch.int64))[:, None]
        steps = torch.arange(max(rows, k.shape[1]), device=device)[None]
        of_q = start + steps[:, :rows] if causal or window is not None else start.expand(batch, rows)
        q = _rotated(q, rotary_cos, rotary_sin, of_q, rotary_interleaved)
        k = _rotated(k, rotary_cos, rotary_sin, start + steps[:, : k.shape[1]], rotary_interleaved)

    entries = torch.arange(batch, device=device) if cache_batch_idx is None else cache_batch_idx.long()
    begins = [0] * batch if cache_leftpad is None else cache_leftpad.tolist()
    if k is not None:
        lengths, ends = held + k.shape[1], [end + k.shape[1] for end in ends]
        if max(ends) > capacity:
            raise ValueError(
                f"{function}: the cache has room for {capacity} keys; an entry would have {max(ends)}"
            )
    if page_table is not None:
        page_table = _check_pages(function, page_table, *k_cache.shape[:2], begins, ends)
    if k is not None:
        places = held[:, None] + torch.arange(k.shape[1], device=device)[None]
        if page_table is None:
            at = (entries[:, None], places)
        else:
            page_size = k_cache.shape[1]
            at = (page_table.long().gather(1, places // page_size), places % page_size)
        k_cache[at], v_cache[at] = k.to(k_cache.dtype), v.to(v_cache.dtype)

    if page_table is not None:
        k_cache, v_cache = (t[page_table.long()].flatten(1, 2) for t in (k_cache, v_cache))
    elif cache_batch_idx is not None:
        k_cache, v_cache = k_cache[entries], v_cache[entries]
    else:
        k_cache, v_cache = k_cache[:batch], v_cache[:batch]
    options = {"causal": causal, "scale": softmax_scale, "window": window, "scores": scores, "chunk": chunk}
    out, lse = attend_parts(q, k_cache, v_cache, begins, ends, lengths, **options)
    return (out, lse) if return_softmax_lse else out
