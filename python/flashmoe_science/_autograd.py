# SPDX-License-Identifier: MIT
"""attention() of tensors that autograd or torch.func watches and nobody else: the operators, without the dispatcher."""

import torch

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


def _differentiate(ctx, of_scores, dout, dlse, q, k, v, out, lse, arrays):
    """(dq, dk, dv, dsinks, dattn_mask); the last two are None where they are not wanted. `arrays`: those of lengths, and
    then SCORES."""
    differentiate = _Gradients.apply if torch.is_grad_enabled() else gradients
    arrays, scores = arrays[: len(ARRAYS)], arrays[len(ARRAYS) :]
    of_sinks, of_mask = of_scores
    rest = (*arrays, *ctx.numbers, *scores, *ctx.score_numbers, *((True,) if of_mask else ()))
    dq, dk, dv, *dmask = differentiate(dout, dlse, q, k, v, out, lse, *ctx.options, *rest)
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
        ctx.options = causal, scale, threads, deterministic, window
        ctx.numbers, ctx.score_numbers = rest[len(ARRAYS) : _LENGTHS], rest[_LENGTHS + len(SCORES) :]

    @staticmethod
    def backward(ctx, dout, dlse):
        if dout is None and dlse is None:
            return (None,) * (9 + _LENGTHS + len(NO_SCORES))
        q, k, v, out, lse, *arrays = ctx.saved_tensors
        of_scores = ctx.needs_input_grad[10 + _LENGTHS : 12 + _LENGTHS]
        *results, dsinks, dmask = _differentiate(ctx, of_scores, dout, dlse, q, k, v, out, lse, arrays)
        return (*results, *(None,) * (7 + _LENGTHS), dsinks, dmask, *(None,) * (len(NO_SCORES) - 3))

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError(NOT_FORWARD_MODE)

    @staticmethod
    def vmap(info, in_dims, *args):
        return vmap_rule(_Recorded.apply, 0, 9 + _LENGTHS)(info, in_dims, *args)


class _Call(torch.autograd.Function):
    """attention() as plain autograd records it, once it is computed: `results` are its (out, lse), which autograd does not
    see as inputs. What torch.func needs beside that costs more than the call itself."""

    @staticmethod
    def forward(ctx, q, k, v, results, options, return_lse):
        ctx.to_save = (q, k, v, *results)  # save_for_backward(), which is one more call
        ctx.options = options
        if not return_lse:
            return results[0]
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx, dout, dlse=None):
        if dout is None and dlse is None:
            return (None,) * 6
        differentiate = _Gradients.apply if torch.is_grad_enabled() else gradients
        return (*differentiate(dout, dlse, *ctx.saved_tensors, *ctx.options), None, None, None)


class _GeneralCall(torch.autograd.Function):
    """The same with lengths, spans, scores or dropout."""

    @staticmethod
    def forward(ctx, q, k, v, sinks, attn_mask, results, options, return_lse, lengths, scores):
        ctx.save_for_backward(q, k, v, *results, *lengths[: len(ARRAYS)], *scores[: len(SCORES)])
        ctx.options = options
        ctx.numbers, ctx.score_numbers = lengths[len(ARRAYS) :], scores[len(SCORES) :]
        if not return_lse:
            return results[0]
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx, dout, dlse=None):
        if dout is None and dlse is None:
            return (None,) * 10
        q, k, v, out, lse, *arrays = ctx.saved_tensors
        of_scores = ctx.needs_input_grad[3:5]
        results = _differentiate(ctx, of_scores, dout, dlse, q, k, v, out, lse, arrays)
        return (*results, None, None, None, None, None)


# Function.apply without what is for torch.func: it would look for transforms in every call. The module's attention() calls
# the first by itself where there is nothing but q, k and v.
record = super(torch.autograd.Function, _Call).apply
_record_general = super(torch.autograd.Function, _GeneralCall).apply


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
    options = causal, scale, threads, deterministic, window
    if lengths is NO_LENGTHS and scores is NO_SCORES:
        return record(q, k, v, results, options, return_lse)
    return _record_general(q, k, v, scores[1], scores[2], results, options, return_lse, lengths, scores)
