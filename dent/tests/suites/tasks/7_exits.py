# SPDX-License-Identifier: MIT
"""Takes its process along."""

import os

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        os._exit(3)


n = 1024


def get_inputs():
    return [torch.rand(n)]


def get_init_inputs():
    return []
