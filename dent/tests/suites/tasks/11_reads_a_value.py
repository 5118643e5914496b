# SPDX-License-Identifier: MIT
"""A constructor reads values of a tensor that it makes, as those of rates which grow with the depth."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        rates = [rate.item() for rate in torch.linspace(0, 1, 3)]
        self.scale = nn.Parameter(torch.full((width,), 1 + rates[1]))

    def forward(self, x):
        return x * self.scale


rows = 256
width = 768


def get_inputs():
    return [torch.rand(rows, width)]


def get_init_inputs():
    return [width]
