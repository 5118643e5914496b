// SPDX-License-Identifier: MIT
// attend_rows: few query rows against many keys, as in decoding. K and V are read once, in place, and widened
// on the way; nothing is packed. Included once per SIMD target. Bound: memory for one or two rows, arithmetic
// from about four on.
#if defined(FLASHMOE_CPU_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_ROWS_INL_H_
#undef FLASHMOE_CPU_ROWS_INL_H_
#else
#define FLASHMOE_CPU_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/arena.h"
#include "cpu/convert-inl.h"
#include "cpu/exp2-inl.h"
#include "cpu/store_row.h"
#include "cpu/target-inl.h"
#include "cpu/task.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kRowGroup = 4;    // rows that share one pass over a block of keys
inline constexpr int64_t kKeysAtOnce = 4;  // keys whose dot products are summed together
// Keys between two updates of the maxima. V of a block is fetched while K is multiplied, so both must fit in
// the first cache. Measured on Neoverse-V1, decoding 8192 keys of 128: fp32 4.2 ms with 16 keys, 4.5 with
// 32, 5.3 with 64; in 16 bits all are alike. Fetching K ahead as well costs 0.7 to 3 ms in fp32: the hardware
// does that better.
template <class T>
inline constexpr int64_t kRowsBlock = 64 / sizeof(T);

// Two vectors of fp32 from 2 * lanes() elements. bf16 comes as even and odd elements, which costs one
// operation a vector where the natural order would cost two; Q and O are kept in that order too ("pair
// order").
template <class T>
HWY_INLINE void load_pair(const T* from, Vector& first, Vector& second) {
  const Tag d;
  if constexpr (std::is_same_v<T, bf16>) {
    const hn::RebindToUnsigned<Tag> du;
    const hn::Repartition<uint16_t, Tag> d16;
    const auto both = hn::BitCast(du, hn::LoadU(d16, &from->bits));
    first = hn::BitCast(d, hn::ShiftLeft<16>(both));
    second = hn::BitCast(d, hn::And(both, hn::Set(du, 0xFFFF0000U)));
  } else {
    first = load_fp32(d, from);
    second = load_fp32(d, from + lanes());
  }
}

// The same where only `count` elements are left: zeros behind them.
template <class T>
HWY_INLINE void load_pair_partial(const T* from, int64_t count, Vector& first, Vector& second) {
  T padded[2 * hn::MaxLanes(Tag())];
  std::memset(padded, 0, sizeof(padded));
  std::memcpy(padded, from, static_cast<std::size_t>(count) * sizeof(T));
  load_pair(padded, first, second);
}

template <class T>
HWY_INLINE void load_pair_upto(const T* from, int64_t left, Vector& first, Vector& second) {
  if (HWY_LIKELY(left >= 2 * lanes())) {
    load_pair(from, first, second);
  } else {
    load_pair_partial(from, left, first, second);
  }
}

template <class T>
int64_t natural_index(int64_t in_pair_order) {
  if constexpr (!std::is_same_v<T, bf16>) return in_pair_order;
  const int64_t n = lanes();
  const int64_t within = in_pair_order % (2 * n);
  return in_pair_order - within + (within < n ? 2 * within : 2 * (within - n) + 1);
}

// [sum of a, sum of b, sum of c, sum of d] to `to`.
HWY_INLINE void store_four_sums(Vector a, Vector b, Vector c, Vector e, float* to) {
  const Tag d;
  const auto ac = hn::Add(hn::InterleaveLower(d, a, c), hn::InterleaveUpper(d, a, c));
  const auto be = hn::Add(hn::InterleaveLower(d, b, e), hn::InterleaveUpper(d, b, e));
  const auto sums =
      hn::Add(hn::InterleaveLower(d, ac, be), hn::InterleaveUpper(d, ac, be));  // in every four lanes
  const hn::FixedTag<float, 4> d4;
#if FLASHMOE_NEON
  hn::StoreU(sums, d4, to);
#else
  HWY_ALIGN float blocks[hn::MaxLanes(d)];
  hn::Store(sums, d, blocks);
  auto total = hn::Load(d4, blocks);
  for (int64_t i = 4; i < lanes(); i += 4) total = hn::Add(total, hn::Load(d4, blocks + i));
  hn::StoreU(total, d4, to);
#endif
}

// scores[r * stride + j] = q[r] . k[j] for R rows and kKeysAtOnce keys.
template <int R, class T>
HWY_INLINE void dot_products(const float* HWY_RESTRICT q, int64_t q_stride, const T* const k[kKeysAtOnce],
                             int64_t dim, float* HWY_RESTRICT scores, int64_t stride) {
  const Tag d;
  const int64_t n = lanes();
#define FLASHMOE_DOTS_ZERO(r) \
  auto s##r##0 = hn::Zero(d), s##r##1 = hn::Zero(d), s##r##2 = hn::Zero(d), s##r##3 = hn::Zero(d);
  FLASHMOE_DOTS_ZERO(0)
  FLASHMOE_DOTS_ZERO(1)
  FLASHMOE_DOTS_ZERO(2)
  FLASHMOE_DOTS_ZERO(3)
#define FLASHMOE_DOTS_ROW(r, j)                                               \
  if constexpr (r < R) {                                                      \
    s##r##j = hn::MulAdd(hn::Load(d, q + r * q_stride + i), k0, s##r##j);     \
    s##r##j = hn::MulAdd(hn::Load(d, q + r * q_stride + i + n), k1, s##r##j); \
  }
#define FLASHMOE_DOTS_KEY(j, load)             \
  {                                            \
    Vector k0 = hn::Zero(d), k1 = hn::Zero(d); \
    load;                                      \
    FLASHMOE_DOTS_ROW(0, j)                    \
    FLASHMOE_DOTS_ROW(1, j)                    \
    FLASHMOE_DOTS_ROW(2, j)                    \
    FLASHMOE_DOTS_ROW(3, j)                    \
  }
      int64_t i = 0;
  for (; i + 2 * n <= dim; i += 2 * n) {
    FLASHMOE_DOTS_KEY(0, load_pair(k[0] + i, k0, k1))
    FLASHMOE_DOTS_KEY(1, load_pair(k[1] + i, k0, k1))
    FLASHMOE_DOTS_KEY(2, load_pair(k[2] + i, k0, k1))
    FLASHMOE_DOTS_KEY(3, load_pair(k[3] + i, k0, k1))
  }
  if (i < dim) {
    FLASHMOE_DOTS_KEY(0, load_pair_partial(k[0] + i, dim - i, k0, k1))
    FLASHMOE_DOTS_KEY(1, load_pair_partial(k[1] + i, dim - i, k0, k1))
    FLASHMOE_DOTS_KEY(2, load_pair_partial(k[2] + i, dim - i, k0, k1))
    FLASHMOE_DOTS_KEY(3, load_pair_partial(k[3] + i, dim - i, k0, k1))
  }
#define FLASHMOE_DOTS_STORE(r) \
  if constexpr (r < R) store_four_sums(s##r##0, s##r##1, s##r##2, s##r##3, scores + r * stride);
  FLASHMOE_DOTS_STORE(0) FLASHMOE_DOTS_STORE(1) FLASHMOE_DOTS_STORE(2) FLASHMOE_DOTS_STORE(3)
}

// R rows of O += P V over `keys` keys, a multiple of kKeysAtOnce: kPairs pairs of vectors, or, with kPairs =
// 0, the last `count` columns. O stays in registers for all keys.
template <int R, int kPairs, class T>
HWY_INLINE void weigh_columns(const float* HWY_RESTRICT p, int64_t p_stride, const T* v, int64_t v_stride,
                              int64_t keys, int64_t count, float* HWY_RESTRICT o, int64_t o_stride) {
  const Tag d;
  const int64_t n = lanes();
#define FLASHMOE_WEIGH_LOAD(r)                                                                       \
  Vector o##r##0 = hn::Zero(d), o##r##1 = hn::Zero(d), o##r##2 = hn::Zero(d), o##r##3 = hn::Zero(d); \
  if constexpr (r < R) {                                                                             \
    o##r##0 = hn::Load(d, o + r * o_stride);                                                         \
    o##r##1 = hn::Load(d, o + r * o_stride + n);                                                     \
    if constexpr (kPairs == 2) {                                                                     \
      o##r##2 = hn::Load(d, o + r * o_stride + 2 * n);                                               \
      o##r##3 = hn::Load(d, o + r * o_stride + 3 * n);                                               \
    }                                                                                                \
  }
#define FLASHMOE_WEIGH_STORE(r)                        \
  if constexpr (r < R) {                               \
    hn::Store(o##r##0, d, o + r * o_stride);           \
    hn::Store(o##r##1, d, o + r * o_stride + n);       \
    if constexpr (kPairs == 2) {                       \
      hn::Store(o##r##2, d, o + r * o_stride + 2 * n); \
      hn::Store(o##r##3, d, o + r * o_stride + 3 * n); \
    }                                                  \
  }
#undef FLASHMOE_WEIGHTS
#undef FLASHMOE_WEIGHT
#if FLASHMOE_NEON
#define FLASHMOE_WEIGHTS(r) \
  [[maybe_unused]] const auto p##r = hn::Load(d, p + (r < R ? r : 0) * p_stride + key);
#define FLASHMOE_WEIGHT(r, j) hn::Broadcast<j>(p##r)
#else
#define FLASHMOE_WEIGHTS(r)
#define FLASHMOE_WEIGHT(r, j) hn::Set(d, p[r * p_stride + key + j])
#endif
#define FLASHMOE_WEIGH_ROW(r, j)                 \
  if constexpr (r < R) {                         \
    const auto weight = FLASHMOE_WEIGHT(r, j);   \
    o##r##0 = hn::MulAdd(v0, weight, o##r##0);   \
    o##r##1 = hn::MulAdd(v1, weight, o##r##1);   \
    if constexpr (kPairs == 2) {                 \
      o##r##2 = hn::MulAdd(v2, weight, o##r##2); \
      o##r##3 = hn::MulAdd(v3, weight, o##r##3); \
    }                                            \
  }
#define FLASHMOE_WEIGH_KEY(j)                                       \
  {                                                                 \
    Vector v0 = hn::Zero(d), v1 = v0, v2 = v0, v3 = v0;             \
    if constexpr (kPairs == 0) load_pair_partial(v, count, v0, v1); \
    if constexpr (kPairs >= 1) load_pair(v, v0, v1);                \
    if constexpr (kPairs == 2) load_pair(v + 2 * n, v2, v3);        \
    FLASHMOE_WEIGH_ROW(0, j)                                        \
    FLASHMOE_WEIGH_ROW(1, j)                                        \
    FLASHMOE_WEIGH_ROW(2, j)                                        \
    FLASHMOE_WEIGH_ROW(3, j)                                        \
    v += v_stride;                                                  \
  }
  FLASHMOE_WEIGH_LOAD(0)
  FLASHMOE_WEIGH_LOAD(1)
  FLASHMOE_WEIGH_LOAD(2)
  FLASHMOE_WEIGH_LOAD(3) for (int64_t key = 0; key < keys; key += kKeysAtOnce){
      FLASHMOE_WEIGHTS(0) FLASHMOE_WEIGHTS(1) FLASHMOE_WEIGHTS(2) FLASHMOE_WEIGHTS(3) FLASHMOE_WEIGH_KEY(0)
          FLASHMOE_WEIGH_KEY(1) FLASHMOE_WEIGH_KEY(2) FLASHMOE_WEIGH_KEY(3)} FLASHMOE_WEIGH_STORE(0)
      FLASHMOE_WEIGH_STORE(1) FLASHMOE_WEIGH_STORE(2) FLASHMOE_WEIGH_STORE(3)
}

template <int R, class T>
HWY_INLINE void weigh_block(const float* HWY_RESTRICT p, int64_t p_stride, const T* v, int64_t v_stride,
                            int64_t keys, int64_t dim, float* HWY_RESTRICT o, int64_t o_stride) {
  const int64_t pair = 2 * lanes();
  int64_t i = 0;
#if FLASHMOE_HAVE_32_REGISTERS
  for (; i + 2 * pair <= dim; i += 2 * pair) {
    weigh_columns<R, 2>(p, p_stride, v + i, v_stride, keys, 2 * pair, o + i, o_stride);
  }
#endif
  for (; i + pair <= dim; i += pair)
    weigh_columns<R, 1>(p, p_stride, v + i, v_stride, keys, pair, o + i, o_stride);
  if (i < dim) weigh_columns<R, 0>(p, p_stride, v + i, v_stride, keys, dim - i, o + i, o_stride);
}

// One row of O += weight * v.
template <class T>
void weigh_one(float weight, const T* v, int64_t dim, float* HWY_RESTRICT o) {
  const Tag d;
  const int64_t n = lanes();
  const auto w = hn::Set(d, weight);
  for (int64_t i = 0; i < dim; i += 2 * n) {
    Vector v0 = hn::Zero(d), v1 = hn::Zero(d);
    load_pair_upto(v + i, dim - i, v0, v1);
    hn::Store(hn::MulAdd(w, v0, hn::Load(d, o + i)), d, o + i);
    hn::Store(hn::MulAdd(w, v1, hn::Load(d, o + i + n)), d, o + i + n);
  }
}

// One row meets a block: s[0, keys) becomes exp2(s - m), the rest up to a whole vector 0; O is rescaled if m
// rose.
inline void exponentiate_row(float* HWY_RESTRICT s, int64_t keys, RowState& state, float* HWY_RESTRICT o,
                             int64_t padded_dim) {
  const Tag d;
  const int64_t n = lanes();
  for (int64_t j = keys; j < round_up(keys, n); ++j) s[j] = -std::numeric_limits<float>::infinity();
  auto largest = hn::Set(d, state.max);
  for (int64_t j = 0; j < keys; j += n) largest = hn::Max(largest, hn::Load(d, s + j));
  const float max = hn::GetLane(hn::MaxOfLanes(d, largest));
  const float base = max == -std::numeric_limits<float>::infinity() ? 0.0F : max;
  if (max != state.max) {
    const auto factor = exp2_bounded(hn::Set(d, state.max - base));
    for (int64_t i = 0; i < padded_dim; i += n) hn::Store(hn::Mul(hn::Load(d, o + i), factor), d, o + i);
    state.sum *= hn::GetLane(factor);
    state.max = max;
  }
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < keys; j += n) {
    const auto p = exp2_bounded(hn::Sub(hn::Load(d, s + j), hn::Set(d, base)));
    hn::Store(p, d, s + j);
    sum = hn::Add(sum, p);
  }
  state.sum += hn::GetLane(hn::SumOfLanes(d, sum));
}

struct RowsScratch {
  float *q, *o, *scores, *row;
  RowState* states;
  int64_t* limits;
  int64_t stride, score_stride;  // of q and o, and of scores
  std::size_t bytes;

  RowsScratch(std::byte* base, int64_t dim, int64_t rows) {
    const int64_t padded_rows = round_up(rows, kRowGroup);
    stride = round_up(dim, 2 * lanes());
    score_stride = round_up(kRowsBlock<bf16>, lanes());
    Arena arena(base);
    q = arena.take<float>(padded_rows * stride);
    o = arena.take<float>(padded_rows * stride);
    scores = arena.take<float>(padded_rows * score_stride);
    row = arena.take<float>(stride);
    states = arena.take<RowState>(padded_rows);
    limits = arena.take<int64_t>(padded_rows);
    bytes = arena.bytes();
  }
};

inline std::size_t rows_scratch_bytes(const ForwardProblem& problem, int64_t rows) {
  return RowsScratch(nullptr, problem.head_dim, rows).bytes;
}

// R rows, from `first` on, meet the keys [begin, begin + keys); every one of them sees the first `full` keys.
template <int R, class T>
void meet_block(const Task& task, const RowsScratch& scratch, int64_t first, int64_t begin, int64_t keys,
                int64_t full) {
  const int64_t dim = task.problem->head_dim;
  const T* k = static_cast<const T*>(task.k) + begin * task.k_row_stride;
  const T* v = static_cast<const T*>(task.v) + begin * task.v_row_stride;
  float* scores = scratch.scores + first * scratch.score_stride;
  float* o = scratch.o + first * scratch.stride;
  for (int64_t key = 0; key < keys; key += kKeysAtOnce) {
    const T* from[kKeysAtOnce];
    for (int64_t j = 0; j < kKeysAtOnce; ++j) {
      const int64_t at =
          std::min(key + j, keys - 1);  // past the end: the last one again, its score is not used
      from[j] = k + at * task.k_row_stride;
      for (int64_t i = 0; i < dim; i += kCacheLine / static_cast<int64_t>(sizeof(T))) {
        __builtin_prefetch(v + at * task.v_row_stride + i);
      }
    }
    dot_products<R>(scratch.q + first * scratch.stride, scratch.stride, from, dim, scores + key,
                    scratch.score_stride);
  }
  for (int64_t r = 0; r < R; ++r) {
    const int64_t seen = std::clamp<int64_t>(scratch.limits[first + r] - begin, 0, keys);
    exponentiate_row(scores + r * scratch.score_stride, seen, scratch.states[first + r],
                     o + r * scratch.stride, scratch.stride);
  }
  full = full / kKeysAtOnce * kKeysAtOnce;
  weigh_block<R>(scores, scratch.score_stride, v, task.v_row_stride, full, dim, o, scratch.stride);
  for (int64_t r = 0; r < R; ++r) {
    const int64_t seen = std::min(scratch.limits[first + r] - begin, keys);
    for (int64_t key = full; key < seen; ++key) {
      weigh_one(scores[r * scratch.score_stride + key], v + key * task.v_row_stride, dim,
                o + r * scratch.stride);
    }
  }
}

template <class T>
void attend_rows(const Task& task) {
  const ForwardProblem& p = *task.problem;
  const Tag d;
  const int64_t dim = p.head_dim;
  const int64_t n = lanes();
  const int64_t rows = task.row_end - task.row_begin;
  const RowsScratch scratch(task.scratch, dim, rows);

  for (int64_t r = 0; r < round_up(rows, kRowGroup); ++r) {
    const int64_t row = task.row_begin + std::min(r, rows - 1);  // rows past the end repeat the last one
    const int64_t position = row / p.group();
    const T* from =
        static_cast<const T*>(task.q) + row % p.group() * task.q_head_stride + position * task.q_row_stride;
    float* to = scratch.q + r * scratch.stride;
    const auto scale = hn::Set(d, p.scale * kLog2E);
    for (int64_t i = 0; i < dim; i += 2 * n) {
      Vector q0 = hn::Zero(d), q1 = hn::Zero(d);
      load_pair_upto(from + i, dim - i, q0, q1);
      hn::Store(hn::Mul(q0, scale), d, to + i);
      hn::Store(hn::Mul(q1, scale), d, to + i + n);
    }
    scratch.limits[r] = std::min(task.kv_end, p.visible_keys(position));
    scratch.states[r] = RowState{};
  }
  std::fill_n(scratch.o, round_up(rows, kRowGroup) * scratch.stride, 0.0F);

  // Limits never fall from row to row.
  for (int64_t begin = task.kv_begin; begin < scratch.limits[rows - 1]; begin += kRowsBlock<T>) {
    for (int64_t first = 0; first < rows; first += kRowGroup) {
      const int64_t count = std::min(kRowGroup, rows - first);
      const int64_t keys = std::min(kRowsBlock<T>, scratch.limits[first + count - 1] - begin);
      const int64_t full = std::clamp<int64_t>(scratch.limits[first] - begin, 0, keys);
      if (keys <= 0) continue;
      if (count == 1) {
        meet_block<1, T>(task, scratch, first, begin, keys, full);
      } else if (count == 2) {
        meet_block<2, T>(task, scratch, first, begin, keys, full);
      } else {
        meet_block<4, T>(task, scratch, first, begin, keys, full);
      }
    }
  }

  for (int64_t r = 0; r < rows; ++r) {
    const float* o = scratch.o + r * scratch.stride;
    for (int64_t i = 0; i < scratch.stride; ++i) {
      const int64_t at = natural_index<T>(i);
      if (at < dim) scratch.row[at] = o[i];
    }
    store_row<T>(task, task.row_begin + r, scratch.row, scratch.states[r]);
  }
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
