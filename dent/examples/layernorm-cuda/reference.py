# SPDX-License-Identifier: MIT
"""What is right (called with float64), and what the kernel is compared with (called with float32)."""

import torch


def layernorm(inp, weight, bias):
    out, mean, rstd = torch.native_layer_norm(inp, weight.shape, weight, bias, 1e-5)
    return out, mean[:, 0], rstd[:, 0]
