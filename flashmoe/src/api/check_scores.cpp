// SPDX-License-Identifier: MIT
#include "api/check_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "numeric/pair_value.h"

namespace flashmoe {
namespace {

// From its first element to its last.
std::size_t pair_bytes(const PairTensor& t, const ForwardProblem& p) {
  const int64_t sizes[] = {p.batch, p.q_heads, p.q_rows, p.kv_rows};
  if (t.data == nullptr || *std::min_element(sizes, sizes + 4) == 0) return 0;
  int64_t elements = 1;
  for (std::size_t i = 0; i < 4; ++i) elements += (sizes[i] - 1) * t.strides[i];
  return static_cast<std::size_t>(elements * element_bytes(t.type));
}

}  // namespace

void check_scores(const TensorChecks& checks, const Scores& scores, const Lengths& lengths,
                  ForwardProblem& problem) {
  const int64_t sequences = lengths.given() ? lengths.sequences : problem.batch;
  // Backends divide by the cap, and multiply it by log2(e).
  const bool usable = scores.softcap == 0 || (scores.softcap > 0 && std::isnormal(scores.softcap) &&
                                              std::isfinite(scores.softcap * 1.5F));
  if (!usable) {
    checks.refuse("softcap is " + std::to_string(scores.softcap) +
                  "; accepted are 0 (none) and positive numbers of the normal range of fp32");
  }
  const int64_t stride = scores.slopes_batch_stride;
  if (stride != 0 && (scores.alibi_slopes == nullptr || stride < problem.q_heads)) {
    checks.refuse("slopes_batch_stride is " + std::to_string(stride) +
                  "; accepted are 0, and with alibi_slopes the " + std::to_string(problem.q_heads) +
                  " heads of q and above");
  }
  checks.reach("alibi_slopes", {std::max(problem.batch, sequences), 1, 1, problem.q_heads},
               {stride, 0, 0, 1});
  checks.pointer("alibi_slopes", scores.alibi_slopes);
  checks.pointer("sinks", scores.sinks);
  if (const auto type = static_cast<int32_t>(scores.attn_mask.type); type < 0 || type > 3) {
    checks.refuse("scores.attn_mask has type " + std::to_string(type) +
                  "; accepted are 0 (fp32), 1 (fp16), 2 (bf16), 3 (boolean)");
  }
  for (const int64_t pair_stride : scores.attn_mask.strides) {
    if (pair_stride >= 0) continue;
    checks.refuse("scores.attn_mask has a stride of " + std::to_string(pair_stride) +
                  "; it must be 0 or more");
  }
  if (scores.attn_mask.data != nullptr) {
    checks.reach("scores.attn_mask",
                 {std::max(problem.batch, sequences), problem.q_heads, problem.q_rows, problem.kv_rows},
                 scores.attn_mask.strides);
  }
  const auto past = reinterpret_cast<std::uintptr_t>(scores.attn_mask.data) %
                    static_cast<std::uintptr_t>(element_bytes(scores.attn_mask.type));
  if (past != 0) {
    checks.refuse("scores.attn_mask starts " + std::to_string(past) + " bytes past a multiple of " +
                  std::to_string(element_bytes(scores.attn_mask.type)) +
                  "; data must be aligned to its elements");
  }
  problem.softcap = scores.softcap;
  problem.attn_mask = scores.attn_mask.data != nullptr;
  problem.pairs = PairNames::of(scores.attn_mask);
  problem.slopes = scores.alibi_slopes != nullptr;
  problem.sinks = scores.sinks != nullptr;
}

Tensor pair_gradient(const PairGradient& gradient, const ForwardProblem& problem) {
  Tensor t{.data = gradient.data, .dtype = DType::fp32, .strides = gradient.strides};
  const int64_t sizes[] = {problem.batch, problem.q_heads, problem.q_rows, problem.kv_rows};
  for (std::size_t i = 0; i < 4; ++i) t.sizes[i] = gradient.strides[i] == 0 ? 1 : sizes[i];
  return t;
}

void check_pair_gradient(const TensorChecks& checks, const PairGradient& gradient, const Scores& scores,
                         const ForwardProblem& problem) {
  if (gradient.data == nullptr) return;
  if (scores.attn_mask.data == nullptr || scores.attn_mask.type == PairType::boolean) {
    checks.refuse(std::string("dattn_mask is given and scores.attn_mask ") +
                      (scores.attn_mask.data == nullptr ? "is null" : "is boolean, which has no gradient"),
                  "give the tensor that the forward added to scores");
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const int64_t stride = gradient.strides[i];
    if (stride >= 0 && (i < 3 || stride <= 1)) continue;
    checks.refuse("dattn_mask has a stride of " + std::to_string(stride) + " in dimension " +
                  std::to_string(i) + "; it must be 0 or " + (i < 3 ? "more" : "1"));
  }
  checks.reach("dattn_mask", {problem.batch, problem.q_heads, problem.q_rows, problem.kv_rows},
               gradient.strides);
}

void check_dropout(const TensorChecks& checks, const Dropout& dropout, ForwardProblem& problem) {
  if (!(dropout.p >= 0 && dropout.p <= 1))
    checks.refuse("dropout.p is " + std::to_string(dropout.p) + "; it must be a probability, from 0 to 1");
  problem.dropout = dropout;
}

ScoresBytes::ScoresBytes(const Scores& scores, const ForwardProblem& problem, const Lengths& lengths)
    : slopes(NamedBytes::of(
          "alibi_slopes", scores.alibi_slopes,
          problem.q_heads +
              scores.slopes_batch_stride *
                  std::max<int64_t>((lengths.given() ? lengths.sequences : problem.batch) - 1, 0))),
      sinks(NamedBytes::of("sinks", scores.sinks, problem.q_heads)),
      attn_mask{"attn_mask", Footprint::of(scores.attn_mask.data, pair_bytes(scores.attn_mask, problem))} {}

}  // namespace flashmoe
