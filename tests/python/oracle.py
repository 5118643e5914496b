# SPDX-License-Identifier: MIT
"""Attention in float64, the plainest code there is, and how far from it a result may be.

The bounds are those of src/reference: rounding of fp32 sums of length D and Skv, of the weights, and of the result.
"""

import math
from dataclasses import dataclass

import numpy as np

UNIT = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SMALLEST = {"float32": 2.0**-150, "float16": 2.0**-25, "bfloat16": 2.0**-134}
SAFETY = 6  # standard deviations, roughly, of a sum of independent roundings


def to_float64(tensor):
    """A float64 NumPy copy of a NumPy array or a PyTorch tensor."""
    if isinstance(tensor, np.ndarray):
        return tensor.astype(np.float64)
    return tensor.detach().double().numpy()


def dtype_name(tensor):
    return str(tensor.dtype).rsplit(".", 1)[-1]


def visible(q_rows, kv_rows, causal):
    """[Sq, Skv] of bool: which query sees which key."""
    if causal is False:
        return np.ones((q_rows, kv_rows), bool)
    shift = 0 if causal == "top_left" else kv_rows - q_rows
    return np.arange(kv_rows)[None, :] <= np.arange(q_rows)[:, None] + shift


@dataclass
class Expected:
    out: np.ndarray
    lse: np.ndarray
    out_bound: np.ndarray
    lse_bound: np.ndarray


def attention(q, k, v, causal=False, scale=None):
    dtype = dtype_name(q)
    q, k, v = to_float64(q), to_float64(k), to_float64(v)
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    dim, kv_rows = q.shape[3], k.shape[2]
    scale = float(np.float32(1 / math.sqrt(dim) if scale is None else scale))
    with np.errstate(all="ignore"):  # NaN and inf inputs are part of the tests
        seen = visible(q.shape[2], kv_rows, causal)
        scores = np.where(seen, scale * np.einsum("bhid,bhjd->bhij", q, k), -np.inf)
        sizes = np.where(seen, abs(scale) * np.einsum("bhid,bhjd->bhij", abs(q), abs(k)), 0)
        largest = scores.max(axis=-1, keepdims=True)
        weights = np.where(seen, np.exp(scores - largest), 0)
        total = weights.sum(axis=-1, keepdims=True)
        lse = (largest + np.log(total))[..., 0]
        weights /= total
        # Keys that a row can't see don't count, whatever they hold: 0 * NaN must not reach it.
        out = np.stack([_weighted_rows(weights, v, seen, i) for i in range(q.shape[2])], axis=2)
        magnitude = np.stack([_weighted_rows(weights, abs(v), seen, i) for i in range(q.shape[2])], axis=2)
        nothing = largest[..., 0] == -np.inf
        out[nothing], magnitude[nothing], lse[nothing] = 0, 0, -np.inf
        logit = SAFETY * 2.0**-24 * (math.sqrt(dim) + 3) * (sizes.max(axis=-1) + 1)
        sums = SAFETY * 2.0**-24 * (math.sqrt(kv_rows) + 3)
        of_weights = (2 * np.expm1(logit) + 2 * sums + UNIT[dtype])[..., None]
        out_bound = of_weights * magnitude + UNIT[dtype] * abs(out) + SMALLEST[dtype]
        return Expected(out, lse, out_bound, logit + sums + 2 * 2.0**-24 * abs(lse))


def _weighted_rows(weights, v, seen, row):
    keys = seen[row]
    return np.einsum("bhj,bhjd->bhd", weights[:, :, row, keys], v[:, :, keys])


def disagreement(actual, expected, bound):
    """"" when all elements agree; else the count, the first bad position and both values. NaN agrees with NaN only."""
    actual = to_float64(actual)
    if actual.shape != expected.shape:
        return f"shape is {actual.shape}, expected {expected.shape}"
    with np.errstate(invalid="ignore"):
        close = abs(actual - expected) <= bound
    same = close | (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if same.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{(~same).sum()} wrong values; the first at {at}: {actual[at]}, expected {expected[at]} within {bound[at]}"


def check(out, lse, q, k, v, causal=False, scale=None):
    """Asserts that out, and lse unless it is None, agree with the oracle everywhere."""
    expected = attention(q, k, v, causal, scale)
    assert dtype_name(out) == dtype_name(q)
    assert disagreement(out, expected.out, expected.out_bound) == ""
    if lse is not None:
        assert dtype_name(lse) == "float32"
        assert disagreement(lse, expected.lse, expected.lse_bound) == ""
