# SPDX-License-Identifier: MIT
"""A normalisation over groups. Sizes cut one by one leave as many groups as channels: then nothing is left to normalise."""

import torch


class Model(torch.nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = torch.nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.norm(x)


batch = 512
channels = 1024
groups = 256


def get_inputs():
    return [torch.rand(batch, channels)]


def get_init_inputs():
    return [channels, groups]
