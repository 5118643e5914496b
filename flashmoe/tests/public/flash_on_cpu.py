# SPDX-License-Identifier: MIT
"""A plugin of pytest for scripts/run-public-tests: PyTorch's tests of its flash attention do not skip a CPU."""

from torch.testing._internal import common_cuda

common_cuda.PLATFORM_SUPPORTS_FLASH_ATTENTION = True
