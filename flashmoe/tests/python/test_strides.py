# SPDX-License-Identifier: MIT
"""Views: whatever the strides of the first three dimensions, the result is that of the values, and nothing is copied."""

import numpy as np
import oracle
import pytest

import flashmoe_science as fm

DTYPES = ["float32", "float16", "bfloat16"]


def heads_inside(tensor):
    """[B, S, H, D] in memory, seen as [B, H, S, D]."""
    return tensor.transpose(1, 2) if hasattr(tensor, "numpy") else tensor.swapaxes(1, 2)


def check_views(q, k, v, causal=True):
    out, lse = fm.attention(q, k, v, causal=causal, return_lse=True)
    oracle.check(out, lse, q, k, v, causal)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
def test_heads_inside_rows(make, dtype):
    q, k, v = (heads_inside(make(dtype, 2, 19, 3, 32)) for _ in range(3))
    out = check_views(q, k, v)
    # The result is laid out as q is, so that going back to [B, S, H * D] copies nothing either.
    if make.name == "torch":
        assert out.stride() == q.stride()
    else:
        assert out.strides == q.strides


def test_many_shapes_in_turn(make):
    """More than are kept from one call to the next, each in two layouts, and again after they were forgotten; and one of
    them in every type."""
    for _ in range(2):
        for rows, dtype in (*((rows, "float32") for rows in range(1, 14)), *((7, dtype) for dtype in DTYPES)):
            tensors = [make(dtype, 1, rows, 2, 8) for _ in range(3)]
            for q, k, v in (tensors, map(heads_inside, tensors)):
                out = check_views(q, k, v)
                assert out.shape == q.shape and out.dtype == q.dtype
                if make.name == "torch" and rows > 1:
                    assert out.stride() == q.stride()


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_packed_qkv_tensor(make, dtype):
    packed = make(dtype, 2, 19, 3, 4, 32)  # [B, S, {q, k, v}, H, D]
    check_views(*(heads_inside(packed[:, :, i]) for i in range(3)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices(make, dtype):
    big = make(dtype, 4, 6, 40, 48)
    check_views(big[::2, 1:4, 3:30:3, :32], big[1:3, ::2, 5:38, 8:40], big[:2, 3:, :33, 16:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys_shared_by_stride_zero(make, dtype):
    q, one = make(dtype, 3, 4, 17, 16), make(dtype, 1, 1, 23, 16)
    if make.name == "torch":
        shared = one.expand(3, 4, 23, 16)
    else:
        shared = np.broadcast_to(one, (3, 4, 23, 16))
    check_views(q, shared, shared)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_queries_repeated_by_stride_zero(make, axis):
    shape = [3, 4, 17, 16]
    single = list(shape)
    single[axis] = 1
    one = make("float32", *single)
    q = one.expand(*shape) if make.name == "torch" else np.broadcast_to(one, shape)
    k, v = make("float32", *shape), make("float32", *shape)
    check_views(q, k, v, causal=False)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_numpy_arrays_read_backwards(axis):
    random = np.random.default_rng(5)
    q, k, v = (random.standard_normal((2, 3, 21, 16)).astype("f4") for _ in range(3))
    backwards = tuple(slice(None, None, -1 if i == axis else None) for i in range(4))
    out = np.zeros_like(q)
    lse_free = fm.attention(q[backwards], k[backwards], v[backwards], out=out[backwards])
    oracle.check(lse_free, None, q[backwards], k[backwards], v[backwards])
    oracle.check(out[backwards], None, q[backwards], k[backwards], v[backwards])


@pytest.mark.parametrize("dtype", DTYPES)
def test_out_may_be_a_view(make, dtype):
    q, k, v = (make(dtype, 2, 3, 19, 32) for _ in range(3))
    memory = make(dtype, 2, 19, 3, 40)
    before = oracle.to_float64(memory)
    out = heads_inside(memory)[..., :32]
    assert fm.attention(q, k, v, out=out) is out
    oracle.check(out, None, q, k, v)
    assert (oracle.to_float64(memory)[..., 32:] == before[..., 32:]).all()  # the gaps are not ours


def test_out_may_share_a_buffer_with_the_inputs_when_the_rows_differ(make):
    memory = make("float32", 1, 11, 4, 16)  # [B, S, {q, k, v, out}, D]
    before = oracle.to_float64(memory)
    q, k, v, out = (memory[:, None, :, i] for i in range(4))
    fm.attention(q, k, v, out=out)
    oracle.check(out, None, q, k, v)
    assert (oracle.to_float64(memory)[:, :, :3] == before[:, :, :3]).all()


def test_memory_mapped_arrays_are_arrays(tmp_path):
    q = np.memmap(tmp_path / "q", dtype="f4", mode="w+", shape=(1, 2, 9, 16))
    q[:] = np.random.default_rng(3).standard_normal(q.shape)
    out = fm.attention(q, q, q)
    assert type(out) is np.ndarray
    oracle.check(out, None, np.asarray(q), np.asarray(q), np.asarray(q))


def test_read_only_inputs_are_fine():
    q = np.random.default_rng(3).standard_normal((1, 2, 9, 16)).astype("f4")
    q.flags.writeable = False
    oracle.check(fm.attention(q, q, q), None, q, q, q)
