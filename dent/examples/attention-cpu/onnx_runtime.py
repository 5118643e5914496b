# SPDX-License-Identifier: MIT
"""ONNX Runtime's attention, to compare with where PyTorch is not installed: the operator Attention of ONNX 23.

The model is that one node. It is written here as the bytes of its protocol buffer (onnx.proto has the numbers of the fields),
so that the package onnx is not needed.
"""

import onnxruntime

DENT_FRAMEWORK = "numpy"
FLOAT, ONNX, OPSET = 1, 10, 23


def varint(number):
    low, rest = number & 127, number >> 7
    return bytes([low]) if rest == 0 else bytes([low | 128]) + varint(rest)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name):
    shape = b"".join(field(1, field(2, size)) for size in ("B", "H", "S", "D"))
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def model():
    node = b"".join(field(1, name) for name in "qkv") + field(2, "out") + field(4, "Attention")
    inputs = b"".join(field(11, tensor(name)) for name in "qkv")
    graph = field(1, node) + field(2, "attention") + inputs + field(12, tensor("out"))
    return field(1, ONNX) + field(7, graph) + field(8, field(2, OPSET))


onnxruntime.set_default_logger_severity(3)  # errors: on machines without a GPU it warns that there is none
session = onnxruntime.InferenceSession(model(), providers=["CPUExecutionProvider"])


def attention(q, k, v):
    return session.run(None, {"q": q, "k": k, "v": v})[0]
