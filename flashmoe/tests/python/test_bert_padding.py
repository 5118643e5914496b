# SPDX-License-Identifier: MIT
"""flashmoe_science.flash_attn.bert_padding: rows of a padded batch that count, one behind the other, and back."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
from flash_attn_cases import normal

from flashmoe_science.flash_attn import bert_padding


def test_unpad_and_pad():
    x = normal(3, 5, 2, 4).requires_grad_()
    mask = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]])
    rows, indices, cu_seqlens, longest, used = bert_padding.unpad_input(x, mask)
    assert torch.equal(rows, x[mask.bool()])
    assert cu_seqlens.tolist() == [0, 3, 4, 9] and cu_seqlens.dtype == torch.int32
    assert (
        longest == 5 and used.tolist() == [3, 1, 5] and indices.tolist() == [0, 1, 2, 9, 10, 11, 12, 13, 14]
    )
    back = bert_padding.pad_input(rows, indices, 3, 5)
    assert torch.equal(back, x * mask[..., None, None])
    (grad,) = torch.autograd.grad(back, x, torch.ones_like(back))
    assert torch.equal(grad, mask[..., None, None].expand_as(x).float())
    unused = torch.tensor([[0, 0, 0, 1, 0], [0] * 5, [0] * 5])
    rows, _, cu_seqlens, longest, used = bert_padding.unpad_input(x, mask, unused)
    assert cu_seqlens.tolist() == [0, 4, 5, 10] and longest == 5 and used.tolist() == [3, 1, 5]


def test_unpad_sequences_that_share_a_row():
    x = normal(2, 6, 4)
    lengths = torch.tensor([[2, 3, 0, 0, 0, 0], [6, 0, 0, 0, 0, 0]])
    rows, indices, cu_seqlens, longest = bert_padding.unpad_input_for_concatenated_sequences(x, lengths)
    assert cu_seqlens.tolist() == [0, 2, 5, 11] and longest == 6
    assert indices.tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert torch.equal(rows, torch.cat((x[0, :5], x[1])))


def test_rows_by_index():
    x = normal(5, 3).requires_grad_()
    some, same = bert_padding.index_first_axis_residual(x, torch.tensor([3, 1]))
    (grad,) = torch.autograd.grad((some, same), x, (torch.ones(2, 3), torch.ones(5, 3)))
    assert torch.equal(some, x[[3, 1]]) and grad[:, 0].tolist() == [1, 2, 1, 2, 1]
    put = bert_padding.index_put_first_axis(some, torch.tensor([4, 0]), 6)
    assert torch.equal(put[[4, 0]], some) and (put[[1, 2, 3, 5]] == 0).all()
