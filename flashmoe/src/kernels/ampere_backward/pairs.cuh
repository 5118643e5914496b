// SPDX-License-Identifier: MIT
// A tensor in the general form of ampere_backward: what it adds to a chunk of scores, and what the chunk adds
// to its gradient. Straight from and to global memory, element by element: any type and strides.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/ampere_backward/keys.cuh"
#include "numeric/score_function.h"
#include "primitives/memory.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

// The first of a lane's query rows and keys in a chunk. Element i of accumulator r, n is row_further(n, i)
// and key_further(r, i) behind them.
struct FirstPair {
  int row, key;

  template <class Spec>
  __device__ __forceinline__ FirstPair(const Keys<Spec>& keys, const Step& step, int chunk) {
    const int lane = gpu::opaque(gpu::lane_index());  // else all of this is kept from step to step
    row = step.q_tile * Spec::tile_q + keys.own_query + chunk * Spec::tuning.chunk_q + 2 * (lane % 4);
    key = keys.work.first_key + keys.own_key + lane / 4;
  }
};
__device__ __forceinline__ int row_further(int n, int i) { return 8 * n + i % 2; }
__device__ __forceinline__ int key_further(int r, int i) { return 16 * r + 8 * (i / 2); }

// What the tensor has for a lane's pairs of a chunk, as it lies in memory. Loaded before the product that
// makes the scores, which hides some of the time that takes, and added behind it.
template <class Spec>
struct PairValues {
  using Scores = typename Keys<Spec>::Scores;
  uint32_t bits[Spec::key_tiles][Spec::chunk_tiles][4];

  __device__ __forceinline__ PairValues(const Keys<Spec>& keys, const Step& step, int chunk) {
    const PairType type = keys.p.pairs.type;
    if (type == PairType::fp32) {
      load<uint32_t>(keys, step, chunk);
    } else if (type == PairType::boolean) {
      load<unsigned char>(keys, step, chunk);
    } else {
      load<uint16_t>(keys, step, chunk);
    }
  }

  __device__ __forceinline__ void add_to(Scores& S, PairType type) const {
    const auto add = [&](const auto& value) {
      Keys<Spec>::each_score([&](int r, int n, int i) { S[r][n][i] += added_in_log2(value(bits[r][n][i])); });
    };
    switch (type) {
      case PairType::fp32:
        return add([](uint32_t word) { return gpu::as_float(word); });
      case PairType::fp16:
        return add([](uint32_t word) { return gpu::widen(fp16{static_cast<uint16_t>(word)}); });
      case PairType::bf16:
        return add([](uint32_t word) { return gpu::widen(bf16{static_cast<uint16_t>(word)}); });
      case PairType::boolean:
        return add([](uint32_t word) { return word != 0 ? 0.0F : -INFINITY; });
    }
  }

 private:
  // Rows and keys past the end have no value, and nobody sees their scores.
  template <class Word>
  __device__ __forceinline__ void load(const Keys<Spec>& keys, const Step& step, int chunk) {
    const PairParams& pairs = keys.p.pairs;
    const FirstPair first(keys, step, chunk);
    const Word* data = static_cast<const Word*>(pairs.data) + keys.work.entry() * pairs.batch_stride +
                       step.head * pairs.head_stride + first.row * pairs.row_stride +
                       first.key * pairs.key_stride;
    Keys<Spec>::each_score([&](int r, int n, int i) {
      const bool there =
          first.row + row_further(n, i) < pairs.q_rows && first.key + key_further(r, i) < pairs.kv_rows;
      bits[r][n][i] = there ? gpu::load_global(data + row_further(n, i) * pairs.row_stride +
                                               key_further(r, i) * pairs.key_stride)
                            : Word{0};
    });
  }
};

// The sum over lanes that differ in these bits of their numbers.
__device__ __forceinline__ float sum_of_lanes(float sum, int first_bit, int end_bit) {
  for (int bit = first_bit; bit < end_bit; bit *= 2) sum += gpu::shuffle_xor(sum, bit);
  return sum;
}

// dS of a chunk, to the elements of the tensor's gradient; what shares one within a warp, as one sum.
template <class Spec>
__device__ __forceinline__ void add_pair_gradient(const Keys<Spec>& keys,
                                                  const typename Keys<Spec>::Scores& dS, const Step& step,
                                                  int chunk) {
  const PairSums& to = keys.p.dpairs;
  const FirstPair first(keys, step, chunk);
  const int rows = keys.p.pairs.q_rows - first.row, kv_rows = keys.p.pairs.kv_rows - first.key;  // left
  float* data = to.data + keys.work.entry() * to.batch_stride + step.head * to.head_stride +
                first.row * to.row_stride + first.key * to.key_stride;
  const auto place = [&](int row, int key) { return data + row * to.row_stride + key * to.key_stride; };
  const auto each_place = [&](const auto& visit) {
    Keys<Spec>::each_score([&](int r, int n, int i) {
      const int row = row_further(n, i), key = key_further(r, i);
      if (row < rows && key < kv_rows) visit(place(row, key), dS[r][n][i]);
    });
  };
  if (!keys.p.dpairs_are_sums)
    return each_place([](float* at, float value) { gpu::store_global(at, value); });
  if (to.row_stride != 0 && to.key_stride != 0)
    return each_place([](float* at, float value) { gpu::add_global(at, value); });

  const int lane = gpu::lane_index();
  if (to.row_stride == 0 && to.key_stride == 0) {
    float sum = 0;
    Keys<Spec>::each_score([&](int r, int n, int i) { sum += dS[r][n][i]; });
    sum = sum_of_lanes(sum, 1, 32);
    if (lane == 0) gpu::add_global(data, sum);
  } else if (to.row_stride == 0) {
#pragma unroll
    for (int r = 0; r < Spec::key_tiles; ++r) {
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        float sum = 0;
#pragma unroll
        for (int n = 0; n < Spec::chunk_tiles; ++n) sum += dS[r][n][i] + dS[r][n][i + 1];
        sum = sum_of_lanes(sum, 1, 4);
        if (lane % 4 == 0 && key_further(r, i) < kv_rows) gpu::add_global(place(0, key_further(r, i)), sum);
      }
    }
  } else {
#pragma unroll
    for (int n = 0; n < Spec::chunk_tiles; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float sum = 0;
#pragma unroll
        for (int r = 0; r < Spec::key_tiles; ++r) sum += dS[r][n][i] + dS[r][n][i + 2];
        sum = sum_of_lanes(sum, 4, 32);
        if (lane / 4 == 0 && row_further(n, i) < rows) gpu::add_global(place(row_further(n, i), 0), sum);
      }
    }
  }
}

// Behind differentiate(), if the tensor's gradient is wanted: that is dS before the cap's derivative, by
// which dS is multiplied here then. S, which is no more, is made anew: nothing else is left to make that of,
// and who has a cap hardly ever wants this gradient.
template <class Spec>
__device__ __forceinline__ void differentiate_pairs(const Keys<Spec>& keys, typename Keys<Spec>::Scores& dS,
                                                    typename Keys<Spec>::Scores& S, const Step& step,
                                                    int chunk) {
  if (keys.p.dpairs.data == nullptr) return;
  add_pair_gradient(keys, dS, step, chunk);
  if (!keys.derives_behind()) return;
  keys.find_scores(S, chunk);
  Keys<Spec>::each_score([&](int r, int n, int i) {
    const float t = gpu::tanh(S[r][n][i] * keys.p.scores.inner);
    dS[r][n][i] *= fmaf(-t, t, 1.0F);
  });
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET
