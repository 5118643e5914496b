# SPDX-License-Identifier: MIT
"""Larger than any machine, and padded: sizes that follow from no plain expression."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels, kernel_size):
        super().__init__()
        self.convolution = nn.Conv1d(channels, channels, kernel_size, stride=3, padding=2, bias=False)

    def forward(self, x):
        return self.convolution(x)


batch = 1 << 14
channels = 32
kernel_size = 5
length = 1 << 20


def get_inputs():
    return [torch.rand(batch, channels, length)]


def get_init_inputs():
    return [channels, kernel_size]
