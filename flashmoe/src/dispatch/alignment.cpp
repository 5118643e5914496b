// SPDX-License-Identifier: MIT
#include <algorithm>
#include <initializer_list>

#include "dispatch/run.h"
#include "dispatch/run_backward.h"

namespace flashmoe::dispatch {
namespace {

bool every_stride(const Tensor& t, bool (*holds)(int64_t bytes)) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (t.sizes[i] > 1 && !holds(t.strides[i] * element_bytes(t.dtype))) return false;
  }
  return true;
}

bool aligned(const Tensor& t) {
  return reinterpret_cast<std::uintptr_t>(t.data) % 16 == 0 &&
         every_stride(t, [](int64_t bytes) { return bytes % 16 == 0; });
}

bool tma_strides(const Tensor& t) {
  return every_stride(t, [](int64_t bytes) { return bytes > 0 && bytes < int64_t{1} << 40; });
}

// What is added to scores comes by TMA too, but may be shared by batch entries and heads.
bool tma_takes(const PairTensor& pairs, const Tensor& q) {
  if (pairs.data == nullptr || (pairs.type != PairType::fp16 && pairs.type != PairType::bf16)) return true;
  const auto fits = [](int64_t stride) { return stride % 8 == 0 && stride < int64_t{1} << 39; };
  return reinterpret_cast<std::uintptr_t>(pairs.data) % 16 == 0 && fits(pairs.strides[0]) &&
         fits(pairs.strides[1]) && (q.sizes[2] == 1 || (fits(pairs.strides[2]) && pairs.strides[2] > 0)) &&
         pairs.strides[3] == 1;
}

Addressing addressing_of_all(std::initializer_list<const Tensor*> tensors, const PairTensor& pairs) {
  const auto all = [&](bool (*holds)(const Tensor&)) {
    return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor* t) { return holds(*t); });
  };
  const bool rows = all(aligned);
  return {rows, rows && all(tma_strides) && tma_takes(pairs, **tensors.begin())};
}

}  // namespace

Addressing addressing_of(const ForwardArgs& args) {
  return addressing_of_all({&args.q, &args.k, &args.v, &args.out}, args.scores.attn_mask);
}

Addressing addressing_of(const BackwardArgs& args) {
  return addressing_of_all({&args.q, &args.k, &args.v, &args.out, &args.dout, &args.dq, &args.dk, &args.dv},
                           args.scores.attn_mask);
}

}  // namespace flashmoe::dispatch
