# SPDX-License-Identifier: MIT
"""The operators that scaled_dot_product_attention comes to inside PyTorch, computed by our kernels.

Each function has the arguments and results of the aten operator of its name, down to the strides, which compiled
programs rely on (torch/_meta_registrations.py has them). It returns None where the kernel before it has to compute.
Log-sum-exps are natural logarithms in PyTorch's kernels too, so a forward pass of one side and a backward pass of
the other go together: nothing breaks when activate() or deactivate() come between them.
"""

import torch

from . import _C
from ._sdpa import attend, why_not
from ._support import log_once, why_not_dense, why_not_dropout, why_not_mask, why_not_packed


listeners = []  # called with each forward pass: None if it is computed here, else why not


def _record(reason):
    if reason is not None:
        log_once("scaled_dot_product_attention", reason)
    for listener in tuple(listeners):
        listener(reason)


def _why_not(query, key, value, dropout_p, mask=None, trains=None):
    if dropout_p != 0:  # a CPU's operators have no place for a seed; their dropout comes to the math operator
        return why_not_dropout(query, dropout_p) or f"dropout_p is {dropout_p}"
    reason = why_not_dense(query, key, value)
    if reason is None and mask is not None:
        if mask.requires_grad:  # the operators have no place for it
            return "attn_mask needs a gradient"
        return why_not_mask(query, key, value, mask, trains=trains)
    return reason


def _takes(*arguments):
    reason = _why_not(*arguments)
    _record(reason)
    return reason is None


def _forward(query, key, value, causal, scale, window=None, mask=None):
    return _C.compute_attention(query, key, value, causal, scale, True, window=window, attn_mask=mask)


def _backward(
    grad_out,
    query,
    key,
    value,
    out,
    lse,
    causal,
    scale,
    window=None,
    results=(None, None, None),
    mask=None,
):
    if grad_out.shape[3] > 1 and grad_out.stride(3) != 1:  # of a sum, say: expanded
        grad_out = grad_out.contiguous()
    return _C.attention_backward(
        query,
        key,
        value,
        out,
        lse.reshape(query.shape[:3]).contiguous(),  # cuDNN's has a last dimension of 1
        grad_out,
        causal=causal,
        scale=scale,
        window=window,
        deterministic=torch.are_deterministic_algorithms_enabled(),
        dq=results[0],
        dk=results[1],
        dv=results[2],
        attn_mask=mask,
    )


# ---- CPU: is_causal is aligned top-left


def _scaled_dot_product_flash_attention_for_cpu(
    query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None
):
    if not _takes(query, key, value, dropout_p, attn_mask):
        return None
    out, lse = _forward(query, key, value, "top_left" if is_causal else False, scale, mask=attn_mask)
    return out, lse.transpose(1, 2).contiguous().transpose(1, 2)  # heads innermost


def _scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None
):
    if _why_not(query, key, value, dropout_p, attn_mask) is not None:
        return None
    results = [
        torch.empty_permuted(t.shape, (0, 2, 1, 3), dtype=t.dtype, device=t.device)
        for t in (query, key, value)
    ]
    causal = "top_left" if is_causal else False
    return _backward(
        grad_out, query, key, value, out, logsumexp, causal, scale, results=results, mask=attn_mask
    )


def _scaled_dot_product_attention_math(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    dropout_mask=None,
    *,
    scale=None,
    enable_gqa=False,
):
    """What PyTorch writes as a formula, and differentiates so: on a CPU, all dropout. It stands above autograd.

    The second result, the weights, which scaled_dot_product_attention does not look at, is empty.
    """
    if dropout_p == 0 or dropout_mask is not None:
        return None
    if not torch.backends.cuda.flash_sdp_enabled():  # sdpa_kernel(MATH), say, which holds for a CPU too
        return None
    reason = why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    _record(reason)
    if reason is not None:
        return None
    return attend(query, key, value, attn_mask, dropout_p, is_causal, scale), query.new_empty(0)


# ---- CUDA: FlashAttention's is_causal is aligned bottom-right, cuDNN's top-left


def _no_dropout(query):
    """What PyTorch keeps of its random numbers for the backward pass; nothing reads it where none were drawn."""
    return (
        torch.empty(2, dtype=torch.uint64, device=query.device),
        torch.empty((), dtype=torch.uint64, device=query.device),
    )


def _scaled_dot_product_flash_attention(
    query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None
):
    if return_debug_mask or not _takes(query, key, value, dropout_p):
        return None
    out, lse = _forward(query, key, value, is_causal, scale)
    no_mask = torch.empty(0, dtype=query.dtype, device=query.device)
    return (out, lse, None, None, query.shape[2], key.shape[2], *_no_dropout(query), no_mask)


def _scaled_dot_product_flash_attention_backward(
    grad_out,
    query,
    key,
    value,
    out,
    logsumexp,
    cum_seq_q,
    cum_seq_k,
    max_q,
    max_k,
    dropout_p,
    is_causal,
    philox_seed,
    philox_offset,
    *,
    scale=None,
):
    if cum_seq_q is not None or _why_not(query, key, value, dropout_p) is not None:
        return None
    return _backward(grad_out, query, key, value, out, logsumexp, is_causal, scale)


def _scaled_dot_product_cudnn_attention(
    query,
    key,
    value,
    attn_bias,
    compute_log_sumexp,
    dropout_p=0.0,
    is_causal=False,
    return_debug_mask=False,
    *,
    scale=None,
):
    if return_debug_mask or not _takes(query, key, value, dropout_p, attn_bias, compute_log_sumexp):
        return None
    out, lse = _forward(query, key, value, "top_left" if is_causal else False, scale, mask=attn_bias)
    seed, offset = (torch.empty((), dtype=torch.int64, device=query.device) for _ in range(2))
    return out, lse.unsqueeze(3), None, None, query.shape[2], key.shape[2], seed, offset, None


def _scaled_dot_product_cudnn_attention_backward(
    grad_out,
    query,
    key,
    value,
    out,
    logsumexp,
    philox_seed,
    philox_offset,
    attn_bias,
    cum_seq_q,
    cum_seq_k,
    max_q,
    max_k,
    dropout_p,
    is_causal,
    *,
    scale=None,
):
    if cum_seq_q is not None:
        return None
    if _why_not(query, key, value, dropout_p, attn_bias, True) is not None:
        return None
    causal = "top_left" if is_causal else False
    return _backward(grad_out, query, key, value, out, logsumexp, causal, scale, mask=attn_bias)


# [B, S, H, D], or [tokens, H, D] with the sequences' offsets. The operator below scaled_dot_product_flash_attention,
# and what torch.nn.attention.varlen calls.


def _why_not_packed(query, key, value, dropout_p):
    return f"dropout_p is {dropout_p}" if dropout_p != 0 else why_not_packed(query, key, value)


def _why_not_option(return_debug_mask, others):
    given = [name for name, other in others.items() if other is not None]
    return f"{' and '.join(given)} is given" if given else "the weights are asked for" if return_debug_mask else None


def _window(left, right):
    sides = tuple(-1 if side is None or side < 0 else side for side in (left, right))
    return None if sides == (-1, -1) else sides


def _flash_attention_forward(
    query,
    key,
    value,
    cum_seq_q,
    cum_seq_k,
    max_q,
    max_k,
    dropout_p,
    is_causal,
    return_debug_mask,
    *,
    scale=None,
    window_size_left=None,
    window_size_right=None,
    **others,
):
    packed = cum_seq_q is not None
    heads_first = (query, key, value) if packed else [t.transpose(1, 2) for t in (query, key, value)]
    why_not_here = _why_not_packed if packed else _why_not
    reason = _why_not_option(return_debug_mask, others) or why_not_here(*heads_first, dropout_p)
    if reason is not None:
        if packed:  # else scaled_dot_product_flash_attention has counted it
            _record(reason)
        return None
    _record(None)
    window = _window(window_size_left, window_size_right)
    if packed:
        out, lse = _C.compute_attention(
            query,
            key,
            value,
            is_causal,
            scale,
            True,
            window=window,
            cu_seqlens_q=cum_seq_q,
            cu_seqlens_k=cum_seq_k,
            max_seqlen_q=max_q,
            max_seqlen_k=max_k,
        )
    else:
        out, lse = _forward(*heads_first, is_causal, scale, window)
        out = out.transpose(1, 2)
    no_mask = torch.empty(0, dtype=query.dtype, device=query.device)
    return (out, lse, *_no_dropout(query), no_mask)


def _flash_attention_backward(
    grad_out,
    query,
    key,
    value,
    out,
    logsumexp,
    cum_seq_q,
    cum_seq_k,
    max_q,
    max_k,
    dropout_p,
    is_causal,
    rng_state,
    unused,
    *,
    scale=None,
    window_size_left=None,
    window_size_right=None,
):
    window = _window(window_size_left, window_size_right)
    if cum_seq_q is not None:
        if _why_not_packed(query, key, value, dropout_p) is not None:
            return None
        return _C.attention_varlen_backward(
            query,
            key,
            value,
            out,
            logsumexp,
            grad_out if grad_out.stride(2) == 1 else grad_out.contiguous(),
            cum_seq_q,
            cum_seq_k,
            max_q,
            max_k,
            causal=is_causal,
            scale=scale,
            deterministic=torch.are_deterministic_algorithms_enabled(),
            window=window,
        )
    grad_out, query, key, value, out = (t.transpose(1, 2) for t in (grad_out, query, key, value, out))
    if _why_not(query, key, value, dropout_p) is not None:
        return None
    results = _backward(grad_out, query, key, value, out, logsumexp, is_causal, scale, window)
    return tuple(result.transpose(1, 2) for result in results)


# ---- what PyTorch's FLOP counter does not know: the operators of a CPU. Pairs that a mask hides count, as on a GPU.


def _product(query, key):
    batch, heads, rows, dim = query.shape
    return 2 * batch * heads * rows * key.shape[2] * dim


FLOPS = {
    "_scaled_dot_product_flash_attention_for_cpu": lambda query, key, *_, **__: 2 * _product(query, key),
    "_scaled_dot_product_flash_attention_for_cpu_backward": lambda _, query, key, *__, **___: (
        5 * _product(query, key)
    ),
}

OPERATORS = {
    "AutogradCPU": (_scaled_dot_product_attention_math,),
    "CPU": (
        _scaled_dot_product_attention_math,  # where nothing is recorded: torch.inference_mode
        _scaled_dot_product_flash_attention_for_cpu,
        _scaled_dot_product_flash_attention_for_cpu_backward,
        _flash_attention_forward,  # which PyTorch itself has for GPUs alone: varlen_attn
        _flash_attention_backward,
    ),
    "CUDA": (
        _scaled_dot_product_flash_attention,
        _scaled_dot_product_flash_attention_backward,
        _scaled_dot_product_cudnn_attention,
        _scaled_dot_product_cudnn_attention_backward,
        _flash_attention_forward,
        _flash_attention_backward,
    ),
}
