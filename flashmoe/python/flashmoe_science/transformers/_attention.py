# SPDX-License-Identifier: MIT
"""The attention function of transformers' models. What our kernels can't do, transformers' own functions do."""

import inspect
import sys

import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from .._C import attention
from .._support import log_once, takes_padded, why_not_attention, why_not_dropout, why_not_mask
from ._mask import blocks_of

# What models pass on that changes the scores; an implementation that does not name it would leave it out silently.
_OF_SCORES = ("softcap", "s_aux", "position_bias")
_OURS = {"softcap": "softcap", "s_aux": "sinks"}  # those that attention() takes, under its names
_SDPA_TAKES = inspect.signature(sdpa_attention_forward).parameters


def _by_keys(bias):
    """T5's stands with a pair's heads side by side; kernels of GPUs read keys."""
    return bias if bias is None or bias.device.type == "cpu" or bias.stride(-1) == 1 else bias.contiguous()


def _why_not(query, key, value, bias, dropout):
    reason = why_not_attention(query, key, value)
    if reason is None and bias is not None:
        reason = why_not_mask(query, key, value, bias)
    return why_not_dropout(query, dropout) if reason is None else reason


def _eager(module, query, key, value, attention_mask, dropout, scaling, is_causal, kwargs):
    """The model's own formula, with a mask that is added to the scores."""
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        given = ", ".join(name for name in _OF_SCORES if kwargs.get(name) is not None)
        raise NotImplementedError(
            f"{type(module).__name__}: {given} is not supported yet, and the model has no eager_attention_forward"
        )
    rows, keys = query.shape[2], key.shape[2]
    if attention_mask is None and is_causal and rows > 1:  # as for sdpa: aligned top-left
        attention_mask = torch.ones(rows, keys, dtype=torch.bool, device=query.device).tril()[None, None]
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        nothing = torch.zeros((), dtype=query.dtype, device=query.device)
        attention_mask = torch.where(attention_mask, nothing, torch.finfo(query.dtype).min)
    return eager(module, query, key, value, attention_mask, scaling=scaling, dropout=dropout, **kwargs)


def _scores(kwargs, dropout):
    scores = {"dropout_p": dropout} if dropout else {}
    for theirs, ours in _OURS.items():
        value = kwargs.get(theirs)
        if value is not None:
            scores[ours] = value.float() if isinstance(value, torch.Tensor) else value
    return scores


def _cut(tensor, entries, rows):
    """Of [B, H, S, D]: the tensor itself where that is all of it, since a slice is a call and autograd records it."""
    if entries == (0, tensor.shape[0]) and rows == (0, tensor.shape[2]):
        return tensor
    return tensor[entries[0] : entries[1], :, rows[0] : rows[1]]


def _part(bias, entries, rows, keys):
    """What a bias, broadcast to [B, Hq, Sq, Skv], has for some of them."""
    if bias is None:
        return None
    bias = bias[(None,) * (4 - bias.dim())]
    parts = (entries, (0, None), rows, keys)
    return bias[tuple(slice(*part) if size > 1 else slice(None) for size, part in zip(bias.shape, parts))]


def _masked(bias, mask):
    """Both as one tensor."""
    if bias is None:
        return mask
    return torch.where(mask, bias, -torch.inf) if mask.dtype == torch.bool else bias + mask


def _of_blocks(query, key, value, blocks, scaling, scores, bias):
    if blocks.spans is not None:
        keys, causal, spans = blocks.spans
        k, v = (_cut(t, (0, t.shape[0]), (0, keys)) for t in (key, value))
        known = {"window": blocks.window, **spans, **scores}
        known["attn_mask"] = _part(bias, (0, None), (0, None), (0, keys))
        return attention(query, k, v, causal, scaling, **known).transpose(1, 2)
    of_pairs = {} if bias is None else {"attn_mask": bias}
    in_one_call = len(blocks.blocks) > 1 and takes_padded(query, key, value, {**scores, **of_pairs})
    if in_one_call and blocks.lengths is not None:
        causal = any(block.causal for block in blocks.blocks)
        known = {"window": blocks.window, **blocks.lengths, **scores, **of_pairs}
        return attention(query, key, value, causal, scaling, **known).transpose(1, 2)
    parts = {}
    for entries, rows, keys, causal in blocks.blocks:
        q, k, v = _cut(query, entries, rows), _cut(key, entries, keys), _cut(value, entries, keys)
        known = {"window": blocks.window, "attn_mask": _part(bias, entries, rows, keys), **scores}
        out = attention(q, k, v, causal, scaling, **known)
        parts.setdefault(entries, []).append(out.transpose(1, 2))
    parts = [outs[0] if len(outs) == 1 else torch.cat(outs, 1) for outs in parts.values()]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def attention_forward(
    module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None, **kwargs
):
    """query: [B, Hq, Sq, D]; key, value: [B, Hkv, Skv, D]. Gives (out [B, Sq, Hq, D], None)."""
    causal = is_causal if is_causal is not None else getattr(module, "is_causal", True)
    if not getattr(module, "training", True):  # as in transformers' eager formula
        dropout = 0.0
    bias = _by_keys(kwargs.get("position_bias"))
    reason = _why_not(query, key, value, bias, dropout)
    scores = _scores(kwargs, dropout)
    if reason is None and attention_mask is None:
        rows = query.shape[2]
        if causal and rows > 1:
            if key.shape[2] > rows:  # an empty static cache has keys that nobody sees yet
                key, value = key[:, :, :rows], value[:, :, :rows]
                bias = _part(bias, (0, None), (0, None), (0, rows))
            out = attention(query, key, value, "top_left", scaling, attn_mask=bias, **scores)
        else:
            out = attention(query, key, value, False, scaling, attn_mask=bias, **scores)
        return out.transpose(1, 2).contiguous(), None
    if reason is None:
        blocks = None if torch.compiler.is_compiling() else blocks_of(attention_mask, query, key)
        if blocks is not None:
            return _of_blocks(query, key, value, blocks, scaling, scores, bias).contiguous(), None
        mask = _masked(bias, attention_mask)
        if why_not_mask(query, key, value, mask, scores) is None:
            out = attention(query, key, value, False, scaling, attn_mask=mask, **scores)
            return out.transpose(1, 2).contiguous(), None
        reason = "a mask that is no window, padding or packing known here"
    if not torch.compiler.is_compiling():
        log_once("transformers", reason)
    if any(kwargs.get(name) is not None and name not in _SDPA_TAKES for name in _OF_SCORES):
        return _eager(module, query, key, value, attention_mask, dropout, scaling, causal, kwargs)
    return sdpa_attention_forward(
        module,
        query,
        key,
        value,
        attention_mask,
        dropout=dropout,
        scaling=scaling,
        is_causal=is_causal,
        **kwargs,
    )
