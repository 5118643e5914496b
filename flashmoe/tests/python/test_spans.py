# SPDX-License-Identifier: MIT
"""attention() with masks by name: documents, prefix, left_padding, chunk and first_keys, by every way into the library."""

import numpy as np
import oracle
import pytest
from test_window import normal, plain

import flashmoe_science as fm


def seen(
    q_rows,
    kv_rows,
    causal,
    window=None,
    *,
    batch=2,
    documents=None,
    prefix=None,
    left_padding=None,
    chunk=0,
    first_keys=0,
):
    """[B, 1, Sq, Skv] of bool, from the definition."""
    left, right = (10**9 if side in (None, -1) else side for side in (window or (None, None)))
    position = np.arange(q_rows)[:, None] + (0 if causal == "top_left" else kv_rows - q_rows)
    key = np.arange(kv_rows)[None, :]
    masks = []
    for b in range(batch):
        first = np.zeros((q_rows, 1), int) + (0 if left_padding is None else left_padding[b])
        before = oracle.visible(q_rows, kv_rows, causal) & (key <= position + right)
        if prefix is not None:
            before = before | (key < prefix[b])
        shown = before & (key >= first)
        if documents is not None:
            ids = np.broadcast_to(documents, (batch, kv_rows))[b]
            number = np.cumsum(np.concatenate([[0], ids[1:] != ids[:-1]]))
            inside = (position >= 0) & (position < kv_rows)
            own = number[np.clip(position, 0, kv_rows - 1)]
            shown &= inside & (number[None, :] == own)
            first = np.maximum(first, np.searchsorted(number, own))
        near = key >= position - left
        if chunk:
            shown &= (position >= 0) & (key // chunk <= position // chunk)
            near &= key // chunk == position // chunk
        masks.append(shown & (near | (key < first + first_keys)))
    return np.stack(masks)[:, None]


DOCUMENTS = np.array([[0] * 7 + [1] * 9 + [0] * 4 + [5] * 20, [3] * 40], np.int32)
SPANS = [
    {"documents": DOCUMENTS},
    {"documents": DOCUMENTS[0]},
    {"prefix": np.array([12, 0], np.int32)},
    {"left_padding": np.array([0, 9], np.int32)},
    {"chunk": 16},
    {"first_keys": 4, "window": (6, 0)},
    {"documents": DOCUMENTS, "prefix": np.array([12, 30], np.int32), "window": (9, 3)},
    {"left_padding": np.array([5, 11], np.int32), "first_keys": 3, "chunk": 10},
]


@pytest.mark.parametrize("spans", SPANS, ids=lambda spans: "+".join(spans))
@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize("rows", [40, 12, 1, 50])
def test_a_row_sees_what_the_definition_says(spans, causal, rows):
    q, k, v = normal(2, 4, rows, 16), normal(2, 2, 40, 16, seed=1), normal(2, 2, 40, 16, seed=2)
    out = fm.attention(*(t.astype(np.float32) for t in (q, k, v)), causal, **spans)
    np.testing.assert_allclose(out, plain(q, k, v, seen(rows, 40, causal, **spans)), atol=2e-6)


def test_what_spans_may_be():
    q = np.zeros((2, 1, 8, 8), np.float32)
    refused = [
        (
            {"documents": np.zeros((2, 9), np.int32)},
            ValueError,
            "documents has 9 elements in dimension 1; it must have 8",
        ),
        (
            {"documents": np.zeros((3, 8), np.int32)},
            ValueError,
            "documents has 3 elements in dimension 0; it must have 2",
        ),
        ({"documents": np.zeros(8, np.int64)}, TypeError, "documents is int64; it must be int32"),
        ({"documents": np.zeros((2, 16), np.int32)[:, ::2]}, ValueError, "documents has stride 2"),
        ({"prefix": np.zeros(3, np.int32)}, ValueError, "prefix has 3 elements"),
        ({"left_padding": np.zeros((2, 1), np.int32)}, ValueError, "left_padding has 2 dimensions"),
        ({"chunk": -1}, ValueError, "spans.chunk is -1"),
        ({"chunk": 1.5}, TypeError, "chunk is 1.5; it must be an integer"),
    ]
    for spans, error, match in refused:
        with pytest.raises(error, match=match):
            fm.attention(q, q, q, **spans)


def test_explain_names_them():
    q = np.zeros((2, 1, 40, 8), np.float32)
    for backward in (False, True):
        said = fm.explain(q, q, q, documents=DOCUMENTS, chunk=7, backward=backward)
        assert "documents, chunks of 7" in said


torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("operators with gradients need PyTorch 2.4 or newer", allow_module_level=True)


def tensors(dtype=torch.float32):
    shapes = [(2, 4, 40, 16), (2, 2, 40, 16), (2, 2, 40, 16)]
    return [torch.from_numpy(normal(*s, seed=i)).to(dtype).requires_grad_() for i, s in enumerate(shapes)]


def as_torch(spans):
    return {name: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for name, x in spans.items()}


def eager(q, k, v, mask):
    """Rows that see nothing give 0, and so do their gradients."""
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -1e30)
    return (scores.softmax(-1) * mask.any(-1, keepdim=True)) @ v


@pytest.mark.parametrize("spans", SPANS, ids=lambda spans: "+".join(spans))
@pytest.mark.parametrize("way", ["recorded", "operators", "compiled"])
def test_gradients_are_those_of_the_definition(spans, way):
    if way == "compiled" and "chunk" in spans and len(spans) > 1:
        pytest.skip("compiled once with each argument is enough")
    ours, theirs = tensors(), tensors(torch.float64)
    mask = torch.from_numpy(seen(40, 40, True, **spans))
    spans = as_torch(spans)
    if way == "operators":
        from flashmoe_science.torch import attention as function
    else:
        function = fm.attention
    if way == "compiled":
        compiled = torch.compile(
            lambda q, k, v: fm.attention(q, k, v, True, **spans), backend="aot_eager", fullgraph=True
        )
        out = compiled(*ours)
    else:
        out = function(*ours, True, **spans)
    expected = eager(*theirs, mask)
    torch.testing.assert_close(out.double(), expected, atol=2e-6, rtol=1e-5)
    dout = torch.from_numpy(normal(*out.shape, seed=9))
    results = torch.autograd.grad(out, ours, dout.float())
    for ours_grad, theirs_grad in zip(results, torch.autograd.grad(expected, theirs, dout)):
        torch.testing.assert_close(ours_grad.double(), theirs_grad, atol=1e-5, rtol=1e-5)
