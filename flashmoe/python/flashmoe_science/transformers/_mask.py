# SPDX-License-Identifier: MIT
"""Masks of transformers: as tensors, which every implementation understands, with what our kernels need beside them.

A mask is made once for all layers of a kind. Where its rule is one of causal, full, window, padding at either end or
packed sequences, each row sees one run of keys, and a call is one of attention() that names the mask, or a few on slices of
the tensors: blocks. They travel as an attribute of the mask, which is lost as soon as a model computes with it; then the tensor counts.
"""

import functools
from dataclasses import dataclass
from itertools import groupby
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from transformers import masking_utils
from transformers.masking_utils import sdpa_mask

_ATTRIBUTE = "_flashmoe_blocks"


class Block(NamedTuple):
    """Query rows and the keys that they see, of some entries of the batch: [begin, end) each."""

    entries: Tuple[int, int]
    rows: Tuple[int, int]
    keys: Tuple[int, int]
    causal: Union[bool, str]


class Spans(NamedTuple):
    """All of it in one call of attention(), with documents or left_padding."""

    keys: int  # the first so many
    causal: bool
    options: Dict[str, torch.Tensor]


@dataclass
class Blocks:
    """Together they have every row of every entry, in order."""

    blocks: List[Block]
    window: Optional[Tuple[int, int]]
    shape: Tuple[int, int, int]  # entries, rows, keys
    device: torch.device  # of the mask, and so of all layers' tensors
    version: int = 0  # of the mask: a later one was written to
    spans: Optional[Spans] = None

    @functools.cached_property
    def lengths(self):
        """q_lengths and kv_lengths by which attention() computes all in one call; None if there are none such. Made by the
        first layer that asks, for all that share the mask: a copy to a GPU, which the host waits for, is one for each mask."""
        rows = self.shape[1]
        causal = any(block.causal for block in self.blocks)
        if not causal and self.window is not None:
            return None
        lengths = []
        for block in self.blocks:
            begin, end = block.keys
            if (
                begin != 0
                or block.rows != (0, rows)
                or (causal and block.causal != "top_left" and end != rows)
            ):
                return None
            lengths += [end] * (block.entries[1] - block.entries[0])
        lengths = torch.tensor(lengths, dtype=torch.int32, device=self.device)
        return {"q_lengths": lengths if causal else None, "kv_lengths": lengths}


@dataclass
class _Rule:
    causal: bool = False
    left: Optional[int] = None  # how many keys a row sees before its own position
    right: Optional[int] = None
    packed: Optional[torch.Tensor] = None  # [B, S]: the number of each token's sequence


def _intersected(function):
    """The functions whose intersection a mask function is, by what transformers' own makers of them leave behind."""
    if getattr(function, "__qualname__", "") == "and_masks.<locals>.and_mask":
        for part in _enclosed(function)["mask_functions"]:
            yield from _intersected(part)
    else:
        yield function


def _enclosed(function):
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__)))


def _rule_of(mask_function):
    """None for a function that is not known."""
    rule = _Rule()
    for part in _intersected(mask_function):
        maker = getattr(part, "__qualname__", "").split(".<locals>")[0]
        if part is masking_utils.causal_mask_function:
            rule.causal = True
        elif part is masking_utils.bidirectional_mask_function:
            pass
        elif maker == "sliding_window_overlay":
            rule.left = _enclosed(part)["sliding_window"] - 1
        elif maker == "sliding_window_bidirectional_overlay":
            rule.left = rule.right = _enclosed(part)["sliding_window"]
        elif maker == "packed_sequence_mask_function":
            rule.packed = _enclosed(part)["packed_sequence_mask"]
        else:
            return None
    return rule


def _present(attention_mask, entries, kv_length, kv_offset):
    """[begin, end) of the keys that are no padding, for each entry; None if they are not side by side."""
    if attention_mask is None:
        return [(0, kv_length)] * entries
    if attention_mask.dim() != 2 or attention_mask.shape[0] != entries:
        return None
    present = attention_mask[:, kv_offset : kv_offset + kv_length].bool()
    if present.shape[1] == 0:
        return None
    counts = present.sum(1)
    begins = present.byte().argmax(1)  # the first of the largest
    ends = present.shape[1] - present.flip(1).byte().argmax(1)
    begins, ends, counts = torch.stack((begins, ends, counts)).tolist()  # one transfer
    if any(count == 0 or end - begin != count for begin, end, count in zip(begins, ends, counts)):
        return None
    return list(zip(begins, ends))


def _causal_of(rule, shift, begin, end, rows):
    """How attention() has to align rows whose position is row + shift with keys [begin, end); None if it can't."""
    if not rule.causal and rule.left is None and rule.right is None:
        return False
    shift -= begin
    if shift == end - begin - rows:
        return bool(rule.causal)  # bottom-right, windows too
    if shift == 0 and rule.causal:
        return "top_left"
    return None


def _blocks_of(rule, entries, rows, kv_length, shift, present):
    blocks = []
    if rule.packed is not None:
        if any(run != (0, rows) for run in present) or kv_length != rows or shift != 0:
            return None
        for entry, numbers in enumerate(rule.packed.tolist()):
            at = 0
            for _, run in groupby(numbers):
                end = at + len(list(run))
                blocks.append(Block((entry, entry + 1), (at, end), (at, end), rule.causal))
                at = end
        return blocks
    for entry, (begin, end) in enumerate(present):
        if rule.causal:
            end = min(end, shift + rows)  # later keys nobody sees
        causal = _causal_of(rule, shift, begin, end, rows)
        if causal is None or end <= begin:
            return None
        if blocks and blocks[-1].keys == (begin, end):
            blocks[-1] = blocks[-1]._replace(entries=(blocks[-1].entries[0], entry + 1))
        else:
            blocks.append(Block((entry, entry + 1), (0, rows), (begin, end), causal))
    return blocks


def _spans_of(rule, rows, kv_length, shift, present, device):
    """None where no one call will do; _blocks_of() has found blocks."""
    if rule.packed is not None:
        return Spans(kv_length, rule.causal, {"documents": rule.packed.to(device, torch.int32).contiguous()})
    ends = {min(end, shift + rows) if rule.causal else end for _, end in present}
    begins = [begin for begin, _ in present]
    moves = (
        rule.causal or rule.left is not None
    )  # with the row's position, which is that of the last key for the last row
    if len(ends) != 1 or not any(begins) or (moves and shift != max(ends) - rows):
        return None
    padding = torch.tensor(begins, dtype=torch.int32, device=device)
    return Spans(max(ends), rule.causal, {"left_padding": padding})


def _describe(mask, batch_size, q_length, kv_length, q_offset, kv_offset, mask_function, attention_mask):
    rule = _rule_of(mask_function)
    if rule is None:
        return None
    present = _present(attention_mask, batch_size, kv_length, kv_offset)
    if present is None:
        return None
    shift = int(q_offset) - int(kv_offset)
    blocks = _blocks_of(rule, batch_size, q_length, kv_length, shift, present)
    if blocks is None:
        return None
    right = 0 if rule.causal and rule.left is not None else rule.right
    window = None if rule.left is None else (rule.left, right)
    spans = _spans_of(rule, q_length, kv_length, shift, present, mask.device) if len(blocks) > 1 else None
    return Blocks(blocks, window, (batch_size, q_length, kv_length), mask.device, mask._version, spans)


def attention_mask(
    batch_size,
    q_length,
    kv_length,
    q_offset=0,
    kv_offset=0,
    mask_function=masking_utils.causal_mask_function,
    attention_mask=None,
    **kwargs,
):
    """What transformers' `sdpa` would get: [batch_size, 1, q_length, kv_length] of bool, or None where is_causal will do."""
    arguments = {
        "batch_size": batch_size,
        "q_length": q_length,
        "kv_length": kv_length,
        "q_offset": q_offset,
        "kv_offset": kv_offset,
        "mask_function": mask_function,
        "attention_mask": attention_mask,
    }
    mask = sdpa_mask(**arguments, **kwargs)
    if isinstance(mask, torch.Tensor) and not torch.compiler.is_compiling() and type(mask) is torch.Tensor:
        setattr(mask, _ATTRIBUTE, _describe(mask, **arguments))
    return mask


def blocks_of(mask, query, key) -> Optional[Blocks]:
    """What attention_mask() left with the mask, if it is still true and for tensors of these shapes."""
    blocks = getattr(mask, _ATTRIBUTE, None)
    shape = (query.shape[0], query.shape[2], key.shape[2])
    return blocks if blocks is not None and (blocks.shape, blocks.version) == (shape, mask._version) else None
