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


def gradients(dout, dlse, q, k, v, out, lse, causal, scale, threads, deterministic, window):
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
        window=window,
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


def vmap_rule(operator, num_tensors):
    """torch.vmap: one more dimension is part of the batch."""

    def rule(info, in_dims, *args, **options):
        count = info.batch_size
        tensors = [
            None if tensor is None else _folded(tensor, dim, count)
            for tensor, dim in zip(args[:num_tensors], in_dims)
        ]
        results = operator(*tensors, *args[num_tensors:], **options)
        if isinstance(results, torch.Tensor):
            return _unfolded(results, count), 0
        return tuple(_unfolded(result, count) for result in results), (0,) * len(results)

    return rule
