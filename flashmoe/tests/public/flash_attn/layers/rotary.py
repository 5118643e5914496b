# SPDX-License-Identifier: MIT
"""The rotary embedding that the tests compare with, from its definition."""

import torch


def apply_rotary_emb(x, cos, sin, interleaved=False, inplace=False, seqlen_offsets=0, **_):
    """x: [B, S, H, D]; cos, sin: [positions, d / 2]; the first d elements turn, by the angles from seqlen_offsets on."""
    offsets = torch.as_tensor(seqlen_offsets, device=x.device).reshape(-1, 1)
    places = (offsets + torch.arange(x.shape[1], device=x.device)).expand(x.shape[0], -1).long()
    cos, sin = (t[places].unsqueeze(2).float() for t in (cos, sin))
    half = cos.shape[-1]
    first, second = (
        (x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2])
        if interleaved
        else (x[..., :half], x[..., half : 2 * half])
    )
    first, second = first.float(), second.float()
    turned = (first * cos - second * sin, second * cos + first * sin)
    turned = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
    return torch.cat((turned.to(x.dtype), x[..., 2 * half :]), -1)
