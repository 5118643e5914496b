# SPDX-License-Identifier: MIT
"""Where the seeds of dropout come from."""

import torch


def drawn_seed(generator=None):
    """An int64 tensor of one element on the CPU, from PyTorch's generator or another. A tensor, so that compiled programs
    and torch.vmap draw one whenever they run."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(
            f"attention: dropout_seed is a {type(generator).__name__}; accepted are an integer, a tensor of one, a "
            f"torch.Generator and None (PyTorch's own)"
        )
    return torch.randint(2**63 - 1, (), generator=generator, device="cpu")


def seed_of(dropout_p, dropout_seed):
    """The same, or a seed that is a number already; None where nothing is to be drawn."""
    if not dropout_p:
        return None
    if isinstance(dropout_seed, (int, torch.Tensor)):
        return dropout_seed
    return drawn_seed(dropout_seed)


def as_tensor(seed):
    """A seed as operators take it. Integers of 64 bits without a sign are those with one."""
    if seed is None or isinstance(seed, torch.Tensor):
        return seed
    return torch.tensor((int(seed) + 2**63) % 2**64 - 2**63, dtype=torch.int64)
