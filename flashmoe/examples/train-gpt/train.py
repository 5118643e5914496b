#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a small GPT on sums such as "27+58=85;", with PyTorch's attention and with flashmoe's, from the same seed.

python flashmoe/examples/train-gpt/train.py                            # on the GPU if there is one, else on the CPU
python flashmoe/examples/train-gpt/train.py --device cuda --dtype bfloat16 --context 1024 --width 512 --layers 6 --json result.json
"""

import argparse
import json
import random
import statistics
import time

import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

import flashmoe_science as fm

LETTERS = "0123456789+=;"
ATTENTION = {
    "sdpa": lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True),
    "flashmoe": lambda q, k, v: fm.attention(q, k, v, causal=True),
}


class Block(nn.Module):
    def __init__(self, width, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        qkv = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1))  # [B, S, 3, H, D]
        q, k, v = (t.transpose(1, 2) for t in qkv.unbind(2))  # views [B, H, S, D]: nothing is copied
        x = x + self.out(self.attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, attention, context=128, width=128, heads=4, layers=2):
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, attention) for _ in range(layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, len(LETTERS)))

    def forward(self, letters):
        x = self.letters(letters) + self.places(torch.arange(letters.shape[1], device=letters.device))
        return self.head(self.blocks(x))


def batches(steps, batch, context, seed, device):
    source = random.Random(seed)
    for _ in range(steps):
        rows = []
        for _ in range(batch):
            text = ""
            while len(text) <= context:
                a, b = source.randrange(100), source.randrange(100)
                text += f"{a}+{b}={a + b};"
            rows.append([LETTERS.index(letter) for letter in text[: context + 1]])
        yield torch.tensor(rows, device=device)


def train(attention, steps=300, batch=16, seed=0, device="cpu", dtype=torch.float32, **sizes):
    """(losses, milliseconds of each step), from weights and text that depend on the seed alone."""
    torch.manual_seed(seed)
    model = Gpt(attention, **sizes).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, times = [], []
    for letters in batches(steps, batch, sizes.get("context", 128), seed, device):
        start = time.perf_counter()
        with torch.autocast(torch.device(device).type, dtype, enabled=dtype != torch.float32):
            logits = model(letters[:, :-1])
        loss = cross_entropy(logits.float().flatten(0, 1), letters[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # waits for the GPU
        times.append(1e3 * (time.perf_counter() - start))
    return losses, times


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"), default="float32")
    for name, default in (("steps", 300), ("batch", 16), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("context", 128), ("width", 128), ("heads", 4), ("layers", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json", metavar="FILE", help="write every loss and time there")
    options = vars(parser.parse_args())
    file, dtype = options.pop("json"), getattr(torch, options.pop("dtype"))
    results = {}
    for name, attention in ATTENTION.items():
        losses, times = train(attention, dtype=dtype, **options)
        results[name] = {"losses": losses, "step_ms": times}
        warm = times[len(times) // 10 :]
        print(
            f"{name:9} loss {losses[0]:.4f} -> {losses[-1]:.4f}   step {statistics.median(warm):.2f} ms (median of {len(warm)})"
        )
    if file:
        with open(file, "w") as output:
            json.dump({**options, "dtype": str(dtype), "torch": torch.__version__, **results}, output)


if __name__ == "__main__":
    main()
