// SPDX-License-Identifier: MIT
#include "device/spec.h"

#include <gtest/gtest.h>

#include "flashmoe/error.h"

namespace flashmoe::device {
namespace {

TEST(DeviceSpec, KnowsGpusByNameAndSaysWhichOnes) {
  EXPECT_EQ(find("L4").sms, 58);
  EXPECT_EQ(find("H200").arch, 90);
  try {
    find("Voodoo");
    FAIL() << "found a GPU called Voodoo";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("H200"), std::string::npos);
  }
}

// Figures from the occupancy tables of the CUDA programming guide.
TEST(DeviceSpec, OccupancyIsLimitedByWhateverRunsOutFirst) {
  const Spec& h200 = find("H200");
  EXPECT_EQ(blocks_per_sm(h200, 128, 32, 0), 16);         // threads
  EXPECT_EQ(blocks_per_sm(h200, 32, 16, 0), 32);          // blocks
  EXPECT_EQ(blocks_per_sm(h200, 128, 255, 0), 2);         // registers
  EXPECT_EQ(blocks_per_sm(h200, 128, 32, 64 * 1024), 3);  // shared memory
  EXPECT_EQ(blocks_per_sm(find("L4"), 128, 32, 99 * 1024), 1);
  EXPECT_EQ(blocks_per_sm(find("L4"), 1024, 32, 0), 1);  // 1,536 threads per SM
}

}  // namespace
}  // namespace flashmoe::device
