# SPDX-License-Identifier: MIT
"""PyTorch tensors on a GPU: the same answers, on PyTorch's current stream and device. Skipped where there is none."""

import oracle
import pytest

import flashmoe_science as fm
from flashmoe_science import _C

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
in_build = pytest.mark.skipif("cuda" not in _C.library_version, reason="the module was built without CUDA")


def qkv(dtype, q_shape=(2, 4, 129, 64), kv_shape=None):
    generator = torch.Generator().manual_seed(7)
    return [
        torch.randn(shape, generator=generator).to(dtype)
        for shape in (q_shape, kv_shape or q_shape, kv_shape or q_shape)
    ]


def check(cpu, causal=False):
    gpu = [tensor.cuda() for tensor in cpu]
    out, lse = fm.attention(*gpu, causal=causal, return_lse=True)
    assert out.is_cuda and lse.is_cuda and out.dtype == cpu[0].dtype
    oracle.check(out.cpu(), lse.cpu(), *cpu, causal=causal)


def with_gradients(function, tensors):
    """(out, dq, dk, dv), on the CPU."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    out = function(*leaves)
    dout = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(out)
    return [t.cpu() for t in (out.detach(), *torch.autograd.grad(out, leaves, dout))]


def assert_close(ours, others, tolerance):
    for one, other in zip(ours, others):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@in_build
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "options", [{}, {"causal": True, "softcap": 5.0}, {"causal": True, "window": (40, 0)}]
)
def test_dropout_of_a_seed_is_that_of_the_cpu(dtype, options):
    cpu = qkv(dtype, (2, 4, 129, 64), (2, 2, 150, 64))

    def dropped(*tensors):
        return fm.attention(*tensors, dropout_p=0.3, dropout_seed=2**63 + 11, **options)

    tolerance = 1e-4 if dtype == torch.float32 else 3e-2
    assert_close(with_gradients(dropped, [t.cuda() for t in cpu]), with_gradients(dropped, cpu), tolerance)


@in_build
def test_dropout_of_packed_sequences_is_that_of_the_cpu():
    import flashmoe_science.flash_attn as fa

    cpu = [t[0].transpose(0, 1).contiguous() for t in qkv(torch.bfloat16, (1, 4, 129, 64))]
    starts = torch.tensor([0, 70, 70, 129], dtype=torch.int32)

    def dropped(*tensors):
        torch.manual_seed(3)
        cu = starts.to(tensors[0].device)
        return fa.flash_attn_varlen_func(*tensors, cu, cu, 70, 70, dropout_p=0.3, causal=True)

    assert_close(with_gradients(dropped, [t.cuda() for t in cpu]), with_gradients(dropped, cpu), 3e-2)


@in_build
def test_dropout_by_pytorchs_generator_and_compiled():
    torch._dynamo.reset()
    gpu = [tensor.cuda() for tensor in qkv(torch.bfloat16)]

    def dropped(q, k, v):
        torch.manual_seed(5)
        return fm.attention(q, k, v, causal=True, dropout_p=0.3)

    first, again = with_gradients(dropped, gpu), with_gradients(dropped, gpu)
    assert all(map(torch.equal, first, again))
    assert not torch.equal(fm.attention(*gpu, dropout_p=0.3), fm.attention(*gpu, dropout_p=0.3))
    compiled = torch.compile(
        lambda q, k, v: fm.attention(q, k, v, causal=True, dropout_p=0.3), fullgraph=True
    )
    torch.manual_seed(7)
    outs = [compiled(*gpu) for _ in range(2)]
    assert not torch.equal(*outs)


@in_build
def test_dropout_leaves_out_as_many_as_asked_for():
    nothing = torch.zeros(2, 4, 1000, 128, device="cuda", dtype=torch.float16)
    keys = torch.zeros(2, 4, 128, 128, device="cuda", dtype=torch.float16)
    one = torch.eye(128, device="cuda", dtype=torch.float16).expand_as(keys).contiguous()
    for p in (0.01, 0.1, 0.5, 0.9):
        out = fm.attention(nothing, keys, one, dropout_p=p, dropout_seed=1)
        deviation = (p * (1 - p) / out.numel()) ** 0.5
        assert abs((out == 0).double().mean().item() - p) <= 5 * deviation + 2**-16


@in_build
def test_the_doors_leave_dropout_to_who_is_faster():
    q, k, v = (tensor.cuda() for tensor in qkv(torch.bfloat16))
    assert fm.why_not(q, k, v, dropout_p=0.1) == "dropout_p is 0.1; its kernels are slower than PyTorch's on a GPU"
    assert fm.sdpa(q, k, v, dropout_p=0.1).shape == q.shape
    assert "ampere_forward, because: dropout" in fm.explain(q, k, v, dropout_p=0.1)


@in_build
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize(
    "shape", [((1, 1, 32, 64), None), ((2, 4, 129, 64), None), ((1, 8, 5, 128), (1, 2, 577, 128))]
)
def test_agrees_with_the_oracle(dtype, causal, shape):
    check(qkv(dtype, *shape), causal)


@in_build
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(200, 260), (1, 4, 200, 260), (2, 1, 1, 260)])
def test_a_bool_mask(shape, causal):
    cpu = qkv(torch.bfloat16, (2, 4, 200, 64), (2, 2, 260, 64))
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(0)) < 0.7
    gpu = [tensor.cuda().requires_grad_() for tensor in cpu]
    out = fm.attention(*gpu, causal, attn_mask=mask.cuda())
    exact = [tensor.double().requires_grad_() for tensor in cpu]
    seen = mask & torch.ones(200, 260, dtype=torch.bool).tril(60) if causal else mask
    expected = torch.nn.functional.scaled_dot_product_attention(*exact, attn_mask=seen, enable_gqa=True)
    dout = torch.randn(out.shape, generator=torch.Generator().manual_seed(1))
    found = (out, *torch.autograd.grad(out, gpu, dout.cuda().bfloat16()))
    wanted = (expected, *torch.autograd.grad(expected, exact, dout.bfloat16().double()))
    for ours, theirs in zip(found, wanted):
        assert (ours.cpu().double() - theirs).norm() <= 9e-3 * theirs.norm()


@in_build
@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize(
    "shape", [(200, 264), (1, 4, 200, 264), (2, 1, 200, 264), (2, 1, 1, 264), (200, 261)]
)
def test_a_bias(shape, head_dim):
    keys = shape[-1]
    cpu = qkv(torch.bfloat16, (2, 4, 200, head_dim), (2, 2, keys, head_dim))
    bias = torch.randn(shape, generator=torch.Generator().manual_seed(0)).bfloat16()
    bias[..., 30:50] = -torch.inf
    gpu = [tensor.cuda().requires_grad_() for tensor in (*cpu, bias)]
    out = fm.attention(*gpu[:3], attn_mask=gpu[3])
    exact = [tensor.double().requires_grad_() for tensor in (*cpu, bias)]
    expected = torch.nn.functional.scaled_dot_product_attention(
        *exact[:3], attn_mask=exact[3], enable_gqa=True
    )
    dout = torch.randn(out.shape, generator=torch.Generator().manual_seed(1))
    found = (out, *torch.autograd.grad(out, gpu, dout.cuda().bfloat16()))
    wanted = (expected, *torch.autograd.grad(expected, exact, dout.bfloat16().double()))
    for ours, theirs in zip(found, wanted):
        assert (ours.cpu().double() - theirs).norm() <= 9e-3 * theirs.norm()


@in_build
@pytest.mark.parametrize("kind", ["bool", "bias"])
def test_masks_come_to_activated_kernels(kind):
    hopper = torch.cuda.get_device_capability() == (9, 0)
    q, k, v = (tensor.cuda().requires_grad_() for tensor in qkv(torch.bfloat16, (2, 4, 256, 64)))
    seen = torch.rand(256, 256, generator=torch.Generator().manual_seed(0)).cuda() < 0.7
    mask = seen if kind == "bool" else torch.where(seen, 0.5, -torch.inf).bfloat16()
    dout = torch.randn_like(q)
    attend = torch.nn.functional.scaled_dot_product_attention
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
        theirs = attend(q, k, v, mask)
        wanted = (theirs, *torch.autograd.grad(theirs, (q, k, v), dout))
        with fm.activate() as calls:
            ours = attend(q, k, v, mask)
            found = (ours, *torch.autograd.grad(ours, (q, k, v), dout))
    assert calls.ours == (1 if hopper else 0)
    for mine, other in zip(found, wanted):
        assert (mine.double() - other.double()).norm() <= 9e-3 * other.double().norm()


@in_build
def test_views_and_out():
    q, k, v = (tensor.cuda().transpose(1, 2).contiguous().transpose(1, 2) for tensor in qkv(torch.float16))
    out = torch.empty_like(q)
    lse = torch.empty(q.shape[:3], device="cuda")
    assert fm.attention(q, k, v, out=out) is out
    assert torch.equal(_C.flash_attention_forward(q, k, v, lse, False, None), out)
    oracle.check(out.cpu(), lse.cpu(), q.cpu(), k.cpu(), v.cpu())


@in_build
def test_work_goes_to_the_current_stream():
    q, k, v = (tensor.cuda() for tensor in qkv(torch.float16, (1, 8, 1024, 64)))
    expected = fm.attention(q, k, v)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # a call on any other stream would read zeros below
        late = torch.zeros_like(q)
        late.copy_(q)
        out = fm.attention(late, k, v)
    stream.synchronize()
    assert torch.equal(out, expected)


@in_build
def test_calls_can_be_captured_in_a_graph():
    q, k, v = (tensor.cuda() for tensor in qkv(torch.float16, (1, 8, 128, 64)))
    out = fm.attention(q, k, v)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fm.attention(q, k, v, out=out)
    q.mul_(0.5)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, fm.attention(q, k, v))


@in_build
def test_programmatic_launch_changes_nothing_but_the_start():
    q, k, v = (tensor.cuda() for tensor in qkv(torch.float16, (1, 8, 128, 64)))
    expected = q
    for _ in range(4):
        expected = fm.attention(expected, k, v)
    for _ in range(20):
        out = q
        for _ in range(4):
            out = fm.attention(out, k, v, programmatic=True)
        assert torch.equal(out, expected)
    assert "programmatic" not in fm.explain(q, k, v)
    assert "programmatic launch: " in fm.explain(q, k, v, programmatic=True)


@in_build
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="only one CUDA device")
def test_the_tensors_device_is_used_and_the_current_one_restored():
    cpu = qkv(torch.float16)
    gpu = [tensor.to("cuda:1") for tensor in cpu]
    assert torch.cuda.current_device() == 0
    oracle.check(fm.attention(*gpu).cpu(), None, *cpu)
    assert torch.cuda.current_device() == 0


@pytest.mark.skipif("cuda" in _C.library_version, reason="the module was built with CUDA")
def test_a_build_without_cuda_says_so():
    with pytest.raises(NotImplementedError, match="this build has no CUDA backend"):
        fm.attention(*(tensor.cuda() for tensor in qkv(torch.float16)))


def test_mixed_devices():
    q, k, v = qkv(torch.float16)
    with pytest.raises(ValueError, match="k is on cuda:0 but q is on cpu"):
        fm.attention(q, k.cuda(), v)
    with pytest.raises(ValueError, match="out is on cpu:0 but q is on cuda:0"):
        fm.attention(q.cuda(), k.cuda(), v.cuda(), out=q)


# ---- gradients


def gradients_on_gpu(cpu, dout, dlse=None, **options):
    gpu = [tensor.cuda().requires_grad_() for tensor in cpu]
    results = fm.attention(*gpu, return_lse=True, **options)
    of_results = (dout.cuda(), None if dlse is None else dlse.cuda())
    some = [(r, g) for r, g in zip(results, of_results) if g is not None]
    return [g.cpu() for g in torch.autograd.grad([r for r, _ in some], gpu, [g for _, g in some])]


@in_build
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(
    "shape",
    [((2, 4, 129, 64), None), ((1, 8, 70, 128), (1, 2, 300, 128)), ((1, 2, 200, 40), (1, 1, 65, 40))],
)
def test_gradients_agree_with_the_oracle(dtype, causal, deterministic, shape):
    cpu = qkv(dtype, *shape)
    generator = torch.Generator().manual_seed(8)
    dout = torch.randn(cpu[0].shape, generator=generator).to(dtype)
    dlse = torch.randn(cpu[0].shape[:3], generator=generator)
    for of_lse in (None, dlse):
        ours = gradients_on_gpu(cpu, dout, of_lse, causal=causal, deterministic=deterministic)
        oracle.check_gradients(ours, *cpu, dout, of_lse, causal)


@in_build
@pytest.mark.parametrize("head_dim", [1, 3, 8, 96, 100, 256])
def test_gradients_of_any_head_dim(head_dim):
    cpu = qkv(torch.bfloat16, (1, 4, 65, head_dim), (1, 2, 130, head_dim))
    dout = torch.randn(1, 4, 65, head_dim).bfloat16()
    oracle.check_gradients(gradients_on_gpu(cpu, dout, causal=True), *cpu, dout, causal=True)


@in_build
def test_gradients_of_views():
    packed = torch.randn(2, 130, 3, 4, 64, dtype=torch.bfloat16)  # [B, S, {q, k, v}, H, D]
    gpu = packed.cuda().requires_grad_()
    out = fm.attention(*(t.transpose(1, 2) for t in gpu.unbind(2)), causal=True)
    out.sum().backward()  # an expanded gradient
    cpu = [t.transpose(1, 2) for t in packed.unbind(2)]
    ours = [t.transpose(1, 2).cpu() for t in gpu.grad.unbind(2)]
    oracle.check_gradients(ours, *cpu, torch.ones(2, 4, 130, 64).bfloat16(), causal=True)


@in_build
def test_sizes_of_zero():
    q = torch.randn(2, 4, 5, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    none = torch.randn(2, 2, 0, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    out, lse = fm.attention(q, none, none, return_lse=True)
    assert (out == 0).all() and (lse == -float("inf")).all()
    out.sum().backward()
    assert (q.grad == 0).all() and none.grad.shape == none.shape
    heads_last = (
        torch.randn(2, 5, 2, 64, device="cuda", dtype=torch.bfloat16).transpose(1, 2).requires_grad_()
    )
    fm.attention(q[:, :, :0], heads_last, heads_last).sum().backward()
    assert (heads_last.grad == 0).all()


@in_build
def test_deterministic_gradients_are_the_same_bits():
    cpu = qkv(torch.bfloat16, (1, 8, 700, 128), (1, 2, 1500, 128))
    dout = torch.randn(cpu[0].shape).bfloat16()
    first = gradients_on_gpu(cpu, dout, deterministic=True)
    for _ in range(10):
        assert all(map(torch.equal, gradients_on_gpu(cpu, dout, deterministic=True), first))


@in_build
def test_a_training_step_can_be_captured_in_a_graph():
    q, k, v = (t.cuda().requires_grad_() for t in qkv(torch.bfloat16, (1, 8, 256, 64)))

    def step():
        for tensor in (q, k, v):
            tensor.grad = None
        fm.attention(q, k, v, causal=True, deterministic=True).square().sum().backward()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    captured = [t.grad for t in (q, k, v)]
    with torch.no_grad():
        q.mul_(0.5)
    graph.replay()
    torch.cuda.synchronize()
    replayed = [g.clone() for g in captured]
    step()
    assert all(map(torch.equal, replayed, (t.grad for t in (q, k, v))))


@in_build
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_gradients_inside_torch_compile(backend):
    torch._dynamo.reset()
    tensors = [t.cuda().requires_grad_() for t in qkv(torch.bfloat16, (1, 8, 256, 64))]

    def block(q, k, v):
        return fm.attention(q * 2, k, v, causal=True, deterministic=True).float().square().sum()

    compiled = torch.compile(block, fullgraph=True, backend=backend)
    ours = torch.autograd.grad(compiled(*tensors), tensors)
    for gradient, expected in zip(ours, torch.autograd.grad(block(*tensors), tensors)):
        assert torch.allclose(gradient.float(), expected.float(), rtol=2e-2, atol=2e-2)
    torch._dynamo.reset()


@in_build
def test_a_compiled_training_step_replays_its_graph():
    torch._dynamo.reset()
    tensors = [t.cuda().requires_grad_() for t in qkv(torch.bfloat16, (1, 8, 256, 64))]

    def block(q, k, v):
        return fm.attention(q * 2, k, v, causal=True, deterministic=True).float().square().sum()

    compiled = torch.compile(block, fullgraph=True, mode="reduce-overhead")
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        ours = [g.clone() for g in torch.autograd.grad(compiled(*tensors), tensors)]
    for gradient, expected in zip(ours, torch.autograd.grad(block(*tensors), tensors)):
        assert torch.allclose(gradient.float(), expected.float(), rtol=2e-2, atol=2e-2)
    torch._dynamo.reset()


@in_build
def test_autocast_and_checkpointing():
    from torch.utils.checkpoint import checkpoint

    q, k, v = (t.cuda().requires_grad_() for t in qkv(torch.float32))
    with torch.autocast("cuda", torch.bfloat16):
        out = checkpoint(lambda *t: fm.attention(*t, causal=True), q, k, v, use_reentrant=False)
    assert out.dtype == torch.bfloat16
    out.float().square().sum().backward()
    assert q.grad.dtype == torch.float32 and torch.isfinite(q.grad).all() and (q.grad != 0).any()


@in_build
def test_operators_keep_what_they_promise():
    import flashmoe_science.torch  # noqa: F401

    tensors = [t.cuda().requires_grad_() for t in qkv(torch.bfloat16, (2, 4, 65, 64), (2, 2, 130, 64))]
    for name in ("attention", "attention_with_lse"):
        operator = getattr(torch.ops.flashmoe_science, name).default
        torch.library.opcheck(
            operator, (*tensors, "bottom_right"), {"deterministic": True}, atol=1e-2, rtol=2e-2
        )


@in_build
def test_backward_runs_on_the_stream_of_the_forward_pass():
    q, k, v = (t.cuda().requires_grad_() for t in qkv(torch.float16, (1, 8, 1024, 64)))
    expected = torch.autograd.grad(fm.attention(q, k, v, deterministic=True).sum(), (q, k, v))
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        ours = torch.autograd.grad(fm.attention(q, k, v, deterministic=True).sum(), (q, k, v))
    stream.synchronize()
    assert all(map(torch.equal, ours, expected))


@in_build
def test_explain_names_the_kernel_of_the_backward_pass():
    q, k, v = (t.cuda() for t in qkv(torch.bfloat16))
    text = fm.explain(q, k, v, backward=True, deterministic=True)
    assert "_backward" in text and "workspace" in text
