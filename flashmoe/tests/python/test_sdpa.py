# SPDX-License-Identifier: MIT
"""sdpa(): what scaled_dot_product_attention means, whoever computes it."""

import logging
import subprocess
import sys

import oracle
import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("gradients need PyTorch 2.4 or newer", allow_module_level=True)
from torch._subclasses.fake_tensor import FakeTensorMode

from flashmoe_science import _support

theirs = torch.nn.functional.scaled_dot_product_attention


def normal(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def qkv(q_shape=(2, 4, 19, 16), kv_shape=None, dtype=torch.float32):
    shapes = (q_shape, kv_shape or q_shape, kv_shape or q_shape)
    return [normal(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("rows", [(19, 19), (5, 40), (40, 5), (1, 33)])
def test_agrees_with_the_oracle(dtype, is_causal, rows):
    tensors = qkv((2, 4, rows[0], 32), (2, 4, rows[1], 32), dtype)
    assert fm.why_not(*tensors, is_causal=is_causal) is None
    for scale in (None, 0.3):
        out = fm.sdpa(*tensors, is_causal=is_causal, scale=scale)
        oracle.check(out, None, *tensors, "top_left" if is_causal else False, scale)


def test_grouped_heads_are_asked_for():
    tensors = qkv((1, 8, 5, 16), (1, 2, 40, 16))
    assert fm.why_not(*tensors, enable_gqa=True) is None
    oracle.check(fm.sdpa(*tensors, enable_gqa=True), None, *tensors)
    assert "8 heads and key 2, without enable_gqa" in fm.why_not(*tensors)
    with pytest.raises(RuntimeError):
        fm.sdpa(*tensors)


def test_three_dimensions_are_a_batch_of_heads():
    q, k, v = (t[0] for t in qkv())
    assert fm.why_not(q, k, v, is_causal=True) is None
    torch.testing.assert_close(fm.sdpa(q, k, v, is_causal=True), theirs(q, k, v, is_causal=True))
    assert fm.why_not(q, k[:1], v[:1]) is not None


def mask_of(dtype):
    mask = torch.ones(19, 19, dtype=torch.bool).tril(2)
    return mask if dtype is torch.bool else torch.where(mask, 0.0, -torch.inf).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", [torch.bool, torch.float32, "that of query"])
@pytest.mark.parametrize(
    "shape", [(19, 19), (1, 19), (4, 19, 19), (2, 1, 1, 19), (2, 4, 19, 1), (2, 4, 19, 19)]
)
def test_masks_mean_what_they_mean_to_pytorch(dtype, kind, shape):
    q, k, v = qkv(dtype=dtype)
    mask = normal(*shape, seed=9) < 0.6
    if kind is not torch.bool:
        values = normal(*shape, seed=8).where(mask, -torch.inf)
        mask = values.to(dtype if isinstance(kind, str) else kind)
    assert fm.why_not(q, k, v, mask) is None
    exact = theirs(*(t.double() for t in (q, k, v)), mask if kind is torch.bool else mask.double())
    tolerance = 1e-5 if dtype is torch.float32 else 2e-3 if dtype is torch.float16 else 2e-2
    torch.testing.assert_close(fm.sdpa(q, k, v, mask).double(), exact, rtol=tolerance, atol=tolerance)


def test_a_mask_beside_is_causal_is_pytorchs_to_judge():
    tensors = qkv()
    assert (
        fm.why_not(*tensors, mask_of(torch.bool), is_causal=True) == "attn_mask and is_causal are both given"
    )


def test_a_mask_of_three_dimensions_is_of_heads():
    q, k, v = (t[0] for t in qkv())
    mask = normal(4, 19, 19, seed=9) < 0.6
    torch.testing.assert_close(fm.sdpa(q, k, v, mask), theirs(q, k, v, mask))
    assert fm.why_not(q, k, v, mask) is None and "4 dimensions" in fm.why_not(q, k, v, mask[None])


MASKS_ON_A_GPU = {
    "taken": ({}, None),
    "not Hopper": ({"hopper": False}, "no fast kernel for it on this GPU"),
    "added": ({"mask": torch.bfloat16}, None),
    "added in another type": ({"mask": torch.float16}, "a bool is fast"),
    "added, rows of no whole pieces": ({"mask": torch.bfloat16, "keys": 300}, "TMA"),
    "added, of one dimension": ({"mask": torch.bfloat16, "mask_shape": (304,)}, "attn_mask has shape (304,)"),
    "added to every row alike": ({"mask": torch.bfloat16, "mask_shape": (1, 304)}, "shared by rows"),
    "added, wide heads": ({"mask": torch.bfloat16, "head_dim": 256}, None),
    "added, gradients of wide heads": (
        {"mask": torch.bfloat16, "head_dim": 256, "trains": True},
        "up to 128",
    ),
    "added, gradients": ({"mask": torch.bfloat16, "trains": True}, None),
    "added, its own gradient": ({"mask": torch.bfloat16, "trains": True, "of_mask": True}, None),
    "added in fp32, its own gradient": ({"mask": torch.float32, "trains": True, "of_mask": True}, None),
    "added in fp32": ({"mask": torch.float32, "trains": True}, "a bool is fast"),
    "added, its own gradient in order": (
        {"mask": torch.bfloat16, "trains": True, "of_mask": True, "deterministic": True},
        "in a fixed order",
    ),
    "a step of decoding": ({"rows": 1}, "beside 1 rows"),
    "expanded keys": ({"expanded": True}, "TMA"),
    "beside a cap": ({"scores": ("softcap",)}, "softcap beside attn_mask"),
}


@pytest.mark.parametrize("case", MASKS_ON_A_GPU)
def test_masks_on_a_gpu_are_taken_where_they_are_fast(monkeypatch, case):
    changes, reason = MASKS_ON_A_GPU[case]
    monkeypatch.setattr(_support, "_is_hopper", lambda index: changes.get("hopper", True))
    with FakeTensorMode():  # which needs no GPU
        rows, keys, head_dim = changes.get("rows", 300), changes.get("keys", 304), changes.get("head_dim", 64)
        q = torch.empty(2, 4, rows, head_dim, device="cuda", dtype=torch.bfloat16)
        q.requires_grad_("trains" in changes)
        k = v = torch.empty(2, 4, keys, head_dim, device="cuda", dtype=torch.bfloat16)
        if "expanded" in changes:
            k = torch.empty_strided(k.shape, (19456, 0, 64, 1), device="cuda", dtype=torch.bfloat16)
        shape = changes.get("mask_shape", (rows, keys))
        mask = torch.empty(shape, device="cuda", dtype=changes.get("mask", torch.bool))
        mask.requires_grad_("of_mask" in changes)
        monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: "deterministic" in changes)
        found = _support.why_not_mask(q, k, v, mask, changes.get("scores", ()))
    assert found is None if reason is None else reason in found


def test_a_mask_has_a_gradient():
    leaves = [t.requires_grad_() for t in (*qkv(), normal(4, 1, 19, seed=8))]
    dout = normal(2, 4, 19, 16, seed=5)
    exact = [t.detach().double().requires_grad_() for t in leaves]
    expected = torch.autograd.grad(theirs(*exact), exact, dout.double())
    for ours, other in zip(torch.autograd.grad(fm.sdpa(*leaves), leaves, dout), expected):
        torch.testing.assert_close(ours.double(), other, rtol=1e-5, atol=1e-5)


LEFT_TO_PYTORCH = {
    "dropout_p is 1.0": lambda q, k, v: ((q, k, v), {"dropout_p": 1.0}),
    "torch.float64": lambda q, k, v: ((q.double(), k.double(), v.double()), {"is_causal": True}),
    "head_dim is 272": lambda q, k, v: ([t.repeat(1, 1, 1, 17) for t in (q, k, v)], {}),
    "5 dimensions": lambda q, k, v: ([t[None] for t in (q, k, v)], {}),
    "2 dimensions": lambda q, k, v: ([t[0, 0] for t in (q, k, v)], {}),
    "query has shape": lambda q, k, v: ((q, k[:1], v[:1]), {}),
    "key has shape": lambda q, k, v: ((q, k, v[..., :8]), {}),
    "a size is 0": lambda q, k, v: ((q[:, :, :0], k, v), {}),
    "side by side": lambda q, k, v: ((q[..., ::2], k[..., ::2], v[..., ::2]), {}),
}


@pytest.mark.parametrize("reason", LEFT_TO_PYTORCH)
def test_the_rest_is_pytorchs(reason):
    args, options = LEFT_TO_PYTORCH[reason](*qkv())
    assert reason.strip() in fm.why_not(*args, **options)
    torch.manual_seed(0)
    expected = theirs(*args, **options)
    torch.manual_seed(0)
    assert torch.equal(fm.sdpa(*args, **options), expected)


REFUSED = {
    "types": lambda q, k, v: ((q, k.double(), v), {}),
    "head_dims": lambda q, k, v: ((q, k[..., :8], v), {}),
    "one dimension": lambda q, k, v: ((q[0, 0, 0], k[0, 0, 0], v[0, 0, 0]), {}),
    "heads": lambda q, k, v: ((q, k[:, :3], v[:, :3]), {"enable_gqa": True}),
    "a mask of another shape": lambda q, k, v: ((q, k, v, torch.ones(3, 5)), {}),
    "a mask of another type": lambda q, k, v: ((q, k, v, mask_of(torch.float16)), {}),
    "integers": lambda q, k, v: ((q.int(), k.int(), v.int()), {}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_words(what):
    args, options = REFUSED[what](*qkv())
    with pytest.raises(Exception) as expected:
        theirs(*args, **options)
    with pytest.raises(type(expected.value)) as ours:
        fm.sdpa(*args, **options)
    assert str(ours.value).splitlines()[0] == str(expected.value).splitlines()[0]


def test_gradients():
    tensors = [t.requires_grad_() for t in qkv((2, 4, 9, 16), (2, 2, 21, 16))]
    dout = normal(2, 4, 9, 16, seed=5)
    ours = torch.autograd.grad(fm.sdpa(*tensors, is_causal=True, enable_gqa=True), tensors, dout)
    oracle.check_gradients(ours, *(t.detach() for t in tensors), dout, causal="top_left")


@pytest.mark.skipif(not hasattr(torch.compiler, "substitute_in_graph"), reason="PyTorch is older than 2.5")
def test_it_compiles_whole_either_way():
    torch._dynamo.reset()
    q, k, v = qkv()

    def block(q, k, v, mask=None):
        return fm.sdpa(q.sin(), k, v, mask, is_causal=mask is None) * 2

    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(q, k, v), block(q, k, v))
    torch.testing.assert_close(compiled(q, k, v, mask_of(torch.bool)), block(q, k, v, mask_of(torch.bool)))
    from torch._dynamo.testing import EagerAndRecordGraphs

    record = EagerAndRecordGraphs()
    torch.compile(lambda *t: fm.sdpa(*t), fullgraph=True, backend=record)(q, k, v)
    assert "flashmoe_science.attention" in str(record.graphs[0].graph)
    torch._dynamo.reset()


def test_subclasses_and_nested_tensors_go_their_own_way():
    class Doubled(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            plain = [t.as_subclass(torch.Tensor) if isinstance(t, cls) else t for t in args]
            return 2 * function(*plain, **(kwargs or {})) if function is theirs else function(*plain)

    q, k, v = qkv()
    assert "Doubled" in fm.why_not(q, k.as_subclass(Doubled), v)
    torch.testing.assert_close(fm.sdpa(q, k.as_subclass(Doubled), v), 2 * theirs(q, k, v))
    parts = [
        torch.nested.nested_tensor([t[0].transpose(0, 1), t[1, :, :7].transpose(0, 1)]) for t in (q, k, v)
    ]
    parts = [t.transpose(1, 2).contiguous() for t in parts]
    assert "not dense" in fm.why_not(*parts)
    ours, expected = fm.sdpa(*parts), theirs(*parts)
    assert all(map(torch.equal, ours.unbind(), expected.unbind()))


def test_autocast_lowers_it():
    q, k, v = qkv()
    with torch.autocast("cpu", torch.bfloat16):
        out = fm.sdpa(q, k, v)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), theirs(q, k, v), rtol=0.05, atol=0.05)


def test_forward_mode_derivatives_are_left_to_pytorch():
    q, k, v = qkv((1, 1, 3, 8))
    with torch.autograd.forward_ad.dual_level():
        assert fm.why_not(q, k, v) == "forward-mode derivatives"
    assert fm.why_not(q, k, v) is None


def test_a_reason_is_logged_once(caplog):
    from flashmoe_science import _support

    _support._logged.clear()
    q, k, v = qkv()
    with caplog.at_level(logging.INFO, logger="flashmoe_science"):
        for _ in range(3):
            fm.sdpa(q.double(), k.double(), v.double())
    assert [r.message for r in caplog.records] == [
        "sdpa goes on to the implementation before: the tensors are torch.float64; there are kernels for float32, "
        "float16 and bfloat16"
    ]


def test_the_doors_are_found_without_pytorch_being_imported(root):
    code = (
        "import sys, flashmoe_science as fm; assert {'sdpa', 'activate'} <= set(dir(fm)); "
        "assert 'torch' not in sys.modules; fm.sdpa; assert 'torch' in sys.modules; "
        "assert fm.sdpa is fm.sdpa and not hasattr(fm, 'sdap')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root / "flashmoe" / "python", capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
