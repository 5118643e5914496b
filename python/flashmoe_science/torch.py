# SPDX-License-Identifier: MIT
"""attention() as PyTorch knows it: operators with gradients, shapes without data, autocast and vmap rules.

torch.ops.flashmoe_science.attention, attention_with_lse and attention_backward. flashmoe_science.attention comes here
by itself where PyTorch has to see the call (gradients, autocast, tracers, torch.func, torch.compile), so there is no
need to import this module but to use the operators by name.
"""

from typing import Optional, Tuple, Union

import torch

from . import _C

__all__ = ["attention"]

if not hasattr(torch.library, "register_autograd"):
    raise ImportError(
        f"flashmoe_science: gradients and operators need PyTorch 2.4 or newer; this is {torch.__version__}\n"
        f"  try: call attention() under torch.no_grad(), which every release can"
    )

_FORWARD = (
    'Tensor q, Tensor k, Tensor v, str mask="none", float? scale=None, *, int threads=0, bool programmatic=False, '
    "bool? deterministic=None"
)
_BACKWARD = (
    "Tensor? dout, Tensor? dlse, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, "
    'str mask="none", float? scale=None, *, int threads=0, bool? deterministic=None'
)
_CAUSAL = {"none": False, "bottom_right": True, "top_left": "top_left"}  # by the name of the mask
_STRIDES = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
_library = torch.library.Library("flashmoe_science", "DEF")


def _causal(mask):
    if mask not in _CAUSAL:
        raise ValueError(f"attention: mask is {mask!r}; accepted are {', '.join(map(repr, _CAUSAL))}")
    return _CAUSAL[mask]


def _mask(causal):
    return causal if isinstance(causal, str) else "bottom_right" if causal else "none"


# ---- what the operators compute


def _compute(q, k, v, mask="none", scale=None, *, threads=0, programmatic=False, deterministic=None):
    return _C.compute_attention(q, k, v, _causal(mask), scale, threads=threads, programmatic=programmatic)


def _compute_with_lse(q, k, v, mask="none", scale=None, *, threads=0, programmatic=False, deterministic=None):
    return _C.compute_attention(
        q, k, v, _causal(mask), scale, True, threads=threads, programmatic=programmatic
    )


def _gradients(dout, dlse, q, k, v, out, lse, causal, scale, threads, deterministic):
    """(dq, dk, dv). dout or dlse is None where nothing depends on that result."""
    if dout is None:
        dout = torch.zeros_like(out)
    elif dout.shape[3] > 1 and dout.stride(3) != 1:  # of a sum, say: expanded
        dout = dout.contiguous()
    if dlse is not None:
        dlse = dlse.contiguous()
    if deterministic is None:
        deterministic = torch.are_deterministic_algorithms_enabled()
    return _C.attention_backward(
        q,
        k,
        v,
        out,
        lse,
        dout,
        dlse=dlse,
        causal=causal,
        scale=scale,
        threads=threads,
        deterministic=deterministic,
    )


def _compute_backward(
    dout, dlse, q, k, v, out, lse, mask="none", scale=None, *, threads=0, deterministic=None
):
    return _gradients(dout, dlse, q, k, v, out, lse, _causal(mask), scale, threads, deterministic)


# ---- the same without data: as much as is known while a program is being traced


def _check_shapes(q, k, v, mask):
    _causal(mask)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        torch._check(
            tensor.dim() == 4,
            lambda: (
                f"attention: {name} has {tensor.dim()} dimensions; it must have 4: [batch, heads, rows, head_dim]"
            ),
        )
        torch._check(
            tensor.dtype == q.dtype and q.dtype in (torch.float32, torch.float16, torch.bfloat16),
            lambda: (
                f"attention: {name} is {tensor.dtype} and q is {q.dtype}; accepted are float32, float16 and bfloat16, "
                f"one for all"
            ),
        )
    torch._check(
        k.shape[0] == q.shape[0] and k.shape[3] == q.shape[3],
        lambda: (
            f"attention: k has shape {list(k.shape)} and q {list(q.shape)}; dimensions 0 and 3 must be the same"
        ),
    )
    for i in range(4):
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


def _fake(q, k, v, mask="none", scale=None, **options):
    _check_shapes(q, k, v, mask)
    return torch.empty_like(q)


def _fake_with_lse(q, k, v, mask="none", scale=None, **options):
    return _fake(q, k, v, mask), q.new_empty(q.shape[:3], dtype=torch.float32)


def _fake_backward(dout, dlse, q, k, v, out, lse, mask="none", scale=None, **options):
    _check_shapes(q, k, v, mask)
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


# ---- gradients

_NOT_TWICE = (
    "attention: second derivatives are not implemented\n"
    "  try: torch.nn.functional.scaled_dot_product_attention under torch.nn.attention.sdpa_kernel(SDPBackend.MATH)"
)

_NOT_FORWARD_MODE = (
    "attention: forward-mode derivatives are not implemented\n"
    "  try: reverse mode: backward(), or torch.func.grad and vjp"
)


def _keep_for_backward(ctx, inputs, keyword_only_inputs, output):
    q, k, v, ctx.mask, ctx.scale = inputs
    ctx.threads = keyword_only_inputs["threads"]
    ctx.deterministic = keyword_only_inputs["deterministic"]
    ctx.save_for_backward(q, k, v, *output)
    ctx.set_materialize_grads(False)


def _backward(ctx, dout, dlse):
    if dout is None and dlse is None:
        return None, None, None, None, None
    gradients = torch.ops.flashmoe_science.attention_backward(
        dout,
        dlse,
        *ctx.saved_tensors,
        ctx.mask,
        ctx.scale,
        threads=ctx.threads,
        deterministic=ctx.deterministic,
    )
    return (*gradients, None, None)


def _no_second_backward(ctx, *gradients):
    raise NotImplementedError(_NOT_TWICE)


def _recorded(q, k, v, mask="none", scale=None, **options):
    """The Autograd rule of `attention`, whose backward pass needs the log-sum-exp."""
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        return _attention_with_lse(q, k, v, mask, scale, **options)[0]
    with torch._C._AutoDispatchBelowAutograd():
        return _attention(q, k, v, mask, scale, **options)


# ---- torch.autocast: as scaled_dot_product_attention, in the lower precision


def _lowered(*tensors):
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return tensors
    dtype = torch.get_autocast_dtype(kind)
    return tuple(t.to(dtype) if t.is_floating_point() and t.device.type == kind else t for t in tensors)


def _autocast(operator, device):
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autocast{device}"))

    def kernel(q, k, v, *rest, **options):
        q, k, v = _lowered(q, k, v)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return operator(q, k, v, *rest, **options)

    return kernel


# ---- torch.vmap: one more dimension is part of the batch


def _folded(tensor, dim, count):
    """[count, B, ...] as [count * B, ...]."""
    tensor = tensor.unsqueeze(0).expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return tensor.flatten(0, 1)


def _vmap(operator, num_tensors):
    def rule(info, in_dims, *args, **options):
        count = info.batch_size
        tensors = [
            None if tensor is None else _folded(tensor, dim, count)
            for tensor, dim in zip(args[:num_tensors], in_dims)
        ]
        results = operator(*tensors, *args[num_tensors:], **options)
        if isinstance(results, torch.Tensor):
            return results.unflatten(0, (count, -1)), 0
        return tuple(result.unflatten(0, (count, -1)) for result in results), (0,) * len(results)

    return rule


# ---- FLOP counters: as for scaled_dot_product_attention, which counts masked pairs too


def _product_flops(q_shape, k_shape):
    batch, heads, rows, dim = q_shape
    return 2 * batch * heads * rows * k_shape[2] * dim


def _forward_flops(q_shape, k_shape, v_shape, *args, out_shape=None, **kwargs):
    return 2 * _product_flops(q_shape, k_shape)


def _backward_flops(dout, dlse, q_shape, k_shape, *args, out_shape=None, **kwargs):
    return 5 * _product_flops(q_shape, k_shape)


def _register_flops():
    try:
        from torch.utils.flop_counter import register_flop_formula
    except ImportError:
        return
    packets = torch.ops.flashmoe_science
    register_flop_formula([packets.attention, packets.attention_with_lse])(_forward_flops)
    register_flop_formula(packets.attention_backward)(_backward_flops)


def _register(schema, compute, fake):
    name = schema.split("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag, _STRIDES))
    for device in ("CPU", "CUDA"):
        _library.impl(name, compute, device)
    torch.library.register_fake(f"flashmoe_science::{name}", fake, lib=_library)
    return getattr(torch.ops.flashmoe_science, name).default


_attention = _register(f"attention({_FORWARD}) -> Tensor", _compute, _fake)
_attention_with_lse = _register(
    f"attention_with_lse({_FORWARD}) -> (Tensor, Tensor)", _compute_with_lse, _fake_with_lse
)
_attention_backward = _register(
    f"attention_backward({_BACKWARD}) -> (Tensor, Tensor, Tensor)", _compute_backward, _fake_backward
)

_library.impl("attention", _recorded, "Autograd")
torch.library.register_autograd(
    _attention_with_lse, _backward, setup_context=_keep_for_backward, lib=_library
)
torch.library.register_autograd(_attention_backward, _no_second_backward, lib=_library)
for _operator, _name in ((_attention, "attention"), (_attention_with_lse, "attention_with_lse")):
    for _device in ("CPU", "CUDA"):
        _library.impl(_name, _autocast(_operator, _device), f"Autocast{_device}")
if hasattr(torch.library, "register_vmap"):  # from PyTorch 2.5 on
    torch.library.register_vmap(_attention, _vmap(_attention, 3), lib=_library)
    torch.library.register_vmap(_attention_with_lse, _vmap(_attention_with_lse, 3), lib=_library)
    torch.library.register_vmap(_attention_backward, _vmap(_attention_backward, 7), lib=_library)
_register_flops()


# ---- the call


class _Gradients(torch.autograd.Function):
    """_gradients, where it is recorded: to be differentiated, which it can't be."""

    @staticmethod
    def forward(*args):
        return _gradients(*args)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError(_NOT_TWICE)

    @staticmethod
    def vmap(info, in_dims, *args):
        return _vmap(_Gradients.apply, 7)(info, in_dims, *args)


class _Recorded(torch.autograd.Function):
    """attention() of tensors that autograd or torch.func watches and nobody else: without the dispatcher."""

    @staticmethod
    def forward(q, k, v, causal, scale, threads, programmatic, deterministic):
        return _C.compute_attention(q, k, v, causal, scale, True, threads=threads, programmatic=programmatic)

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, causal, scale, threads, _, deterministic = inputs
        ctx.save_for_backward(q, k, v, *output)
        ctx.set_materialize_grads(False)
        ctx.options = causal, scale, threads, deterministic

    @staticmethod
    def backward(ctx, dout, dlse):
        if dout is None and dlse is None:
            return (None,) * 8
        compute = _Gradients.apply if torch.is_grad_enabled() else _gradients
        gradients = compute(dout, dlse, *ctx.saved_tensors, *ctx.options)
        return (*gradients, None, None, None, None, None)

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError(_NOT_FORWARD_MODE)

    @staticmethod
    def vmap(info, in_dims, *args):
        return _vmap(_Recorded.apply, 3)(info, in_dims, *args)


# Function.apply without what is for torch.func: it would inspect the signature of forward() in every call.
_record = super(torch.autograd.Function, _Recorded).apply


def recorded_attention(q, k, v, causal, scale, return_lse, out, *, threads, programmatic, deterministic):
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
    result = record(q, k, v, causal, scale, threads, programmatic, deterministic)
    return result if return_lse else result[0]


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def lowered_attention(q, k, v, causal, scale, return_lse, out, *, threads, programmatic, deterministic):
    """What flashmoe_science.attention comes to under torch.autocast: plain tensors need no dispatcher for it."""
    options = {"threads": threads, "programmatic": programmatic}
    if not all(type(t) in _PLAIN for t in (q, k, v)) or torch._C._are_functorch_transforms_active():
        return attention(q, k, v, causal, scale, return_lse, out, **options, deterministic=deterministic)
    q, k, v = _lowered(q, k, v)
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        return recorded_attention(
            q, k, v, causal, scale, return_lse, out, **options, deterministic=deterministic
        )
    return _C.compute_attention(q, k, v, causal, scale, return_lse, **options)


def _check_supported(name, tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"attention: {name} is a {type(tensor).__name__}, and PyTorch watches the call (autocast, a tracer, a mode)\n"
            f"  try: torch.as_tensor({name})"
        )
    if tensor.is_nested:
        raise TypeError(
            f"attention: {name} is a nested tensor; accepted are dense ones\n"
            f"  try: torch.nested.to_padded_tensor, or one call for each of its parts"
        )
    if tensor.layout != torch.strided:
        raise TypeError(
            f"attention: {name} has layout {tensor.layout}; accepted are dense tensors\n"
            f"  try: {name}.to_dense()"
        )


def _has_tangent(tensor):
    return torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: Union[bool, str] = False,
    scale: Optional[float] = None,
    return_lse: bool = False,
    out: Optional[torch.Tensor] = None,
    *,
    threads: int = 0,
    programmatic: bool = False,
    deterministic: Optional[bool] = None,
) -> Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]:
    """flashmoe_science.attention, through the operators. For PyTorch tensors alone; shapes as there.

    q, out: [B, Hq, Sq, D]; k, v: [B, Hkv, Skv, D]. Returns out, or (out, lse) with lse [B, Hq, Sq] in float32.
    """
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        _check_supported(name, tensor)
    if not torch.compiler.is_compiling():
        if torch._C._are_functorch_transforms_active():  # which registered operators do not go together with
            return recorded_attention(
                *_lowered(q, k, v),
                causal,
                scale,
                return_lse,
                out,
                threads=threads,
                programmatic=programmatic,
                deterministic=deterministic,
            )
        if any(map(_has_tangent, (q, k, v))):
            raise NotImplementedError(_NOT_FORWARD_MODE)
    operator = _attention_with_lse if return_lse else _attention
    result = operator(
        q,
        k,
        v,
        _mask(causal),
        scale,
        threads=threads,
        programmatic=programmatic,
        deterministic=deterministic,
    )
    if out is None:
        return result
    if out.shape != q.shape or out.dtype != q.dtype:
        raise ValueError(
            f"attention: out is {out.dtype} of shape {list(out.shape)}; it must be {q.dtype} of shape "
            f"{list(q.shape)}, as q"
        )
    if not return_lse:
        return out.copy_(result)
    return out.copy_(result[0]), result[1]
