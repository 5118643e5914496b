# SPDX-License-Identifier: MIT
"""attention_backward(): gradients of NumPy arrays, PyTorch tensors and DLPack objects, element by element against float64."""

import numpy as np
import oracle
import pytest

import flashmoe_science as fm

DTYPES = ["float32", "float16", "bfloat16"]


def heads_inside(tensor):
    """[B, S, H, D] in memory, seen as [B, H, S, D]."""
    return tensor.transpose(1, 2) if hasattr(tensor, "numpy") else tensor.swapaxes(1, 2)


def check(q, k, v, dout, dlse=None, **options):
    out, lse = fm.attention(q, k, v, return_lse=True, **options)
    gradients = fm.attention_backward(q, k, v, out, lse, dout, dlse=dlse, **options)
    options.pop("threads", None)
    oracle.check_gradients(gradients, q, k, v, dout, dlse, **options)
    return gradients


def tensors(make, dtype, q_shape, kv_shape):
    return [make(dtype, *shape) for shape in (q_shape, kv_shape, kv_shape, q_shape)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True, "top_left"])
@pytest.mark.parametrize("kv_heads, rows, keys", [(4, 37, 37), (2, 5, 70), (1, 70, 5)])
def test_agrees_with_the_oracle(make, dtype, causal, kv_heads, rows, keys):
    q, k, v, dout = tensors(make, dtype, (2, 4, rows, 32), (2, kv_heads, keys, 32))
    check(q, k, v, dout, make("float32", 2, 4, rows), causal=causal, scale=0.3)
    check(q, k, v, dout, causal=causal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [1, 3, 8, 40, 64, 100, 128, 200, 256])
def test_head_dims(make, dtype, head_dim):
    check(*tensors(make, dtype, (1, 2, 19, head_dim), (1, 1, 33, head_dim)), causal=True)


def test_random_problems(make):
    random = np.random.default_rng(11)

    def pick(*values):
        return values[random.integers(len(values))]

    for _ in range(60):
        batch, kv_heads, group = pick(1, 2), pick(1, 2, 3), pick(1, 1, 2, 4)
        rows, keys, dim = pick(1, 2, 17, 64, 65, 130), pick(1, 2, 17, 64, 65, 130), pick(1, 16, 24, 64, 72)
        dtype, causal = pick(*DTYPES), pick(False, True, "top_left")
        layout = pick("dense", "heads inside", "sliced", "one k and v")

        def tensor(heads, length):
            if layout == "heads inside":
                return heads_inside(make(dtype, batch, length, heads, dim))
            if layout == "sliced":
                return make(dtype, batch, heads, 2 * length, dim + 8)[:, :, 1::2, :dim]
            return make(dtype, batch, heads, length, dim)

        q, dout = (tensor(kv_heads * group, rows) for _ in range(2))
        k, v = (tensor(kv_heads, keys) for _ in range(2))
        if layout == "one k and v":
            shape = (batch, kv_heads, keys, dim)
            k, v = (
                t[:1, :1].expand(*shape) if make.name == "torch" else np.broadcast_to(t[:1, :1], shape)
                for t in (k, v)
            )
        dlse = make("float32", batch, kv_heads * group, rows) if random.integers(2) else None
        check(q, k, v, dout, dlse, causal=causal, threads=int(pick(0, 1, 2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_are_laid_out_as_their_tensors(make, dtype):
    q, k, v, dout = (heads_inside(make(dtype, 2, 19, 3, 32)) for _ in range(4))
    for gradient, tensor in zip(check(q, k, v, dout), (q, k, v)):
        if make.name == "torch":
            assert gradient.stride() == tensor.stride()
        else:
            assert gradient.strides == tensor.strides


def test_rows_without_keys_have_gradient_zero(make):
    q, k, v, dout = tensors(make, "float32", (1, 2, 9, 16), (1, 2, 4, 16))
    dq, _, _ = check(q, k, v, dout, make("float32", 1, 2, 9), causal=True)
    assert (dq[:, :, :5] == 0).all() and (dq[:, :, 5:] != 0).any()


@pytest.mark.parametrize(
    "q_shape, kv_shape", [((2, 4, 5, 16), (2, 2, 0, 16)), ((2, 4, 0, 16), (2, 2, 5, 16))]
)
def test_sizes_of_zero(make, q_shape, kv_shape):
    q, k, v, dout = tensors(make, "float32", q_shape, kv_shape)
    out, lse = fm.attention(q, k, v, return_lse=True)
    for gradient, tensor in zip(fm.attention_backward(q, k, v, out, lse, dout), (q, k, v)):
        assert tuple(gradient.shape) == tuple(tensor.shape) and (gradient == 0).all()


def test_the_same_call_gives_the_same_bits(make):
    q, k, v, dout = tensors(make, "float32", (1, 4, 130, 64), (1, 2, 130, 64))
    out, lse = fm.attention(q, k, v, return_lse=True)
    for deterministic in (False, True):
        first, second = (
            fm.attention_backward(q, k, v, out, lse, dout, deterministic=deterministic, threads=2)
            for _ in range(2)
        )
        assert all((a == b).all() for a, b in zip(first, second))


def test_gradients_may_be_written_in_place(make):
    q, k, v, dout = tensors(make, "float32", (1, 4, 9, 16), (1, 2, 9, 16))
    out, lse = fm.attention(q, k, v, return_lse=True)
    mine = {"dq": make("float32", *q.shape), "dk": make("float32", *k.shape), "dv": make("float32", *v.shape)}
    given = fm.attention_backward(q, k, v, out, lse, dout, **mine)
    assert all(result is tensor for result, tensor in zip(given, mine.values()))
    oracle.check_gradients(given, q, k, v, dout)


class Lent:
    """A tensor of no library, through DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_and_buffers_need_gradients_to_write_to():
    random = np.random.default_rng(2)
    q, k, v, dout = (random.standard_normal((1, 2, 7, 16)).astype("f4") for _ in range(4))
    out, lse = fm.attention(q, k, v, return_lse=True)
    gradients = [np.empty_like(q) for _ in range(3)]
    with pytest.raises(TypeError, match="can't allocate a result like q, a Lent.*\n.*give dq"):
        fm.attention_backward(Lent(q), k, v, out, lse, dout)
    fm.attention_backward(
        *(Lent(t) for t in (q, k, v, out, lse, dout)), dq=gradients[0], dk=gradients[1], dv=gradients[2]
    )
    oracle.check_gradients(gradients, q, k, v, dout)


def test_bad_input_is_refused_and_nothing_is_written(make):
    q, k, v, dout = tensors(make, "float32", (1, 4, 9, 16), (1, 2, 9, 16))
    out, lse = fm.attention(q, k, v, return_lse=True)
    mine = {"dq": make("float32", *q.shape), "dk": make("float32", *k.shape), "dv": make("float32", *v.shape)}
    before = [oracle.to_float64(tensor) for tensor in mine.values()]

    def refused(error, message, *args, **options):
        with pytest.raises(error, match=message):
            fm.attention_backward(*args, **{**mine, **options})
        assert all((oracle.to_float64(now) == then).all() for now, then in zip(mine.values(), before))

    refused(TypeError, "is missing its argument 'dout'", q, k, v, out, lse)
    refused(ValueError, "dout has 3 dimensions", q, k, v, out, lse, dout[0])
    refused(ValueError, r"dout has shape \[1, 4, 8, 16\]", q, k, v, out, lse, dout[:, :, :8])
    refused(ValueError, "lse has 4 dimensions; it must have 3", q, k, v, out, out, dout)
    refused(ValueError, r"lse has shape \[1, 4, 8\]", q, k, v, out, lse[:, :, :8], dout)
    refused(TypeError, "dlse must be float32", q, k, v, out, lse, dout, dlse=make("float16", 1, 4, 9))
    refused(ValueError, "dlse has stride", q, k, v, out, lse, dout, dlse=make("float32", 1, 4, 18)[:, :, ::2])
    refused(ValueError, "out is fp16 but q is fp32", q, k, v, make("float16", 1, 4, 9, 16), lse, dout)
    refused(ValueError, "dk overlaps k in memory", q, k, v, out, lse, dout, dk=k)
    refused(ValueError, "dv overlaps dk in memory", q, k, v, out, lse, dout, dv=mine["dk"])
    refused(ValueError, "scale is inf", q, k, v, out, lse, dout, scale=float("inf"))
    refused(TypeError, "deterministic is 'yes'", q, k, v, out, lse, dout, deterministic="yes")


def test_explain_names_the_workspace_of_the_backward_pass():
    q = np.zeros((1, 2, 64, 32), "f4")
    text = fm.explain(q, q, q, causal=True, threads=2, backward=True)
    assert "workspace" in text and text != fm.explain(q, q, q, causal=True, threads=2)
