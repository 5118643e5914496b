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


@in_build
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize(
    "shape", [((1, 1, 32, 64), None), ((2, 4, 129, 64), None), ((1, 8, 5, 128), (1, 2, 577, 128))]
)
def test_agrees_with_the_oracle(dtype, causal, shape):
    check(qkv(dtype, *shape), causal)


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
