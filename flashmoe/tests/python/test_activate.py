# SPDX-License-Identifier: MIT
"""activate(): PyTorch's own attention is computed here, for everything that is built on it."""

import concurrent.futures
import subprocess
import sys

import oracle
import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "get_kernel"):
    pytest.skip("activate() needs PyTorch 2.10 or newer", allow_module_level=True)
from flashmoe_science import _activate, _aten

aten = torch.ops.aten
sdpa = torch.nn.functional.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def inactive():
    assert _activate._installed is None  # importing activates nothing, and no test leaves it active
    yield
    fm.deactivate()


def normal(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def qkv(q_shape=(2, 4, 19, 16), kv_shape=None, dtype=torch.float32, layout="heads first"):
    shapes = (q_shape, kv_shape or q_shape, kv_shape or q_shape)
    tensors = [normal(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    if layout == "rows first":
        tensors = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in tensors]
    return tensors


def gradients(function, tensors, seed=9):
    tensors = [t.detach().requires_grad_() for t in tensors]
    out = function(*tensors)
    return [out.detach(), *torch.autograd.grad(out, tensors, normal(*out.shape, seed=seed).to(out.dtype))]


def close(ours, expected, tolerance=2e-5):
    assert len(ours) == len(expected)
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.4, "enable_gqa": True}])
@pytest.mark.parametrize("layout", ["heads first", "rows first"])
def test_results_and_gradients(dtype, options, layout):
    heads = 2 if options.get("enable_gqa") else 4
    tensors = qkv((2, 4, 19, 16), (2, heads, 33, 16), dtype, layout)
    with fm.activate() as account:
        out, *grads = gradients(lambda *t: sdpa(*t, **options), tensors)
    assert account.ours == 1 and not account.theirs
    causal = "top_left" if options.get("is_causal") else False
    oracle.check(out, None, *tensors, causal, options.get("scale"))
    oracle.check_gradients(
        grads, *tensors, normal(*out.shape, seed=9).to(dtype), None, causal, options.get("scale")
    )


@pytest.mark.parametrize("rows", [64, 192, 320, 832])
@pytest.mark.parametrize("masked", [False, True])
def test_rows_past_a_tile_whose_scores_lie_far_below_zero(rows, masked):
    """Some releases of cuDNN give NaN in dq here (pytorch#196678): S % 128 == 64, a mask, and a log-sum-exp below -88."""
    q, k, v = (0.1 * t for t in qkv((1, 2, rows, 64), dtype=torch.bfloat16))
    q, k = q - 5, k + 5  # scores of -200
    mask = torch.ones(1, 1, rows, rows, dtype=torch.bool) if masked else None
    with fm.activate() as account:
        out, *grads = gradients(lambda *t: sdpa(*t, attn_mask=mask), (q, k, v))
    assert account.ours == 1
    oracle.check(out, None, q, k, v, False, None)
    oracle.check_gradients(grads, q, k, v, normal(*out.shape, seed=9).to(out.dtype), None, False, None)


def test_it_is_our_kernel():
    tensors = qkv()
    with fm.activate():
        assert torch.equal(sdpa(*tensors, is_causal=True), fm.attention(*tensors, causal="top_left"))


def test_what_can_not_be_done_here_goes_on():
    q, k, v = qkv()
    calls = [
        lambda: gradients(sdpa, [t.double() for t in (q, k, v)]),
        lambda: [sdpa(*(t.repeat(1, 1, 1, 17) for t in (q, k, v)))],
    ]
    expected = [call() for call in calls]
    with fm.activate() as account:
        ours = [call() for call in calls]
    for a, b in zip(ours, expected):
        assert all(map(torch.equal, a, b))
    assert account.ours == 0
    assert sum(account.theirs.values()) == 2
    assert str(account).startswith("flashmoe: 0 of 2 attentions computed here\n")
    assert "1 to PyTorch: the tensors are torch.float64" in str(account)


@pytest.mark.parametrize("shape", [(19, 19), (2, 1, 1, 19), (2, 4, 19, 19)])
@pytest.mark.parametrize("kind", [torch.bool, torch.float32])
def test_masks_that_are_tensors_are_computed_here(shape, kind):
    q, k, v = qkv()
    mask = normal(*shape, seed=9) < 0.6
    if kind is not torch.bool:
        mask = normal(*shape, seed=8).where(mask, -torch.inf)
    expected = gradients(lambda q, k, v: sdpa(q, k, v, mask), (q, k, v))
    with fm.activate() as account:
        ours = gradients(lambda q, k, v: sdpa(q, k, v, mask), (q, k, v))
    assert account.ours == 1 and not account.theirs
    close(ours, expected)


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_backward_pass_of_the_other_side(first):
    tensors = qkv((2, 4, 19, 16), (2, 4, 33, 16), layout="rows first")
    expected = gradients(lambda *t: sdpa(*t, is_causal=True), tensors)
    leaves = [t.detach().requires_grad_() for t in tensors]
    if first == "ours":
        fm.activate()
    out = sdpa(*leaves, is_causal=True)
    fm.deactivate() if first == "ours" else fm.activate()
    grads = torch.autograd.grad(out, leaves, normal(*out.shape, seed=9))
    close([out.detach(), *grads], expected)


def layouts(tensors):
    return [(t.shape, t.stride(), t.dtype) for t in tensors if isinstance(t, torch.Tensor)]


@pytest.mark.parametrize("layout", ["heads first", "rows first"])
@pytest.mark.parametrize("q_shape", [(2, 4, 19, 16), (1, 4, 19, 16), (2, 1, 1, 16)])
def test_layouts_are_those_that_compiled_programs_rely_on(layout, q_shape):
    tensors = qkv(q_shape, dtype=torch.bfloat16, layout=layout)
    shapes = [t.to("meta") for t in tensors]
    heads_last = [t.transpose(1, 2) for t in tensors]
    forward = {
        "_scaled_dot_product_flash_attention_for_cpu": (tensors, shapes, ()),
        "_scaled_dot_product_flash_attention": (tensors, shapes, ()),
        "_scaled_dot_product_cudnn_attention": (tensors, shapes, (None, True)),
        "_flash_attention_forward": (
            heads_last,
            [t.to("meta") for t in heads_last],
            (None, None, q_shape[2], q_shape[2], 0.0, True, False),
        ),
    }
    for name, (real, meta, options) in forward.items():
        ours = getattr(_aten, name)(*real, *options)
        fake = getattr(aten, name)(*meta, *options)
        assert len(ours) == len(fake), name
        assert layouts(ours[:2]) == layouts(fake[:2]), name
    out, lse = _aten._scaled_dot_product_flash_attention_for_cpu(*tensors)
    arguments = [out, *tensors, out, lse]
    fake = [t.to("meta") for t in arguments]
    name = "_scaled_dot_product_flash_attention_for_cpu_backward"
    ours, expected = getattr(_aten, name)(*arguments, 0.0, False), getattr(aten, name)(*fake, 0.0, False)
    assert layouts(ours) == layouts(expected)


def test_pytorchs_own_check_of_the_operator():
    with fm.activate():
        for layout in ("heads first", "rows first"):
            tensors = [t.requires_grad_() for t in qkv(layout=layout)]
            torch.library.opcheck(
                aten._scaled_dot_product_flash_attention_for_cpu.default,
                (*tensors, 0.0, True),
                test_utils=("test_faketensor", "test_aot_dispatch_dynamic"),
            )


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_operators_of_a_gpu_compute_what_theirs_do(is_causal):
    """Called with tensors in the CPU's memory, which is where there is memory everywhere."""
    square = qkv((2, 4, 23, 16), (2, 2, 23, 16))
    longer = qkv((2, 4, 9, 16), (2, 2, 23, 16))
    dout = {9: normal(2, 4, 9, 16, seed=4), 23: normal(2, 4, 23, 16, seed=4)}
    no = (None, None, 23, 23)
    for tensors, corner in ((square, True), (longer, True)):  # FlashAttention's corner is bottom-right
        causal = corner if is_causal else False
        grad = dout[tensors[0].shape[2]]
        out, lse, *rest = _aten._scaled_dot_product_flash_attention(*tensors, 0.0, is_causal)
        oracle.check(out, lse, *tensors, causal)
        back = _aten._scaled_dot_product_flash_attention_backward(
            grad, *tensors, out, lse, *no, 0.0, is_causal, rest[4], rest[5]
        )
        oracle.check_gradients(back, *tensors, grad, None, causal)
        heads_last = [t.transpose(1, 2) for t in tensors]
        out, lse, seed, offset, _ = _aten._flash_attention_forward(*heads_last, *no, 0.0, is_causal, False)
        oracle.check(out.transpose(1, 2), lse, *tensors, causal)
        back = _aten._flash_attention_backward(
            grad.transpose(1, 2), *heads_last, out, lse, *no, 0.0, is_causal, seed, offset
        )
        oracle.check_gradients([t.transpose(1, 2) for t in back], *tensors, grad, None, causal)
    for tensors in (square, longer):  # cuDNN's is top-left
        causal = "top_left" if is_causal else False
        grad = dout[tensors[0].shape[2]]
        out, lse, *rest = _aten._scaled_dot_product_cudnn_attention(*tensors, None, True, 0.0, is_causal)
        oracle.check(out, lse.squeeze(3), *tensors, causal)
        back = _aten._scaled_dot_product_cudnn_attention_backward(
            grad, *tensors, out, lse, rest[4], rest[5], None, *no, 0.0, is_causal
        )
        oracle.check_gradients(back, *tensors, grad, None, causal)


def test_what_the_operators_of_a_gpu_leave_to_the_kernels_before():
    q, k, v = qkv()
    rows = [t.transpose(1, 2) for t in (q, k, v)]
    flash, cudnn = _aten._scaled_dot_product_flash_attention, _aten._scaled_dot_product_cudnn_attention
    assert flash(q, k, v, 0.1) is None and flash(q, k, v, 0.0, False, True) is None
    assert cudnn(q, k, v, normal(19, 19).half(), True) is None and cudnn(q, k, v, None, True, 0.1) is None
    forward = _aten._flash_attention_forward
    dense = (None, None, 19, 19, 0.0, False, False)
    assert forward(*rows, *dense) is not None
    assert forward(*rows, *dense, alibi_slopes=torch.ones(4)) is None
    assert forward(*rows, *dense, seqused_k=None, page_table=torch.ones(2, 2)) is None
    offsets = torch.tensor([0, 19], dtype=torch.int32)
    packed = (*(t[0] for t in rows), offsets, offsets, 19, 19)
    assert forward(*packed, 0.0, False, False) is not None
    assert forward(*packed, 0.1, False, False) is None and forward(*packed, 0.0, False, True) is None
    assert forward(*packed, 0.0, False, False, seqused_k=offsets[1:]) is None
    assert forward(*rows, *packed[3:], 0.0, False, False) is None
    out, lse, *_ = forward(*rows, *dense, window_size_left=3, window_size_right=-1)
    assert torch.equal(out.transpose(1, 2), fm.attention(q, k, v, window=(3, None)))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("window", [None, (5, 2)])
def test_packed_sequences(is_causal, window):
    q, k, v = (normal(40, heads, 16, seed=heads + i) for i, heads in enumerate((4, 2, 2)))
    dout = normal(40, 4, 16, seed=9)
    offsets = torch.tensor([0, 15, 15, 40], dtype=torch.int32)
    packed = (offsets, offsets, 25, 25, 0.0, is_causal)
    sides = {} if window is None else dict(zip(("window_size_left", "window_size_right"), window))
    with fm.activate() as account:
        out, lse, seed, rest, _ = aten._flash_attention_forward(q, k, v, *packed, False, **sides)
        back = aten._flash_attention_backward(dout, q, k, v, out, lse, *packed, seed, rest, **sides)
    assert (account.ours, sum(account.theirs.values())) == (1, 0) and lse.shape == (4, 40)
    for rows in (slice(0, 15), slice(15, 40)):
        q1, k1, v1, out1, dout1, *back1 = (
            t[rows].transpose(0, 1).unsqueeze(0) for t in (q, k, v, out, dout, *back)
        )
        expected = fm.attention(q1, k1, v1, causal=is_causal, window=window, return_lse=True)
        close((out1, lse[:, rows].unsqueeze(0)), expected)
        of_one = fm.attention_backward(q1, k1, v1, *expected, dout1, causal=is_causal, window=window)
        close(back1, of_one)


@pytest.mark.parametrize("compiled", [False, True])
def test_varlen_attn(compiled):
    varlen_attn = pytest.importorskip("torch.nn.attention.varlen").varlen_attn
    q = normal(40, 4, 16, dtype=torch.bfloat16)
    offsets = torch.tensor([0, 15, 40], dtype=torch.int32)

    def packed(q):
        return varlen_attn(q, q, q, offsets, offsets, 25, 25)

    def one_by_one(q):
        rows = (q[:15], q[15:])
        return torch.cat([sdpa(*[t.transpose(0, 1).unsqueeze(0)] * 3)[0].transpose(0, 1) for t in rows])

    torch._dynamo.reset()
    with fm.activate() as account:
        ours = gradients(torch.compile(packed, backend="aot_eager") if compiled else packed, [q])
    assert (account.ours, sum(account.theirs.values())) == (1, 0)
    close(ours, gradients(one_by_one, [q]), 2e-2)
    with pytest.raises(NotImplementedError):  # as before activate()
        packed(q)
    with fm.activate(), pytest.raises(NotImplementedError, match="neither PyTorch nor flashmoe"):
        wide = normal(40, 4, 300)
        varlen_attn(wide, wide, wide, offsets, offsets, 25, 25)
    torch._dynamo.reset()


def encoder_layer():
    torch.manual_seed(0)
    return torch.nn.TransformerEncoderLayer(32, 4, 48, batch_first=True, dropout=0.0)


@pytest.mark.parametrize("training", [False, True])
def test_the_layers_of_pytorch(training):
    layer, x = encoder_layer().train(training), normal(2, 11, 32)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(11)
    attention = torch.nn.MultiheadAttention(32, 4, batch_first=True).train(training)

    def run():
        with torch.set_grad_enabled(training):
            return (
                layer(x),
                layer(x, src_mask=mask, is_causal=True),
                attention(x, x[:, :5], x[:, :5], need_weights=False)[0],
            )

    expected = run()
    with fm.activate() as account:
        ours = run()
    assert account.ours == 3 and not account.theirs
    close(ours, expected)
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_layer_with_a_padding_mask_is_right_too():
    layer, x = encoder_layer().eval(), normal(2, 11, 32)
    padding = torch.zeros(2, 11, dtype=torch.bool)
    padding[1, 7:] = True
    with torch.no_grad():
        expected = layer(x, src_key_padding_mask=padding)
        with fm.activate() as account:
            ours = layer(x, src_key_padding_mask=padding)
    assert account.ours == 1 and not account.theirs
    close([ours[0], ours[1, :7]], [expected[0], expected[1, :7]])


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_programs(backend):
    torch._dynamo.reset()
    tensors = qkv(layout="rows first")

    def block(q, k, v):
        return sdpa(q.sin(), k, v, is_causal=True).transpose(1, 2).flatten(2) * 2

    expected = gradients(block, tensors)
    compiled = torch.compile(block, fullgraph=True, backend=backend)
    try:
        gradients(compiled, tensors)  # compiled before
    except Exception as error:
        if "compiler" not in str(error).lower():
            raise
        pytest.skip(f"the default backend finds no compiler here: {error}")
    with fm.activate() as account:
        ours = gradients(compiled, tensors)
        again = gradients(torch.compile(block, fullgraph=True, backend=backend), tensors)
    assert account.ours >= 2 and not account.theirs
    close(ours, expected)
    close(again, expected)
    torch._dynamo.reset()


def test_torch_func_export_and_trace():
    q = normal(3, 2, 4, 9, 16)

    def loss(q):
        return sdpa(q, q, q, is_causal=True).square().sum()

    def everything():
        return torch.func.vmap(lambda q: sdpa(q, q, q))(q), torch.func.grad(loss)(q[0])

    class Block(torch.nn.Module):
        def forward(self, q):
            return sdpa(q, q, q)

    expected = everything()
    with fm.activate() as account:
        ours = everything()
        exported = torch.export.export(Block(), (q[0],)).module()
        traced = torch.jit.trace(Block(), (q[0],))
        for program in (exported, traced):
            assert torch.equal(program(q[1]), fm.attention(q[1], q[1], q[1]))
    assert not account.theirs
    close(ours, expected, 1e-4)


def test_flops_are_counted():
    from torch.utils.flop_counter import FlopCounterMode, flop_registry

    tensors = qkv((2, 4, 10, 16), (2, 2, 20, 16))
    product = 2 * 2 * 4 * 10 * 20 * 16
    before = dict(flop_registry)  # newer releases know the CPU's operator themselves
    with fm.activate():
        with FlopCounterMode(display=False) as counter:
            gradients(lambda *t: sdpa(*t, enable_gqa=True), tensors)
        assert counter.get_total_flops() == (2 + 5) * product
    assert flop_registry == before


def test_activating_twice_is_activating():
    tensors = qkv()
    fm.activate()
    fm.activate()
    with fm.activate() as inner:
        sdpa(*tensors)
    with fm.activate() as account:  # the end of a block ends no more than the block
        sdpa(*tensors)
    assert inner.ours == 1 and account.ours == 1
    fm.deactivate()
    assert _activate._installed is None
    fm.deactivate()
    expected = sdpa(*tensors)
    for _ in range(3):
        with fm.activate():
            pass
    assert torch.equal(sdpa(*tensors), expected)


def test_a_block_that_fails_ends_it_too():
    with pytest.raises(KeyError):
        with fm.activate():
            raise KeyError
    assert _activate._installed is None


def test_it_says_nothing(root):
    code = (
        "import torch, warnings, flashmoe_science as fm; q = torch.ones(1, 1, 3, 8); warnings.simplefilter('error')\n"
        "with fm.activate(): torch.nn.functional.scaled_dot_product_attention(q, q, q)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root / "flashmoe" / "python", capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_several_threads_at_once():
    tensors = qkv()
    expected = gradients(sdpa, tensors)

    def work(_):
        with fm.activate():
            return gradients(sdpa, tensors)

    with fm.activate() as account, concurrent.futures.ThreadPoolExecutor(4) as pool:
        for ours in pool.map(work, range(40)):
            close(ours, expected)
    assert account.ours == 40
    assert _activate._installed is None


def test_pytorchs_list_of_implementations_has_it():
    attention = torch.nn.attention
    if not hasattr(attention, "list_flash_attention_impls"):
        pytest.skip("this release of PyTorch has no such list")
    assert "flashmoe" in attention.list_flash_attention_impls()
    if not hasattr(attention, "restore_flash_attention_impl"):
        pytest.skip("this release of PyTorch can't take an implementation back")
    tensors = qkv()
    attention.activate_flash_attention_impl("flashmoe")
    assert torch.equal(sdpa(*tensors), fm.attention(*tensors))
    attention.restore_flash_attention_impl()
    assert _activate._installed is None
    with fm.activate():
        assert attention.current_flash_attention_impl() == "flashmoe"
    assert attention.current_flash_attention_impl() is None


def test_autocast_and_inference_mode():
    q, k, v = qkv()
    with fm.activate() as account, torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        out = sdpa(q, k, v)
    assert out.dtype == torch.bfloat16 and out.is_inference() and account.ours == 1
    close([out.float()], [sdpa(q, k, v)], 0.05)
