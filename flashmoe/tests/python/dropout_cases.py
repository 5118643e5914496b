# SPDX-License-Identifier: MIT
"""What the tests of dropout share: inputs, a probability, a seed."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")

BATCH, HEADS, GROUP, ROWS, KEYS, DIM = 2, 4, 2, 37, 45, 16
P, SEED = 0.3, 20251117


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def inputs(requires_grad=False):
    shapes = (HEADS, ROWS), (HEADS // GROUP, KEYS), (HEADS // GROUP, KEYS)
    tensors = [normal(BATCH, heads, rows, DIM, seed=i) for i, (heads, rows) in enumerate(shapes)]
    return [t.requires_grad_(requires_grad) for t in tensors]


def packed_inputs(requires_grad=False):
    tensors = normal(22, 4, DIM), normal(22, 2, DIM, seed=1), normal(22, 2, DIM, seed=2)
    starts = torch.tensor([0, 9, 9, 22], dtype=torch.int32)
    return [t.requires_grad_(requires_grad) for t in tensors], starts


def results_of(function, leaves, seed=3):
    torch.manual_seed(seed)
    out = function(*leaves)
    return out.detach(), torch.autograd.grad(out.square().sum(), leaves)


def assert_same(ours, expected):
    assert torch.equal(ours[0], expected[0]) and all(map(torch.equal, ours[1], expected[1]))
