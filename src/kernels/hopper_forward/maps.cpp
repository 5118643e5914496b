// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/maps.h"

#include "kernels/tensor_map_cache.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {
namespace {

int slab_columns(const Tuning& tuning) { return tuning.head_dim % 64 == 0 ? 64 : 32; }

gpu::Swizzle swizzle(const Tuning& tuning) {
  return slab_columns(tuning) == 64 ? gpu::Swizzle::bytes_128 : gpu::Swizzle::bytes_64;
}

gpu::TensorMapShape rows_of_queries(const View& view, const ForwardParams& p, const Tuning& tuning) {
  const int64_t heads = p.q_heads / p.pack;
  return {.data = view.data,
          .rank = 5,
          .sizes = {p.head_dim, p.pack, p.q_rows, heads, p.order.batch},
          .stride_bytes = {0, map_stride_bytes(p.pack, view.head_stride),
                           map_stride_bytes(p.q_rows, view.row_stride),
                           map_stride_bytes(heads, view.head_stride * p.pack),
                           map_stride_bytes(p.order.batch, view.batch_stride)},
          .box_dim = {slab_columns(tuning), p.pack, kWarpgroupRows / p.pack, 1, 1},
          .swizzle = swizzle(tuning)};
}

gpu::TensorMapShape rows_of_keys(const View& view, const ForwardParams& p, const Tuning& tuning) {
  const int64_t heads = p.q_heads / p.group;
  return {.data = view.data,
          .rank = 4,
          .sizes = {p.head_dim, p.kv_rows, heads, p.order.batch},
          .stride_bytes = {0, map_stride_bytes(p.kv_rows, view.row_stride),
                           map_stride_bytes(heads, view.head_stride),
                           map_stride_bytes(p.order.batch, view.batch_stride)},
          .box_dim = {slab_columns(tuning), tuning.tile_kv, 1, 1},
          .swizzle = swizzle(tuning)};
}

}  // namespace

void set_maps(Params& params, const Tuning& tuning) {
  const ForwardParams& p = params.problem;
  params.q = cached_tensor_map(rows_of_queries(p.q, p, tuning));
  params.out = cached_tensor_map(rows_of_queries(p.out, p, tuning));
  params.k = cached_tensor_map(rows_of_keys(p.k, p, tuning));
  params.v = cached_tensor_map(rows_of_keys(p.v, p, tuning));
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
