// SPDX-License-Identifier: MIT
// Weights that are left out, in the layouts of the fp32 kernels. Included once per SIMD target.
#if defined(FLASHMOE_CPU_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_DROPOUT_INL_H_
#undef FLASHMOE_CPU_DROPOUT_INL_H_
#else
#define FLASHMOE_CPU_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "cpu/target-inl.h"
#include "cpu/task.h"
#include "numeric/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Of the packed rows of a task's heads.
class RowDropout {
 public:
  RowDropout(const ForwardProblem& p, const TaskScores& scores)
      : dropout_(p.dropout.p, p.dropout.seed), group_(p.group()), first_head_(scores.first_head) {}

  // visit(key, factor) for the keys [begin, end) of packed row r.
  template <class Visit>
  HWY_INLINE void each(int64_t r, int64_t begin, int64_t end, const Visit& visit) const {
    constexpr int64_t kKeys = PairDropout::kKeys;
    float factors[kKeys];
    for (int64_t key = begin; key < end;) {
      const int64_t block = key / kKeys;
      dropout_.factors(first_head_ + r % group_, r / group_, block, factors);
      for (; key < std::min(end, (block + 1) * kKeys); ++key) visit(key, factors[key % kKeys]);
    }
  }

 private:
  PairDropout dropout_;
  int64_t group_, first_head_;
};

// Forward: weights of a panel of 2 lanes rows, [key][row]: of the packed rows [row, row + rows), and the keys
// [begin, end).
HWY_NOINLINE void drop_panel(const RowDropout& dropout, int64_t row, int64_t rows, int64_t begin, int64_t end,
                             float* HWY_RESTRICT weights) {
  for (int64_t r = 0; r < rows; ++r) {
    dropout.each(row + r, begin, end, [&](int64_t key, float factor) {
      float& weight = weights[(key - begin) * 2 * lanes() + r];
      weight = drop(weight, factor);
    });
  }
}

// Backward: the factors of 2 lanes rows from `row` on, of which `rows` exist, and 2 lanes keys, [row][key].
HWY_NOINLINE void find_factors(const RowDropout& dropout, int64_t row, int64_t rows, int64_t key,
                               float* HWY_RESTRICT factors) {
  for (int64_t r = 0; r < rows; ++r) {
    dropout.each(row + r, key, key + 2 * lanes(),
                 [&](int64_t at, float factor) { factors[r * 2 * lanes() + at - key] = factor; });
  }
}

HWY_NOINLINE void drop_unit(const float* HWY_RESTRICT factors, int64_t rows, float* HWY_RESTRICT values) {
  const Tag d;
  for (int64_t i = 0; i < 2 * lanes() * rows; i += lanes()) {
    const auto factor = hn::Load(d, factors + i);
    const auto product = hn::Mul(hn::Load(d, values + i), factor);
    hn::Store(hn::IfThenElseZero(hn::Ne(factor, hn::Zero(d)), product), d, values + i);
  }
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
