# SPDX-License-Identifier: MIT
"""out = softmax(q k^T / sqrt(D)) v, with the softmax online (FlashAttention, arXiv 2205.14135).

Bound: tensor cores; 4 S^2 D flops for each head. Tensors are [B, H, S, D] and dense; D is a power of two from 16 on.
"""

import torch
import triton
import triton.language as tl

_TILES = [
    triton.Config({"kTileQ": tile_q, "kTileKv": tile_kv}, num_warps=warps, num_stages=stages)
    for tile_q, tile_kv, warps, stages in ((64, 64, 4, 3), (128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2))
]


@triton.autotune(_TILES, key=["kv_rows", "D"])
@triton.jit
def attend(q, k, v, out, kv_rows, scale_log2e, D: tl.constexpr, kTileQ: tl.constexpr, kTileKv: tl.constexpr):
    """One program for kTileQ rows of a head. m_i and l_i are the running maximum (of log2) and sum of each row."""
    head = tl.program_id(1).to(tl.int64) * kv_rows * D
    rows = tl.program_id(0) * kTileQ + tl.arange(0, kTileQ)
    columns = tl.arange(0, D)
    at_rows = rows[:, None] * D + columns[None, :]
    Q = tl.load(q + head + at_rows, mask=rows[:, None] < kv_rows, other=0.0)
    m_i = tl.full([kTileQ], -float("inf"), tl.float32)
    l_i = tl.zeros([kTileQ], tl.float32)
    acc = tl.zeros([kTileQ, D], tl.float32)
    for first in range(0, kv_rows, kTileKv):
        keys = first + tl.arange(0, kTileKv)
        inside = keys < kv_rows
        K = tl.load(k + head + keys[None, :] * D + columns[:, None], mask=inside[None, :], other=0.0)
        S = tl.dot(Q, K) * scale_log2e
        S = tl.where(inside[None, :], S, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(S, axis=1))
        P = tl.exp2(S - m_new[:, None])
        keep = tl.exp2(m_i - m_new)
        l_i = l_i * keep + tl.sum(P, axis=1)
        V = tl.load(v + head + keys[:, None] * D + columns[None, :], mask=inside[:, None], other=0.0)
        acc = acc * keep[:, None] + tl.dot(P.to(V.dtype), V)
        m_i = m_new
    tl.store(out + head + at_rows, (acc / l_i[:, None]).to(out.dtype.element_ty), mask=rows[:, None] < kv_rows)


def attention(q, k, v):
    B, H, S, D = q.shape
    out = torch.empty_like(q)
    attend[lambda tiles: (triton.cdiv(S, tiles["kTileQ"]), B * H)](q, k, v, out, S, D**-0.5 * 1.4426950408889634, D=D)
    return out
