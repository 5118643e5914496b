# SPDX-License-Identifier: MIT
"""A plugin of pytest for scripts/run-public-tests: tests that ask for a GPU's properties get an answer without one."""

import types

import torch

torch.cuda.get_device_capability = lambda *_: (9, 0)
torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(total_memory=1 << 40)
torch.cuda.synchronize = lambda *_: None
