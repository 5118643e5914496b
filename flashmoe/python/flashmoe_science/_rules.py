# SPDX-License-Identifier: MIT
"""What the operators and autograd's shortcut have in common: gradients, autocast, vmap, and what is refused."""

import torch

from . import _C
from ._dropout import as_tensor

NOT_TWICE = (
    "attention: second derivatives are not implemented\n"
    "  try: torch.nn.functional.scaled_dot_product_attention under torch.nn.attention.sdpa_kernel(SDPBackend.MATH)"
)

NOT_FORWARD_MODE = (
    "attention: forward-mode derivatives are not implemented\n"
    "  try: reverse mode: backward(), or torch.func.grad and vjp"
)

# What a call has beside q, k, v and scores: tensors or None, then integers. q, k and v are packed where there are
# cu_seqlens, [rows, heads, head_dim], and else a batch.
ARRAYS = ("cu_seqlens_q", "cu_seqlens_k", "used_q", "used_k", "documents", "prefix", "left_padding")
NUMBERS = ("max_seqlen_q", "max_seqlen_k", "chunk", "first_keys")
NO_LENGTHS = (None,) * len(ARRAYS) + (0,) * len(NUMBERS)
# What changes scores, and the weights that are made of them: tensors or None, and behind them numbers.
SCORES = ("alibi_slopes", "sinks", "attn_mask", "dropout_seed")
SCORE_NUMBERS = ("softcap", "dropout_p")
NO_SCORES = (None,) * len(SCORES) + (0.0,) * len(SCORE_NUMBERS)


def flat_scores(scores):
    """SCORES, and SCORE_NUMBERS. From these in the other order, or None."""
    if scores is None:
        return NO_SCORES
    softcap, dropout_p, *arrays, seed = scores
    tensors = (t if t is None or isinstance(t, torch.Tensor) else torch.as_tensor(t) for t in arrays)
    return (*tensors, as_tensor(seed), float(softcap or 0), float(dropout_p or 0))


def flat_lengths(lengths):
    """Lengths and spans, in the order of ARRAYS and NUMBERS: tensors or None, and integers."""
    if lengths is None:
        return NO_LENGTHS
    arrays, numbers = lengths[: len(ARRAYS)], lengths[len(ARRAYS) :]
    tensors = (t if t is None or isinstance(t, torch.Tensor) else torch.as_tensor(t) for t in arrays)
    return (*tensors, *(int(n) if isinstance(n, torch.Tensor) else n or 0 for n in numbers))


def _by_name(scores):
    return dict(zip(SCORES + SCORE_NUMBERS, scores))


def compute(q, k, v, causal, scale, return_lse, lengths, scores=NO_SCORES, **options):
    """attention() or attention_varlen(), whatever is recorded or watched."""
    if scores is not NO_SCORES:
        options.update(_by_name(scores))
    if lengths is not NO_LENGTHS:
        options.update(zip(ARRAYS + NUMBERS, lengths))
    return _C.compute_attention(q, k, v, causal, scale, return_lse, **options)


def sink_gradients(dout, dlse, out, lse, sinks):
    """Of [Hq] sinks: -sum over rows of exp(sink - lse) (dout . out - dlse). Heads come before rows in lse, and last but
    one in packed tensors."""
    packed = out.dim() == 3
    delta = 0 if dout is None else (dout.float() * out.float()).sum(-1)
    if packed and dout is not None:
        delta = delta.transpose(0, 1)
    if dlse is not None:
        delta = delta - dlse
    own = sinks.float().view(-1, 1)
    weights = torch.where(lse == -torch.inf, 0, torch.exp(own - lse))  # rows of no sequence weigh nothing
    return -(weights * delta).sum((1,) if packed else (0, 2)).to(sinks.dtype)


# grad(is_grads_batched=True), and jacobian(vectorize=True), give tensors without data: only operators can read them.
_is_batched_by_autograd = getattr(torch._C._functorch, "is_legacy_batchedtensor", lambda tensor: False)


def _gradients_of_each(*args):
    """gradients() by the operator, which the dispatcher calls once for each entry."""
    from ._operators import gradients_by_operator

    return gradients_by_operator(*args)


def gradients(
    dout,
    dlse,
    q,
    k,
    v,
    out,
    lse,
    causal,
    scale,
    threads,
    deterministic,
    window,
    *rest,
):
    """(dq, dk, dv). dout or dlse is None where nothing depends on that result. `rest`: nothing, or lengths, then scores,
    then True where the gradient of attn_mask is wanted too, as a fourth."""
    if any(t is not None and _is_batched_by_autograd(t) for t in (dout, dlse)):
        return _gradients_of_each(dout, dlse, q, k, v, out, lse, causal, scale, threads, deterministic, window, *rest)
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
    if not rest:
        return _C.attention_backward(*tensors, **options)
    lengths, rest = rest[: len(NO_LENGTHS)], rest[len(NO_LENGTHS) :]
    scores, of_mask = rest[: len(NO_SCORES)], rest[len(NO_SCORES) :] == (True,)
    if scores:
        options.update(_by_name(scores))
    cu_q, cu_k, used_q, used_k, *spans = lengths[: len(ARRAYS)]
    max_q, max_k, chunk, first_keys = lengths[len(ARRAYS) :]
    options.update(zip(ARRAYS[4:], spans), chunk=chunk, first_keys=first_keys)
    if cu_q is None:
        mask = options.get("attn_mask")
        dmask = torch.empty(mask.shape, dtype=torch.float32, device=mask.device) if of_mask else None
        results = _C.attention_backward(
            *tensors, **options, q_lengths=used_q, kv_lengths=used_k, dattn_mask=dmask
        )
        return (*results, dmask.to(mask.dtype)) if of_mask else results
    options.pop("attn_mask", None)  # packed sequences have none
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


def _one_by_one(operator, count, in_dims, args, options):
    """A call for each. Dropout goes by the place in the batch, and scores and packed sequences have no such dimension."""
    results = [
        operator(*(arg if dim is None else arg.select(dim, i) for arg, dim in zip(args, in_dims)), **options)
        for i in range(count)
    ]
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results), 0
    stacked = tuple(map(torch.stack, zip(*results)))
    return stacked, (0,) * len(stacked)


def vmap_rule(operator, q_at, scores_at):
    """torch.vmap: one more dimension is part of the batch, or a loop over it. q is argument `q_at`, SCORES those from `scores_at` on."""

    def rule(info, in_dims, *args, **options):
        scores = args[scores_at : scores_at + len(SCORES)]
        packed = args[q_at].dim() - (in_dims[q_at] is not None) == 3
        count = info.batch_size
        if packed or any(isinstance(arg, torch.Tensor) for arg in scores):
            return _one_by_one(operator, count, in_dims, args, options)
        folded = [
            _folded(arg, dim, count) if isinstance(arg, torch.Tensor) else arg
            for arg, dim in zip(args, in_dims)
        ]
        if q_at > 0:  # a backward: its lse has to be dense, and may be shared by all entries
            folded[q_at + 4] = folded[q_at + 4].contiguous()
        results = operator(*folded, **options)
        if isinstance(results, torch.Tensor):
            return _unfolded(results, count), 0
        return tuple(_unfolded(result, count) for result in results), (0,) * len(results)

    return rule
