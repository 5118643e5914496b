# SPDX-License-Identifier: MIT
"""PyTorch's own samples of arguments for its attention, which it ships: what ours gives against its `math` backend in float64.

Run by scripts/run-public-tests samples; needs expecttest, as PyTorch's tests do.
"""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing._internal.common_methods_invocations import op_db

import flashmoe_science as fm

(SDPA,) = (op for op in op_db if op.name == "nn.functional.scaled_dot_product_attention")
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
# Of the largest element of results and gradients, beside ten times what PyTorch is off: scores are in the hundreds.
TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def computed(function, sample, dtype):
    tensors = [t.detach().to(dtype).requires_grad_() for t in (sample.input, *sample.args)]
    options = dict(sample.kwargs)
    if options.get("attn_mask") is not None and options["attn_mask"].dtype != torch.bool:
        options["attn_mask"] = options["attn_mask"].detach().to(dtype)
    out = function(*tensors, **options)
    return [out.detach(), *torch.autograd.grad(out, tensors, torch.ones_like(out))]


def distance(a, b):
    return (a.double() - b).abs().max().item()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("by", ["activate", "sdpa"])
def test_samples(device, dtype, by):
    theirs = torch.nn.functional.scaled_dot_product_attention
    for sample in SDPA.sample_inputs(device, dtype, requires_grad=True):
        if sample.kwargs.get("dropout_p", 0.0) != 0.0:
            continue
        with sdpa_kernel(SDPBackend.MATH):
            expected = computed(theirs, sample, torch.float64)
            plain = computed(theirs, sample, dtype)
        with fm.activate():
            ours = computed(theirs if by == "activate" else fm.sdpa, sample, dtype)
        size = max(c.abs().max().item() for c in expected)
        for a, b, c in zip(ours, plain, expected):
            bound = 10 * distance(b, c) + TOLERANCE[dtype] * size
            assert distance(a, c) <= bound, sample  # false for NaN
