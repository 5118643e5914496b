// SPDX-License-Identifier: MIT
#include "device/spec.h"

#include <gtest/gtest.h>

#include <set>

#include "flashmoe/error.h"

namespace flashmoe::device::spec_test {
namespace {

TEST(DeviceSpec, KnowsGpusByNameAndSaysWhichOnes) {
  EXPECT_EQ(find("L4").sms, 58);
  EXPECT_EQ(find("H200").arch, 90);
  EXPECT_EQ(find("rtx4090").name, "RTX 4090");
  EXPECT_EQ(find("a100-40gb").bandwidth_gbs, 1555);
  EXPECT_EQ(find("H100").name, "H100 SXM");
  EXPECT_EQ(find("A100").name, "A100 80GB");
  try {
    find("Voodoo");
    FAIL() << "found a GPU called Voodoo";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("H200"), std::string::npos);
  }
}

TEST(DeviceSpec, RecognisesWhatDriversCallThem) {
  const auto name = [](const char* driver) {
    const Spec* spec = recognise(driver);
    return spec == nullptr ? std::string("none") : std::string(spec->name);
  };
  EXPECT_EQ(name("NVIDIA H200"), "H200");
  EXPECT_EQ(name("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(name("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(name("NVIDIA A100-SXM4-40GB"), "A100 40GB");
  EXPECT_EQ(name("NVIDIA A100-SXM4-80GB"), "A100 80GB");
  EXPECT_EQ(name("NVIDIA A100 80GB PCIe"), "A100 80GB");
  EXPECT_EQ(name("NVIDIA L40S"), "L40S");
  EXPECT_EQ(name("NVIDIA L4"), "L4");
  EXPECT_EQ(name("NVIDIA A10"), "A10");
  EXPECT_EQ(name("NVIDIA GeForce RTX 4090"), "RTX 4090");
  EXPECT_EQ(name("NVIDIA B200"), "B200");
  // Others of nearly the same name are other GPUs.
  for (const char* other : {"NVIDIA L40", "NVIDIA A10G", "NVIDIA RTX A1000", "NVIDIA GH200 480GB",
                            "NVIDIA H20", "NVIDIA GeForce RTX 4090 D", "Tesla T4", ""}) {
    EXPECT_EQ(name(other), "none") << other;
  }
}

TEST(DeviceSpec, EveryFigureIsThereWithItsSource) {
  std::set<std::string_view> names;
  for (const Spec& spec : known()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name << " twice";
    for (const Entry& entry : entries(spec)) {
      EXPECT_GT(entry.value, 0) << spec.name << " " << entry.name;
      EXPECT_NE(entry.origin, Origin::unknown) << spec.name << " " << entry.name;
      EXPECT_FALSE(entry.source.empty()) << spec.name << " " << entry.name;
    }
  }
}

TEST(DeviceSpec, TellsTheVendorsWordFromOthers) {
  const auto origin = [](const char* gpu, std::string_view figure) -> std::string {
    for (const Entry& entry : entries(find(gpu))) {
      if (entry.name == figure) return name_of(entry.origin);
    }
    return "none";
  };
  EXPECT_EQ(origin("B200", "bandwidth_gbs"), "datasheet");
  EXPECT_EQ(origin("B200", "sms"), "third party");  // no sheet of NVIDIA's has it
  EXPECT_EQ(origin("A10", "l2_bytes"), "third party");
  EXPECT_EQ(origin("A100", "sms"), "datasheet");
  EXPECT_EQ(origin("H200", "sms"), "measured");
}

// Peaks follow from units and clock, so a slip of the pen shows.
TEST(DeviceSpec, PeaksAgreeWithSmsAndClock) {
  for (const Spec& spec : known()) {
    const int fp32_per_clock = spec.arch == 80 ? 128 : 256;  // two for each of 64 or 128 units
    EXPECT_NEAR(fp32_per_clock * spec.sms * spec.boost_mhz * 1e-6 / spec.tflops_fp32, 1, 0.02) << spec.name;
    EXPECT_LT(spec.reached.bandwidth_gbs, spec.bandwidth_gbs);
    EXPECT_LT(spec.reached.tflops_16bit, spec.tflops_16bit);
    EXPECT_GE(spec.tflops_8bit, 2 * spec.tflops_16bit * 0.99) << spec.name;
  }
}

TEST(DeviceSpec, UnknownArchitecturesGetTheLimitsOfTheNextSmallerOne) {
  EXPECT_EQ(limits_of(89).blocks_per_sm, 24);
  EXPECT_EQ(limits_of(101).threads_per_sm, 2048);
  EXPECT_EQ(limits_of(121).smem_per_block, 99 * 1024);
}

}  // namespace
}  // namespace flashmoe::device::spec_test
