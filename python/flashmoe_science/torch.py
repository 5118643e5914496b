# SPDX-License-Identifier: MIT
"""attention() as operators that PyTorch knows: torch.ops.flashmoe_science.attention and attention_with_lse.

torch.compile takes them without a graph break, and needs no import of this module: when it meets
flashmoe_science.attention, it puts the operator into its graph. Import it to use the operators by name, as in a graph
of one's own. A plain call is quickest through flashmoe_science.attention, which asks no dispatcher.
"""

from typing import Optional, Tuple, Union

import torch

from . import _C

__all__ = ["attention"]

_INPUTS = 'Tensor q, Tensor k, Tensor v, str mask="none", float? scale=None, *, int threads=0, bool programmatic=False'
_CAUSAL = {"none": False, "bottom_right": True, "top_left": "top_left"}  # by the name of the mask
_STRIDES = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
_library = torch.library.Library("flashmoe_science", "DEF")


def _causal(mask):
    if mask not in _CAUSAL:
        raise ValueError(f"attention: mask is {mask!r}; accepted are {', '.join(map(repr, _CAUSAL))}")
    return _CAUSAL[mask]


def _compute(q, k, v, mask="none", scale=None, **options):
    return _C.attention(q, k, v, _causal(mask), scale, **options)


def _compute_with_lse(q, k, v, mask="none", scale=None, **options):
    return _C.attention(q, k, v, _causal(mask), scale, True, **options)


def _fake(q, k, v, mask="none", scale=None, **options):
    """What _compute would give, without data: as much as is known while a program is being traced."""
    _causal(mask)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        torch._check(
            tensor.dim() == 4,
            lambda: (
                f"attention: {name} has {tensor.dim()} dimensions; it must have 4: [batch, heads, rows, head_dim]"
            ),
        )
    return torch.empty_like(q)


def _fake_with_lse(q, *rest, **options):
    return _fake(q, *rest, **options), q.new_empty(q.shape[:3], dtype=torch.float32)


def _without_grad(operator):
    """PyTorch's default would be to warn, and then to train with wrong gradients."""

    def kernel(q, k, v, *rest, **options):
        if torch.is_grad_enabled():
            for name, tensor in (("q", q), ("k", k), ("v", v)):
                if tensor.requires_grad:
                    raise NotImplementedError(
                        f"attention: {name} requires grad, and there is only a forward pass here\n"
                        f"  try: {name}.detach(), or call under torch.no_grad()"
                    )
        with torch._C._AutoDispatchBelowAutograd():
            return operator(q, k, v, *rest, **options)

    return kernel


def _register(name, results, compute, fake):
    _library.define(f"{name}({_INPUTS}) -> {results}", tags=(torch.Tag.pt2_compliant_tag, _STRIDES))
    for device in ("CPU", "CUDA"):
        _library.impl(name, compute, device)
    torch.library.register_fake(f"flashmoe_science::{name}", fake, lib=_library)
    operator = getattr(torch.ops.flashmoe_science, name).default
    _library.impl(name, _without_grad(operator), "Autograd")
    return operator


_attention = _register("attention", "Tensor", _compute, _fake)
_attention_with_lse = _register("attention_with_lse", "(Tensor, Tensor)", _compute_with_lse, _fake_with_lse)


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
) -> Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]:
    """flashmoe_science.attention, through the operators. For PyTorch tensors alone; shapes as there.

    q, out: [B, Hq, Sq, D]; k, v: [B, Hkv, Skv, D]. Returns out, or (out, lse) with lse [B, Hq, Sq] in float32.
    """
    mask = causal if isinstance(causal, str) else "bottom_right" if causal else "none"
    operator = _attention_with_lse if return_lse else _attention
    result = operator(q, k, v, mask, scale, threads=threads, programmatic=programmatic)
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
