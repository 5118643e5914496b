# SPDX-License-Identifier: MIT
"""The doors on a GPU: PyTorch's attention taken over, flash_attn's functions, a model of transformers."""

import contextlib
import copy
import inspect
from types import SimpleNamespace

import oracle
import pytest

import flashmoe_science as fm
from flashmoe_science import _C

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not torch.cuda.is_available() or "cuda" not in _C.library_version:
    pytest.skip("no CUDA device, or a module without CUDA", allow_module_level=True)
if not hasattr(torch.library, "get_kernel"):
    pytest.skip("activate() needs PyTorch 2.10 or newer", allow_module_level=True)
from torch.nn.attention import SDPBackend, sdpa_kernel

sdpa = torch.nn.functional.scaled_dot_product_attention
BACKENDS = {
    "default": contextlib.nullcontext,
    "flash": lambda: sdpa_kernel(SDPBackend.FLASH_ATTENTION),
    "cudnn": lambda: sdpa_kernel(SDPBackend.CUDNN_ATTENTION),
}
SMALL = {  # a model of transformers
    "vocab_size": 97,
    "hidden_size": 256,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
}


@pytest.fixture(autouse=True)
def inactive():
    yield
    fm.deactivate()


def normal(*shape, dtype=torch.bfloat16, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def qkv(q_shape=(2, 4, 130, 64), kv_shape=None, dtype=torch.bfloat16, rows_first=False):
    shapes = (q_shape, kv_shape or q_shape, kv_shape or q_shape)
    tensors = [normal(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    return [t.transpose(1, 2).contiguous().transpose(1, 2) for t in tensors] if rows_first else tensors


def gradients(function, cpu, seed=9):
    leaves = [t.cuda().requires_grad_() for t in cpu]
    out = function(*leaves)
    dout = normal(*out.shape, dtype=out.dtype, seed=seed).cuda()
    return [out.detach(), *torch.autograd.grad(out, leaves, dout)]


@pytest.mark.parametrize("rows", [192, 320, 832])  # masks of fewer rows are left to PyTorch
@pytest.mark.parametrize("masked", [False, True])
def test_rows_past_a_tile_whose_scores_lie_far_below_zero(rows, masked):
    """Some releases of cuDNN give NaN in dq here (pytorch#196678): S % 128 == 64, a mask, and a log-sum-exp below -88."""
    q, k, v = (0.1 * t for t in qkv((1, 2, rows, 64), dtype=torch.bfloat16))
    q, k = q - 5, k + 5  # scores of -200
    mask = torch.ones(1, 1, rows, rows, dtype=torch.bool) if masked else None
    with fm.activate() as account:
        given = None if mask is None else mask.cuda()
        out, *grads = (t.cpu() for t in gradients(lambda *t: sdpa(*t, attn_mask=given), (q, k, v)))
    assert account.ours == 1
    oracle.check(out, None, q, k, v, False, None)
    oracle.check_gradients(grads, q, k, v, normal(*out.shape, dtype=out.dtype, seed=9), None, False, None)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype, head_dim", [(torch.bfloat16, 128), (torch.float16, 64)])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.2, "enable_gqa": True}])
@pytest.mark.parametrize("rows_first", [False, True])
def test_results_and_gradients(backend, dtype, options, rows_first, head_dim):
    heads = 2 if options.get("enable_gqa") else 4
    cpu = qkv((1, 4, 130, head_dim), (1, heads, 130, head_dim), dtype, rows_first)
    with BACKENDS[backend](), fm.activate() as account:
        out, *grads = (t.cpu() for t in gradients(lambda *t: sdpa(*t, **options), cpu))
    assert account.ours == 1 and not account.theirs, str(account)
    causal = bool(options.get("is_causal"))
    oracle.check(out, None, *cpu, causal, options.get("scale"))
    dout = normal(*out.shape, dtype=dtype, seed=9)
    oracle.check_gradients(grads, *cpu, dout, None, causal, options.get("scale"))


@pytest.mark.parametrize("rows", [(60, 130), (130, 60)])
def test_the_corner_of_a_causal_mask_that_is_not_square(rows):
    cpu = qkv((1, 4, rows[0], 64), (1, 4, rows[1], 64))
    with fm.activate():
        oracle.check(sdpa(*(t.cuda() for t in cpu), is_causal=True).cpu(), None, *cpu, "top_left")
    oracle.check(fm.sdpa(*(t.cuda() for t in cpu), is_causal=True).cpu(), None, *cpu, "top_left")


@pytest.mark.parametrize("backend", ["flash", "cudnn"])
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_backward_pass_of_the_other_side(backend, first):
    cpu = qkv()
    leaves = [t.cuda().requires_grad_() for t in cpu]
    with BACKENDS[backend]():
        if first == "ours":
            fm.activate()
        out = sdpa(*leaves, is_causal=True)
        fm.deactivate() if first == "ours" else fm.activate()
        dout = normal(*out.shape, seed=9)
        grads = torch.autograd.grad(out, leaves, dout.cuda())
    oracle.check_gradients([g.cpu() for g in grads], *cpu, dout, None, True)


def test_what_can_not_be_done_here_goes_on():
    q, k, v = (t.cuda() for t in qkv())
    mask = torch.ones(130, 130, dtype=torch.bool, device="cuda").tril(3)
    calls = [
        lambda: sdpa(q, k, v, mask),
        lambda: sdpa(q, k, v, dropout_p=0.3),
        lambda: sdpa(q.float(), k.float(), v.float()),
        lambda: sdpa(q[..., :60], k[..., :60], v[..., :60]),
    ]
    for call in calls:
        torch.manual_seed(0)
        expected = call()
        with fm.activate():
            torch.manual_seed(0)
            ours = call()
        torch.testing.assert_close(ours, expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("mode, backend", [("default", "flash"), ("reduce-overhead", "cudnn")])
def test_compiled_programs(mode, backend):
    torch._dynamo.reset()
    cpu = qkv(rows_first=True)

    def block(q, k, v):
        return sdpa(q * 2, k, v, is_causal=True).transpose(1, 2).flatten(2) * 2

    with BACKENDS[backend]():
        expected = gradients(block, cpu)
        compiled = torch.compile(block, fullgraph=True, mode=mode)
        with fm.activate() as account:
            for _ in range(3):
                torch.compiler.cudagraph_mark_step_begin()
                ours = [t.clone() for t in gradients(compiled, cpu)]
    assert account.ours > 0 and not account.theirs
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a.float(), b.float(), rtol=5e-2, atol=5e-2)
    torch._dynamo.reset()


def test_a_call_can_be_captured():
    q, k, v = (t.cuda() for t in qkv())
    with fm.activate() as account:
        sdpa(q, k, v)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = sdpa(q, k, v)
        q.mul_(0.5)
        graph.replay()
        torch.cuda.synchronize()
    assert account.ours == 2
    assert torch.equal(out, fm.attention(q, k, v))


def test_the_layers_of_pytorch():
    layer = (
        torch.nn.TransformerEncoderLayer(256, 4, 256, batch_first=True, dropout=0.0).cuda().bfloat16().eval()
    )
    x = normal(2, 70, 256).cuda()
    with torch.no_grad():
        expected = layer(x)
        with fm.activate() as account:
            ours = layer(x)
    assert account.ours == 1 and not account.theirs
    torch.testing.assert_close(ours.float(), expected.float(), rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("causal", [False, True])
def test_packed_sequences_of_pytorch(causal):
    varlen = pytest.importorskip("torch.nn.attention.varlen")
    q, k, v, dout = (normal(640, 4, 64, seed=i).cuda() for i in range(4))
    offsets = torch.tensor([0, 15, 215, 640], dtype=torch.int32, device="cuda")
    # is_causal until 2.10, a window since
    how = (
        {"is_causal": causal}
        if "is_causal" in inspect.signature(varlen.varlen_attn).parameters
        else {"window_size": (-1, 0) if causal else (-1, -1)}
    )

    def call():
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        out = varlen.varlen_attn(*leaves, offsets, offsets, 425, 425, **how)
        return [out.detach(), *torch.autograd.grad(out, leaves, dout)]

    expected = call()
    with fm.activate() as account:
        ours = call()
    assert account.ours == 1, account
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a.float(), b.float(), rtol=2e-2, atol=2e-2)


def test_pytorchs_list_of_implementations():
    attention = torch.nn.attention
    if not hasattr(attention, "restore_flash_attention_impl"):
        pytest.skip("this release of PyTorch can't take an implementation back")
    q, k, v = (t.cuda() for t in qkv())
    attention.activate_flash_attention_impl("flashmoe")
    assert torch.equal(sdpa(q, k, v), fm.attention(q, k, v))
    attention.restore_flash_attention_impl()
    for _ in range(3):
        with fm.activate():
            assert attention.current_flash_attention_impl() == "flashmoe"
            assert torch.equal(sdpa(q, k, v), fm.attention(q, k, v))
    assert attention.current_flash_attention_impl() is None


def test_flash_attn():
    from flashmoe_science import flash_attn as fa

    q, k, v = (t.transpose(1, 2) for t in qkv((2, 4, 70, 64), (2, 2, 130, 64)))
    cpu = [t.transpose(1, 2) for t in (q, k, v)]
    gpu = [t.cuda() for t in (q, k, v)]
    out, lse, _ = fa.flash_attn_func(*gpu, causal=True, return_attn_probs=True)
    oracle.check(out.transpose(1, 2).cpu(), lse.cpu(), *cpu, True)
    cu_q = torch.tensor([0, 70, 140], dtype=torch.int32, device="cuda")
    cu_k = torch.tensor([0, 130, 260], dtype=torch.int32, device="cuda")
    packed = fa.flash_attn_varlen_func(*(t.flatten(0, 1) for t in gpu), cu_q, cu_k, 70, 130, causal=True)
    oracle.check(packed.unflatten(0, (2, 70)).transpose(1, 2).cpu(), None, *cpu, True)
    caches = [torch.zeros(2, 200, 2, 64, dtype=torch.bfloat16, device="cuda") for _ in range(2)]
    held = torch.tensor([0, 0], dtype=torch.int32, device="cuda")
    out = fa.flash_attn_with_kvcache(gpu[0], *caches, gpu[1], gpu[2], cache_seqlens=held, causal=True)
    oracle.check(out.transpose(1, 2).cpu(), None, *cpu, True)
    assert torch.equal(caches[0][:, :130], gpu[1])


def test_windows():
    from flashmoe_science import flash_attn as fa

    q, k, v = qkv((2, 4, 70, 64), (2, 2, 130, 64))
    leaves = [t.transpose(1, 2).cuda().requires_grad_() for t in (q, k, v)]
    out = fa.flash_attn_func(*leaves, causal=True, window_size=(20, 0))
    dout = normal(*out.shape, seed=9)
    grads = torch.autograd.grad(out, leaves, dout.cuda())
    cpu = [t.transpose(1, 2).requires_grad_() for t in (q, k, v)]
    expected = fa.flash_attn_func(*cpu, causal=True, window_size=(20, 0))
    expected = [expected.detach(), *torch.autograd.grad(expected, cpu, dout)]
    for a, b in zip((out.detach(), *grads), expected):
        torch.testing.assert_close(a.cpu().float(), b.float(), rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("window", [None, 6])
def test_a_model_of_transformers(window):
    transformers = pytest.importorskip("transformers", minversion="5.0")
    from flashmoe_science.transformers import register

    torch.manual_seed(0)
    sizes = {**SMALL, "eos_token_id": None}
    if window is None:
        config = transformers.LlamaConfig(**sizes)
    else:
        config = transformers.MistralConfig(**sizes, sliding_window=window)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    model = model.cuda().bfloat16().eval()
    ids = torch.randint(2, 97, (3, 20), generator=torch.Generator().manual_seed(1)).cuda()
    mask = torch.ones_like(ids)
    mask[1, :7] = 0
    real = mask.bool()
    with torch.no_grad():
        expected = model(ids, attention_mask=mask).logits[real]
        model.set_attn_implementation(register())
        ours = model(ids, attention_mask=mask).logits[real]
    torch.testing.assert_close(ours.float(), expected.float(), rtol=5e-2, atol=5e-2)
    for cache in ({}, {"cache_implementation": "static"}):
        out = model.generate(ids, attention_mask=mask, max_new_tokens=8, do_sample=False, **cache)
        assert out.shape == (3, 28)
    loss = model(ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss
    loss.backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())


def counted(monkeypatch, module):
    """A list that grows with every call of the module's attention()."""
    calls = []
    attention = module.attention

    def call(*args, **options):
        calls.append(options)
        return attention(*args, **options)

    monkeypatch.setattr(module, "attention", call)
    return calls


LENGTHS = (300, 40, 177)  # of prompts, padded at the right


def right_padding():
    return torch.arange(LENGTHS[0], device="cuda")[None] < torch.tensor(LENGTHS, device="cuda")[:, None]


@pytest.mark.parametrize("window", [None, 64])
def test_right_padding_is_one_call_and_no_layer_waits(monkeypatch, window):
    pytest.importorskip("transformers", minversion="5.0")
    from transformers import masking_utils

    from flashmoe_science.transformers import _attention, _mask

    rows = LENGTHS[0]
    rule = (
        masking_utils.causal_mask_function
        if window is None
        else masking_utils.sliding_window_causal_mask_function(window)
    )
    mask = _mask.attention_mask(
        3, rows, rows, mask_function=rule, attention_mask=right_padding(), device="cuda", local_size=window
    )
    cpu = qkv((3, 4, rows, 64), (3, 2, rows, 64))
    tensors = [t.cuda() for t in cpu]
    calls = counted(monkeypatch, _attention)
    module = SimpleNamespace(is_causal=True, training=False)
    first, _ = _attention.attention_forward(module, *tensors, mask)  # makes the lengths
    torch.cuda.set_sync_debug_mode("error")
    try:
        second, _ = _attention.attention_forward(module, *tensors, mask)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(calls) == 2 and calls[0]["kv_lengths"] is calls[1]["kv_lengths"]
    assert calls[0]["kv_lengths"].is_cuda and torch.equal(first, second)
    for b, length in enumerate(LENGTHS):
        out = first[b : b + 1, :length].transpose(1, 2).cpu()
        one = [t[b : b + 1, :, :length] for t in cpu]
        if window is None:
            oracle.check(out, None, *one, True)
        else:
            expected = fm.attention(*(t.float() for t in one), True, window=(window - 1, 0))
            torch.testing.assert_close(out.float(), expected, rtol=2e-2, atol=2e-2)


def test_few_rows_beside_many_keys_share_them_out(monkeypatch):
    """Decoding beside an encoder's padded states: a call for each length."""
    pytest.importorskip("transformers", minversion="5.0")
    from transformers import masking_utils

    from flashmoe_science.transformers import _attention, _mask

    keys = LENGTHS[0]
    rule = masking_utils.bidirectional_mask_function
    mask = _mask.attention_mask(
        3, 1, keys, mask_function=rule, attention_mask=right_padding(), device="cuda"
    )
    cpu = qkv((3, 4, 1, 64), (3, 2, keys, 64))
    calls = counted(monkeypatch, _attention)
    module = SimpleNamespace(is_causal=False, training=False)
    out, _ = _attention.attention_forward(module, *(t.cuda() for t in cpu), mask)
    assert len(calls) == 3
    for b, length in enumerate(LENGTHS):
        one = (cpu[0][b : b + 1], *(t[b : b + 1, :, :length] for t in cpu[1:]))
        oracle.check(out[b : b + 1].transpose(1, 2).cpu(), None, *one)


@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_a_training_step_with_right_padding(monkeypatch, name):
    transformers = pytest.importorskip("transformers", minversion="5.0")
    from flashmoe_science.transformers import _attention, register

    torch.manual_seed(0)
    sizes = {**SMALL, "head_dim": 64}
    config = (
        transformers.LlamaConfig(**sizes)
        if name == "llama"
        else transformers.Gemma2Config(**sizes, sliding_window=64, attn_logit_softcapping=5.0)
    )
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.cuda().bfloat16()
    real = right_padding()
    ids = torch.randint(2, 97, real.shape, generator=torch.Generator().manual_seed(1)).cuda()
    ids = ids.masked_fill(~real, 0)

    def step(model):
        model.zero_grad()
        loss = model(ids, attention_mask=real.long(), labels=ids.masked_fill(~real, -100)).loss
        loss.backward()
        return loss.item(), [p.grad.float() for p in model.parameters()]

    loss, exact = step(copy.deepcopy(model).float())
    _, theirs = step(model)
    model.set_attn_implementation(register())
    calls = counted(monkeypatch, _attention)
    our_loss, ours = step(model)
    assert len(calls) == 2 and all(call["kv_lengths"].is_cuda for call in calls)
    assert abs(our_loss - loss) < 2e-2 * abs(loss)
    for (parameter, _), a, b, c in zip(model.named_parameters(), ours, theirs, exact):  # no less exact than eager
        assert (a - c).norm() <= 3 * (b - c).norm() + 1e-2 * c.norm(), parameter


def test_a_training_step_of_t5(monkeypatch):
    """Its bias is a parameter, with heads side by side."""
    transformers = pytest.importorskip("transformers", minversion="5.0")
    from flashmoe_science.transformers import _attention, register

    torch.manual_seed(0)
    sizes = {"vocab_size": 97, "d_model": 256, "d_kv": 64, "d_ff": 256, "num_layers": 2, "num_heads": 4}
    config = transformers.T5Config(**sizes, dropout_rate=0.0, pad_token_id=0, decoder_start_token_id=0)
    model, eager = (
        transformers.AutoModelForSeq2SeqLM.from_config(config, attn_implementation=name).cuda().bfloat16().train()
        for name in (register(), "eager")
    )
    model.load_state_dict(eager.state_dict())
    ids = torch.randint(2, 97, (3, 264), generator=torch.Generator().manual_seed(1)).cuda()

    def step(model):
        model.zero_grad()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        return loss.item(), [p.grad.float() for p in model.parameters()]

    loss, exact = step(copy.deepcopy(eager).float())
    _, theirs = step(eager)
    calls = counted(monkeypatch, _attention)
    our_loss, ours = step(model)
    if torch.cuda.get_device_capability() == (9, 0):  # elsewhere a bias goes to PyTorch
        assert len(calls) == 6 and sum(call["attn_mask"] is not None for call in calls) >= 4
    assert abs(our_loss - loss) < 2e-2 * abs(loss)
    for (parameter, _), a, b, c in zip(model.named_parameters(), ours, theirs, exact):
        assert (a - c).norm() <= 3 * (b - c).norm() + 1e-2 * c.norm(), parameter


@pytest.mark.parametrize("rows, one_call", [(130, True), (1, False)])
def test_a_cache_of_several_lengths(monkeypatch, rows, one_call):
    from flashmoe_science import flash_attn as fa
    from flashmoe_science.flash_attn import _attend

    q, k, v = normal(3, rows, 4, 64), normal(3, rows, 2, 64, seed=1), normal(3, rows, 2, 64, seed=2)
    caches = [normal(3, 700, 2, 64, seed=i) for i in (3, 4)]
    held = torch.tensor([500, 0, 77], dtype=torch.int32)
    options = {"causal": True, "return_softmax_lse": True}
    expected = fa.flash_attn_with_kvcache(
        q.float(), *(c.float() for c in caches), k.float(), v.float(), cache_seqlens=held, **options
    )
    calls = counted(monkeypatch, _attend)
    ours = fa.flash_attn_with_kvcache(
        q.cuda(), *(c.cuda() for c in caches), k.cuda(), v.cuda(), cache_seqlens=held.cuda(), **options
    )
    assert len(calls) == (1 if one_call else 3)
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a.cpu().float(), b.float(), rtol=2e-2, atol=2e-2)
