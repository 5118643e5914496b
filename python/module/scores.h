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

  bool has_scores() const;
  // (softcap, alibi_slopes, sinks)
  Ref scores_as_tuple() const;
};

// The same, read.
struct ScoresViews {
  TensorView slopes, sinks;
  flashmoe_scores scores{};
};

// Fills `views` and sets `to` where there are any. `entries`: batch entries, or sequences.
bool read_scores(const ScoresRequest& request, const TensorView& q, int64_t entries,
                 std::optional<ScoresViews>& views, const flashmoe_scores*& to);

}  // namespace flashmoe_python
