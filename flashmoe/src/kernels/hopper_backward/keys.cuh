// SPDX-License-Identifier: MIT
// What a math warpgroup does with 64 keys, piece by piece; the order of the pieces is the schedule, in
// kernel.cuh. Scores are transposed: rows of S, P, dP and dS are keys, columns are queries. So P and dS leave
// the tensor cores as the register operands of P^T dO and dS^T Q.
#pragma once

#include <climits>
#include <type_traits>

#include "kernels/hopper_backward/reduce.cuh"
#include "kernels/load_row_table.h"
#include "kernels/store_swizzled_rows.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/chunk.h"
#include "primitives/global_counter.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/registers.h"
#include "primitives/shuffle.h"
#include "primitives/tma.h"
#include "primitives/warp_matrix.h"
#include "primitives/wgmma.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

// Lane l of warp w has keys 16 w + l / 4 and + 8, and of every 8 queries the pair 2 (l % 4) and the next:
// element i of an accumulator is of key (i / 2) % 2 of them.
template <class Spec>
struct Keys {
  using T = typename Spec::Element;
  static constexpr int kQueries = Spec::own_queries;
  static constexpr bool kSharesKeys = Spec::shares_keys;

  const Params& params;
  Smem<Spec>& smem;
  const Work* work = nullptr;
  int warpgroup;
  int thread, warp;  // of the warpgroup
  int q_tile = 0;
  int dq_piece = 0;         // the first of this warpgroup's pieces of dQ
  Ring<Spec::stages> ring;  // of Q, dO and dS

  uint32_t words[2];  // by bits: of the lane's keys, for the step's queries

  float dK[Spec::own_columns / 2], dV[Spec::own_columns / 2];
  float S[kQueries / 2], dP[kQueries / 2];
  float dQ[32];
  uint32_t P[Spec::own_row_steps][4], dS[Spec::own_row_steps][4];

  __device__ __forceinline__ Keys(const Params& all_params, Smem<Spec>& shared, int number)
      : params(all_params),
        smem(shared),
        warpgroup(number),
        thread(gpu::thread_index() % kWarpgroup),
        warp(gpu::warp_index() % 4) {}

  __device__ __forceinline__ void begin(const Work& own) {
    work = &own;
    q_tile = own.begin;
    dq_piece = Step<Spec>(params, own).first_piece(params, own) + warpgroup * Spec::own_pieces;
  }

  // A row sees no key behind this one and its own number, and as many rows behind the first see a key.
  // A sequence's own come from shared memory: registers have no room.
  __device__ __forceinline__ int causal_shift() const {
    if constexpr (Spec::persistent && Spec::lengths) return work->causal_shift;
    return Spec::lengths ? smem.causal_shift : params.problem.causal_shift;
  }
  __device__ __forceinline__ int more_rows() const {
    if constexpr (Spec::persistent && Spec::lengths) return work->more_rows;
    return Spec::lengths ? smem.more_rows : params.problem.causal_shift - params.problem.runs.begin;
  }

  // Which of the tile's keys, queries and columns are this warpgroup's.
  __device__ __forceinline__ int own_key() const { return kSharesKeys ? 0 : warpgroup * kWarpgroupKeys; }
  __device__ __forceinline__ int own_query() const { return kSharesKeys ? warpgroup * kQueries : 0; }
  // By bits: where this warpgroup's queries of the step begin in their words.
  __device__ __forceinline__ int first_bit() const {
    return (q_tile * Spec::tile_q % kBitColumns + own_query()) / 4;
  }
  __device__ __forceinline__ int own_slab() const {
    return kSharesKeys ? warpgroup * (Spec::own_columns / Spec::slab_columns) : 0;
  }

  // ---- Matrix products ----

  // S = K Q^T, and dP = V dO^T.
  __device__ __forceinline__ void issue_scores() { issue_over_head_dim(S, smem.k, smem.q[ring.stage]); }
  __device__ __forceinline__ void issue_dp() { issue_over_head_dim(dP, smem.v, smem.dout[ring.stage]); }

  __device__ __forceinline__ void issue_over_head_dim(float (&product)[kQueries / 2],
                                                      unsigned char (&keys)[Spec::kv_bytes],
                                                      unsigned char (&queries)[Spec::q_bytes]) {
    uint32_t a = gpu::descriptor_low(gpu::shared_address(keys) + own_key() * Spec::row_bytes, 0);
    // Else all steps' descriptors are kept from tile to tile, and do not fit.
    if constexpr (kSharesKeys || Spec::adds_bias) a = static_cast<uint32_t>(gpu::opaque(static_cast<int>(a)));
    const uint32_t b = gpu::descriptor_low(gpu::shared_address(queries) + own_query() * Spec::row_bytes, 0);
    gpu::pin(product);
    gpu::wgmma_fence();
#pragma unroll
    for (int i = 0; i < Spec::dim_steps; ++i) {
      const uint64_t from_keys =
          gpu::descriptor(a + along_slabs(i, Spec::kv_slab_bytes) / 16, Spec::descriptor_high);
      const uint64_t from_queries =
          gpu::descriptor(b + along_slabs(i, Spec::q_slab_bytes) / 16, Spec::descriptor_high);
      gpu::wgmma_ss<T, false>(product, from_keys, from_queries, i > 0);
    }
    gpu::wgmma_commit();
  }

  // dV += P dO, and dK += dS Q (times the scale, at the end). A warpgroup with keys of its own has P and dS
  // in registers; else half of either is the other one's.
  template <bool kFirst>
  __device__ __forceinline__ void issue_dv() {
    issue_over_queries<kFirst>(dV, P, smem.p[ring.stage], smem.dout[ring.stage]);
  }
  template <bool kFirst>
  __device__ __forceinline__ void issue_dk() {
    issue_over_queries<kFirst>(dK, dS, smem.ds[ring.stage], smem.q[ring.stage]);
  }

  template <bool kFirst, int kBytes>
  __device__ __forceinline__ void issue_over_queries(float (&sums)[Spec::own_columns / 2],
                                                     uint32_t (&own_scores)[Spec::own_row_steps][4],
                                                     unsigned char (&scores)[kBytes],
                                                     unsigned char (&queries)[Spec::q_bytes]) {
    const uint32_t a = gpu::descriptor_low(gpu::shared_address(scores), 0);
    const uint32_t b = gpu::descriptor_low(gpu::shared_address(queries) + own_slab() * Spec::q_slab_bytes,
                                           Spec::q_slab_bytes);
    gpu::pin(sums);
    if constexpr (!kSharesKeys) gpu::pin(own_scores);
    gpu::wgmma_fence();
#pragma unroll
    for (int i = 0; i < Spec::row_steps; ++i) {
      const uint64_t rows = gpu::descriptor(b + i * 16 * Spec::row_bytes / 16, Spec::descriptor_high);
      if constexpr (kSharesKeys) {
        const uint64_t from_scores =
            gpu::descriptor(a + along_slabs(i, Spec::kv_slab_bytes) / 16, Spec::descriptor_high);
        gpu::wgmma_ss<T, true>(sums, from_scores, rows, !kFirst || i > 0);
      } else {
        gpu::wgmma_rs<T, true>(sums, own_scores[i], rows, !kFirst || i > 0);
      }
    }
    gpu::wgmma_commit();
  }

  // dQ = dS^T K over all keys of the tile: one of this warpgroup's pieces of it.
  __device__ __forceinline__ void issue_dq(int ds_stage, int piece = 0) {
    const int ds_slab = Spec::pieces_below ? warpgroup : 0;
    const int k_slab = Spec::pieces_below ? 0 : warpgroup * Spec::own_pieces + piece;
    const uint32_t a =
        gpu::descriptor_low(gpu::shared_address(smem.ds[ds_stage]) + ds_slab * Spec::kv_slab_bytes, 0);
    const uint32_t b = gpu::descriptor_low(gpu::shared_address(smem.k) + k_slab * Spec::kv_slab_bytes, 0);
    gpu::pin(dQ);
    gpu::wgmma_fence();
#pragma unroll
    for (int i = 0; i < Spec::key_steps; ++i) {
      const uint32_t rows = i * 16 * Spec::row_bytes / 16;
      gpu::wgmma_ss<T, true, true>(dQ, gpu::descriptor(a + rows, Spec::descriptor_high),
                                   gpu::descriptor(b + rows, Spec::descriptor_high), i > 0);
    }
    gpu::wgmma_commit();
  }

  // Bytes to 16 columns, in a tile whose slabs have so many bytes.
  static __device__ __forceinline__ constexpr uint32_t along_slabs(int i, int slab_bytes) {
    constexpr int kStepsPerSlab = Spec::slab_columns / 16;
    return static_cast<uint32_t>(i / kStepsPerSlab * slab_bytes + i % kStepsPerSlab * 32);
  }

  // ---- Scores ----

  // The same where the loader has noted with the queries whether there is a mask: a branch around a
  // whole step would keep the numbers that decide it in registers that the step needs.
  template <bool kMasked>
  __device__ __forceinline__ void weigh_noted() {
    if constexpr (Spec::adds_bias) add_bias();
    if constexpr (Spec::notes_masks) {
      if (gpu::any_lane(smem.masked[ring.stage] != 0)) {
        weigh<true>();
      } else {
        weigh<false>();
      }
    } else {
      weigh<kMasked>();
    }
  }

  // Where this lane keeps word i of P (1 - t^2).
  __device__ __forceinline__ uint32_t* capped_word(int lane_of_block, int i) const {
    return reinterpret_cast<uint32_t*>(smem.p) + kMathWarpgroups * kWarpgroup * i + lane_of_block;
  }
  __device__ __forceinline__ int own_lane() const { return warpgroup * kWarpgroup + gpu::opaque(thread); }

  // By bits: asked for before S is, so that they are there when it is. Of every step: where some do without,
  // the words of the step before would stay in registers.
  __device__ __forceinline__ void load_words() {
    const int lane = gpu::opaque(gpu::lane_index());  // else all of this is kept from step to step
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int key = own_key() + 16 * warp + lane / 4 + 8 * r;  // of the block
      const PairWords* of_key = smem.words[ring.stage] + int64_t{key} * params.bits.row_blocks();
      words[r] = gpu::load_global(&of_key->of_lane[lane % 4]);
    }
  }

  // P = exp2(scale S - LSE), packed; 0 where a query does not see a key, or the key does not exist.
  template <bool kMasked>
  __device__ __forceinline__ void weigh() {
    const float scale = params.problem.scale_log2e;
    int unseen[2] = {0, 0};     // of this lane's columns, counted from its first
    uint32_t kept[2] = {0, 0};  // by rows and by bits: one bit for each of those columns
    if constexpr (kMasked) {
      const int lane = gpu::opaque(gpu::lane_index());  // else all of this is kept from step to step
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int key = work->first_key + own_key() + 16 * warp + lane / 4 + 8 * r;
        const int first_column = q_tile * Spec::tile_q + own_query() + 2 * (lane % 4);
        if constexpr (Spec::by_rows) {
          const int batch = batch_entry();
          Run rows{0, 0};
          if (key < params.problem.kv_rows) rows = load_key(params.problem.table, batch, key);
          kept[r] = elements_between(rows.begin - first_column, rows.end - first_column);
        } else if constexpr (Spec::by_bits) {
          kept[r] = words[r] >> first_bit();
        } else {
          const int first_row = key - causal_shift();
          const bool is_none = Spec::lengths ? key < 0 : key >= params.problem.kv_rows;
          unseen[r] = is_none ? INT_MAX : first_row - first_column;
        }
      }
    }
    if constexpr (Spec::change == Change::slopes) add_slopes();
    [[maybe_unused]] const int lane_of_block = Spec::keeps_capped ? own_lane() : 0;
#pragma unroll
    for (int group = 0; group < kQueries / 8; ++group) {
      const Pair lse = statistics(smem.lse_log2[ring.stage], group);
      [[maybe_unused]] float capped[4];
#pragma unroll
      for (int i = 4 * group; i < 4 * group + 4; ++i) {
        float t = S[i];
        if constexpr (Spec::keeps_capped) t = gpu::tanh(t * params.scores.inner);
        S[i] = gpu::ex2(fmaf(t, scale, i % 2 == 0 ? -lse.x : -lse.y));
        if (kMasked && is_hidden(group, i, unseen[i / 2 % 2], kept[i / 2 % 2])) S[i] = 0;
        if constexpr (Spec::keeps_capped) capped[i % 4] = S[i] * fmaf(-t, t, 1.0F);
      }
      if constexpr (Spec::keeps_capped) {
        *capped_word(lane_of_block, 2 * group) = gpu::pack<T>(capped[0], capped[1]);
        *capped_word(lane_of_block, 2 * group + 1) = gpu::pack<T>(capped[2], capped[3]);
      }
    }
#pragma unroll
    for (int i = 0; i < kQueries / 4; ++i) P[i / 4][i % 4] = gpu::pack<T>(S[2 * i], S[2 * i + 1]);
  }

  // Found anew: kept, it is a register too many.
  __device__ __forceinline__ int batch_entry() const {
    if constexpr (Spec::persistent) return work->batch;
    return params.problem.order.tile(tile_number(params, smem)).batch;
  }

  // Of this lane's columns, counted from its first: so many do not see its keys.
  __device__ __forceinline__ void find_unseen(int (&unseen)[2]) const {
    const int lane = gpu::opaque(gpu::lane_index());  // else all of this is kept from step to step
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int key = work->first_key + own_key() + 16 * warp + lane / 4 + 8 * r;
      const int first_row = key - params.problem.causal_shift;
      unseen[r] = key >= params.problem.kv_rows
                      ? INT_MAX
                      : first_row - q_tile * Spec::tile_q - own_query() - 2 * (lane % 4);
    }
  }

  // Change::slopes: what keys lose by their distance from the queries.
  __device__ __forceinline__ void add_slopes() {
    const ScoreParams& scores = params.scores;
    const float slope = smem.slope[ring.stage];
    const int lane = gpu::opaque(gpu::lane_index());
    const int query = q_tile * Spec::tile_q + own_query() + 2 * (lane % 4) + scores.first_position;
    // Of the lane's first key; the other one is 8 keys on.
    const auto distance = static_cast<float>(query - work->first_key - own_key() - 16 * warp - lane / 4);
#pragma unroll
    for (int i = 0; i < kQueries / 2; ++i) {
      const auto column = static_cast<float>(8 * (i / 4) + i % 2 - 8 * (i / 2 % 2));
      S[i] = fmaf(-slope, fabsf(distance + column), S[i]);
    }
  }

  // The tensor has query rows as rows: its fragments come transposed, as scores are.
  __device__ __forceinline__ void add_bias() {
    wait_full(smem.bias_full[warpgroup], static_cast<uint32_t>(ring.stage));  // one place: as two in turn
    const int lane = gpu::opaque(gpu::lane_index());
    const int row = lane / 16 * 8 + lane % 8;
    const uint32_t rows = gpu::shared_address(smem.bias[warpgroup]) + row * Spec::row_bytes +
                          16 * ((2 * warp + lane / 8 % 2) ^ row % 8);
#pragma unroll
    for (int step = 0; step < Spec::own_row_steps; ++step) {
      uint32_t pairs[4];
      gpu::ldmatrix_x4_trans(pairs, rows + step * 16 * Spec::row_bytes);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const auto bits = static_cast<uint16_t>(i % 2 == 0 ? pairs[i / 2] & 0xFFFF : pairs[i / 2] >> 16);
        S[8 * step + i] = fmaf(S[8 * step + i], params.scores.inner, gpu::widen(T{bits}));
      }
    }
  }
  // Behind something that needs all of P: an arrival right behind the loads may overtake them, and the next
  // tile would come before this one is read.
  __device__ __forceinline__ void release_bias() {
    gpu::sync_warp();
    arrive(smem.bias_free[warpgroup]);
  }

  // Change::softcap where keys are shared: P and dS at once. With t = tanh(inner S), S is cap t, and dS / (1
  // - t^2) what it would be without a cap.
  template <bool kMasked>
  __device__ __forceinline__ void weigh_and_differentiate() {
    const float cap = params.problem.scale_log2e;
    int unseen[2] = {0, 0};
    if constexpr (kMasked) find_unseen(unseen);
#pragma unroll
    for (int group = 0; group < kQueries / 8; ++group) {
      const Pair lse = statistics(smem.lse_log2[ring.stage], group);
      const Pair delta = statistics(smem.delta[ring.stage], group);
#pragma unroll
      for (int i = 4 * group; i < 4 * group + 4; ++i) {
        const float t = gpu::tanh(S[i] * params.scores.inner);
        S[i] = gpu::ex2(fmaf(t, cap, i % 2 == 0 ? -lse.x : -lse.y));
        if (kMasked && is_hidden(group, i, unseen[i / 2 % 2], 0)) S[i] = 0;
        dP[i] = S[i] * fmaf(-t, t, 1.0F) * (dP[i] - (i % 2 == 0 ? delta.x : delta.y));
      }
#pragma unroll
      for (int i = 2 * group; i < 2 * group + 2; ++i) {
        P[i / 4][i % 4] = gpu::pack<T>(S[2 * i], S[2 * i + 1]);
        dS[i / 4][i % 4] = gpu::pack<T>(dP[2 * i], dP[2 * i + 1]);
      }
    }
  }

  // Element i, of a group of 8 columns, of a key whose first `unseen` columns do not see it. Runs: as many
  // rows see each key, from the first on. By rows and by bits: `kept` says which do.
  __device__ __forceinline__ bool is_hidden(int group, int i, int unseen, uint32_t kept) const {
    if constexpr (Spec::by_rows || Spec::by_bits) return (kept >> (2 * group + i % 2) & 1) == 0;
    const int column = 8 * group + i % 2;
    if constexpr (Spec::runs) {
      const auto behind_first = static_cast<uint32_t>(column) - static_cast<uint32_t>(unseen);
      return behind_first > static_cast<uint32_t>(more_rows());
    }
    return column < unseen;
  }

  // dS = P (dP - delta), packed; capped scores: P (1 - t^2) in P's place. P comes from its packed form: kept
  // in fp32 beside it, it would not fit into registers.
  __device__ __forceinline__ void differentiate() {
    [[maybe_unused]] const int lane_of_block = Spec::keeps_capped ? own_lane() : 0;
#pragma unroll
    for (int group = 0; group < kQueries / 8; ++group) {
      const Pair delta = statistics(smem.delta[ring.stage], group);
#pragma unroll
      for (int i = 2 * group; i < 2 * group + 2; ++i) {
        uint32_t pair = P[i / 4][i % 4];
        if constexpr (Spec::keeps_capped) pair = *capped_word(lane_of_block, i);
        const float low = widen_weight(pair & 0xFFFF) * (dP[2 * i] - delta.x);
        const float high = widen_weight(pair >> 16) * (dP[2 * i + 1] - delta.y);
        dS[i / 4][i % 4] = gpu::pack<T>(low, high);
      }
    }
  }

  // One element of P, which is not negative. fp16 by shift and multiplication, exact for subnormals too: a
  // conversion is an instruction that the compiler moves far up, to where registers are scarce.
  static __device__ __forceinline__ float widen_weight(uint32_t bits) {
    if constexpr (std::is_same_v<T, fp16>) return gpu::as_float(bits << 13) * 0x1p112F;
    return gpu::as_float(bits << 16);
  }

  struct alignas(8) Pair {
    float x, y;
  };
  // Of the lane's two queries in a group of 8.
  __device__ __forceinline__ Pair statistics(const float (&rows)[Spec::tile_q], int group) const {
    return *reinterpret_cast<const Pair*>(&rows[own_query() + 8 * group + 2 * (gpu::lane_index() % 4)]);
  }

  // ---- Ways out ----

  // P or dS to where both warpgroups find it, [key][query].
  template <int kBytes>
  __device__ __forceinline__ void put_scores(unsigned char (&place)[kBytes],
                                             const uint32_t (&scores)[Spec::own_row_steps][4]) {
    const uint32_t rows = matrix_address(gpu::shared_address(place) + own_key() * Spec::row_bytes);
#pragma unroll
    for (int i = 0; i < Spec::own_row_steps; ++i) {
      gpu::stmatrix_x4(at_columns<Spec::kv_slab_bytes>(rows, own_query() / 16 + i), scores[i]);
    }
  }
  __device__ __forceinline__ void put_ds() {
    put_scores(smem.ds[ring.stage], dS);
    gpu::fence_proxy_async();
  }

  // dQ to the reducing warp.
  __device__ __forceinline__ void put_dq() {
    gpu::named_barrier_sync(number(Barrier::dq_free, warpgroup), kReducingThreads);
    auto* to = reinterpret_cast<Floats*>(smem.dq[warpgroup]) + thread;
#pragma unroll
    for (int group = 0; group < 8; ++group) {
      to[group * kWarpgroup] = {dQ[4 * group], dQ[4 * group + 1], dQ[4 * group + 2], dQ[4 * group + 3]};
    }
    gpu::fence_proxy_async();
    gpu::named_barrier_arrive(number(Barrier::dq_full, warpgroup), kReducingThreads);
  }
  struct alignas(16) Floats {
    float x, y, z, w;
  };

  // A piece of dQ straight to the sums, 16 bytes a thread.
  __device__ __forceinline__ void add_dq(int piece) {
    float* to = params.problem.dq_sums + int64_t{dq_piece + piece} * kDqPieceFloats + 4 * thread;
#pragma unroll
    for (int group = 0; group < 8; ++group) {
      const float four[4] = {dQ[4 * group], dQ[4 * group + 1], dQ[4 * group + 2], dQ[4 * group + 3]};
      gpu::add_global(to + group * 4 * kWarpgroup, four);
    }
  }
  // In order: a step's pieces are all added between these two.
  __device__ __forceinline__ void wait_for_turn() {
    if (params.problem.in_order)
      gpu::named_barrier_sync(number(Barrier::dq_free, warpgroup), kReducingThreads);
  }
  __device__ __forceinline__ void pass_turn() {
    if (params.problem.in_order)
      gpu::named_barrier_arrive(number(Barrier::dq_full, warpgroup), kReducingThreads);
  }

  // dK and dV through the places of K and V. Both warpgroups have read those for the last time.
  __device__ __forceinline__ void store_gradients(const Work& own) {
    gpu::named_barrier_sync(number(Barrier::math, 0), kMathWarpgroups * kWarpgroup);
    put_gradient<Spec::kv_slab_bytes>(gpu::shared_address(smem.v) + own_offset(), dV, 1.0F);
    put_gradient<Spec::kv_slab_bytes>(gpu::shared_address(smem.k) + own_offset(), dK, params.problem.scale);
    gpu::fence_proxy_async();
    gpu::named_barrier_sync(number(Barrier::warpgroup, warpgroup), kWarpgroup);
    const int first_key = own.first_key + own_key();
    if constexpr (Spec::lengths) {
      if (first_key < 0) {
        store_beginning<Spec::kv_slab_bytes>(own, smem.v + own_offset(), params.problem.dv);
        store_beginning<Spec::kv_slab_bytes>(own, smem.k + own_offset(), params.problem.dk);
        return;
      }
    }
    if (thread != 0) return;
#pragma unroll
    for (int i = 0; i < Spec::own_columns / Spec::slab_columns; ++i) {
      const int slab = own_slab() + i;
      const int offset = slab * Spec::kv_slab_bytes + own_key() * Spec::row_bytes;
      const int entry = Spec::lengths ? own.k_place : own.batch;
      gpu::tma_store_4d(params.dv, gpu::shared_address(smem.v) + offset, slab * Spec::slab_columns, first_key,
                        own.kv_head, entry);
      gpu::tma_store_4d(params.dk, gpu::shared_address(smem.k) + offset, slab * Spec::slab_columns, first_key,
                        own.kv_head, entry);
    }
    gpu::tma_store_commit();
    gpu::tma_store_wait_read<0>();
  }

  // Where this warpgroup's rows and columns begin in a tile of keys.
  __device__ __forceinline__ int own_offset() const {
    return own_slab() * Spec::kv_slab_bytes + own_key() * Spec::row_bytes;
  }

  // Of a sequence's first keys, what is there; `place` has this warpgroup's rows, in slabs so far apart.
  template <int kSlabBytes>
  __device__ __forceinline__ void store_beginning(const Work& own, const unsigned char* place,
                                                  const View& gradient) const {
    const int first_key = own.first_key + own_key();
    T* to = static_cast<T*>(gradient.data) + own.k_place * gradient.batch_stride +
            own.kv_head * gradient.head_stride + first_key * gradient.row_stride;
#pragma unroll 1
    for (int i = 0; i < Spec::own_columns / Spec::slab_columns; ++i) {
      const int column = (own_slab() + i) * Spec::slab_columns;
      store_swizzled_rows<Spec::row_bytes>(place + i * kSlabBytes, first_key, to + column,
                                           gradient.row_stride, params.problem.head_dim - column, thread);
    }
  }

  template <int kSlabBytes>
  __device__ __forceinline__ void put_gradient(uint32_t place, const float (&sums)[Spec::own_columns / 2],
                                               float scale) {
    const uint32_t rows = matrix_address(place);
#pragma unroll
    for (int i = 0; i < Spec::own_columns / 16; ++i) {
      uint32_t fragment[4];
#pragma unroll
      for (int f = 0; f < 4; ++f) {
        fragment[f] = gpu::pack<T>(sums[8 * i + 2 * f] * scale, sums[8 * i + 2 * f + 1] * scale);
      }
      gpu::stmatrix_x4(at_columns<kSlabBytes>(rows, i), fragment);
    }
  }

  // What this lane tells stmatrix: the warp's 16 keys at columns 0 to 15 of where its warpgroup's keys begin.
  __device__ __forceinline__ uint32_t matrix_address(uint32_t place) const {
    const int lane = gpu::opaque(gpu::lane_index());
    const int row = 16 * warp + lane % 16;
    return place + row * Spec::row_bytes + 16 * (lane / 16 ^ row % 8);
  }
  template <int kSlabBytes>
  static __device__ __forceinline__ uint32_t at_columns(uint32_t address, int i) {
    constexpr int kStepsPerSlab = Spec::slab_columns / 16;
    return (address ^ (32 * (i % kStepsPerSlab))) + i / kStepsPerSlab * kSlabBytes;
  }

  // ---- Waiting for one another ----

  __device__ __forceinline__ void advance() {
    ring.advance();
    constexpr int kPieces = kMathWarpgroups * Spec::own_pieces;
    dq_piece += kPieces;
    if (++q_tile == work->end) {
      q_tile = work->begin;
      const int tiles_of_head = params.problem.padded_rows / Spec::tile_q;
      dq_piece += kPieces * (tiles_of_head - (work->end - work->begin));
    }
  }

  // The stage of the step before, with dS of both warpgroups.
  __device__ __forceinline__ int wait_for_last_ds() {
    const int before = ring.stage ^ 1;
    wait_full(smem.ds_full[before], ring.phase ^ static_cast<uint32_t>(before));
    return before;
  }

  __device__ __forceinline__ void wait_for_queries() { wait_full(smem.q_full[ring.stage], ring.phase); }
  __device__ __forceinline__ void wait_for_dout() { wait_full(smem.dout_full[ring.stage], ring.phase); }
  static __device__ __forceinline__ void wait_full(uint64_t& full, uint32_t phase) {
    gpu::mbarrier_wait_in_block(gpu::shared_address(&full), phase);
  }

  // Behind sync_warp: what all lanes read is over.
  static __device__ __forceinline__ void arrive(uint64_t& barrier) {
    if (gpu::lane_index() == 0) gpu::mbarrier_arrive(gpu::shared_address(&barrier));
  }
};

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
