# SPDX-License-Identifier: MIT
"""flashmoe_science.flash_attn: a cache of keys and values."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
from flash_attn_cases import close, normal, packed, reference

from flashmoe_science import flash_attn as fa
from flashmoe_science.flash_attn import _attend, version3


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


@pytest.mark.parametrize("bad", [-1, 16])
def test_kvcache_refuses_pages_that_there_are_not(bad):
    q, pages = normal(2, 1, 4, 16), normal(16, 4, 2, 16, seed=1)
    held = torch.tensor([3, 6], dtype=torch.int32)

    def call(table, **options):
        table = torch.tensor(table, dtype=torch.int32)
        return fa.flash_attn_with_kvcache(q, pages, pages, cache_seqlens=held, block_table=table, **options)

    expected = call([[3, 0, 0], [8, 1, 0]])
    assert torch.equal(call([[3, bad, bad], [8, 1, bad]]), expected)  # no key lies there
    with pytest.raises(ValueError, match=rf"page_table\[1, 1\] is {bad}, where entry 1 has keys; .* pages 0 to 15"):
        call([[3, 0, 0], [8, bad, 0]])
    new = normal(2, 3, 2, 16, seed=2)
    before = pages.clone()
    with pytest.raises(ValueError, match=rf"page_table\[1, 2\] is {bad}"):
        call([[3, 0, 0], [8, 1, bad]], k=new, v=new)
    assert torch.equal(pages, before)
    left = torch.tensor([0, 4], dtype=torch.int32)
    assert torch.equal(call([[3, 0, 0], [bad, 1, 0]], cache_leftpad=left), call([[3, 0, 0], [5, 1, 0]], cache_leftpad=left))


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


@pytest.mark.parametrize("flat", [False, True])
def test_chunks_count_from_a_sequences_first_key(flat, lengths):
    """Behind its padding, as version 3 has it."""
    q, k_cache, v_cache = normal(2, 3, 4, 16), normal(2, 12, 2, 16, seed=1), normal(2, 12, 2, 16, seed=2)
    options = {"causal": True, "attention_chunk": 4}
    begins, ends = torch.tensor([0, 3], dtype=torch.int32), torch.tensor([12, 9], dtype=torch.int32)
    given = {"cu_seqlens_q": torch.tensor([0, 3, 6], dtype=torch.int32), "max_seqlen_q": 3} if flat else {}
    out = version3.flash_attn_with_kvcache(
        q.flatten(0, 1) if flat else q,
        k_cache,
        v_cache,
        cache_seqlens=ends,
        cache_leftpad=begins,
        **options,
        **given,
    )
    for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist())):
        keys = slice(begin, end)
        expected = version3.flash_attn_func(q[i : i + 1], k_cache[i : i + 1, keys], v_cache[i : i + 1, keys], **options)
        close((out.unflatten(0, (2, 3)) if flat else out)[i], expected[0])
