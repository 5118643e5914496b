// SPDX-License-Identifier: MIT
// Arguments as the C ABI has them. They point at the scale of what they are made from.
#pragma once

#include <algorithm>

#include "flashmoe/attention.h"
#include "flashmoe/flashmoe.h"

namespace flashmoe::test {

inline flashmoe_tensor to_c(const Tensor& t) {
  flashmoe_tensor c{};
  c.data = t.data;
  c.dtype = static_cast<int32_t>(t.dtype);
  std::copy(t.sizes.begin(), t.sizes.end(), c.sizes);
  std::copy(t.strides.begin(), t.strides.end(), c.strides);
  return c;
}

inline flashmoe_forward_args to_c(const ForwardArgs& args) {
  flashmoe_forward_args c{};
  c.struct_size = sizeof(c);
  c.q = to_c(args.q);
  c.k = to_c(args.k);
  c.v = to_c(args.v);
  c.out = to_c(args.out);
  c.lse = args.lse;
  c.mask = static_cast<int32_t>(args.mask);
  c.device = static_cast<int32_t>(args.execution.device);
  c.scale = args.scale ? &*args.scale : nullptr;
  c.stream = args.execution.stream;
  c.threads = args.execution.threads;
  return c;
}

inline flashmoe_backward_args to_c(const BackwardArgs& args) {
  flashmoe_backward_args c{};
  c.struct_size = sizeof(c);
  c.q = to_c(args.q);
  c.k = to_c(args.k);
  c.v = to_c(args.v);
  c.out = to_c(args.out);
  c.dout = to_c(args.dout);
  c.dq = to_c(args.dq);
  c.dk = to_c(args.dk);
  c.dv = to_c(args.dv);
  c.lse = args.lse;
  c.dlse = args.dlse;
  c.mask = static_cast<int32_t>(args.mask);
  c.device = static_cast<int32_t>(args.execution.device);
  c.scale = args.scale ? &*args.scale : nullptr;
  c.threads = args.execution.threads;
  c.deterministic = args.deterministic ? 1 : 0;
  return c;
}

}  // namespace flashmoe::test
