// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/maps.h"

#include "kernels/tensor_map_cache.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {
namespace {

int slab_columns(const Tuning& tuning) { return tuning.head_dim % 64 == 0 ? 64 : 32; }

gpu::Swizzle swizzle(const Tuning& tuning) {
  return slab_columns(tuning) == 64 ? gpu::Swizzle::bytes_128 : gpu::Swizzle::bytes_64;
}

gpu::TensorMapShape rows_of_queries(const View& view, const ForwardParams& p, const Tuning& tuning,
                                    int64_t batch) {
  const int64_t heads = p.q_heads / p.pack;
  return {.data = view.data,
          .rank = 5,
          .sizes = {p.head_dim, p.pack, p.q_rows, heads, batch},
          .stride_bytes = {0, map_stride_bytes(p.pack, view.head_stride),
                           map_stride_bytes(p.q_rows, view.row_stride),
                           map_stride_bytes(heads, view.head_stride * p.pack),
                           map_stride_bytes(batch, view.batch_stride)},
          .box_dim = {slab_columns(tuning), p.pack, kWarpgroupRows / p.pack, 1, 1},
          .swizzle = swizzle(tuning)};
}

gpu::TensorMapShape rows_of_keys(const View& view, const ForwardParams& p, const Tuning& tuning,
                                 int64_t batch) {
  const int64_t heads = p.q_heads / p.group;
  return {
      .data = view.data,
      .rank = 4,
      .sizes = {p.head_dim, p.kv_rows, heads, batch},
      .stride_bytes = {0, map_stride_bytes(p.kv_rows, view.row_stride),
                       map_stride_bytes(heads, view.head_stride), map_stride_bytes(batch, view.batch_stride)},
      .box_dim = {slab_columns(tuning), tuning.tile_kv, 1, 1},
      .swizzle = swizzle(tuning)};
}

}  // namespace

void set_maps(Params& params, const Tuning& tuning, int64_t q_batch, int64_t k_batch) {
  const ForwardParams& p = params.problem;
  params.q = cached_tensor_map(rows_of_queries(p.q, p, tuning, q_batch));
  params.out = cached_tensor_map(rows_of_queries(p.out, p, tuning, q_batch));
  params.k = cached_tensor_map(rows_of_keys(p.k, p, tuning, k_batch));
  params.v = cached_tensor_map(rows_of_keys(p.v, p, tuning, k_batch));
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
