# SPDX-License-Identifier: MIT
"""attn_mask of attention(): bool or added, broadcast in any dimension, and its gradient; by arrays and by PyTorch."""

import numpy as np
import pytest

import flashmoe_science as fm

BATCH, HEADS, GROUP, ROWS, KEYS, DIM = 2, 4, 2, 9, 14, 16
PAIRS = (BATCH, HEADS, ROWS, KEYS)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def inputs():
    kv = (BATCH, HEADS // GROUP, KEYS, DIM)
    return normal(BATCH, HEADS, ROWS, DIM), normal(*kv, seed=1), normal(*kv, seed=2)


# Every dimension shared alone and with others, and masks of fewer dimensions.
SHAPES = [tuple(1 if shared >> i & 1 else PAIRS[i] for i in range(4)) for shared in range(16)]
SHAPES += [PAIRS[1:], (1, ROWS, KEYS), PAIRS[2:], (ROWS, 1), (1, KEYS), (KEYS,), (1,)]


def mask_of(shape, kind=np.float32, seed=3):
    """About a third is hidden."""
    hidden = np.random.default_rng(seed).random(shape) < 0.3
    if kind is bool:
        return ~hidden
    return np.where(hidden, -np.inf, normal(*shape, seed=seed)).astype(kind)


def as_added(mask):
    return np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask.astype(np.float64)


def reference(q, k, v, mask, dout=None, seen=True):
    """(out, lse), or with dout (dq, dk, dv, dmask), in float64, from the definition. `seen`: by another mask."""
    q = q.astype(np.float64)
    k, v = (np.repeat(t.astype(np.float64), GROUP, 1) for t in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(DIM) + as_added(mask)
    scores = np.where(seen, scores, -np.inf)
    with np.errstate(all="ignore"):
        lse = np.log(np.exp(scores).sum(-1))
        weights = np.where(np.isfinite(lse)[..., None], np.exp(scores - lse[..., None]), 0)
    out = weights @ v
    if dout is None:
        return out, lse
    dout = dout.astype(np.float64)
    ds = weights * (dout @ v.transpose(0, 1, 3, 2) - (dout * out).sum(-1, keepdims=True))

    def of_heads(t):
        return t.reshape(BATCH, HEADS // GROUP, GROUP, KEYS, DIM).sum(2)

    dk = of_heads(ds.transpose(0, 1, 3, 2) @ q) / np.sqrt(DIM)
    return ds @ k / np.sqrt(DIM), dk, of_heads(weights.transpose(0, 1, 3, 2) @ dout), summed(ds, mask.shape)


def summed(ds, shape):
    """Over what is broadcast."""
    missing = ds.ndim - len(shape)
    shared = (*range(missing), *(missing + i for i, size in enumerate(shape) if size == 1))
    return ds.sum(shared, keepdims=True).reshape(shape)


def close(ours, expected):
    np.testing.assert_allclose(ours, expected, atol=5e-6, rtol=5e-5)


@pytest.mark.parametrize("kind", [bool, np.float32, np.float16])
@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_are_broadcast(shape, kind):
    mask = mask_of(shape, kind)
    out, lse = fm.attention(*inputs(), attn_mask=mask, return_lse=True)
    expected, expected_lse = reference(*inputs(), mask)
    close(out, expected)
    close(lse, expected_lse)


def test_strides_are_free():
    whole = mask_of((BATCH, ROWS * 2, HEADS, KEYS * 3), bool)
    view = whole[:, ::2, :, 1::3].transpose(0, 2, 1, 3)
    close(fm.attention(*inputs(), attn_mask=view), reference(*inputs(), view)[0])
    expanded = np.broadcast_to(mask_of((ROWS, 1)), PAIRS)
    close(fm.attention(*inputs(), attn_mask=expanded), reference(*inputs(), expanded)[0])


def test_it_goes_with_other_masks():
    mask = mask_of((1, HEADS, 1, KEYS))
    distance = np.arange(ROWS)[:, None] + KEYS - ROWS - np.arange(KEYS)
    out = fm.attention(*inputs(), causal=True, window=(6, 0), attn_mask=mask)
    close(out, reference(*inputs(), mask, seen=(distance >= 0) & (distance <= 6))[0])
    padding = np.array([3, 0], np.int32)
    out = fm.attention(*inputs(), attn_mask=mask, left_padding=padding)
    close(out, reference(*inputs(), mask, seen=np.arange(KEYS) >= padding[:, None, None, None])[0])


def test_a_row_that_sees_nothing_is_zero_and_so_are_its_gradients():
    q, k, v = inputs()
    mask = np.zeros((ROWS, KEYS), np.float32)
    mask[4] = -np.inf
    out, lse = fm.attention(q, k, v, attn_mask=mask, return_lse=True)
    assert (out[:, :, 4] == 0).all() and (lse[:, :, 4] == -np.inf).all()
    dmask = np.full_like(mask, np.nan)
    dq, dk, dv = fm.attention_backward(q, k, v, out, lse, normal(*q.shape), attn_mask=mask, dattn_mask=dmask)
    assert (dq[:, :, 4] == 0).all() and (dmask[4] == 0).all()
    assert all(np.isfinite(t).all() for t in (dq, dk, dv, dmask))


def test_the_lowest_number_hides_as_the_definition_has_it():
    q, k, v = inputs()
    mask = np.full((ROWS, KEYS), np.finfo(np.float32).min)
    expected = np.repeat(v.mean(2, keepdims=True), GROUP, 1)
    close(fm.attention(q, k, v, attn_mask=mask), np.broadcast_to(expected, q.shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_is_summed_over_what_is_broadcast(shape):
    q, k, v = inputs()
    mask, dout = mask_of(shape), normal(*q.shape, seed=7)
    out, lse = fm.attention(q, k, v, attn_mask=mask, return_lse=True)
    dmask = np.full(shape, np.nan, np.float32)
    ours = fm.attention_backward(q, k, v, out, lse, dout, attn_mask=mask, dattn_mask=dmask)
    for actual, expected in zip((*ours, dmask), reference(q, k, v, mask, dout)):
        close(actual, expected)
    again = np.empty_like(dmask)
    fm.attention_backward(q, k, v, out, lse, dout, attn_mask=mask, dattn_mask=again, threads=1)
    close(again, dmask)


@pytest.mark.parametrize(
    ("mask", "error", "says"),
    [
        (np.zeros((3, KEYS), bool), ValueError, r"attn_mask has size 3 in dimension 0; it must be 1 or 9"),
        (np.zeros((1, 1, 1, 1, KEYS), bool), ValueError, "attn_mask has 5 dimensions"),
        (np.zeros((ROWS, KEYS)), TypeError, "attn_mask is float64; accepted are bool, float32"),
        (np.zeros((ROWS, KEYS), np.int32), TypeError, "attn_mask is int32; accepted are bool, float32"),
        (np.zeros((ROWS, KEYS), bool)[::-1], ValueError, "attn_mask has a stride of -14"),
        ("causal", TypeError, "attn_mask is a str"),
    ],
)
def test_what_can_not_be_right_is_refused(mask, error, says):
    with pytest.raises(error, match=says):
        fm.attention(*inputs(), attn_mask=mask)


def test_gradients_that_there_are_not_are_refused():
    q, k, v = inputs()
    out, lse = fm.attention(q, k, v, return_lse=True)
    results = (q, k, v, out, lse, out)
    mask, gradient = np.zeros((ROWS, KEYS), np.float32), np.zeros((ROWS, KEYS), np.float32)
    with pytest.raises(ValueError, match="dattn_mask is given and scores.attn_mask is null"):
        fm.attention_backward(*results, dattn_mask=gradient)
    with pytest.raises(ValueError, match="scores.attn_mask is boolean, which has no gradient"):
        fm.attention_backward(*results, attn_mask=mask == 0, dattn_mask=gradient)
    with pytest.raises(TypeError, match="dattn_mask must be float32"):
        fm.attention_backward(*results, attn_mask=mask, dattn_mask=gradient.astype(np.float16))
    with pytest.raises(ValueError, match="dattn_mask has a stride of 9 in dimension 3"):
        fm.attention_backward(*results, attn_mask=mask, dattn_mask=np.zeros((KEYS, ROWS), np.float32).T)
    with pytest.raises(ValueError, match="dattn_mask overlaps attn_mask"):
        fm.attention_backward(*results, attn_mask=mask, dattn_mask=mask)


def test_explain_names_it():
    mask = np.zeros((ROWS, KEYS), bool)
    assert "what a tensor adds" in fm.explain(*inputs(), attn_mask=mask)
    assert "what a tensor adds" in fm.explain(*inputs(), attn_mask=mask, backward=True)


# ---- PyTorch


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
    if not hasattr(torch.library, "register_autograd"):
        pytest.skip("gradients need PyTorch 2.4 or newer")
    return torch


@pytest.mark.parametrize("shape", SHAPES)
def test_every_road_of_pytorch_gives_its_gradient(torch, shape):
    import flashmoe_science.torch as through_operators

    leaves = [torch.from_numpy(t).requires_grad_() for t in (*inputs(), mask_of(shape))]
    dout = torch.from_numpy(normal(BATCH, HEADS, ROWS, DIM, seed=7))
    expected = reference(*inputs(), mask_of(shape), dout.numpy())

    def loss(q, k, v, mask, attention=fm.attention):
        return (attention(q, k, v, attn_mask=mask) * dout).sum()

    recorded = torch.autograd.grad(loss(*leaves), leaves)
    for ours, other in zip(recorded, expected):
        close(ours.numpy(), other)
    operated = torch.autograd.grad(loss(*leaves, through_operators.attention), leaves)
    of_func = torch.func.grad(loss, (0, 1, 2, 3))(*(t.detach() for t in leaves))
    for ours, *others in zip(recorded, operated, of_func):
        assert all(torch.equal(ours, other) for other in others)
    (alone,) = torch.autograd.grad(loss(*(t.detach() for t in leaves[:3]), leaves[3]), leaves[3:])
    assert torch.equal(alone, recorded[3])
    of_func = torch.func.grad(lambda mask: loss(*(t.detach() for t in leaves[:3]), mask))(leaves[3].detach())
    assert torch.equal(of_func, recorded[3])


def test_a_mask_keeps_its_type_and_gives_its_gradient_in_it(torch):
    q, k, v = (torch.from_numpy(t) for t in inputs())
    mask = torch.from_numpy(mask_of((HEADS, ROWS, KEYS))).to(torch.bfloat16).requires_grad_()
    out = fm.attention(q, k, v, attn_mask=mask)
    dout = torch.ones_like(out)
    (ours,) = torch.autograd.grad(out, mask, dout)
    assert ours.dtype == torch.bfloat16
    exact = reference(*inputs(), mask.detach().float().numpy(), dout.numpy())[3]
    np.testing.assert_allclose(ours.float().numpy(), exact, atol=1e-3, rtol=1e-2)
    with torch.autocast("cpu", torch.bfloat16):
        lowered = fm.attention(q, k, v, attn_mask=mask.detach())
    assert lowered.dtype == torch.bfloat16
    torch.testing.assert_close(lowered.float(), out, atol=0.05, rtol=0.05)


def test_a_mask_without_gradient_costs_none(torch, monkeypatch):
    from flashmoe_science import _rules

    seen = []
    backward = _rules._C.attention_backward

    def record(*args, **options):
        seen.append(options["dattn_mask"])
        return backward(*args, **options)

    monkeypatch.setattr(_rules, "_C", type("C", (), {**vars(_rules._C), "attention_backward": record}))
    q, k, v = (torch.from_numpy(t).requires_grad_() for t in inputs())
    fm.attention(q, k, v, attn_mask=torch.from_numpy(mask_of((ROWS, KEYS)))).sum().backward()
    assert seen == [None]


def test_operators_are_what_pytorch_expects(torch):
    import flashmoe_science.torch  # noqa: F401 the operators

    leaves = [torch.from_numpy(t).requires_grad_() for t in (*inputs(), mask_of((1, HEADS, ROWS, KEYS)))]
    operators = torch.ops.flashmoe_science
    for operator in (operators.attention.default, operators.attention_with_lse.default):
        torch.library.opcheck(operator, (*leaves[:3], "bottom_right"), {"attn_mask": leaves[3]})
    q, k, v, mask = (t.detach() for t in leaves)
    out, lse = fm.attention(q, k, v, attn_mask=mask, return_lse=True)
    gradients = (out, None, q, k, v, out, lse)
    torch.library.opcheck(operators.attention_backward_with_mask.default, gradients, {"attn_mask": mask})
    batched = torch.func.vmap(lambda *t: fm.attention(*t, attn_mask=mask))(*(torch.stack((t, t + 1)) for t in (q, k, v)))
    assert torch.equal(batched[0], out)
    assert torch.equal(batched[1], fm.attention(q + 1, k + 1, v + 1, attn_mask=mask))


def test_second_derivatives_are_refused(torch):
    leaves = [torch.from_numpy(t).requires_grad_() for t in (*inputs(), mask_of((ROWS, KEYS)))]
    gradients = torch.autograd.grad(
        fm.attention(*leaves[:3], attn_mask=leaves[3]).sum(), leaves, create_graph=True
    )
    with pytest.raises(NotImplementedError, match="second derivatives are not implemented"):
        gradients[3].sum().backward()


def test_it_compiles(torch):
    if not hasattr(torch.compiler, "substitute_in_graph"):
        pytest.skip("PyTorch is older than 2.5")
    torch._dynamo.reset()
    leaves = [torch.from_numpy(t).requires_grad_() for t in (*inputs(), mask_of((1, HEADS, ROWS, KEYS)))]

    def block(q, k, v, mask):
        return fm.attention(q.sin(), k, v, attn_mask=2 * mask).cos().sum()

    expected = torch.autograd.grad(block(*leaves), leaves)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for ours, other in zip(torch.autograd.grad(compiled(*leaves), leaves), expected):
        torch.testing.assert_close(ours, other)
    torch._dynamo.reset()
