// SPDX-License-Identifier: MIT
// What changes scores: the arguments that say so.
#pragma once

#include <optional>

#include "flashmoe/flashmoe.h"
#include "tensor_view.h"

namespace flashmoe_python {

// What the caller gave: borrowed references, null or None where that was nothing.
struct ScoresRequest {
  PyObject* softcap = nullptr;
  PyObject* alibi_slopes = nullptr;  // float32 [Hq] or [B, Hq]
  PyObject* sinks = nullptr;         // float32 [Hq]
  PyObject* attn_mask = nullptr;     // bool or floats, broadcast to [B, Hq, Sq, Skv]

  bool has_scores() const;
};

// The same, read.
struct ScoresViews {
  TensorView slopes, sinks, attn_mask;
  flashmoe_pair_tensor pairs{};
  flashmoe_scores scores{};
};

// Fills `views` and sets `to` where there are any. `entries`: batch entries, or sequences.
bool read_scores(const ScoresRequest& request, const TensorView& q, const TensorView& k, int64_t entries,
                 std::optional<ScoresViews>& views, const flashmoe_scores*& to);

// Tensors with a value for every query row and key have up to four dimensions, aligned at the last; those of
// size 1 are shared.
Form form_of_pairs(PyObject* object, Elements elements);
bool broadcast_pairs(const TensorView& view, const TensorView& q, const TensorView& k, int64_t (&strides)[4]);

}  // namespace flashmoe_python
