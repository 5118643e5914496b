# SPDX-License-Identifier: MIT
"""softcap, alibi_slopes and sinks of attention(), by arrays and by every road that PyTorch takes."""

import numpy as np
import pytest

import flashmoe_science as fm

HEADS, GROUP, ROWS, KEYS, DIM = 4, 2, 9, 14, 16


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def inputs():
    return (
        normal(2, HEADS, ROWS, DIM),
        normal(2, HEADS // GROUP, KEYS, DIM, seed=1),
        normal(2, HEADS // GROUP, KEYS, DIM, seed=2),
    )


SCORES = {
    "softcap": {"softcap": 1.5},
    "slopes": {"alibi_slopes": np.array([0.5, 0.25, 0.1, 1], np.float32)},
    "slopes of each entry": {"alibi_slopes": np.abs(normal(2, HEADS, seed=3))},
    "sinks": {"sinks": normal(HEADS, seed=4)},
    "all": {"softcap": 2.0, "alibi_slopes": np.full(HEADS, 0.2, np.float32), "sinks": normal(HEADS, seed=5)},
}


def reference(q, k, v, softcap=None, alibi_slopes=None, sinks=None):
    """(out, lse) of causal attention in float64, from the definition."""
    k, v = (np.repeat(t.astype(np.float64), GROUP, 1) for t in (k, v))
    scores = q.astype(np.float64) @ k.transpose(0, 1, 3, 2) / np.sqrt(DIM)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    distance = np.arange(ROWS)[:, None] + KEYS - ROWS - np.arange(KEYS)
    if alibi_slopes is not None:
        scores = scores - np.broadcast_to(alibi_slopes, (2, HEADS))[:, :, None, None] * np.abs(distance)
    scores = np.where(distance < 0, -np.inf, scores)
    if sinks is not None:
        column = np.broadcast_to(sinks[None, :, None, None], (*scores.shape[:3], 1))
        scores = np.concatenate((scores, column), -1)
    lse = np.log(np.exp(scores).sum(-1))
    return np.exp(scores - lse[..., None])[..., :KEYS] @ v, lse


@pytest.mark.parametrize("name", SCORES)
def test_arrays(name):
    expected, expected_lse = reference(*inputs(), **SCORES[name])
    out, lse = fm.attention(*inputs(), causal=True, return_lse=True, **SCORES[name])
    np.testing.assert_allclose(out, expected, atol=2e-6, rtol=2e-5)
    np.testing.assert_allclose(lse, expected_lse, atol=2e-6, rtol=2e-5)
    assert "scores: " in fm.explain(*inputs(), **SCORES[name])
    assert "scores: " in fm.explain(*inputs(), backward=True, **SCORES[name])


@pytest.mark.parametrize(
    ("scores", "error", "says"),
    [
        ({"softcap": -1.0}, ValueError, "softcap is -1"),
        ({"softcap": "much"}, TypeError, "softcap is 'much'; accepted are a number and None"),
        ({"sinks": np.zeros(3, np.float32)}, ValueError, "sinks has 3 elements"),
        ({"sinks": np.zeros(HEADS, np.float16)}, TypeError, "sinks must be float32"),
        (
            {"alibi_slopes": np.zeros((3, HEADS), np.float32)},
            ValueError,
            "alibi_slopes is for 3 batch entries",
        ),
    ],
)
def test_what_can_not_be_right_is_refused(scores, error, says):
    with pytest.raises(error, match=says):
        fm.attention(*inputs(), **scores)


def tensors(torch, name):
    leaves = [torch.from_numpy(t).requires_grad_() for t in inputs()]
    scores = {
        key: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for key, value in SCORES[name].items()
    }
    if "sinks" in scores:
        leaves.append(scores["sinks"].requires_grad_())
    return leaves, scores


@pytest.mark.parametrize("name", SCORES)
def test_every_road_of_pytorch_gives_the_same_gradients(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
    if not hasattr(torch.library, "register_autograd"):
        pytest.skip("gradients need PyTorch 2.4 or newer")
    import flashmoe_science.torch as through_operators

    leaves, scores = tensors(torch, name)
    of_out = torch.from_numpy(normal(2, HEADS, ROWS, DIM, seed=8))
    of_lse = torch.from_numpy(normal(2, HEADS, ROWS, seed=9))

    def gradients(attention):
        out, lse = attention(*leaves[:3], causal=True, return_lse=True, **scores)
        return torch.autograd.grad((out * of_out).sum() + (lse * of_lse).sum(), leaves)

    recorded = gradients(fm.attention)
    for ours, other in zip(recorded, gradients(through_operators.attention)):
        assert torch.equal(ours, other)

    def loss(*leaves):
        named = {**scores, "sinks": leaves[3]} if len(leaves) > 3 else scores
        out, lse = fm.attention(*leaves[:3], causal=True, return_lse=True, **named)
        return (out * of_out).sum() + (lse * of_lse).sum()

    of_func = torch.func.grad(loss, tuple(range(len(leaves))))(*(t.detach() for t in leaves))
    for ours, other in zip(recorded, of_func):
        torch.testing.assert_close(ours, other)
    # By differences, for one element of each.
    for leaf, gradient in zip(leaves, recorded):
        at = (0,) * leaf.dim()
        step = torch.zeros_like(leaf)
        step[at] = 1e-2
        others = [t.detach() for t in leaves]
        low, high = (
            loss(
                *(
                    t + sign * step if t.shape == leaf.shape and t.data_ptr() == leaf.data_ptr() else t
                    for t in others
                )
            )
            for sign in (-1, 1)
        )
        assert abs((high - low).item() / 2e-2 - gradient[at].item()) < 2e-2 * max(1, abs(gradient[at].item()))


def test_operators_are_what_pytorch_expects():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
    if not hasattr(torch.library, "register_autograd"):
        pytest.skip("gradients need PyTorch 2.4 or newer")
    import flashmoe_science.torch  # noqa: F401 the operators

    leaves, scores = tensors(torch, "all")
    options = {"softcap": 2.0, "alibi_slopes": scores["alibi_slopes"], "sinks": leaves[3]}
    for operator in (
        torch.ops.flashmoe_science.attention.default,
        torch.ops.flashmoe_science.attention_with_lse.default,
    ):
        torch.library.opcheck(operator, (*leaves[:3], "bottom_right"), options)
    q, k, v, sinks = (t.detach() for t in leaves[:4])
    many = torch.stack((sinks, sinks - 1))
    batched = torch.func.vmap(lambda sinks: fm.attention(q, k, v, sinks=sinks))(many)
    assert torch.equal(batched, torch.stack([fm.attention(q, k, v, sinks=each) for each in many]))
