# SPDX-License-Identifier: MIT
"""attention_varlen() and attention(q_lengths=, kv_lengths=): sequences of different lengths, by every way in."""

import numpy as np
import oracle
import pytest

import flashmoe_science as fm

Q_LENGTHS, K_LENGTHS = [33, 1, 0, 70, 5], [40, 90, 6, 70, 0]


def normal(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def starts(lengths, dtype=np.int32):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)


def packed(q_lengths=Q_LENGTHS, k_lengths=K_LENGTHS, heads=(4, 2), dim=16, extra=0, dtype=np.float32):
    """q, k, v, cu_seqlens_q, cu_seqlens_k, with `extra` rows behind the last sequence."""
    q = normal(sum(q_lengths) + extra, heads[0], dim, dtype=dtype)
    k, v = (normal(sum(k_lengths) + extra, heads[1], dim, seed=i, dtype=dtype) for i in (1, 2))
    return q, k, v, starts(q_lengths), starts(k_lengths)


def batch_of(rows):
    """[rows, heads, dim] as [1, heads, rows, dim]."""
    return rows.swapaxes(0, 1)[None]


def check_sequences(out, lse, q, k, v, cu_q, cu_k, causal=False, used_q=None, used_k=None):
    """Each sequence against the oracle, and zeros in all other rows."""
    counts = np.zeros(len(q), bool)
    for b in range(len(cu_q) - 1):
        rows = slice(cu_q[b], cu_q[b + 1] if used_q is None else cu_q[b] + used_q[b])
        keys = slice(cu_k[b], cu_k[b + 1] if used_k is None else cu_k[b] + used_k[b])
        if rows.start == rows.stop or keys.start == keys.stop:
            continue
        counts[rows] = True
        oracle.check(
            batch_of(out[rows]),
            lse[None, :, rows],
            batch_of(q[rows]),
            batch_of(k[keys]),
            batch_of(v[keys]),
            causal,
        )
    assert (out[~counts] == 0).all()
    assert (lse[:, ~counts] == -np.inf).all()


@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_packed_sequences_are_calls_of_their_own(causal, dtype):
    q, k, v, cu_q, cu_k = packed(extra=3, dtype=dtype)
    out, lse = fm.attention_varlen(q, k, v, cu_q, cu_k, 70, 90, causal=causal, return_lse=True)
    assert out.shape == q.shape and lse.shape == (4, len(q)) and lse.dtype == np.float32
    check_sequences(out, lse, q, k, v, cu_q, cu_k, causal)
    for b in range(len(Q_LENGTHS)):
        rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
        if rows.start < rows.stop:
            alone = fm.attention(batch_of(q[rows]), batch_of(k[keys]), batch_of(v[keys]), causal)
            assert np.array_equal(batch_of(out[rows]), alone)


def test_max_seqlen_is_a_hint_alone():
    arguments = packed()
    expected = fm.attention_varlen(*arguments)
    for longest in (1, 70, 2**30, None):
        assert np.array_equal(fm.attention_varlen(*arguments, longest, max_seqlen_k=longest), expected)


def test_used_rows_alone_count():
    q, k, v, cu_q, cu_k = packed()
    used_q, used_k = np.array([20, 1, 0, 0, 5], np.int32), np.array([40, 13, 6, 70, 0], np.int32)
    out, lse = fm.attention_varlen(
        q, k, v, cu_q, cu_k, seqused_q=used_q, seqused_k=used_k, causal=True, return_lse=True
    )
    check_sequences(out, lse, q, k, v, cu_q, cu_k, True, used_q, used_k)


def test_a_padded_batch():
    q, k, v = normal(3, 4, 20, 16), normal(3, 2, 30, 16, seed=1), normal(3, 2, 30, 16, seed=2)
    q_lengths, kv_lengths = np.array([20, 3, 0], np.int32), np.array([30, 11, 5], np.int32)
    expected = fm.attention(q[1:2, :, :3], k[1:2, :, :11], v[1:2, :, :11], True)
    k[1, :, 11:] = v[1, :, 11:] = np.nan
    q[1, :, 3:] = np.inf
    out, lse = fm.attention(q, k, v, True, return_lse=True, q_lengths=q_lengths, kv_lengths=kv_lengths)
    assert np.array_equal(out[1:2, :, :3], expected)
    assert (out[1, :, 3:] == 0).all() and (out[2] == 0).all() and (lse[1, :, 3:] == -np.inf).all()
    alone = fm.attention(q, k, v, kv_lengths=kv_lengths)
    assert np.array_equal(alone[2:], fm.attention(q[2:], k[2:, :, :5], v[2:, :, :5]))


def test_views_of_every_kind():
    q, k, v, cu_q, cu_k = packed()
    expected = fm.attention_varlen(q, k, v, cu_q, cu_k)
    qkv = np.full((len(q), 3, 4, 16), np.nan, np.float32)
    qkv[:, 0] = q
    by_head = np.ascontiguousarray(k.swapaxes(0, 1)).swapaxes(0, 1)
    backwards = np.ascontiguousarray(v[::-1])[::-1]
    out = fm.attention_varlen(qkv[:, 0], by_head, backwards, cu_q, cu_k)
    np.testing.assert_allclose(out, expected, atol=1e-6)
    target = np.full((len(q), 4, 2, 16), np.nan, np.float32)[:, :, 1]
    assert fm.attention_varlen(q, k, v, cu_q, cu_k, out=target) is target
    assert np.array_equal(target, expected)
    one = np.broadcast_to(q[:1], q.shape)
    assert np.array_equal(
        fm.attention_varlen(one, k, v, cu_q, cu_k), fm.attention_varlen(one.copy(), k, v, cu_q, cu_k)
    )


def test_gradients_of_packed_sequences():
    q, k, v, cu_q, cu_k = packed(extra=2)
    out, lse = fm.attention_varlen(q, k, v, cu_q, cu_k, causal=True, return_lse=True)
    dout, dlse = normal(*q.shape, seed=5), normal(*lse.shape, seed=6)
    grads = fm.attention_varlen_backward(q, k, v, out, lse, dout, cu_q, cu_k, causal=True, dlse=dlse)
    seen_q, seen_k = np.zeros(len(q), bool), np.zeros(len(k), bool)
    for b in range(len(Q_LENGTHS)):
        rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
        if rows.start == rows.stop or keys.start == keys.stop:
            continue
        seen_q[rows] = seen_k[keys] = True
        parts = (
            batch_of(q[rows]),
            batch_of(k[keys]),
            batch_of(v[keys]),
            batch_of(dout[rows]),
            dlse[None, :, rows],
        )
        actual = batch_of(grads[0][rows]), batch_of(grads[1][keys]), batch_of(grads[2][keys])
        oracle.check_gradients(actual, *parts, causal=True)
    assert (grads[0][~seen_q] == 0).all()
    assert (grads[1][~seen_k] == 0).all() and (grads[2][~seen_k] == 0).all()


def test_what_is_refused_and_how():
    q, k, v, cu_q, cu_k = packed()

    def refused(kind, match, *args, **options):
        with pytest.raises(kind, match=match):
            fm.attention_varlen(*args, **options)

    refused(TypeError, "cu_seqlens_q is int64; it must be int32", q, k, v, cu_q.astype(np.int64), cu_k)
    refused(TypeError, r"missing its argument 'cu_seqlens_k'", q, k, v, cu_q)
    refused(TypeError, "cu_seqlens_q and cu_seqlens_k must be given", q, k, v, cu_q, None)
    refused(
        ValueError,
        r"q has 4 dimensions; it must have 3: \[rows, heads, head_dim\]",
        q[None],
        k,
        v,
        cu_q,
        cu_k,
    )
    refused(ValueError, "cu_seqlens_q has 2 dimensions", q, k, v, cu_q[None], cu_k)
    refused(ValueError, "cu_seqlens_q has stride 2; it must be contiguous", q, k, v, cu_q[::2], cu_k)
    refused(ValueError, "cu_seqlens_q is empty", q, k, v, cu_q[:0], cu_k)
    refused(ValueError, "cu_seqlens_k is for 4 sequences and cu_seqlens_q for 5", q, k, v, cu_q, cu_k[:-1])
    refused(ValueError, "seqused_q is for 4 sequences", q, k, v, cu_q, cu_k, seqused_q=cu_q[:4])
    refused(ValueError, r"q_starts\[5\] is 109, past the 108 rows of q", q[:-1], k, v, cu_q, cu_k)
    refused(
        ValueError,
        r"k_starts\[1\] is 0, less than 40 before it",
        q,
        k,
        v,
        cu_q,
        np.sort(cu_k)[[1, 0, 2, 3, 4, 5]],
    )
    refused(ValueError, "longest_q and longest_k are -1 and 0", q, k, v, cu_q, cu_k, -1)
    batch = np.zeros((2, 1, 4, 8), np.float32)
    with pytest.raises(ValueError, match=r"k_used\[1\] is 5; accepted are 0 to 4"):
        fm.attention(batch, batch, batch, kv_lengths=np.array([4, 5], np.int32))
    with pytest.raises(TypeError, match="kv_lengths is int64"):
        fm.attention(batch, batch, batch, kv_lengths=np.array([4, 5]))
    with pytest.raises(ValueError, match="q has batch = 2; it must be lengths.sequences, which is 3"):
        fm.attention(batch, batch, batch, q_lengths=np.array([4, 4, 4], np.int32))


def test_explain_names_them():
    q, k, v, cu_q, cu_k = packed()
    for backward in (False, True):
        said = fm.explain(q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, backward=backward)
        assert "5 sequences" in said and "0 to 70 rows, 109 in all" in said
    batch = np.zeros((2, 1, 4, 8), np.float32)
    assert "2 sequences" in fm.explain(batch, batch, batch, kv_lengths=np.array([4, 0], np.int32))


torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("operators with gradients need PyTorch 2.4 or newer", allow_module_level=True)


def torch_packed(dtype=torch.float32, grad=True, **options):
    q, k, v, cu_q, cu_k = (torch.from_numpy(x) for x in packed(**options))
    return [t.to(dtype).requires_grad_(grad) for t in (q, k, v)] + [cu_q, cu_k]


def by_sequence(q, k, v, cu_q, cu_k, causal=False):
    """PyTorch's own, one sequence at a time."""
    out = torch.zeros_like(q)
    for b in range(len(cu_q) - 1):
        rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
        if rows.start == rows.stop or keys.start == keys.stop:
            continue
        n, m = rows.stop - rows.start, keys.stop - keys.start
        mask = torch.from_numpy(oracle.visible(int(n), int(m), causal))
        parts = (
            t[s].transpose(0, 1).repeat_interleave(r, 0)
            for t, s, r in ((q, rows, 1), (k, keys, 2), (v, keys, 2))
        )
        seen = torch.nn.functional.scaled_dot_product_attention(*parts, attn_mask=mask).transpose(0, 1)
        out = torch.cat(
            [out[: rows.start], torch.where(mask.any(1)[:, None, None], seen, 0), out[rows.stop :]]
        )
    return out


def gradients(function, tensors):
    out = function(*tensors)
    dout = torch.from_numpy(normal(*out.shape, seed=9)).to(out.dtype)
    return (out, *torch.autograd.grad(out, tensors[:3], dout))


@pytest.mark.parametrize("causal", [False, True])
def test_autograd_gives_what_pytorch_gives(causal):
    tensors = torch_packed()
    exact = [t.detach().double().requires_grad_() for t in tensors[:3]] + tensors[3:]
    expected = gradients(lambda *t: by_sequence(*t, causal), exact)
    ours = gradients(lambda *t: fm.attention_varlen(*t, causal=causal), tensors)
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


def test_lse_is_differentiated_too():
    tensors = torch_packed()
    _, lse = fm.attention_varlen(*tensors, return_lse=True)
    seen = torch.isfinite(lse)
    ours = torch.autograd.grad(lse[seen].sum(), tensors[:2])
    q, k, v, cu_q, cu_k = (t.detach() for t in tensors)
    out, lse = fm.attention_varlen(q, k, v, cu_q, cu_k, return_lse=True)
    expected = fm.attention_varlen_backward(
        q, k, v, out, lse, torch.zeros_like(out), cu_q, cu_k, dlse=seen.float()
    )
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a, b)


@pytest.mark.filterwarnings("ignore:Input #")
def test_gradcheck():
    """Against finite differences: loosely, since these are in float32."""
    q, k, v, cu_q, cu_k = torch_packed(q_lengths=[4, 1, 0, 3], k_lengths=[5, 2, 3, 0], heads=(2, 1), dim=3)

    def call(q, k, v):
        return fm.attention_varlen(q, k, v, cu_q, cu_k, causal=True)

    assert torch.autograd.gradcheck(call, (q, k, v), eps=1e-2, atol=5e-3, rtol=5e-2)
    padded = [torch.from_numpy(normal(2, 1, 4, 3, seed=i)).requires_grad_() for i in range(3)]
    lengths = torch.tensor([4, 2], dtype=torch.int32)
    assert torch.autograd.gradcheck(
        lambda q, k, v: fm.attention(q, k, v, q_lengths=lengths, kv_lengths=lengths),
        padded,
        eps=1e-2,
        atol=5e-3,
        rtol=5e-2,
    )


@pytest.mark.parametrize("name", ["attention", "attention_with_lse"])
def test_operators_take_them(name):
    import flashmoe_science.torch  # noqa: F401

    operator = getattr(torch.ops.flashmoe_science, name).default
    q, k, v, cu_q, cu_k = torch_packed()
    torch.library.opcheck(operator, (q, k, v, "bottom_right", None, cu_q, cu_k), {"max_seqlen_q": 70})
    batch = [torch.from_numpy(normal(2, 2, 6, 8, seed=i)).requires_grad_() for i in range(3)]
    lengths = torch.tensor([6, 2], dtype=torch.int32)
    torch.library.opcheck(operator, (*batch, "none", None, None, None, None, lengths))


def test_the_backward_operator_takes_them():
    q, k, v, cu_q, cu_k = torch_packed(grad=False)
    out, lse = fm.attention_varlen(q, k, v, cu_q, cu_k, return_lse=True)
    operator = torch.ops.flashmoe_science.attention_backward.default
    torch.library.opcheck(operator, (out, None, q, k, v, out, lse, "none", None, cu_q, cu_k))


def test_compiled_it_is_the_same():
    if not hasattr(torch.compiler, "substitute_in_graph"):
        pytest.skip("this release of PyTorch can't be told what a native function does")
    torch._dynamo.reset()
    tensors = torch_packed()
    batch = [torch.from_numpy(normal(2, 2, 6, 8, seed=i)).requires_grad_() for i in range(3)]
    batch.append(torch.tensor([6, 2], dtype=torch.int32))

    def varlen(q, k, v, cu_q, cu_k):
        return fm.attention_varlen(q, k, v, cu_q, cu_k, 70, causal=True, window=(30, None))

    def padded(q, k, v, lengths):
        return fm.attention(q, k, v, True, kv_lengths=lengths)

    for call, arguments in ((varlen, tensors), (padded, batch)):
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        for a, b in zip(gradients(compiled, arguments), gradients(call, arguments)):
            assert torch.equal(a, b)
    torch._dynamo.reset()


def test_autocast_lowers_q_k_and_v_alone():
    q, k, v, cu_q, cu_k = torch_packed(grad=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        lowered = fm.attention_varlen(q, k, v, cu_q, cu_k)
        batch = torch.zeros(2, 1, 4, 8)
        lengths = torch.tensor([4, 1], dtype=torch.int32)
        assert fm.attention(batch, batch, batch, kv_lengths=lengths).dtype == torch.bfloat16
    assert lowered.dtype == torch.bfloat16
    torch.testing.assert_close(
        lowered.float(), fm.attention_varlen(q, k, v, cu_q, cu_k), rtol=0.05, atol=0.05
    )


def test_vmap_folds_padded_batches_and_takes_packed_ones_one_by_one():
    q, k, v = (torch.from_numpy(normal(3, 2, 2, 6, 8, seed=i)) for i in range(3))
    lengths = torch.tensor([[6, 1], [0, 2], [3, 3]], dtype=torch.int32)

    def call(q, k, v, lengths):
        return fm.attention(q, k, v, kv_lengths=lengths)

    batched = torch.func.vmap(call)(q, k, v, lengths)
    assert torch.equal(batched, torch.stack([call(*each) for each in zip(q, k, v, lengths)]))
    rows = torch.from_numpy(normal(2, 4, 1, 8))
    cu = torch.tensor([0, 3, 4], dtype=torch.int32)
    batched = torch.func.vmap(lambda q: fm.attention_varlen(q, q, q, cu, cu))(rows)
    assert torch.equal(batched, torch.stack([fm.attention_varlen(q, q, q, cu, cu) for q in rows]))


def test_flops_are_counted_within_sequences():
    from torch.utils.flop_counter import FlopCounterMode

    q, k, v, cu_q, cu_k = torch_packed(grad=False)
    with FlopCounterMode(display=False) as counter:
        fm.attention_varlen(q, k, v, cu_q, cu_k)
    assert counter.get_total_flops() == 4 * 4 * 16 * sum(n * m for n, m in zip(Q_LENGTHS, K_LENGTHS))


def test_the_longest_may_be_tensors():
    tensors = torch_packed()
    longest = torch.tensor(90)
    ours = fm.attention_varlen(*tensors, longest, longest)
    assert torch.equal(ours, fm.attention_varlen(*tensors))


@pytest.mark.skipif(
    not torch.cuda.is_available() or "cuda" not in fm._C.library_version,
    reason="no GPU, or no CUDA in this build",
)
def test_gpus_take_them():
    q, k, v, cu_q, cu_k = torch_packed(grad=False)
    expected, lse = fm.attention_varlen(q, k, v, cu_q, cu_k, causal=True, return_lse=True)
    on_gpu = [t.cuda() for t in (q, k, v, cu_q, cu_k)]
    ours, ours_lse = fm.attention_varlen(*on_gpu, causal=True, return_lse=True)
    assert torch.allclose(ours.cpu(), expected, atol=1e-5)
    assert torch.allclose(ours_lse.cpu(), lse, atol=1e-5)
    batch = torch.randn(2, 1, 4, 8, device="cuda")
    lengths = torch.tensor([4, 1], dtype=torch.int32, device="cuda")
    ours = fm.attention(batch, batch, batch, kv_lengths=lengths)
    assert torch.allclose(ours[1, 0], batch[1, 0, :1].expand(4, 8), atol=1e-6)


@pytest.mark.skipif(
    not torch.cuda.is_available() or "cuda" not in fm._C.library_version,
    reason="no GPU, or no CUDA in this build",
)
def test_gradients_on_gpus():
    leaves = torch_packed()
    fm.attention_varlen(*leaves, causal=True).square().sum().backward()
    on_gpu = [t.detach().cuda().requires_grad_(t.requires_grad) for t in leaves]
    fm.attention_varlen(*on_gpu, causal=True).square().sum().backward()
    for ours, theirs in zip(on_gpu[:3], leaves[:3]):
        assert torch.allclose(ours.grad.cpu(), theirs.grad, atol=1e-4)
