// SPDX-License-Identifier: MIT
// The C ABI: the same results and the same messages as the C++ API, whatever the caller's struct looks like.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "api/bad_inputs.h"
#include "api/to_c.h"
#include "flashmoe/flashmoe.h"
#include "support/backward_call.h"

namespace flashmoe::test::c_abi_test {
namespace {

// Outputs as they were before any call, and a workspace that fits everything here.
class CAbi : public testing::Test {
 protected:
  flashmoe_status run(const flashmoe_forward_args* call) {
    const Workspace workspace = Workspace::in(space_.data(), space_.size());
    return flashmoe_attention_forward(call, workspace.data, workspace.bytes);
  }
  static bool last_error_has(const std::string& text) {
    return std::string(flashmoe_last_error()).find(text) != std::string::npos;
  }

  Problem problem{good_shape()};
  flashmoe_forward_args args = to_c(problem.args);
  const std::vector<std::byte> untouched = problem.output_bytes();

 private:
  std::vector<std::byte> space_ = std::vector<std::byte>(8 << 20);
};

TEST_F(CAbi, ComputesWhatTheCppApiComputes) {
  for (DType dtype : kDTypes) {
    for (Mask mask : kMasks) {
      Shape shape = good_shape();
      shape.dtype = dtype;
      shape.mask = mask;
      shape.scale = 0.3F;
      shape.threads = 2;
      Problem cpp(shape);
      cpp.run();
      Problem c(shape);
      const flashmoe_forward_args c_args = to_c(c.args);
      size_t bytes = 0;
      ASSERT_EQ(flashmoe_forward_workspace_bytes(&c_args, &bytes), FLASHMOE_OK);
      EXPECT_EQ(bytes, forward_workspace_bytes(cpp.args));
      ASSERT_EQ(run(&c_args), FLASHMOE_OK) << flashmoe_last_error();
      EXPECT_EQ(c.output_bytes(), cpp.output_bytes()) << describe(shape);
    }
  }
}

TEST_F(CAbi, RefusesBadInputWithTheSameMessageAndWritesNothing) {
  for (const BadInput& bad : bad_inputs()) {
    Problem spoilt(good_shape());
    bad.spoil(spoilt.args);
    const flashmoe_forward_args c_args = to_c(spoilt.args);
    EXPECT_EQ(static_cast<int>(run(&c_args)), static_cast<int>(bad.code)) << bad.name;
    for (const std::string& part : bad.says)
      EXPECT_TRUE(last_error_has(part)) << bad.name << "\n" << flashmoe_last_error();
    EXPECT_EQ(spoilt.output_bytes(), untouched) << bad.name;
  }
}

TEST_F(CAbi, WorkspaceThatIsMissing) {
  EXPECT_EQ(flashmoe_attention_forward(&args, nullptr, 0), FLASHMOE_WORKSPACE);
  EXPECT_TRUE(last_error_has("workspace has 0 bytes")) << flashmoe_last_error();
  EXPECT_EQ(problem.output_bytes(), untouched);
}

// Memory for a workspace, given when it is asked for.
struct Giver {
  std::vector<std::byte> space = std::vector<std::byte>(8 << 20);
  std::vector<std::size_t> asked{};
  std::size_t skip = 0;  // bytes past an aligned address
  bool has_any = true;

  static void* give(void* context, std::size_t bytes) {
    auto& self = *static_cast<Giver*>(context);
    self.asked.push_back(bytes);
    auto* aligned = static_cast<std::byte*>(Workspace::in(self.space.data(), self.space.size()).data);
    return self.has_any ? aligned + self.skip : nullptr;
  }
};

TEST_F(CAbi, AsksOnceForTheWorkspaceThatTheQueryNames) {
  for (DType dtype : kDTypes) {
    for (int64_t q_rows : {1, 70}) {
      const Shape shape{.q_rows = q_rows, .kv_rows = 577, .head_dim = 64, .dtype = dtype, .threads = 2};
      Problem expected(shape);
      expected.run();
      Problem given(shape);
      const flashmoe_forward_args c_args = to_c(given.args);
      size_t bytes = 0;
      ASSERT_EQ(flashmoe_forward_workspace_bytes(&c_args, &bytes), FLASHMOE_OK);
      Giver giver;
      ASSERT_EQ(flashmoe_attention_forward_with(&c_args, Giver::give, &giver), FLASHMOE_OK)
          << flashmoe_last_error();
      EXPECT_EQ(giver.asked, std::vector<std::size_t>(bytes == 0 ? 0 : 1, bytes)) << describe(shape);
      EXPECT_EQ(given.output_bytes(), expected.output_bytes()) << describe(shape);
    }
  }
}

TEST_F(CAbi, AsksForNoWorkspaceWhenTheInputIsBad) {
  for (const BadInput& bad : bad_inputs()) {
    Problem spoilt(good_shape());
    bad.spoil(spoilt.args);
    const flashmoe_forward_args c_args = to_c(spoilt.args);
    Giver giver;
    EXPECT_EQ(static_cast<int>(flashmoe_attention_forward_with(&c_args, Giver::give, &giver)),
              static_cast<int>(bad.code))
        << bad.name;
    EXPECT_TRUE(giver.asked.empty()) << bad.name;
    EXPECT_EQ(spoilt.output_bytes(), untouched) << bad.name;
  }
}

TEST_F(CAbi, AWorkspaceThatCantBeGiven) {
  Giver nothing{.has_any = false};
  EXPECT_EQ(flashmoe_attention_forward_with(&args, Giver::give, &nothing), FLASHMOE_WORKSPACE);
  EXPECT_TRUE(last_error_has("no memory for a workspace of " + std::to_string(nothing.asked.at(0))))
      << flashmoe_last_error();
  Giver misaligned{.skip = 8};
  EXPECT_EQ(flashmoe_attention_forward_with(&args, Giver::give, &misaligned), FLASHMOE_WORKSPACE);
  EXPECT_TRUE(last_error_has("workspace starts 8 bytes past a multiple of 64")) << flashmoe_last_error();
  EXPECT_EQ(flashmoe_attention_forward_with(&args, nullptr, nullptr), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("allocate is NULL")) << flashmoe_last_error();
  EXPECT_EQ(problem.output_bytes(), untouched);
  EXPECT_THROW(attention_forward_with(problem.args, {}), Error);
}

TEST_F(CAbi, NullArguments) {
  size_t bytes = 77;
  EXPECT_EQ(run(nullptr), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("args is NULL"));
  EXPECT_EQ(flashmoe_forward_workspace_bytes(nullptr, &bytes), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_EQ(bytes, 77U);
  EXPECT_EQ(flashmoe_forward_workspace_bytes(&args, nullptr), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("bytes is NULL"));
  EXPECT_EQ(flashmoe_explain_forward(&args, nullptr, 10, nullptr), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("text is NULL"));
}

TEST_F(CAbi, StructSizeThatIsTooSmallOrNeverSet) {
  for (size_t size :
       {size_t{0}, size_t{8}, offsetof(flashmoe_forward_args, window) - 1, size_t{1} << 20, ~size_t{0}}) {
    args.struct_size = size;
    EXPECT_EQ(run(&args), FLASHMOE_INVALID_ARGUMENT) << size;
    EXPECT_TRUE(last_error_has("struct_size is " + std::to_string(size))) << flashmoe_last_error();
    EXPECT_EQ(problem.output_bytes(), untouched);
  }
}

TEST_F(CAbi, AProgramBuiltBeforeThereWereWindowsWorks) {
  const flashmoe_window narrow{0, 0};
  args.window = &narrow;
  args.struct_size = offsetof(flashmoe_forward_args, window);
  ASSERT_EQ(run(&args), FLASHMOE_OK) << flashmoe_last_error();
  EXPECT_AGREES_WITH_ORACLE(problem, good_shape());
}

TEST_F(CAbi, AWindowLimitsWhatARowSees) {
  Shape shape = good_shape();
  shape.window = {2, 1};
  Problem limited(shape);
  args = to_c(limited.args);
  const flashmoe_window window{2, 1};
  args.window = &window;
  ASSERT_EQ(run(&args), FLASHMOE_OK) << flashmoe_last_error();
  EXPECT_AGREES_WITH_ORACLE(limited, shape);
}

TEST_F(CAbi, SequencesHaveLengths) {
  Shape shape = good_shape();
  shape.batch = 2;
  shape.q_starts = {0, static_cast<int32_t>(shape.q_rows / 2), static_cast<int32_t>(shape.q_rows)};
  shape.k_starts = {0, static_cast<int32_t>(shape.kv_rows / 3), static_cast<int32_t>(shape.kv_rows)};
  shape.k_used = {1, 2};
  Problem of_lengths(shape);
  args = to_c(of_lengths.args);
  flashmoe_lengths lengths{};
  lengths.q_starts = shape.q_starts.data();
  lengths.k_starts = shape.k_starts.data();
  lengths.k_used = shape.k_used.data();
  lengths.sequences = 2;
  args.lengths = &lengths;
  ASSERT_EQ(run(&args), FLASHMOE_OK) << flashmoe_last_error();
  EXPECT_AGREES_WITH_ORACLE(of_lengths, shape);
}

TEST_F(CAbi, AProgramBuiltBeforeThereWereLengthsWorks) {
  const flashmoe_lengths wrong{};
  args.lengths = &wrong;
  args.struct_size = offsetof(flashmoe_forward_args, lengths);
  ASSERT_EQ(run(&args), FLASHMOE_OK) << flashmoe_last_error();
  EXPECT_AGREES_WITH_ORACLE(problem, good_shape());
}

// A program built against a later header, whose struct has more fields.
struct Later {
  flashmoe_forward_args known;
  int64_t more[4];
};

TEST_F(CAbi, ALaterStructWithItsNewFieldsAtZeroWorks) {
  Later later{args, {}};
  later.known.struct_size = sizeof(later);
  ASSERT_EQ(run(&later.known), FLASHMOE_OK) << flashmoe_last_error();
  EXPECT_AGREES_WITH_ORACLE(problem, good_shape());
}

TEST_F(CAbi, ALaterStructThatUsesItsNewFieldsIsRefused) {
  for (int field = 0; field < 4; ++field) {
    Later later{args, {}};
    later.known.struct_size = sizeof(later);
    later.more[field] = int64_t{1} << 56;  // one byte of it, the last or the first
    EXPECT_EQ(run(&later.known), FLASHMOE_UNSUPPORTED);
    EXPECT_TRUE(last_error_has("fields that this library does not know")) << flashmoe_last_error();
    EXPECT_EQ(problem.output_bytes(), untouched);
  }
}

TEST_F(CAbi, TensorsOfPairsAndTheirGradientsAreThoseOfCpp) {
  Shape shape{.batch = 2, .q_heads = 2, .q_rows = 5, .kv_rows = 9, .head_dim = 8};
  shape.pairs = PairType::fp16;
  shape.pairs_shared = {true, false, false, false};
  BackwardProblem backward(shape);
  const BackwardArgs cpp = arguments_of(backward);
  run_backward(cpp);
  const std::vector<float> expected(cpp.dattn_mask.data, cpp.dattn_mask.data + 2 * 5 * 9);
  backward.poison_gradients();

  flashmoe_pair_tensor mask{};
  mask.data = cpp.scores.attn_mask.data;
  mask.type = FLASHMOE_FP16;
  std::copy_n(cpp.scores.attn_mask.strides.begin(), 4, mask.strides);
  flashmoe_pair_gradient gradient{};
  gradient.data = cpp.dattn_mask.data;
  std::copy_n(cpp.dattn_mask.strides.begin(), 4, gradient.strides);
  flashmoe_scores scores{};
  scores.attn_mask = &mask;
  flashmoe_backward_args c = to_c(cpp);
  c.scores = &scores;
  c.dattn_mask = &gradient;
  std::vector<std::byte> space(backward_workspace_bytes(cpp) + kWorkspaceAlignment);
  const Workspace workspace = Workspace::in(space.data(), space.size());
  ASSERT_EQ(flashmoe_attention_backward(&c, workspace.data, workspace.bytes), FLASHMOE_OK)
      << flashmoe_last_error();
  EXPECT_EQ(backward.disagreement(), "");
  EXPECT_EQ(std::vector<float>(cpp.dattn_mask.data, cpp.dattn_mask.data + 2 * 5 * 9), expected);
  mask.reserved = 1;
  EXPECT_EQ(flashmoe_attention_backward(&c, workspace.data, workspace.bytes), FLASHMOE_UNSUPPORTED);
  EXPECT_TRUE(last_error_has("scores.attn_mask.reserved is 1")) << flashmoe_last_error();
}

TEST_F(CAbi, ReservedFieldsMustBeZero) {
  for (int32_t* reserved : {&args.q.reserved, &args.k.reserved, &args.v.reserved, &args.out.reserved}) {
    *reserved = 5;
    EXPECT_EQ(run(&args), FLASHMOE_UNSUPPORTED);
    EXPECT_TRUE(last_error_has("reserved is 5; it must be 0")) << flashmoe_last_error();
    *reserved = 0;
  }
  EXPECT_EQ(problem.output_bytes(), untouched);
}

TEST_F(CAbi, ProgrammaticLaunchIsZeroOrOneAndMeansNothingToACpu) {
  for (int32_t value : {-1, 2, 256}) {
    args.programmatic_launch = value;
    EXPECT_EQ(run(&args), FLASHMOE_INVALID_ARGUMENT);
    EXPECT_TRUE(last_error_has("programmatic_launch is " + std::to_string(value) + "; accepted are 0 and 1"))
        << flashmoe_last_error();
    EXPECT_EQ(problem.output_bytes(), untouched);
  }
  args.programmatic_launch = 1;
  ASSERT_EQ(run(&args), FLASHMOE_OK) << flashmoe_last_error();
  EXPECT_AGREES_WITH_ORACLE(problem, good_shape());
}

TEST_F(CAbi, ASuccessClearsTheMessage) {
  EXPECT_EQ(run(nullptr), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_STRNE(flashmoe_last_error(), "");
  EXPECT_EQ(run(&args), FLASHMOE_OK);
  EXPECT_STREQ(flashmoe_last_error(), "");
}

TEST_F(CAbi, EachThreadHasItsOwnMessage) {
  args.mask = 41;
  EXPECT_EQ(run(&args), FLASHMOE_INVALID_ARGUMENT);
  std::thread([&] {
    EXPECT_STREQ(flashmoe_last_error(), "");
    flashmoe_forward_args mine = args;
    mine.mask = 42;
    size_t bytes = 0;
    EXPECT_EQ(flashmoe_forward_workspace_bytes(&mine, &bytes), FLASHMOE_INVALID_ARGUMENT);
    EXPECT_TRUE(last_error_has("mask is 42"));
  }).join();
  EXPECT_TRUE(last_error_has("mask is 41"));
}

TEST_F(CAbi, ExplainWritesAsMuchAsFits) {
  size_t needed = 0;
  ASSERT_EQ(flashmoe_explain_forward(&args, nullptr, 0, &needed), FLASHMOE_OK) << flashmoe_last_error();
  ASSERT_GT(needed, 4U);
  std::vector<char> text(needed + 1, '#');
  ASSERT_EQ(flashmoe_explain_forward(&args, text.data(), needed, nullptr), FLASHMOE_OK);
  EXPECT_EQ(std::strlen(text.data()), needed - 1);
  EXPECT_EQ(std::string(text.data()), explain_forward(problem.args));
  EXPECT_EQ(text[needed], '#');
  std::vector<char> start(5, '#');
  ASSERT_EQ(flashmoe_explain_forward(&args, start.data(), 4, nullptr), FLASHMOE_OK);
  EXPECT_EQ(std::string(start.data()), std::string(text.data(), 3));
  EXPECT_EQ(start[4], '#');
}

TEST_F(CAbi, ExplainRefusesWhatForwardRefuses) {
  args.mask = 3;
  char text[8] = "before";
  EXPECT_EQ(flashmoe_explain_forward(&args, text, sizeof(text), nullptr), FLASHMOE_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "before");
}

TEST_F(CAbi, StatusAndEnumValuesMatchTheCppOnes) {
  EXPECT_EQ(FLASHMOE_INVALID_ARGUMENT, static_cast<int>(ErrorCode::invalid_argument));
  EXPECT_EQ(FLASHMOE_UNSUPPORTED, static_cast<int>(ErrorCode::unsupported));
  EXPECT_EQ(FLASHMOE_WORKSPACE, static_cast<int>(ErrorCode::workspace));
  EXPECT_EQ(FLASHMOE_BACKEND, static_cast<int>(ErrorCode::backend));
  EXPECT_EQ(FLASHMOE_FP32, static_cast<int>(DType::fp32));
  EXPECT_EQ(FLASHMOE_FP16, static_cast<int>(DType::fp16));
  EXPECT_EQ(FLASHMOE_BF16, static_cast<int>(DType::bf16));
  EXPECT_EQ(FLASHMOE_MASK_CAUSAL, static_cast<int>(Mask::causal));
  EXPECT_EQ(FLASHMOE_MASK_CAUSAL_TOP_LEFT, static_cast<int>(Mask::causal_top_left));
  EXPECT_EQ(FLASHMOE_DEVICE_CUDA, static_cast<int>(Device::cuda));
  EXPECT_STREQ(flashmoe_version(), version().c_str());
}

}  // namespace
}  // namespace flashmoe::test::c_abi_test
