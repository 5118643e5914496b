# SPDX-License-Identifier: MIT
"""Values: attention() against the float64 oracle, for every library, dtype and mask."""

import numpy as np
import oracle
import pytest

import flashmoe_science as fm

DTYPES = ["float32", "float16", "bfloat16"]
MASKS = [False, True, "bottom_right", "top_left"]


def attend_and_check(q, k, v, **options):
    out, lse = fm.attention(q, k, v, return_lse=True, **options)
    assert type(out) is type(q) and type(lse) is type(q)
    oracle.check(out, lse, q, k, v, options.get("causal", False), options.get("scale"))
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", MASKS)
@pytest.mark.parametrize("rows", [(1, 1), (3, 3), (17, 31), (33, 17), (1, 577), (127, 129)])
def test_agrees_with_the_oracle(make, dtype, causal, rows):
    q_rows, kv_rows = rows
    q = make(dtype, 2, 2, q_rows, 64)
    k, v = make(dtype, 2, 2, kv_rows, 64), make(dtype, 2, 2, kv_rows, 64)
    attend_and_check(q, k, v, causal=causal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [1, 2, 7, 33, 80, 128, 129, 256])
def test_every_head_dim_works(make, dtype, dim):
    q, k, v = (make(dtype, 1, 2, 19, dim) for _ in range(3))
    attend_and_check(q, k, v, causal=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("heads", [(8, 8), (8, 2), (6, 3), (5, 1)])
def test_query_heads_share_kv_heads(make, dtype, heads):
    q_heads, kv_heads = heads
    q = make(dtype, 2, q_heads, 13, 32)
    k, v = make(dtype, 2, kv_heads, 29, 32), make(dtype, 2, kv_heads, 29, 32)
    attend_and_check(q, k, v, causal=True)


@pytest.mark.parametrize("scale", [0.0, 1.0, -0.5, 1e-3, np.float32(0.25), 2])
def test_scale_is_taken_as_given(make, scale):
    q, k, v = (make("float32", 1, 1, 21, 16) for _ in range(3))
    attend_and_check(q, k, v, scale=scale)


@pytest.mark.parametrize("dtype", DTYPES)
def test_huge_logits_stay_exact(make, dtype):
    q, k = (make(dtype, 1, 2, 33, 64, spread=100) for _ in range(2))  # logits of +-1e4 and beyond
    attend_and_check(q, k, make(dtype, 1, 2, 33, 64), causal=True)


def test_rows_that_see_no_key_give_zero_and_minus_infinity(make):
    q, k, v = make("float32", 1, 2, 9, 16), make("float32", 1, 2, 4, 16), make("float32", 1, 2, 4, 16)
    out, lse = fm.attention(q, k, v, causal=True, return_lse=True)
    assert (out[:, :, :5] == 0).all()
    assert (lse[:, :, :5] == -float("inf")).all()
    oracle.check(out, lse, q, k, v, causal=True)


def test_without_lse_only_the_output_comes_back(make):
    q, k, v = (make("float32", 1, 2, 5, 16) for _ in range(3))
    out = fm.attention(q, k, v)
    assert type(out) is type(q)
    oracle.check(out, None, q, k, v)


def test_arguments_may_be_positional_or_named(make):
    q, k, v = (make("float32", 1, 2, 5, 16) for _ in range(3))
    out = make("float32", 1, 2, 5, 16)
    a = fm.attention(q, k, v, True, 0.3, False, out)
    assert a is out
    b, _ = fm.attention(out=None, return_lse=True, scale=0.3, causal=True, v=v, k=k, q=q)
    assert (a == b).all()


def test_out_is_written_and_returned(make):
    q, k, v = (make("float16", 2, 2, 7, 16) for _ in range(3))
    out = make("float16", 2, 2, 7, 16)
    result, lse = fm.attention(q, k, v, out=out, return_lse=True)
    assert result is out
    oracle.check(out, lse, q, k, v)


def test_repeated_calls_give_the_same_bits(make):
    q, k, v = (make("float32", 2, 3, 130, 64) for _ in range(3))
    first = fm.attention(q, k, v, causal=True)
    for _ in range(5):
        assert (fm.attention(q, k, v, causal=True) == first).all()


@pytest.mark.parametrize("threads", [1, 2, 3, 64])
def test_threads_may_be_limited(make, threads):
    q, k, v = (make("float32", 1, 4, 70, 32) for _ in range(3))
    attend_and_check(q, k, v, threads=threads)


def test_inputs_are_left_alone(make):
    q, k, v = (make("float32", 1, 2, 40, 16) for _ in range(3))
    before = [oracle.to_float64(t) for t in (q, k, v)]
    fm.attention(q, k, v)
    for tensor, copy in zip((q, k, v), before):
        assert (oracle.to_float64(tensor) == copy).all()


@pytest.mark.parametrize("seed", range(40))
def test_random_shapes_agree(make, seed):
    draw = np.random.default_rng(seed)
    dtype = DTYPES[seed % (3 if make.name == "torch" else 2)]
    kv_heads, group = int(draw.integers(1, 4)), int(draw.integers(1, 4))
    q_rows, kv_rows, dim = (int(draw.integers(1, n)) for n in (140, 140, 100))
    batch, causal = int(draw.integers(1, 3)), MASKS[int(draw.integers(4))]
    q = make(dtype, batch, kv_heads * group, q_rows, dim)
    k, v = make(dtype, batch, kv_heads, kv_rows, dim), make(dtype, batch, kv_heads, kv_rows, dim)
    attend_and_check(q, k, v, causal=causal)


def test_explain_says_what_would_run(make):
    q, k, v = (make("float32", 1, 2, 5, 16) for _ in range(3))
    assert "cpu" in fm.explain(q, k, v, causal=True)
