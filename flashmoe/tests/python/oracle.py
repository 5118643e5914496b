# SPDX-License-Identifier: MIT
"""Attention in float64, the plainest code there is, its gradients, and how far from them a result may be.

A second writing of flashmoe/src/reference, in NumPy: the same bounds, derived there (flashmoe/src/reference/bound.h).
"""

import math
from dataclasses import dataclass

import numpy as np

UNIT = 2.0**-24  # unit roundoff of fp32
SMALLEST_WEIGHT = 2.0**-126  # weights below this may be flushed to zero, or raised to it


@dataclass(frozen=True)
class Precision:
    exp: float  # relative error of exp2
    weights: float  # unit roundoff of P as it enters P V
    weights_smallest: float  # below this P is subnormal there, and its error no longer shrinks with it
    output: float  # unit roundoff of the stored type
    output_smallest: float  # half the spacing of its subnormals


PRECISION = {
    "float32": Precision(2.0**-22, 2.0**-24, 2.0**-126, 2.0**-24, 2.0**-150),
    "float16": Precision(2.0**-16, 2.0**-11, 2.0**-14, 2.0**-11, 2.0**-25),
    "bfloat16": Precision(2.0**-16, 2.0**-8, 2.0**-126, 2.0**-8, 2.0**-126),
}


@dataclass
class Expected:
    out: np.ndarray  # [B, Hq, Sq, D]
    lse: np.ndarray  # [B, Hq, Sq]
    out_bound: np.ndarray
    lse_bound: np.ndarray


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


def sum_roundings(terms):
    return min(terms, 4 * math.sqrt(terms))


def attention(q, k, v, causal=False, scale=None):
    precision = PRECISION[dtype_name(q)]
    q, k, v = to_float64(q), to_float64(k), to_float64(v)
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scale = float(np.float32(1 / math.sqrt(q.shape[3]) if scale is None else scale))
    seen = visible(q.shape[2], k.shape[2], causal)
    with np.errstate(all="ignore"):  # NaN and inf inputs are part of the tests
        rows = [
            _row(q[:, :, i], k[:, :, seen[i]], v[:, :, seen[i]], scale, precision, k.shape[2])
            for i in range(q.shape[2])
        ]
    return Expected(*(np.stack(parts, axis=2) for parts in zip(*rows)))


def _row(q, k, v, scale, precision, kv_rows):
    """One query row [B, H, D] against the keys that it sees [B, H, keys, D]: out, lse and their bounds."""
    if k.shape[2] == 0:
        rows = q.shape[:2]
        return np.zeros_like(q), np.full(rows, -np.inf), np.zeros_like(q), np.zeros(rows)
    dim = q.shape[-1]
    logits = scale * np.einsum("bhd,bhjd->bhj", q, k)
    sizes = abs(scale) * np.einsum("bhd,bhjd->bhj", abs(q), abs(k))
    largest = logits.max(axis=-1, keepdims=True)
    gaps = largest - logits
    weights = np.exp(-gaps)
    errors = np.where(weights == 0, 0, UNIT * (sum_roundings(dim) + 5) * (sizes + gaps) + precision.exp)
    total = weights.sum(axis=-1, keepdims=True)
    lse = (largest + np.log(total))[..., 0]
    weights = weights / total
    out = np.einsum("bhj,bhjd->bhd", weights, v)
    magnitude = np.einsum("bhj,bhjd->bhd", weights, abs(v))
    moved = weights * errors * np.exp(2 * errors.max(axis=-1, keepdims=True))
    weight_error = np.einsum("bhj,bhjd->bhd", moved + SMALLEST_WEIGHT, abs(v - out[:, :, None]))
    nothing = largest[..., 0] == -np.inf  # logits of -inf alone: as if there were no key
    out[nothing], magnitude[nothing], weight_error[nothing], lse[nothing] = 0, 0, 0, -np.inf

    sums = UNIT * sum_roundings(kv_rows)
    exact = weight_error + (sums + precision.weights) * magnitude + (sums + 3 * UNIT) * abs(out)
    underflow = sum_roundings(kv_rows) * 2.0**-149
    out_bound = exact + precision.output * (abs(out) + exact) + precision.output_smallest + underflow
    lse_bound = moved.sum(axis=-1) + UNIT * (sum_roundings(kv_rows) + 4 + 4 * (abs(lse) + math.log(kv_rows)))
    return out, lse, out_bound, lse_bound


@dataclass
class Gradient:
    value: np.ndarray
    bound: np.ndarray


def gradients(q, k, v, dout, dlse=None, causal=False, scale=None):
    """(dq, dk, dv) of sum(out * dout) + sum(lse * dlse), each a Gradient. Derived in flashmoe/src/reference/backward.cpp."""
    forward, precision = attention(q, k, v, causal, scale), PRECISION[dtype_name(q)]
    q, k, v, dout = map(to_float64, (q, k, v, dout))
    heads, rows, dim = q.shape[1:]
    group, kv_rows = heads // k.shape[1], k.shape[2]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scale = float(np.float32(1 / math.sqrt(dim) if scale is None else scale))
    roundings = UNIT * (sum_roundings(dim) + 1)
    lse, lse_error = forward.lse[..., None], (forward.lse_bound + 2 * UNIT * abs(forward.lse))[..., None]
    sees = np.isfinite(lse) & visible(rows, kv_rows, causal)
    lse, lse_error = np.where(np.isfinite(lse), lse, 0), np.where(np.isfinite(lse_error), lse_error, 0)

    logits, sizes = scale * (q @ swapped(k)), abs(scale) * (abs(q) @ swapped(abs(k)))
    weights = np.where(sees, np.exp(np.where(sees, logits - lse, 0)), 0)
    relative = UNIT * (sum_roundings(dim) + 5) * (sizes + lse - logits) + precision.exp + lse_error
    relative = np.where(weights == 0, 0, np.expm1(np.minimum(relative, 100)))
    weight_error = weights * relative + SMALLEST_WEIGHT
    weight_rounding = precision.weights * np.maximum(weights, precision.weights_smallest)

    delta = (dout * forward.out).sum(-1, keepdims=True)
    delta_error = roundings * abs(dout * forward.out).sum(-1, keepdims=True)
    delta_error += (abs(dout) * forward.out_bound).sum(-1, keepdims=True)
    if dlse is not None:
        delta = delta - to_float64(dlse)[..., None]
        delta_error = delta_error + UNIT * abs(delta)
    centred = dout @ swapped(v) - delta
    centred_error = roundings * (abs(dout) @ swapped(abs(v))) + delta_error + UNIT * abs(centred)
    ds = weights * centred
    exact = (weight_error + weight_rounding) * (abs(centred) + centred_error) + weights * centred_error
    ds_error = (
        exact + UNIT * abs(ds) + precision.weights * np.maximum(abs(ds) + exact, precision.weights_smallest)
    )
    weight_error, ds_error = (np.where(sees, e, 0) for e in (weight_error + weight_rounding, ds_error))

    def product(left, left_error, right, terms, factor, shared):
        parts = left @ right, abs(left) @ abs(right), left_error @ abs(right)
        if shared:
            parts = [p.reshape(p.shape[0], -1, group, *p.shape[2:]).sum(2) for p in parts]
        value, size, error = parts
        value = factor * value
        exact = abs(factor) * (error + UNIT * sum_roundings(terms) * size) + 2 * UNIT * abs(value)
        exact = exact + sum_roundings(terms) * 2.0**-149
        bound = exact + precision.output * (abs(value) + exact) + precision.output_smallest
        return Gradient(value, bound)

    return (
        product(ds, ds_error, k, kv_rows, scale, False),
        product(swapped(ds), swapped(ds_error), q, group * rows, scale, True),
        product(swapped(weights), swapped(weight_error), dout, group * rows, 1, True),
    )


def swapped(x):
    return np.swapaxes(x, -1, -2)


def disagreement(actual, expected, bound):
    """ "" when all elements agree; else the count, the first bad position and both values. NaN agrees with NaN only."""
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


def check_gradients(actual, q, k, v, dout, dlse=None, causal=False, scale=None):
    """Asserts that (dq, dk, dv) agree with the oracle everywhere."""
    for name, tensor, gradient, expected in zip(
        ("dq", "dk", "dv"), (q, k, v), actual, gradients(q, k, v, dout, dlse, causal, scale)
    ):
        assert dtype_name(gradient) == dtype_name(tensor), name
        assert disagreement(gradient, expected.value, expected.bound) == "", name
