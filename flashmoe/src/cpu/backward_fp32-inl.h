// SPDX-License-Identifier: MIT
// Gradients in fp32, tile by tile: what BackwardKernel::differentiate calls. Included once per SIMD target.
//
// Blocks of keys are the outer loop, blocks of rows the inner one. A block of keys and a block of rows meet
// in five products, all of one shape (panel_product-inl.h), where a unit is 2 lanes rows or keys:
//
//   S  = Q K^T      for each unit of rows       [unit of keys][row][2 lanes keys]
//   dP = dO V^T     the same                    P = exp2(S - LSE) and dS = P (dP - delta) overwrite the two
//   dQ += dS K      the same, from dS transposed, [key][2 lanes rows]
//   dV += P^T dO    for each unit of keys
//   dK += dS^T Q    the same
//
// dK and dV of a block stay in scratch while all rows pass, dQ of all rows while all keys do. Q, scaled by
// scale * log2(e), dO, K and V are packed transposed for the first two products, Q, dO and K as they are for
// the others.
#if defined(FLASHMOE_CPU_BACKWARD_FP32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_BACKWARD_FP32_INL_H_
#undef FLASHMOE_CPU_BACKWARD_FP32_INL_H_
#else
#define FLASHMOE_CPU_BACKWARD_FP32_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "cpu/arena.h"
#include "cpu/backward_kernels.h"
#include "cpu/cancel.h"
#include "cpu/convert-inl.h"
#include "cpu/dropout-inl.h"
#include "cpu/exp2-inl.h"
#include "cpu/pack_fp32-inl.h"
#include "cpu/panel_product-inl.h"
#include "cpu/scores-inl.h"
#include "cpu/store_row.h"
#include "cpu/vector_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline int64_t unit() { return 2 * lanes(); }
inline int64_t backward_block_rows() { return round_up(96, unit()); }
inline int64_t backward_block_keys() { return round_up(256, unit()); }

struct BackwardScratch {
  float *lse, *delta;   // of every row; LSE in units of log2
  float *k_t, *v_t;     // [unit of keys][dim][unit]
  float* k;             // [dim tile][keys][unit]
  float *dk, *dv;       // [key][padded dim]
  float *q_t, *dout_t;  // [unit of rows][dim][unit]
  float *q, *dout;      // [dim tile][rows][unit]
  float *p, *ds;        // [unit of keys][weights_rows()][unit]
  float* ds_t;          // [key][unit], of one unit of rows
  float* derivatives;   // of changed scores, [unit][unit]
  float* factors;       // of dropout, the same
  BlockRuns runs;
  std::size_t bytes;

  // One more pair of rows than a block has: units of keys then do not meet in the same sets of a cache.
  static int64_t weights_rows() { return backward_block_rows() + 2; }

  BackwardScratch(std::byte* base, const ForwardProblem& problem, int64_t task_keys) {
    const int64_t dim = problem.head_dim;
    const int64_t all_rows = round_up(problem.group() * problem.q_rows, unit());
    const int64_t rows = std::min(backward_block_rows(), all_rows);
    const int64_t keys = round_up(std::min(backward_block_keys(), task_keys), unit());
    Arena arena(base);
    lse = arena.take<float>(all_rows);
    delta = arena.take<float>(all_rows);
    k_t = arena.take<float>(keys * dim);
    v_t = arena.take<float>(keys * dim);
    k = arena.take<float>(keys * padded_dim(dim));
    dk = arena.take<float>(keys * padded_dim(dim));
    dv = arena.take<float>(keys * padded_dim(dim));
    q_t = arena.take<float>(rows * dim);
    dout_t = arena.take<float>(rows * dim);
    q = arena.take<float>(rows * padded_dim(dim));
    dout = arena.take<float>(rows * padded_dim(dim));
    p = arena.take<float>(keys * weights_rows());
    ds = arena.take<float>(keys * weights_rows());
    ds_t = arena.take<float>(keys * unit());
    derivatives = arena.take<float>(problem.changes_scores() ? unit() * unit() : 0);
    factors = arena.take<float>(problem.dropout.p > 0 ? unit() * unit() : 0);
    runs.begins = arena.take<int32_t>(backward_block_rows());
    runs.limits = arena.take<int32_t>(backward_block_rows());
    bytes = arena.bytes();
  }
};

template <class T>
float dot_rows(const T* x, const T* y, int64_t dim) {
  const Tag d;
  const int64_t n = lanes();
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + n <= dim; i += n) sum = hn::MulAdd(load_fp32(d, x + i), load_fp32(d, y + i), sum);
  if (i < dim) {
    sum = hn::MulAdd(load_fp32_partial(d, x + i, dim - i), load_fp32_partial(d, y + i, dim - i), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// LSE and delta = dout . out - dlse of every row. A row that weighs nothing gets an LSE of +inf, which makes
// its weights 0; so do rows past the end.
template <class T>
void prepare_rows(const BackwardTask& task, const BackwardScratch& scratch) {
  const ForwardProblem& p = *task.problem;
  const int64_t rows = p.group() * p.q_rows;
  const auto out = task.out.as<const T>(p.group());
  const auto dout = task.dout.as<const T>(p.group());
  for (int64_t r = 0; r < round_up(rows, unit()); ++r) {
    scratch.lse[r] = std::numeric_limits<float>::infinity();
    scratch.delta[r] = 0;
    if (r >= rows) continue;
    const RowStatistics row = row_statistics(task, r);
    if (row.weighs_nothing()) continue;
    scratch.lse[r] = lse_log2(row.lse);
    scratch.delta[r] = dot_rows(dout[r], out[r], p.head_dim) - row.dlse;
  }
}

// Some rows of a unit of rows and a unit of keys: S becomes P, dP becomes dS. kMasked: row r sees
// `first_key` + i only where that is in [begins[r], limits[r]).
template <bool kMasked>
struct WeighRows {
  float* HWY_RESTRICT p;
  float* HWY_RESTRICT ds;
  const float* lse;
  const float* delta;
  BlockRuns runs;  // of these rows
  int64_t first_key;

  template <class... V>
  HWY_INLINE void operator()(V&... weights) const {
    const std::index_sequence_for<V...> each;
    exponentiate(each, weights...);
    store_rows<2>(each, p, unit(), weights...);
    centre(each, weights...);
    store_rows<2>(each, ds, unit(), weights...);
  }

 private:
  static HWY_INLINE int64_t row(std::size_t i) { return static_cast<int64_t>(i / 2); }

  HWY_INLINE Vector seen(std::size_t i, Vector x) const {
    if constexpr (kMasked) {
      const Tag d;
      const hn::RebindToSigned<Tag> di;
      const int64_t key = first_key + static_cast<int64_t>(i % 2) * lanes();
      const auto index = hn::Iota(di, static_cast<int32_t>(key));
      const auto sees = hn::AndNot(hn::Lt(index, hn::Set(di, runs.begins[row(i)])),
                                   hn::Lt(index, hn::Set(di, runs.limits[row(i)])));
      x = hn::IfThenElseZero(hn::RebindMask(d, sees), x);
    }
    return x;
  }
  template <std::size_t... i, class... V>
  HWY_INLINE void exponentiate(std::index_sequence<i...>, V&... weights) const {
    ((weights = seen(i, exp2_bounded(hn::Sub(hn::Load(Tag(), p + static_cast<int64_t>(i) * lanes()),
                                             hn::Set(Tag(), lse[row(i)]))))),
     ...);
  }
  template <std::size_t... i, class... V>
  HWY_INLINE void centre(std::index_sequence<i...>, V&... weights) const {
    ((weights = seen(i, hn::Mul(weights, hn::Sub(hn::Load(Tag(), ds + static_cast<int64_t>(i) * lanes()),
                                                 hn::Set(Tag(), delta[row(i)]))))),
     ...);
  }
};

// One unit of rows and one unit of keys.
template <bool kMasked>
HWY_NOINLINE void weigh_unit(float* p, float* ds, const float* lse, const float* delta, const BlockRuns& runs,
                             int64_t first_key) {
  constexpr int64_t kRows = FLASHMOE_HAVE_32_REGISTERS ? 4 : 1;
  for (int64_t r = 0; r < unit(); r += kRows) {
    with_vectors<2 * kRows>(WeighRows<kMasked>{.p = p + r * unit(),
                                               .ds = ds + r * unit(),
                                               .lse = lse + r,
                                               .delta = delta + r,
                                               .runs = runs.from(r),
                                               .first_key = first_key});
  }
}

HWY_NOINLINE void transpose_unit(const float* HWY_RESTRICT from, float* HWY_RESTRICT to) {
  const hn::FixedTag<float, 4> d4;
  for (int64_t r = 0; r < unit(); r += 4, from += 4 * unit()) {
    for (int64_t i = 0; i < unit(); i += 4) {
      transpose_4x4(hn::Load(d4, from + i), hn::Load(d4, from + unit() + i),
                    hn::Load(d4, from + 2 * unit() + i), hn::Load(d4, from + 3 * unit() + i),
                    to + i * unit() + r, unit());
    }
  }
}

// Element d of row r of `rows` rows that pack_columns left lies here.
inline int64_t packed_at(int64_t r, int64_t rows, int64_t d) {
  return (d / unit() * rows + r) * unit() + d % unit();
}

// A block of rows and a block of keys. What a row does not see has P and dS of 0, which multiplied by
// infinity or NaN would still do harm: where K, Q or dO holds such values, the tiles that the mask cuts are
// added pair by pair.
struct BackwardBlock {
  const BackwardScratch& scratch;
  int64_t dim;
  int64_t row, rows;
  int64_t keys;                // of the block that were packed
  bool k_finite, rows_finite;  // all of K, and all of Q and dO
  float* dq;                   // sums of the block's first row
  const UnitScores* changes;   // null: scores stay as they are
  PairGradient dpairs;         // what they add to; data may be null
  const RowDropout* dropout;   // null: no weight is left out
  int64_t first_key;           // of the block

  int64_t columns() const { return padded_dim(dim) / unit(); }

  // S and dP of the rows from `first` on and the keys that they see, P and dS in their place, and dq.
  void rows_against_keys(int64_t first) const {
    const BlockRuns& runs = scratch.runs;
    const int64_t last = std::min(first + unit(), rows) - 1;
    const Range seen{runs.begins[first], runs.limits[last]};
    if (seen.begin >= seen.end) return;
    const int64_t begin = seen.begin / unit() * unit();
    const int64_t step = BackwardScratch::weights_rows() * unit();  // from one unit of keys to the next
    float* p = scratch.p + first * unit() + begin / unit() * step;
    float* ds = scratch.ds + first * unit() + begin / unit() * step;
    PanelProduct product{.a = scratch.q_t + first * dim,
                         .a_step = unit(),
                         .b = scratch.k_t + begin * dim,
                         .b_step = unit(),
                         .b_column = unit() * dim,
                         .n = dim,
                         .c = p,
                         .c_row = unit(),
                         .c_column = step,
                         .column_pairs = ceil_div(seen.end - begin, unit())};
    multiply_panel<Tile::begin, true>(product);
    product.a = scratch.dout_t + first * dim;
    product.b = scratch.v_t + begin * dim;
    product.c = ds;
    multiply_panel<Tile::begin, true>(product);

    for (int64_t at = begin; at < seen.end; at += unit(), p += step, ds += step) {
      if (changes != nullptr) changes->change(row + first, first_key + at, p, scratch.derivatives);
      if (dropout != nullptr) {
        find_factors(*dropout, row + first, last + 1 - first, first_key + at, scratch.factors);
        drop_unit(scratch.factors, last + 1 - first, ds);
      }
      (runs.full(first, last, at, unit()) ? weigh_unit<false> : weigh_unit<true>)(p, ds,
                                                                                  scratch.lse + row + first,
                                                                                  scratch.delta + row + first,
                                                                                  runs.from(first), at);
      if (dropout != nullptr) drop_unit(scratch.factors, last + 1 - first, p);
      if (dpairs.data != nullptr)
        changes->add_to_pairs(dpairs, row + first, first_key + at, std::min(unit(), keys - at), ds);
      if (changes != nullptr) changes->change_gradients(ds, scratch.derivatives);
      transpose_unit(ds, scratch.ds_t + at * unit());
    }
    if (k_finite) {
      add_to_dq(first, {begin, seen.end});
      return;
    }
    const Range full{runs.begins[last], std::max(runs.begins[last], runs.limits[first])};
    add_to_dq(first, full);
    for (int64_t r = first; r <= last; ++r) {
      each_key_outside({runs.begins[r], runs.limits[r]}, full, [&](int64_t key) {
        const float weight = scratch.ds_t[key * unit() + r - first];
        for (int64_t d = 0; d < dim; ++d)
          dq[r * padded_dim(dim) + d] += weight * scratch.k[packed_at(key, keys, d)];
      });
    }
  }

  // dk and dv of the unit of keys from `first` on, from the rows that see any of them.
  void keys_against_rows(int64_t first) const {
    const BlockRuns& runs = scratch.runs;
    const int64_t count = std::min(unit(), keys - first);
    Range by = runs.rows_that_see(rows, first, count);
    if (!rows_finite) {
      for (; by.begin < by.end && !runs.full(by.begin, by.begin, first, count); ++by.begin)
        add_pairs(first, by.begin);
      for (; by.begin < by.end && !runs.full(by.end - 1, by.end - 1, first, count); --by.end)
        add_pairs(first, by.end - 1);
    }
    if (by.begin >= by.end) return;
    const int64_t weights = weights_at(first, by.begin);
    PanelProduct product{.a = scratch.p + weights,
                         .a_step = unit(),
                         .b = scratch.dout + by.begin * unit(),
                         .b_step = unit(),
                         .b_column = rows * unit(),
                         .n = by.size(),
                         .c = scratch.dv + first * padded_dim(dim),
                         .c_row = padded_dim(dim),
                         .c_column = unit(),
                         .column_pairs = columns()};
    multiply_panel<Tile::add, true>(product);
    product.a = scratch.ds + weights;
    product.b = scratch.q + by.begin * unit();
    product.c = scratch.dk + first * padded_dim(dim);
    multiply_panel<Tile::add, true>(product);
  }

 private:
  // dq of the unit of rows from `first` on += dS K over some keys.
  void add_to_dq(int64_t first, Range over) const {
    multiply_panel<Tile::add, true>({.a = scratch.ds_t + over.begin * unit(),
                                     .a_step = unit(),
                                     .b = scratch.k + over.begin * unit(),
                                     .b_step = unit(),
                                     .b_column = keys * unit(),
                                     .n = over.size(),
                                     .c = dq + first * padded_dim(dim),
                                     .c_row = padded_dim(dim),
                                     .c_column = unit(),
                                     .column_pairs = columns()});
  }

  // P and dS of row r and the unit of keys from `first` on.
  static int64_t weights_at(int64_t first, int64_t r) {
    return (first / unit() * BackwardScratch::weights_rows() + r) * unit();
  }

  // What row r adds to dk and dv of the keys that it sees, of the unit from `first` on.
  void add_pairs(int64_t first, int64_t r) const {
    const int64_t begin = std::max<int64_t>(first, scratch.runs.begins[r]);
    const int64_t end = std::min<int64_t>(first + unit(), scratch.runs.limits[r]);
    for (int64_t key = begin; key < end; ++key) {
      const int64_t weight = weights_at(first, r) + key - first;
      for (int64_t d = 0; d < dim; ++d) {
        scratch.dv[key * padded_dim(dim) + d] += scratch.p[weight] * scratch.dout[packed_at(r, rows, d)];
        scratch.dk[key * padded_dim(dim) + d] += scratch.ds[weight] * scratch.q[packed_at(r, rows, d)];
      }
    }
  }
};

// Returns whether all of K is finite.
template <class T>
bool pack_keys(const BackwardTask& task, const BackwardScratch& scratch, int64_t key, int64_t keys) {
  const int64_t dim = task.problem->head_dim;
  const auto k = task.k.as<const T>(1);
  const auto v = task.v.as<const T>(1);
  for (int64_t i = 0; i < keys; i += unit()) {
    pack_transposed(k, key + i, std::min(unit(), keys - i), dim, 1.0F, scratch.k_t + i * dim);
    pack_transposed(v, key + i, std::min(unit(), keys - i), dim, 1.0F, scratch.v_t + i * dim);
  }
  return pack_columns(k, key, keys, dim, scratch.k);
}

// Returns whether all of Q and dO is finite.
template <class T>
bool pack_rows(const BackwardTask& task, const BackwardScratch& scratch, int64_t row, int64_t rows) {
  const ForwardProblem& p = *task.problem;
  const auto q = task.q.as<const T>(p.group());
  const auto dout = task.dout.as<const T>(p.group());
  for (int64_t i = 0; i < rows; i += unit()) {
    const int64_t count = std::min(unit(), rows - i);
    pack_transposed(q, row + i, count, p.head_dim, p.scale * kLog2E, scratch.q_t + i * p.head_dim);
    pack_transposed(dout, row + i, count, p.head_dim, 1.0F, scratch.dout_t + i * p.head_dim);
  }
  const bool q_finite = pack_columns(q, row, rows, p.head_dim, scratch.q);
  return pack_columns(dout, row, rows, p.head_dim, scratch.dout) && q_finite;
}

template <class T>
void differentiate_fp32(const BackwardTask& task) {
  const ForwardProblem& p = *task.problem;
  const int64_t dim = p.head_dim;
  const int64_t stride = padded_dim(dim);
  const int64_t all_rows = p.group() * p.q_rows;
  const BackwardScratch scratch(task.scratch, p, task.kv_end - task.kv_begin);
  prepare_rows<T>(task, scratch);
  std::fill_n(task.dq_sums, round_up(all_rows, unit()) * stride, 0.0F);
  const UnitScores changes(p, task.scores);
  const RowDropout dropout(p, task.scores);

  for (int64_t key = task.kv_begin; key < task.kv_end; key += backward_block_keys()) {
    const int64_t keys = std::min(backward_block_keys(), task.kv_end - key);
    std::fill_n(scratch.dk, round_up(keys, unit()) * stride, 0.0F);
    std::fill_n(scratch.dv, round_up(keys, unit()) * stride, 0.0F);
    const bool k_finite = pack_keys<T>(task, scratch, key, keys);
    for (int64_t row = 0; row < all_rows && !is_cancelled(task.cancel); row += backward_block_rows()) {
      const int64_t rows = std::min(backward_block_rows(), all_rows - row);
      scratch.runs.find(p, row, rows, round_up(rows, unit()), key, keys);
      const Range seen = scratch.runs.seen_by_any(rows);
      if (seen.begin >= seen.end) continue;
      const bool rows_finite = pack_rows<T>(task, scratch, row, rows);
      const BackwardBlock block{.scratch = scratch,
                                .dim = dim,
                                .row = row,
                                .rows = rows,
                                .keys = keys,
                                .k_finite = k_finite,
                                .rows_finite = rows_finite,
                                .dq = task.dq_sums + row * stride,
                                .changes = p.changes_scores() ? &changes : nullptr,
                                .dpairs = task.dpairs,
                                .dropout = p.dropout.p > 0 ? &dropout : nullptr,
                                .first_key = key};
      for (int64_t i = 0; i < rows; i += unit()) block.rows_against_keys(i);
      for (int64_t i = seen.begin / unit() * unit(); i < seen.end; i += unit()) block.keys_against_rows(i);
    }
    for (int64_t i = 0; i < keys; ++i) {
      store_scaled(scratch.dk + i * stride, p.scale, dim, task.dk.as<T>(1)[key + i]);
      store_scaled(scratch.dv + i * stride, 1.0F, dim, task.dv.as<T>(1)[key + i]);
    }
  }
  if (!task.stores_dq) return;
  const auto dq = task.dq.as<T>(p.group());
  for (int64_t r = 0; r < all_rows; ++r) store_scaled(task.dq_sums + r * stride, p.scale, dim, dq[r]);
}

inline std::size_t backward_scratch_bytes(const ForwardProblem& problem, int64_t keys) {
  return BackwardScratch(nullptr, problem, keys).bytes;
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
