# SPDX-License-Identifier: MIT
"""Bad input: the right exception, a message that names the value, and an output that nobody has touched."""

import numpy as np
import pytest

import flashmoe_science as fm

POISON = 123.0


def tensors(make, dtype="float32", rows=5):
    return [make(dtype, 1, 2, rows, 16) for _ in range(3)]


def poisoned(make, *shape):
    out = make("float32", *shape)
    out[...] = POISON
    return out


def refused(error, message, *args, **options):
    with pytest.raises(error, match=message):
        fm.attention(*args, **options)


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_wrong_rank(make, bad):
    qkv = tensors(make)
    qkv[bad] = qkv[bad][0]
    out = poisoned(make, 1, 2, 5, 16)
    refused(ValueError, rf"{'qkv'[bad]} has 3 dimensions; it must have 4", *qkv, out=out)
    assert (out == POISON).all()


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "uint8"])
def test_dtype_that_is_not_accepted(make, dtype):
    q, k, v = tensors(make)
    refused(
        TypeError, rf"k is .*{dtype}; accepted are float32, float16 and bfloat16", q, make(dtype, *q.shape), v
    )


def test_mixed_dtypes(make):
    q, k, v = tensors(make)
    out = poisoned(make, 1, 2, 5, 16)
    refused(ValueError, "v is fp16 but q is fp32", q, k, make("float16", 1, 2, 5, 16), out=out)
    assert (out == POISON).all()


@pytest.mark.parametrize("shape", [(0, 2, 5, 16), (1, 0, 5, 16), (1, 2, 0, 16)])
def test_sizes_of_zero_give_empty_results(make, shape):
    empty = make("float32", *shape)
    out, lse = fm.attention(empty, empty, empty, return_lse=True)
    assert tuple(out.shape) == shape and tuple(lse.shape) == shape[:3]


def test_rows_without_keys_give_zero(make):
    q, k = make("float32", 2, 4, 5, 16), make("float32", 2, 2, 0, 16)
    out, lse = fm.attention(q, k, k, return_lse=True)
    assert (out == 0).all() and (lse == -float("inf")).all()


def test_a_head_dim_of_zero(make):
    empty = make("float32", 1, 2, 5, 0)
    refused(ValueError, r"head_dim = 0 in shape \[", empty, empty, empty)


def test_shapes_that_do_not_fit(make):
    q, k, v = tensors(make)
    out = poisoned(make, 1, 2, 5, 16)
    refused(ValueError, r"k has shape \[2, 2, 5, 16\]", q, make("float32", 2, 2, 5, 16), v, out=out)
    refused(ValueError, r"v has shape \[1, 2, 6, 16\]", q, k, make("float32", 1, 2, 6, 16), out=out)
    refused(ValueError, r"k has shape \[1, 2, 5, 8\]", q, make("float32", 1, 2, 5, 8), v, out=out)
    kv = make("float32", 1, 3, 5, 16)
    refused(ValueError, "q has 2 heads and k has 3", q, kv, kv, out=out)
    assert (out == POISON).all()


def test_out_that_does_not_fit(make):
    q, k, v = tensors(make)
    out = poisoned(make, 1, 2, 6, 16)
    refused(ValueError, r"out has shape \[1, 2, 6, 16\]", q, k, v, out=out)
    assert (out == POISON).all()
    refused(ValueError, "out is fp16 but q is fp32", q, k, v, out=make("float16", 1, 2, 5, 16))
    refused(ValueError, "out has 3 dimensions", q, k, v, out=out[0])


def test_out_that_overlaps(make):
    q, k, v = tensors(make)
    copies = [t.copy() if make.name == "numpy" else t.clone() for t in (q, k, v)]
    for tensor, name in ((q, "q"), (k, "k"), (v, "v")):
        refused(ValueError, f"out overlaps {name}", q, k, v, out=tensor)
    for tensor, copy in zip((q, k, v), copies):
        assert (tensor == copy).all()


def test_last_dimension_must_be_contiguous(make):
    q, k, v = tensors(make)
    refused(ValueError, "k has stride 2 in its last dimension", q, make("float32", 1, 2, 5, 32)[..., ::2], v)
    refused(ValueError, "q has stride 2 in its last dimension", make("float32", 1, 2, 5, 32)[..., ::2], k, v)


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), 1e60])
def test_scale_must_be_finite(make, scale):
    refused(ValueError, "scale is -?(nan|inf)", *tensors(make), scale=scale)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"scale": "big"}, TypeError, "scale is 'big'"),
        ({"causal": "left"}, ValueError, "causal is 'left'; accepted are"),
        ({"causal": 0.5}, TypeError, "causal is 0.5"),
        ({"return_lse": "yes"}, TypeError, "return_lse is 'yes'"),
        ({"threads": -1}, ValueError, "threads is -1"),
        ({"threads": 2**40}, ValueError, "threads is 1099511627776"),
        ({"threads": 1.5}, TypeError, "threads is 1.5"),
        ({"programmatic": "yes"}, TypeError, "programmatic is 'yes'; accepted are True and False"),
        ({"dropout_p": 1.0, "dropout_seed": 1}, ValueError, "dropout_p is 1.0; it must be a probability"),
        ({"dropout_p": -0.1, "dropout_seed": 1}, ValueError, "dropout_p is -0.1; it must be a probability"),
        ({"dropout_p": float("nan"), "dropout_seed": 1}, ValueError, "dropout_p is nan"),
        ({"dropout_p": "half", "dropout_seed": 1}, TypeError, "dropout_p is 'half'; accepted are"),
        ({"dropout_p": 0.1, "dropout_seed": 0.5}, TypeError, "dropout_seed is "),
        ({"dropout": 0.1}, TypeError, "unexpected keyword argument 'dropout'"),
        ({"q": None}, TypeError, "multiple values for argument 'q'"),
    ],
)
def test_options(make, options, error, message):
    out = poisoned(make, 1, 2, 5, 16)
    refused(error, message, *tensors(make), out=out, **options)
    assert (out == POISON).all()


def test_argument_count(make):
    q, k, v = tensors(make)
    refused(TypeError, "missing its argument 'v'", q, k)
    refused(TypeError, "at most 7 positional arguments", q, k, v, True, None, False, None, 1)


@pytest.mark.parametrize("thing", [None, 3, [[1.0]], "q"])
def test_things_that_are_no_tensors(make, thing):
    q, k, v = tensors(make)
    refused(TypeError, "k is a .*accepted are NumPy arrays", q, thing, v)


def test_numpy_strides_that_cut_elements():
    q = np.zeros((1, 2, 5, 16), "f4")
    record = np.zeros(
        (1, 2, 5, 16), np.dtype({"names": ["x"], "formats": ["f4"], "offsets": [0], "itemsize": 6})
    )
    refused(
        ValueError,
        "k has a stride of .* bytes in dimension .*multiple of its 4-byte elements",
        q,
        record["x"],
        q,
    )


def test_numpy_memory_that_is_not_aligned():
    q = np.zeros((1, 2, 5, 16), "f4")
    shifted = np.zeros(q.nbytes + 1, "u1")[1:].view("f4").reshape(q.shape)
    refused(ValueError, "k starts 1 bytes past", q, shifted, q)


def test_numpy_byte_order():
    q = np.zeros((1, 2, 5, 16), "f4")
    refused(TypeError, "v is >f4", q, q, q.astype(">f4"))


def test_numpy_out_that_is_read_only():
    q = np.zeros((1, 2, 5, 16), "f4")
    out = np.full(q.shape, POISON, "f4")
    out.flags.writeable = False
    refused(ValueError, "out is read-only", q, q, q, out=out)
    assert (out == POISON).all()


def test_numpy_subclasses():
    q = np.zeros((1, 2, 5, 16), "f4")
    masked = np.ma.masked_array(q, mask=q > 0)
    refused(TypeError, "q is a .*MaskedArray, a subclass of numpy.ndarray", masked, q, q)


def test_out_that_overlaps_itself():
    q = np.zeros((1, 2, 5, 16), "f4")
    one_row = np.lib.stride_tricks.as_strided(np.zeros(16, "f4"), q.shape, (0, 0, 0, 4), writeable=True)
    refused(ValueError, "out overlaps itself", q, q, q, out=one_row)
