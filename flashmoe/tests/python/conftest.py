# SPDX-License-Identifier: MIT
import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


def hide_shortcuts():
    """PyTorch as it was before 2.10, to this package: no exchange API, no quick way to allocate."""
    import torch

    torch.Tensor.__dlpack_c_exchange_api__ = None
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    for device in ("cpu", "cuda"):
        if hasattr(guards, f"_empty_strided_{device}"):
            delattr(guards, f"_empty_strided_{device}")


if os.environ.get("FLASHMOE_TEST_WITHOUT_SHORTCUTS"):
    hide_shortcuts()


def pytest_collection_modifyitems(items):
    """With pytest-xdist: tests that build in the tree's own folders run one after the other, in one process."""
    for item in items:
        if item.module.__name__ in ("test_package", "test_wheel", "test_train_gpt", "test_benches"):
            item.add_marker(pytest.mark.xdist_group("builds"))


@pytest.fixture
def root():
    """The repository's root folder."""
    return ROOT


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")


@pytest.fixture
def random():
    return np.random.default_rng(20251003)


@pytest.fixture
def clean_environment():
    """The environment of a user who has set nothing: no path to this checkout's package.

    What is built in it has the backends of the module under test, so that a CPU build stays quick beside nvcc.
    """
    from flashmoe_science import _C

    cuda = "ON" if "cuda" in _C.library_version else "OFF"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**clean, "FLASHMOE_CUDA": cuda}


class Maker:
    """Normal random tensors of one library: make("float32", 1, 2, 37, 64)."""

    def __init__(self, library):
        self.name = library
        self.random = np.random.default_rng(1)

    def __call__(self, dtype, *shape, spread=1.0):
        values = (self.random.standard_normal(shape) * spread).astype(np.float32)
        if self.name == "torch":
            import torch

            return torch.from_numpy(values).to(getattr(torch, dtype))
        if dtype == "bfloat16":
            return values.astype(
                pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
            )
        return values.astype(dtype)


@pytest.fixture(params=["numpy", "torch"])
def make(request):
    """Runs the test once with NumPy arrays, once with PyTorch tensors."""
    if request.param == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
    return Maker(request.param)


@pytest.fixture(params=["one call for all lengths", "a call for each length"])
def lengths(request, monkeypatch):
    """flash_attn as on the CPU, and as on a GPU what its fast kernels do not take in one call."""
    from flashmoe_science.flash_attn import _attend

    if request.param == "a call for each length":
        for name in ("takes_packed", "takes_padded"):
            monkeypatch.setattr(_attend, name, lambda *args: False)
