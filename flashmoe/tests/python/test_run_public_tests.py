# SPDX-License-Identifier: MIT
"""scripts/run-public-tests: a checkout's tests run on our functions, and what is refused by name is counted apart."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")

# As flash-attention's tests are written: for a GPU, by the package's own names.
THEIRS = """
import pytest
import torch
from flash_attn import flash_attn_func
from flash_attn.bert_padding import pad_input, unpad_input
from flash_attn.flash_attn_interface import _get_block_size_n
from flash_attn.layers.rotary import apply_rotary_emb

assert torch.cuda.get_device_capability("cuda")[0] >= 8


@pytest.mark.parametrize("dropout_p", [0.0, 0.17])
@pytest.mark.parametrize("seqlen", [8, 4096])
def test_flash_attn_output(seqlen, dropout_p):
    q = torch.randn(1, seqlen, 2, 16, device="cuda", dtype=torch.bfloat16)
    out, lse, dropped = flash_attn_func(q, q, q, dropout_p=dropout_p, return_attn_probs=True)
    assert out.device.type == "cuda"


def test_that_fails():
    assert False
"""


def run(root, *arguments):
    return subprocess.run(
        [sys.executable, root / "scripts" / "run-public-tests", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_what_passed_failed_and_was_refused_is_counted(root, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_flash_attn.py").write_text(THEIRS)
    done = run(root, "flash-attention", tmp_path, "--device", "cpu", "--rows", "512")
    assert done.returncode == 1
    counts = "passed 1, failed 1, refused 1 (return_attn_probs 1), skipped by the tests themselves 0"
    assert counts in done.stdout, done.stdout + done.stderr
    assert sorted(p.name for p in tmp_path.rglob("*")) == [
        "test_flash_attn.py",
        "tests",
    ]  # nothing is left behind


# As PyTorch's: for devices that the environment names.
PYTORCHS = """
import os

import torch


def test_scaled_dot_product_attention():
    assert os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"] == "cpu"
    q = torch.randn(1, 2, 8, 16)
    torch.nn.functional.scaled_dot_product_attention(q, q, q)
    torch.nn.functional.scaled_dot_product_attention(q.double(), q.double(), q.double())
"""


@pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="activate() needs PyTorch 2.10 or newer"
)
def test_pytorchs_tests_run_with_its_attention_taken_over(root, tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "test_transformers.py").write_text(PYTORCHS)
    done = run(root, "pytorch", tmp_path, "--device", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "flashmoe: 1 of 2 attentions computed here\n  1 to PyTorch: the tensors are torch.float64" in done.stdout


def test_what_is_missing_is_named(root, tmp_path):
    assert f"{tmp_path} has no test/test_transformers.py" in run(root, "pytorch", tmp_path).stderr
    assert "one of flash-attention, flash-attention-3, pytorch, pytorch-varlen and" in run(root, "xformers", tmp_path).stderr
    checkout = tmp_path / "tests"
    checkout.mkdir()
    (checkout / "test_flash_attn.py").touch()
    assert "--device is one of cpu, cuda" in run(root, "flash-attention", tmp_path, "--device", "tpu").stderr
