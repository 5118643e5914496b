// SPDX-License-Identifier: MIT
// The backward pass through the C++ API and the C ABI: right gradients, the same from both; bad input is
// refused with a message that helps, and nothing is written.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "api/bad_gradients.h"
#include "api/bad_inputs.h"
#include "api/check_backward.h"
#include "api/refusal.h"
#include "api/to_c.h"
#include "flashmoe/flashmoe.h"
#include "support/backward_call.h"

namespace flashmoe::test::backward_test {
namespace {

class Backward : public testing::Test {
 protected:
  BackwardProblem problem{good_shape(), true};
  BackwardArgs args = arguments_of(problem);
  const std::vector<std::byte> untouched = problem.gradient_bytes();
  std::vector<std::byte> space = std::vector<std::byte>(8 << 20);
  Workspace ample() { return Workspace::in(space.data(), space.size()); }
};

TEST_F(Backward, TheGoodProblemIsGood) {
  run_backward(args);
  EXPECT_EQ(problem.disagreement(), "");
}

TEST_F(Backward, BadInputIsRefusedAndNothingIsWritten) {
  for (const BadGradient& bad : bad_gradients()) {
    BackwardArgs spoilt = args;
    bad.spoil(spoilt);
    expect_says(refusal_of([&] { attention_backward(spoilt, ample()); }), ErrorCode::invalid_argument,
                bad.says, bad.name);
    const flashmoe_backward_args c = to_c(spoilt);
    EXPECT_EQ(flashmoe_attention_backward(&c, ample().data, ample().bytes), FLASHMOE_INVALID_ARGUMENT)
        << bad.name;
    for (const std::string& part : bad.says)
      EXPECT_NE(std::string(flashmoe_last_error()).find(part), std::string::npos) << bad.name;
    EXPECT_EQ(problem.gradient_bytes(), untouched) << bad.name;
  }
}

TEST_F(Backward, TheWorkspaceQueryRefusesTheSameShapes) {
  for (const BadGradient& bad : bad_gradients()) {
    BackwardArgs spoilt = args;
    bad.spoil(spoilt);
    const Refusal refusal = refusal_of([&] { backward_workspace_bytes(spoilt); });
    EXPECT_EQ(refusal.refused, bad.in_shapes) << bad.name << "\n" << refusal.message;
    if (bad.in_shapes) {
      expect_says(refusal_of([&] { explain_backward(spoilt); }), ErrorCode::invalid_argument, bad.says,
                  bad.name);
    }
  }
}

TEST_F(Backward, EveryGradientMayLieInAGapOfAnother) {
  constexpr int64_t kRows = 6, kDim = 8;
  std::vector<float> gradients(kRows * 3 * kDim), x(kRows * kDim), lse(kRows);
  BackwardArgs interleaved;
  interleaved.q = interleaved.k = interleaved.v = interleaved.out = interleaved.dout =
      Tensor::dense(x.data(), DType::fp32, {1, 1, kRows, kDim});
  interleaved.lse = lse.data();
  Tensor* parts[] = {&interleaved.dq, &interleaved.dk, &interleaved.dv};
  for (int i = 0; i < 3; ++i)
    *parts[i] = {gradients.data() + i * kDim, DType::fp32, interleaved.q.sizes, {0, 0, 3 * kDim, 1}};
  EXPECT_NO_THROW(check_backward(interleaved));
  interleaved.dk.data = static_cast<float*>(interleaved.dk.data) + 1;  // one element into dv
  EXPECT_THROW(check_backward(interleaved), Error);
}

TEST_F(Backward, WorkspaceMissingTooSmallMisalignedOrShared) {
  const std::size_t needed = backward_workspace_bytes(args);
  ASSERT_GT(needed, 0U);
  const auto run = [&](Workspace w) { return refusal_of([&] { attention_backward(args, w); }); };
  expect_says(run({}), ErrorCode::workspace,
              {"attention_backward: workspace has 0 bytes", std::to_string(needed) + " are needed",
               "backward_workspace_bytes"},
              "none");
  expect_says(run({ample().data, needed - 1}), ErrorCode::workspace, {std::to_string(needed - 1) + " bytes"},
              "too small");
  expect_says(run({static_cast<std::byte*>(ample().data) + 8, needed}), ErrorCode::workspace,
              {"workspace starts 8 bytes past a multiple of 64"}, "misaligned");
  for (Tensor* tensor : {&args.q, &args.out, &args.dout, &args.dq, &args.dk, &args.dv}) {
    void* const own = tensor->data;
    tensor->data = ample().data;
    expect_says(run(ample()), ErrorCode::invalid_argument, {"workspace overlaps "}, "shared");
    tensor->data = own;
  }
  EXPECT_EQ(problem.gradient_bytes(), untouched);
  EXPECT_FALSE(run({ample().data, needed}).refused);
  EXPECT_EQ(problem.disagreement(), "");
}

struct Giver {
  Workspace space;
  std::vector<std::size_t> asked{};
  static void* give(void* self, std::size_t bytes) {
    static_cast<Giver*>(self)->asked.push_back(bytes);
    return static_cast<Giver*>(self)->space.data;
  }
};

TEST_F(Backward, AsksOnceForTheWorkspaceThatTheQueryNames) {
  Giver giver{ample()};
  attention_backward_with(args, {Giver::give, &giver});
  EXPECT_EQ(giver.asked, std::vector<std::size_t>{backward_workspace_bytes(args)});
  EXPECT_EQ(problem.disagreement(), "");
  EXPECT_THROW(attention_backward_with(args, {}), Error);
  Giver unasked{ample()};
  args.lse = nullptr;
  EXPECT_THROW(attention_backward_with(args, {Giver::give, &unasked}), Error);
  EXPECT_TRUE(unasked.asked.empty());
}

TEST_F(Backward, TheCAbiComputesWhatTheCppApiComputes) {
  for (DType dtype : kDTypes) {
    for (Mask mask : kMasks) {
      Shape shape = good_shape();
      shape.dtype = dtype;
      shape.mask = mask;
      shape.scale = 0.3F;
      shape.threads = 2;
      BackwardProblem cpp(shape, mask != Mask::none);
      run_backward(arguments_of(cpp));
      EXPECT_EQ(cpp.disagreement(), "") << describe(shape);
      BackwardProblem c(shape, mask != Mask::none);
      const BackwardArgs of_c = arguments_of(c);  // whose scale the C arguments point at
      const flashmoe_backward_args c_args = to_c(of_c);
      size_t bytes = 0;
      ASSERT_EQ(flashmoe_backward_workspace_bytes(&c_args, &bytes), FLASHMOE_OK);
      EXPECT_EQ(bytes, backward_workspace_bytes(arguments_of(cpp)));
      ASSERT_EQ(flashmoe_attention_backward(&c_args, ample().data, bytes), FLASHMOE_OK)
          << flashmoe_last_error();
      EXPECT_EQ(c.gradient_bytes(), cpp.gradient_bytes()) << describe(shape);
      BackwardProblem with(shape, mask != Mask::none);
      const BackwardArgs of_with = arguments_of(with);
      const flashmoe_backward_args with_args = to_c(of_with);
      Giver giver{ample()};
      ASSERT_EQ(flashmoe_attention_backward_with(&with_args, Giver::give, &giver), FLASHMOE_OK);
      EXPECT_EQ(with.gradient_bytes(), cpp.gradient_bytes()) << describe(shape);
    }
  }
}

TEST_F(Backward, TheCStructSaysHowLargeItIs) {
  flashmoe_backward_args c = to_c(args);
  const auto status = [&] { return flashmoe_attention_backward(&c, ample().data, ample().bytes); };
  for (size_t size : {size_t{0}, offsetof(flashmoe_backward_args, window) - 1, size_t{1} << 20}) {
    c.struct_size = size;
    EXPECT_EQ(status(), FLASHMOE_INVALID_ARGUMENT) << size;
    EXPECT_NE(std::strstr(flashmoe_last_error(), "sizeof(flashmoe_backward_args)"), nullptr);
  }
  struct {
    flashmoe_backward_args known;
    int64_t more[2];
  } later{to_c(args), {}};
  later.known.struct_size = sizeof(later);
  EXPECT_EQ(flashmoe_attention_backward(&later.known, ample().data, ample().bytes), FLASHMOE_OK);
  later.more[1] = 1;
  EXPECT_EQ(flashmoe_attention_backward(&later.known, ample().data, ample().bytes), FLASHMOE_UNSUPPORTED);
  c = to_c(args);
  c.deterministic = 2;
  EXPECT_EQ(status(), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(flashmoe_last_error(), "deterministic is 2; accepted are 0 and 1"), nullptr);
  c = to_c(args);
  c.dv.reserved = 5;
  EXPECT_EQ(status(), FLASHMOE_UNSUPPORTED);
  size_t bytes = 0;
  EXPECT_EQ(flashmoe_backward_workspace_bytes(nullptr, &bytes), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_EQ(flashmoe_backward_workspace_bytes(&c, nullptr), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_EQ(flashmoe_attention_backward_with(&c, nullptr, nullptr), FLASHMOE_INVALID_ARGUMENT);
}

TEST_F(Backward, ExplainSaysTheWorkspaceAndIsTheSameInC) {
  const std::string text = explain_backward(args);
  EXPECT_NE(text.find("workspace"), std::string::npos) << text;
  const flashmoe_backward_args c = to_c(args);
  size_t needed = 0;
  ASSERT_EQ(flashmoe_explain_backward(&c, nullptr, 0, &needed), FLASHMOE_OK);
  std::vector<char> c_text(needed);
  ASSERT_EQ(flashmoe_explain_backward(&c, c_text.data(), needed, nullptr), FLASHMOE_OK);
  EXPECT_EQ(text, c_text.data());
}

TEST_F(Backward, HeadDimsBeyondTheLimitAndCudaWithoutItAreUnsupported) {
  BackwardProblem large({.q_rows = 2, .kv_rows = 2, .head_dim = 257});
  expect_says(refusal_of([&] { backward_workspace_bytes(arguments_of(large)); }), ErrorCode::unsupported,
              {"attention_backward: head_dim is 257", "1 to 256"}, "head_dim 257");
  if (version().find("cuda") != std::string::npos) return;
  args.execution.device = Device::cuda;
  expect_says(refusal_of([&] { backward_workspace_bytes(args); }), ErrorCode::unsupported,
              {"attention_backward: device is cuda", "no CUDA backend"}, "cuda");
}

TEST_F(Backward, SizesOfZeroGiveEmptyOrZeroGradients) {
  for (const Shape& shape :
       {Shape{.batch = 0, .q_rows = 3, .kv_rows = 4}, Shape{.q_heads = 0, .q_rows = 3, .kv_rows = 4},
        Shape{.q_heads = 0, .kv_heads = 0, .q_rows = 3, .kv_rows = 4},
        Shape{.q_heads = 4, .kv_heads = 2, .q_rows = 0, .kv_rows = 4, .layout = Layout::padded},
        Shape{.batch = 2, .q_heads = 4, .kv_heads = 2, .q_rows = 3, .kv_rows = 0, .layout = Layout::bshd}}) {
    BackwardProblem empty(shape);
    const BackwardArgs empty_args = arguments_of(empty);
    EXPECT_EQ(backward_workspace_bytes(empty_args), 0U);
    EXPECT_NE(explain_backward(empty_args).find("nothing to compute"), std::string::npos);
    attention_backward(empty_args, {});
    EXPECT_EQ(empty.disagreement(), "") << describe(shape);
  }
}

TEST_F(Backward, RowsThatSeeNoKeyHaveGradientZero) {
  const Shape shape{
      .q_heads = 2, .kv_heads = 1, .q_rows = 9, .kv_rows = 4, .head_dim = 16, .mask = Mask::causal};
  BackwardProblem masked(shape, true);
  run_backward(arguments_of(masked));
  EXPECT_EQ(masked.disagreement(), "");
  for (int64_t row = 0; row < 5; ++row) EXPECT_EQ(Problem::get(masked.dq, 0, 1, row, 3), 0.0F) << row;
}

TEST_F(Backward, ADirectionalDerivativeOfTheForwardPassAgrees) {
  // The change of sum(out * dout) along dq, dk and dv is the squared norm of the gradient: no oracle needed.
  const Shape shape{.batch = 2, .q_heads = 4, .kv_heads = 2, .q_rows = 7, .kv_rows = 11, .head_dim = 24};
  BackwardProblem problem_here(shape);
  run_backward(arguments_of(problem_here));
  const auto loss = [&](double step) {
    Problem moved(shape);
    double norm = 0, sum = 0;
    const auto move = [&](const Tensor& t, const Tensor& along) {
      for (int64_t b = 0; b < t.sizes[0]; ++b)
        for (int64_t h = 0; h < t.sizes[1]; ++h)
          for (int64_t s = 0; s < t.sizes[2]; ++s)
            for (int64_t d = 0; d < t.sizes[3]; ++d) {
              const double g = Problem::get(along, b, h, s, d);
              norm += g * g;
              Problem::set(t, b, h, s, d, static_cast<float>(Problem::get(t, b, h, s, d) + step * g));
            }
    };
    move(moved.args.q, problem_here.dq);
    move(moved.args.k, problem_here.dk);
    move(moved.args.v, problem_here.dv);
    moved.run();
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t h = 0; h < shape.q_heads; ++h)
        for (int64_t s = 0; s < shape.q_rows; ++s)
          for (int64_t d = 0; d < shape.head_dim; ++d)
            sum += double{moved.out(b, h, s, d)} * Problem::get(problem_here.dout, b, h, s, d);
    return std::pair{sum, norm};
  };
  constexpr double kStep = 1e-3;
  const auto [up, norm] = loss(kStep);
  const double measured = (up - loss(-kStep).first) / (2 * kStep);
  EXPECT_NEAR(measured, norm, 5e-3 * norm);
}

}  // namespace
}  // namespace flashmoe::test::backward_test
