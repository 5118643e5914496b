# SPDX-License-Identifier: MIT
"""flashmoe_science.flash_attn: sequences one behind the other, and where sequences are one call."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
from flash_attn_cases import MASKS, close, gradients, normal, packed, reference

from flashmoe_science import _support
from flashmoe_science import flash_attn as fa
from flashmoe_science.flash_attn import version3


@pytest.mark.parametrize("mask", MASKS)
def test_varlen(mask, lengths):
    lengths_q, lengths_k = [3, 0, 7, 1, 2], [5, 4, 7, 0, 9]
    (q, cu_q), (k, cu_k) = packed(lengths_q, 4, 0), packed(lengths_k, 2, 1)
    v = normal(*k.shape, seed=2)
    out, lse, _ = fa.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 7, 9, **mask, return_attn_probs=True)
    assert out.shape == q.shape and lse.shape == (4, 13)
    for i in range(5):
        of_q, of_k = slice(cu_q[i], cu_q[i + 1]), slice(cu_k[i], cu_k[i + 1])
        expected, expected_lse = reference(q[None, of_q], k[None, of_k], v[None, of_k], **mask)
        close(out[of_q], expected[0])
        close(lse[:, of_q], expected_lse[0])
    again = version3.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 7, 9, **mask, return_attn_probs=True)
    assert len(again) == 2 and all(map(torch.equal, again, (out, lse)))


@pytest.mark.parametrize("causal", [False, True])
def test_chunks_count_within_sequences(causal, lengths):
    (q, cu_q), (k, cu_k) = packed([3, 7], 4, 0), packed([5, 12], 2, 1)
    options = {"causal": causal, "attention_chunk": 4}

    def one_by_one(q, k, v):
        of_each = [(q[:3], k[:5], v[:5]), (q[3:], k[5:], v[5:])]
        return torch.cat([version3.flash_attn_func(*(t[None] for t in one), **options)[0] for one in of_each])

    v = normal(*k.shape, seed=2)
    ours = gradients(lambda *t: version3.flash_attn_varlen_func(*t, cu_q, cu_k, 7, 12, **options), q, k, v)
    for a, b in zip(ours, gradients(one_by_one, q, k, v)):
        close(a, b)


def test_varlen_gradients(lengths):
    (q, cu_q), (k, cu_k) = packed([3, 6], 4, 0), packed([5, 6], 2, 1)
    v = normal(*k.shape, seed=2)

    def one_by_one(q, k, v):
        parts = [(q[:3], k[:5], v[:5]), (q[3:], k[5:], v[5:])]
        return torch.cat([reference(*(t[None] for t in part), causal=True)[0][0] for part in parts])

    ours = gradients(lambda *t: fa.flash_attn_varlen_func(*t, cu_q, cu_k, 6, 6, causal=True), q, k, v)
    for a, b in zip(ours, gradients(one_by_one, *(t.double() for t in (q, k, v)))):
        close(a, b)


def test_rows_of_no_sequence_are_zero(lengths):
    q = normal(10, 2, 16)
    cu = torch.tensor([1, 4, 8], dtype=torch.int32)
    used = torch.tensor([2, 4], dtype=torch.int32)
    out, lse, _ = fa.flash_attn_varlen_func(
        q, q, q, cu, cu, 4, 4, seqused_q=used, seqused_k=used, return_attn_probs=True
    )
    outside = [0, 3, 8, 9]
    assert (out[outside] == 0).all() and (lse[:, outside] == -torch.inf).all()
    close(out[1:3], reference(*[q[None, 1:3]] * 3)[0][0])
    close(out[4:8], reference(*[q[None, 4:8]] * 3)[0][0])
    nobody = torch.zeros(2, dtype=torch.int32)
    assert (fa.flash_attn_varlen_func(q, q, q, nobody, nobody, 0, 0) == 0).all()
    assert fa.flash_attn_varlen_func(q[:0], q, q, nobody, nobody, 0, 0).shape == (0, 2, 16)


def test_varlen_packed_tensors():
    qkv, cu = normal(9, 3, 4, 16), torch.tensor([0, 4, 9], dtype=torch.int32)
    q, k, v = qkv.unbind(1)
    plain = fa.flash_attn_varlen_func(q, k, v, cu, cu, 5, 5, causal=True)
    assert torch.equal(fa.flash_attn_varlen_qkvpacked_func(qkv, cu, 5, causal=True), plain)
    assert torch.equal(
        fa.flash_attn_varlen_kvpacked_func(q, qkv[:, 1:], cu, cu, 5, 5, 0.0, None, True), plain
    )


def test_varlen_with_pages():
    pages, values = normal(7, 4, 2, 16), normal(7, 4, 2, 16, seed=1)
    table = torch.tensor([[6, 2, -1], [0, 3, 5]], dtype=torch.int32)
    (q, cu_q), cu_k = packed([2, 3], 4, 2), torch.tensor([0, 7, 17], dtype=torch.int32)
    out = fa.flash_attn_varlen_func(q, pages, values, cu_q, cu_k, 3, 10, causal=True, block_table=table)
    first = reference(
        q[None, :2], *(t[[6, 2]].flatten(0, 1)[None, :7] for t in (pages, values)), causal=True
    )[0]
    second = reference(
        q[None, 2:], *(t[[0, 3, 5]].flatten(0, 1)[None, :10] for t in (pages, values)), causal=True
    )[0]
    close(out, torch.cat((first[0], second[0])))


@pytest.mark.parametrize(
    ("dtype", "head_dim", "scores", "one_call"),
    [
        (torch.bfloat16, 128, {}, True),
        (torch.bfloat16, 128, {"softcap": 30.0}, True),
        (torch.float32, 20, {"dropout_p": 0.1}, True),
        (torch.float32, 128, {}, False),
        (torch.float16, 20, {}, False),
    ],
)
def test_where_packed_sequences_on_a_gpu_are_one_call(monkeypatch, dtype, head_dim, scores, one_call):
    monkeypatch.setattr(_support, "_HAS_CUDA", True)
    q = SimpleNamespace(device=torch.device("cuda", 0), dtype=dtype, shape=(9, 2, head_dim))
    assert _support.takes_packed(q, q, q, scores) is one_call


@pytest.mark.parametrize(
    ("rows", "keys", "dtype", "scores", "one_call"),
    [
        (500, 500, torch.bfloat16, {}, True),
        (500, 500, torch.bfloat16, {"softcap": 30.0}, True),
        (500, 500, torch.bfloat16, {"attn_mask": None}, False),
        (500, 500, torch.float32, {}, False),
        (20, 20, torch.float16, {}, True),
        (128, 4000, torch.float16, {}, True),
        (127, 4000, torch.float16, {}, False),  # decoding: its keys are shared out, but not with lengths
        (1, 4000, torch.float16, {}, False),
    ],
)
def test_where_padded_sequences_on_a_gpu_are_one_call(monkeypatch, rows, keys, dtype, scores, one_call):
    monkeypatch.setattr(_support, "_HAS_CUDA", True)
    q, k = (
        SimpleNamespace(device=torch.device("cuda", 0), dtype=dtype, shape=(3, 2, length, 64))
        for length in (rows, keys)
    )
    assert _support.takes_padded(q, k, k, scores) is one_call
