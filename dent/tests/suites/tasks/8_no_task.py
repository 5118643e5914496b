# SPDX-License-Identifier: MIT
"""Another file that lies there."""

n = 1024
