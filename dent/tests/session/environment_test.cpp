// SPDX-License-Identifier: MIT
#include "session/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "ledger/in_child.h"
#include "records/json.h"

namespace dent::environment_test {
namespace {

using test::ScratchFolder;

TEST(Environment, NamesTheMachine) {
  ScratchFolder project;
  const auto environment = environment_snapshot(project.path());
  EXPECT_FALSE(environment.system.empty());
  EXPECT_GE(environment.cpu.cores, 1);
  EXPECT_GT(environment.cpu.memory_bytes, 1 << 20);
  EXPECT_FALSE(environment.git) << "a folder outside of version control has no state of it";
  EXPECT_NO_THROW(to_json_text(environment));
}

TEST(Environment, NumbersOfAGpuAreNumbers) {
  const ScratchFolder scratch;
  const auto tool = scratch / "nvidia-smi";
  std::ofstream(tool) << "#!/bin/sh\necho 'NVIDIA H200, 580.159.04, 143771, 1980, [N/A]'\n";
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ASSERT_EQ(setenv("PATH", (scratch.path().string() + ":" + path).c_str(), 1), 0);
  const auto environment = environment_snapshot(scratch.path());
  setenv("PATH", path.c_str(), 1);
  ASSERT_EQ(environment.gpus.size(), 1U);
  const record::Gpu& gpu = environment.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.driver, "580.159.04");
  EXPECT_EQ(gpu.memory_mib, 143771);
  EXPECT_EQ(gpu.max_clock_mhz, 1980);
  EXPECT_FALSE(gpu.power_limit_w);
}

TEST(Environment, KnowsTheStateOfVersionControlInAFolderWithAnAwkwardName) {
  if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "git is not installed";
  ScratchFolder scratch;
  const auto project = scratch / "it's a folder";
  std::filesystem::create_directory(project);
  ASSERT_EQ(
      std::system(("cd \"" + project.string() +
                   "\" && git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one")
                      .c_str()),
      0);
  const auto clean = environment_snapshot(project);
  ASSERT_TRUE(clean.git);
  EXPECT_EQ(clean.git->commit.size(), 40u);
  EXPECT_EQ(clean.git->dirty, false);
  ASSERT_EQ(std::system(("touch \"" + project.string() + "/new\"").c_str()), 0);
  EXPECT_EQ(environment_snapshot(project).git->dirty, true);
}

}  // namespace
}  // namespace dent::environment_test
