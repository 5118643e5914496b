// SPDX-License-Identifier: MIT
// Our occupancy against the driver's, over thousands of configurations. FLASHMOE_RECORD_OCCUPANCY=FILE keeps
// what the driver said, for machines without a GPU: flashmoe/tests/device/occupancy_h200.txt.
#include "device/occupancy.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "device/probe.h"
#include "gpu/occupancy_kernels.h"
#include "gpu/on_gpu.h"

namespace flashmoe::test::occupancy_test {
namespace {

constexpr int kThreads[] = {1, 32, 33, 64, 96, 128, 160, 192, 256, 257, 320, 384, 512, 640, 768, 1024};

TEST(GpuOccupancy, IsWhatTheDriverSays) {
  SKIP_WITHOUT_GPU();
  const device::Spec here = device::probe();
  const device::Spec limits = device::limits_of(here.arch);
  EXPECT_EQ(limits.smem_per_sm, here.smem_per_sm);
  EXPECT_EQ(limits.smem_per_block, here.smem_per_block);
  EXPECT_EQ(limits.threads_per_sm, here.threads_per_sm);
  EXPECT_EQ(limits.blocks_per_sm, here.blocks_per_sm);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  const char* path = std::getenv("FLASHMOE_RECORD_OCCUPANCY");
  std::ofstream record;
  if (path != nullptr) record.open(path);
  record << "# What cudaOccupancyMaxActiveBlocksPerMultiprocessor says on a GPU; written by "
            "flashmoe/tests/gpu/occupancy_test.cpp\n"
         << "# gpu " << properties.name << "\n# arch " << here.arch
         << "\n# registers static_smem threads dynamic_smem blocks\n";
  int compared = 0;
  for (const void* kernel : occupancy_kernels()) {
    cudaFuncAttributes attributes{};
    check_cuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    EXPECT_EQ(attributes.localSizeBytes, 0U) << "a kernel of this test spills";
    const auto fixed = static_cast<int>(attributes.sharedSizeBytes);
    const int most = here.smem_per_block - fixed;
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
               "cudaFuncSetAttribute");
    for (const int threads : kThreads) {
      for (int step = 0; step < 11; ++step) {
        // Odd sizes on the way from nothing to everything.
        const int dynamic = step == 10 ? most : step * step * most / 100 + (step > 0 ? step % 3 : 0);
        int blocks = -1;
        check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads,
                                                                 static_cast<std::size_t>(dynamic)),
                   "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        record << attributes.numRegs << ' ' << fixed << ' ' << threads << ' ' << dynamic << ' ' << blocks
               << '\n';
        const device::Occupancy ours = device::occupancy(
            here, {.threads = threads, .registers = attributes.numRegs, .smem_bytes = fixed + dynamic});
        EXPECT_EQ(ours.blocks, blocks) << "registers " << attributes.numRegs << " static " << fixed
                                       << " threads " << threads << " dynamic " << dynamic;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 2000);
}

}  // namespace
}  // namespace flashmoe::test::occupancy_test
