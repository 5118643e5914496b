# SPDX-License-Identifier: MIT
"""flash_attn, as its own tests import it, in front of flashmoe_science.flash_attn. Used by scripts/run-public-tests."""

from flashmoe_science.flash_attn import *  # noqa: F403
