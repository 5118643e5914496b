// SPDX-License-Identifier: MIT
#include "kernels/hopper_backward/maps.h"

#include "kernels/tensor_map_cache.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

void set_maps(Params& params, const Tuning& tuning, int64_t q_batch, int64_t k_batch) {
  const BackwardParams& p = params.problem;
  const auto map_of = [&](const View& view, int heads, int rows, int64_t batch, int tile_rows) {
    return cached_tensor_map({.data = view.data,
                              .rank = 4,
                              .sizes = {p.head_dim, rows, heads, batch},
                              .stride_bytes = {0, map_stride_bytes(rows, view.row_stride),
                                               map_stride_bytes(heads, view.head_stride),
                                               map_stride_bytes(batch, view.batch_stride)},
                              .box_dim = {64, tile_rows, 1, 1},
                              .swizzle = gpu::Swizzle::bytes_128});
  };
  params.q = map_of(p.q, p.q_heads, p.q_rows, q_batch, tuning.tile_q);
  params.dout = map_of(p.dout, p.q_heads, p.q_rows, q_batch, tuning.tile_q);
  params.k = map_of(p.k, p.kv_heads, p.kv_rows, k_batch, tuning.tile_kv);
  params.v = map_of(p.v, p.kv_heads, p.kv_rows, k_batch, tuning.tile_kv);
  params.dk = map_of(p.dk, p.kv_heads, p.kv_rows, k_batch, kWarpgroupKeys);
  params.dv = map_of(p.dv, p.kv_heads, p.kv_rows, k_batch, kWarpgroupKeys);
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
