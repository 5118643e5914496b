# SPDX-License-Identifier: MIT
"""A small GPT learns with our attention as it does with PyTorch's: the same losses but for roundings."""

import json
import subprocess
import sys

import numpy as np
import pytest

import flashmoe_science as fm

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("gradients need PyTorch 2.4 or newer", allow_module_level=True)
on_cuda = pytest.mark.skipif(
    not torch.cuda.is_available() or "cuda" not in fm._C.library_version, reason="no CUDA device"
)


@pytest.fixture
def example(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "flashmoe" / "examples" / "train-gpt"))
    import train

    return train


def sdpa_losses(example, backend, **options):
    from torch.nn.attention import sdpa_kernel

    with sdpa_kernel(backend):
        return np.array(example.train(example.ATTENTION["sdpa"], **options)[0])


def test_losses_are_those_of_pytorch(example):
    from torch.nn.attention import SDPBackend

    options = {"steps": 100, "batch": 8, "context": 48, "width": 32, "heads": 2, "layers": 2}
    flash = sdpa_losses(example, SDPBackend.FLASH_ATTENTION, **options)
    spread = abs(flash - sdpa_losses(example, SDPBackend.MATH, **options)).max()
    ours = np.array(example.train(example.ATTENTION["flashmoe"], **options)[0])
    assert ours[-1] < ours[0] - 0.3, "nothing was learnt"
    allowed = 4 * max(spread, 2.0**-21)  # of losses near 2, whose last bit is 2^-22
    assert abs(ours - flash).max() <= allowed

    # A wrong gradient is seen: one of k that is twice too large.
    def wrong(q, k, v):
        return fm.attention(q, k.detach() + 2 * (k - k.detach()), v, causal=True)

    assert abs(np.array(example.train(wrong, **options)[0]) - flash).max() > allowed


def test_the_example_runs_and_writes_its_results(root, clean_environment, tmp_path):
    done = subprocess.run(
        [sys.executable, "flashmoe/examples/train-gpt/train.py", "--device", "cpu", "--dtype", "bfloat16"]
        + ["--steps", "3", "--batch", "2", "--context", "16", "--width", "16", "--heads", "2"]
        + ["--json", str(tmp_path / "result.json")],
        cwd=root,
        env={**clean_environment, "PYTHONPATH": str(root / "flashmoe" / "python")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["sdpa", "flashmoe"]
    result = json.loads((tmp_path / "result.json").read_text())
    for name in ("sdpa", "flashmoe"):
        assert len(result[name]["losses"]) == len(result[name]["step_ms"]) == 3
    assert result["steps"] == 3 and result["dtype"] == "torch.bfloat16"


@on_cuda
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_losses_are_those_of_pytorch_on_a_gpu(example, dtype):
    from torch.nn.attention import SDPBackend

    options = {"steps": 300, "device": "cuda", "dtype": dtype, "width": 256, "context": 256}
    flash = sdpa_losses(example, SDPBackend.FLASH_ATTENTION, **options)
    spread = abs(flash - sdpa_losses(example, SDPBackend.EFFICIENT_ATTENTION, **options))
    ours = np.array(example.train(example.ATTENTION["flashmoe"], **options)[0])
    assert ours[-1] < ours[0] - 0.3, "nothing was learnt"
    # Roundings grow from step to step until the runs are as far apart as any two: the typical distance is compared.
    assert abs(ours - flash).mean() <= 2 * max(spread.mean(), 1e-4)
