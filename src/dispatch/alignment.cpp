// SPDX-License-Identifier: MIT
#include "dispatch/run.h"

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

bool boxes(const Tensor& t) {
  return every_stride(t, [](int64_t bytes) { return bytes > 0 && bytes < int64_t{1} << 40; });
}

bool all(const ForwardArgs& args, bool (*holds)(const Tensor&)) {
  return holds(args.q) && holds(args.k) && holds(args.v) && holds(args.out);
}

}  // namespace

Addressing addressing_of(const ForwardArgs& args) {
  const bool rows = all(args, aligned);
  return {rows, rows && all(args, boxes)};
}

}  // namespace flashmoe::dispatch
