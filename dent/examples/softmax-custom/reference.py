# SPDX-License-Identifier: MIT
"""Softmax in NumPy: says what is right (called with float64) and is the baseline (called with float32)."""

import numpy

DENT_FRAMEWORK = "numpy"


def softmax(x):
    weights = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
