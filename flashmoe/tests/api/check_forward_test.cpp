// SPDX-License-Identifier: MIT
// Bad input is refused with a message that helps, and nothing is written; good input that looks odd is not
// refused.
#include "api/check_forward.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "api/bad_inputs.h"
#include "api/refusal.h"

namespace flashmoe::test::check_forward_test {
namespace {

// A workspace that is large enough for anything here.
struct AmpleSpace {
  std::vector<std::byte> bytes = std::vector<std::byte>(8 << 20);
  Workspace workspace() { return Workspace::in(bytes.data(), bytes.size()); }
};

TEST(CheckForward, TheGoodProblemIsGood) {
  Problem problem(good_shape());
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, good_shape());
}

TEST(CheckForward, BadInputIsRefusedAndNothingIsWritten) {
  AmpleSpace space;
  for (const BadInput& bad : bad_inputs()) {
    Problem problem(good_shape());
    const std::vector<std::byte> before = problem.output_bytes();
    bad.spoil(problem.args);
    const Refusal refusal = refusal_of([&] { attention_forward(problem.args, space.workspace()); });
    expect_says(refusal, bad.code, bad.says, bad.name);
    EXPECT_EQ(problem.output_bytes(), before) << bad.name << " was refused after something was written";
  }
}

// Arrays beside the tensors: offsets into them must not wrap around.
TEST(CheckForward, StridesOfOtherArraysReachNoFurtherThanAnAddress) {
  constexpr int64_t kFar = int64_t{1} << 62;
  const auto refused = [](const auto& spoil, const char* name) {
    Problem problem(good_shape());
    spoil(problem.args);
    const Refusal refusal = refusal_of([&] { problem.run(); });
    expect_says(refusal, ErrorCode::invalid_argument, {name, std::to_string(kFar), "spans more memory"},
                name);
  };
  for (std::size_t dim = 0; dim < 4; ++dim) {
    refused(
        [&](ForwardArgs& a) {
          a.scores.attn_mask.data = a.q.data;
          a.scores.attn_mask.strides[dim] = kFar;
        },
        "scores.attn_mask with strides [");
  }
  refused(
      [](ForwardArgs& a) {
        a.spans = {.documents = static_cast<const int32_t*>(a.q.data), .documents_stride = kFar};
      },
      "spans.documents with strides [");
  refused(
      [](ForwardArgs& a) {
        a.scores = {.alibi_slopes = static_cast<const float*>(a.q.data), .slopes_batch_stride = kFar};
      },
      "alibi_slopes with strides [");
}

TEST(CheckForward, TheWorkspaceQueryRefusesTheSameShapes) {
  for (const BadInput& bad : bad_inputs()) {
    Problem problem(good_shape());
    bad.spoil(problem.args);
    const Refusal refusal = refusal_of([&] { forward_workspace_bytes(problem.args); });
    if (bad.in_shapes) {
      expect_says(refusal, bad.code, bad.says, bad.name);
      expect_says(refusal_of([&] { explain_forward(problem.args); }), bad.code, bad.says, bad.name);
    } else {
      EXPECT_FALSE(refusal.refused) << bad.name << ": the query looks at no pointer, but said\n"
                                    << refusal.message;
    }
  }
}

TEST(CheckForward, WorkspaceMissingTooSmallOrMisaligned) {
  Problem problem(good_shape());
  const std::vector<std::byte> before = problem.output_bytes();
  const std::size_t needed = forward_workspace_bytes(problem.args);
  ASSERT_GT(needed, 0U);
  AmpleSpace space;
  void* data = space.workspace().data;
  const std::string needed_text = std::to_string(needed);
  const auto run = [&](Workspace w) { return refusal_of([&] { attention_forward(problem.args, w); }); };
  expect_says(run({}), ErrorCode::workspace, {"workspace has 0 bytes", needed_text + " are needed"}, "none");
  expect_says(run({nullptr, needed}), ErrorCode::workspace, {"workspace has 0 bytes", needed_text}, "null");
  expect_says(run({data, needed - 1}), ErrorCode::workspace,
              {"workspace has " + std::to_string(needed - 1) + " bytes", needed_text + " are needed"},
              "too small");
  for (int past : {1, 8, 32, 63}) {
    expect_says(run({static_cast<std::byte*>(data) + past, needed}), ErrorCode::workspace,
                {"workspace starts " + std::to_string(past) + " bytes past a multiple of 64"}, "misaligned");
  }
  EXPECT_EQ(problem.output_bytes(), before);
  EXPECT_FALSE(run({data, needed}).refused);
  EXPECT_AGREES_WITH_ORACLE(problem, good_shape());
}

TEST(CheckForward, HeadDimsBeyondTheCpuBackendAreUnsupported) {
  Problem problem({.q_rows = 2, .kv_rows = 2, .head_dim = 257});
  AmpleSpace space;
  const std::vector<std::byte> before = problem.output_bytes();
  expect_says(refusal_of([&] { attention_forward(problem.args, space.workspace()); }), ErrorCode::unsupported,
              {"head_dim is 257", "1 to 256"}, "head_dim 257");
  expect_says(refusal_of([&] { forward_workspace_bytes(problem.args); }), ErrorCode::unsupported,
              {"head_dim is 257", "1 to 256"}, "head_dim 257");
  EXPECT_EQ(problem.output_bytes(), before);
}

TEST(CheckForward, CudaIsRefusedByABuildWithoutIt) {
  if (version().find("cuda") != std::string::npos) GTEST_SKIP() << "this build has CUDA: " << version();
  Problem problem(good_shape());
  problem.args.execution.device = Device::cuda;
  expect_says(refusal_of([&] { forward_workspace_bytes(problem.args); }), ErrorCode::unsupported,
              {"device is cuda", "no CUDA backend"}, "cuda");
}

TEST(CheckForward, TheWorkspaceSharesNoByteWithATensor) {
  Problem problem(good_shape());
  const std::size_t needed = forward_workspace_bytes(problem.args);
  AmpleSpace space;
  const Workspace workspace = space.workspace();
  ASSERT_GE(workspace.bytes, 2 * needed + 64 * 1024);
  auto* begin = static_cast<std::byte*>(workspace.data);
  const auto run = [&] { return refusal_of([&] { attention_forward(problem.args, workspace); }); };
  for (Tensor* tensor : {&problem.args.q, &problem.args.out}) {
    void* const own = tensor->data;
    tensor->data = begin + needed - 64;
    expect_says(run(), ErrorCode::invalid_argument,
                {"workspace overlaps ", tensor == &problem.args.q ? "q" : "out"}, "in the workspace");
    tensor->data = begin + (needed + 63) / 64 * 64;  // behind the part that is used
    EXPECT_FALSE(run().refused);
    tensor->data = own;
  }
  float* const own = problem.args.lse;
  problem.args.lse = reinterpret_cast<float*>(begin);
  expect_says(run(), ErrorCode::invalid_argument, {"workspace overlaps lse"}, "lse in the workspace");
  problem.args.lse = own;
}

TEST(CheckForward, SizesOfZeroGiveEmptyOrZeroResults) {
  for (const Shape& shape :
       {Shape{.batch = 0, .q_rows = 3, .kv_rows = 4}, Shape{.q_heads = 0, .q_rows = 3},
        Shape{.q_heads = 0, .kv_heads = 0}, Shape{.q_rows = 0, .kv_rows = 4},
        Shape{.batch = 2, .q_heads = 4, .kv_heads = 2, .q_rows = 3, .kv_rows = 0},
        Shape{.q_rows = 3, .kv_rows = 0, .mask = Mask::causal, .layout = Layout::padded}}) {
    Problem problem(shape);
    EXPECT_EQ(forward_workspace_bytes(problem.args), 0U);
    EXPECT_NE(explain_forward(problem.args).find("nothing to compute"), std::string::npos);
    attention_forward(problem.args, {});
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

TEST(CheckForward, ExplainsTheLogSumExpOfRowsWithoutKeys) {
  Shape shape{.q_heads = 2, .q_rows = 3, .kv_rows = 0};
  EXPECT_NE(explain_forward(Problem(shape).args).find("-inf for a log-sum-exp"), std::string::npos);
  shape.sinks = {1.5F, -2.0F};
  Problem problem(shape);
  EXPECT_NE(explain_forward(problem.args).find("sink for a log-sum-exp"), std::string::npos);
  attention_forward(problem.args, {});
  EXPECT_EQ(problem.lse(0, 0, 2), 1.5F);
  EXPECT_EQ(problem.lse(0, 1, 0), -2.0F);
}

// q, k, v and out lie side by side in one buffer, row by row: no byte is shared.
TEST(CheckForward, InterleavedViewsThatDoNotOverlapAreAccepted) {
  constexpr int64_t kBatch = 2, kHeads = 3, kRows = 5, kDim = 16;
  std::vector<float> buffer(kBatch * kHeads * kRows * 4 * kDim);
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<float>(i * 7 % 31) / 31;
  const auto part = [&](int64_t index) {
    return Tensor{buffer.data() + index * kDim,
                  DType::fp32,
                  {kBatch, kHeads, kRows, kDim},
                  {kRows * kHeads * 4 * kDim, 4 * kDim, kHeads * 4 * kDim, 1}};
  };
  for (int64_t out = 0; out < 4; ++out) {
    ForwardArgs args;
    args.q = part((out + 1) % 4);
    args.k = part((out + 2) % 4);
    args.v = part((out + 3) % 4);
    args.out = part(out);
    EXPECT_NO_THROW(check_forward(args)) << "out is part " << out;
    args.out.data = static_cast<float*>(args.out.data) + (out == 0 ? 1 : -1);  // one element into a neighbour
    EXPECT_THROW(check_forward(args), Error) << "out is part " << out;
  }
}

TEST(CheckForward, OutMayFillGapsOfAPaddedInput) {
  constexpr int64_t kRows = 6, kDim = 8;
  std::vector<float> buffer(kRows * 3 * kDim);
  std::vector<float> kv(kRows * kDim);
  ForwardArgs args;
  args.k = args.v = Tensor::dense(kv.data(), DType::fp32, {1, 1, kRows, kDim});
  args.q = {buffer.data(), DType::fp32, args.k.sizes, {0, 0, 3 * kDim, 1}};
  args.out = {
      buffer.data() + (kRows - 1) * 3 * kDim + 2 * kDim, DType::fp32, args.k.sizes, {0, 0, -3 * kDim, 1}};
  EXPECT_NO_THROW(check_forward(args));
  args.out.data = static_cast<float*>(args.out.data) + 1;  // into the next row of q, but for the last
  EXPECT_THROW(check_forward(args), Error);
}

TEST(CheckForward, TensorsThatTouchWithoutOverlapAreAccepted) {
  constexpr int64_t kCount = 4 * 16;
  std::vector<float> buffer(4 * kCount + 4);
  ForwardArgs args;
  Tensor* tensors[] = {&args.v, &args.q, &args.out, &args.k};
  for (int i = 0; i < 4; ++i)
    *tensors[i] = Tensor::dense(buffer.data() + i * kCount, DType::fp32, {1, 1, 4, 16});
  args.lse = buffer.data() + 4 * kCount;
  EXPECT_NO_THROW(check_forward(args));
}

TEST(CheckForward, InputsMayBeTheSameMemory) {
  std::vector<float> x(64), out(64);
  ForwardArgs args;
  args.q = args.k = args.v = Tensor::dense(x.data(), DType::fp32, {1, 1, 4, 16});
  args.out = Tensor::dense(out.data(), DType::fp32, {1, 1, 4, 16});
  EXPECT_NO_THROW(check_forward(args));
}

TEST(CheckForward, DefaultScaleIsOneOverTheRootOfHeadDim) {
  Problem problem(good_shape());
  EXPECT_EQ(check_forward(problem.args).scale, 0.25F);
  problem.args.scale = -3.0F;
  EXPECT_EQ(check_forward(problem.args).scale, -3.0F);
}

TEST(CheckForward, AProblemIsWhatTheTensorsSay) {
  Problem problem(good_shape());
  problem.args.mask = Mask::causal;
  const ForwardProblem p = check_forward(problem.args);
  EXPECT_EQ(p.batch, 2);
  EXPECT_EQ(p.q_heads, 4);
  EXPECT_EQ(p.kv_heads, 2);
  EXPECT_EQ(p.group(), 2);
  EXPECT_EQ(p.q_rows, 5);
  EXPECT_EQ(p.kv_rows, 23);
  EXPECT_EQ(p.head_dim, 16);
  EXPECT_EQ(p.dtype, DType::fp32);
  EXPECT_EQ(p.mask, Mask::causal);
}

TEST(CheckForward, ErrorsSayWhatWhereAndWhatToDo) {
  Problem problem(good_shape());
  problem.args.out.data = problem.args.q.data;
  const Refusal refusal = refusal_of([&] { check_forward(problem.args); });
  EXPECT_EQ(refusal.message.find(
                "attention_forward: out overlaps q in memory\n   at: flashmoe/src/api/check_tensors.cpp:"),
            0U)
      << refusal.message;
  EXPECT_NE(refusal.message.find("\n  try: give out memory of its own"), std::string::npos)
      << refusal.message;
}

TEST(Workspace, InAlignsAnyBuffer) {
  alignas(64) std::byte buffer[256];
  for (std::size_t skip : {0, 1, 63, 64, 65}) {
    const Workspace w = Workspace::in(buffer + skip, sizeof(buffer) - skip);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(w.data) % kWorkspaceAlignment, 0U);
    EXPECT_EQ(static_cast<std::byte*>(w.data) + w.bytes, buffer + sizeof(buffer));
  }
  EXPECT_EQ(Workspace::in(nullptr, 100).data, nullptr);
  EXPECT_EQ(Workspace::in(buffer + 1, 62).data, nullptr);
}

TEST(Version, NamesTheReleaseAndTheBackend) {
  EXPECT_EQ(version().find("0."), 0U) << version();
  EXPECT_NE(version().find("(cpu: "), std::string::npos) << version();
}

}  // namespace
}  // namespace flashmoe::test::check_forward_test
