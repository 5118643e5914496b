# SPDX-License-Identifier: MIT
"""dropout_p and dropout_seed of attention(), by every road that PyTorch takes, and behind the doors."""

import types

import numpy as np
import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")

import flashmoe_science.flash_attn as fa  # noqa: E402
from flashmoe_science import _support  # noqa: E402

F = torch.nn.functional
BATCH, HEADS, GROUP, ROWS, KEYS, DIM = 2, 4, 2, 37, 45, 16
P, SEED = 0.3, 20251117


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def inputs(requires_grad=False):
    shapes = (HEADS, ROWS), (HEADS // GROUP, KEYS), (HEADS // GROUP, KEYS)
    tensors = [normal(BATCH, heads, rows, DIM, seed=i) for i, (heads, rows) in enumerate(shapes)]
    return [t.requires_grad_(requires_grad) for t in tensors]


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


def packed_inputs(requires_grad=False):
    tensors = normal(22, 4, DIM), normal(22, 2, DIM, seed=1), normal(22, 2, DIM, seed=2)
    starts = torch.tensor([0, 9, 9, 22], dtype=torch.int32)
    return [t.requires_grad_(requires_grad) for t in tensors], starts


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


def results_of(function, leaves, seed=3):
    torch.manual_seed(seed)
    out = function(*leaves)
    return out.detach(), torch.autograd.grad(out.square().sum(), leaves)


def assert_same(ours, expected):
    assert torch.equal(ours[0], expected[0]) and all(map(torch.equal, ours[1], expected[1]))


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


# ---- doors


def ours_of(q, k, v, **options):
    """attention(), from what the next draw of PyTorch's generator is at seed 3."""
    torch.manual_seed(3)
    return fm.attention(q, k, v, dropout_p=P, **options)


def test_sdpa():
    q, k, v = inputs()
    k, v = (t.repeat_interleave(GROUP, 1) for t in (k, v))
    mask = normal(ROWS, KEYS, seed=9) < 0.6
    for args, options, ours in (
        ((q, k, v), {"is_causal": True}, {"causal": "top_left"}),
        ((q, k, v, mask), {}, {"attn_mask": mask}),
    ):
        assert fm.why_not(*args, dropout_p=P, **options) is None
        torch.manual_seed(3)
        assert torch.equal(fm.sdpa(*args, dropout_p=P, **options), ours_of(q, k, v, **ours))
    torch.manual_seed(3)
    assert torch.equal(fm.sdpa(q[0], k[0], v[0], dropout_p=P), ours_of(q[:1], k[:1], v[:1])[0])
    with pytest.raises(RuntimeError, match="(?i)dropout"):  # PyTorch's
        fm.sdpa(q, k, v, dropout_p=1.5)


needs_get_kernel = pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="activate() needs PyTorch 2.10 or newer"
)


@needs_get_kernel
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_activated(mode):
    leaves = inputs(requires_grad=True)
    with fm.activate() as account, mode():
        torch.manual_seed(3)
        out = F.scaled_dot_product_attention(*leaves, dropout_p=P, enable_gqa=True)
    assert account.ours == 1 and not account.theirs
    assert torch.equal(out, ours_of(*leaves)) and out.requires_grad == (mode is torch.enable_grad)
    if mode is torch.enable_grad:
        expected = torch.autograd.grad(ours_of(*leaves).sum(), leaves)
        assert all(map(torch.equal, torch.autograd.grad(out.sum(), leaves), expected))


@needs_get_kernel
def test_activated_and_left_to_pytorch():
    q, k, v = inputs()
    double = [t.double() for t in (q, k, v)]

    def theirs(*tensors, p=P):
        torch.manual_seed(3)
        return F.scaled_dot_product_attention(*tensors, dropout_p=p, enable_gqa=True)

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        expected = theirs(q, k, v)
        with fm.activate() as account:
            assert torch.equal(theirs(q, k, v), expected) and account.ours == 0
    expected = theirs(*double)
    with fm.activate() as account:
        assert torch.equal(theirs(*double), expected)
        assert not theirs(q, k, v, p=1.0).any()
    assert account.ours == 0 and "dropout_p is 1.0" in account.theirs and len(account.theirs) == 2
    assert torch.equal(theirs(*double), expected)


@needs_get_kernel
def test_activated_under_the_compiler():
    torch._dynamo.reset()
    leaves = inputs(requires_grad=True)
    with fm.activate() as account:
        compiled = torch.compile(
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=P, enable_gqa=True),
            fullgraph=True,
        )
        first, again = (results_of(compiled, leaves) for _ in range(2))
        assert account.ours > 0 and not account.theirs
    assert_same(first, again)


@needs_get_kernel
def test_layers_of_torch_nn():
    layer = torch.nn.MultiheadAttention(32, 4, dropout=P, batch_first=True)
    x = normal(2, 9, 32)
    with fm.activate() as account:
        trained = [layer(x, x, x, need_weights=False)[0] for _ in range(2)]
        layer.eval()
        steady = [layer(x, x, x, need_weights=False)[0] for _ in range(2)]
    assert account.ours == 4 and not account.theirs
    assert not torch.equal(*trained) and torch.equal(*steady)


def test_flash_attn():
    q, k, v = inputs()
    rows_first = [t.transpose(1, 2) for t in (q, k, v)]
    torch.manual_seed(3)
    out = fa.flash_attn_func(*rows_first, P, None, True)
    assert torch.equal(out.transpose(1, 2), ours_of(q, k, v, causal=True))
    qkv = torch.stack([rows_first[0]] * 3, 2)
    torch.manual_seed(3)
    assert torch.equal(fa.flash_attn_qkvpacked_func(qkv, P).transpose(1, 2), ours_of(q, q, q))


def test_flash_attn_of_packed_sequences():
    leaves, starts = packed_inputs(requires_grad=True)
    torch.manual_seed(3)
    out = fa.flash_attn_varlen_func(*leaves, starts, starts, 13, 13, P, causal=True)
    torch.manual_seed(3)
    expected = fm.attention_varlen(*leaves, starts, starts, causal=True, dropout_p=P)
    assert torch.equal(out, expected)
    grads = (torch.autograd.grad(result.square().sum(), leaves) for result in (out, expected))
    assert all(map(torch.equal, *grads))


def test_flash_attn_refuses_the_weights_that_were_left_out():
    x = normal(1, 3, 1, 8)
    with pytest.raises(NotImplementedError) as error:
        fa.flash_attn_func(x, x, x, dropout_p=0.5, return_attn_probs=True)
    assert str(error.value) == (
        "flash_attn_func: beside dropout_p (it is 0.5) return_attn_probs is not supported yet"
    )
    with pytest.raises(ValueError, match="dropout_p is 1.5; it must be a probability"):
        fa.flash_attn_func(x, x, x, dropout_p=1.5)


def test_a_gpu_is_told_why_not():
    on_gpu = types.SimpleNamespace(device=torch.device("cuda"))
    assert _support.why_not_dropout(on_gpu, P) == "dropout_p is 0.3; there is no fast kernel for it on a GPU"
    assert _support.why_not_dropout(on_gpu, 0.0) is None


@pytest.fixture
def llama():
    transformers = pytest.importorskip("transformers", minversion="5.0", reason="transformers is not there")
    from flashmoe_science.transformers import register

    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attention_dropout=P,
    )
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation=register())


@pytest.mark.parametrize("padded", [False, True])
def test_transformers_drop_in_training_alone(llama, padded, monkeypatch):
    from flashmoe_science.transformers import _attention

    asked = []

    def counted(*args, **options):
        asked.append(options.get("dropout_p"))
        return fm.attention(*args, **options)

    monkeypatch.setattr(_attention, "attention", counted)
    monkeypatch.setattr(_attention, "log_once", lambda door, reason: pytest.fail(reason))
    ids = torch.arange(22).reshape(2, 11)
    mask = torch.ones_like(ids)
    if padded:
        mask[0, :4] = 0

    def logits(seed):
        torch.manual_seed(seed)
        return llama(input_ids=ids, attention_mask=mask).logits[mask.bool()]

    llama.eval()
    assert torch.equal(logits(1), logits(2)) and set(asked) == {None}
    asked.clear()
    llama.train()
    assert torch.equal(logits(1), logits(1)) and not torch.equal(logits(1), logits(2))
    assert set(asked) == {P}
    logits(1).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in llama.parameters())


def test_transformers_module_decides():
    pytest.importorskip("transformers", minversion="5.0", reason="transformers is not there")
    from flashmoe_science.transformers._attention import attention_forward

    q, k, v = inputs()
    module = types.SimpleNamespace(training=False, is_causal=False)
    out, _ = attention_forward(module, q, k, v, None, dropout=P)
    assert torch.equal(out.transpose(1, 2), fm.attention(q, k, v))
    module.training = True
    torch.manual_seed(3)
    out, _ = attention_forward(module, q, k, v, None, dropout=P)
    assert torch.equal(out.transpose(1, 2), ours_of(q, k, v))
