# SPDX-License-Identifier: MIT
"""_C.flash_attention_forward, the name that existing scripts call: both forms, by position and by name."""

import numpy as np
import oracle
import pytest

from flashmoe_science import _C


@pytest.fixture
def qkv(make):
    return [make("float16", 1, 2, 21, 64) for _ in range(3)]


def same(a, b):
    return (a == b).all()


def test_short_form(qkv):
    out = _C.flash_attention_forward(*qkv, True, 0.2)
    oracle.check(out, None, *qkv, causal=True, scale=0.2)
    assert same(out, _C.flash_attention_forward(*qkv, causal=True, softmax_scale=0.2))
    assert same(out, _C.flash_attention_forward(*qkv, True, softmax_scale=0.2))
    assert same(out, _C.flash_attention_forward(*qkv, np.True_, np.float64(0.2)))


def test_form_with_lse_in_place(make, qkv):
    lse = make("float32", 1, 2, 21)
    out = _C.flash_attention_forward(*qkv, lse, True, 0.2)
    oracle.check(out, lse, *qkv, causal=True, scale=0.2)
    again = make("float32", 1, 2, 21)
    q, k, v = qkv
    assert same(out, _C.flash_attention_forward(Q=q, K=k, V=v, lse=again, causal=True, softmax_scale=0.2))
    assert same(lse, again)


def test_defaults(make, qkv):
    lse = make("float32", 1, 2, 21)
    oracle.check(_C.flash_attention_forward(*qkv), None, *qkv)
    oracle.check(_C.flash_attention_forward(*qkv, False), None, *qkv)
    oracle.check(_C.flash_attention_forward(*qkv, lse), lse, *qkv)
    oracle.check(_C.flash_attention_forward(*qkv, None, False, None), None, *qkv)
    oracle.check(_C.flash_attention_forward(*qkv, False, None), None, *qkv)


def test_bad_lse(make, qkv):
    def refused(error, message, lse):
        with pytest.raises(error, match=message):
            _C.flash_attention_forward(*qkv, lse, False, None)

    refused(ValueError, "lse has 4 dimensions; it must have 3", make("float32", 1, 2, 21, 1))
    refused(ValueError, r"lse has shape \[1, 2, 20\]; it must be \[1, 2, 21\]", make("float32", 1, 2, 20))
    refused(TypeError, "lse must be float32", make("float16", 1, 2, 21))
    refused(
        ValueError,
        "lse has stride 2 in dimension 2; it must be contiguous",
        make("float32", 1, 2, 42)[..., ::2],
    )
    refused(TypeError, "lse is a str", "lse")


def test_lse_must_be_writable():
    q = np.zeros((1, 2, 5, 16), "f4")
    lse = np.full((1, 2, 5), 7, "f4")
    lse.flags.writeable = False
    with pytest.raises(ValueError, match="lse is read-only"):
        _C.flash_attention_forward(q, q, q, lse, False, 1.0)
    assert (lse == 7).all()


def test_causal_may_not_be_given_twice(qkv):
    with pytest.raises(TypeError, match="multiple values for argument 'causal'"):
        _C.flash_attention_forward(*qkv, True, causal=False)


def test_lse_may_not_share_memory_with_the_inputs():
    memory = np.ones(2 * 5 * 16, "f4")
    q = memory.reshape(1, 2, 5, 16)
    with pytest.raises(ValueError, match="lse .*overlap|overlap.* lse"):
        _C.flash_attention_forward(q, q.copy(), q.copy(), memory[:10].reshape(1, 2, 5), False, 1.0)
    assert (memory == 1).all()


def test_gradients_unless_lse_is_written_in_place(torch):
    q, k, v = (torch.randn(1, 2, 5, 16, requires_grad=True) for _ in range(3))
    assert _C.flash_attention_forward(q, k, v, True).requires_grad
    lse = torch.zeros(1, 2, 5)
    with pytest.raises(NotImplementedError, match="lse is written in place"):
        _C.flash_attention_forward(q, k, v, lse)
    assert (lse == 0).all()
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        _C.flash_attention_forward(q, k, v, lse)
    assert (lse != 0).all()
