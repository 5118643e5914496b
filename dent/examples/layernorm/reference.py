# SPDX-License-Identifier: MIT
"""What is right (called with float64), and what the kernel is compared with (called with float32)."""


def layernorm(inp, weight, bias):
    mean = inp.mean(-1)
    centred = inp - mean[..., None]
    rstd = ((centred**2).mean(-1) + 1e-5) ** -0.5
    return centred * rstd[..., None] * weight + bias, mean, rstd
