# SPDX-License-Identifier: MIT
"""What the tests ask of the package's inside."""

USE_TRITON_ROCM = False


def _get_block_size_n(device, head_dim, is_dropout, is_causal):
    return 128  # only for the layout of the weights that come back with dropout
