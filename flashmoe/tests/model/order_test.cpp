// SPDX-License-Identifier: MIT
// Missing synchronisation must be found whatever the schedule does: every run here uses seed 0 and early
// copies, with which results are right by luck. Correct kernels must not be reported.
#include <gtest/gtest.h>

#include "kernels/on_model.h"
#include "model/on_machine.h"
#include "primitives/barrier.h"
#include "primitives/chunk.h"
#include "primitives/cp_async.h"
#include "primitives/index.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/warp_matrix.h"

namespace flashmoe::test::order_test {
namespace {

struct Words {
  float word[64];
};

constexpr model::Settings kKind{.seed = 0, .copies = model::CopyTime::early};
const gpu::LaunchShape kShape{.kernel = "test", .threads = 64, .smem_bytes = sizeof(Words)};

// Writes its word, reads the word of a thread in another warp or lane, and writes again.
void exchange(float* out, int distance, bool first_sync, bool second_sync, bool only_warp) {
  auto& smem = gpu::shared<Words>();
  const int i = gpu::thread_index();
  const auto sync = [only_warp] { only_warp ? gpu::sync_warp() : gpu::sync_block(); };
  smem.word[i] = 0;
  gpu::sync_block();
  smem.word[i] = 1;
  if (first_sync) sync();
  gpu::store_global(out + i, smem.word[i ^ distance]);
  if (second_sync) sync();
  smem.word[i] = 2;
}

struct OrderTest : testing::Test {
  float out[64] = {};
  std::string run(int distance, bool first, bool second, bool only_warp) {
    return said(&exchange, kShape, kKind, out, distance, first, second, only_warp);
  }
};

TEST_F(OrderTest, RightKernelsAreSilent) {
  EXPECT_EQ(run(32, true, true, false), "");
  EXPECT_EQ(run(1, true, true, true), "");
  EXPECT_EQ(run(0, false, false, false), "");
}

TEST_F(OrderTest, AMissingBarrierBetweenWarpsIsFound) {
  EXPECT_TRUE(contains(run(32, false, true, false), "no barrier between the two"));
  EXPECT_TRUE(contains(run(32, true, false, false), "no barrier between the two"));
  EXPECT_TRUE(
      contains(run(32, true, true, true), "no barrier between the two"));  // a warp barrier is not enough
}

TEST_F(OrderTest, AMissingMeetingOfTheWarpIsFound) {
  EXPECT_TRUE(contains(run(1, false, true, true), "no sync_warp between the two"));
  EXPECT_TRUE(contains(run(1, true, false, true), "no sync_warp between the two"));
}

void unwritten(float* out) { gpu::store_global(out, gpu::shared<Words>().word[5]); }

TEST_F(OrderTest, ReadsOfWhatWasNeverWrittenAreFound) {
  EXPECT_TRUE(contains(said(&unwritten, kShape, kKind, out), "never written"));
}

// Each thread copies 16 bytes, which a thread of the next warp reads.
struct Ring {
  gpu::Chunk chunk[64];
};

enum class Fault { none, no_wait, no_barrier, early_refill };

void pipeline(const gpu::Chunk* from, uint32_t* to, Fault fault) {
  auto& smem = gpu::shared<Ring>();
  const int i = gpu::thread_index();
  smem.chunk[i] = {};
  gpu::sync_block();
  for (int round = 0; round < 3; ++round) {
    gpu::cp_async_16(gpu::shared_address(&smem.chunk[i]), from + i, true);
    gpu::cp_async_commit();
    if (fault != Fault::no_wait) gpu::cp_async_wait<0>();
    if (fault != Fault::no_barrier) gpu::sync_block();
    gpu::store_global(to + i, smem.chunk[i ^ 32].x);
    if (fault != Fault::early_refill) gpu::sync_block();
  }
  gpu::cp_async_wait<0>();
}

TEST_F(OrderTest, PipelinesAreHeldToTheirProtocol) {
  std::vector<gpu::Chunk> from(64);
  std::vector<uint32_t> to(64);
  const gpu::LaunchShape shape{.kernel = "test", .threads = 64, .smem_bytes = sizeof(Ring)};
  const auto run_with = [&](Fault fault) {
    return said(&pipeline, shape, kKind, from.data(), to.data(), fault);
  };
  EXPECT_EQ(run_with(Fault::none), "");
  EXPECT_TRUE(contains(run_with(Fault::no_wait), "may still be filling"));
  EXPECT_TRUE(contains(run_with(Fault::no_barrier), "race"));
  EXPECT_TRUE(contains(run_with(Fault::early_refill), "race"));
}

void overflow() { gpu::shared<Words>().word[64 + gpu::thread_index()] = 1; }

TEST_F(OrderTest, StoresPastSharedMemoryAreFoundAtOnce) {
  EXPECT_TRUE(contains(said(&overflow, kShape, kKind), "outside of the block's 256 bytes"));
}

struct OneBarrier {
  alignas(16) uint64_t barrier;
};

// The first lanes of two warps go through the phases together.
template <bool kWait>
void phases() {
  const uint32_t barrier = gpu::shared_address(&gpu::shared<OneBarrier>().barrier);
  if (gpu::thread_index() == 0) gpu::mbarrier_init(barrier, 2);
  gpu::sync_block();
  if (gpu::lane_index() != 0) return;
  for (uint32_t phase = 0; phase < 3; ++phase) {
    gpu::mbarrier_arrive(barrier);
    if (kWait) gpu::mbarrier_wait(barrier, phase & 1);
  }
}

TEST(Order, AnArrivalThatMayCountForThePhaseBeforeIsReported) {
  const gpu::LaunchShape two_warps{.kernel = "test", .threads = 64, .smem_bytes = sizeof(OneBarrier)};
  for (uint64_t seed : {0, 1, 2}) {
    EXPECT_EQ(said(&phases<true>, two_warps, {.seed = seed}), "");
    EXPECT_TRUE(contains(said(&phases<false>, two_warps, {.seed = seed}), "may count for it a second time"));
  }
}

// --- the library's kernels

TEST(KernelOrder, EveryKernelIsOrderedByItsOwnBarriers) {
  using dispatch::ForwardKernel;
  for (auto [copies, seed] : {std::pair{model::CopyTime::early, 0}, std::pair{model::CopyTime::late, 1}}) {
    for (int64_t head_dim : {40, 64, 96, 128, 192, 256}) {
      for (const auto& [rows, keys] : {std::pair{1, 1}, {20, 200}, {150, 260}, {300, 40}}) {
        for (Layout layout : {Layout::bhsd, Layout::padded}) {
          const Shape shape{.q_heads = 2,
                            .kv_heads = 1,
                            .q_rows = rows,
                            .kv_rows = keys,
                            .head_dim = head_dim,
                            .dtype = DType::fp16,
                            .mask = Mask::causal,
                            .layout = layout};
          const reference::ForwardResult expected = Problem(shape).oracle();
          for (ForwardKernel kernel :
               {ForwardKernel::naive, ForwardKernel::ampere_forward, ForwardKernel::small_forward}) {
            if (kernel == ForwardKernel::small_forward &&
                (head_dim > 128 || keys > 256 || layout == Layout::padded))
              continue;
            // Slow, with one source for all head_dims and layouts: only the least and the most slices of a
            // head.
            if (kernel == ForwardKernel::naive &&
                ((head_dim != 40 && head_dim != 256) || layout == Layout::padded))
              continue;
            Problem problem(shape);
            try {
              run_on_model(problem, {.choice = {.kernel = kernel},
                                     .settings = {.seed = static_cast<uint64_t>(seed), .copies = copies}});
              EXPECT_EQ(problem.disagreement(expected), "") << name_of(kernel) << " " << describe(shape);
            } catch (const model::Failure& failure) {
              ADD_FAILURE() << name_of(kernel) << " " << describe(shape) << ": " << failure.what();
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::order_test
