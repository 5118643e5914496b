// SPDX-License-Identifier: MIT
// The output of a math warpgroup, and its way to global memory: by TMA through shared memory of its own,
// straight from registers, or as one share's partial result.
#pragma once

#include <cmath>

#include "kernels/hopper_forward/tiles.cuh"
#include "kernels/store_swizzled_rows.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/memory.h"
#include "primitives/registers.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "primitives/tma.h"
#include "primitives/warp_matrix.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

// One of each per math warpgroup; 0 belongs to sync_block.
enum class Barrier { turn = 1, out = 5 };

// Lane l of warp w has rows 16 w + l / 4 and + 8, and of every 8 columns the pair 2 (l % 4) and the next:
// element i of an accumulator is of row (i / 2) % 2 of them.
template <class Spec>
struct OutputRows {
  using T = typename Spec::Element;
  static constexpr Tuning kTuning = Spec::tuning;

  const Params& params;
  Smem<Spec>& smem;
  int warpgroup;
  int thread, warp;  // of the warpgroup
  float O[Spec::head_dim / 2];

  __device__ __forceinline__ OutputRows(const Params& all_params, Smem<Spec>& shared, int which)
      : params(all_params),
        smem(shared),
        warpgroup(which),
        thread(gpu::thread_index() % kWarpgroup),
        warp(gpu::warp_index() % 4) {}

  // O / l and the LSE of the block's tile `tile_round` to global memory.
  __device__ __forceinline__ void store(unsigned tile_round, const float (&row_m)[2],
                                        const float (&row_l)[2]) {
    TileFor<Spec> done;  // worked out anew: there are no registers to keep it in
    const bool found = find_tile<Spec>(params, tile_round, done);
    if (Spec::adds_bias && !found) return;  // never: but what then would be in `done` takes a register
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = row_l[r];
      sum += gpu::shuffle_xor(sum, 1);
      sum += gpu::shuffle_xor(sum, 2);
      if constexpr (Spec::change != Change::none) {
        inverse[r] =
            end_row(done, done.first_row + warpgroup * kWarpgroupRows + lane_row() + 8 * r, row_m[r], sum);
        continue;
      }
      inverse[r] = sum == 0 ? 0.0F : 1.0F / sum;
      store_statistics(done, done.first_row + warpgroup * kWarpgroupRows + lane_row() + 8 * r, row_m[r], sum);
    }
    if constexpr (kTuning.splits) {
      store_partial(done, inverse);
    } else if constexpr (kTuning.own_out) {
      store_by_tma(done, inverse);
    } else {
      store_from_registers(done, inverse);
    }
  }

  // A row that may have a sink: stores its statistics, and gives what O is to be multiplied by.
  __device__ __forceinline__ float end_row(const Tile& done, int row, float row_m, float row_l) const {
    float factor = row_l == 0 ? 0.0F : 1.0F / row_l;
    if (params.scores.sinks != nullptr) {
      const int head = done.head + (row - (params.unpack(row) << params.pack_shift));
      const RowWithSink end(row_m, row_l, gpu::load_global(params.scores.sinks + head));
      factor = end.factor;
      row_m = end.max;
      row_l = end.sum;
    }
    store_statistics(done, row, row_m, row_l);
    return factor;
  }

  __device__ __forceinline__ void store_by_tma(const Tile& done, const float (&inverse)[2]) {
    // Opaque: else the addresses of all fragments are worked out once, and kept where there is no room for
    // them.
    const auto place =
        static_cast<uint32_t>(gpu::opaque(static_cast<int>(gpu::shared_address(smem.out[warpgroup]))));
    if (thread == 0) gpu::tma_store_wait_read<0>();  // of the tile before
    sync_warpgroup();
    const uint32_t rows = matrix_address(place);
#pragma unroll
    for (int step = 0; step < Spec::dim_steps; ++step) {
      uint32_t fragment[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 8 * step + 2 * i;
        fragment[i] = gpu::pack<T>(O[at] * inverse[i % 2], O[at + 1] * inverse[i % 2]);
      }
      gpu::stmatrix_x4(at_columns(rows, step), fragment);
    }
    gpu::fence_proxy_async();
    sync_warpgroup();
    if constexpr (Spec::lengths) {
      if (done.first_row + warpgroup * kWarpgroupRows < 0) return store_beginning(done);
    }
    if (thread == 0) {
#pragma unroll
      for (int slab = 0; slab < Spec::slabs; ++slab) {
        gpu::tma_store_5d(params.out, place + slab * Spec::q_slab_bytes, slab * Spec::slab_columns, 0,
                          params.unpack(done.first_row + warpgroup * kWarpgroupRows),
                          params.unpack(done.head), done.batch);
      }
      gpu::tma_store_commit();
    }
  }

  // Of a sequence's first rows, what is there.
  __device__ __forceinline__ void store_beginning(const Tile& done) const {
    const View& out = params.problem.out;
    const int first_row = done.first_row + warpgroup * kWarpgroupRows;
    T* to = static_cast<T*>(out.data) + done.batch * out.batch_stride + done.head * out.head_stride +
            first_row * out.row_stride;
#pragma unroll 1
    for (int slab = 0; slab < Spec::slabs; ++slab) {
      const int column = slab * Spec::slab_columns;
      store_swizzled_rows<Spec::row_bytes>(smem.out[warpgroup] + slab * Spec::q_slab_bytes, first_row,
                                           to + column, out.row_stride, params.problem.head_dim - column,
                                           thread);
    }
  }

  // The four lanes of a row have two columns each of every 8. They exchange them until each has 8 columns of
  // every 32: 16 bytes to store at once, next to those of the others.
  __device__ __forceinline__ void store_from_registers(const Tile& done, const float (&inverse)[2]) const {
    const ForwardParams& p = params.problem;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = done.first_row + warpgroup * kWarpgroupRows + lane_row() + 8 * r;
      const bool exists = Spec::lengths ? row >= 0 : row < p.q_rows * p.pack;
      const int position = params.unpack(row);
      const int head = done.head + (row - position * p.pack);
      T* to = static_cast<T*>(p.out.data) + done.batch * p.out.batch_stride + head * p.out.head_stride +
              position * p.out.row_stride;
#pragma unroll
      for (int i = 0; i < Spec::head_dim / 32; ++i) {
        uint32_t word[4];
#pragma unroll
        for (int g = 0; g < 4; ++g) {
          const int at = 4 * (4 * i + g) + 2 * r;
          word[g] = gpu::pack<T>(O[at] * inverse[r], O[at + 1] * inverse[r]);
        }
        transpose_in_quad(word);
        const int column = 32 * i + 8 * (gpu::lane_index() % 4);
        if (exists) store_columns(to, column, p.head_dim - column, {word[0], word[1], word[2], word[3]});
      }
    }
  }

  // Word g of lane t of a quad becomes word t of lane g.
  static __device__ __forceinline__ void transpose_in_quad(uint32_t (&word)[4]) {
    const bool odd = gpu::lane_index() % 2 == 1;
    const bool upper = gpu::lane_index() % 4 >= 2;
    exchange(word[0], word[1], odd, 1);
    exchange(word[2], word[3], odd, 1);
    exchange(word[0], word[2], upper, 2);
    exchange(word[1], word[3], upper, 2);
  }

  // The lower lane's `second` and the upper lane's `first` change places.
  static __device__ __forceinline__ void exchange(uint32_t& first, uint32_t& second, bool is_upper,
                                                  int lane_mask) {
    const float given = gpu::as_float(is_upper ? first : second);
    const uint32_t taken = gpu::as_bits(gpu::shuffle_xor(given, lane_mask));
    (is_upper ? first : second) = taken;
  }

  // Eight columns, or those of them that there are.
  static __device__ __forceinline__ void store_columns(T* row, int column, int left,
                                                       const gpu::Chunk& chunk) {
    if (left >= 8) {
      gpu::store_global(reinterpret_cast<gpu::Chunk*>(row + column), chunk);
      return;
    }
    const uint32_t word[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < left)
        gpu::store_global(row + column + i, T{static_cast<uint16_t>(word[i / 2] >> 16 * (i % 2))});
    }
  }

  __device__ __forceinline__ void store_statistics(const Tile& done, int row, float row_m,
                                                   float row_l) const {
    const ForwardParams& p = params.problem;
    if (gpu::lane_index() % 4 != 0 || (Spec::lengths ? row < 0 : row >= p.q_rows * p.pack)) return;
    if constexpr (kTuning.splits) {
      gpu::store_global(p.partial_stats + dense_row(done, row), RowStats{row_m, row_l});
    } else if (p.lse != nullptr) {
      const float lse = row_l == 0 ? -INFINITY : (row_m + gpu::lg2(row_l)) * 0.6931471805599453F;
      gpu::store_global(p.lse + dense_row(done, row), lse);
    }
  }

  // Of [B, Hq, Sq], or [split][B, Hq, Sq].
  __device__ __forceinline__ int64_t dense_row(const Tile& done, int packed_row) const {
    const ForwardParams& p = params.problem;
    if constexpr (Spec::lengths)
      return done.batch * params.sequences.lse_stride + int64_t{done.head} * p.q_rows + packed_row;
    const int position = params.unpack(packed_row);
    int64_t head = int64_t{done.batch} * p.q_heads + done.head + (packed_row - position * p.pack);
    if constexpr (kTuning.splits) head += int64_t{done.split} * p.order.batch * p.q_heads;
    return head * p.q_rows + position;
  }

  __device__ __forceinline__ void store_partial(const Tile& done, const float (&inverse)[2]) const {
    const ForwardParams& p = params.problem;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = done.first_row + warpgroup * kWarpgroupRows + lane_row() + 8 * r;
      if (row >= p.q_rows * p.pack) continue;
      float* to = p.partial_out + dense_row(done, row) * Spec::head_dim + 2 * (gpu::lane_index() % 4);
#pragma unroll
      for (int i = 0; i < Spec::head_dim / 8; ++i) {
        gpu::store_global(to + 8 * i, O[4 * i + 2 * r] * inverse[r]);
        gpu::store_global(to + 8 * i + 1, O[4 * i + 2 * r + 1] * inverse[r]);
      }
    }
  }

  // Before the end: shared memory has to outlive the stores that read it.
  __device__ __forceinline__ void wait_for_stores() const {
    if (kTuning.own_out && thread == 0) gpu::tma_store_wait_read<0>();
  }

  // ---- Places ----

  __device__ __forceinline__ int lane_row() const { return 16 * warp + gpu::lane_index() / 4; }

  // What this lane tells ldmatrix and stmatrix: the warp's 16 rows at columns 0 to 15 of a tile of 64 rows.
  __device__ __forceinline__ uint32_t matrix_address(uint32_t place) const {
    const int lane = gpu::opaque(gpu::lane_index());
    const int row = 16 * warp + lane % 16;
    constexpr int kSwizzledRows =
        Spec::slab_columns / 8;  // chunks of 16 bytes per row, and rows until they repeat
    const int swizzle = row * Spec::row_bytes / 128 % kSwizzledRows;
    return place + row * Spec::row_bytes + 16 * (lane / 16 ^ swizzle);
  }
  static __device__ __forceinline__ uint32_t at_columns(uint32_t address, int step) {
    constexpr int kStepsPerSlab = Spec::slab_columns / 16;
    return (address ^ (32 * (step % kStepsPerSlab))) + step / kStepsPerSlab * Spec::q_slab_bytes;
  }

  __device__ __forceinline__ void sync_warpgroup() {
    gpu::named_barrier_sync(number(Barrier::out, warpgroup), kWarpgroup);
  }

  static __device__ __forceinline__ int number(Barrier barrier, int of_warpgroup) {
    return static_cast<int>(barrier) + of_warpgroup;
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
