# SPDX-License-Identifier: MIT
"""A model in training mode writes to its own buffers."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.again = nn.BatchNorm2d(channels)

    def forward(self, x):
        return self.again(torch.relu(self.norm(x)))


batch = 32
channels = 16
height, width = 16, 17


def get_inputs():
    return [torch.rand(batch, channels, height, width)]


def get_init_inputs():
    return [channels]
