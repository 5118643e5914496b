# SPDX-License-Identifier: MIT
"""Memory that Python's own types show: memoryviews, arrays of ctypes, and whatever else has the buffer protocol."""

import array
import ctypes

import numpy as np
import oracle
import pytest

import flashmoe_science as fm

SHAPE = (1, 2, 9, 16)


@pytest.fixture
def qkv(random):
    return [random.standard_normal(SHAPE).astype("f4") for _ in range(3)]


def as_memoryview(values):
    """Over an array.array, which has one dimension; a memoryview gives it four."""
    return memoryview(array.array("f", values.ravel())).cast("B").cast("f", values.shape)


def as_ctypes(values):
    kind = ctypes.c_float
    for size in reversed(values.shape):
        kind *= size
    return kind.from_buffer_copy(np.ascontiguousarray(values))


@pytest.mark.parametrize("wrap", [memoryview, as_memoryview, as_ctypes])
def test_inputs_and_out_through_the_buffer_protocol(qkv, wrap):
    out = wrap(np.zeros(SHAPE, "f4"))
    assert fm.attention(*(wrap(t) for t in qkv), out=out) is out
    oracle.check(np.asarray(out), None, *qkv)


def test_strides_and_types(qkv):
    q, k, v = (t.astype("f2")[:, ::-1, 1:] for t in qkv)
    out = np.zeros_like(q)
    fm.attention(memoryview(q), memoryview(k), v, out=out)
    oracle.check(out, None, q, k, v)


def test_a_result_needs_a_library_that_can_make_it(qkv):
    with pytest.raises(TypeError, match="can't allocate a result like q, a memoryview.*\n.*give out"):
        fm.attention(*(as_memoryview(t) for t in qkv))


def test_what_is_wrong_with_q_is_said_before_that(qkv):
    with pytest.raises(ValueError, match="k has shape .* must be 8, as in q"):
        fm.attention(as_memoryview(qkv[0][..., :8]), *qkv[1:])


def test_read_only_memory_is_not_written(qkv):
    out = as_memoryview(np.full(SHAPE, 7, "f4"))
    with pytest.raises(ValueError, match="out is read-only"):
        fm.attention(*qkv, out=out.toreadonly())
    assert set(out.tobytes()) == set(np.float32(7).tobytes())


@pytest.mark.parametrize("thing", [b"1234", array.array("d", [1.0]), memoryview(b"1234").cast("i")])
def test_other_element_types_are_refused(qkv, thing):
    q, k, v = qkv
    with pytest.raises(TypeError, match="k is a buffer of format '[Bdi]'; accepted are float32"):
        fm.attention(q, thing, v)


def test_the_number_of_dimensions_is_checked(qkv):
    q, k, v = qkv
    with pytest.raises(ValueError, match="k has 1 dimensions; it must have 4"):
        fm.attention(q, array.array("f", [1.0]), v)
