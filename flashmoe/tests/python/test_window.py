# SPDX-License-Identifier: MIT
"""attention(window=(left, right)): sliding windows, forward and backward, by every way into the library."""

import numpy as np
import oracle
import pytest

import flashmoe_science as fm

WINDOWS = [(0, 0), (5, 2), (7, 0), (None, 3), (4, -1), (100, 100)]


def seen(q_rows, kv_rows, causal, window):
    """[Sq, Skv] of bool, from the definition."""
    left, right = (10**9 if side in (None, -1) else side for side in window)
    position = np.arange(q_rows)[:, None] + (0 if causal == "top_left" else kv_rows - q_rows)
    keys = np.arange(kv_rows)[None, :]
    return oracle.visible(q_rows, kv_rows, causal) & (position - left <= keys) & (keys <= position + right)


def plain(q, k, v, mask):
    """In float64; rows that see nothing give 0."""
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(t, group, 1) for t in (k, v))
    scores = np.where(mask, q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[3]), -np.inf)
    weights = np.exp(scores - np.where(mask.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0))
    total = weights.sum(-1, keepdims=True)
    return np.divide(weights @ v, total, out=np.zeros_like(q), where=total > 0)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize("rows", [(30, 30), (1, 40), (12, 50), (50, 12)])
def test_a_row_sees_what_the_definition_says(window, causal, rows):
    q, k, v = normal(2, 4, rows[0], 16), normal(2, 2, rows[1], 16, seed=1), normal(2, 2, rows[1], 16, seed=2)
    out = fm.attention(*(t.astype(np.float32) for t in (q, k, v)), causal, window=window)
    np.testing.assert_allclose(out, plain(q, k, v, seen(*rows, causal, window)), atol=2e-6)


def test_a_window_that_hides_nothing_more_is_no_window():
    q, k, v = (normal(1, 2, 33, 16, seed=i).astype(np.float32) for i in range(3))
    causal = fm.attention(q, k, v, True)
    for options in ({"window": (-1, 0)}, {"window": (33, 0)}, {"causal": True, "window": (None, None)}):
        assert np.array_equal(fm.attention(q, k, v, **options), causal)


def test_what_a_window_may_be():
    q = np.zeros((1, 1, 4, 8), np.float32)
    for window in (3, "ab", (1,), (1, 2, 3), (1.5, 0), (2**70, 0)):
        with pytest.raises(TypeError, match=r"window is .*accepted are None and \(left, right\)"):
            fm.attention(q, q, q, window=window)
    with pytest.raises(ValueError, match="both sides must be 0 or more"):
        fm.attention(q, q, q, window=(-2, 0))


def test_explain_names_it():
    q = np.zeros((1, 1, 40, 8), np.float32)
    for backward in (False, True):
        said = fm.explain(q, q, q, window=(7, 2), backward=backward)
        assert "a row sees 7 keys before its position and 2 behind it" in said
    assert "window" not in fm.explain(q, q, q, window=(40, 0))


torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("operators with gradients need PyTorch 2.4 or newer", allow_module_level=True)


def qkv(rows=(40, 60), heads=(4, 2), dtype=torch.float32):
    shapes = [(2, heads[0], rows[0], 16)] + [(2, heads[1], rows[1], 16)] * 2
    return [torch.from_numpy(normal(*s, seed=i)).to(dtype).requires_grad_() for i, s in enumerate(shapes)]


def gradients(function, tensors):
    out = function(*tensors)
    return torch.autograd.grad(out, tensors, torch.from_numpy(normal(*out.shape, seed=9)).to(out.dtype))


@pytest.mark.parametrize("window", [(5, 2), (12, 0), (None, 3)])
@pytest.mark.parametrize("causal", [False, "top_left"])
def test_gradients_are_those_of_the_masked_product(window, causal):
    tensors = qkv()
    mask = torch.from_numpy(seen(40, 60, causal, window))
    exact = [t.detach().double().requires_grad_() for t in tensors]
    expected = gradients(
        lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
            q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), attn_mask=mask
        ),
        exact,
    )
    ours = gradients(lambda q, k, v: fm.attention(q, k, v, causal, window=window), tensors)
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["attention", "attention_with_lse"])
def test_operators_take_it(name):
    import flashmoe_science.torch  # noqa: F401

    operator = getattr(torch.ops.flashmoe_science, name).default
    torch.library.opcheck(operator, tuple(qkv()), {"window": [5, 2]})


def test_it_is_the_same_compiled_under_autocast_and_torch_func():
    q, k, v = qkv()

    def call(q, k, v):
        return fm.attention(q, k, v, window=(7, None))

    plain = gradients(call, (q, k, v))
    if hasattr(torch.compiler, "substitute_in_graph"):
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        assert all(torch.equal(a, b) for a, b in zip(gradients(compiled, (q, k, v)), plain))
    batched = torch.func.vmap(lambda q, k, v: call(q[None], k[None], v[None])[0])(q, k, v)
    torch.testing.assert_close(batched, call(q, k, v))
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        lowered = call(q, k, v)
    assert lowered.dtype == torch.bfloat16
    torch.testing.assert_close(lowered.float(), call(q, k, v), rtol=0.05, atol=0.05)
