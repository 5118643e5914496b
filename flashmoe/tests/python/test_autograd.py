# SPDX-License-Identifier: MIT
"""attention() is differentiable, and says what it can't do."""

import math

import oracle
import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("operators with gradients need PyTorch 2.4 or newer", allow_module_level=True)
from autograd_cases import close, gradients, normal, qkv, same

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def plain(q, k, v, causal=False, scale=None):
    """PyTorch's own autograd, in float64: a second oracle. Returns out and lse."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[3]))
    seen = torch.from_numpy(oracle.visible(q.shape[2], k.shape[2], causal))
    scores = scores.masked_fill(~seen, -math.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True, "top_left"])
def test_gradients_agree_with_the_oracle(dtype, causal):
    tensors = qkv(dtype)
    dout, dlse = normal(2, 4, 9, 16, dtype=dtype, seed=5), normal(2, 4, 9, seed=6)
    out, lse = fm.attention(*tensors, causal=causal, scale=0.3, return_lse=True)
    assert out.requires_grad and lse.requires_grad
    ours = torch.autograd.grad((out, lse), tensors, (dout, dlse))
    oracle.check_gradients(ours, *tensors, dout, dlse, causal, 0.3)


@pytest.mark.parametrize("causal", [False, True, "top_left"])
def test_gradients_agree_with_pytorch_in_float64(causal):
    tensors = qkv()
    dout, dlse = normal(2, 4, 9, 16, seed=5), normal(2, 4, 9, seed=6)
    ours = torch.autograd.grad(fm.attention(*tensors, causal, return_lse=True), tensors, (dout, dlse))
    exact = [t.detach().double().requires_grad_() for t in tensors]
    theirs = torch.autograd.grad(plain(*exact, causal), exact, (dout.double(), dlse.double()))
    bounds = oracle.gradients(*tensors, dout, dlse, causal)
    for gradient, expected, bound in zip(ours, theirs, bounds):
        assert oracle.disagreement(gradient, expected.numpy(), bound.bound) == ""


def test_either_result_alone_may_be_differentiated():
    tensors = qkv()
    dout, dlse = normal(2, 4, 9, 16, seed=5), normal(2, 4, 9, seed=6)
    out, lse = fm.attention(*tensors, return_lse=True)
    oracle.check_gradients(
        torch.autograd.grad(out, tensors, dout, retain_graph=True), *(t.detach() for t in tensors), dout
    )
    of_lse = torch.autograd.grad(lse, tensors, dlse)
    oracle.check_gradients(of_lse, *tensors, torch.zeros_like(dout), dlse)
    assert (of_lse[2] == 0).all()


@pytest.mark.parametrize("needs", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)])
def test_some_inputs_may_do_without(needs):
    q, k, v = qkv(grad=False)
    whole = gradients(fm.attention, [t.clone().requires_grad_() for t in (q, k, v)])
    some = [t.clone().requires_grad_(bool(n)) for t, n in zip((q, k, v), needs)]
    fm.attention(*some).sum().backward()
    for tensor, expected in zip(some, whole):
        assert tensor.grad is None if not tensor.requires_grad else torch.equal(tensor.grad, expected)


def test_gradients_that_are_expanded_or_transposed():
    tensors = qkv()
    expected = gradients(fm.attention, tensors, torch.ones(2, 4, 9, 16))
    assert same(torch.autograd.grad(fm.attention(*tensors).sum(), tensors), expected)
    heads_last = torch.ones(2, 9, 4, 16).transpose(1, 2)
    assert same(gradients(fm.attention, tensors, heads_last), expected)
    _, lse = fm.attention(*tensors, return_lse=True)
    of_sum = torch.autograd.grad(lse.sum(), tensors)
    oracle.check_gradients(of_sum, *tensors, torch.zeros(2, 4, 9, 16), torch.ones(2, 4, 9))


def test_views_of_one_packed_parameter():
    packed = normal(2, 9, 3, 4, 16).requires_grad_()  # [B, S, {q, k, v}, H, D]
    q, k, v = packed.unbind(2)
    fm.attention(*(t.transpose(1, 2) for t in (q, k, v)), causal=True).sum().backward()
    parts = [packed.detach()[:, :, i].transpose(1, 2) for i in range(3)]
    expected = oracle.gradients(*parts, torch.ones(2, 4, 9, 16), causal=True)
    for i, gradient in enumerate(expected):
        assert oracle.disagreement(packed.grad[:, :, i].transpose(1, 2), gradient.value, gradient.bound) == ""


def test_nothing_is_recorded_where_nothing_is_wanted():
    q, k, v = qkv()
    expected = fm.attention(*(t.detach() for t in (q, k, v)))
    with torch.no_grad():
        out = fm.attention(q, k, v)
    assert not out.requires_grad and torch.equal(out, expected)
    with torch.inference_mode():
        assert not fm.attention(q, k, v).requires_grad
    assert fm.attention(q, k, v).requires_grad
    assert torch.equal(fm.attention(q, k, v), expected)


def test_results_in_place_can_not_be_differentiated():
    q, k, v = qkv()
    out = torch.full((2, 4, 9, 16), 5.0)
    with pytest.raises(NotImplementedError, match=r"out is given.*\n.*no_grad"):
        fm.attention(q, k, v, out=out)
    plain_q, plain_k, plain_v = (t.detach() for t in (q, k, v))
    with pytest.raises(NotImplementedError, match="out requires grad"):
        fm.attention(plain_q, plain_k, plain_v, out=out.requires_grad_())
    assert (out == 5).all()


def test_a_changed_input_is_noticed():
    q, k, v = qkv()
    doubled = q * 2
    out = fm.attention(doubled, k, v)
    doubled.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("options", [{}, {"kv_lengths": torch.tensor([3, 9]).int()}, {"softcap": 2.0}])
def test_a_changed_result_is_noticed(options):
    out = fm.attention(*qkv(), **options)
    out.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("return_lse", [False, True])
def test_hooks_see_what_is_saved(return_lse):
    q, k, v = qkv()
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tensor.shape)
        return tensor.clone()

    def unpack(tensor):
        unpacked.append(tensor.shape)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        result = fm.attention(q, k, v, return_lse=return_lse)
    out = result[0] if return_lse else result
    assert packed == [q.shape, k.shape, v.shape, out.shape, out.shape[:3]] and not unpacked
    expected = gradients(fm.attention, qkv())
    assert same(torch.autograd.grad(out, (q, k, v), torch.ones_like(out)), expected)
    assert unpacked == packed


def test_hooks_see_the_lengths_that_are_saved():
    tensors = [normal(12, 2, 8, seed=i).requires_grad_() for i in range(3)]
    starts = torch.tensor([0, 5, 12], dtype=torch.int32)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(packed.append, lambda nothing: starts):
        fm.attention_varlen(*tensors, starts, starts, 7, 7)
    assert [t.shape for t in packed] == [*[(12, 2, 8)] * 4, (2, 12), (3,), (3,)]


@pytest.mark.parametrize("as_given", [torch.Tensor.numpy, torch.Tensor.clone])
def test_lengths_of_any_library_are_recorded(as_given):
    starts = torch.tensor([0, 5, 12], dtype=torch.int32)
    tensors = [normal(12, 2, 8, seed=i).requires_grad_() for i in range(3)]
    longest = starts.diff().max()  # a tensor, as programs for flash_attn have it
    ours = gradients(
        lambda *qkv: fm.attention_varlen(*qkv, as_given(starts), starts, longest, longest, causal=True), tensors
    )
    parts = [[t[a:b].transpose(0, 1)[None] for t in tensors] for a, b in ((0, 5), (5, 12))]
    one_by_one = torch.cat([fm.attention(*part, True)[0].transpose(0, 1) for part in parts])
    assert close(ours, torch.autograd.grad(one_by_one.sum(), tensors))


def test_a_call_within_the_recording_of_another():
    """As a finalizer may make one: autograd allocates before it asks what to keep."""
    from flashmoe_science._autograd import apply_call

    tensors = qkv()
    results = fm.attention(*(t.detach() for t in tensors), return_lse=True)
    inner = []

    def apply(*inputs):
        inner.append(fm.attention(*qkv(), True))
        return apply_call(*inputs)

    options = (False, None, 0, None, None)
    outer = fm._C.record(apply, tuple(tensors), (*tensors, *results), options, results[0])
    assert same(gradients(lambda *_: outer, tensors), gradients(fm.attention, qkv()))
    inner_tensors = qkv()
    assert same([inner[0]], [fm.attention(*inner_tensors, True)]) and inner[0].requires_grad
    with pytest.raises(RuntimeError, match="nothing is being recorded"):
        apply_call(*tensors)


def test_torch_func_around_tensors_that_it_does_not_know():
    q, k, v = qkv()
    scale = torch.tensor(2.0)

    def loss(scale):  # q, k and v are autograd's, and no transform's
        return (fm.attention(q, k, v) * scale).sum()

    expected = fm.attention(q, k, v).sum()
    of_scale = torch.func.grad(loss)(scale)
    assert torch.allclose(of_scale, expected)
    assert same(torch.autograd.grad(of_scale, (q, k, v)), gradients(fm.attention, (q, k, v)))
    each = torch.func.vmap(lambda scale: fm.attention(q, k, v) * scale)(torch.tensor([1.0, 3.0]))
    assert close([each[1]], [3 * fm.attention(q, k, v)])


def test_what_autograd_refuses_is_said_as_it_says_it():
    def pack(tensor):
        raise ZeroDivisionError("of the hook")

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        with pytest.raises(ZeroDivisionError, match="of the hook"):
            fm.attention(*qkv())


def test_a_gradient_of_numpy_arrays_is_not_lost():
    q, k, v = qkv()
    with pytest.raises(TypeError, match=r"k is a ndarray, and a gradient is wanted\n.*torch.as_tensor\(k\)"):
        fm.attention(q, k.detach().numpy(), v)


def test_deterministic_follows_pytorch(monkeypatch):
    asked = []
    backward = fm._C.attention_backward
    monkeypatch.setattr(
        fm._C,
        "attention_backward",
        lambda *args, **options: asked.append(options["deterministic"]) or backward(*args, **options),
    )
    tensors = qkv()
    try:
        for wanted in (None, True, False):
            for enabled in (False, True):
                torch.use_deterministic_algorithms(enabled)
                gradients(lambda *t, wanted=wanted: fm.attention(*t, deterministic=wanted), tensors)
    finally:
        torch.use_deterministic_algorithms(False)
    assert asked == [False, True, True, True, False, False]


def test_second_derivatives_are_refused():
    import flashmoe_science.torch  # noqa: F401

    q, k, v = qkv()
    for attention in (fm.attention, torch.ops.flashmoe_science.attention):
        (dq,) = torch.autograd.grad(attention(q, k, v).square().sum(), q, create_graph=True)
        assert torch.allclose(dq, torch.autograd.grad(attention(q, k, v).square().sum(), q)[0])
        with pytest.raises(NotImplementedError, match="second derivatives are not implemented"):
            dq.sum().backward()


def test_forward_mode_is_refused():
    from torch.autograd import forward_ad

    q, k, v = qkv(grad=False)
    with forward_ad.dual_level():
        assert torch.equal(fm.attention(q, k, v), fm.attention(q, k, v))
        with pytest.raises(NotImplementedError, match="forward-mode derivatives are not implemented"):
            fm.attention(q, forward_ad.make_dual(k, torch.ones_like(k)), v)
    with pytest.raises(NotImplementedError, match="forward-mode derivatives are not implemented"):
        torch.func.jvp(lambda q: fm.attention(q, k, v), (q,), (q,))
