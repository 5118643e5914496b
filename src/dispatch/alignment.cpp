// SPDX-License-Identifier: MIT
#include "dispatch/run.h"

namespace flashmoe::dispatch {
namespace {

bool aligned(const Tensor& t) {
  constexpr int64_t kBytes = 16;
  if (reinterpret_cast<std::uintptr_t>(t.data) % kBytes != 0) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (t.sizes[i] > 1 && t.strides[i] * element_bytes(t.dtype) % kBytes != 0) return false;
  }
  return true;
}

}  // namespace

bool rows_are_aligned(const ForwardArgs& args) {
  return aligned(args.q) && aligned(args.k) && aligned(args.v) && aligned(args.out);
}

}  // namespace flashmoe::dispatch
