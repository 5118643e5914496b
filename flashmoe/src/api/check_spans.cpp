// SPDX-License-Identifier: MIT
#include "api/check_spans.h"

#include <algorithm>
#include <string>

namespace flashmoe {
namespace {

int64_t sequences_of(const Lengths& lengths, const ForwardProblem& problem) {
  return lengths.given() ? lengths.sequences : problem.batch;
}

// Batch entries of k.
int64_t key_entries(const Lengths& lengths, const ForwardProblem& problem) {
  return lengths.k_starts != nullptr ? 1 : sequences_of(lengths, problem);
}

}  // namespace

void check_spans(const TensorChecks& checks, const Spans& spans, const Tensor& k) {
  checks.pointer("spans.documents", spans.documents);
  checks.pointer("spans.prefix", spans.prefix);
  checks.pointer("spans.left_padding", spans.left_padding);
  const auto not_negative = [&](const char* name, int64_t value) {
    if (value >= 0) return;
    checks.refuse(std::string(name) + " is " + std::to_string(value) + "; it must be 0 or more");
  };
  not_negative("spans.documents_stride", spans.documents_stride);
  if (spans.documents != nullptr)
    checks.reach("spans.documents", {k.sizes[0], 1, 1, k.sizes[2]}, {spans.documents_stride, 0, 0, 1});
  not_negative("spans.chunk", spans.chunk);
  not_negative("spans.first_keys", spans.first_keys);
}

SpansBytes::SpansBytes(const Spans& spans, const Lengths& lengths, const ForwardProblem& problem)
    : documents(
          NamedBytes::of("spans.documents", spans.documents,
                         std::max<int64_t>(key_entries(lengths, problem) - 1, 0) * spans.documents_stride +
                             problem.kv_rows)),
      prefix(NamedBytes::of("spans.prefix", spans.prefix, sequences_of(lengths, problem))),
      left_padding(NamedBytes::of("spans.left_padding", spans.left_padding, sequences_of(lengths, problem))) {
}

}  // namespace flashmoe
