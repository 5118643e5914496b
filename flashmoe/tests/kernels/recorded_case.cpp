// SPDX-License-Identifier: MIT
#include "kernels/recorded_case.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "kernels/decode_forward/spec.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/small_forward/spec.h"

namespace flashmoe::test {
namespace {

using dispatch::ForwardKernel;

class Cases {
 public:
  void add(ForwardKernel kernel, const Shape& shape, std::optional<int> splits = {},
           std::optional<int> tuning = {}) {
    cases_.push_back({shape, {.kernel = kernel, .num_splits = splits, .tuning = tuning}});
    cases_.back().shape.seed = cases_.size();
  }
  std::vector<RecordedCase> take() { return std::move(cases_); }

 private:
  std::vector<RecordedCase> cases_;
};

void add_naive(Cases& cases, DType dtype) {
  for (int64_t dim : {64, 128})
    cases.add(ForwardKernel::naive, {.q_rows = 20, .kv_rows = 50, .head_dim = dim, .dtype = dtype});
}

// Every compiled head_dim; one tile of keys, many, and splits of them.
void add_ampere(Cases& cases, DType dtype) {
  for (int64_t dim : {32, 64, 96, 128, 192, 256}) {
    const Shape across{
        .q_heads = 2, .kv_heads = 1, .q_rows = 20, .kv_rows = 230, .head_dim = dim, .dtype = dtype};
    Shape causal = across;
    causal.q_heads = 1;
    causal.q_rows = 150;
    causal.mask = Mask::causal;
    Shape few = across;
    few.q_heads = 4;
    few.q_rows = 1;
    cases.add(ForwardKernel::ampere_forward, across, 1);
    cases.add(ForwardKernel::ampere_forward, causal, 1);
    cases.add(ForwardKernel::ampere_forward, few, 3);
  }
}

// Every row of its table: a causal tile and a bit, a group of heads in one tile.
void add_hopper(Cases& cases, DType dtype) {
  namespace hopper = kernels::hopper_forward;
  for (int i = 0; i < hopper::kNumTunings; ++i) {
    const hopper::Tuning& t = hopper::kTunings[i];
    cases.add(ForwardKernel::hopper_forward,
              {.q_rows = t.tile_q() + 10,
               .kv_rows = 3 * t.tile_kv + 10,
               .head_dim = t.head_dim,
               .dtype = dtype,
               .mask = Mask::causal},
              {}, i);
    cases.add(
        ForwardKernel::hopper_forward,
        {.q_heads = 8, .kv_heads = 1, .q_rows = 12, .kv_rows = 150, .head_dim = t.head_dim, .dtype = dtype},
        {}, i);
    if (t.splits) {
      cases.add(ForwardKernel::hopper_forward,
                {.q_rows = 70, .kv_rows = 5 * t.tile_kv, .head_dim = t.head_dim, .dtype = dtype}, 4, i);
    } else if (t.blocks_per_sm == 1 && (t.head_dim == 64 || t.head_dim == 128)) {
      // More tiles than an H200 has SMs, and groups that don't pack: blocks go from tile to tile.
      cases.add(ForwardKernel::hopper_forward,
                {.q_heads = 144,
                 .kv_heads = 48,
                 .q_rows = 9,
                 .kv_rows = 33,
                 .head_dim = t.head_dim,
                 .dtype = dtype},
                {}, i);
    }
  }
}

// Every row of its table, filled exactly and not; more blocks than run at the same time.
void add_small(Cases& cases, DType dtype) {
  for (const kernels::small::Tuning& t : kernels::small::kTunings) {
    const Shape full{.q_rows = 16, .kv_rows = t.max_keys(), .head_dim = t.head_dim, .dtype = dtype};
    Shape causal = full;
    causal.q_heads = 2;
    causal.q_rows = 13;
    causal.kv_rows -= 9;
    causal.head_dim -= 8;
    causal.mask = Mask::causal;
    cases.add(ForwardKernel::small_forward, full);
    cases.add(ForwardKernel::small_forward, causal);
  }
  cases.add(ForwardKernel::small_forward, {.batch = 3,
                                           .q_heads = 40,
                                           .kv_heads = 10,
                                           .q_rows = 33,
                                           .kv_rows = 40,
                                           .head_dim = 32,
                                           .dtype = dtype});
}

// Every row of its table, most with as many keys as it takes at once or a few more; splits.
void add_decode(Cases& cases, DType dtype) {
  namespace decode = kernels::decode;
  for (int i = 0; i < decode::kNumTunings; ++i) {
    const decode::Tuning& t = decode::kTunings[i];
    const int at_once = t.cluster * t.warps * t.block_keys;
    const int most = (dtype == DType::fp16 ? 300'000 : 60'000) / t.head_dim;  // the file is for carrying
    const Shape few{.q_heads = 4,
                    .kv_heads = 1,
                    .q_rows = 1,
                    .kv_rows = std::min(t.once ? at_once - 7 : at_once + 70, most),
                    .head_dim = t.head_dim,
                    .dtype = dtype,
                    .mask = Mask::causal};
    cases.add(ForwardKernel::decode_forward, few, {}, i);
    if (t.cluster == 1) cases.add(ForwardKernel::decode_forward, few, 3, i);
  }
}

std::vector<RecordedCase> make_cases() {
  Cases cases;
  cases.add(ForwardKernel::naive, {.q_rows = 33, .kv_rows = 70, .head_dim = 40, .mask = Mask::causal});
  for (DType dtype : {DType::fp16, DType::bf16}) {
    add_naive(cases, dtype);
    add_ampere(cases, dtype);
    add_hopper(cases, dtype);
    add_small(cases, dtype);
    add_decode(cases, dtype);
  }
  return cases.take();
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
         " splits=" + std::to_string(c.choice.num_splits.value_or(0)) +
         " tuning=" + std::to_string(c.choice.tuning.value_or(-1));
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
