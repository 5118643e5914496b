#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our gradients of attention against PyTorch's on the CPU: one run, the same threads, interleaved.

python flashmoe/benches/gradients_cpu.py                      all cells (five to ten minutes on two cores)
python flashmoe/benches/gradients_cpu.py --quick              a few cells, short
python flashmoe/benches/gradients_cpu.py --json results.json  saved after each cell

PyTorch's time is that of the backward pass alone, by the faster of two: the kernel that it picks, and its plain products.
"""

import attention_cpu
from attention_cpu import Cell


def cells(quick):
    for dtype in ("float32", "bfloat16"):
        for mask in ("full", "causal"):
            for dim in (64,) if quick else (64, 128):
                for rows in (128, 256) if quick else (128, 256, 512, 1024, 2048):
                    yield Cell(dtype, mask, 8, 8, rows, rows, dim)


def gflop(cell):
    """Of the five products, counting only what the mask leaves."""
    return 5 / 2 * cell.gflop


def calls_for(cell, package, torch, threads):
    generator = torch.Generator().manual_seed(cell.q_rows * 1000 + cell.head_dim)
    shape = (1, cell.q_heads, cell.q_rows, cell.head_dim)
    q, k, v, dout = (torch.randn(shape, generator=generator).to(getattr(torch, cell.dtype)) for _ in range(4))
    causal = cell.mask == "causal"
    out, lse = package.attention(q, k, v, causal=causal, threads=threads, return_lse=True)

    def theirs(*backends):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        with torch.nn.attention.sdpa_kernel(list(backends)):
            result = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
        return lambda: torch.autograd.grad(result, leaves, dout, retain_graph=True)

    backend = torch.nn.attention.SDPBackend
    return {
        "flashmoe": lambda: package.attention_backward(
            q, k, v, out, lse, dout, causal=causal, threads=threads
        ),
        "torch, picked": theirs(backend.FLASH_ATTENTION, backend.MATH),
        "torch, products": theirs(backend.MATH),
    }


if __name__ == "__main__":
    attention_cpu.run("gradients_cpu", __doc__, cells, calls_for, gflop, inference=False)
