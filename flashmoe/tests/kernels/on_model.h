// SPDX-License-Identifier: MIT
// Runs a problem through plan and launch on the model of a GPU, every address checked against the tensors.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "dispatch/plan.h"
#include "primitives/model/settings.h"
#include "support/problem.h"
#include "support/sequences.h"

namespace flashmoe::test {

// Kernels may touch the tensor's elements, and whatever lies between them.
void allow_tensor(const char* name, const Tensor& t, bool writable);
// And read what changes scores, of a problem with so many batch entries, query heads, query rows and keys.
void allow_scores(const Scores& scores, const std::array<int64_t, 4>& pairs);
// The elements, of so many bytes, of a tensor with strides for those.
void allow_pairs(const char* name, const void* data, const std::array<int64_t, 4>& strides, int64_t element,
                 const std::array<int64_t, 4>& pairs, bool writable);

// The arrays of its spans, where it has any.
template <class Args>
void allow_spans(const Args& args) {
  const Spans& spans = args.spans;
  const auto allow = [](const char* name, const int32_t* data, int64_t count) {
    if (data != nullptr && count > 0)
      model::allow_memory(name, data, static_cast<std::size_t>(count) * sizeof(int32_t), false);
  };
  const int64_t batch = sequences_of(args);
  allow("documents", spans.documents, (args.k.sizes[0] - 1) * spans.documents_stride + args.k.sizes[2]);
  allow("prefix", spans.prefix, batch);
  allow("left_padding", spans.left_padding, batch);
}

// The arrays of its lengths, where it has any.
template <class Args>
void allow_lengths(const Args& args) {
  const Lengths& lengths = args.lengths;
  const auto allow = [](const char* name, const int32_t* data, int64_t count) {
    if (data != nullptr && count > 0)
      model::allow_memory(name, data, static_cast<std::size_t>(count) * sizeof(int32_t), false);
  };
  allow("q_starts", lengths.q_starts, lengths.sequences + 1);
  allow("k_starts", lengths.k_starts, lengths.sequences + 1);
  allow("q_used", lengths.q_used, lengths.sequences);
  allow("k_used", lengths.k_used, lengths.sequences);
}

struct OnModel {
  dispatch::ForwardChoice choice{};
  model::Settings settings{};
  std::string_view gpu = "H200";  // what to plan for
  int sms = 0;                // that it has; 0: as many as in the table. Few make blocks walk over many tiles
  bool claim_aligned = true;  // false: take the path for unaligned rows even where rows are aligned
};

// The plan that was run. Throws model::Failure when the kernel breaks a rule. `launch` takes the place of the
// plan's own kernel when given.
using Launch = std::function<void(const dispatch::ForwardPlan&, Workspace)>;
dispatch::ForwardPlan run_on_model(Problem& problem, const OnModel& how = {}, const Launch& launch = {});

// Builds the problem and runs it under early and late copies and several schedules; the first thing that is
// wrong, or "".
std::string trouble_on_model(const Shape& shape, const dispatch::ForwardChoice& choice = {}, int seeds = 2,
                             bool claim_aligned = true);

}  // namespace flashmoe::test

#define EXPECT_RUNS_ON_MODEL(...) EXPECT_EQ(::flashmoe::test::trouble_on_model(__VA_ARGS__), "")
