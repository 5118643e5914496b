// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/maps.h"

#include <array>

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {
namespace {

constexpr int64_t kElementBytes = 2;

// Of a dimension of one element the stride does not matter, and may be one that TMA would refuse.
int64_t stride_bytes(int64_t size, int64_t stride) { return size == 1 ? 16 : stride * kElementBytes; }

int slab_columns(const Tuning& tuning) { return tuning.head_dim % 64 == 0 ? 64 : 32; }

gpu::Swizzle swizzle(const Tuning& tuning) {
  return slab_columns(tuning) == 64 ? gpu::Swizzle::bytes_128 : gpu::Swizzle::bytes_64;
}

gpu::TensorMapShape rows_of_queries(const View& view, const ForwardParams& p, const Tuning& tuning) {
  const int64_t heads = p.q_heads / p.pack;
  return {.data = view.data,
          .rank = 5,
          .sizes = {p.head_dim, p.pack, p.q_rows, heads, p.order.batch},
          .stride_bytes = {0, stride_bytes(p.pack, view.head_stride), stride_bytes(p.q_rows, view.row_stride),
                           stride_bytes(heads, view.head_stride * p.pack),
                           stride_bytes(p.order.batch, view.batch_stride)},
          .box = {slab_columns(tuning), p.pack, kWarpgroupRows / p.pack, 1, 1},
          .swizzle = swizzle(tuning)};
}

gpu::TensorMapShape rows_of_keys(const View& view, const ForwardParams& p, const Tuning& tuning) {
  const int64_t heads = p.q_heads / p.group;
  return {.data = view.data,
          .rank = 4,
          .sizes = {p.head_dim, p.kv_rows, heads, p.order.batch},
          .stride_bytes = {0, stride_bytes(p.kv_rows, view.row_stride), stride_bytes(heads, view.head_stride),
                           stride_bytes(p.order.batch, view.batch_stride)},
          .box = {slab_columns(tuning), tuning.tile_kv, 1, 1},
          .swizzle = swizzle(tuning)};
}

const gpu::TensorMap& map_of(const gpu::TensorMapShape& shape) {
  struct Entry {
    gpu::TensorMapShape shape{};
    gpu::TensorMap map{};
  };
  // Room for the tensors of some layers; the oldest goes.
  thread_local std::array<Entry, 64> entries;
  thread_local std::size_t next = 0;
  for (const Entry& entry : entries) {
    if (entry.shape == shape) return entry.map;
  }
  Entry& entry = entries[next];
  next = (next + 1) % entries.size();
  entry.map = gpu::make_tensor_map(shape);  // may throw: the entry is then as it was
  entry.shape = shape;
  return entry.map;
}

}  // namespace

void set_maps(Params& params, const Tuning& tuning) {
  const ForwardParams& p = params.problem;
  params.q = map_of(rows_of_queries(p.q, p, tuning));
  params.out = map_of(rows_of_queries(p.out, p, tuning));
  params.k = map_of(rows_of_keys(p.k, p, tuning));
  params.v = map_of(rows_of_keys(p.v, p, tuning));
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
