// SPDX-License-Identifier: MIT
// Rules that the model enforces under every schedule: one broken kernel for each rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/on_machine.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/chunk.h"
#include "primitives/control.h"
#include "primitives/cp_async.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "primitives/warp_matrix.h"

namespace flashmoe::test::machine_test {
namespace {

struct Tile {
  gpu::Chunk chunk[64];
};

gpu::LaunchShape shape(int threads, int smem = sizeof(Tile), unsigned blocks = 1) {
  return {.kernel = "test", .blocks = blocks, .threads = threads, .smem_bytes = smem};
}

// --- results of primitives

void index_kernel(int* out) {
  const int at = static_cast<int>(gpu::block_index()) * 64 + gpu::thread_index();
  gpu::store_global(out + at, 100 * gpu::warp_index() + gpu::lane_index());
}

TEST(Machine, EveryThreadOfEveryBlockRunsOnce) {
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<int> out(192, -1);
    EXPECT_EQ(said(&index_kernel, shape(64, 0, 3), {.seed = seed}, out.data()), "");
    for (int i = 0; i < 192; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 100 * (i % 64 / 32) + i % 32);
  }
}

void shuffle_kernel(float* out) {
  const int lane = gpu::lane_index();
  gpu::store_global(out + lane, gpu::shuffle_xor(static_cast<float>(lane), 5));
  gpu::store_global(out + 32 + lane, gpu::shuffle(static_cast<float>(lane), 7));
  gpu::store_global(out + 64 + lane, gpu::any_lane(lane == 9) ? 1.0F : 0.0F);
  gpu::store_global(out + 96 + lane, gpu::any_lane(lane == 99) ? 1.0F : 0.0F);
}

TEST(Machine, ShufflesAndVotesReachTheRightLanes) {
  std::vector<float> out(128);
  EXPECT_EQ(said(&shuffle_kernel, shape(32), {}, out.data()), "");
  for (std::size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], static_cast<float>(lane ^ 5U));
    EXPECT_EQ(out[32 + lane], 7.0F);
    EXPECT_EQ(out[64 + lane], 1.0F);
    EXPECT_EQ(out[96 + lane], 0.0F);
  }
}

// A 16x16 times 16x8 product with the documented fragment layout, through shared memory and ldmatrix.
template <class T>
void product_kernel(const T* a, const T* b, float* c) {
  auto& tile = gpu::shared<Tile>();
  auto* elements = reinterpret_cast<T*>(tile.chunk);
  const int lane = gpu::lane_index();
  for (int i = lane; i < 256; i += 32) elements[i] = gpu::load_global(a + i);        // [16][16]
  for (int i = lane; i < 128; i += 32) elements[256 + i] = gpu::load_global(b + i);  // [16][8]
  gpu::sync_warp();
  uint32_t fa[4];
  uint32_t fb[4];
  gpu::ldmatrix_x4(fa, gpu::shared_address(elements + lane % 16 * 16 + lane / 16 * 8));
  gpu::ldmatrix_x4_trans(fb, gpu::shared_address(elements + 256 + lane % 16 * 8));
  float sum[4] = {1, 1, 1, 1};
  gpu::mma_m16n8k16<T>(sum, fa, fb[0], fb[1]);
  for (int i = 0; i < 4; ++i) {
    gpu::store_global(c + (lane / 4 + i / 2 * 8) * 8 + 2 * (lane % 4) + i % 2, sum[i]);
  }
}

template <class T>
void check_product() {
  std::vector<T> a(256);
  std::vector<T> b(128);
  for (std::size_t i = 0; i < 256; ++i) a[i] = from_float<T>(static_cast<float>(i % 13) - 6);
  for (std::size_t i = 0; i < 128; ++i) b[i] = from_float<T>(static_cast<float>(i % 7) * 0.5F - 1);
  std::vector<float> c(128, -99);
  ASSERT_EQ(said(&product_kernel<T>, shape(32), {}, a.data(), b.data(), c.data()), "");
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t n = 0; n < 8; ++n) {
      float expected = 1;
      for (std::size_t k = 0; k < 16; ++k) expected += to_float(a[row * 16 + k]) * to_float(b[k * 8 + n]);
      EXPECT_EQ(c[row * 8 + n], expected) << row << ", " << n;
    }
  }
}

TEST(Machine, MatrixFragmentsLieWhereTheManualSays) {
  check_product<fp16>();
  check_product<bf16>();
}

TEST(Machine, TheFastExponentialFlushesSubnormals) {
  EXPECT_EQ(gpu::ex2(-INFINITY), 0.0F);
  EXPECT_EQ(gpu::ex2(-126.0F), 0x1p-126F);
  EXPECT_EQ(gpu::ex2(-127.0F), 0.0F);
  EXPECT_TRUE(std::isnan(gpu::ex2(NAN)));
}

// --- copies

enum class Copies { right, no_wait, no_commit, waits_for_too_few, misaligned, out_of_bounds };

void copy_kernel(const float* from, float* to, Copies fault) {
  auto& tile = gpu::shared<Tile>();
  const int lane = gpu::lane_index();
  const float* source =
      from + 4 * lane + (fault == Copies::misaligned ? 1 : 0) + (fault == Copies::out_of_bounds ? 4 : 0);
  gpu::cp_async_16(gpu::shared_address(&tile.chunk[lane]), source, lane % 4 != 1);
  if (fault != Copies::no_commit) gpu::cp_async_commit();
  if (fault == Copies::waits_for_too_few) gpu::cp_async_wait<1>();
  if (fault == Copies::right || fault == Copies::no_commit) gpu::cp_async_wait<0>();
  gpu::sync_warp();
  const float* values = reinterpret_cast<const float*>(&tile.chunk[31 - lane]);
  for (int i = 0; i < 4; ++i) gpu::store_global(to + 4 * lane + i, values[i]);
  if (fault == Copies::waits_for_too_few) gpu::cp_async_wait<0>();
}

struct CopyTest : testing::Test {
  std::vector<float> from = std::vector<float>(128);
  std::vector<float> to = std::vector<float>(128, -1);
  void SetUp() override {
    for (std::size_t i = 0; i < 128; ++i) from[i] = static_cast<float>(i);
    model::allow_memory("from", from.data(), 512, false);
    model::allow_memory("to", to.data(), 512, true);
  }
  void TearDown() override { model::forget_memory(); }
  std::string run(Copies fault, model::CopyTime time = model::CopyTime::late) {
    return said(&copy_kernel, shape(32), {.copies = time}, from.data(), to.data(), fault);
  }
};

TEST_F(CopyTest, BringDataAndZeros) {
  for (model::CopyTime time : {model::CopyTime::late, model::CopyTime::early}) {
    EXPECT_EQ(run(Copies::right, time), "");
    for (std::size_t i = 0; i < 128; ++i) {
      const std::size_t chunk = 31 - i / 4;
      EXPECT_EQ(to[i], chunk % 4 == 1 ? 0.0F : static_cast<float>(4 * chunk + i % 4));
    }
  }
}

TEST_F(CopyTest, ThatAreReadTooSoonGiveNaN) {
  EXPECT_EQ(run(Copies::waits_for_too_few), "");
  EXPECT_TRUE(std::any_of(to.begin(), to.end(), [](float x) { return std::isnan(x); }));
}

TEST_F(CopyTest, ThatNobodyWaitsForAreReported) {
  EXPECT_TRUE(contains(run(Copies::no_wait), "never waited for"));
}

TEST_F(CopyTest, ThatWereNotCommittedAreReported) {
  EXPECT_TRUE(contains(run(Copies::no_commit), "never committed"));
}

TEST_F(CopyTest, FromBadAddressesAreReported) {
  EXPECT_TRUE(contains(run(Copies::misaligned), "not a multiple of 16"));
  EXPECT_TRUE(contains(run(Copies::out_of_bounds), "outside of every tensor"));
}

// --- stores, loads and shared memory

void store_kernel(float* to, int at) { gpu::store_global(to + at, 1.0F); }

TEST(Machine, StoresOutsideOfATensorAreReportedWithThreadAndLine) {
  std::vector<float> memory(10);
  model::allow_memory("out", memory.data() + 2, 16, true);
  model::allow_memory("in", memory.data() + 6, 16, false);
  EXPECT_EQ(said(&store_kernel, shape(1), {}, memory.data(), 5), "");
  const std::string past = said(&store_kernel, shape(1), {}, memory.data(), 1);
  EXPECT_TRUE(contains(past, "offset -4 from the begin of out"));
  EXPECT_TRUE(contains(past, "flashmoe/tests/model/machine_test.cpp:"));
  EXPECT_TRUE(contains(past, "thread 0"));
  EXPECT_TRUE(contains(said(&store_kernel, shape(1), {}, memory.data(), 6), "may not be written"));
  model::forget_memory();
}

void wild_kernel(int at) {
  auto& tile = gpu::shared<Tile>();
  uint32_t fragment[4];
  gpu::ldmatrix_x4(fragment, gpu::shared_address(&tile) + static_cast<uint32_t>(at));
}

TEST(Machine, SharedAddressesOutsideOrAskewAreReported) {
  EXPECT_EQ(said(&wild_kernel, shape(32), {}, 0), "");
  EXPECT_TRUE(contains(said(&wild_kernel, shape(32), {}, 1024), "outside of the block's 1024 bytes"));
  EXPECT_TRUE(contains(said(&wild_kernel, shape(32), {}, -16), "outside of the block's 1024 bytes"));
  EXPECT_TRUE(contains(said(&wild_kernel, shape(32), {}, 8), "not a multiple of 16"));
}

TEST(Machine, ALaunchWithTooLittleSharedMemoryIsReported) {
  EXPECT_TRUE(contains(said(&wild_kernel, shape(32, 1008), {}, 0), "the launch asked for 1008"));
}

#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer would end the program at the store
void overflow_kernel() {
  auto* bytes = reinterpret_cast<volatile unsigned char*>(&gpu::shared<Tile>());
  bytes[sizeof(Tile) + 3] = 1;
}

TEST(Machine, PlainStoresPastSharedMemoryAreNoticed) {
  EXPECT_TRUE(contains(said(&overflow_kernel, shape(1), {}), "3 bytes past its end"));
}
#endif

void poison_kernel(float* out) { gpu::store_global(out, *reinterpret_cast<float*>(&gpu::shared<Tile>())); }

TEST(Machine, SharedMemoryBeginsAsNaN) {
  float out = 0;
  said(&poison_kernel, shape(1), {}, &out);
  EXPECT_TRUE(std::isnan(out));
}

// --- barriers and warp-wide operations

void lonely_kernel() {
  if (gpu::warp_index() == 1) gpu::sync_block();
}

TEST(Machine, ADeadlockPrintsWhoWaitsForWhat) {
  const std::string text = said(&lonely_kernel, shape(64), {});
  EXPECT_TRUE(contains(text, "deadlock"));
  EXPECT_TRUE(contains(text, "0  0xffffffff  nothing: it has ended"));
  EXPECT_TRUE(contains(text, "1  0xffffffff  sync_block at flashmoe/tests/model/machine_test.cpp:"));
  EXPECT_TRUE(contains(text, "32 of 64 threads"));
  EXPECT_TRUE(contains(text, "seed 0"));
}

void divergent_kernel(float* out) {
  const float x = gpu::lane_index() < 16 ? gpu::shuffle_xor(1.0F, 1) : gpu::shuffle(1.0F, 0);
  gpu::store_global(out, x);
}

TEST(Machine, ADivergedWarpIsReported) {
  float out = 0;
  EXPECT_TRUE(contains(said(&divergent_kernel, shape(32), {}, &out), "diverged"));
}

void leaving_kernel() {
  if (gpu::lane_index() == 3) return;
  gpu::sync_warp();
}

TEST(Machine, LanesThatLeaveBeforeAMeetingAreReported) {
  for (uint64_t seed : {0, 1, 2, 3}) EXPECT_NE(said(&leaving_kernel, shape(32), {.seed = seed}), "") << seed;
}

template <bool kWaits>
void overlapping_kernel(float* out) {
  if (kWaits) gpu::griddepcontrol_wait();
  gpu::store_global(out + gpu::lane_index(), 1.0F);
  gpu::griddepcontrol_launch_dependents();
}

TEST(Machine, AProgrammaticLaunchWaitsBeforeItTouchesGlobalMemory) {
  float out[32];
  gpu::LaunchShape programmatic = shape(32);
  programmatic.programmatic = true;
  EXPECT_EQ(said(&overlapping_kernel<true>, programmatic, {}, out), "");
  EXPECT_EQ(said(&overlapping_kernel<false>, shape(32), {}, out), "");
  EXPECT_TRUE(contains(said(&overlapping_kernel<false>, programmatic, {}, out),
                       "the kernel before this one may still run"));
}

TEST(Machine, AFailureDoesNotSpoilTheNextRun) {
  float out[128];
  EXPECT_NE(said(&lonely_kernel, shape(64), {}), "");
  EXPECT_EQ(said(&shuffle_kernel, shape(32), {}, out), "");
}

}  // namespace
}  // namespace flashmoe::test::machine_test
