// SPDX-License-Identifier: MIT
// What decode_forward is told. A launch starts with cold parameters: what the first loads need comes first,
// and how the work is shared is worked out by the host, so that no thread divides before them.
#pragma once

#include "kernels/decode_forward/spec.h"
#include "kernels/forward_params.h"

namespace flashmoe::kernels::decode {

struct Params {
  View k, v;
  int keys;           // that any row sees
  int keys_per_warp;  // a multiple of kChunkKeys
  int rows;           // packed query rows: group * q_rows
  bool dense;         // rows of K, and of V, lie side by side and have the compiled head_dim
  bool programmatic;
  bool causal;
  int head_dim;
  View q;
  int q_rows, group, kv_rows, causal_shift;
  Divisor by_group;
  float scale_log2e;
  int q_heads, batch, num_splits;
  View out;
  float* lse;
  float* partial_out;
  RowStats* partial_stats;

  Params(const ForwardParams& p, const Tuning& tuning, bool programmatic_launch)
      : k(p.k),
        v(p.v),
        keys(p.visible_keys(p.q_rows - 1)),
        keys_per_warp(static_cast<int>(decode::keys_per_warp(tuning, keys, p.num_splits))),
        rows(p.group * p.q_rows),
        dense(p.head_dim == tuning.head_dim && p.k.row_stride == p.head_dim && p.v.row_stride == p.head_dim),
        programmatic(programmatic_launch),
        causal(p.causal),
        head_dim(p.head_dim),
        q(p.q),
        q_rows(p.q_rows),
        group(p.group),
        kv_rows(p.kv_rows),
        causal_shift(p.causal_shift),
        by_group(p.by_group),
        scale_log2e(p.scale_log2e),
        q_heads(p.q_heads),
        batch(p.order.batch),
        num_splits(p.num_splits),
        out(p.out),
        lse(p.lse),
        partial_out(p.partial_out),
        partial_stats(p.partial_stats) {}

  FLASHMOE_HD int visible_keys(int position) const {
    if (!causal) return keys;
    const int64_t visible = int64_t{position} + 1 + causal_shift;
    return visible < 0 ? 0 : visible < kv_rows ? static_cast<int>(visible) : kv_rows;
  }
};

}  // namespace flashmoe::kernels::decode
