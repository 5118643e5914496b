# SPDX-License-Identifier: MIT
"""dropout_p and dropout_seed of attention(), by every road that PyTorch takes."""

import numpy as np
import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
from dropout_cases import (
    BATCH,
    DIM,
    HEADS,
    KEYS,
    ROWS,
    SEED,
    P,
    assert_same,
    inputs,
    normal,
    packed_inputs,
    results_of,
)


def factors(seed=SEED, p=P, batch=BATCH, heads=HEADS, rows=ROWS, keys=KEYS):
    """[batch, heads, rows, keys]: what each weight is multiplied by. Equal weights, and an identity for v, show it."""
    nothing = torch.zeros(batch, heads, rows, keys)
    one = torch.eye(keys).expand(batch, 1, keys, keys)
    shown = keys * fm.attention(nothing, torch.zeros_like(one), one, dropout_p=p, dropout_seed=seed).double()
    kept = 1 / (1 - round(p * 65536) / 65536)
    assert ((shown == 0) | ((shown - kept).abs() < 1e-5)).all()
    return torch.where(shown == 0, 0.0, kept)


def seen(rows=ROWS, keys=KEYS, window=None):
    """Causal, bottom-right."""
    distance = torch.arange(rows)[:, None] + keys - rows - torch.arange(keys)
    return (distance >= 0) & (distance <= (keys if window is None else window[0]))


def exact(q, k, v, drawn, hidden=None, softcap=None, sinks=None, attn_mask=None):
    """(out, lse) from the definition, in the type of q."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if attn_mask is not None:
        scores = scores + attn_mask
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    lse = scores.logsumexp(-1)
    if sinks is not None:
        lse = torch.logaddexp(lse, sinks[None, :, None])
    return torch.exp(scores - lse[..., None]) * drawn @ v, lse


def close(ours, expected, tolerance=2e-5):
    torch.testing.assert_close(ours.double(), expected.double(), rtol=tolerance, atol=tolerance)


# ---- the draw


def test_a_seed_decides_whatever_the_threads_and_the_library():
    q, k, v = inputs()
    out = fm.attention(q, k, v, dropout_p=P, dropout_seed=SEED)
    assert torch.equal(fm.attention(q, k, v, dropout_p=P, dropout_seed=SEED, threads=1), out)
    assert torch.equal(fm.attention(q, k, v, dropout_p=P, dropout_seed=torch.tensor(SEED)), out)
    arrays = fm.attention(q.numpy(), k.numpy(), v.numpy(), dropout_p=P, dropout_seed=np.int64(SEED))
    assert np.array_equal(arrays, out.numpy())
    assert not torch.equal(fm.attention(q, k, v, dropout_p=P, dropout_seed=SEED + 1), out)
    assert not torch.equal(factors(), factors(seed=SEED + 2**32))


def test_seeds_of_64_bits_are_those_with_a_sign():
    q, k, v = inputs(requires_grad=True)
    for seed in (2**63 + 5, 2**64 - 1, -1):
        expected = fm.attention(
            *(t.detach() for t in (q, k, v)), dropout_p=P, dropout_seed=(seed + 2**63) % 2**64 - 2**63
        )
        assert torch.equal(fm.attention(q, k, v, dropout_p=P, dropout_seed=seed), expected)


def test_pytorchs_generators_draw_the_seed():
    q, k, v = inputs()

    def twice(**options):
        return [fm.attention(q, k, v, dropout_p=P, **options) for _ in range(2)]

    torch.manual_seed(5)
    first = twice()
    torch.manual_seed(5)
    again = twice()
    assert all(map(torch.equal, first, again)) and not torch.equal(*first)
    state = torch.get_rng_state()
    own = twice(dropout_seed=torch.Generator().manual_seed(5))
    with pytest.raises(ValueError):
        fm.attention(q, k, v, dropout_p=1.5)
    fm.attention(q, k, v, dropout_p=0.0)
    fm.attention(q, k, v, dropout_p=P, dropout_seed=SEED)
    assert torch.equal(torch.get_rng_state(), state)  # nothing was drawn from PyTorch's own
    assert all(map(torch.equal, own, first))


def test_no_dropout_is_the_call_without():
    q, k, v = inputs()
    plain, plain_lse = fm.attention(q, k, v, return_lse=True)
    for p in (0, 0.0, None, np.float64(0)):
        assert torch.equal(fm.attention(q, k, v, dropout_p=p), plain)
    _, lse = fm.attention(q, k, v, return_lse=True, dropout_p=P, dropout_seed=SEED)
    close(lse, plain_lse, 1e-6)


@pytest.mark.parametrize("p", [0.05, 0.3, 0.9])
def test_as_many_are_left_out_as_asked_for(p):
    left_out = torch.cat([(factors(seed, p) == 0).flatten() for seed in range(8)])
    share, deviation = left_out.double().mean().item(), (p * (1 - p) / left_out.numel()) ** 0.5
    assert abs(share - p) <= 5 * deviation


def test_the_mean_over_many_seeds_is_the_result_without():
    q, k, v = (t[:1, :2, :5] for t in inputs())
    outs = torch.stack(
        [fm.attention(q, k, v, dropout_p=P, dropout_seed=seed).double() for seed in range(1000)]
    )
    error = (outs.mean(0) - fm.attention(q, k, v).double()).abs()
    bound = 5 * outs.std(0) / 1000**0.5
    assert bound.min() > 0 and (error <= bound).all(), (error / bound).max()
    assert error.max() > 0  # it is a mean of something


# ---- values and gradients, against float64 with the same draw


CASES = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"causal": True, "window": (7, 0)},
    "softcap": {"causal": True, "softcap": 1.5},
    "sinks": {"causal": True, "sinks": normal(HEADS, seed=4)},
    "a bias": {"attn_mask": normal(HEADS, ROWS, KEYS, seed=5)},
}


@pytest.mark.parametrize("lse_counts", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name, lse_counts):
    options = dict(CASES[name])
    given = {key: options[key].clone().requires_grad_() for key in ("sinks", "attn_mask") if key in options}
    leaves = [*inputs(requires_grad=True), *given.values()]
    options.update(given, dropout_p=P, dropout_seed=SEED, return_lse=True)
    results = fm.attention(*leaves[:3], **options)

    doubles = [t.detach().double().requires_grad_() for t in leaves]
    hidden = ~seen(window=options.get("window")) if options.get("causal") else None
    of_scores = dict(zip(given, doubles[3:]), softcap=options.get("softcap"))
    expected = exact(*doubles[:3], factors(), hidden, **of_scores)
    for ours, other in zip(results, expected):
        close(ours.detach(), other.detach())

    douts = normal(BATCH, HEADS, ROWS, DIM, seed=6), normal(BATCH, HEADS, ROWS, seed=7)
    count = 2 if lse_counts else 1
    ours = torch.autograd.grad(results[:count], leaves, douts[:count])
    others = torch.autograd.grad(expected[:count], doubles, [dout.double() for dout in douts[:count]])
    for gradient, other in zip(ours, others):
        close(gradient, other)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_in_lower_precision(dtype):
    leaves = [t.to(dtype).requires_grad_() for t in inputs()]
    doubles = [t.detach().double().requires_grad_() for t in leaves]
    out = fm.attention(*leaves, dropout_p=P, dropout_seed=SEED)
    expected, _ = exact(*doubles, factors())
    dout = normal(*out.shape, seed=6).to(dtype)
    close(out.detach(), expected.detach(), 2e-2)
    grads = torch.autograd.grad(out, leaves, dout), torch.autograd.grad(expected, doubles, dout.double())
    for ours, other in zip(*grads):
        close(ours, other, 4e-2)


def test_the_gradient_is_that_of_the_function_itself():
    """Differences of the call along a line, at its own seed: knows nothing of any formula."""
    leaves = inputs(requires_grad=True)
    dout = normal(BATCH, HEADS, ROWS, DIM, seed=6).double()

    def value(*tensors):
        return (fm.attention(*tensors, causal=True, dropout_p=P, dropout_seed=SEED).double() * dout).sum()

    grads = torch.autograd.grad(value(*leaves), leaves)
    for at, (leaf, grad) in enumerate(zip(leaves, grads)):
        line = normal(*leaf.shape, seed=10 + at)
        step = 1e-2
        with torch.no_grad():
            ends = [
                value(*(t + sign * step * line if t is leaf else t for t in leaves)).item()
                for sign in (1, -1)
            ]
        slope = (grad.double() * line).sum().item()
        assert abs((ends[0] - ends[1]) / (2 * step) - slope) <= 1e-3 * max(1, abs(slope))


def test_the_functions_by_name_and_their_seed():
    q, k, v = (t.numpy() for t in inputs())
    dropout = {"dropout_p": P, "dropout_seed": SEED}
    out, lse = fm.attention(q, k, v, return_lse=True, **dropout)
    dout = normal(*out.shape, seed=6)
    leaves = inputs(requires_grad=True)
    expected = torch.autograd.grad(fm.attention(*leaves, **dropout), leaves, dout)
    results = fm.attention_backward(q, k, v, out, lse, dout.numpy(), **dropout)
    for ours, other in zip(results, expected):
        assert np.array_equal(ours, other.numpy())
    for call in (
        lambda: fm.attention(q, k, v, dropout_p=P),
        lambda: fm.attention_backward(q, k, v, out, lse, dout.numpy(), dropout_p=P),
    ):
        with pytest.raises(ValueError, match="without dropout_seed"):
            call()


def test_explain_says_it():
    for backward in (False, True):
        assert "left out at random, 30 %" in fm.explain(*inputs(), dropout_p=P, backward=backward)


def test_packed_sequences():
    leaves, starts = packed_inputs(requires_grad=True)
    dropout = {"dropout_p": P, "dropout_seed": SEED}
    out = fm.attention_varlen(*leaves, starts, starts, causal=True, **dropout)
    doubles = [t.detach().double().requires_grad_() for t in leaves]
    drawn = factors(batch=3, rows=13, keys=13)  # of sequence b as of batch entry b
    parts = []
    for entry, begin, end in ((0, 0, 9), (2, 9, 22)):
        one = (t[begin:end].transpose(0, 1)[None] for t in doubles)
        rows = end - begin
        part, _ = exact(*one, drawn[entry : entry + 1, :, :rows, :rows], ~seen(rows, rows))
        parts.append(part[0].transpose(0, 1))
    expected = torch.cat(parts)
    close(out.detach(), expected.detach())
    dout = normal(*out.shape, seed=6)
    for ours, other in zip(
        torch.autograd.grad(out, leaves, dout), torch.autograd.grad(expected, doubles, dout.double())
    ):
        close(ours, other)


# ---- what else PyTorch does with a call


def test_compiled_programs_draw_at_every_call():
    torch._dynamo.reset()
    leaves = inputs(requires_grad=True)

    def dropped(q, k, v):
        return fm.attention(q, k, v, causal=True, dropout_p=P)

    compiled = torch.compile(dropped, fullgraph=True)
    first, again, other = (results_of(compiled, leaves, seed) for seed in (3, 3, 4))
    assert_same(first, again)
    assert not torch.equal(first[0], other[0])
    outs = torch.stack([compiled(*leaves).detach() for _ in range(2)])
    assert not torch.equal(*outs)

    def seeded(q, k, v):
        return fm.attention(q, k, v, causal=True, dropout_p=P, dropout_seed=SEED)

    assert_same(results_of(torch.compile(seeded, fullgraph=True), leaves), results_of(seeded, leaves))


def test_the_gradients_of_a_compiled_program_are_of_its_draw():
    torch._dynamo.reset()
    leaves = inputs(requires_grad=True)
    compiled = torch.compile(lambda q, k, v: fm.attention(q, k, v, dropout_p=P), fullgraph=True)
    out = compiled(*leaves)
    # out is linear in v: <dv, v> = <dout, out> for the weights that were drawn, and for no others.
    dout = normal(*out.shape, seed=6)
    (dv,) = torch.autograd.grad(out, leaves[2:], dout)
    assert abs(((dv * leaves[2]).double().sum() - (dout * out).double().sum()).item()) <= 1e-3


def test_the_operators():
    import flashmoe_science.torch  # noqa: F401

    leaves = inputs(requires_grad=True)
    arrays = (*(None,) * 7, None, None, None, torch.tensor(SEED))
    operators = torch.ops.flashmoe_science
    expected = results_of(lambda *t: fm.attention(*t, dropout_p=P, dropout_seed=SEED), leaves)
    ours = results_of(lambda *t: operators.attention(*t, "none", None, *arrays, dropout_p=P), leaves)
    assert_same(ours, expected)
    known = {"dropout_p": P}
    torch.library.opcheck(operators.attention_with_lse.default, (*leaves, "none", None, *arrays), known)


def test_checkpointing_draws_the_same_again():
    from torch.utils.checkpoint import checkpoint

    leaves = inputs(requires_grad=True)

    def dropped(q, k, v):
        return fm.attention(q, k, v, dropout_p=P)

    expected = results_of(dropped, leaves)
    assert_same(results_of(lambda *t: checkpoint(dropped, *t, use_reentrant=False), leaves), expected)


def test_autocast():
    leaves = inputs(requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = fm.attention(*leaves, dropout_p=P, dropout_seed=SEED)
    lower = [t.detach().bfloat16() for t in leaves]
    assert torch.equal(out, fm.attention(*lower, dropout_p=P, dropout_seed=SEED))


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_vmap(randomness):
    q, k, v = (torch.stack([t, t, t]) for t in inputs())

    def dropped(q, k, v):
        return fm.attention(q, k, v, dropout_p=P)

    out = torch.vmap(dropped, randomness=randomness)(q, k, v)
    assert torch.equal(out[0], out[1]) == (randomness == "same")
    grads = torch.vmap(torch.func.grad(lambda *t: dropped(*t).sum(), argnums=2), randomness=randomness)
    torch.manual_seed(3)
    dv = grads(q, k, v)
    torch.manual_seed(3)
    out = torch.vmap(dropped, randomness=randomness)(q, k, v)
    close((dv * v).double().sum((1, 2, 3, 4)), out.double().sum((1, 2, 3, 4)), 1e-4)  # out is linear in v
    with pytest.raises(RuntimeError, match="randomness"):
        torch.vmap(dropped)(q, k, v)


def test_vmap_with_a_seed_for_each():
    leaves = inputs()
    seeds = torch.tensor([5, 6, 5])
    out = torch.vmap(lambda seed: fm.attention(*leaves, dropout_p=P, dropout_seed=seed))(seeds)
    for one, seed in zip(out, seeds.tolist()):
        assert torch.equal(one, fm.attention(*leaves, dropout_p=P, dropout_seed=seed))
