# SPDX-License-Identifier: MIT
"""What is right (called with float64), and what the kernel is compared with (called with float32)."""


def scale(x):
    return 2.5 * x
