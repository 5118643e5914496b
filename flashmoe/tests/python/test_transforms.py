# SPDX-License-Identifier: MIT
"""Gradients of attention() under what PyTorch puts around a call: checkpoints, torch.func, autocast, counters, tracers,
torch.compile, its operators' promises, threads."""

import gc
import os
import subprocess
import sys

import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("operators with gradients need PyTorch 2.4 or newer", allow_module_level=True)
from autograd_cases import close, gradients, normal, qkv, same

compiles = pytest.mark.skipif(
    not hasattr(torch.compiler, "substitute_in_graph"),
    reason="this release of PyTorch can't be told what a native function does",
)


@pytest.mark.parametrize("reentrant", [False, True])
def test_activation_checkpointing(reentrant):
    from torch.utils.checkpoint import checkpoint

    tensors = qkv()

    def block(q, k, v):
        return fm.attention(q.sin(), k, v, causal=True) * 2

    for tensor in tensors:
        tensor.grad = None
    checkpoint(block, *tensors, use_reentrant=reentrant).sum().backward()
    assert same([t.grad for t in tensors], gradients(block, tensors))


def test_torch_func():
    q, k, v = qkv(grad=False)

    def loss(q, k, v):
        out, lse = fm.attention(q, k, v, causal=True, return_lse=True)
        return out.square().sum() + lse.sum()

    tensors = qkv()
    expected = torch.autograd.grad(loss(*tensors), tensors)
    assert same(torch.func.grad(loss, argnums=(0, 1, 2))(q, k, v), expected)
    _, pull = torch.func.vjp(loss, q, k, v)
    assert same(pull(torch.tensor(1.0)), expected)
    assert torch.equal(torch.func.functional_call(Block(), {}, (q, k, v)), fm.attention(q, k, v, causal=True))


class Block(torch.nn.Module):
    def forward(self, q, k, v):
        return fm.attention(q, k, v, causal=True)


def test_vmap():
    import flashmoe_science.torch  # noqa: F401

    many = [torch.stack([t, t * 0.5, t - 1]) for t in qkv(grad=False)]
    one_by_one = torch.stack([fm.attention(*(t[i] for t in many), causal=True) for i in range(3)])
    assert close([torch.vmap(Block())(*many)], [one_by_one])
    operator = torch.ops.flashmoe_science.attention
    assert close([torch.vmap(lambda *t: operator(*t, "bottom_right"))(*many)], [one_by_one])
    shared = torch.vmap(Block(), in_dims=(1, None, None))(many[0].transpose(0, 1), many[1][0], many[2][0])
    assert torch.allclose(shared[1], fm.attention(many[0][1], many[1][0], many[2][0], causal=True), atol=1e-6)

    def loss(q, k, v):
        return fm.attention(q, k, v, causal=True).square().sum()

    each = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1, 2)))(*many)
    for i in range(3):
        alone = torch.func.grad(loss, argnums=(0, 1, 2))(*(t[i] for t in many))
        assert close([g[i] for g in each], alone)


def extras(kind, q):
    if kind == "mask":
        return {"attn_mask": normal(9, 21, seed=7).requires_grad_()}
    return {"plain": {}, "sinks": {"sinks": normal(4, seed=8)}, "dropout": {"dropout_p": 0.3, "dropout_seed": 5}}[kind]


@pytest.mark.parametrize("kind", ["plain", "sinks", "mask", "dropout"])
def test_jacobians_of_many_rows_at_once(kind):
    q, k, v = qkv(q_shape=(1, 4, 9, 16), kv_shape=(1, 4, 21, 16))
    options = extras(kind, q)
    leaves = [q, v, *(t for t in options.values() if isinstance(t, torch.Tensor) and t.requires_grad)]

    def call(*leaves):
        more = {"attn_mask": leaves[2]} if kind == "mask" else options
        return fm.attention(leaves[0], k, leaves[1], causal=True, **more)[..., :3, :2]

    out = call(*leaves)
    rows = normal(5, *out.shape, seed=3)
    expected = [torch.autograd.grad(out, leaves, row, retain_graph=True) for row in rows]
    expected = [torch.stack(each) for each in zip(*expected)]
    assert close(torch.autograd.grad(out, leaves, rows, is_grads_batched=True, retain_graph=True), expected)
    plain = [t.detach() for t in leaves]
    _, pull = torch.func.vjp(call, *plain)
    assert close(torch.vmap(pull)(rows), expected)
    one_by_one = torch.autograd.functional.jacobian(call, tuple(plain))
    assert close(torch.func.jacrev(call, argnums=tuple(range(len(plain))))(*plain), one_by_one)
    assert close(torch.autograd.functional.jacobian(call, tuple(plain), vectorize=True), one_by_one)


@pytest.mark.parametrize("grad", [False, True])
def test_autocast(grad):
    q, k, v = qkv(kv_shape=(2, 4, 21, 16), grad=grad)
    with torch.autocast("cpu", torch.bfloat16):
        out = fm.attention(q, k, v, causal=True)
        theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert out.dtype == theirs.dtype == torch.bfloat16
    assert torch.equal(out, fm.attention(*(t.bfloat16() for t in (q, k, v)), causal=True))
    if grad:
        out.float().square().sum().backward()
        assert q.grad.dtype == torch.float32 and torch.isfinite(q.grad).all()


def test_autocast_together_with_others():
    from torch.utils.flop_counter import FlopCounterMode

    q, k, v = qkv(grad=False)
    expected = fm.attention(*(t.bfloat16() for t in (q, k, v)))
    with torch.autocast("cpu", torch.bfloat16):
        with FlopCounterMode(display=False):
            assert torch.equal(fm.attention(q, k, v), expected)
        assert torch.equal(torch.vmap(fm.attention)(q[None], k[None], v[None])[0], expected)
        assert torch.func.grad(lambda q: fm.attention(q, k, v).float().sum())(q).dtype == torch.float32
        out = torch.empty_like(q)
        assert fm.attention(q, k, v, out=out) is out  # in place: as it is, as everywhere in PyTorch
        with pytest.raises(TypeError, match="k is a ndarray"):
            fm.attention(q, k.numpy(), v)
        with torch.autocast("cpu", enabled=False):
            assert fm.attention(q, k, v).dtype == torch.float32
    assert torch.equal(out, fm.attention(q, k, v))
    with torch.autocast("cuda", torch.bfloat16, enabled=torch.cuda.is_available()):
        assert fm.attention(q, k, v).dtype == torch.float32  # of another device


def test_flop_counters_see_the_call():
    counter = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode
    q, k, v = qkv(q_shape=(2, 4, 9, 16), kv_shape=(2, 4, 21, 16))
    with counter(display=False) as count:
        fm.attention(q, k, v)
    product = 2 * 2 * 4 * 9 * 21 * 16  # of q and k, say
    assert count.get_total_flops() == 2 * product
    with counter(display=False) as count:
        fm.attention(q, k, v).sum().backward()
    assert count.get_total_flops() == (2 + 5) * product


COUNTED_FIRST = """
{imports}
q = torch.randn(1, 2, 5, 16)
with FlopCounterMode(display=False) as count:
    fm.attention(q, q, q)
print(count.get_total_flops() == 2 * 2 * 2 * 5 * 5 * 16)
"""


@pytest.mark.parametrize("ours_first", [False, True])
def test_a_flop_counter_that_exists_before_the_first_call(ours_first):
    imports = ["import torch", "from torch.utils.flop_counter import FlopCounterMode"]
    imports.insert(0 if ours_first else 2, "import flashmoe_science as fm")
    run = subprocess.run(
        [sys.executable, "-c", COUNTED_FIRST.format(imports="\n".join(imports))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.stdout.strip() == "True", run.stderr


def test_traces_keep_the_call():
    tensors, others = qkv(grad=False), [t + 1 for t in qkv(grad=False)]
    traced = torch.jit.trace(Block(), tensors, check_trace=False)
    assert torch.equal(traced(*others), fm.attention(*others, causal=True))


@compiles
def test_exports_keep_the_call():
    tensors, others = qkv(grad=False), [t + 1 for t in qkv(grad=False)]
    for strict in (False, True):
        program = torch.export.export(Block(), tuple(tensors), strict=strict)
        assert "flashmoe_science.attention" in str(program.graph)
        assert torch.equal(program.module()(*others), fm.attention(*others, causal=True))


@compiles
def test_gradients_inside_torch_compile():
    torch._dynamo.reset()

    def block(q, k, v):
        out, lse = fm.attention(q.sin(), k, v, causal=True, return_lse=True)
        return out * 2 + lse[..., None].cos() + fm.attention(q, k, v)

    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    tensors = qkv()
    dout = normal(2, 4, 9, 16, seed=5)
    assert close(gradients(compiled, tensors, dout), gradients(block, tensors, dout))
    dynamic = torch.compile(block, fullgraph=True, backend="aot_eager", dynamic=True)
    for rows in (5, 9, 30):
        tensors = qkv(q_shape=(2, 4, rows, 16))
        assert close(gradients(dynamic, tensors), gradients(block, tensors))
    torch._dynamo.reset()


@pytest.mark.parametrize("name", ["attention", "attention_with_lse"])
@pytest.mark.parametrize("layout", ["dense", "heads last"])
def test_operators_keep_what_they_promise(name, layout):
    import flashmoe_science.torch  # noqa: F401

    tensors = qkv()
    if layout == "heads last":
        tensors = [t.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for t in tensors]
    operator = getattr(torch.ops.flashmoe_science, name).default
    for options in ((), ("bottom_right",), ("top_left", 0.3)):
        torch.library.opcheck(operator, (*tensors, *options), {"threads": 2})


def test_the_backward_operator_keeps_what_it_promises():
    import flashmoe_science.torch  # noqa: F401

    tensors = qkv(grad=False)
    out, lse = fm.attention(*tensors, return_lse=True)
    dout, dlse = normal(2, 4, 9, 16, seed=5), normal(2, 4, 9, seed=6)
    operator = torch.ops.flashmoe_science.attention_backward.default
    for of_results in ((dout, dlse), (dout, None), (None, dlse)):
        torch.library.opcheck(operator, (*of_results, *tensors, out, lse), {"deterministic": True})


def test_no_memory_is_lost():
    tensors = qkv()

    def tensors_alive():
        gc.collect()
        return sum(type(thing) is torch.Tensor for thing in gc.get_objects())

    gradients(fm.attention, tensors)
    before = tensors_alive()
    for _ in range(50):
        gradients(fm.attention, tensors)
    assert tensors_alive() == before


def test_gradients_from_several_threads_at_once():
    from concurrent.futures import ThreadPoolExecutor

    tensors = qkv()
    expected = gradients(fm.attention, tensors)
    with ThreadPoolExecutor(4) as pool:
        for ours in pool.map(lambda _: gradients(fm.attention, tensors), range(40)):
            assert close(ours, expected)
