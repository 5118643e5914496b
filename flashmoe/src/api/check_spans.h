// SPDX-License-Identifier: MIT
// What every call checks of its spans.
#pragma once

#include "api/check_tensors.h"

namespace flashmoe {

void check_spans(const TensorChecks& checks, const Spans& spans, const Tensor& k);

struct SpansBytes {
  SpansBytes(const Spans& spans, const Lengths& lengths, const ForwardProblem& problem);

  NamedBytes documents, prefix, left_padding;
};

}  // namespace flashmoe
