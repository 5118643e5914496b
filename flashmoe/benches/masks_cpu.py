#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Windows, padding and packed sequences, ours against PyTorch's on the CPU: one run, the same threads, interleaved.

python flashmoe/benches/masks_cpu.py                      all cells (about ten minutes on two cores)
python flashmoe/benches/masks_cpu.py --quick              a few cells, short
python flashmoe/benches/masks_cpu.py --json results.json  saved after each cell

PyTorch's time is that of the faster of two: one call of scaled_dot_product_attention for each sequence, and one with a bool
mask that was made before, which is all that it has for a window.
"""

import random
from dataclasses import dataclass

import attention_cpu
from attention_cpu import Cell


@dataclass(frozen=True)
class MaskedCell(Cell):
    """q_rows and kv_rows are those of all sequences together where these are packed, and of the longest where padded."""

    lengths: tuple
    layout: str  # packed, padded or window
    window: int = 0  # keys that a row sees, itself and those before it

    @property
    def group(self):
        return f"{self.dtype} {self.mask} {self.layout}"

    @property
    def gflop(self):
        if self.window:
            return 4e-9 * self.q_heads * self.head_dim * sum(min(i + 1, self.window) for i in range(self.q_rows))
        pairs = sum(n * (n + 1) // 2 if self.mask == "causal" else n * n for n in self.lengths)
        return 4e-9 * self.q_heads * pairs * self.head_dim

    def __str__(self):
        if self.window:
            return f"{self.dtype:8} {self.mask:6} window {self.window} of {self.q_rows} D={self.head_dim}"
        return f"{self.dtype:8} {self.mask:6} {self.layout} {len(self.lengths):2} in {sum(self.lengths)} D={self.head_dim}"

    def comparable(self, result):
        """Without the rows of a padded batch that don't count."""
        if self.layout != "padded":
            return result
        rows = result.new_tensor(range(result.shape[2])).view(1, 1, -1, 1)
        return result.where(rows < result.new_tensor(self.lengths).view(-1, 1, 1, 1), 0)


def drawn(sequences, total):
    """Lengths of `sequences` sequences, `total` in all: a few are long and most are short."""
    draw = random.Random(sequences)
    weights = [draw.expovariate(1.0) for _ in range(sequences)]
    lengths = [max(1, int(total * weight / sum(weights))) for weight in weights]
    longest = lengths.index(max(lengths))
    lengths[longest] += total - sum(lengths)
    return tuple(lengths)


def cells(quick):
    total = 512 if quick else 4096
    for dtype in ("float32", "bfloat16"):
        for mask in ("full", "causal"):
            for dim in (64,) if quick else (64, 128):
                for sequences in (8,) if quick else (1, 8, 64):
                    yield MaskedCell(dtype, mask, 8, 8, total, total, dim, drawn(sequences, total), "packed")
                if mask == "causal":
                    yield MaskedCell(dtype, mask, 8, 8, total, total, dim, (total,), "window", total // 8)
                lengths = drawn(8, total)
                yield MaskedCell(dtype, mask, 8, 8, max(lengths), max(lengths), dim, lengths, "padded")


def packed_calls(cell, package, torch, threads, normal):
    total, causal = sum(cell.lengths), cell.mask == "causal"
    q, k, v = (normal(total, cell.q_heads, cell.head_dim) for _ in range(3))
    starts = [0]
    for length in cell.lengths:
        starts.append(starts[-1] + length)
    cu_seqlens = torch.tensor(starts, dtype=torch.int32)
    owner = torch.repeat_interleave(torch.arange(len(cell.lengths)), torch.tensor(cell.lengths))
    mask = owner[:, None] == owner[None, :]
    mask = mask.tril() if causal else mask
    sdpa = torch.nn.functional.scaled_dot_product_attention

    def heads_first(t):
        return t.transpose(0, 1).unsqueeze(0)

    def by_sequence():
        out = torch.empty_like(q)
        for begin, end in zip(starts, starts[1:]):
            parts = (heads_first(t[begin:end]) for t in (q, k, v))
            out[begin:end] = sdpa(*parts, is_causal=causal).squeeze(0).transpose(0, 1)
        return out

    def by_mask():
        return sdpa(*map(heads_first, (q, k, v)), attn_mask=mask).squeeze(0).transpose(0, 1)

    longest = max(cell.lengths)
    return {
        "flashmoe": lambda: package.attention_varlen(
            q, k, v, cu_seqlens, cu_seqlens, longest, longest, causal=causal, threads=threads
        ),
        "torch, by sequence": by_sequence,
        "torch, mask": by_mask,
    }


def padded_calls(cell, package, torch, threads, normal):
    shape = len(cell.lengths), cell.q_heads, cell.q_rows, cell.head_dim
    q, k, v = (normal(*shape) for _ in range(3))
    causal = cell.mask == "causal"
    lengths = torch.tensor(cell.lengths, dtype=torch.int32)
    keys = torch.arange(cell.kv_rows)
    mask = (keys < lengths[:, None])[:, None, None, :]
    if causal:
        mask = mask & (keys[None, :] <= keys[:, None])
    sdpa = torch.nn.functional.scaled_dot_product_attention

    def by_sequence():
        out = torch.zeros_like(q)
        for b, length in enumerate(cell.lengths):
            parts = (t[b : b + 1, :, :length] for t in (q, k, v))
            out[b : b + 1, :, :length] = sdpa(*parts, is_causal=causal)
        return out

    return {
        "flashmoe": lambda: package.attention(
            q, k, v, causal, threads=threads, q_lengths=lengths, kv_lengths=lengths
        ),
        "torch, by sequence": by_sequence,
        "torch, mask": lambda: sdpa(q, k, v, attn_mask=mask),
    }


def windowed_calls(cell, package, torch, threads, normal):
    q, k, v = (normal(1, cell.q_heads, cell.q_rows, cell.head_dim) for _ in range(3))
    before = torch.arange(cell.q_rows)[:, None] - torch.arange(cell.kv_rows)
    mask = (before >= 0) & (before < cell.window)
    return {
        "flashmoe": lambda: package.attention(q, k, v, window=(cell.window - 1, 0), threads=threads),
        "torch, mask": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask),
    }


CALLS = {"packed": packed_calls, "padded": padded_calls, "window": windowed_calls}


def calls_for(cell, package, torch, threads):
    generator = torch.Generator().manual_seed(sum(cell.lengths) * 1000 + cell.head_dim)

    def normal(*shape):
        return torch.randn(shape, generator=generator).to(getattr(torch, cell.dtype))

    return CALLS[cell.layout](cell, package, torch, threads, normal)


if __name__ == "__main__":
    attention_cpu.run("masks_cpu", __doc__, cells, calls_for, lambda cell: cell.gflop)
