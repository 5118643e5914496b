# SPDX-License-Identifier: MIT
"""What is PyTorch's own: its attention as a second oracle, autograd, devices, and tensors that are not plain memory."""

import gc

import oracle
import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
sdpa = torch.nn.functional.scaled_dot_product_attention
RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def normal(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def qkv(dtype=torch.float32, q_shape=(2, 4, 37, 64), kv_shape=None):
    return [
        normal(*shape, dtype=dtype, seed=i)
        for i, shape in enumerate([q_shape, kv_shape or q_shape, kv_shape or q_shape])
    ]


def check_against_sdpa(q, k, v, causal):
    """PyTorch in float64 is an oracle of its own; its is_causal is aligned top-left, so the mask is spelled out."""
    group = q.shape[1] // k.shape[1]
    mask = torch.from_numpy(oracle.visible(q.shape[2], k.shape[2], causal))
    theirs = sdpa(
        q.double(),
        k.double().repeat_interleave(group, 1),
        v.double().repeat_interleave(group, 1),
        attn_mask=mask,
    )
    bound = oracle.attention(q, k, v, causal).out_bound
    assert oracle.disagreement(fm.attention(q, k, v, causal=causal), theirs.numpy(), bound) == ""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows", [1, 32, 33, 129])
def test_agrees_with_pytorch(dtype, causal, rows):
    q, k, v = qkv(dtype, (2, 4, rows, 64))
    check_against_sdpa(q, k, v, causal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True, "top_left"])
def test_agrees_with_pytorch_on_shared_heads_and_a_longer_cache(dtype, causal):
    check_against_sdpa(*qkv(dtype, (1, 8, 5, 32), (1, 2, 40, 32)), causal)


def test_top_left_is_what_pytorch_calls_causal():
    q, k, v = qkv(q_shape=(1, 2, 9, 16), kv_shape=(1, 2, 21, 16))
    theirs = sdpa(q.double(), k.double(), v.double(), is_causal=True)
    bound = oracle.attention(q, k, v, "top_left").out_bound
    assert oracle.disagreement(fm.attention(q, k, v, causal="top_left"), theirs.numpy(), bound) == ""


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("where", ["q", "k", "v"])
@pytest.mark.parametrize("positive", [False, True])
def test_nan_and_infinity_go_where_pytorch_sends_them(value, where, positive):
    if (value, where, positive) == (-float("inf"), "q", True) and RELEASE < (2, 5):
        pytest.skip("before 2.5, PyTorch gave NaN, not 0, for a row whose logits are all -inf")
    tensors = dict(zip("qkv", qkv(q_shape=(1, 1, 19, 16))))
    if positive:  # then an infinite key gives infinite logits of one sign instead of NaN
        tensors = {name: t.abs() for name, t in tensors.items()}
    tensors[where][0, 0, 7, 3] = value
    q, k, v = tensors.values()
    theirs = sdpa(q.double(), k.double(), v.double())
    ours = fm.attention(q, k, v)
    assert torch.equal(ours.isnan(), theirs.isnan())
    assert torch.equal(ours.isposinf(), theirs.isposinf())
    assert torch.equal(ours.isneginf(), theirs.isneginf())
    finite = theirs.isfinite()
    assert torch.allclose(ours.double()[finite], theirs[finite], atol=1e-5, rtol=1e-5)


def test_a_key_of_minus_infinity_is_not_seen():
    q, k, v = (t.abs() for t in qkv(q_shape=(1, 1, 19, 16)))
    k[0, 0, 11] = -float("inf")
    v[0, 0, 11] = 1000
    keep = [i for i in range(19) if i != 11]
    assert torch.allclose(fm.attention(q, k, v), fm.attention(q, k[:, :, keep], v[:, :, keep]), atol=1e-5)


def test_parameters_are_tensors():
    q, k, v = qkv(q_shape=(1, 1, 3, 8))
    with torch.no_grad():
        assert torch.equal(fm.attention(torch.nn.Parameter(q), k, v), fm.attention(q, k, v))


def test_devices_other_than_cpu_and_cuda():
    q, k, v = qkv(q_shape=(1, 1, 3, 8))
    with pytest.raises(NotImplementedError, match="k is on device meta; accepted are cpu and cuda"):
        fm.attention(q, k.to("meta"), v)


def test_subclasses_are_refused():
    class Tagged(torch.Tensor):
        pass

    q, k, v = qkv(q_shape=(1, 1, 3, 8))
    with pytest.raises(TypeError, match="v is a Tagged, a subclass of torch.Tensor"):
        fm.attention(q, k, v.as_subclass(Tagged))


@pytest.mark.skipif(not hasattr(torch.library, "register_autograd"), reason="PyTorch is older than 2.4")
def test_fake_tensors_give_fake_results():
    mode = pytest.importorskip("torch._subclasses.fake_tensor").FakeTensorMode()
    q, k, v = (mode.from_tensor(t) for t in qkv(q_shape=(1, 1, 3, 8)))
    out, lse = fm.attention(q, k, v, return_lse=True)
    assert type(out) is type(q) and out.shape == q.shape and lse.shape == (1, 1, 3)


def test_lazily_negated_views_are_refused():
    q, k, v = qkv(q_shape=(1, 1, 3, 8))
    negated = torch._neg_view(k)
    with pytest.raises(ValueError, match=r"k is a lazily negated view\n.*k.resolve_neg\(\)"):
        fm.attention(q, negated, v)
    assert torch.equal(fm.attention(q, negated.resolve_neg(), v), fm.attention(q, -k, v))


def test_sparse_and_nested_tensors_are_refused():
    q, k, v = qkv(q_shape=(1, 1, 3, 8))
    out = torch.full_like(q, 5.0)
    with pytest.raises(TypeError, match=r"k has layout torch.sparse_coo; .*\n.*k.to_dense\(\)"):
        fm.attention(q, k.to_sparse(), v, out=out)
    assert (out == 5).all()
    for layout in (torch.strided, torch.jagged):
        nested = torch.nested.nested_tensor([k[0, 0], k[0, 0, :2]], layout=layout)
        with pytest.raises(TypeError, match="v is a nested tensor"):
            fm.attention(q, k, nested)


def test_numpy_and_pytorch_may_be_mixed():
    q, k, v = qkv(q_shape=(1, 2, 9, 16))
    out = fm.attention(q, k.numpy(), v.numpy())
    assert type(out) is torch.Tensor
    assert torch.equal(out, fm.attention(q, k, v))


LAYOUTS = {
    "dense": lambda t: t,
    "heads last": lambda t: t.transpose(1, 2).contiguous().transpose(1, 2),
    "batch innermost but one": lambda t: t.permute(1, 2, 0, 3).contiguous().permute(2, 0, 1, 3),
    "every other row": lambda t: t[:, :, ::2],
    "one head": lambda t: t[:, 1:2],
    "one row": lambda t: t[:, :, 3:4],
    "repeated": lambda t: t[:, :1].expand(-1, 3, -1, -1),
    "beginning of each row": lambda t: t[..., :8],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_laid_out_as_empty_like_would(layout, dtype):
    t = LAYOUTS[layout](normal(2, 4, 10, 16, dtype=dtype))
    out, lse = fm.attention(t, t, t, return_lse=True)
    like = torch.empty_like(t)
    assert (out.dtype, out.shape, out.stride()) == (like.dtype, like.shape, like.stride())
    assert lse.is_contiguous() and lse.shape == t.shape[:3] and lse.dtype == torch.float32
    dense = t.contiguous()
    assert torch.equal(out, fm.attention(dense, dense, dense))


def test_results_are_as_inference_mode_and_default_device_want_them():
    q, k, v = qkv(q_shape=(1, 1, 3, 8))
    expected = fm.attention(q, k, v)
    assert not expected.is_inference()
    with torch.inference_mode():
        out, lse = fm.attention(q.clone(), k, v, return_lse=True)
        assert out.is_inference() and lse.is_inference()
    torch.set_default_device("meta")
    try:
        out, lse = fm.attention(q, k, v, return_lse=True)
        assert out.device.type == lse.device.type == "cpu"
    finally:
        torch.set_default_device(None)
    assert torch.equal(out, expected)


def test_no_memory_for_a_result():
    row = torch.zeros(1, 1, 1, 8)
    huge = row.expand(1 << 22, 1 << 22, 1, 8)
    with pytest.raises((RuntimeError, MemoryError), match="memory"):
        fm.attention(huge, huge, huge)
    with pytest.raises(ValueError, match="k has shape"):  # the arguments are judged first
        fm.attention(huge, row, row)


def test_no_memory_is_lost():
    q, k, v = qkv(q_shape=(1, 2, 9, 16))

    def tensors_alive():
        gc.collect()
        return sum(type(thing) is torch.Tensor for thing in gc.get_objects())

    fm.attention(q, k, v, return_lse=True)
    before = tensors_alive()
    for _ in range(50):
        fm.attention(q, k, v, return_lse=True)
        with pytest.raises(ValueError):
            fm.attention(q, k, v[0])
    assert tensors_alive() == before
