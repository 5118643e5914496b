// SPDX-License-Identifier: MIT
// Every CUDA rung of dent/examples/attention-ladder, on the model of a GPU against the float64 oracle:
// awkward lengths, several heads, early and late copies, other schedules.
#include "examples/ladder/gpu_on_model.h"
// (the example's own gpu.cuh is skipped: its guard is taken)
#include "attention-ladder/rows16.cuh"

namespace naive {
#define ROWS 64
#include "attention-ladder/naive.cu"
#undef ROWS
}  // namespace naive
namespace split {
#define WARP_ROWS 4
#define KV_SPLITS 1
#include "attention-ladder/split.cu"
#undef WARP_ROWS
#undef KV_SPLITS
}  // namespace split
namespace split_keys {
#define WARP_ROWS 3
#define KV_SPLITS 4
#include "attention-ladder/split.cu"
#undef WARP_ROWS
#undef KV_SPLITS
}  // namespace split_keys
namespace tensor {
#define WARPS 3
#include "attention-ladder/tensor.cu"
#undef WARPS
}  // namespace tensor
namespace async_copies {
#define WARPS 2
#define KEYS 16
#define STAGES 2
#include "attention-ladder/async.cu"
#undef WARPS
#undef KEYS
#undef STAGES
}  // namespace async_copies
namespace async_one_stage {
#define WARPS 3
#define KEYS 32
#define STAGES 1
#include "attention-ladder/async.cu"
#undef WARPS
#undef KEYS
#undef STAGES
}  // namespace async_one_stage
namespace rows8 {
#define WARPS 4
#define KEYS 32
#define STAGES 1
#include "attention-ladder/rows8.cu"
#undef WARPS
#undef KEYS
#undef STAGES
#undef EXACT
}  // namespace rows8
namespace rows8_exact {
#define WARPS 4
#define KEYS 32
#define STAGES 1
#define EXACT 1
#include "attention-ladder/rows8.cu"
#undef WARPS
#undef KEYS
#undef STAGES
#undef EXACT
}  // namespace rows8_exact
namespace rows8_ring {
#define WARPS 1
#define KEYS 16
#define STAGES 3
#include "attention-ladder/rows8.cu"
#undef WARPS
#undef KEYS
#undef STAGES
#undef EXACT
}  // namespace rows8_ring
namespace rows8_many_warps {
#define WARPS 8
#define KEYS 16
#define STAGES 2
#include "attention-ladder/rows8.cu"
#undef WARPS
#undef KEYS
#undef STAGES
#undef EXACT
}  // namespace rows8_many_warps

#include <gtest/gtest.h>

#include "primitives/model/settings.h"
#include "support/problem.h"

namespace flashmoe::test {
namespace {

using Rung = cudaError_t (*)(const void*, const void*, const void*, void*, int, int, int, cudaStream_t);

// The first thing that is wrong, or "".
std::string trouble(Rung rung, const Shape& shape) {
  for (const uint64_t seed : {0, 1}) {
    for (const model::CopyTime copies : {model::CopyTime::late, model::CopyTime::early}) {
      Problem problem(shape);
      problem.args.lse = nullptr;
      model::settings() = {.seed = seed, .copies = copies};
      std::string wrong;
      try {
        const ForwardArgs& args = problem.args;
        rung(args.q.data, args.k.data, args.v.data, args.out.data, static_cast<int>(shape.batch),
             static_cast<int>(shape.q_heads), static_cast<int>(shape.q_rows), nullptr);
        wrong = problem.disagreement();
      } catch (const std::exception& failure) {
        wrong = failure.what();
      }
      if (!wrong.empty()) return describe(shape) + ": " + wrong;
    }
  }
  return "";
}

class LadderRung : public testing::TestWithParam<std::pair<const char*, Rung>> {};

TEST_P(LadderRung, ComputesAttentionOfEveryLength) {
  for (const int64_t rows : {1, 7, 16, 32, 37, 64, 100, 128, 150}) {
    EXPECT_EQ(trouble(GetParam().second, {.q_rows = rows, .kv_rows = rows, .dtype = DType::fp16}), "");
  }
}

TEST_P(LadderRung, ComputesEveryHead) {
  EXPECT_EQ(
      trouble(GetParam().second,
              {.batch = 2, .q_heads = 2, .kv_heads = 2, .q_rows = 33, .kv_rows = 33, .dtype = DType::fp16}),
      "");
}

TEST_P(LadderRung, TakesHugeLogits) {
  EXPECT_EQ(trouble(GetParam().second, {.q_rows = 40, .kv_rows = 40, .dtype = DType::fp16, .spread = 30}),
            "");
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, LadderRung,
    testing::Values(std::pair("Naive", &naive::attention), std::pair("Split", &split::attention),
                    std::pair("SplitKeys", &split_keys::attention), std::pair("Tensor", &tensor::attention),
                    std::pair("Async", &async_copies::attention),
                    std::pair("AsyncOneStage", &async_one_stage::attention),
                    std::pair("Rows8", &rows8::attention), std::pair("Rows8Exact", &rows8_exact::attention),
                    std::pair("Rows8Ring", &rows8_ring::attention),
                    std::pair("Rows8ManyWarps", &rows8_many_warps::attention)),
    [](const auto& rung) { return std::string(rung.param.first); });

}  // namespace
}  // namespace flashmoe::test
