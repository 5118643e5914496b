# SPDX-License-Identifier: MIT
"""flashmoe_science.flash_attn: flash_attn's functions, arguments and results."""

import inspect
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("gradients need PyTorch 2.4 or newer", allow_module_level=True)
from flashmoe_science import _support
from flashmoe_science import flash_attn as fa
from flashmoe_science.flash_attn import _attend, bert_padding, version3


def normal(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def reference(
    q,
    k,
    v,
    causal=False,
    window_size=(-1, -1),
    scale=None,
    softcap=0.0,
    alibi_slopes=None,
    learnable_sink=None,
):
    """[B, S, H, D] in float64, from the definition: out and lse, 0 and -inf for rows that see nothing."""
    q, k, v = (t.double().transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    rows, keys = q.shape[2], k.shape[2]
    position = torch.arange(rows)[:, None] + keys - rows
    key = torch.arange(keys)[None]
    seen = torch.ones(rows, keys, dtype=torch.bool)
    if causal:
        seen &= key <= position
    if window_size[0] not in (-1, None):
        seen &= key >= position - window_size[0]
    if window_size[1] not in (-1, None):
        seen &= key <= position + window_size[1]
    scores = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if alibi_slopes is not None:
        scores = scores - alibi_slopes.double().expand(q.shape[:2])[:, :, None, None] * (position - key).abs()
    scores = scores.masked_fill(~seen, -torch.inf)
    if learnable_sink is not None:
        sinks = learnable_sink.double()[None, :, None, None].expand(*scores.shape[:3], 1)
        scores = torch.cat((scores, sinks), -1)
    weights = scores.softmax(-1).nan_to_num(0.0)[..., :keys]
    return (weights @ v).transpose(1, 2), scores.logsumexp(-1)


def close(a, b, tolerance=2e-5):
    torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance)


@pytest.fixture(params=["one call for all lengths", "a call for each length"])
def lengths(request, monkeypatch):
    """As on the CPU, and as on a GPU what its fast kernels do not take in one call."""
    if request.param == "a call for each length":
        for name in ("takes_packed", "takes_padded"):
            monkeypatch.setattr(_attend, name, lambda *args: False)


MASKS = [
    {},
    {"causal": True},
    {"window_size": (4, 2)},
    {"window_size": (None, 3)},
    {"causal": True, "window_size": (3, -1)},
]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("rows", [(17, 17), (5, 23), (23, 5), (1, 9)])
def test_func(mask, rows):
    q, k, v = normal(2, rows[0], 4, 16), normal(2, rows[1], 2, 16, seed=1), normal(2, rows[1], 2, 16, seed=2)
    for scale in (None, 0.3):
        expected, expected_lse = reference(q, k, v, **mask, scale=scale)
        out, lse, nothing = fa.flash_attn_func(q, k, v, 0.0, scale, **mask, return_attn_probs=True)
        close(out, expected)
        close(lse, expected_lse)
        assert out.is_contiguous() and lse.dtype == torch.float32 and nothing.numel() == 0
        assert torch.equal(fa.flash_attn_func(q, k, v, softmax_scale=scale, **mask), out)


def gradients(function, *tensors):
    leaves = [t.detach().requires_grad_() for t in tensors]
    out = function(*leaves)
    return torch.autograd.grad(out, leaves, normal(*out.shape, seed=9).to(out.dtype))


@pytest.mark.parametrize("mask", MASKS)
def test_gradients(mask):
    tensors = normal(2, 5, 4, 16), normal(2, 23, 2, 16, seed=1), normal(2, 23, 2, 16, seed=2)
    expected = gradients(lambda *t: reference(*t, **mask)[0], *(t.double() for t in tensors))
    for deterministic in (False, True):
        ours = gradients(lambda *t: fa.flash_attn_func(*t, **mask, deterministic=deterministic), *tensors)
        for a, b in zip(ours, expected):
            close(a, b)


def test_packed_tensors():
    qkv, kv = normal(2, 9, 3, 4, 16), normal(2, 11, 2, 2, 16, seed=1)
    plain = fa.flash_attn_func(*qkv.unbind(2), causal=True)
    assert torch.equal(fa.flash_attn_qkvpacked_func(qkv, causal=True), plain)
    assert torch.equal(fa.flash_attn_qkvpacked_func(qkv, 0.0, None, True), plain)
    close(fa.flash_attn_kvpacked_func(qkv[:, :, 0], kv), reference(qkv[:, :, 0], *kv.unbind(2))[0])
    (ours,) = gradients(lambda t: fa.flash_attn_qkvpacked_func(t, causal=True), qkv)
    (expected,) = gradients(lambda t: reference(*t.unbind(2), causal=True)[0], qkv.double())
    close(ours, expected)
    assert version3.flash_attn_qkvpacked_func(qkv[:, :, 0], num_heads_q=2).shape == (2, 9, 2, 16)


@pytest.mark.parametrize("of_v", [8, 24])
def test_values_of_another_head_dim(of_v, lengths):
    """As version 3 has them: zeros make up the difference, and are not seen."""
    q, k, v = normal(2, 5, 4, 16), normal(2, 23, 2, 16, seed=1), normal(2, 23, 2, of_v, seed=2)
    expected, expected_lse = reference(q, k, v, causal=True)
    out, lse = version3.flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    assert out.shape == (2, 5, 4, of_v)
    close(out, expected)
    close(lse, expected_lse)
    cu_q, cu_k = (torch.tensor([0, n, 2 * n], dtype=torch.int32) for n in (5, 23))
    packed = fa.flash_attn_varlen_func(*(t.flatten(0, 1) for t in (q, k, v)), cu_q, cu_k, 5, 23, causal=True)
    close(packed, expected.flatten(0, 1))
    cached = fa.flash_attn_with_kvcache(q, k, v, cache_seqlens=torch.tensor([23, 20]), causal=True)
    close(cached[0], expected[0])
    close(cached[1], reference(q[1:], k[1:, :20], v[1:, :20], causal=True)[0][0])
    ours = gradients(lambda *t: fa.flash_attn_func(*t, causal=True), q, k, v)
    for a, b in zip(
        ours, gradients(lambda *t: reference(*t, causal=True)[0], *(t.double() for t in (q, k, v)))
    ):
        close(a, b)


def test_rows_that_do_not_lie_side_by_side():
    q = normal(2, 9, 16, 4).transpose(2, 3)
    close(fa.flash_attn_func(q, q, q), reference(q, q, q)[0])


UNSUPPORTED = {
    "dropout_p": 0.1,
    "qv": torch.ones(2, 9, 4, 16),
    "q_descale": torch.ones(2),
    "attention_chunk": 4,
    "score_mod": max,
}


def calls():
    x = normal(2, 9, 4, 16)
    cu = torch.tensor([0, 9, 18], dtype=torch.int32)
    packed = x.flatten(0, 1)
    return {
        "flash_attn_func": lambda **o: fa.flash_attn_func(x, x, x, **o),
        "flash_attn_qkvpacked_func": lambda **o: fa.flash_attn_qkvpacked_func(torch.stack((x, x, x), 2), **o),
        "flash_attn_varlen_func": lambda **o: fa.flash_attn_varlen_func(
            packed, packed, packed, cu, cu, 9, 9, **o
        ),
        "flash_attn_with_kvcache": lambda **o: fa.flash_attn_with_kvcache(x, x.clone(), x.clone(), **o),
        "version 3's flash_attn_func": lambda **o: version3.flash_attn_func(x, x, x, **o),
        "version 3's flash_attn_with_kvcache": lambda **o: version3.flash_attn_with_kvcache(
            x, x.clone(), x.clone(), **o
        ),
    }


@pytest.mark.parametrize("causal", [False, True])
def test_chunks_of_positions(causal):
    q, k, v = normal(2, 7, 4, 16), normal(2, 12, 4, 16), normal(2, 12, 4, 16)
    out = version3.flash_attn_func(q, k, v, causal=causal, attention_chunk=4)
    for row in range(7):  # at position row + 5
        first = (row + 5) // 4 * 4
        keys = slice(first, row + 6 if causal else first + 4)
        close(out[:, row : row + 1], reference(q[:, row : row + 1], k[:, keys], v[:, keys])[0])


@pytest.mark.parametrize("function", calls())
def test_what_is_not_supported_is_refused_by_name(function):
    call = calls()[function]
    for name, value in UNSUPPORTED.items():
        if name == "attention_chunk" and "varlen" not in function and "kvcache" not in function:
            continue
        if name == "dropout_p" and "kvcache" not in function:
            continue
        with pytest.raises(NotImplementedError, match=rf"^flash_attn_\w+: {name} is not supported yet"):
            call(**{name: value})
    with pytest.raises(TypeError, match="unexpected keyword argument 'casual'"):
        call(casual=True)
    plain = call()
    assert torch.equal(
        call(softcap=0.0, attention_chunk=0, alibi_slopes=None, num_splits=3, pack_gqa=True), plain
    )


def test_messages_are_short():
    x = normal(1, 3, 1, 8)
    with pytest.raises(NotImplementedError) as error:
        fa.flash_attn_varlen_func(x[0], x[0], x[0], None, None, attention_chunk=5)
    assert str(error.value) == "flash_attn_varlen_func: attention_chunk is not supported yet (it is 5)"


# ---- scores that change

SCORES = {
    "softcap": {"softcap": 1.5},
    "slopes": {"alibi_slopes": torch.tensor([0.5, 0.25, 0.1, 1.0])},
    "slopes of each entry": {"alibi_slopes": normal(2, 4, seed=5).abs()},
    "sinks": {"learnable_sink": normal(4, seed=6)},
    "all": {"softcap": 3.0, "alibi_slopes": torch.full((4,), 0.3), "learnable_sink": normal(4, seed=7)},
}


@pytest.mark.parametrize("name", SCORES)
def test_scores_that_change(name, lengths):
    scores = SCORES[name]
    q, k, v = normal(2, 9, 4, 16), normal(2, 23, 2, 16, seed=1), normal(2, 23, 2, 16, seed=2)
    for mask in ({"causal": True}, {"window_size": (5, 3)}, {}):
        expected, expected_lse = reference(q, k, v, **mask, **scores)
        out, lse, _ = fa.flash_attn_func(q, k, v, **mask, **scores, return_attn_probs=True)
        close(out, expected)
        close(lse, expected_lse)
        cu_q, cu_k = (torch.tensor([0, n, 2 * n], dtype=torch.int32) for n in (9, 23))
        packed = (t.flatten(0, 1) for t in (q, k, v))
        close(fa.flash_attn_varlen_func(*packed, cu_q, cu_k, 9, 23, **mask, **scores), expected.flatten(0, 1))
        cached = fa.flash_attn_with_kvcache(q, k, v, cache_seqlens=torch.tensor([23, 20]), **mask, **scores)
        close(cached[0], expected[0])
        of_second = {
            name: value[1:] if getattr(value, "ndim", 0) == 2 else value for name, value in scores.items()
        }
        close(cached[1], reference(q[1:], k[1:, :20], v[1:, :20], **mask, **of_second)[0][0])
        rows = fa.flash_attn_with_kvcache(
            q.flatten(0, 1), k, v, cache_seqlens=23, cu_seqlens_q=cu_q, **mask, **scores
        )
        close(rows, expected.flatten(0, 1))


@pytest.mark.parametrize("name", SCORES)
def test_gradients_where_scores_change(name):
    scores = SCORES[name]
    tensors = normal(2, 9, 4, 16), normal(2, 23, 2, 16, seed=1), normal(2, 23, 2, 16, seed=2)
    sinks = scores.get("learnable_sink")
    others = {name: value for name, value in scores.items() if name != "learnable_sink"}
    leaves = tensors if sinks is None else (*tensors, sinks)

    def of(function):
        def call(q, k, v, learnable_sink=None):
            return function(q, k, v, causal=True, **others, learnable_sink=learnable_sink)

        return call

    ours = gradients(of(fa.flash_attn_func), *leaves)
    expected = gradients(of(lambda *t, **o: reference(*t, **o)[0]), *(t.double() for t in leaves))
    for a, b in zip(ours, expected):
        close(a, b, 1e-4)


# ---- sequences one behind the other


def packed(lengths, heads, seed):
    return normal(sum(lengths), heads, 16, seed=seed), torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


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


# ---- a cache of keys and values


def turned(x, angles, positions, interleaved):
    """x: [S, H, D]; each pair of elements is a complex number, multiplied by exp(i angle)."""
    x = x.double()
    half = angles.shape[1]
    pairs = x[..., : 2 * half]
    pairs = (
        pairs.unflatten(-1, (half, 2)) if interleaved else pairs.unflatten(-1, (2, half)).transpose(-1, -2)
    )
    turned = torch.view_as_complex(pairs.contiguous()) * torch.polar(
        torch.ones_like(angles[positions]), angles[positions]
    ).unsqueeze(1)
    turned = torch.view_as_real(turned)
    turned = turned.flatten(-2) if interleaved else turned.transpose(-1, -2).flatten(-2)
    return torch.cat((turned, x[..., 2 * half :]), -1)


@pytest.mark.parametrize("mask", [{}, {"causal": True}, {"causal": True, "window_size": (3, 0)}])
@pytest.mark.parametrize("rotary", [None, "interleaved", "halves"])
@pytest.mark.parametrize("where", ["cache", "some entries", "pages"])
@pytest.mark.parametrize("version", [2, 3])
def test_kvcache(mask, rotary, where, version, lengths):
    held, rows = [6, 0, 11], 3
    q, k, v = normal(3, rows, 4, 16), normal(3, rows, 2, 16, seed=1), normal(3, rows, 2, 16, seed=2)
    options = {"cache_seqlens": torch.tensor(held, dtype=torch.int32), **mask}
    if where == "pages":
        caches = normal(16, 4, 2, 16, seed=3), normal(16, 4, 2, 16, seed=4)
        table = torch.tensor([[3, 0, 9, -1], [8, 1, -1, -1], [2, 7, 5, 11]], dtype=torch.int32)
        options["page_table" if version == 3 else "block_table"] = table

        def entry(cache, b):
            return cache[table[b].clamp(min=0).long()].flatten(0, 1)
    else:
        caches = normal(5, 16, 2, 16, seed=3), normal(5, 16, 2, 16, seed=4)
        index = torch.arange(3)
        if where == "some entries":
            index = options["cache_batch_idx"] = torch.tensor([4, 0, 2], dtype=torch.int32)

        def entry(cache, b):
            return cache[index[b]]

    before = [cache.clone() for cache in caches]
    angles = normal(20, 4, seed=5, dtype=torch.float64)
    if rotary:
        options |= {"rotary_cos": angles.cos().float(), "rotary_sin": angles.sin().float()}
        options["rotary_interleaved"] = rotary == "interleaved"
    function = (version3 if version == 3 else fa).flash_attn_with_kvcache
    out, lse = function(q, *caches, k, v, **options, return_softmax_lse=True)
    for b in range(3):
        one_q, one_k = q[b].double(), k[b].double()
        if rotary:
            places = torch.arange(held[b], held[b] + rows)
            one_k = turned(one_k, angles, places, rotary == "interleaved")
            one_q = turned(
                one_q, angles, places if mask else places[:1].expand(rows), rotary == "interleaved"
            )
        for cache, old, new in zip(caches, before, (one_k, v[b].double())):
            now = entry(cache, b)
            close(now[held[b] : held[b] + rows], new, 1e-6)
            assert torch.equal(now[: held[b]], entry(old, b)[: held[b]])
        keys, values = (entry(cache, b)[None, : held[b] + rows] for cache in caches)
        expected, expected_lse = reference(one_q[None], keys, values, **mask)
        close(out[b], expected[0])
        close(lse[b], expected_lse[0])
    changed = [(cache != old).any(-1).any(-1) for cache, old in zip(caches, before)]
    assert all(int(c.sum()) == 3 * rows for c in changed)  # nothing but the new keys and values


@pytest.mark.parametrize("held, lengths_given", [([6, 0, 11], True), ([6, 6, 6], False)])
def test_kvcache_is_one_call(monkeypatch, held, lengths_given):
    calls = []

    def counted(*args, **options):
        calls.append(options)
        return attention(*args, **options)

    attention = _attend.attention
    monkeypatch.setattr(_attend, "attention", counted)
    cache = normal(3, 12, 2, 16)
    fa.flash_attn_with_kvcache(normal(3, 2, 4, 16), cache, cache, cache_seqlens=torch.tensor(held))
    assert [call.get("kv_lengths") is not None for call in calls] == [lengths_given]


def test_kvcache_without_new_keys(lengths):
    q, cache = normal(2, 1, 4, 16), normal(2, 12, 2, 16, seed=1)
    values = normal(2, 12, 2, 16, seed=2)
    close(fa.flash_attn_with_kvcache(q, cache, values), reference(q, cache, values)[0])
    close(
        fa.flash_attn_with_kvcache(q, cache, values, cache_seqlens=7, causal=True),
        reference(q, cache[:, :7], values[:, :7], causal=True)[0],
    )
    left = torch.tensor([2, 5], dtype=torch.int32)
    lengths = torch.tensor([9, 9], dtype=torch.int32)
    out, lse = fa.flash_attn_with_kvcache(
        q, cache, values, cache_seqlens=lengths, cache_leftpad=left, return_softmax_lse=True
    )
    for b in range(2):
        expected, expected_lse = reference(
            q[b : b + 1], cache[b : b + 1, left[b] : 9], values[b : b + 1, left[b] : 9]
        )
        close(out[b], expected[0])
        close(lse[b], expected_lse[0])
    empty = fa.flash_attn_with_kvcache(q, cache, values, cache_seqlens=torch.tensor([0, 12]))
    assert (empty[0] == 0).all()


def test_kvcache_refuses_what_makes_no_sense():
    q, cache = normal(2, 3, 4, 16), normal(2, 12, 4, 16)
    kv = normal(2, 3, 4, 16, seed=1)
    call = fa.flash_attn_with_kvcache
    with pytest.raises(ValueError, match="room for 12 keys; an entry would have 14"):
        call(q, cache, cache, kv, kv, cache_seqlens=11)
    with pytest.raises(ValueError, match="without cache_seqlens"):
        call(q, cache, cache, kv, kv)
    with pytest.raises(ValueError, match="together or not at all"):
        call(q, cache, cache, kv, cache_seqlens=1)
    with pytest.raises(ValueError, match="without k and v"):
        call(q, cache, cache, rotary_cos=normal(12, 4), rotary_sin=normal(12, 4))
    with pytest.raises(NotImplementedError, match="float8_e4m3fn is not supported yet"):
        eight = cache.to(torch.float8_e4m3fn)
        call(q.to(torch.float8_e4m3fn), eight, eight)


@pytest.mark.parametrize("where", ["cache", "some entries", "pages"])
def test_kvcache_with_packed_queries(where):
    """Each entry has rows and new keys of its own number; the same as one call for each."""
    rows, news, held = [2, 0, 3], [1, 2, 0], torch.tensor([4, 6, 9], dtype=torch.int32)
    (q, cu_q), (k, cu_k) = packed(rows, 4, 0), packed(news, 2, 1)
    v = normal(*k.shape, seed=2)
    angles = normal(20, 4, seed=5)
    shape = (9, 4, 2, 16) if where == "pages" else (5, 12, 2, 16)
    caches = normal(*shape, seed=3), normal(*shape, seed=4)
    expected = [cache.clone() for cache in caches]
    options = {
        "rotary_cos": angles.cos(),
        "rotary_sin": angles.sin(),
        "causal": True,
        "return_softmax_lse": True,
    }
    chosen = {}
    if where != "cache":
        chosen["cache_batch_idx"] = torch.tensor([2, 0, 1], dtype=torch.int32)
    if where == "pages":
        chosen["page_table"] = torch.tensor([[8, 1, 4], [0, 2, 3], [7, 6, 5]], dtype=torch.int32)
    out, lse = version3.flash_attn_with_kvcache(
        q, *caches, k, v, cache_seqlens=held, cu_seqlens_q=cu_q, cu_seqlens_k_new=cu_k, **chosen, **options
    )
    assert out.shape == q.shape and lse.shape == (4, 5)
    for b in range(3):
        of_q, of_k = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
        index = chosen.get("cache_batch_idx", torch.arange(3))[b : b + 1]
        own = {"cache_batch_idx": index.int(), "cache_seqlens": held[b : b + 1], **options}
        if where == "pages":
            own["page_table"] = chosen["page_table"]
        one, one_lse = version3.flash_attn_with_kvcache(
            q[None, of_q], *expected, k[None, of_k], v[None, of_k], **own
        )
        close(out[of_q], one[0])
        close(lse[:, of_q], one_lse[0])
    assert all(map(torch.equal, caches, expected))


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


# ---- names and orders of arguments

VERSION_2 = {
    "flash_attn_func": "q k v dropout_p softmax_scale causal window_size softcap alibi_slopes deterministic "
    "return_attn_probs",
    "flash_attn_varlen_func": "q k v cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k dropout_p softmax_scale causal "
    "window_size softcap alibi_slopes deterministic return_attn_probs block_table",
    "flash_attn_with_kvcache": "q k_cache v_cache k v rotary_cos rotary_sin cache_seqlens cache_batch_idx cache_leftpad "
    "block_table softmax_scale causal window_size softcap rotary_interleaved alibi_slopes num_splits return_softmax_lse",
}
VERSION_3 = {
    "flash_attn_func": "q k v softmax_scale causal qv q_descale k_descale v_descale window_size attention_chunk softcap "
    "num_splits pack_gqa deterministic sm_margin return_attn_probs",
    "flash_attn_qkvpacked_func": "qkv softmax_scale causal q_descale k_descale v_descale window_size attention_chunk "
    "softcap deterministic num_heads_q sm_margin return_attn_probs",
    "flash_attn_varlen_func": "q k v cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k seqused_q seqused_k softmax_scale "
    "causal qv q_descale k_descale v_descale window_size attention_chunk softcap num_splits pack_gqa deterministic "
    "sm_margin return_attn_probs",
    "flash_attn_with_kvcache": "q k_cache v_cache k v qv rotary_cos rotary_sin cache_seqlens cache_batch_idx cache_leftpad "
    "page_table cu_seqlens_q cu_seqlens_k_new max_seqlen_q rotary_seqlens q_descale k_descale v_descale softmax_scale "
    "causal window_size attention_chunk softcap rotary_interleaved scheduler_metadata num_splits pack_gqa sm_margin "
    "return_softmax_lse",
}


@pytest.mark.parametrize("module, signatures", [(fa, VERSION_2), (version3, VERSION_3)])
def test_arguments_are_in_their_order(module, signatures):
    for name, expected in signatures.items():
        parameters = inspect.signature(getattr(module, name)).parameters.values()
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert positional == expected.split(), name


# ---- bert_padding


def test_unpad_and_pad():
    x = normal(3, 5, 2, 4).requires_grad_()
    mask = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]])
    rows, indices, cu_seqlens, longest, used = bert_padding.unpad_input(x, mask)
    assert torch.equal(rows, x[mask.bool()])
    assert cu_seqlens.tolist() == [0, 3, 4, 9] and cu_seqlens.dtype == torch.int32
    assert (
        longest == 5 and used.tolist() == [3, 1, 5] and indices.tolist() == [0, 1, 2, 9, 10, 11, 12, 13, 14]
    )
    back = bert_padding.pad_input(rows, indices, 3, 5)
    assert torch.equal(back, x * mask[..., None, None])
    (grad,) = torch.autograd.grad(back, x, torch.ones_like(back))
    assert torch.equal(grad, mask[..., None, None].expand_as(x).float())
    unused = torch.tensor([[0, 0, 0, 1, 0], [0] * 5, [0] * 5])
    rows, _, cu_seqlens, longest, used = bert_padding.unpad_input(x, mask, unused)
    assert cu_seqlens.tolist() == [0, 4, 5, 10] and longest == 5 and used.tolist() == [3, 1, 5]


@pytest.mark.parametrize(
    ("dtype", "head_dim", "scores", "trains", "deterministic", "one_call"),
    [
        (torch.bfloat16, 128, {}, False, False, True),
        (torch.bfloat16, 128, {}, True, False, True),
        (torch.bfloat16, 128, {}, False, True, True),
        (torch.bfloat16, 128, {}, True, True, False),
        (torch.bfloat16, 128, {"softcap": 30.0}, True, False, True),
        (torch.bfloat16, 128, {"softcap": 30.0}, True, True, False),
        (torch.bfloat16, 128, {"dropout_p": 0.1}, True, True, True),
        (torch.float32, 20, {"dropout_p": 0.1}, True, False, True),
        (torch.float32, 128, {}, False, False, False),
        (torch.float16, 20, {}, False, False, False),
    ],
)
def test_where_packed_sequences_on_a_gpu_are_one_call(
    monkeypatch, dtype, head_dim, scores, trains, deterministic, one_call
):
    monkeypatch.setattr(_support, "_HAS_CUDA", True)
    q = SimpleNamespace(
        device=torch.device("cuda", 0), dtype=dtype, shape=(9, 2, head_dim), requires_grad=trains
    )
    assert _support.takes_packed(q, q, q, scores, deterministic) is one_call


@pytest.mark.parametrize(
    ("rows", "keys", "dtype", "scores", "trains", "deterministic", "one_call"),
    [
        (500, 500, torch.bfloat16, {}, False, False, True),
        (500, 500, torch.bfloat16, {"softcap": 30.0}, True, False, True),
        (500, 500, torch.bfloat16, {}, True, True, False),
        (500, 500, torch.bfloat16, {"attn_mask": None}, False, False, False),
        (500, 500, torch.float32, {}, False, False, False),
        (20, 20, torch.float16, {}, False, False, True),
        (128, 4000, torch.float16, {}, False, False, True),
        (127, 4000, torch.float16, {}, False, False, False),  # decoding: its keys are shared out, but not with lengths
        (1, 4000, torch.float16, {}, False, False, False),
    ],
)
def test_where_padded_sequences_on_a_gpu_are_one_call(
    monkeypatch, rows, keys, dtype, scores, trains, deterministic, one_call
):
    monkeypatch.setattr(_support, "_HAS_CUDA", True)
    q, k = (
        SimpleNamespace(
            device=torch.device("cuda", 0), dtype=dtype, shape=(3, 2, length, 64), requires_grad=trains
        )
        for length in (rows, keys)
    )
    assert _support.takes_padded(q, k, k, scores, deterministic) is one_call


def test_unpad_sequences_that_share_a_row():
    x = normal(2, 6, 4)
    lengths = torch.tensor([[2, 3, 0, 0, 0, 0], [6, 0, 0, 0, 0, 0]])
    rows, indices, cu_seqlens, longest = bert_padding.unpad_input_for_concatenated_sequences(x, lengths)
    assert cu_seqlens.tolist() == [0, 2, 5, 11] and longest == 6
    assert indices.tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert torch.equal(rows, torch.cat((x[0, :5], x[1])))


def test_rows_by_index():
    x = normal(5, 3).requires_grad_()
    some, same = bert_padding.index_first_axis_residual(x, torch.tensor([3, 1]))
    (grad,) = torch.autograd.grad((some, same), x, (torch.ones(2, 3), torch.ones(5, 3)))
    assert torch.equal(some, x[[3, 1]]) and grad[:, 0].tolist() == [1, 2, 1, 2, 1]
    put = bert_padding.index_put_first_axis(some, torch.tensor([4, 0]), 6)
    assert torch.equal(put[[4, 0]], some) and (put[[1, 2, 3, 5]] == 0).all()
