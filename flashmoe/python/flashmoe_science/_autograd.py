# SPDX-License-Identifier: MIT
"""attention() of tensors that autograd or torch.func watches and nobody else: the operators, without the dispatcher."""

import torch

from . import _C
from ._rules import (
    ARRAYS,
    NO_LENGTHS,
    NO_SCORES,
    NOT_FORWARD_MODE,
    NOT_TWICE,
    SCORES,
    compute,
    flat_lengths,
    flat_scores,
    gradients,
    sink_gradients,
    vmap_rule,
)

_LENGTHS = len(NO_LENGTHS)  # arguments that lengths and spans are


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
        return vmap_rule(_Gradients.apply, 2, 12 + _LENGTHS)(info, in_dims, *args)


def _differentiate(known, of_scores, dout, dlse, q, k, v, out, lse, arrays):
    """(dq, dk, dv, dsinks, dattn_mask); the last two are None where they are not wanted. `known`: options, and the numbers of
    lengths and scores. `arrays`: those of lengths, and then SCORES."""
    options, numbers, score_numbers = known
    differentiate = _Gradients.apply if torch.is_grad_enabled() else gradients
    arrays, scores = arrays[: len(ARRAYS)], arrays[len(ARRAYS) :]
    of_sinks, of_mask = of_scores
    rest = (*arrays, *numbers, *scores, *score_numbers, *((True,) if of_mask else ()))
    dq, dk, dv, *dmask = differentiate(dout, dlse, q, k, v, out, lse, *options, *rest)
    dsinks = sink_gradients(dout, dlse, out, lse, scores[1]) if of_sinks else None
    return dq, dk, dv, dsinks, (dmask[0] if of_mask else None)


class _Recorded(torch.autograd.Function):
    """attention(), with lse, for the transforms of torch.func."""

    @staticmethod
    def forward(q, k, v, causal, scale, threads, programmatic, deterministic, window, *rest):
        known = {"threads": threads, "programmatic": programmatic, "window": window}
        return compute(q, k, v, causal, scale, True, rest[:_LENGTHS], rest[_LENGTHS:], **known)

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, causal, scale, threads, _, deterministic, window, *rest = inputs
        ctx.save_for_backward(
            q, k, v, *output, *rest[: len(ARRAYS)], *rest[_LENGTHS : _LENGTHS + len(SCORES)]
        )
        ctx.set_materialize_grads(False)
        options = causal, scale, threads, deterministic, window
        ctx.options = options, rest[len(ARRAYS) : _LENGTHS], rest[_LENGTHS + len(SCORES) :]

    @staticmethod
    def backward(ctx, dout, dlse):
        if dout is None and dlse is None:
            return (None,) * (9 + _LENGTHS + len(NO_SCORES))
        q, k, v, out, lse, *arrays = ctx.saved_tensors
        of_scores = ctx.needs_input_grad[10 + _LENGTHS : 12 + _LENGTHS]
        *results, dsinks, dmask = _differentiate(ctx.options, of_scores, dout, dlse, q, k, v, out, lse, arrays)
        return (*results, *(None,) * (7 + _LENGTHS), dsinks, dmask, *(None,) * (len(NO_SCORES) - 3))

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError(NOT_FORWARD_MODE)

    @staticmethod
    def vmap(info, in_dims, *args):
        return vmap_rule(_Recorded.apply, 0, 9 + _LENGTHS)(info, in_dims, *args)


def _with_place_for_options(function):
    """The same Function, whose ctx has a slot for options: a dictionary for each call takes longer than what is in it."""
    ctx = function._backward_cls
    function._backward_cls = type(ctx.__name__, (ctx,), {"__slots__": ("options",)})
    return function


@_with_place_for_options
class _Call(torch.autograd.Function):
    """attention() as plain autograd records it, once it is computed, by _C.record(). What torch.func needs beside that costs
    more than the call itself. Behind the first five, the saved tensors are ARRAYS and the options NUMBERS, where there are
    lengths or spans."""

    forward = staticmethod(_C.keep_for_backward)

    @staticmethod
    def backward(ctx, dout, dlse=None):
        if dout is None and dlse is None:
            return None, None, None
        differentiate = _Gradients.apply if torch.is_grad_enabled() else gradients
        saved, options = ctx.saved_tensors, ctx.options
        return differentiate(dout, dlse, *saved[:5], *options[:5], *saved[5:], *options[5:])


@_with_place_for_options
class _GeneralCall(torch.autograd.Function):
    """The same with scores or dropout."""

    forward = staticmethod(_C.keep_for_backward)

    @staticmethod
    def backward(ctx, dout, dlse=None):
        if dout is None and dlse is None:
            return (None,) * 5
        q, k, v, out, lse, *arrays = ctx.saved_tensors
        return _differentiate(ctx.options, ctx.needs_input_grad[3:], dout, dlse, q, k, v, out, lse, arrays)


# Function.apply without what is for torch.func: it would look for transforms in every call. The module's attention() uses
# the first by itself.
apply_call = super(torch.autograd.Function, _Call).apply
_apply_general = super(torch.autograd.Function, _GeneralCall).apply


def recorded_attention(
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
    """What flashmoe_science.attention comes to when a gradient is wanted. Its arguments have been read before."""
    if out is not None:
        raise NotImplementedError(
            "attention: out is given, and PyTorch records the call: what is written in place can't be differentiated\n"
            "  try: leave out away, or call under torch.no_grad()"
        )
    if not (isinstance(q, torch.Tensor) and isinstance(k, torch.Tensor) and isinstance(v, torch.Tensor)):
        for name, tensor in (("q", q), ("k", k), ("v", v)):
            if isinstance(tensor, torch.Tensor):
                continue
            raise TypeError(
                f"attention: {name} is a {type(tensor).__name__}, and a gradient is wanted\n"
                f"  try: torch.as_tensor({name}), or call under torch.no_grad()"
            )
    lengths, scores = flat_lengths(lengths), flat_scores(scores)
    if torch._C._are_functorch_transforms_active():
        options = causal, scale, threads, programmatic, deterministic, window
        result = _Recorded.apply(q, k, v, *options, *lengths, *scores)
        return result if return_lse else result[0]
    known = {"threads": threads, "programmatic": programmatic, "window": window}
    results = compute(q, k, v, causal, scale, True, lengths, scores, **known)
    result = results if return_lse else results[0]
    options = causal, scale, threads, deterministic, window
    arrays, numbers = lengths[: len(ARRAYS)], lengths[len(ARRAYS) :]
    saved = (q, k, v, *results, *arrays)
    if scores is NO_SCORES:
        return _C.record(apply_call, (q, k, v), saved, (*options, *numbers), result)
    tensors, score_numbers = scores[: len(SCORES)], scores[len(SCORES) :]
    _, sinks, attn_mask, _ = tensors
    inputs, known = (q, k, v, sinks, attn_mask), (options, numbers, score_numbers)
    return _C.record(_apply_general, inputs, (*saved, *tensors), known, result)
