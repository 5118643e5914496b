# SPDX-License-Identifier: MIT
"""torch.ops.flashmoe_science: attention, attention_with_lse and attention_backward, with all that PyTorch asks of operators."""

import torch

from ._rules import (
    ARRAYS,
    NO_LENGTHS,
    NO_SCORES,
    NOT_TWICE,
    NUMBERS,
    SCORE_NUMBERS,
    SCORES,
    compute,
    gradients,
    lowered,
    sink_gradients,
    vmap_rule,
)

if not hasattr(torch.library, "register_autograd"):
    raise ImportError(
        f"flashmoe_science: gradients and operators need PyTorch 2.4 or newer; this is {torch.__version__}\n"
        f"  try: call attention() under torch.no_grad(), which every release can"
    )

# q, k and v are packed where cu_seqlens are given, [rows, heads, head_dim], and else a batch. Tensors come before the
# star: register_autograd takes none behind it.
_LENGTHS = ", ".join(f"Tensor? {name}=None" for name in ARRAYS)
_SCORES = ", ".join(f"Tensor? {name}=None" for name in SCORES)
_NUMBERS = ", ".join(f"SymInt {name}=0" for name in NUMBERS) + "".join(
    f", float {name}=0" for name in SCORE_NUMBERS
)
_FORWARD = (
    f'Tensor q, Tensor k, Tensor v, str mask="none", float? scale=None, {_LENGTHS}, {_SCORES}, *, int threads=0, '
    f"bool programmatic=False, bool? deterministic=None, int[]? window=None, {_NUMBERS}"
)
_BACKWARD = (
    "Tensor? dout, Tensor? dlse, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, "
    f'str mask="none", float? scale=None, {_LENGTHS}, {_SCORES}, *, int threads=0, bool? deterministic=None, '
    f"int[]? window=None, {_NUMBERS}"
)
_CAUSAL = {"none": False, "bottom_right": True, "top_left": "top_left"}  # by the name of the mask
_STRIDES = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
_library = torch.library.Library("flashmoe_science", "DEF")


def _causal(mask):
    if mask not in _CAUSAL:
        raise ValueError(f"attention: mask is {mask!r}; accepted are {', '.join(map(repr, _CAUSAL))}")
    return _CAUSAL[mask]


# ---- what the operators compute


def _computes(return_lse):
    def kernel(
        q,
        k,
        v,
        mask="none",
        scale=None,
        *arrays,
        deterministic=None,
        **options,
    ):
        arrays, scores = _filled(arrays)
        lengths = (*arrays, *(options.pop(name, 0) for name in NUMBERS))
        scores = (*scores, *(options.pop(name, 0.0) for name in SCORE_NUMBERS))
        return compute(q, k, v, _causal(mask), scale, return_lse, lengths, scores, **options)

    return kernel


def _filled(arrays):
    """ARRAYS and SCORES: PyTorch leaves out what comes last and is not given."""
    filled = (*arrays, *(None,) * (len(ARRAYS) + len(SCORES) - len(arrays)))
    return filled[: len(ARRAYS)], filled[len(ARRAYS) :]


def _computes_backward(of_mask):
    def kernel(
        dout,
        dlse,
        q,
        k,
        v,
        out,
        lse,
        mask="none",
        scale=None,
        *arrays,
        threads=0,
        deterministic=None,
        window=None,
        **numbers,
    ):
        options = _causal(mask), scale, threads, deterministic, window
        arrays, scores = _filled(arrays)
        lengths = (*arrays, *(numbers.get(name, 0) for name in NUMBERS))
        scores = (*scores, *(numbers.get(name, 0.0) for name in SCORE_NUMBERS))
        rest = (*lengths, *scores, *of_mask)
        return gradients(dout, dlse, q, k, v, out, lse, *options, *rest)

    return kernel


def gradients_by_operator(dout, dlse, q, k, v, out, lse, causal, scale, threads, deterministic, window, *rest):
    """gradients(), through the dispatcher."""
    lengths, rest = rest[: len(NO_LENGTHS)] or NO_LENGTHS, rest[len(NO_LENGTHS) :]
    scores, of_mask = rest[: len(NO_SCORES)] or NO_SCORES, rest[len(NO_SCORES) :]
    operator = _backward_with_mask_operator if of_mask else _backward_operator
    mask = next(name for name, value in _CAUSAL.items() if value == causal)
    arrays = *lengths[: len(ARRAYS)], *scores[: len(SCORES)]
    numbers = dict(zip((*NUMBERS, *SCORE_NUMBERS), (*lengths[len(ARRAYS) :], *scores[len(SCORES) :])))
    options = {"threads": threads, "deterministic": deterministic, "window": window, **numbers}
    return operator(dout, dlse, q, k, v, out, lse, mask, scale, *arrays, **options)


# ---- the same without data: as much as is known while a program is being traced


def _check_shapes(q, k, v, mask, packed):
    _causal(mask)
    form = "3: [rows, heads, head_dim]" if packed else "4: [batch, heads, rows, head_dim]"
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        torch._check(
            tensor.dim() == (3 if packed else 4),
            lambda: f"attention: {name} has {tensor.dim()} dimensions; it must have {form}",
        )
        torch._check(
            tensor.dtype == q.dtype and q.dtype in (torch.float32, torch.float16, torch.bfloat16),
            lambda: (
                f"attention: {name} is {tensor.dtype} and q is {q.dtype}; accepted are float32, float16 and bfloat16, "
                f"one for all"
            ),
        )
    if not packed:
        torch._check(
            k.shape[0] == q.shape[0],
            lambda: (
                f"attention: k has shape {list(k.shape)} and q {list(q.shape)}; dimension 0 must be the same"
            ),
        )
    torch._check(
        k.shape[-1] == q.shape[-1],
        lambda: (
            f"attention: k has shape {list(k.shape)} and q {list(q.shape)}; the last dimension must be the same"
        ),
    )
    for i in range(q.dim()):
        torch._check(
            v.shape[i] == k.shape[i],
            lambda: f"attention: v has shape {list(v.shape)} and k {list(k.shape)}; they must be the same",
        )
    torch._check(
        q.shape[1] == k.shape[1] or q.shape[1] % k.shape[1] == 0,
        lambda: (
            f"attention: q has {q.shape[1]} heads and k has {k.shape[1]}; the heads of q must be a multiple of those "
            f"of k"
        ),
    )


def _fake(q, k, v, mask="none", scale=None, cu_seqlens_q=None, *arrays, **options):
    _check_shapes(q, k, v, mask, cu_seqlens_q is not None)
    return torch.empty_like(q)


def _fake_with_lse(q, k, v, mask="none", scale=None, cu_seqlens_q=None, *arrays, **options):
    rows = q.shape[:3] if cu_seqlens_q is None else (q.shape[1], q.shape[0])
    return _fake(q, k, v, mask, scale, cu_seqlens_q), q.new_empty(rows, dtype=torch.float32)


def _fake_backward(
    dout, dlse, q, k, v, out, lse, mask="none", scale=None, cu_seqlens_q=None, *arrays, **options
):
    _check_shapes(q, k, v, mask, cu_seqlens_q is not None)
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def _fake_backward_with_mask(*args, **options):
    attn_mask = _filled(args[9:])[1][2]
    return (*_fake_backward(*args, **options), attn_mask.new_empty(attn_mask.shape))


# ---- gradients


def _keep_for_backward(ctx, inputs, keyword_only_inputs, output):
    q, k, v, ctx.mask, ctx.scale, *arrays = inputs
    ctx.options = {
        name: keyword_only_inputs[name]
        for name in ("threads", "deterministic", "window", *NUMBERS, *SCORE_NUMBERS)
    }
    ctx.save_for_backward(q, k, v, *output, *arrays)
    ctx.set_materialize_grads(False)


def _backward(ctx, dout, dlse):
    if dout is None and dlse is None:
        return (None,) * (5 + len(ARRAYS) + len(SCORES))
    q, k, v, out, lse, *arrays = ctx.saved_tensors
    _, (_, sinks, attn_mask, _) = _filled(arrays)
    of_sinks, of_mask = (t is not None and t.requires_grad for t in (sinks, attn_mask))
    operators = torch.ops.flashmoe_science
    operator = operators.attention_backward_with_mask if of_mask else operators.attention_backward
    dq, dk, dv, *dmask = operator(dout, dlse, q, k, v, out, lse, ctx.mask, ctx.scale, *arrays, **ctx.options)
    dsinks = sink_gradients(dout, dlse, out, lse, sinks) if of_sinks else None
    return (dq, dk, dv, *(None,) * (3 + len(ARRAYS)), dsinks, dmask[0] if of_mask else None, None)


def _no_second_backward(ctx, *_):
    raise NotImplementedError(NOT_TWICE)


def _recorded(q, k, v, *rest, **options):
    """The Autograd rule of `attention`, whose backward pass needs the log-sum-exp."""
    tensors = (q, k, v, *(t for t in rest if isinstance(t, torch.Tensor)))
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return attention_with_lse_operator(q, k, v, *rest, **options)[0]
    with torch._C._AutoDispatchBelowAutograd():
        return attention_operator(q, k, v, *rest, **options)


# ---- torch.autocast


def _autocast(operator, device):
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autocast{device}"))

    def kernel(q, k, v, *rest, **options):
        q, k, v = lowered(q, k, v)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return operator(q, k, v, *rest, **options)

    return kernel


# ---- registration


def _register(schema, compute, fake):
    name = schema.split("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag, _STRIDES))
    for device in ("CPU", "CUDA"):
        _library.impl(name, compute, device)
    torch.library.register_fake(f"flashmoe_science::{name}", fake, lib=_library)
    return getattr(torch.ops.flashmoe_science, name).default


attention_operator = _register(f"attention({_FORWARD}) -> Tensor", _computes(False), _fake)
attention_with_lse_operator = _register(
    f"attention_with_lse({_FORWARD}) -> (Tensor, Tensor)", _computes(True), _fake_with_lse
)
_backward_operator = _register(
    f"attention_backward({_BACKWARD}) -> (Tensor, Tensor, Tensor)", _computes_backward(()), _fake_backward
)
_backward_with_mask_operator = _register(
    f"attention_backward_with_mask({_BACKWARD}) -> (Tensor, Tensor, Tensor, Tensor)",
    _computes_backward((True,)),
    _fake_backward_with_mask,
)

_library.impl("attention", _recorded, "Autograd")
torch.library.register_autograd(
    attention_with_lse_operator, _backward, setup_context=_keep_for_backward, lib=_library
)
for _operator in (_backward_operator, _backward_with_mask_operator):
    torch.library.register_autograd(_operator, _no_second_backward, lib=_library)
for _operator, _name in (
    (attention_operator, "attention"),
    (attention_with_lse_operator, "attention_with_lse"),
):
    for _device in ("CPU", "CUDA"):
        _library.impl(_name, _autocast(_operator, _device), f"Autocast{_device}")
if hasattr(torch.library, "register_vmap"):  # from PyTorch 2.5 on
    torch.library.register_vmap(
        attention_operator, vmap_rule(attention_operator, 0, 5 + len(ARRAYS)), lib=_library
    )
    torch.library.register_vmap(
        attention_with_lse_operator, vmap_rule(attention_with_lse_operator, 0, 5 + len(ARRAYS)), lib=_library
    )
    torch.library.register_vmap(
        _backward_operator, vmap_rule(_backward_operator, 2, 9 + len(ARRAYS)), lib=_library
    )
