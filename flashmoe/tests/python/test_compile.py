# SPDX-License-Identifier: MIT
"""torch.compile takes attention() as one operator, without a graph break, and gives what a plain call gives."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.compiler, "substitute_in_graph"):
    pytest.skip("this release of PyTorch can't be told what a native function does", allow_module_level=True)
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and "cuda" in fm._C.library_version else [])


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def qkv(device="cpu", dtype=torch.float32, q_shape=(2, 4, 37, 64), kv_shape=None):
    generator = torch.Generator().manual_seed(3)
    shapes = (q_shape, kv_shape or q_shape, kv_shape or q_shape)
    return [torch.randn(shape, generator=generator).to(device, dtype) for shape in shapes]


def compiled(function, backend="aot_eager", **options):
    return torch.compile(function, fullgraph=True, backend=backend, **options)


def same(ours, theirs):
    if isinstance(ours, torch.Tensor):
        ours, theirs = [ours], [theirs]
    return all(
        a.dtype == b.dtype and a.stride() == b.stride() and torch.equal(a, b) for a, b in zip(ours, theirs)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize("return_lse", [False, True])
def test_options(device, dtype, causal, return_lse):
    tensors = qkv(device, dtype, (1, 8, 5, 32), (1, 2, 40, 32))

    def block(q, k, v):
        return fm.attention(q + 1, k, v, causal=causal, scale=0.2, return_lse=return_lse)

    assert same(compiled(block)(*tensors), block(*tensors))


def test_code_from_the_default_backend(device):
    q, k, v = qkv(device)

    def block(q, k, v):
        out, lse = fm.attention(torch.relu(q), k, v, True, return_lse=True)
        return out.transpose(1, 2).flatten(2) * 2, lse.exp()

    try:
        result = compiled(block, "inductor")(q, k, v)
    except Exception as error:
        if "compiler" not in str(error).lower():
            raise
        pytest.skip(f"the default backend finds no compiler here: {error}")
    for ours, plain in zip(result, block(q, k, v)):
        assert torch.allclose(ours, plain, rtol=1e-5, atol=1e-6)


def test_layouts_are_those_of_a_plain_call(device):
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in qkv(device))
    for block in (
        fm.attention,
        lambda q, k, v: fm.attention(q[:, :, ::3], k, v),
        lambda q, k, v: fm.attention(q[:, :1], k[:, :1], v[:, :1]),
    ):
        assert same(compiled(lambda q, k, v, block=block: block(q, k, v))(q, k, v), block(q, k, v))


def test_sizes_may_stay_open(device):
    function = compiled(lambda q, k, v: fm.attention(q, k, v, causal=True), dynamic=True)
    for rows in (5, 17, 64):
        tensors = qkv(device, q_shape=(2, 4, rows, 32))
        assert same(function(*tensors), fm.attention(*tensors, causal=True))


def test_out_is_written(device):
    q, k, v = qkv(device)
    out = torch.full_like(q, float("nan"))
    result = compiled(lambda q, k, v, out: fm.attention(q, k, v, out=out))(q, k, v, out)
    assert same(out, fm.attention(q, k, v)) and same(result, out)
    with pytest.raises(Exception, match="out is"):
        compiled(lambda q, k, v, out: fm.attention(q, k, v, out=out))(q, k, v, out[..., :8])


def test_options_are_passed_on():
    from torch._dynamo.testing import EagerAndRecordGraphs

    record = EagerAndRecordGraphs()
    tensors = qkv()
    options = {"threads": 1, "programmatic": True, "deterministic": True}
    compiled(lambda *qkv: fm.attention(*qkv, **options, window=(5, None)), record)(*tensors)
    (call,) = [node for node in record.graphs[0].graph.nodes if node.op == "call_function"]
    assert call.target is torch.ops.flashmoe_science.attention.default
    assert dict(call.kwargs) == options | {"window": [5, -1]}


def test_numpy_arrays_inside_a_compiled_function_still_work():
    q, k, v = (tensor.numpy() for tensor in qkv())
    result = torch.compile(lambda q, k, v: fm.attention(q, k, v), backend="aot_eager")(q, k, v)
    assert np.array_equal(np.asarray(result), fm.attention(q, k, v))


@pytest.mark.parametrize("name", ["attention", "attention_with_lse"])
@pytest.mark.parametrize("layout", ["dense", "heads last", "grouped"])
def test_operators_keep_what_they_promise(device, name, layout):
    import flashmoe_science.torch  # noqa: F401

    q, k, v = qkv(device, q_shape=(2, 4, 9, 16), kv_shape=(2, 2 if layout == "grouped" else 4, 21, 16))
    if layout == "heads last":
        q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v))
    operator = getattr(torch.ops.flashmoe_science, name).default
    for options in ((), ("bottom_right",), ("top_left", 0.3)):
        torch.library.opcheck(operator, (q, k, v, *options), {"threads": 2})


def test_operators_refuse_as_plain_calls_do():
    import flashmoe_science.torch  # noqa: F401

    operator = torch.ops.flashmoe_science.attention
    q, k, v = qkv()
    with pytest.raises(
        ValueError, match="mask is 'sideways'; accepted are 'none', 'bottom_right', 'top_left'"
    ):
        operator(q, k, v, "sideways")
    with pytest.raises(ValueError, match="k has shape"):
        operator(q, k[:, :, :, :8], v)
    meta_q, meta_k, meta_v = (t.to("meta") for t in (q, k, v))
    for bad, message in (
        ((meta_q, meta_k, meta_v[0]), "v has 3 dimensions"),
        ((meta_q, meta_k[:1], meta_v[:1]), r"k has shape \[1, 4, 37, 64\] and q"),
        ((meta_q, meta_k, meta_v[:, :, :5]), r"v has shape \[2, 4, 5, 64\] and k"),
        ((meta_q, meta_k[:, :3], meta_v[:, :3]), "q has 4 heads and k has 3"),
        ((meta_q, meta_k.half(), meta_v), "k is torch.float16 and q is torch.float32"),
    ):
        with pytest.raises(RuntimeError, match=message):
            operator(*bad)
    meta = operator(*(t.to("meta") for t in (q, k, v)))
    assert meta.device.type == "meta" and meta.shape == q.shape


def test_tensors_of_a_gpu_can_be_traced_without_one():
    from torch._subclasses.fake_tensor import FakeTensorMode

    import flashmoe_science.torch  # noqa: F401

    with FakeTensorMode():
        q = torch.empty(1, 8, 5, 64, device="cuda", dtype=torch.bfloat16)
        k = torch.empty(1, 2, 70, 64, device="cuda", dtype=torch.bfloat16)
        out, lse = torch.ops.flashmoe_science.attention_with_lse(q, k, k, "bottom_right")
    assert (out.device.type, out.shape, out.dtype) == ("cuda", q.shape, torch.bfloat16)
    assert (lse.device.type, lse.shape, lse.dtype) == ("cuda", q.shape[:3], torch.float32)


IMPORTS = """
import sys
{first}
assert {torch_is_loaded} == ("torch" in sys.modules)
import torch
loaded = "torch._dynamo" in sys.modules
import flashmoe_science as fm
assert ("torch._dynamo" in sys.modules) == loaded, "importing the package must not load the compiler"
q = torch.randn(1, 2, 5, 16)
function = torch.compile(lambda q: fm.attention(q, q, q), fullgraph=True, backend="eager")
assert torch.equal(function(q), fm.attention(q, q, q))
assert all(getattr(finder, "name", "") != "torch._dynamo" for finder in sys.meta_path)
print("one graph")
"""


@pytest.mark.parametrize(
    "first, torch_is_loaded",
    [("import flashmoe_science", False), ("import torch", True), ("import torch._dynamo", True)],
)
def test_the_order_of_imports_does_not_matter(first, torch_is_loaded):
    run = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::UserWarning:flashmoe_science",
            "-c",
            IMPORTS.format(first=first, torch_is_loaded=torch_is_loaded),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.stdout.strip() == "one graph", run.stderr


def test_a_compiler_that_can_not_be_taught_is_no_reason_to_fail(monkeypatch):
    from flashmoe_science import _compile

    def refuse(*_):
        raise TypeError("another signature")

    monkeypatch.setattr(torch.compiler, "substitute_in_graph", refuse)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        _compile.teach_compiler(fm.attention)
    assert "torch.compile will break its graph at attention(): another signature" in str(said[0].message)
