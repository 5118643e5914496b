// SPDX-License-Identifier: MIT
// Common parts of attention's two oracles: the problem, views of its inputs, and expected outputs in float64.
// An output "out" has a companion "out.bound" with the largest error allowed for each element. Elements that
// were not computed get an infinite bound.
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
  // Reads inputs from `pool` at the given offsets.
  const Values& compute(const protocol::ProblemMessage& problem, const protocol::Offsets& offsets,
                        const std::byte* pool);

 protected:
  virtual void compute() = 0;

  std::int64_t number(const char* name) const { return static_cast<std::int64_t>(message_.numbers.at(name)); }
  bool causal() const { return message_.numbers.at("causal") != 0; }
  float scale() const { return static_cast<float>(message_.numbers.at("scale")); }
  flashmoe::DType dtype() const;  // type of q
  std::int64_t group() const { return number("H") / number("Hkv"); }
  // Number of keys that a row sees, and the first row that sees a key.
  std::int64_t visible_keys(std::int64_t row) const;
  std::int64_t first_row(std::int64_t key) const;

  // Address of element (head, row, 0) of an input [B, H, S, D] or [B, H, S]; heads are counted over the
  // batch.
  std::byte* at(std::size_t input, std::int64_t head, std::int64_t row) const;
  // Rows [first, first + rows) of `heads` heads of an input.
  flashmoe::Tensor view(std::size_t input, std::int64_t head, std::int64_t heads, std::int64_t first,
                        std::int64_t rows) const;

  // Resets an output of this size: every element has an infinite bound.
  void forget(const char* output, std::int64_t elements);
  Values values_;

 private:
  protocol::ProblemMessage message_;
  protocol::Offsets offsets_;
  const std::byte* pool_ = nullptr;
};

}  // namespace dent
