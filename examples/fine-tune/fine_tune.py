#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fine-tunes a causal language model of transformers on packed sequences, with flashmoe's attention.

python examples/fine-tune/fine_tune.py                        # a small Llama, from nothing, on sums such as "27+58=85"
python examples/fine-tune/fine_tune.py --model PATH           # your model and its tokenizer
"""

import argparse
import random

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

from flashmoe_science.transformers import register

SMALL = LlamaConfig(
    vocab_size=128,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
)


def packed(source, encode, tokens):
    """Sequences one behind the other in one row: the positions begin again with each, and so does what a token sees."""
    ids, positions, labels = [], [], []
    while len(ids) < tokens:
        a, b = source.randrange(100), source.randrange(100)
        sequence = encode(f"{a}+{b}={a + b}\n")
        ids += sequence
        positions += range(len(sequence))
        labels += [-100, *sequence[1:]]  # a first token follows from nothing
    return {
        name: torch.tensor([row])
        for name, row in [("input_ids", ids), ("position_ids", positions), ("labels", labels)]
    }


def fine_tune(model, encode, steps, tokens, device):
    source, losses = random.Random(1), []
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        batch = {name: tensor.to(device) for name, tensor in packed(source, encode, tokens).items()}
        loss = model(**batch, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step}: loss {losses[-1]:.3f}")
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="the folder or name of a model")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--tokens", type=int, default=256, help="of a packed row")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    if arguments.model:
        model = AutoModelForCausalLM.from_pretrained(arguments.model, attn_implementation=register())
        encode = AutoTokenizer.from_pretrained(arguments.model).encode
    else:
        model = AutoModelForCausalLM.from_config(SMALL, attn_implementation=register())
        encode = lambda text: list(text.encode())
    fine_tune(model, encode, arguments.steps, arguments.tokens, arguments.device)


if __name__ == "__main__":
    main()
