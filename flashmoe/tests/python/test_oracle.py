# SPDX-License-Identifier: MIT
"""The oracle can fail: small wrongs are seen, and NaN never passes for a number."""

import numpy as np
import oracle
import pytest


@pytest.fixture
def problem(random):
    q, k, v = (random.standard_normal((1, 2, 33, 16)).astype("f4") for _ in range(3))
    expected = oracle.attention(q, k, v, causal=True)
    return q, k, v, expected


def test_the_exact_result_agrees(problem):
    *_, expected = problem
    assert oracle.disagreement(expected.out.astype("f4"), expected.out, expected.out_bound) == ""


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0])
def test_one_wrong_element_is_found(problem, wrong):
    *_, expected = problem
    out = expected.out.astype("f4")
    out[0, 1, 20, 3] = wrong
    assert oracle.disagreement(out, expected.out, expected.out_bound).startswith(
        "1 wrong values; the first at (0, 1, 20, 3)"
    )


@pytest.mark.parametrize("mistake", [{"causal": False}, {"causal": "top_left", "drop": 1}, {"scale": 0.2501}])
def test_a_wrong_mask_or_scale_is_found(problem, mistake):
    q, k, v, expected = problem
    drop = mistake.pop("drop", 0)
    other = oracle.attention(q, k[:, :, drop:], v[:, :, drop:], **{"causal": True, **mistake})
    assert oracle.disagreement(other.out, expected.out, expected.out_bound) != ""


def test_bounds_are_tight_enough_to_mean_something(problem):
    *_, expected = problem
    assert expected.out_bound.max() < 2e-5 and expected.lse_bound.max() < 2e-5
