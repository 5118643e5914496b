# SPDX-License-Identifier: MIT
"""flashmoe_science.flash_attn: flash_attn's functions, arguments and results."""

import inspect

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
from flash_attn_cases import MASKS, close, gradients, normal, reference

from flashmoe_science import flash_attn as fa
from flashmoe_science.flash_attn import version3


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


@pytest.mark.parametrize("of_v", [8, 24, 300])
def test_values_of_another_head_dim(of_v, lengths):
    """As version 3 has them: zeros make up the difference, and are not seen; more columns than kernels have go in parts."""
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


def test_wide_values_share_one_draw_of_dropout():
    q, k, half = normal(1, 9, 2, 16), normal(1, 9, 2, 16, seed=1), normal(1, 9, 2, 256, seed=2)
    torch.manual_seed(0)
    out = fa.flash_attn_func(q, k, torch.cat((half, half), -1), dropout_p=0.5)
    assert torch.equal(out[..., :256], out[..., 256:])
    with pytest.raises(NotImplementedError, match=r"head_dim is not supported yet \(it is 512; accepted are 1 to 256\)"):
        fa.flash_attn_func(*(torch.cat((half, half), -1) for _ in range(3)))


UNSUPPORTED = {
    "dropout_p": 0.1,
    "qv": torch.ones(2, 9, 4, 16),
    "q_descale": torch.ones(2),
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
        fa.flash_attn_with_kvcache(x, x, x, dropout_p=0.5)
    assert str(error.value) == "flash_attn_with_kvcache: dropout_p is not supported yet (it is 0.5)"


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
