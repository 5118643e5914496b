// SPDX-License-Identifier: MIT
// Sequences of different lengths: the arguments that say so.
#pragma once

#include <optional>

#include "flashmoe/flashmoe.h"
#include "tensor_view.h"

namespace flashmoe_python {

// What the caller gave: borrowed references, null or None where that was nothing.
struct LengthsRequest {
  PyObject* cu_seqlens_q = nullptr;  // int32 [sequences + 1]: q, k and v are packed
  PyObject* cu_seqlens_k = nullptr;
  PyObject* used_q = nullptr;  // int32 [sequences]: seqused_q of packed tensors, q_lengths of padded ones
  PyObject* used_k = nullptr;
  PyObject* max_seqlen_q = nullptr;
  PyObject* max_seqlen_k = nullptr;
  bool packed = false;  // the function is for packed tensors

  bool has_lengths() const;
};

// The same, read.
struct LengthsViews {
  TensorView starts_q, starts_k, used_q, used_k;
  flashmoe_lengths lengths{};
};

// Fills `views` and sets `to` where there are any. Their device is q's.
bool read_lengths(const LengthsRequest& request, const TensorView& q, std::optional<LengthsViews>& views,
                  const flashmoe_lengths*& to);

// Sequences, or entries of the batch: what masks and scores of each are counted by.
int64_t entries_of(const TensorView& q, const std::optional<LengthsViews>& views);

}  // namespace flashmoe_python
