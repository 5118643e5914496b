# SPDX-License-Identifier: MIT
"""What the tests of flash_attn's functions share: attention from its definition, inputs, masks."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("gradients need PyTorch 2.4 or newer", allow_module_level=True)


def normal(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def packed(lengths, heads, seed):
    return normal(sum(lengths), heads, 16, seed=seed), torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def reference(
    q,
    k,
    v,
    causal=False,
    window_size=(-1, -1),
    scale=None,
    softcap=0.0,
    alibi_slopes=None,
    learnable_sink=None,
):
    """[B, S, H, D] in float64, from the definition: out and lse, 0 and -inf for rows that see nothing."""
    q, k, v = (t.double().transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    rows, keys = q.shape[2], k.shape[2]
    position = torch.arange(rows)[:, None] + keys - rows
    key = torch.arange(keys)[None]
    seen = torch.ones(rows, keys, dtype=torch.bool)
    if causal:
        seen &= key <= position
    if window_size[0] not in (-1, None):
        seen &= key >= position - window_size[0]
    if window_size[1] not in (-1, None):
        seen &= key <= position + window_size[1]
    scores = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if alibi_slopes is not None:
        scores = scores - alibi_slopes.double().expand(q.shape[:2])[:, :, None, None] * (position - key).abs()
    scores = scores.masked_fill(~seen, -torch.inf)
    if learnable_sink is not None:
        sinks = learnable_sink.double()[None, :, None, None].expand(*scores.shape[:3], 1)
        scores = torch.cat((scores, sinks), -1)
    weights = scores.softmax(-1).nan_to_num(0.0)[..., :keys]
    return (weights @ v).transpose(1, 2), scores.logsumexp(-1)


def gradients(function, *tensors):
    leaves = [t.detach().requires_grad_() for t in tensors]
    out = function(*leaves)
    return torch.autograd.grad(out, leaves, normal(*out.shape, seed=9).to(out.dtype))


def close(a, b, tolerance=2e-5):
    torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance)


MASKS = [
    {},
    {"causal": True},
    {"window_size": (4, 2)},
    {"window_size": (None, 3)},
    {"causal": True, "window_size": (3, -1)},
]
