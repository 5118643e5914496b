// SPDX-License-Identifier: MIT
// What happens to scores between q k^T and the softmax: the one place of the fp32 kernels, forward and
// backward, that knows. numeric/score_function.h is the same for one score. Included once per SIMD target.
//
// Scores are in units of log2. First the cap, then what is added to a score; masks come after both, so that
// what is hidden stays hidden.
#if defined(FLASHMOE_CPU_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_SCORES_INL_H_
#undef FLASHMOE_CPU_SCORES_INL_H_
#else
#define FLASHMOE_CPU_SCORES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "cpu/exp2-inl.h"
#include "cpu/pair_of.h"
#include "cpu/store_row.h"
#include "cpu/target-inl.h"
#include "cpu/task.h"
#include "numeric/score_function.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Relative error below 2^-20; odd; NaN stays NaN. Up to kTanhSmall an odd minimax polynomial, since what is
// left of 1 - 2 / (1 + e^2x) near 0 is coarse; beyond, that.
inline constexpr float kTanhSmall = 0.55F;
HWY_INLINE Vector tanh(Vector x) {
  const Tag d;
  const auto size = hn::Abs(x);
  const auto z = hn::Mul(x, x);
  auto series = hn::MulAdd(hn::Set(d, 0.01645876094698906F), z, hn::Set(d, -0.05268414691090584F));
  series = hn::MulAdd(series, z, hn::Set(d, 0.13320942223072052F));
  series = hn::MulAdd(series, z, hn::Set(d, -0.33332958817481995F));
  const auto small = hn::MulAdd(hn::Mul(series, z), x, x);
  // From 10 on it is 1. Compared so that NaN stays.
  const auto bounded = hn::IfThenElse(hn::Gt(size, hn::Set(d, 10.0F)), hn::Set(d, 10.0F), size);
  const auto power = exp2_bounded(hn::Mul(bounded, hn::Set(d, 2 * kLog2E)));
  const auto one = hn::Set(d, 1.0F);
  const auto large = hn::Sub(one, hn::Div(hn::Set(d, 2.0F), hn::Add(power, one)));
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, kTanhSmall)), small, hn::CopySign(large, x));
}

// By the cap. `derivative`: of what it becomes, by what it was.
HWY_INLINE Vector cap_score(const ScoreFunction& function, Vector score, Vector& derivative) {
  const Tag d;
  const auto one = hn::Set(d, 1.0F);
  const auto t = tanh(hn::Mul(score, hn::Set(d, function.inverse_cap)));
  derivative = hn::Mul(hn::Sub(one, t), hn::Add(one, t));
  return hn::Mul(t, hn::Set(d, function.cap));
}

// What a key at this distance from a row loses; `slope` in units of log2.
HWY_INLINE Vector lose_by_distance(Vector score, Vector slope, Vector distance) {
  return hn::NegMulAdd(slope, hn::Abs(distance), score);
}

// Where packed row r stands, and its slope in units of log2.
struct ScoreRow {
  int64_t position;
  float slope;

  ScoreRow(const ForwardProblem& p, const TaskScores& scores, int64_t r)
      : position(p.first_position() + r / p.group()),
        slope(scores.slopes == nullptr ? 0.0F : scores.slopes[r % p.group()] * kLog2E) {}
};

// Forward: scores of a panel of 2 lanes rows, [key][row], one tile of a block at a time.
class PanelScores {
 public:
  // Of the packed rows [row, row + rows); the others of the panel are like the last one. `key`: the block's
  // first.
  PanelScores(const Task& task, int64_t row, int64_t rows, int64_t key)
      : task_(task),
        row_(row),
        rows_(rows),
        key_(key),
        function_(task.problem->softcap),
        sloped_(task.scores.slopes != nullptr) {
    for (int64_t i = 0; i < 2 * lanes(); ++i) {
      const ScoreRow own(*task.problem, task.scores, row + std::min(i, rows - 1));
      slopes_[i] = own.slope;
      positions_[i] = static_cast<float>(own.position - key);
    }
  }

  // The scores of the keys [first, first + keys) of the block.
  void change(int64_t first, int64_t keys, float* HWY_RESTRICT s) const {
    if (function_.cap > 0 || sloped_) change_by_rule(first, keys, s);
    if (task_.scores.pairs.data != nullptr) add_pairs(first, keys, s);
  }

 private:
  static constexpr int64_t kPairsAtOnce = 64;  // keys

  // What the tensor has for keys that exist.
  HWY_NOINLINE void add_pairs(int64_t first, int64_t keys, float* HWY_RESTRICT s) const {
    const int64_t group = task_.problem->group();
    const auto& strides = task_.scores.pairs.strides;
    const int64_t all = std::min(keys, task_.problem->kv_rows - key_ - first);
    float added[kPairsAtOnce];
    for (int64_t begin = 0; begin < all; begin += kPairsAtOnce) {
      const int64_t count = std::min(kPairsAtOnce, all - begin);
      for (int64_t i = 0; i < 2 * lanes(); ++i) {
        const int64_t row = row_ + std::min(i, rows_ - 1);
        if (i == 0 || strides[1] != 0 || strides[2] != 0)
          pairs_of_row(task_.scores, row % group, row / group, key_ + first + begin, count, added);
        for (int64_t key = 0; key < count; ++key) s[(begin + key) * 2 * lanes() + i] += added[key];
      }
    }
  }

  HWY_NOINLINE void change_by_rule(int64_t first, int64_t keys, float* HWY_RESTRICT s) const {
    const Tag d;
    const int64_t n = lanes();
    for (int64_t i = 0; i < 2 * n; i += n) {
      const auto slope = hn::Load(d, slopes_ + i);
      const auto position = hn::Load(d, positions_ + i);
      for (int64_t key = 0; key < keys; ++key) {
        float* at = s + key * 2 * n + i;
        Vector score = hn::Load(d, at), derivative = hn::Zero(d);
        if (function_.cap > 0) score = cap_score(function_, score, derivative);
        if (sloped_) {
          const auto distance = hn::Sub(position, hn::Set(d, static_cast<float>(first + key)));
          score = lose_by_distance(score, slope, distance);
        }
        hn::Store(score, d, at);
      }
    }
  }

  const Task& task_;
  int64_t row_, rows_, key_;
  ScoreFunction function_;
  bool sloped_;
  HWY_ALIGN float slopes_[2 * hn::MaxLanes(Tag())];
  HWY_ALIGN float positions_[2 * hn::MaxLanes(Tag())];
};

// Backward: scores of 2 lanes rows and 2 lanes keys, [row][key].
class UnitScores {
 public:
  UnitScores(const ForwardProblem& p, const TaskScores& scores)
      : p_(p), scores_(scores), function_(p.softcap) {}

  // S becomes what the softmax sees. `derivatives`, as large, are kept for `change_gradients`. The rows are
  // the packed ones from `row` on; `key` is the first key.
  HWY_NOINLINE void change(int64_t row, int64_t key, float* HWY_RESTRICT s,
                           float* HWY_RESTRICT derivatives) const {
    const Tag d;
    const int64_t n = lanes();
    const int64_t last = p_.group() * p_.q_rows - 1;
    for (int64_t r = 0; r < 2 * n; ++r) {
      const ScoreRow own(p_, scores_, std::min(row + r, last));
      const auto slope = hn::Set(d, own.slope);
      const auto from_first = static_cast<float>(own.position - key);
      for (int64_t i = 0; i < 2 * n; i += n) {
        const int64_t at = r * 2 * n + i;
        Vector score = hn::Load(d, s + at), derivative = hn::Set(d, 1.0F);
        if (function_.cap > 0) score = cap_score(function_, score, derivative);
        if (scores_.slopes != nullptr) {
          const auto index = hn::Iota(d, static_cast<float>(i));
          score = lose_by_distance(score, slope, hn::Sub(hn::Set(d, from_first), index));
        }
        hn::Store(score, d, s + at);
        hn::Store(derivative, d, derivatives + at);
      }
      if (scores_.pairs.data == nullptr) continue;
      const int64_t packed = std::min(row + r, last);
      const int64_t end = std::min(2 * n, p_.kv_rows - key);
      float added[2 * hn::MaxLanes(Tag())];
      pairs_of_row(scores_, packed % p_.group(), packed / p_.group(), key, end, added);
      for (int64_t i = 0; i < end; ++i) s[r * 2 * n + i] += added[i];
    }
  }

  // Adds gradients of changed scores to those of the tensor, for `keys` keys.
  HWY_NOINLINE void add_to_pairs(const PairGradient& to, int64_t row, int64_t key, int64_t keys,
                                 const float* HWY_RESTRICT ds) const {
    const int64_t group = p_.group();
    const int64_t rows = std::min(2 * lanes(), group * p_.q_rows - row);
    for (int64_t r = 0; r < rows; ++r) {
      float* own = to.data + (row + r) % group * to.strides[1] + (row + r) / group * to.strides[2] +
                   key * to.strides[3];
      for (int64_t i = 0; i < keys; ++i) own[i * to.strides[3]] += ds[r * 2 * lanes() + i];
    }
  }

  // Gradients of changed scores become those of S. A gradient of 0 stays 0: a hidden key's derivative may be
  // NaN.
  HWY_NOINLINE void change_gradients(float* HWY_RESTRICT ds, const float* HWY_RESTRICT derivatives) const {
    const Tag d;
    for (int64_t i = 0; i < 4 * lanes() * lanes(); i += lanes()) {
      const auto gradient = hn::Load(d, ds + i);
      const auto passed_on = hn::Mul(gradient, hn::Load(d, derivatives + i));
      hn::Store(hn::IfThenZeroElse(hn::Eq(gradient, hn::Zero(d)), passed_on), d, ds + i);
    }
  }

 private:
  const ForwardProblem& p_;
  const TaskScores& scores_;
  ScoreFunction function_;
};

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
