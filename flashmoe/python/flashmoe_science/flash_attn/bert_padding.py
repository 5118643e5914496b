# SPDX-License-Identifier: MIT
"""flash_attn.bert_padding: padded batches as sequences one behind the other, and back."""

import torch


def index_first_axis(input, indices):
    """input: [N, ...]; indices: [n]. Gives [n, ...]."""
    return input.index_select(0, indices)


def index_put_first_axis(values, indices, first_axis_dim):
    """values: [n, ...]; indices: [n]. Gives [first_axis_dim, ...], zero where no index points."""
    return values.new_zeros((first_axis_dim, *values.shape[1:])).index_copy(0, indices, values)


def index_first_axis_residual(input, indices):
    """index_first_axis, and input itself."""
    return index_first_axis(input, indices), input.view_as(input)


def _offsets(lengths):
    return torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))


def _selected(mask):
    return mask.flatten().nonzero().flatten()


def unpad_input(hidden_states, attention_mask, unused_mask=None):
    """hidden_states: [B, S, ...]; the masks: [B, S], 1 for what is there, and for what is there without being used.

    Gives the rows [n, ...] that are there, their indices [n] in [B * S], cu_seqlens [B + 1], the longest length, and the
    number of rows in use [B].
    """
    present = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = present.sum(-1, dtype=torch.int32)
    indices = _selected(present)
    return (
        index_first_axis(hidden_states.flatten(0, 1), indices),
        indices,
        _offsets(lengths),
        int(lengths.max()),
        attention_mask.sum(-1, dtype=torch.int32),
    )


def unpad_input_for_concatenated_sequences(hidden_states, attention_mask_in_length):
    """As unpad_input, where a row of [B, S] begins with the lengths of the sequences that are packed into it."""
    used = attention_mask_in_length.sum(-1, keepdim=True)
    lengths = attention_mask_in_length.flatten()
    lengths = lengths[lengths.nonzero().flatten()]
    places = torch.arange(attention_mask_in_length.shape[1], device=used.device)
    indices = _selected(places[None] < used)
    return (
        index_first_axis(hidden_states.flatten(0, 1), indices),
        indices,
        _offsets(lengths),
        int(lengths.max()),
    )


def pad_input(hidden_states, indices, batch, seqlen):
    """hidden_states: [n, ...]; indices: [n]. Gives [batch, seqlen, ...], zero where no index points."""
    return index_put_first_axis(hidden_states, indices, batch * seqlen).unflatten(0, (batch, seqlen))
