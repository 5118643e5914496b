# SPDX-License-Identifier: MIT
"""Copies what a function returned, and compares tensors bit by bit."""

import ctypes
import os

from dent_dtypes import TORCH_ONLY

# Taken before any code of the candidate's is imported: replacing them later changes nothing here.
_pwrite, _pread = os.pwrite, os.pread
_byte = ctypes.c_ubyte


class Cheated(Exception):
    """Reported to dent as FailureKind::cheated."""


class Copies:
    """Copies arrays, and tensors if PyTorch is set. Must be created before any code of the candidate is
    imported."""

    numpy = torch = tensor_type = None

    def __init__(self):
        self.file = os.memfd_create("dent-copies")

    def take(self, value):
        """Copies on the current stream; data on the GPU stays there until bytes_of() is called."""
        return value.detach().clone() if _is_on_gpu(value) else self.bytes_of(value)

    def bytes_of(self, value):
        if self.torch is not None and isinstance(value, self.tensor_type):
            mine = _is_on_gpu(value)  # cpu() below copies it into our own memory
            value = _bits_of(value.detach().cpu(), self.torch).numpy()
            if mine:
                return self.numpy.ascontiguousarray(value).reshape(-1).view("uint8").data
        return self._copied(value)

    def is_copy(self, value, copy):
        """Whether an output still equals the copy that take() made of it."""
        if _is_on_gpu(copy):
            return _is_on_gpu(value) and self.same_bits(value.detach(), copy)
        return self.bytes_of(value) == copy

    def same_bits(self, a, b):
        if self.torch is None:
            return a.tobytes() == b.tobytes()
        if _is_on_gpu(a) and _is_on_gpu(b):
            # As integers: a NaN is not equal to itself.
            a, b = (t.contiguous().view(-1).view(self.torch.uint8) for t in (a, b))
            return self.torch.equal(a, b)
        a, b = (_bits_of(t.cpu(), self.torch).numpy() for t in (a, b))
        return a.tobytes() == b.tobytes()

    def _copied(self, values):
        """Reads through a system call, which fails for unreadable memory. A direct read of a protected page
        would run the function's signal handler, which could then compute what the call should have
        computed."""
        try:
            flat, first = _flat(values) if values.size else (b"", 0)
            bytes_left, at = memoryview(flat).cast("B"), 0
            while at < len(bytes_left):
                at += _pwrite(self.file, bytes_left[at:], at)
        except OSError as problem:
            raise Cheated("memory of an output can't be read once the call is over") from problem
        if at >= 1 << 30:
            return values.tobytes()
        copied = _pread(self.file, at, 0)
        if values.flags.c_contiguous:
            return copied
        return self.numpy.ndarray(values.shape, values.dtype, copied, first, values.strides).tobytes()


def _flat(values):
    """All bytes from an array's first to its last element as a lazy view, and the offset of its first
    element."""
    reach = [(size - 1) * stride for size, stride in zip(values.shape, values.strides)]
    first = -sum(min(0, step) for step in reach)
    length = first + sum(max(0, step) for step in reach) + values.itemsize
    return (_byte * length).from_address(values.__array_interface__["data"][0] - first), first


def _is_on_gpu(value):
    return getattr(value, "is_cuda", False)


def _bits_of(tensor, torch):
    """The same memory viewed as a type that NumPy supports."""
    if str(tensor.dtype).split(".")[-1] not in TORCH_ONLY.values():
        return tensor
    return tensor.view(torch.int16 if tensor.itemsize == 2 else torch.uint8)
