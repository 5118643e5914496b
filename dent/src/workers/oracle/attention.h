// SPDX-License-Identifier: MIT
// What both oracles of attention share: the problem, views of its inputs, and what each output should be, in
// float64. Outputs are asked for by name, each with how far from it an element may be: out, out.bound, and so
// on. Elements that are not looked at get an infinite bound.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flashmoe/attention.h"
#include "workers/serve.h"

namespace dent {

class AttentionOracle {
 public:
  virtual ~AttentionOracle() = default;

  using Values = std::map<std::string, std::vector<double>>;
  // Inputs lie in `pool`, where `offsets` say.
  const Values& compute(const protocol::ProblemMessage& problem, const protocol::Offsets& offsets,
                        const std::byte* pool);

 protected:
  virtual void compute() = 0;

  std::int64_t number(const char* name) const { return static_cast<std::int64_t>(message_.numbers.at(name)); }
  bool causal() const { return message_.numbers.at("causal") != 0; }
  float scale() const { return static_cast<float>(message_.numbers.at("scale")); }
  flashmoe::DType dtype() const;  // of q
  std::int64_t group() const { return number("H") / number("Hkv"); }
  // Keys that a row sees, and the first row that sees a key.
  std::int64_t visible_keys(std::int64_t row) const;
  std::int64_t first_row(std::int64_t key) const;

  // Element (head, row, 0) of an input [B, H, S, D] or [B, H, S]; heads are counted over the batch.
  std::byte* at(std::size_t input, std::int64_t head, std::int64_t row) const;
  // Rows [first, first + rows) of `heads` heads of an input.
  flashmoe::Tensor view(std::size_t input, std::int64_t head, std::int64_t heads, std::int64_t first,
                        std::int64_t rows) const;

  // All elements of an output, and their bounds: none is looked at yet.
  void forget(const char* output, std::int64_t elements);
  Values values_;

 private:
  protocol::ProblemMessage message_;
  protocol::Offsets offsets_;
  const std::byte* pool_ = nullptr;
};

}  // namespace dent
