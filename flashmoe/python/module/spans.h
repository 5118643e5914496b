// SPDX-License-Identifier: MIT
// Masks by name: the arguments that say so.
#pragma once

#include <optional>

#include "flashmoe/flashmoe.h"
#include "tensor_view.h"

namespace flashmoe_python {

// What the caller gave: borrowed references, null or None where that was nothing.
struct SpansRequest {
  PyObject* documents = nullptr;     // int32 [B, Skv] or [Skv]; where packed [total_k]
  PyObject* prefix = nullptr;        // int32 [B], or [sequences]
  PyObject* left_padding = nullptr;  // the same
  PyObject* chunk = nullptr;
  PyObject* first_keys = nullptr;

  bool has_spans() const;
};

// The same, read.
struct SpansViews {
  TensorView documents, prefix, left_padding;
  flashmoe_spans spans{};
};

// Fills `views` and sets `to` where there are any, of `entries` of the batch, or sequences. Their device is
// q's.
bool read_spans(const SpansRequest& request, const TensorView& q, const TensorView& k, int64_t entries,
                std::optional<SpansViews>& views, const flashmoe_spans*& to);

}  // namespace flashmoe_python
