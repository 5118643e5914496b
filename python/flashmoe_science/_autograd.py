# SPDX-License-Identifier: MIT
"""attention() of tensors that autograd or torch.func watches and nobody else: the operators, without the dispatcher."""

import torch

from ._rules import NOT_FORWARD_MODE, NOT_TWICE, compute, flat_lengths, gradients, vmap_rule


class _Gradients(torch.autograd.Function):
    """gradients(), where it is recorded: to be differentiated, which it can't be."""

    @staticmethod
    def forward(*args):
        return gradients(*args)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *_):
        raise NotImplementedError(NOT_TWICE)

    @staticmethod
    def vmap(info, in_dims, *args):
        return vmap_rule(_Gradients.apply, 2)(info, in_dims, *args)


class _Recorded(torch.autograd.Function):
    """attention(), with lse."""

    @staticmethod
    def forward(q, k, v, causal, scale, threads, programmatic, deterministic, window, *lengths):
        return compute(
            q, k, v, causal, scale, True, lengths, threads=threads, programmatic=programmatic, window=window
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, causal, scale, threads, _, deterministic, window, *arrays, max_q, max_k = inputs
        ctx.save_for_backward(q, k, v, *output, *arrays)
        ctx.set_materialize_grads(False)
        ctx.options = causal, scale, threads, deterministic, window
        ctx.longest = max_q, max_k

    @staticmethod
    def backward(ctx, dout, dlse):
        if dout is None and dlse is None:
            return (None,) * 15
        differentiate = _Gradients.apply if torch.is_grad_enabled() else gradients
        q, k, v, out, lse, *arrays = ctx.saved_tensors
        results = differentiate(dout, dlse, q, k, v, out, lse, *ctx.options, *arrays, *ctx.longest)
        return (*results, *(None,) * 12)

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError(NOT_FORWARD_MODE)

    @staticmethod
    def vmap(info, in_dims, *args):
        return vmap_rule(_Recorded.apply, 0)(info, in_dims, *args)


# Function.apply without what is for torch.func: it would inspect the signature of forward() in every call.
_record = super(torch.autograd.Function, _Recorded).apply


def recorded_attention(
    q, k, v, causal, scale, return_lse, out, *, threads, programmatic, deterministic, window, lengths=None
):
    """What flashmoe_science.attention comes to when a gradient is wanted. Its arguments have been read before."""
    if out is not None:
        raise NotImplementedError(
            "attention: out is given, and PyTorch records the call: what is written in place can't be differentiated\n"
            "  try: leave out away, or call under torch.no_grad()"
        )
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"attention: {name} is a {type(tensor).__name__}, and a gradient is wanted\n"
                f"  try: torch.as_tensor({name}), or call under torch.no_grad()"
            )
    record = _Recorded.apply if torch._C._are_functorch_transforms_active() else _record
    result = record(
        q, k, v, causal, scale, threads, programmatic, deterministic, window, *flat_lengths(lengths)
    )
    return result if return_lse else result[0]
