# SPDX-License-Identifier: MIT
"""An input that no fill gives, and a scalar as the output."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, mask, labels):
        return torch.nn.functional.cross_entropy(x.masked_fill(mask, -10), labels)


batch = 64
shape = (32,)
classes = shape[0]


def get_inputs():
    x = torch.rand(batch, *shape)
    return [x, torch.randint(0, 2, x.shape).bool(), torch.randint(0, classes, (batch,))]


def get_init_inputs():
    return []
