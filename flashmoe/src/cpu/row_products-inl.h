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
#include <utility>

#include "cpu/convert-inl.h"
#include "cpu/target-inl.h"
#include "cpu/vector_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kKeysAtOnce = 4;  // keys whose dot products are summed together

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

// scores[r * stride + j] = q[r] . k[j] for some rows and kKeysAtOnce keys. The vectors of the pack are sums,
// those of one row side by side.
template <class T>
struct DotProducts {
  const float* HWY_RESTRICT q;
  int64_t q_stride;
  const T* const* k;  // kKeysAtOnce rows
  int64_t dim;
  float* HWY_RESTRICT scores;
  int64_t stride;

  template <class... V>
  HWY_INLINE void operator()(V&... sums) const {
    constexpr std::index_sequence_for<V...> kEach;
    constexpr std::make_integer_sequence<int, kKeysAtOnce> kKeys;
    ((sums = hn::Zero(Tag())), ...);
    int64_t i = 0;
    for (; i + 2 * lanes() <= dim; i += 2 * lanes()) add_keys<true>(kKeys, kEach, i, sums...);
    if (i < dim) add_keys<false>(kKeys, kEach, i, sums...);
    store(std::make_index_sequence<sizeof...(V) / kKeysAtOnce>(), sums...);
  }

 private:
  template <bool kWhole, int... j, class Each, class... V>
  HWY_INLINE void add_keys(std::integer_sequence<int, j...>, Each each, int64_t i, V&... sums) const {
    (add_key<kWhole, j>(each, i, sums...), ...);
  }

  // Two vectors of dimensions of key j.
  template <bool kWhole, int j, std::size_t... at, class... V>
  HWY_INLINE void add_key(std::index_sequence<at...>, int64_t i, V&... sums) const {
    Vector k0 = hn::Zero(Tag()), k1 = k0;
    if constexpr (kWhole) {
      load_pair(k[j] + i, k0, k1);
    } else {
      load_pair_partial(k[j] + i, dim - i, k0, k1);
    }
    (add<at / kKeysAtOnce, at % kKeysAtOnce == j>(i, k0, k1, sums), ...);
  }

  template <int kRow, bool kThisKey>
  HWY_INLINE void add(int64_t i, Vector k0, Vector k1, Vector& sum) const {
    if constexpr (kThisKey) {
      sum = hn::MulAdd(hn::Load(Tag(), q + kRow * q_stride + i), k0, sum);
      sum = hn::MulAdd(hn::Load(Tag(), q + kRow * q_stride + i + lanes()), k1, sum);
    }
  }

  template <std::size_t... r, class... V>
  HWY_INLINE void store(std::index_sequence<r...>, const V&... sums) const {
    (store_four_sums(nth<4 * r>(sums...), nth<4 * r + 1>(sums...), nth<4 * r + 2>(sums...),
                     nth<4 * r + 3>(sums...), scores + static_cast<int64_t>(r) * stride),
     ...);
  }
};

template <int R, class T>
HWY_INLINE void dot_products(const float* HWY_RESTRICT q, int64_t q_stride, const T* const k[kKeysAtOnce],
                             int64_t dim, float* HWY_RESTRICT scores, int64_t stride) {
  with_vectors<R * kKeysAtOnce>(DotProducts<T>{q, q_stride, k, dim, scores, stride});
}

// Rows of V, kKeysAtOnce at a time.
template <class T>
struct Values {
  const T* first;
  int64_t stride;  // between those taken at once
  int64_t next;    // from the first of them to the first of the next ones
};

// Some rows of O += P V over `keys` keys, a multiple of kKeysAtOnce: kPairs pairs of vectors, or, with kPairs
// = 0, the last `count` columns. O is the pack, and stays in registers for all keys.
template <int kPairs, class T>
struct WeighColumns {
  static constexpr int kInRow = kPairs == 2 ? 4 : 2;  // vectors

  const float* HWY_RESTRICT p;
  int64_t p_stride;
  Values<T> v;
  int64_t keys;
  int64_t count;
  float* HWY_RESTRICT o;
  int64_t o_stride;

  template <class... V>
  HWY_INLINE void operator()(V&... out) const {
    constexpr std::index_sequence_for<V...> kEach;
    constexpr std::make_integer_sequence<int, kKeysAtOnce> kKeys;
    load_rows<kInRow>(kEach, o, o_stride, out...);
    const T* values = v.first;
    for (int64_t key = 0; key < keys; key += kKeysAtOnce, values += v.next) {
      add_keys(kKeys, kEach, key, values, out...);
    }
    store_rows<kInRow>(kEach, o, o_stride, out...);
  }

 private:
  template <int... j, class Each, class... V>
  HWY_INLINE void add_keys(std::integer_sequence<int, j...>, Each each, int64_t key, const T* values,
                           V&... out) const {
    (add_key<j>(each, key, values + j * v.stride, out...), ...);
  }

  template <int j, std::size_t... i, class... V>
  HWY_INLINE void add_key(std::index_sequence<i...>, int64_t key, const T* values, V&... out) const {
    Vector v0 = hn::Zero(Tag()), v1 = v0, v2 = v0, v3 = v0;
    if constexpr (kPairs == 0) load_pair_partial(values, count, v0, v1);
    if constexpr (kPairs >= 1) load_pair(values, v0, v1);
    if constexpr (kPairs == 2) load_pair(values + 2 * lanes(), v2, v3);
    ((out = hn::MulAdd(nth<i % kInRow>(v0, v1, v2, v3), weight<i / kInRow, j>(key), out)), ...);
  }

  // P of row r and key + j, in every lane.
  template <int kRow, int j>
  HWY_INLINE Vector weight(int64_t key) const {
#if FLASHMOE_NEON
    return hn::Broadcast<j>(hn::Load(Tag(), p + kRow * p_stride + key));
#else
    return hn::Set(Tag(), p[kRow * p_stride + key + j]);
#endif
  }
};

template <int R, int kPairs, class T>
HWY_INLINE void weigh_columns(const float* HWY_RESTRICT p, int64_t p_stride, const Values<T>& v,
                              int64_t column, int64_t keys, int64_t count, float* HWY_RESTRICT o,
                              int64_t o_stride) {
  using Columns = WeighColumns<kPairs, T>;
  const Values<T> columns{.first = v.first + column, .stride = v.stride, .next = v.next};
  with_vectors<R * Columns::kInRow>(Columns{p, p_stride, columns, keys, count, o + column, o_stride});
}

template <int R, class T>
HWY_INLINE void weigh_block(const float* HWY_RESTRICT p, int64_t p_stride, const Values<T>& v, int64_t keys,
                            int64_t dim, float* HWY_RESTRICT o, int64_t o_stride) {
  const int64_t pair = 2 * lanes();
  int64_t i = 0;
#if FLASHMOE_HAVE_32_REGISTERS
  for (; i + 2 * pair <= dim; i += 2 * pair) {
    weigh_columns<R, 2>(p, p_stride, v, i, keys, 2 * pair, o, o_stride);
  }
#endif
  for (; i + pair <= dim; i += pair) weigh_columns<R, 1>(p, p_stride, v, i, keys, pair, o, o_stride);
  if (i < dim) weigh_columns<R, 0>(p, p_stride, v, i, keys, dim - i, o, o_stride);
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
