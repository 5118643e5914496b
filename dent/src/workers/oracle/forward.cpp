// SPDX-License-Identifier: MIT
#include "workers/oracle/forward.h"

#include <limits>

#include "operators/fill.h"
#include "reference/attention.h"

namespace dent {
namespace {

constexpr double kMostPairs = 1.5e6;  // (query, key) pairs times head_dim: about a second

}  // namespace

void ForwardOracle::compute() {
  const std::int64_t heads = number("B") * number("H");
  const std::int64_t rows = number("Sq");
  forget("out", heads * rows * number("D"));
  forget("lse", heads * rows);
  const auto keys = static_cast<double>(number("Skv"));
  if (static_cast<double>(heads * rows) * keys <= kMostPairs) {
    for (std::int64_t head = 0; head < heads; ++head) block(head, 0, rows);
    return;
  }
  // The first and the last row, and random ones, drawn after the candidate has answered.
  const auto wanted = static_cast<std::int64_t>(kMostPairs / keys) + 2;
  Random random(secret_seed());
  block(0, 0, 1);
  block(heads - 1, rows - 1, 1);
  for (std::int64_t i = 2; i < wanted; ++i) {
    block(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(heads))),
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows))), 1);
  }
}

// Query rows [first, first + rows) of one head. A single row needs no mask: it is given its visible keys
// only.
void ForwardOracle::block(std::int64_t head, std::int64_t first, std::int64_t rows) {
  const bool whole = rows == number("Sq");
  const std::int64_t kv_head = head / group();
  const std::int64_t visible = whole ? number("Skv") : visible_keys(first);
  const flashmoe::ForwardProblem problem{
      .q_rows = rows,
      .kv_rows = visible,
      .head_dim = number("D"),
      .dtype = dtype(),
      .mask = causal() && whole ? flashmoe::Mask::causal : flashmoe::Mask::none,
      .scale = scale()};
  const auto at = static_cast<std::size_t>(head * number("Sq") + first);
  const auto width = static_cast<std::size_t>(number("D"));
  if (visible == 0) {  // no visible key: zeros, and a log-sum-exp of -inf
    for (std::size_t d = 0; d < width; ++d)
      values_["out"][at * width + d] = values_["out.bound"][at * width + d] = 0;
    values_["lse"][at] = -std::numeric_limits<double>::infinity();
    values_["lse.bound"][at] = 0;
    return;
  }
  flashmoe::ForwardArgs args;
  args.q = view(0, head, 1, first, rows);
  args.k = view(1, kv_head, 1, 0, visible);
  args.v = view(2, kv_head, 1, 0, visible);
  args.mask = problem.mask;
  const auto expected = flashmoe::reference::attention_forward(problem, args);
  for (std::size_t i = 0; i < expected.out.size(); ++i) {
    values_["out"][at * width + i] = expected.out[i];
    values_["out.bound"][at * width + i] = flashmoe::reference::output_bound(problem, expected, i);
  }
  for (std::size_t r = 0; r < expected.lse.size(); ++r) {
    values_["lse"][at + r] = expected.lse[r];
    values_["lse.bound"][at + r] = flashmoe::reference::lse_bound(expected, r);
  }
}

}  // namespace dent
