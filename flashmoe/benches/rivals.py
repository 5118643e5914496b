# SPDX-License-Identifier: MIT
"""One problem, and who computes it: flashmoe_science, and PyTorch or, where that is not installed, NumPy."""

import math
from dataclasses import dataclass

SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}


@dataclass(frozen=True)
class Problem:
    name: str
    heads: int
    rows: int
    dtype: str
    head_dim: int = 64
    batch: int = 1

    def __str__(self):
        return (
            f"{self.name} (B={self.batch} H={self.heads} S={self.rows} D={self.head_dim} {SHORT[self.dtype]})"
        )

    def tensors(self, torch):
        """q, k and v, normally distributed: PyTorch's where there is PyTorch, else NumPy's."""
        shape = (self.batch, self.heads, self.rows, self.head_dim)
        if torch:
            generator = torch.Generator().manual_seed(self.rows)
            return [torch.randn(shape, generator=generator).to(getattr(torch, self.dtype)) for _ in range(3)]
        import numpy

        draw = numpy.random.default_rng(self.rows)
        return [draw.standard_normal(shape, dtype="float32").astype(self.dtype) for _ in range(3)]


def numpy_attention(q, k, v, causal):
    """The best that plain NumPy offers: two BLAS products and a softmax in fp32, whatever the inputs are."""
    import numpy

    scores = (
        q.astype("float32") * numpy.float32(1 / math.sqrt(q.shape[-1])) @ k.astype("float32").swapaxes(-1, -2)
    )
    if causal:
        rows, columns = scores.shape[-2:]
        scores[..., ~numpy.tri(rows, columns, columns - rows, dtype=bool)] = -numpy.inf
    scores -= scores.max(axis=-1, keepdims=True)
    numpy.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return (scores @ v.astype("float32")).astype(q.dtype)


def rival_name(torch):
    return "PyTorch" if torch else "NumPy"


def calls(problem, package, torch, causal, threads):
    """{"flashmoe": call, "rival": call}: both allocate their output, as a user's call does."""
    q, k, v = problem.tensors(torch)
    scale = 1 / math.sqrt(problem.head_dim)
    if torch:
        sdpa = torch.nn.functional.scaled_dot_product_attention
        rival = lambda: sdpa(q, k, v, is_causal=causal)
    else:
        rival = lambda: numpy_attention(q, k, v, causal)
    if threads is None:
        return {
            "flashmoe": lambda: package._C.flash_attention_forward(q, k, v, causal, scale),
            "rival": rival,
        }
    return {"flashmoe": lambda: package.attention(q, k, v, causal, scale, threads=threads), "rival": rival}
