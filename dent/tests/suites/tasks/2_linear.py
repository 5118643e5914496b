# SPDX-License-Identifier: MIT
"""Weights, one of them without a dimension, a buffer that stays, and dropout."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(0.5)
        self.gain = nn.Parameter(torch.tensor(1.5))
        self.register_buffer("offset", torch.arange(hidden).float())

    def forward(self, x):
        return torch.tanh(self.gain * self.dropout(self.up(x)) + self.offset / 100)


batch = 64
width = 64
hidden = 2 * 64


def get_inputs():
    return [torch.randn(batch, width)]


def get_init_inputs():
    return [width, hidden]
