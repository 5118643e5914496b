# SPDX-License-Identifier: MIT
"""What the operators and autograd's shortcut have in common: gradients, autocast, vmap, and what is refused."""

import torch

from . import _C

NOT_TWICE = (
    "attention: second derivatives are not implemented\n"
    "  try: torch.nn.functional.scaled_dot_product_attention under torch.nn.attention.sdpa_kernel(SDPBackend.MATH)"
)

NOT_FORWARD_MODE = (
    "attention: forward-mode derivatives are not implemented\n"
    "  try: reverse mode: backward(), or torch.func.grad and vjp"
)


NOT_BATCHED = (
    "attention_varlen: torch.vmap of packed sequences is not implemented\n"
    "  try: pack the sequences of all entries one behind the other, in one call"
)

NO_LENGTHS = (None, None, None, None, 0, 0)


def flat_lengths(lengths):
    """(cu_seqlens_q, cu_seqlens_k, used_q, used_k, max_seqlen_q, max_seqlen_k): tensors or None, and integers.

    q, k and v are packed where there are cu_seqlens, [rows, heads, head_dim], and else a batch.
    """
    if lengths is None:
        return NO_LENGTHS
    *arrays, max_q, max_k = lengths
    tensors = (t if t is None or isinstance(t, torch.Tensor) else torch.as_tensor(t) for t in arrays)
    longest = (int(n) if isinstance(n, torch.Tensor) else n or 0 for n in (max_q, max_k))
    return (*tensors, *longest)


def compute(q, k, v, causal, scale, return_lse, lengths, **options):
    """attention() or attention_varlen(), whatever is recorded or watched."""
    if any(t is not None for t in lengths[:4]):
        cu_q, cu_k, used_q, used_k, max_q, max_k = lengths
        options.update(cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, used_q=used_q, used_k=used_k)
        options.update(max_seqlen_q=max_q, max_seqlen_k=max_k)
    return _C.compute_attention(q, k, v, causal, scale, return_lse, **options)


def gradients(dout, dlse, q, k, v, out, lse, causal, scale, threads, deterministic, window, *lengths):
    """(dq, dk, dv). dout or dlse is None where nothing depends on that result."""
    if dout is None:
        dout = torch.zeros_like(out)
    elif dout.shape[-1] > 1 and dout.stride(-1) != 1:  # of a sum, say: expanded
        dout = dout.contiguous()
    if dlse is not None:
        dlse = dlse.contiguous()
    if deterministic is None:
        deterministic = torch.are_deterministic_algorithms_enabled()
    options = {
        "dlse": dlse,
        "causal": causal,
        "scale": scale,
        "threads": threads,
        "deterministic": deterministic,
        "window": window,
    }
    tensors = (q, k, v, out, lse, dout)
    cu_q, cu_k, used_q, used_k, max_q, max_k = lengths or NO_LENGTHS
    if cu_q is None:
        return _C.attention_backward(*tensors, **options, q_lengths=used_q, kv_lengths=used_k)
    return _C.attention_varlen_backward(
        *tensors, cu_q, cu_k, max_q, max_k, **options, seqused_q=used_q, seqused_k=used_k
    )


def lowered(*tensors):
    """As torch.autocast wants them: in the lower precision, as for scaled_dot_product_attention."""
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return tensors
    dtype = torch.get_autocast_dtype(kind)
    return tuple(t.to(dtype) if t.is_floating_point() and t.device.type == kind else t for t in tensors)


def _folded(tensor, dim, count):
    """[count, B, ...] as [count * B, ...]."""
    tensor = tensor.unsqueeze(0).expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return tensor.flatten(0, 1)


def _unfolded(tensor, count):
    return tensor.unflatten(0, (count, tensor.shape[0] // count))


def vmap_rule(operator, q_at):
    """torch.vmap: one more dimension is part of the batch. q is argument `q_at`."""

    def rule(info, in_dims, *args, **options):
        if args[q_at].dim() - (in_dims[q_at] is not None) == 3:
            raise NotImplementedError(NOT_BATCHED)
        count = info.batch_size
        folded = [
            _folded(arg, dim, count) if isinstance(arg, torch.Tensor) else arg
            for arg, dim in zip(args, in_dims)
        ]
        results = operator(*folded, **options)
        if isinstance(results, torch.Tensor):
            return _unfolded(results, count), 0
        return tuple(_unfolded(result, count) for result in results), (0,) * len(results)

    return rule
