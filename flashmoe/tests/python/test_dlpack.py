# SPDX-License-Identifier: MIT
"""Any other library's tensors: DLPack 0.x and 1.x, the way the array API standard describes it."""

import ctypes

import numpy as np
import oracle
import pytest

import flashmoe_science as fm


class Foreign:
    """A tensor of a library we know nothing of; NumPy is inside, out of sight."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Old(Foreign):
    """A producer from before DLPack 1.0: no max_version."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class HandMade:
    """A capsule made field by field, for what no library here can make: other devices, types, absent strides."""

    def __init__(self, array, device_type=1, code=2, bits=32, lanes=1, byte_offset=0):
        self.array = array
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.tensor = DLTensor(
            array.ctypes.data - byte_offset,
            device_type,
            0,
            array.ndim,
            code,
            bits,
            lanes,
            ctypes.addressof(self.shape),
            None,
            byte_offset,
            None,
            None,
        )

    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


@pytest.fixture
def qkv(random):
    return [random.standard_normal((1, 2, 9, 16)).astype("f4") for _ in range(3)]


@pytest.mark.parametrize("wrap", [Foreign, Old, HandMade])
def test_inputs_through_dlpack(qkv, wrap):
    out = np.zeros_like(qkv[0])
    fm.attention(*(wrap(t) for t in qkv), out=out)
    oracle.check(out, None, *qkv)


def test_strides_and_offsets(qkv):
    q, k, v = qkv
    big = np.ascontiguousarray(np.concatenate([k, k], axis=2))
    out = np.zeros_like(q)
    fm.attention(q, Foreign(big[:, ::-1, 3:12]), HandMade(v, byte_offset=64), out=out)
    oracle.check(out, None, q, big[:, ::-1, 3:12], v)


speaks_dlpack_1 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0",
    reason="this NumPy is older than DLPack 1.0, which says what may be written",
)


@speaks_dlpack_1
def test_out_through_dlpack(qkv):
    out = Foreign(np.zeros_like(qkv[0]))
    assert fm.attention(*qkv, out=out) is out
    oracle.check(out.array, None, *qkv)


def test_a_result_needs_a_library_that_can_make_it(qkv):
    with pytest.raises(TypeError, match="can't allocate a result like q.*\n.*give out"):
        fm.attention(*(Foreign(t) for t in qkv))


@speaks_dlpack_1
def test_out_must_be_known_to_be_writable(qkv):
    array = np.full_like(qkv[0], 7)
    with pytest.raises(ValueError, match="out does not say through DLPack 1.0 that it may be written"):
        fm.attention(*qkv, out=Old(array))
    array.flags.writeable = False
    with pytest.raises(ValueError, match="out does not say|read-only"):
        fm.attention(*qkv, out=Foreign(array))
    assert (array == 7).all()


def test_cuda_memory_gets_the_librarys_own_answer(qkv):
    out = np.full_like(qkv[0], 7)
    with pytest.raises((NotImplementedError, ValueError)) as error:
        fm.attention(*(HandMade(t, device_type=2) for t in qkv), out=out)
    assert "cuda" in str(error.value).lower()
    assert (out == 7).all()


def test_mixed_devices(qkv):
    q, k, v = qkv
    with pytest.raises(ValueError, match="v is on cuda:0 but q is on cpu:0"):
        fm.attention(q, k, HandMade(v, device_type=2))


def test_devices_and_types_that_are_not_accepted(qkv):
    q, k, v = qkv
    with pytest.raises(NotImplementedError, match="k is on DLPack device type 7"):
        fm.attention(q, HandMade(k, device_type=7), v)
    with pytest.raises(TypeError, match="k is DLPack type code 0 with 32 bits"):
        fm.attention(q, HandMade(k, code=0), v)
    with pytest.raises(TypeError, match="k is DLPack type code 2 with 32 bits and 2 lanes"):
        fm.attention(q, HandMade(k, lanes=2), v)


def test_errors_of_the_producer_come_through(qkv):
    class Broken:
        def __dlpack__(self, **options):
            raise BufferError("not today")

    q, k, v = qkv
    with pytest.raises(BufferError, match="not today"):
        fm.attention(q, Broken(), v)
    with pytest.raises(ValueError):
        fm.attention(q, type("NoCapsule", (), {"__dlpack__": lambda self, **options: 5})(), v)
