// SPDX-License-Identifier: MIT
// dent-oracle: says what attention should give, in float64, and how far from it each element may be. It
// speaks the worker's protocol, in a process that no candidate's code ever enters.
//
// Outputs asked for by name: out, out.bound, lse, lse.bound; all fp64. A problem beyond kMostPairs (query,
// key) pairs is checked at rows drawn by lot from "seed": the other elements get an infinite bound.
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "operators/fill.h"
#include "reference/attention.h"
#include "workers/serve.h"

namespace dent {
namespace {

constexpr double kMostPairs = 1.5e6;  // times head_dim: about a second

flashmoe::DType library_type(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return flashmoe::DType::fp32;
    case DType::fp16:
      return flashmoe::DType::fp16;
    case DType::bf16:
      return flashmoe::DType::bf16;
    default:
      throw std::runtime_error("attention.forward takes fp32, fp16 and bf16");
  }
}

class AttentionOracle : public Host {
 public:
  protocol::Loaded load(const protocol::Load&) override { return {protocol::WorkerKind::reference, {}, {}}; }

  void set_problem(const protocol::ProblemMessage& problem) override { message_ = problem; }

  void prepare(const std::vector<protocol::Offsets>& calls) override { offsets_ = calls.at(0); }

  protocol::Timed go(std::uint64_t) override {
    const auto start = std::chrono::steady_clock::now();
    compute();
    return {std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count(), 0, 0};
  }

  protocol::Kept keep(std::size_t) override {
    for (const auto& place : message_.outputs) {
      const auto& values = values_.at(place.tensor.name);
      std::copy(values.begin(), values.end(), reinterpret_cast<double*>(results + place.at));
    }
    return {};
  }

 private:
  std::int64_t number(const char* name) const { return static_cast<std::int64_t>(message_.numbers.at(name)); }

  flashmoe::Tensor view(std::size_t input, std::int64_t head, std::int64_t first_row,
                        std::int64_t rows) const {
    const auto& place = message_.inputs.at(input);
    const auto& sizes = place.tensor.sizes;  // [B, H, S, D]
    const std::size_t element =
        offsets_.at(input) + static_cast<std::size_t>((head * sizes[2] + first_row) * sizes[3]);
    // The reference only reads.
    auto* data = const_cast<std::byte*>(pool) + place.at + element * bytes_of(place.stored);
    return flashmoe::Tensor::dense(data, library_type(place.stored), {1, 1, rows, sizes[3]});
  }

  void compute() {
    const std::int64_t heads = number("B") * number("H");
    const std::int64_t rows = number("Sq");
    const std::int64_t keys = number("Skv");
    const std::int64_t dim = number("D");
    const auto count = static_cast<std::size_t>(heads * rows);
    values_.clear();
    for (const char* name : {"out", "out.bound"}) {
      values_[name].assign(count * static_cast<std::size_t>(dim), std::numeric_limits<double>::infinity());
    }
    for (const char* name : {"lse", "lse.bound"})
      values_[name].assign(count, std::numeric_limits<double>::infinity());

    const double all_pairs = static_cast<double>(count) * static_cast<double>(keys);
    if (all_pairs <= kMostPairs) {
      for (std::int64_t head = 0; head < heads; ++head) block(head, 0, rows);
      return;
    }
    // The first and the last row of all, and rows drawn by lot: the draw is made after the candidate has
    // answered.
    const auto wanted = static_cast<std::int64_t>(kMostPairs / static_cast<double>(keys)) + 2;
    Random random(secret_seed());
    block(0, 0, 1);
    block(heads - 1, rows - 1, 1);
    for (std::int64_t i = 2; i < wanted; ++i) {
      block(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(heads))),
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows))), 1);
    }
  }

  // Query rows [first, first + rows) of one head. A single row sees its keys without any mask.
  void block(std::int64_t head, std::int64_t first, std::int64_t rows) {
    const std::int64_t q_rows = number("Sq");
    const std::int64_t keys = number("Skv");
    const std::int64_t dim = number("D");
    const bool causal = message_.numbers.at("causal") != 0;
    const bool whole = rows == q_rows;
    const std::int64_t group = number("H") / number("Hkv");
    const std::int64_t batch = head / number("H");
    const std::int64_t kv_head = batch * number("Hkv") + head % number("H") / group;
    const std::int64_t visible =
        causal && !whole ? std::clamp<std::int64_t>(first + 1 + keys - q_rows, 0, keys) : keys;

    flashmoe::ForwardProblem problem{.q_rows = rows,
                                     .kv_rows = visible,
                                     .head_dim = dim,
                                     .dtype = library_type(message_.inputs.at(0).stored),
                                     .mask = causal && whole ? flashmoe::Mask::causal : flashmoe::Mask::none,
                                     .scale = static_cast<float>(message_.numbers.at("scale"))};
    const auto at = static_cast<std::size_t>(head * q_rows + first);
    const auto width = static_cast<std::size_t>(dim);
    if (visible == 0) {  // no key at all: zeros, and a log-sum-exp of -inf
      for (std::size_t d = 0; d < width; ++d)
        values_["out"][at * width + d] = values_["out.bound"][at * width + d] = 0;
      values_["lse"][at] = -std::numeric_limits<double>::infinity();
      values_["lse.bound"][at] = 0;
      return;
    }
    flashmoe::ForwardArgs args;
    args.q = view(0, head, first, rows);
    args.k = view(1, kv_head, 0, visible);
    args.v = view(2, kv_head, 0, visible);
    args.mask = problem.mask;
    const auto expected = flashmoe::reference::attention_forward(problem, args);
    for (std::size_t i = 0; i < expected.out.size(); ++i) {
      values_["out"][at * width + i] = expected.out[i];
      values_["out.bound"][at * width + i] = flashmoe::reference::output_bound(problem, expected, i);
    }
    for (std::size_t r = 0; r < expected.lse.size(); ++r) {
      values_["lse"][at + r] = expected.lse[r];
      values_["lse.bound"][at + r] = flashmoe::reference::lse_bound(problem, expected, r);
    }
  }

  protocol::ProblemMessage message_;
  protocol::Offsets offsets_;
  std::map<std::string, std::vector<double>> values_;
};

}  // namespace
}  // namespace dent

int main() {
  prctl(PR_SET_DUMPABLE, 0);  // what is expected is nobody else's to read
  dent::AttentionOracle oracle;
  return dent::serve(oracle);
}
