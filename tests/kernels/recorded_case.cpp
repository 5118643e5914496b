// SPDX-License-Identifier: MIT
#include "kernels/recorded_case.h"

#include <istream>
#include <ostream>
#include <stdexcept>

namespace flashmoe::test {
namespace {

using dispatch::ForwardKernel;

std::vector<RecordedCase> make_cases() {
  std::vector<RecordedCase> cases;
  const auto add = [&](ForwardKernel kernel, const Shape& shape, std::optional<int> splits = {}) {
    cases.push_back({shape, {.kernel = kernel, .num_splits = splits}});
    cases.back().shape.seed = cases.size();
  };
  add(ForwardKernel::naive, {.q_rows = 33, .kv_rows = 70, .head_dim = 40, .mask = Mask::causal});
  for (DType dtype : {DType::fp16, DType::bf16}) {
    for (int64_t dim : {64, 128}) {
      const Shape prefill{
          .q_rows = 140, .kv_rows = 140, .head_dim = dim, .dtype = dtype, .mask = Mask::causal};
      const Shape across{
          .q_heads = 2, .kv_heads = 1, .q_rows = 20, .kv_rows = 130, .head_dim = dim, .dtype = dtype};
      const Shape few{
          .q_heads = 4, .kv_heads = 1, .q_rows = 1, .kv_rows = 90, .head_dim = dim, .dtype = dtype};
      add(ForwardKernel::naive, {.q_rows = 20, .kv_rows = 50, .head_dim = dim, .dtype = dtype});
      add(ForwardKernel::ampere_forward, across, 1);
      add(ForwardKernel::ampere_forward, few, 3);
      add(ForwardKernel::hopper_forward, prefill);
      add(ForwardKernel::hopper_forward, across);
      add(ForwardKernel::small_forward,
          {.q_rows = 24, .kv_rows = 70, .head_dim = dim, .dtype = dtype, .mask = Mask::causal});
      add(ForwardKernel::decode_forward, few);
    }
    for (int64_t dim : {96, 192, 256}) {
      const Shape shape{.q_rows = 12, .kv_rows = 40, .head_dim = dim, .dtype = dtype, .mask = Mask::causal};
      add(ForwardKernel::ampere_forward, shape, 1);
      add(ForwardKernel::hopper_forward, shape);
    }
  }
  return cases;
}

void put(std::ostream& file, const void* data, std::size_t bytes) {
  const auto size = static_cast<uint64_t>(bytes);
  file.write(reinterpret_cast<const char*>(&size), sizeof size);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

template <class Bytes>
bool get(std::istream& file, Bytes& bytes) {
  uint64_t size = 0;
  if (!file.read(reinterpret_cast<char*>(&size), sizeof size) || size > 1 << 24) return false;
  bytes.resize(size);
  return static_cast<bool>(file.read(bytes.data(), static_cast<std::streamsize>(size)));
}

}  // namespace

const std::vector<RecordedCase>& recorded_cases() {
  static const std::vector<RecordedCase> cases = make_cases();
  return cases;
}

std::string describe(const RecordedCase& c) {
  return std::string(dispatch::name_of(*c.choice.kernel)) + " " + describe(c.shape) +
         " splits=" + std::to_string(c.choice.num_splits.value_or(0));
}

std::size_t bytes_of(const Tensor& t) {
  return static_cast<std::size_t>(t.sizes[0] * t.sizes[1] * t.sizes[2] * t.sizes[3] * element_bytes(t.dtype));
}

void write(std::ostream& file, const Recording& r) {
  put(file, r.name.data(), r.name.size());
  for (const std::vector<char>* bytes : {&r.q, &r.k, &r.v, &r.out, &r.lse})
    put(file, bytes->data(), bytes->size());
}

bool read(std::istream& file, Recording& r) {
  if (file.peek() == std::istream::traits_type::eof()) return false;
  bool whole = get(file, r.name);
  for (std::vector<char>* bytes : {&r.q, &r.k, &r.v, &r.out, &r.lse}) whole = whole && get(file, *bytes);
  if (!whole) throw std::runtime_error("the file of recorded results is cut short");
  return true;
}

}  // namespace flashmoe::test
