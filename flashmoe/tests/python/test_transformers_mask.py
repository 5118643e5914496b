# SPDX-License-Identifier: MIT
"""Masks of transformers as blocks and spans: they say what the tensor says, or there are none."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
pytest.importorskip(
    "transformers",
    minversion="5.0",
    reason="transformers is not installed; scripts/python-env can install it",
)
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("gradients need PyTorch 2.4 or newer", allow_module_level=True)
from test_spans import seen

from flashmoe_science.transformers import _mask


def test_a_mask_that_was_written_to_is_not_trusted():
    attention_mask = torch.tensor([[0, 1, 1, 1]], dtype=torch.bool)
    mask = _mask.attention_mask(1, 4, 4, attention_mask=attention_mask)
    q = torch.zeros(1, 1, 4, 8)
    assert _mask.blocks_of(mask, q, q).blocks == [((0, 1), (0, 4), (1, 4), True)]
    assert _mask.blocks_of(mask[..., :3], q, q[:, :, :3]) is None
    assert _mask.blocks_of(mask, q[:, :, 1:], q) is None
    mask[0, 0, 3, 1] = False
    assert _mask.blocks_of(mask, q, q) is None


def mask_of(blocks):
    """The mask as a tensor again, from the definition of attention()'s arguments."""
    entries, rows, keys = blocks.shape
    mask = torch.zeros(entries, rows, keys, dtype=torch.bool)
    left, right = (10**6 if side is None else side for side in blocks.window or (None, None))
    for block in blocks.blocks:
        (q0, q1), (k0, k1) = block.rows, block.keys
        shift = 0 if block.causal == "top_left" else (k1 - k0) - (q1 - q0)
        position = torch.arange(q1 - q0)[:, None] + shift
        key = torch.arange(k1 - k0)[None]
        seen = (key >= position - left) & (key <= position + right)
        if block.causal:
            seen &= key <= position
        mask[block.entries[0] : block.entries[1], q0:q1, k0:k1] = seen
    return mask[:, None]


def masks():
    from transformers import masking_utils as mu

    padding = torch.tensor([[0, 0, 1, 1, 1, 1, 1, 1], [1] * 8, [1] * 8], dtype=torch.bool)
    packed = torch.tensor([[0, 0, 0, 1, 1, 2, 2, 2]] * 3)
    window = mu.sliding_window_causal_mask_function(3)
    yield "left padding", {"attention_mask": padding}
    yield "right padding", {"attention_mask": padding.flip(1)}
    yield "window", {"mask_function": window, "local_size": 3}
    yield "window, left padding", {"mask_function": window, "attention_mask": padding, "local_size": 3}
    yield (
        "window, right padding",
        {"mask_function": window, "attention_mask": padding.flip(1), "local_size": 3},
    )
    yield "a step", {"q_length": 1, "q_offset": 7, "attention_mask": padding}
    yield "some steps", {"q_length": 3, "q_offset": 5, "attention_mask": padding}
    yield "steps of a window", {"q_length": 3, "q_offset": 5, "mask_function": window, "local_size": 3}
    yield "a static cache", {"q_length": 2, "q_offset": torch.tensor(3), "attention_mask": padding[:, :5]}
    yield (
        "a cache that slides",
        {
            "q_length": 2,
            "q_offset": 16,
            "kv_offset": 10,
            "mask_function": mu.sliding_window_causal_mask_function(7),
            "local_size": 7,
        },
    )
    yield "full, padding", {"mask_function": mu.bidirectional_mask_function, "attention_mask": padding}
    yield (
        "cross attention",
        {"q_length": 3, "mask_function": mu.bidirectional_mask_function, "attention_mask": padding},
    )
    if hasattr(mu, "sliding_window_bidirectional_mask_function"):
        both = mu.sliding_window_bidirectional_mask_function(2)
        yield "full window", {"mask_function": both}
    sequences = mu.packed_sequence_mask_function(packed)
    yield "packed", {"mask_function": mu.and_masks(mu.causal_mask_function, sequences)}
    yield "packed windows", {"mask_function": mu.and_masks(window, sequences)}


IN_ONE_CALL = ("a step", "some steps", "a static cache", "full, padding", "cross attention")


@pytest.mark.parametrize("what, options", [pytest.param(*m, id=m[0]) for m in masks()])
def test_blocks_say_what_the_mask_says(what, options):
    options = {"q_length": 8, "kv_length": 8, "allow_is_causal_skip": False, **options}
    mask = _mask.attention_mask(3, **options)
    blocks = _mask.blocks_of(mask, torch.zeros(3, 1, options["q_length"], 8), torch.zeros(3, 1, 8, 8))
    assert blocks is not None
    assert torch.equal(mask_of(blocks), mask.expand(3, -1, -1, -1))
    assert (blocks.spans is not None) == (
        what.startswith("packed") or "left padding" in what or what in IN_ONE_CALL
    )
    if blocks.spans is not None:
        keys, causal, spans = blocks.spans
        spans = {name: numbers.numpy() for name, numbers in spans.items()}
        shown = torch.from_numpy(seen(options["q_length"], keys, causal, blocks.window, batch=3, **spans))
        assert torch.equal(shown, mask[..., :keys].expand(3, -1, -1, -1)) and not mask[..., keys:].any()


def test_lengths_lie_on_the_device_of_the_mask_once_for_all_layers():
    mask = _mask.attention_mask(2, 4, 4, attention_mask=torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool())
    blocks = _mask.blocks_of(mask, *(torch.zeros(2, 1, 4, 8) for _ in range(2)))
    assert blocks.device == mask.device and blocks.lengths["kv_lengths"].tolist() == [3, 4]
    assert blocks.lengths is blocks.lengths and blocks.lengths["q_lengths"] is blocks.lengths["kv_lengths"]
    elsewhere = _mask.Blocks(blocks.blocks, blocks.window, blocks.shape, torch.device("meta"))
    assert elsewhere.lengths["kv_lengths"].device.type == "meta"


def test_masks_that_are_not_known_have_no_blocks():
    from transformers import masking_utils as mu

    q = torch.zeros(1, 1, 8, 8)
    holes = torch.tensor([[1, 1, 0, 1, 1, 1, 1, 1]], dtype=torch.bool)
    nothing = torch.zeros(1, 8, dtype=torch.bool)
    images = mu.or_masks(mu.causal_mask_function, lambda b, h, q, k: k < 3)
    chunks = mu.chunked_causal_mask_function(4, torch.zeros(1, dtype=torch.int64))
    for options in (
        {"attention_mask": holes},
        {"attention_mask": nothing},
        {"mask_function": images, "use_vmap": True},
        {"mask_function": chunks},
    ):
        mask = _mask.attention_mask(1, 8, 8, **options, allow_is_causal_skip=False)
        assert _mask.blocks_of(mask, q, q) is None
