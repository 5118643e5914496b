// SPDX-License-Identifier: MIT
#include "predict/launch_forecast.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "operators/attention.h"

namespace dent::launch_forecast_test {
namespace {

Project attention_project(const std::string& grid, const std::string& block) {
  Project project;
  project.kernel.device = DeviceKind::cuda;
  project.kernel.launch.grid = grid;
  project.kernel.launch.block = block;
  project.kernel.launch.gpu = "L4";
  project.op = attention_forward({.dtype = DType::fp16});
  project.shapes = {{"medium", {{"S", 128}}}, {"large", {{"B", 4}, {"H", 32}, {"S", 2048}}}};
  return project;
}

std::vector<Problem> problems_of(const Project& project) {
  std::vector<Problem> problems;
  for (const Shape& shape : project.shapes) problems.push_back(make_problem(project.op, shape));
  return problems;
}

const std::vector<KernelResources> kKernels{{"attend(float*)", "sm_89", 64, 1024, 0, 0},
                                            {"merge()", "sm_89", 32, 0, 0, 0}};

TEST(LaunchForecast, WarnsWhereFewerCtasThanSmsWork) {
  const Project project = attention_project("ceil(Sq/64), B*H", "256");
  const LaunchForecast found = foresee(project.kernel, problems_of(project), kKernels);
  EXPECT_EQ(found.failure, "");
  EXPECT_NE(found.warning.find("1 of 2 shapes (medium: 2 CTAs on 58 SMs: 3.4 % of the L4 works"),
            std::string::npos)
      << found.warning;
  ASSERT_EQ(found.predictions.size(), 2U);
  EXPECT_EQ(found.predictions[0].shape, "medium");
  EXPECT_EQ(found.predictions[0].ctas, 2);
  EXPECT_EQ(found.predictions[0].block.registers, 64);  // of the kernel with most registers
  EXPECT_EQ(found.predictions[0].block.smem_bytes, 1024);
  EXPECT_EQ(found.predictions[1].ctas, 4096);
  EXPECT_GT(found.predictions[1].work.matrix_flops, 0);
}

TEST(LaunchForecast, ABlockThatTheGpuCannotHoldFailsBeforeALaunch) {
  Project project = attention_project("ceil(Sq/64), B*H", "256");
  project.kernel.launch.smem = "3*64*D*2 + 64*Sq*4";
  const LaunchForecast found = foresee(project.kernel, problems_of(project), kKernels);
  EXPECT_EQ(
      found.failure,
      "shape large: a block of 256 threads can't run on the L4: it requests 549888 bytes of shared memory; "
      "a block may have 101376");
  Project plain = attention_project("", "");
  plain.kernel.launch = {};
  plain.kernel.launch.gpu = "L4";
  EXPECT_NE(foresee(plain.kernel, {}, {{"huge()", "sm_89", 32, 110000, 0, 0}}).failure.find("110000"),
            std::string::npos);
}

TEST(LaunchForecast, AsksFlashmoesDispatchForOurOwnKernels) {
  Project project = attention_project("", "");
  project.kernel.launch.by_flashmoe = true;
  const LaunchForecast found = foresee(project.kernel, problems_of(project), {});
  ASSERT_EQ(found.predictions.size(), 2U);
  EXPECT_EQ(found.predictions[0].kernel, "small_forward");
  EXPECT_EQ(found.predictions[1].kernel, "ampere_forward");
}

TEST(LaunchForecast, SaysNothingWithoutALaunchOrAGpu) {
  Project project = attention_project("", "");
  EXPECT_TRUE(foresee(project.kernel, problems_of(project), kKernels).predictions.empty());
  Project on_cpu = attention_project("1", "32");
  on_cpu.kernel.device = DeviceKind::cpu;
  EXPECT_TRUE(foresee(on_cpu.kernel, problems_of(on_cpu), {}).predictions.empty());
}

TEST(LaunchForecast, WrongExpressionsNameTheShape) {
  for (const char* grid : {"Sq/48", "Sq - 128", "ceil(Sq/64"}) {
    const Project project = attention_project(grid, "256");
    EXPECT_THROW(foresee(project.kernel, problems_of(project), kKernels), Error) << grid;
  }
  Project unknown = attention_project("1", "32");
  unknown.kernel.launch.gpu = "Voodoo";
  EXPECT_THROW(foresee(unknown.kernel, problems_of(unknown), kKernels), Error);
  Project other = attention_project("1", "32");
  other.kernel.launch.kernel = "nobody";
  EXPECT_THROW(foresee(other.kernel, problems_of(other), kKernels), Error);
  const Project with_commas = attention_project("max(B, 2), ceil(Sq/64), H", "32");
  EXPECT_EQ(foresee(with_commas.kernel, problems_of(with_commas), kKernels).predictions[0].ctas, 4);
}

}  // namespace
}  // namespace dent::launch_forecast_test
