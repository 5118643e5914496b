# SPDX-License-Identifier: MIT
"""What the tests of gradients in PyTorch have in common: tensors, and how their gradients compare."""

import torch


def normal(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def qkv(dtype=torch.float32, q_shape=(2, 4, 9, 16), kv_shape=(2, 2, 21, 16), grad=True):
    shapes = (q_shape, kv_shape, kv_shape)
    return [normal(*s, dtype=dtype, seed=i).requires_grad_(grad) for i, s in enumerate(shapes)]


def gradients(function, tensors, dout=None):
    out = function(*tensors)
    return torch.autograd.grad(out, tensors, torch.ones_like(out) if dout is None else dout)


def same(ours, theirs):
    return all(torch.equal(a, b) for a, b in zip(ours, theirs))


def close(ours, theirs, tolerance=1e-5):
    return all(torch.allclose(a, b, rtol=tolerance, atol=tolerance) for a, b in zip(ours, theirs))
