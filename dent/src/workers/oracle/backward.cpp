// SPDX-License-Identifier: MIT
// A row of dq depends on that query row and the keys that it sees; a row of dk or dv on that key and the rows
// that see it. Since out and lse are given, each row is a small independent problem without a mask, so rows
// can be chosen at random.
#include "workers/oracle/backward.h"

#include <algorithm>

#include "operators/fill.h"

namespace dent {
namespace {

enum Input : std::size_t { kQ, kK, kV, kOut, kLse, kDout };
constexpr double kMostGradientPairs = 5e5;  // (query, key) pairs times head_dim: about a second

}  // namespace

void BackwardOracle::compute() {
  const std::int64_t heads = number("B") * number("H"), rows = number("Sq");
  const std::int64_t kv_heads = number("B") * number("Hkv"), keys = number("Skv");
  forget("dq", heads * rows * number("D"));
  for (const char* output : {"dk", "dv"}) forget(output, kv_heads * keys * number("D"));
  if (2 * static_cast<double>(heads * rows) * static_cast<double>(keys) <= kMostGradientPairs) {
    for (std::int64_t i = 0; i < heads * rows; ++i) row(i / rows, i % rows);
    for (std::int64_t i = 0; i < kv_heads * keys; ++i) key(i / keys, i % keys);
    return;
  }
  // The first and the last row, and random ones, drawn after the candidate has answered.
  Random random(secret_seed());
  const auto draw = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
  };
  row(0, 0);
  row(heads - 1, rows - 1);
  key(0, 0);
  key(kv_heads - 1, keys - 1);
  for (double left = kMostGradientPairs / 2; left > 0; left -= static_cast<double>(keys))
    row(draw(heads), draw(rows));
  for (double left = kMostGradientPairs / 2; left > 0; left -= static_cast<double>(rows * group()))
    key(draw(kv_heads), draw(keys));
}

void BackwardOracle::row(std::int64_t head, std::int64_t row) {
  const std::int64_t visible = visible_keys(row);
  const std::int64_t line = head * number("Sq") + row;
  if (visible == 0) return store("dq", line, {});
  const std::int64_t kv_head = head / group();
  const flashmoe::ForwardProblem problem{
      .q_rows = 1, .kv_rows = visible, .head_dim = number("D"), .dtype = dtype(), .scale = scale()};
  const auto result = flashmoe::reference::attention_backward(
      problem, {.q = view(kQ, head, 1, row, 1),
                .k = view(kK, kv_head, 1, 0, visible),
                .v = view(kV, kv_head, 1, 0, visible),
                .dout = view(kDout, head, 1, row, 1),
                .out = view(kOut, head, 1, row, 1),
                .lse = reinterpret_cast<const float*>(at(kLse, head, row))});
  store("dq", line, result.dq);
}

void BackwardOracle::key(std::int64_t kv_head, std::int64_t key) {
  const std::int64_t first = first_row(key);
  const std::int64_t rows = number("Sq") - first;
  const std::int64_t line = kv_head * number("Skv") + key;
  if (rows == 0) {
    store("dk", line, {});
    return store("dv", line, {});
  }
  const std::int64_t head = kv_head * group();
  std::vector<float> lse;  // lse of these rows only
  for (std::int64_t h = 0; h < group(); ++h) {
    const auto* of_head = reinterpret_cast<const float*>(at(kLse, head + h, first));
    lse.insert(lse.end(), of_head, of_head + rows);
  }
  const flashmoe::ForwardProblem problem{.q_heads = group(),
                                         .kv_heads = 1,
                                         .q_rows = rows,
                                         .kv_rows = 1,
                                         .head_dim = number("D"),
                                         .dtype = dtype(),
                                         .scale = scale()};
  const auto result =
      flashmoe::reference::attention_backward(problem, {.q = view(kQ, head, group(), first, rows),
                                                        .k = view(kK, kv_head, 1, key, 1),
                                                        .v = view(kV, kv_head, 1, key, 1),
                                                        .dout = view(kDout, head, group(), first, rows),
                                                        .out = view(kOut, head, group(), first, rows),
                                                        .lse = lse.data()});
  store("dk", line, result.dk);
  store("dv", line, result.dv);
}

// Stores one row of an output; zeros if the gradient is empty.
void BackwardOracle::store(const char* output, std::int64_t line,
                           const flashmoe::reference::Gradient& gradient) {
  const auto width = static_cast<std::size_t>(number("D"));
  const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(line) * width);
  const auto put = [&](const std::string& name, const std::vector<double>& from) {
    auto to = values_[name].begin() + first;
    if (from.empty())
      std::fill_n(to, width, 0.0);
    else
      std::copy(from.begin(), from.end(), to);
  };
  put(output, gradient.value);
  put(std::string(output) + ".bound", gradient.bound);
}

}  // namespace dent
