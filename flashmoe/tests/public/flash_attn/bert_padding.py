# SPDX-License-Identifier: MIT
from flashmoe_science.flash_attn.bert_padding import *  # noqa: F403
