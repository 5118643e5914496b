# SPDX-License-Identifier: MIT
"""Fine-tunes a causal language model of transformers on packed sequences, sums such as "27+58=85", with our attention."""

import random

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from flashmoe_science.transformers import register

HEADS = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
SMALL = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, **HEADS)


def packed(source, tokens, device):
    """Sequences one behind the other in one row: positions begin again with each, and so does what a token sees."""
    rows = {"input_ids": [], "position_ids": [], "labels": []}
    while len(rows["labels"]) < tokens:
        a, b = source.randrange(100), source.randrange(100)
        sequence = list(f"{a}+{b}={a + b}\n".encode())  # for a model of yours: its tokenizer's encode()
        rows["input_ids"] += sequence
        rows["position_ids"] += range(len(sequence))
        rows["labels"] += [-100, *sequence[1:]]  # a first token follows from nothing
    return {name: torch.tensor([row], device=device) for name, row in rows.items()}


def fine_tune(model, steps=60, tokens=256):
    source, losses = random.Random(1), []
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=3e-3)
    for step in range(steps):
        loss = model(**packed(source, tokens, model.device), use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        print(f"step {step}: loss {losses[-1]:.3f}")
    return losses


if __name__ == "__main__":  # for a model of yours: from_pretrained(name, attn_implementation=register())
    model = AutoModelForCausalLM.from_config(SMALL, attn_implementation=register())
    fine_tune(model.to("cuda" if torch.cuda.is_available() else "cpu"))
