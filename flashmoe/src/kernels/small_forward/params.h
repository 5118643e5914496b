// SPDX-License-Identifier: MIT
// What small_forward is told. A launch starts with cold parameters, and a warp waits for each 64 bytes of
// them in turn: so they are few, and what the first loads need comes first.
#pragma once

#include "kernels/forward_params.h"

namespace flashmoe::kernels::small {

// For plain problems (Spec::plain): everything else is known when the kernel is compiled.
template <int kHeadDim, int kKeys>
struct PlainParams {
  struct Data {
    void* data;
    static constexpr int row_stride = kHeadDim;
  };
  Data k, q, v, out;
  float* lse;
  int q_rows;
  float scale_log2e;
  bool programmatic;
  static constexpr int group = 1;
  static constexpr int head_dim = kHeadDim;
  static constexpr int kv_rows = kKeys;

  explicit PlainParams(const ForwardParams& p, bool programmatic_launch)
      : k{p.k.data},
        q{p.q.data},
        v{p.v.data},
        out{p.out.data},
        lse(p.lse),
        q_rows(p.q_rows),
        scale_log2e(p.scale_log2e),
        programmatic(programmatic_launch) {}
};

struct AnyParams {
  View k;
  int batch, kv_heads, kv_rows, head_dim;
  int q_rows, group;
  Divisor by_group;
  float scale_log2e;
  bool programmatic, causal;
  View q, v, out;
  float* lse;
  int causal_shift;

  explicit AnyParams(const ForwardParams& p, bool programmatic_launch)
      : k(p.k),
        batch(p.order.batch),
        kv_heads(p.order.heads),
        kv_rows(p.kv_rows),
        head_dim(p.head_dim),
        q_rows(p.q_rows),
        group(p.group),
        by_group(p.by_group),
        scale_log2e(p.scale_log2e),
        programmatic(programmatic_launch),
        causal(p.causal),
        q(p.q),
        v(p.v),
        out(p.out),
        lse(p.lse),
        causal_shift(p.causal_shift) {}

  FLASHMOE_HD int visible_keys(int position) const {
    if (!causal) return kv_rows;
    const int keys = position + 1 + causal_shift;  // both below 2^30
    return keys < 0 ? 0 : keys < kv_rows ? keys : kv_rows;
  }
};

}  // namespace flashmoe::kernels::small
