# SPDX-License-Identifier: MIT
"""Dropout behind the doors: sdpa, activate(), flash_attn and transformers."""

import types

import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
from dropout_cases import GROUP, KEYS, ROWS, P, assert_same, inputs, normal, packed_inputs, results_of

import flashmoe_science.flash_attn as fa
from flashmoe_science import _support

F = torch.nn.functional


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
    assert _support.why_not_dropout(on_gpu, P) == "dropout_p is 0.3; its kernels are slower than PyTorch's on a GPU"
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
