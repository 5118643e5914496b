// SPDX-License-Identifier: MIT
#include "workers/oracle/attention.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace dent {
namespace {

flashmoe::DType library_type(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return flashmoe::DType::fp32;
    case DType::fp16:
      return flashmoe::DType::fp16;
    case DType::bf16:
      return flashmoe::DType::bf16;
    default:
      throw std::runtime_error("attention supports fp32, fp16 and bf16");
  }
}

}  // namespace

const AttentionOracle::Values& AttentionOracle::compute(const protocol::ProblemMessage& problem,
                                                        const protocol::Offsets& offsets,
                                                        const std::byte* pool) {
  message_ = problem;
  offsets_ = offsets;
  pool_ = pool;
  values_.clear();
  compute();
  return values_;
}

flashmoe::DType AttentionOracle::dtype() const { return library_type(message_.inputs.at(0).stored); }

std::int64_t AttentionOracle::visible_keys(std::int64_t row) const {
  const std::int64_t keys = number("Skv");
  return causal() ? std::clamp<std::int64_t>(row + 1 + keys - number("Sq"), 0, keys) : keys;
}

std::int64_t AttentionOracle::first_row(std::int64_t key) const {
  const std::int64_t rows = number("Sq");
  return causal() ? std::clamp<std::int64_t>(key + rows - number("Skv"), 0, rows) : 0;
}

std::byte* AttentionOracle::at(std::size_t input, std::int64_t head, std::int64_t row) const {
  const auto& place = message_.inputs.at(input);
  const auto& sizes = place.tensor.sizes;
  const std::int64_t width = sizes.size() > 3 ? sizes[3] : 1;
  const std::size_t element = offsets_.at(input) + static_cast<std::size_t>((head * sizes[2] + row) * width);
  // const_cast is safe: the reference only reads.
  return const_cast<std::byte*>(pool_) + place.at + element * bytes_of(place.stored);
}

flashmoe::Tensor AttentionOracle::view(std::size_t input, std::int64_t head, std::int64_t heads,
                                       std::int64_t first, std::int64_t rows) const {
  const auto& place = message_.inputs.at(input);
  const std::int64_t all_rows = place.tensor.sizes[2], width = place.tensor.sizes[3];
  return {.data = at(input, head, first),
          .dtype = library_type(place.stored),
          .sizes = {1, heads, rows, width},
          .strides = {heads * all_rows * width, all_rows * width, width, 1}};
}

void AttentionOracle::forget(const char* output, std::int64_t elements) {
  for (const char* part : {"", ".bound"})
    values_[std::string(output) + part].assign(static_cast<std::size_t>(elements),
                                               std::numeric_limits<double>::infinity());
}

}  // namespace dent
