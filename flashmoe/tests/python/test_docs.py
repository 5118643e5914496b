# SPDX-License-Identifier: MIT
"""The Python on the pages runs, block after block as a reader would type it, and prints what the pages say."""

import contextlib
import io
from pathlib import Path

import pytest

from flashmoe_science import _C

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def blocks(monkeypatch):
    """scripts/docs/blocks.py"""
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "docs"))
    import blocks

    return blocks


def cannot_run(block):
    if "import transformers" in block.text:
        pytest.importorskip(
            "transformers", reason="transformers is not installed; scripts/python-env can install it"
        )
    if "import torch" in block.text or block.needs_gpu:
        torch = pytest.importorskip(
            "torch", reason="PyTorch is not installed; scripts/python-env can install it"
        )
        if block.needs_gpu and not torch.cuda.is_available():
            return "no GPU here"
        if block.needs_gpu and "cuda" not in _C.library_version:
            return "the module was built without CUDA"
    return ""


PAGES = [
    "README.md",
    "flashmoe/docs/flashmoe.md",
    "flashmoe/docs/reference/masks.md",
    "flashmoe/docs/reference/python.md",
    "flashmoe/docs/guides/switch-to-flashmoe.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_the_python_on_the_page_runs(blocks, page):
    names, printed, ran, left_out = {}, None, 0, []
    for block in blocks.blocks_of(ROOT / page):
        if block.language == "python":
            reason = cannot_run(block)
            if reason:
                left_out.append(f"{block.where}: {reason}")
                continue
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block.text, block.where, "exec"), names)
            printed, ran = output.getvalue().splitlines(), ran + 1
        elif block.language == "text":
            shown = block.text.splitlines()
            assert blocks.matches(shown, printed), (
                f"{block.where} shows\n{block.text}\nprinted was\n" + "\n".join(printed)
            )
        elif page == "flashmoe/docs/flashmoe.md":
            pytest.fail(f"{block.where}: the page says that tests run all its code; this is {block.language}")
    assert ran > 0
    if left_out:
        pytest.skip(f"{ran} blocks ran; not run: " + "; ".join(left_out))


def test_the_readme_stays_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_what_a_page_shows_is_compared(blocks):
    matches = blocks.matches
    assert matches(["a", "...", "d"], ["a", "b", "c", "d"]) and matches(["a ... c"], ["a b c"])
    assert not matches(["a"], ["b"]) and not matches(["a"], []) and not matches(["a"], ["a", "b"])
    assert not matches(["a ..."], ["b c"])
