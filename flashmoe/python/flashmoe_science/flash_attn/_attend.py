# SPDX-License-Identifier: MIT
"""attention() of tensors as flash_attn lays them out: heads inside rows. Masks are aligned bottom-right."""

import torch

from .._C import attention, attention_varlen
from .._dropout import seed_of
from .._support import DTYPES, MAX_HEAD_DIM, takes_packed, takes_padded
from ._options import of_entries

_AS_THEY_ARE = {}  # scores and weights: softcap, alibi_slopes, sinks, dropout_p


def _rows_side_by_side(tensor):
    return tensor if tensor.stride(-1) == 1 or tensor.shape[-1] == 1 else tensor.contiguous()


def window_of(window_size):
    """flash_attn's (left, right), where -1 and None are no limit, as attention() has it: None if there is none."""
    left, right = (-1 if side is None or side < 0 else int(side) for side in window_size)
    return None if (left, right) == (-1, -1) else (left, right)


def _readable(*tensors):
    dtype, head_dim = tensors[0].dtype, tensors[0].shape[-1]
    if dtype not in DTYPES:
        raise NotImplementedError(f"flash_attn: {str(dtype).split('.')[-1]} is not supported yet")
    if head_dim > MAX_HEAD_DIM:
        raise NotImplementedError(
            f"flash_attn: head_dim is not supported yet (it is {head_dim}; accepted are 1 to {MAX_HEAD_DIM})"
        )
    return map(_rows_side_by_side, tensors)


def _evened(q, k, v, scale):
    """Of one head_dim: where that of v is another, zeros are added, which change no score and are cut off again."""
    widest = max(q.shape[-1], v.shape[-1])
    if q.shape[-1] != v.shape[-1] and scale is None:
        scale = q.shape[-1] ** -0.5
    padded = (
        t if t.shape[-1] == widest else torch.nn.functional.pad(t, (0, widest - t.shape[-1]))
        for t in (q, k, v)
    )
    return (*padded, scale)


def _in_columns(call, v, scores):
    """call(v, scores) for values of more columns than kernels have: part by part, of the same weights."""
    seed = seed_of(scores.get("dropout_p"), None)
    scores = scores if seed is None else {**scores, "dropout_seed": seed}
    outs, lses = zip(*(call(part, scores) for part in v.split(MAX_HEAD_DIM, -1)))
    return torch.cat(outs, -1), lses[0]


def _options(causal, scale, window, deterministic):
    # Where it is not asked for, torch.use_deterministic_algorithms decides.
    asked = True if deterministic else None
    return {
        "causal": bool(causal),
        "scale": scale,
        "window": window,
        "deterministic": asked,
        "return_lse": True,
    }


def attend(q, k, v, *, causal, scale, window, deterministic=False, scores=_AS_THEY_ARE, **lengths):
    """q: [B, Sq, Hq, D]; k: [B, Sk, Hkv, D]; v: [B, Sk, Hkv, Dv]. Gives out [B, Sq, Hq, Dv] and lse [B, Hq, Sq]."""
    of_v = v.shape[-1]
    if of_v > MAX_HEAD_DIM:
        how = {"causal": causal, "scale": scale, "window": window, "deterministic": deterministic, **lengths}
        return _in_columns(lambda v, scores: attend(q, k, v, **how, scores=scores), v, scores)
    q, k, v, scale = _evened(*_readable(q, k, v), scale)
    out, lse = attention(
        *(t.transpose(1, 2) for t in (q, k, v)),
        **_options(causal, scale, window, deterministic),
        **scores,
        **lengths,
    )
    return out.transpose(1, 2)[..., :of_v], lse


def attend_packed(
    q, k, v, cu_seqlens_q, cu_seqlens_k, used_q=None, used_k=None, *, chunk=0, scores=_AS_THEY_ARE, **options
):
    """q: [tokens, Hq, D]; k, v: [tokens, Hkv, D]; sequence i lies between cu_seqlens[i] and [i + 1], or is as long as
    used[i] says. Gives out [tokens, Hq, D] and lse [Hq, tokens]; what no sequence has is 0 and -inf.
    """
    if v.shape[-1] > MAX_HEAD_DIM:
        starts = (cu_seqlens_q, cu_seqlens_k, used_q, used_k)
        return _in_columns(
            lambda v, scores: attend_packed(q, k, v, *starts, chunk=chunk, scores=scores, **options), v, scores
        )
    if takes_packed(q, k, v, scores):
        of_v = v.shape[-1]
        q, k, v, scale = _evened(*_readable(q, k, v), options["scale"])
        out, lse = attention_varlen(
            q,
            k,
            v,
            cu_seqlens_q,
            cu_seqlens_k,
            seqused_q=used_q,
            seqused_k=used_k,
            chunk=chunk,
            **_options(**{"deterministic": False, **options, "scale": scale}),
            **scores,
        )
        return out[..., :of_v], lse
    begins_q, begins_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    lengths_q, lengths_k = (
        [end - begin for begin, end in zip(begins, begins[1:])] if used is None else used.tolist()
        for begins, used in ((begins_q, used_q), (begins_k, used_k))
    )
    outs, lses, done = [], [], 0

    def pass_over(begin):  # rows of no sequence
        outs.append(q.new_zeros((begin - done, q.shape[1], v.shape[2])))
        lses.append(q.new_full((q.shape[1], begin - done), -torch.inf, dtype=torch.float32))

    for i, (begin_q, rows, begin_k, keys) in enumerate(zip(begins_q, lengths_q, begins_k, lengths_k)):
        if rows == 0:
            continue
        if begin_q > done:
            pass_over(begin_q)
        out, lse = attend(
            q[None, begin_q : begin_q + rows],
            k[None, begin_k : begin_k + keys],
            v[None, begin_k : begin_k + keys],
            scores=of_entries(scores, slice(i, i + 1)),
            chunk=chunk,
            **options,
        )
        outs.append(out[0])
        lses.append(lse[0])
        done = begin_q + rows
    if done < q.shape[0]:
        pass_over(q.shape[0])
    if not outs:
        pass_over(0)
    return torch.cat(outs), torch.cat(lses, 1)


def gathered(cache, page_table, cu_seqlens):
    """The keys of each sequence, [tokens, Hkv, D], from pages [pages, page size, Hkv, D] that page_table [B, n] names."""
    lengths = cu_seqlens.diff().tolist()
    pages = page_table.clamp(min=0).long()  # unused places hold -1, say
    return torch.cat([cache[of_one].flatten(0, 1)[:length] for of_one, length in zip(pages, lengths)])


def attend_parts(q, k, v, begins, ends, lengths, *, scores=_AS_THEY_ARE, **options):
    """attend(), where entry b of the batch has the keys from begins[b] to ends[b] of k and v. No gradients. `lengths`: the
    ends as a tensor on the device of q."""
    in_one_call = len(set(ends)) > 1 and not any(begins)
    if in_one_call and takes_padded(*(t.transpose(1, 2) for t in (q, k, v)), scores):
        return attend(q, k, v, **options, scores=scores, kv_lengths=lengths.int())
    parts = {}
    for entry, part in enumerate(zip(begins, ends)):
        parts.setdefault(part, []).append(entry)
    out = q.new_empty((*q.shape[:3], v.shape[3]))
    lse = q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)
    for (begin, end), entries in parts.items():
        if len(entries) == q.shape[0]:
            return attend(q, k[:, begin:end], v[:, begin:end], **options, scores=scores)
        part = (q[entries], k[entries, begin:end], v[entries, begin:end])
        out[entries], lse[entries] = attend(*part, **options, scores=of_entries(scores, entries))
    return out, lse
