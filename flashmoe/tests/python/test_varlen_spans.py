# SPDX-License-Identifier: MIT
"""attention_varlen() with masks by name: each sequence is a call of its own with its part of the arrays, by every way in."""

import numpy as np
import pytest
from test_lengths import K_LENGTHS, batch_of, normal, packed
from test_spans import seen
from test_window import plain

import flashmoe_science as fm

OF_SEQUENCES = ("prefix", "left_padding")
# Runs of one to nine keys; the sequences begin and end within them.
DOCUMENTS = np.repeat(np.arange(99) % 3, np.arange(99) % 9 + 1)[: sum(K_LENGTHS) + 3].astype(np.int32)
PREFIX = np.array([12, 30, 2, 0, 0], np.int32)
PADDING = np.array([5, 0, 6, 11, 0], np.int32)
SPANS = [
    {"documents": DOCUMENTS},
    {"prefix": PREFIX},
    {"left_padding": PADDING},
    {"chunk": 16},
    {"first_keys": 4, "window": (6, 0)},
    {"documents": DOCUMENTS, "prefix": PREFIX, "window": (9, 3)},
    {"left_padding": PADDING, "first_keys": 3, "chunk": 10},
]
every_mask = pytest.mark.parametrize("spans", SPANS, ids=lambda spans: "+".join(spans))


def with_rows_of_nobody():
    return packed(extra=3)


def of_sequence(spans, b, keys):
    """What a call of sequence b alone takes."""
    own = dict(spans)
    own.update((name, spans[name][b : b + 1]) for name in OF_SEQUENCES if name in spans)
    if "documents" in spans:
        own["documents"] = spans["documents"][keys]
    return own


def parts(cu_q, cu_k, used_q=None, used_k=None):
    """(sequence, rows, keys) of those that have both."""
    for b in range(len(cu_q) - 1):
        rows = slice(cu_q[b], cu_q[b + 1] if used_q is None else cu_q[b] + used_q[b])
        keys = slice(cu_k[b], cu_k[b + 1] if used_k is None else cu_k[b] + used_k[b])
        if rows.start < rows.stop and keys.start < keys.stop:
            yield b, rows, keys


@every_mask
@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize("used", [False, True])
def test_a_sequence_sees_what_the_definition_says(spans, causal, used):
    q, k, v, cu_q, cu_k = with_rows_of_nobody()
    lengths = {}
    if used:
        lengths = {
            "seqused_q": np.array([20, 1, 0, 0, 5], np.int32),
            "seqused_k": np.array([40, 13, 6, 70, 0], np.int32),
        }
    out, lse = fm.attention_varlen(q, k, v, cu_q, cu_k, causal=causal, return_lse=True, **lengths, **spans)
    counts = np.zeros(len(q), bool)
    for b, rows, keys in parts(cu_q, cu_k, *lengths.values()):
        counts[rows] = True
        one = batch_of(q[rows]), batch_of(k[keys]), batch_of(v[keys])
        own = of_sequence(spans, b, keys)
        mask = seen(rows.stop - rows.start, keys.stop - keys.start, causal, batch=1, **own)
        np.testing.assert_allclose(batch_of(out[rows]), plain(*one, mask), atol=2e-6)
        alone, lse_alone = fm.attention(*one, causal, return_lse=True, **own)
        assert np.array_equal(batch_of(out[rows]), alone) and np.array_equal(lse[None, :, rows], lse_alone)
    assert (out[~counts] == 0).all() and (lse[:, ~counts] == -np.inf).all()


@every_mask
def test_gradients_are_those_of_a_call_for_each(spans):
    q, k, v, cu_q, cu_k = with_rows_of_nobody()
    options = {"causal": True, **spans}
    out, lse = fm.attention_varlen(q, k, v, cu_q, cu_k, return_lse=True, **options)
    dout, dlse = normal(*q.shape, seed=5), normal(*lse.shape, seed=6)
    dq, dk, dv = fm.attention_varlen_backward(q, k, v, out, lse, dout, cu_q, cu_k, dlse=dlse, **options)
    seen_q, seen_k = np.zeros(len(q), bool), np.zeros(len(k), bool)
    for b, rows, keys in parts(cu_q, cu_k):
        seen_q[rows] = seen_k[keys] = True
        inputs = [batch_of(t) for t in (q[rows], k[keys], v[keys], out[rows])]
        own = {**options, **of_sequence(spans, b, keys)}
        expected = fm.attention_backward(
            *inputs,
            np.ascontiguousarray(lse[None, :, rows]),
            batch_of(dout[rows]),
            dlse=np.ascontiguousarray(dlse[None, :, rows]),
            **own,
        )
        for ours, theirs in zip((dq[rows], dk[keys], dv[keys]), expected):
            np.testing.assert_allclose(batch_of(ours), theirs, atol=1e-6)
    assert (dq[~seen_q] == 0).all() and (dk[~seen_k] == 0).all() and (dv[~seen_k] == 0).all()


def test_what_they_may_be():
    q, k, v, cu_q, cu_k = packed()

    def refused(kind, match, **spans):
        with pytest.raises(kind, match=match):
            fm.attention_varlen(q, k, v, cu_q, cu_k, **spans)

    refused(
        ValueError, "documents has 205 elements in dimension 0; it must have 206", documents=DOCUMENTS[:205]
    )
    refused(
        ValueError,
        r"documents has 2 dimensions; it must have 1: \[keys\], of all sequences",
        documents=DOCUMENTS[None, :206],
    )
    refused(
        ValueError,
        "prefix has 4 elements in dimension 0; it must have 5: one for each seq",
        prefix=PREFIX[:4],
    )
    refused(ValueError, r"left_padding has 2 .*: \[sequences\]", left_padding=PADDING[None])
    refused(TypeError, "left_padding is int64; it must be int32", left_padding=PADDING.astype(np.int64))
    refused(ValueError, "spans.chunk is -1", chunk=-1)
    refused(TypeError, "attn_mask", attn_mask=np.ones((1, 1), bool))


def test_explain_names_them():
    q, k, v, cu_q, cu_k = packed()
    for backward in (False, True):
        said = fm.explain(
            q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, prefix=PREFIX, chunk=7, backward=backward
        )
        assert "5 sequences" in said and "chunks of 7" in said and "prefix" in said


torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("operators with gradients need PyTorch 2.4 or newer", allow_module_level=True)


def as_torch(spans, device="cpu"):
    return {
        name: torch.from_numpy(x).to(device) if isinstance(x, np.ndarray) else x for name, x in spans.items()
    }


def torch_packed(dtype=torch.float32, device="cpu", dim=16):
    q, k, v, cu_q, cu_k = (torch.from_numpy(x).to(device) for x in packed(extra=3, dim=dim))
    return [t.to(dtype).requires_grad_() for t in (q, k, v)] + [cu_q, cu_k]


def eager(q, k, v, cu_q, cu_k, causal, spans):
    """PyTorch's own, one sequence at a time. Rows that see nothing give 0, and so do their gradients."""
    out = torch.zeros_like(q)
    for b, rows, keys in parts(cu_q.tolist(), cu_k.tolist()):
        own = of_sequence(spans, b, keys)
        mask = torch.from_numpy(seen(rows.stop - rows.start, keys.stop - keys.start, causal, batch=1, **own))
        mask = mask[0].to(q.device)
        of_q, of_k, of_v = (t.transpose(0, 1) for t in (q[rows], k[keys], v[keys]))
        of_k, of_v = (t.repeat_interleave(q.shape[1] // k.shape[1], 0) for t in (of_k, of_v))
        scores = (of_q @ of_k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -1e30)
        seen_rows = (scores.softmax(-1) * mask.any(-1, keepdim=True)) @ of_v
        out = torch.cat([out[: rows.start], seen_rows.transpose(0, 1), out[rows.stop :]])
    return out


def gradients(function, tensors):
    out = function(*tensors)
    dout = torch.from_numpy(normal(*out.shape, seed=9)).to(out)
    return (out.detach(), *torch.autograd.grad(out, tensors[:3], dout))


def calls_of(way):
    if way == "operators":
        from flashmoe_science.torch import attention_varlen

        return attention_varlen
    return fm.attention_varlen


@every_mask
@pytest.mark.parametrize("way", ["recorded", "operators", "compiled", "with scores"])
def test_autograd_gives_the_gradients_of_the_definition(spans, way):
    tensors = torch_packed()
    exact = [t.detach().double().requires_grad_() for t in tensors[:3]] + tensors[3:]
    expected = gradients(lambda *t: eager(*t, True, spans), exact)
    options = {"causal": True, **as_torch(spans)}
    if way == "with scores":
        options["softcap"] = 1e6  # changes nothing, and goes by another way

    def call(*tensors):
        return calls_of(way)(*tensors, **options)

    if way == "compiled":
        torch._dynamo.reset()
        call = torch.compile(call, backend="aot_eager", fullgraph=True)
    for ours, theirs in zip(gradients(call, tensors), expected):
        torch.testing.assert_close(ours.double(), theirs, atol=1e-5, rtol=1e-5)


def test_operators_take_them():
    import flashmoe_science.torch  # noqa: F401

    q, k, v, cu_q, cu_k = torch_packed()
    arrays = (cu_q, cu_k, None, None, *(torch.from_numpy(x) for x in (DOCUMENTS, PREFIX, PADDING)))
    numbers = {"chunk": 16, "first_keys": 2}
    for name in ("attention", "attention_with_lse"):
        operator = getattr(torch.ops.flashmoe_science, name).default
        torch.library.opcheck(operator, (q, k, v, "bottom_right", None, *arrays), numbers)


@pytest.mark.skipif(
    not torch.cuda.is_available() or "cuda" not in fm._C.library_version,
    reason="no GPU, or no CUDA in this build",
)
@every_mask
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gpus_take_them(spans, dtype):
    tensors = torch_packed(dtype, "cuda", dim=64)
    exact = [t.detach().double().requires_grad_() for t in tensors[:3]] + tensors[3:]
    expected = gradients(lambda *t: eager(*t, True, spans), exact)
    options = as_torch(spans, "cuda")
    ours = gradients(lambda *t: fm.attention_varlen(*t, causal=True, **options), tensors)
    tolerance = 1e-4 if dtype == torch.float32 else 5e-2
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a.double(), b, atol=tolerance, rtol=tolerance)
