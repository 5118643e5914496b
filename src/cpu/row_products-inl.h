// SPDX-License-Identifier: MIT
// The products of the rows kernel: up to four query rows against K and V where they lie, widened on the way.
// Included once per SIMD target.
#if defined(FLASHMOE_CPU_ROW_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_ROW_PRODUCTS_INL_H_
#undef FLASHMOE_CPU_ROW_PRODUCTS_INL_H_
#else
#define FLASHMOE_CPU_ROW_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/convert-inl.h"
#include "cpu/target-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kKeysAtOnce = 4;  // keys whose dot products are summed together

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
  FLASHMOE_DOTS_STORE(0)
  FLASHMOE_DOTS_STORE(1)
  FLASHMOE_DOTS_STORE(2)
  FLASHMOE_DOTS_STORE(3)
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
  FLASHMOE_WEIGH_LOAD(3)
  for (int64_t key = 0; key < keys; key += kKeysAtOnce) {
    FLASHMOE_WEIGHTS(0)
    FLASHMOE_WEIGHTS(1)
    FLASHMOE_WEIGHTS(2)
    FLASHMOE_WEIGHTS(3)
    FLASHMOE_WEIGH_KEY(0)
    FLASHMOE_WEIGH_KEY(1)
    FLASHMOE_WEIGH_KEY(2)
    FLASHMOE_WEIGH_KEY(3)
  }
  FLASHMOE_WEIGH_STORE(0)
  FLASHMOE_WEIGH_STORE(1)
  FLASHMOE_WEIGH_STORE(2)
  FLASHMOE_WEIGH_STORE(3)
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

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
