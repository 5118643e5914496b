// SPDX-License-Identifier: MIT
// The AMX kernel against the oracle: with emulated tiles on every machine, and on hardware tiles where they
// are.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cpu/amx_attend-inl.h"
#include "cpu/amx_kernel.h"
#include "cpu/combine.h"
#include "support/dice.h"
#include "support/problem.h"

namespace flashmoe::test::amx::amx_bf16_test {
namespace {

using cpu::Task;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Cut {
  int64_t rows = 1 << 20;  // packed rows of a task
  int64_t keys = 1 << 20;  // keys of a split
};

std::vector<const cpu::Kernel*> kernels() {
  static constexpr cpu::Kernel emulated{.name = "emulated",
                                        .reason = "under test",
                                        .attend = cpu::amx::attend<cpu::amx::EmulatedTiles>,
                                        .scratch_bytes = cpu::amx::scratch_bytes,
                                        .panel_rows = 32,
                                        .packing_rows = 0};
  std::vector<const cpu::Kernel*> all{&emulated};
  if (cpu::amx_bf16_kernel() != nullptr) all.push_back(cpu::amx_bf16_kernel());
  return all;
}

// Every task in scratch of exactly the size that the kernel asks for, filled with NaN patterns.
void run_task(const cpu::Kernel& kernel, Task task) {
  const std::size_t bytes = kernel.scratch_bytes(*task.problem, task.row_end - task.row_begin);
  const std::unique_ptr<std::byte[], void (*)(std::byte*)> scratch(
      static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})),
      [](std::byte* p) { ::operator delete[](p, std::align_val_t{64}); });
  std::memset(scratch.get(), 0xFF, bytes);
  task.scratch = scratch.get();
  kernel.attend(task);
}

void run_split(const cpu::Kernel& kernel, Task task, int64_t keys) {
  const int64_t rows = task.row_end - task.row_begin;
  const int64_t kv_rows = task.problem->kv_rows;
  const int64_t splits = (kv_rows + keys - 1) / keys;
  std::vector<float> out(static_cast<std::size_t>(splits * rows * task.problem->head_dim), kNaN);
  std::vector<float> max(static_cast<std::size_t>(splits * rows), kNaN);
  std::vector<float> sum = max;
  for (int64_t split = 0; split < splits; ++split) {
    task.kv_begin = split * keys;
    task.kv_end = std::min(kv_rows, task.kv_begin + keys);
    task.partial_out = out.data() + split * rows * task.problem->head_dim;
    task.partial_max = max.data() + split * rows;
    task.partial_sum = sum.data() + split * rows;
    run_task(kernel, task);
  }
  combine_splits(task, splits, out.data(), max.data(), sum.data());
}

void run_kernel(const cpu::Kernel& kernel, Problem& data, Cut cut = {}) {
  const ForwardProblem& p = data.problem;
  const auto element = [](const Tensor& t, int64_t b, int64_t h) {
    return static_cast<bf16*>(t.data) + b * t.strides[0] + h * t.strides[1];
  };
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.kv_heads; ++h) {
      const int64_t q_head = h * p.group();
      const int64_t rows = p.group() * p.q_rows;
      for (int64_t row = 0; row < rows; row += cut.rows) {
        Task task{};
        task.problem = &p;
        task.q = element(data.args.q, b, q_head);
        task.q_head_stride = data.args.q.strides[1];
        task.q_row_stride = data.args.q.strides[2];
        task.k = element(data.args.k, b, h);
        task.k_row_stride = data.args.k.strides[2];
        task.v = element(data.args.v, b, h);
        task.v_row_stride = data.args.v.strides[2];
        task.out = element(data.args.out, b, q_head);
        task.out_head_stride = data.args.out.strides[1];
        task.out_row_stride = data.args.out.strides[2];
        if (data.args.lse != nullptr) task.lse = data.args.lse + (b * p.q_heads + q_head) * p.q_rows;
        task.lse_head_stride = p.q_rows;
        task.row_begin = row;
        task.row_end = std::min(rows, row + cut.rows);
        task.kv_end = p.kv_rows;
        if (cut.keys < p.kv_rows) {
          run_split(kernel, task, cut.keys);
        } else {
          run_task(kernel, task);
        }
      }
    }
  }
}

void expect_right(Shape shape, Cut cut = {}) {
  shape.dtype = DType::bf16;
  for (const cpu::Kernel* kernel : kernels()) {
    Problem data(shape);
    run_kernel(*kernel, data, cut);
    EXPECT_AGREES_WITH_ORACLE(data, shape)
        << ", " << kernel->name << ", tasks of " << cut.rows << " rows and " << cut.keys << " keys";
  }
}

// With values planted by `plant` before the run.
template <class Plant>
void expect_right_with(Shape shape, Plant plant, Cut cut = {}) {
  shape.dtype = DType::bf16;
  for (const cpu::Kernel* kernel : kernels()) {
    Problem data(shape);
    plant(data);
    run_kernel(*kernel, data, cut);
    EXPECT_AGREES_WITH_ORACLE(data, shape) << ", " << kernel->name;
  }
}

TEST(AmxBf16, RunsOnHardwareTilesHere) {
  if (cpu::amx_bf16_kernel() == nullptr)
    GTEST_SKIP() << "no AMX tiles here: the other tests use emulated ones";
  EXPECT_STREQ(kernels().back()->name, "tiled bf16 on AMX");
}

TEST(AmxBf16, AgreesOnSizesAroundTileEdges) {
  for (const int64_t rows : {1, 15, 16, 17, 31, 32, 33, 65}) {
    for (const int64_t keys : {1, 15, 16, 17, 31, 32, 33, 127, 128, 129, 300}) {
      expect_right({.q_rows = rows, .kv_rows = keys, .head_dim = 64});
      expect_right({.q_rows = rows, .kv_rows = keys, .head_dim = 40, .mask = Mask::causal});
    }
  }
}

TEST(AmxBf16, AgreesOnEveryHeadDimension) {
  for (int64_t dim = 1; dim <= 256; dim += dim < 70 ? 1 : 31) {
    expect_right({.q_rows = 19, .kv_rows = 43, .head_dim = dim, .layout = Layout::padded});
  }
  expect_right({.q_rows = 40, .kv_rows = 300, .head_dim = 256});
}

TEST(AmxBf16, AgreesUnderCausalMasks) {
  for (const Mask mask : {Mask::causal, Mask::causal_top_left}) {
    for (const int64_t rows : {1, 37, 129, 300}) {
      for (const int64_t keys : {1, 37, 129, 300}) {
        expect_right(
            {.q_heads = 3, .kv_heads = 1, .q_rows = rows, .kv_rows = keys, .head_dim = 32, .mask = mask});
      }
    }
  }
}

TEST(AmxBf16, AgreesUnderWindows) {
  for (const Window window : {Window{0, 0}, Window{5, 3}, Window{100, 0}, Window{130, 70},
                              Window{40, Window::kUnlimited}, Window{Window::kUnlimited, 9}}) {
    for (const int64_t rows : {1, 37, 300}) {
      for (const int64_t keys : {1, 37, 129, 500}) {
        for (const Mask mask : {Mask::none, Mask::causal_top_left}) {
          const Shape shape{
              .q_heads = 2, .q_rows = rows, .kv_rows = keys, .head_dim = 32, .mask = mask, .window = window};
          expect_right(shape);
          expect_right(shape, {.rows = 100, .keys = 150});
        }
      }
    }
  }
}

TEST(AmxBf16, AgreesOnManyRowsOfOneTask) {
  expect_right({.q_rows = 1100, .kv_rows = 150, .head_dim = 32});
  expect_right({.q_rows = 600, .kv_rows = 600, .head_dim = 64, .mask = Mask::causal});
}

TEST(AmxBf16, AgreesWhenRowsAndKeysAreSplit) {
  const Shape shape{
      .batch = 2, .q_heads = 4, .kv_heads = 2, .q_rows = 50, .kv_rows = 333, .mask = Mask::causal};
  expect_right(shape, {.rows = 23});
  expect_right(shape, {.rows = 64, .keys = 100});
  expect_right({.q_heads = 8, .kv_heads = 2, .q_rows = 1, .kv_rows = 577, .head_dim = 128}, {.keys = 130});
  // Keys in front of the diagonal of some rows, behind that of others: a split may be empty for a row.
  expect_right({.q_rows = 90, .kv_rows = 70, .head_dim = 24, .mask = Mask::causal}, {.rows = 40, .keys = 32});
}

TEST(AmxBf16, AgreesOnHugeLogits) {
  for (const float spread : {10.0F, 40.0F, 100.0F}) {
    expect_right({.q_rows = 70, .kv_rows = 400, .head_dim = 64, .mask = Mask::causal, .spread = spread});
  }
}

TEST(AmxBf16, RaisesTheBaseInEveryBlock) {
  // Scores that grow by 10 from block to block, in one panel and in several.
  for (const int64_t rows : {20, 100}) {
    expect_right_with({.q_rows = rows, .kv_rows = 700, .head_dim = 8}, [](Problem& data) {
      for (int64_t i = 0; i < data.problem.q_rows; ++i) data.set(data.args.q, 0, 0, i, 0, 16.0F);
      for (int64_t j = 0; j < data.problem.kv_rows; ++j) {
        data.set(data.args.k, 0, 0, j, 0, static_cast<float>(j) / 32.0F);
      }
    });
  }
}

TEST(AmxBf16, AgreesOnAnyScale) {
  for (const float scale : {-0.3F, 0.0F, 1.7F, -1e-3F}) {
    expect_right_with({.q_rows = 45, .kv_rows = 200, .head_dim = 33, .mask = Mask::causal},
                      [&](Problem& data) {
                        data.args.scale = scale;
                        data.problem.scale = scale;
                      });
  }
}

TEST(AmxBf16, NaNAndInfinityInQAndKBehaveAsDocumented) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    for (const float value : {kNaN, kInfinity, -kInfinity}) {
      const Shape shape{
          .q_heads = 2, .kv_heads = 1, .q_rows = 40, .kv_rows = 300, .head_dim = 64, .mask = mask};
      expect_right_with(shape, [&](Problem& data) { data.set(data.args.q, 0, 1, 21, 5, value); });
      for (const int64_t key : {3, 270, 299}) {
        expect_right_with(shape, [&](Problem& data) { data.set(data.args.k, 0, 0, key, 5, value); });
        expect_right_with(shape, [&](Problem& data) { data.set(data.args.k, 0, 0, key, 5, value); },
                          {.keys = 128});
      }
    }
  }
}

// Judged here, not by the oracle's bounds: those are infinite where a logit is.
TEST(AmxBf16, ScoresOfMinusInfinityWeighNothing) {
  for (const cpu::Kernel* kernel : kernels()) {
    Problem data({.q_rows = 20, .kv_rows = 150, .head_dim = 16, .dtype = DType::bf16});
    for (int64_t i = 0; i < 20; ++i) data.set(data.args.q, 0, 0, i, 0, 1.0F);
    for (int64_t j = 0; j < 140; ++j) data.set(data.args.k, 0, 0, j, 0, -kInfinity);
    for (int64_t j = 140; j < 150; ++j) data.set(data.args.v, 0, 0, j, 7, 2.0F);
    run_kernel(*kernel, data);
    for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(data.out(0, 0, i, 7), 2.0F) << kernel->name << ", row " << i;
  }
}

TEST(AmxBf16, RowsOfNothingButMinusInfinityGiveZerosAndLseMinusInfinity) {
  for (const cpu::Kernel* kernel : kernels()) {
    for (const int64_t keys : {150, 40}) {
      Problem data({.q_rows = 5, .kv_rows = 150, .head_dim = 16, .dtype = DType::bf16});
      for (int64_t i = 0; i < 5; ++i) data.set(data.args.q, 0, 0, i, 0, 1.0F);
      for (int64_t j = 0; j < 150; ++j) data.set(data.args.k, 0, 0, j, 0, -kInfinity);
      run_kernel(*kernel, data, {.keys = keys});
      for (int64_t i = 0; i < 5; ++i) {
        for (int64_t d = 0; d < 16; ++d) EXPECT_EQ(data.out(0, 0, i, d), 0.0F) << kernel->name;
        EXPECT_EQ(data.lse(0, 0, i), -kInfinity) << kernel->name;
      }
    }
  }
}

TEST(AmxBf16, ValuesThatAreNotFiniteReachOnlyRowsThatSeeThem) {
  for (const float value : {kNaN, kInfinity}) {
    for (const int64_t key : {0, 50, 140, 199}) {
      for (const Mask mask : {Mask::none, Mask::causal}) {
        for (const Window window : {Window{}, Window{60, 9}}) {
          expect_right_with({.q_rows = 200, .kv_rows = 200, .head_dim = 64, .mask = mask, .window = window},
                            [&](Problem& data) { data.set(data.args.v, 0, 0, key, 37, value); });
        }
      }
    }
  }
}

TEST(AmxBf16, AgreesWithoutLse) {
  expect_right_with({.q_rows = 20, .kv_rows = 50}, [](Problem& data) { data.args.lse = nullptr; });
}

TEST(AmxBf16, AgreesOnRandomShapes) {
  std::mt19937_64 random(20240607);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const uint64_t cases = number_from("FLASHMOE_SWEEP", 200);
  for (uint64_t i = 0; i < cases; ++i) {
    const int64_t kv_heads = pick(1, 2);
    const Shape shape{.batch = pick(1, 2),
                      .q_heads = kv_heads * pick(1, 3),
                      .kv_heads = kv_heads,
                      .q_rows = pick(1, 3) == 1 ? pick(1, 8) : pick(1, 140),
                      .kv_rows = pick(1, 300),
                      .head_dim = pick(1, 4) == 1 ? pick(1, 256) : 32 * pick(1, 4),
                      .mask = static_cast<Mask>(pick(0, 2)),
                      .layout = static_cast<Layout>(pick(0, 2)),
                      .spread = pick(1, 4) == 1 ? 10.0F : 1.0F,
                      .seed = random()};
    expect_right(shape, {.rows = pick(1, 200), .keys = pick(1, 3) == 1 ? pick(20, 200) : 1 << 20});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace flashmoe::test::amx::amx_bf16_test
