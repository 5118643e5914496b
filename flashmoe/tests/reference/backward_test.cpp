// SPDX-License-Identifier: MIT
// The gradients' oracle against finite differences of the forward's oracle, and against cases computed by
// hand.
#include "reference/backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/values.h"
#include "support/backward_problem.h"

namespace flashmoe::test::backward::backward_test {
namespace {

// sum dout out + sum dlse lse: attention_backward computes the gradients of this.
double loss(const BackwardProblem& problem) {
  const reference::ForwardResult result = problem.forward.oracle();
  const ForwardProblem& p = problem.forward.problem;
  double sum = 0;
  std::size_t i = 0;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.q_heads; ++h)
      for (const double dout : reference::values(problem.dout, b, h)) sum += dout * result.out[i++];
  for (std::size_t row = 0; problem.dlse() != nullptr && row < result.lse.size(); ++row) {
    if (!std::isinf(result.lse[row])) sum += problem.dlse()[row] * result.lse[row];
  }
  return sum;
}

// Changes each element of `t` in turn and compares the change of the loss with the gradient.
void expect_differences(BackwardProblem& problem, const char* name, const Tensor& t,
                        const reference::Gradient& gradient) {
  constexpr float kStep = 0x1p-8F;
  std::size_t i = 0;
  for (int64_t b = 0; b < t.sizes[0]; ++b) {
    for (int64_t h = 0; h < t.sizes[1]; ++h) {
      for (int64_t s = 0; s < t.sizes[2]; ++s) {
        for (int64_t d = 0; d < t.sizes[3]; ++d, ++i) {
          const float x = Problem::get(t, b, h, s, d);
          const auto loss_at = [&](float y) {
            Problem::set(t, b, h, s, d, y);
            const double at = loss(problem);
            Problem::set(t, b, h, s, d, x);
            return at;
          };
          const float up = x + kStep, down = x - kStep;  // rounded, so the step is their difference
          const double slope =
              (loss_at(up) - loss_at(down)) / (static_cast<double>(up) - static_cast<double>(down));
          // A difference quotient differs from the derivative by step^2 / 6 of the third derivative.
          EXPECT_NEAR(gradient.value[i], slope, 2e-3)
              << name << "[" << b << ", " << h << ", " << s << ", " << d << "]";
        }
      }
    }
  }
}

TEST(ReferenceBackward, AgreesWithFiniteDifferences) {
  for (Mask mask : kMasks) {
    for (bool with_dlse : {false, true}) {
      // Three query heads share one K/V head; with more rows than keys, some rows see no key; and with fewer.
      for (const auto& [q_rows, kv_rows] : {std::pair<int64_t, int64_t>{5, 3}, {3, 6}}) {
        BackwardProblem problem({.batch = 2,
                                 .q_heads = 3,
                                 .kv_heads = 1,
                                 .q_rows = q_rows,
                                 .kv_rows = kv_rows,
                                 .head_dim = 4,
                                 .mask = mask},
                                with_dlse);
        const reference::BackwardResult result = problem.oracle();
        expect_differences(problem, "q", problem.forward.args.q, result.dq);
        expect_differences(problem, "k", problem.forward.args.k, result.dk);
        expect_differences(problem, "v", problem.forward.args.v, result.dv);
      }
    }
  }
}

TEST(ReferenceBackward, SequencesAgreeWithFiniteDifferences) {
  // Packed sequences, one empty, one partly used, with rows that belong to none; and a padded batch.
  for (const Shape& shape : {Shape{.batch = 3,
                            .q_heads = 2,
                            .q_rows = 6,
                            .kv_rows = 8,
                            .head_dim = 4,
                            .mask = Mask::causal,
                            .q_starts = {0, 2, 2, 5},
                            .k_starts = {0, 3, 4, 8},
                            .k_used = {3, 1, 3}},
                             Shape{.batch = 2,
                             .q_heads = 2,
                             .q_rows = 3,
                             .kv_rows = 4,
                             .head_dim = 4,
                             .q_used = {3, 1},
                             .k_used = {2, 4}}}) {
    BackwardProblem problem(shape, true);
    const reference::BackwardResult result = problem.oracle();
    expect_differences(problem, "q", problem.forward.args.q, result.dq);
    expect_differences(problem, "k", problem.forward.args.k, result.dk);
    expect_differences(problem, "v", problem.forward.args.v, result.dv);
  }
}

TEST(ReferenceBackward, OneKeyPassesTheGradientOnToItsValueAlone) {
  BackwardProblem problem({.q_rows = 1, .kv_rows = 1, .head_dim = 2});
  const reference::BackwardResult result = problem.oracle();
  for (std::size_t d = 0; d < 2; ++d) {
    EXPECT_EQ(result.dv.value[d], reference::values(problem.dout, 0, 0)[d]);
    EXPECT_NEAR(result.dq.value[d], 0, 1e-15);
    EXPECT_NEAR(result.dk.value[d], 0, 1e-15);
  }
}

// Two keys with logits 0 and 0: weights of 1/2, and ds = 1/4 (v_1 - v_2) dout with alternating sign.
TEST(ReferenceBackward, TwoEqualKeysShareTheGradient) {
  BackwardProblem problem({.q_rows = 1, .kv_rows = 2, .head_dim = 1, .scale = 1.0F});
  const ForwardArgs& args = problem.forward.args;
  Problem::set(args.q, 0, 0, 0, 0, 3);
  Problem::set_row(args.k, 0, 0, 0, 0);
  Problem::set_row(args.k, 0, 0, 1, 0);
  Problem::set_row(args.v, 0, 0, 0, 5);
  Problem::set_row(args.v, 0, 0, 1, 9);
  Problem::set(problem.dout, 0, 0, 0, 0, 2);
  const reference::BackwardResult result = problem.oracle();
  EXPECT_EQ(result.dv.value, (std::vector<double>{1, 1}));
  EXPECT_NEAR(result.dk.value[0], 3 * 0.25 * (5 - 9) * 2, 1e-14);
  EXPECT_NEAR(result.dk.value[1], 3 * 0.25 * (9 - 5) * 2, 1e-14);
  EXPECT_NEAR(result.dq.value[0], 0, 1e-14);
}

TEST(ReferenceBackward, RowsAndKeysThatSeeNothingHaveNoGradient) {
  BackwardProblem more_rows({.q_rows = 3, .kv_rows = 1, .head_dim = 2, .mask = Mask::causal});
  const reference::BackwardResult rows = more_rows.oracle();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(rows.dq.value[i], 0);
  BackwardProblem more_keys({.q_rows = 1, .kv_rows = 3, .head_dim = 2, .mask = Mask::causal_top_left});
  const reference::BackwardResult keys = more_keys.oracle();
  for (std::size_t i = 2; i < 6; ++i) {
    EXPECT_EQ(keys.dk.value[i], 0);
    EXPECT_EQ(keys.dv.value[i], 0);
  }
}

// Subtracting ln 2 from the log-sum-exp doubles P; doubling out doubles delta.
TEST(ReferenceBackward, TakesOutAndLseAsTheyAreGiven) {
  BackwardProblem problem({.q_rows = 3, .kv_rows = 5, .head_dim = 4});
  const reference::ForwardResult forward = problem.forward.oracle();
  std::vector<float> out(forward.out.begin(), forward.out.end()), lse(forward.lse.begin(), forward.lse.end());
  const ForwardArgs& args = problem.forward.args;
  const auto given = [&] {
    return reference::attention_backward(problem.forward.problem,
                                         {.q = args.q,
                                          .k = args.k,
                                          .v = args.v,
                                          .dout = problem.dout,
                                          .out = Tensor::dense(out.data(), DType::fp32, {1, 1, 3, 4}),
                                          .lse = lse.data()});
  };
  const reference::BackwardResult own = problem.oracle(), same = given();
  for (std::size_t i = 0; i < own.dq.value.size(); ++i) EXPECT_NEAR(same.dq.value[i], own.dq.value[i], 1e-5);
  for (std::size_t i = 0; i < own.dk.value.size(); ++i) {
    EXPECT_NEAR(same.dk.value[i], own.dk.value[i], 1e-5);
    EXPECT_NEAR(same.dv.value[i], own.dv.value[i], 1e-5);
    EXPECT_LE(same.dk.bound[i], own.dk.bound[i]);  // no error of a forward to allow for
  }
  for (float& x : lse) x -= std::log(2.0F);
  const reference::BackwardResult doubled = given();
  for (std::size_t i = 0; i < own.dv.value.size(); ++i)
    EXPECT_NEAR(doubled.dv.value[i], 2 * own.dv.value[i], 1e-5);
}

}  // namespace
}  // namespace flashmoe::test::backward::backward_test
