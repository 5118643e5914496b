# SPDX-License-Identifier: MIT
"""dent's element types in NumPy and PyTorch."""

NUMPY = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "uint16"}
NUMPY.update({"int32": "int32", "int64": "int64", "int8": "int8", "uint8": "uint8", "bool": "bool"})
NUMPY.update({"fp8_e4m3": "uint8", "fp8_e5m2": "uint8"})
# Types that NumPy lacks: its arrays hold their bits.
TORCH_ONLY = {"bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}
TORCH = {**NUMPY, **TORCH_ONLY}
# Bits of an element that was not written; equal to those in operators/dtype.cpp.
POISON = {"fp64": 0x7FF800000000DE47, "fp32": 0x7FC0DE47, "fp16": 0x7EDE, "bf16": 0x7FDE, "int32": 1 << 31, "int64": 1 << 63}
POISON.update({"int8": 0x80, "uint8": 0xDE, "bool": 0xDE, "fp8_e4m3": 0xFF, "fp8_e5m2": 0xFD})
MANTISSA_BITS = {"fp8_e4m3": 3, "fp8_e5m2": 2}


def byte_values(dtype):
    """The numbers that the 256 byte values of an 8-bit type represent."""
    width = MANTISSA_BITS[dtype]
    bias = (1 << (6 - width)) - 1
    values = []
    for bits in range(128):
        exponent, mantissa = bits >> width, bits & ((1 << width) - 1)
        implied = (1 << width) if exponent else 0
        values.append((mantissa + implied) * 2.0 ** (max(exponent, 1) - bias - width))
    if dtype == "fp8_e5m2":
        values[0x7C:] = [float("inf"), *[float("nan")] * 3]
    else:
        values[0x7F] = float("nan")
    return values + [-value for value in values]
