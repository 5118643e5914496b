// SPDX-License-Identifier: MIT
#include "device/occupancy.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#if __has_include(<cuda_occupancy.h>)
#define HAVE_CUDA_OCCUPANCY
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#endif

namespace flashmoe::device::occupancy_test {
namespace {

// Figures by hand from the occupancy tables of the CUDA programming guide.
TEST(Occupancy, IsLimitedByWhateverRunsOutFirst) {
  const Spec& h200 = find("H200");
  EXPECT_EQ(blocks_per_sm(h200, 128, 32, 0), 16);         // warps
  EXPECT_EQ(blocks_per_sm(h200, 32, 16, 0), 32);          // blocks
  EXPECT_EQ(blocks_per_sm(h200, 128, 255, 0), 2);         // registers
  EXPECT_EQ(blocks_per_sm(h200, 128, 32, 64 * 1024), 3);  // shared memory
  EXPECT_EQ(blocks_per_sm(find("L4"), 128, 32, 99 * 1024), 1);
  EXPECT_EQ(blocks_per_sm(find("L4"), 1024, 32, 0), 1);  // 1,536 threads per SM
  EXPECT_EQ(occupancy(h200, {128, 32, 0}).limiter,
            Limiter::registers);  // as many by warps: the first is named
  EXPECT_EQ(occupancy(h200, {128, 24, 0}).limiter, Limiter::warps);
  EXPECT_EQ(occupancy(h200, {32, 16, 0}).limiter, Limiter::blocks);
  EXPECT_EQ(occupancy(h200, {128, 255, 0}).limiter, Limiter::registers);
  EXPECT_EQ(occupancy(h200, {128, 32, 64 * 1024}).limiter, Limiter::smem);
  EXPECT_EQ(occupancy(h200, {.threads = 32, .registers = 16, .smem_bytes = 0, .barriers = 16}).limiter,
            Limiter::barriers);
}

// 3 warps of 168 registers: 5,376 registers each, 3 of them in a partition of 16,384, 12 in an SM, so 4
// blocks. By registers alone, 65,536 / (3 * 5,376) = 4.06 would be the same; at 5 warps it is 2 and not 2.4.
TEST(Occupancy, RegistersAreGivenToWarpsWithinAPartition) {
  const Spec& a100 = find("A100");
  EXPECT_EQ(blocks_per_sm(a100, 96, 168, 0), 4);
  EXPECT_EQ(blocks_per_sm(a100, 160, 168, 0), 2);
  EXPECT_EQ(blocks_per_sm(a100, 1024, 64, 0), 1);
  EXPECT_EQ(blocks_per_sm(a100, 1024, 65, 0), 0);  // 72 a thread after rounding: the launch fails
  // 257 threads are 9 warps, counted as 12 when a launch is checked.
  EXPECT_EQ(blocks_per_sm(a100, 257, 168, 0), 1);
  EXPECT_EQ(blocks_per_sm(a100, 257, 176, 0), 0);
}

TEST(Occupancy, SharedMemoryTakesAKilobyteMoreInStepsOf128Bytes) {
  const Spec& l4 = find("L4");
  EXPECT_EQ(blocks_per_sm(l4, 128, 32, 24 * 1024), 4);                     // 25 KB each
  EXPECT_EQ(blocks_per_sm(l4, 128, 32, 24 * 1024 + 1), 3);                 // 25.125 KB
  EXPECT_EQ(blocks_per_sm(l4, 128, 32, 99 * 1024 + 1), 0);                 // more than a block may have
  EXPECT_EQ(blocks_per_sm(l4, 128, 32, 100 * 1024 / 24 - 1024 - 42), 12);  // by warps
}

TEST(Occupancy, ShareIsOfTheWarpsThatAnSmHolds) {
  const Occupancy found = occupancy(find("L4"), {.threads = 256, .registers = 128, .smem_bytes = 0});
  EXPECT_EQ(found.blocks, 2);
  EXPECT_EQ(found.warps, 16);
  EXPECT_DOUBLE_EQ(found.share, 16.0 / 48);
}

#ifdef HAVE_CUDA_OCCUPANCY
// The toolkit's own calculator, which needs no GPU.
TEST(Occupancy, AgreesWithTheToolkitsCalculator) {
  int compared = 0;
  for (const Spec& spec : known()) {
    cudaOccDeviceProp properties{};
    properties.computeMajor = spec.arch / 10;
    properties.computeMinor = spec.arch % 10;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = spec.threads_per_sm;
    properties.regsPerBlock = properties.regsPerMultiprocessor = Spec::registers_per_sm;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * 1024;
    properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(spec.smem_per_sm);
    properties.numSms = spec.sms;
    properties.sharedMemPerBlockOptin = static_cast<std::size_t>(spec.smem_per_block);
    properties.reservedSharedMemPerBlock = 1024;
    cudaOccDeviceState state{};
    for (int threads = 1; threads <= 1024; threads += 31) {
      for (int registers = 16; registers <= 255; registers += 7) {
        for (int smem = 0; smem <= spec.smem_per_block; smem += 5001) {
          for (const int barriers : {1, 7, 16}) {
            cudaOccFuncAttributes attributes{};
            attributes.maxThreadsPerBlock = 1024;
            attributes.numRegs = registers;
            attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
            attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(spec.smem_per_block);
            attributes.numBlockBarriers = barriers;
            cudaOccResult result{};
            ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                              threads, static_cast<std::size_t>(smem)),
                      CUDA_OCC_SUCCESS);
            const Occupancy found = occupancy(spec, {threads, registers, smem, barriers});
            ASSERT_EQ(found.blocks, result.activeBlocksPerMultiprocessor)
                << spec.name << " threads " << threads << " registers " << registers << " smem " << smem
                << " barriers " << barriers;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 100000);
}
#endif

// Recorded on a GPU by flashmoe/tests/gpu/occupancy_test.cpp: what
// cudaOccupancyMaxActiveBlocksPerMultiprocessor says.
TEST(Occupancy, AgreesWithTheDriverAsRecorded) {
  std::ifstream file(OCCUPANCY_FIXTURE);
  ASSERT_TRUE(file) << "no recording at " << OCCUPANCY_FIXTURE
                    << "; make gpu-test writes one: build/occupancy.txt";
  std::string line;
  int compared = 0, arch = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    if (line.empty() || line[0] == '#') {
      std::string hash, key;
      if (words >> hash >> key && key == "arch") words >> arch;
      continue;
    }
    int registers = 0, static_smem = 0, threads = 0, dynamic_smem = 0, blocks = -1;
    ASSERT_TRUE(words >> registers >> static_smem >> threads >> dynamic_smem >> blocks) << line;
    ASSERT_GT(arch, 0) << "the recording does not say on which architecture";
    const Occupancy found = occupancy(limits_of(arch), {threads, registers, static_smem + dynamic_smem});
    ASSERT_EQ(found.blocks, blocks) << line;
    ++compared;
  }
  EXPECT_GE(compared, 2000);
}

}  // namespace
}  // namespace flashmoe::device::occupancy_test
