// SPDX-License-Identifier: MIT
#include "cpu/usable_cores.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace flashmoe::cpu::usable_cores_test {
namespace {

namespace fs = std::filesystem;

// A tree like /sys/fs/cgroup, gone with the test.
class UsableCores : public ::testing::Test {
 protected:
  UsableCores() {
    std::string name = fs::temp_directory_path() / "flashmoe-cgroup-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder at " + name);
    root_ = name;
  }
  ~UsableCores() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  double quota(const std::string& groups) const { return quota_of_groups(groups, root_); }

  fs::path root_;
};

TEST_F(UsableCores, AtLeastOneAndNoMoreThanTheSystemHas) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), sysconf(_SC_NPROCESSORS_CONF));
}

TEST_F(UsableCores, WithoutGroupsThereIsNoQuota) {
  EXPECT_TRUE(std::isinf(quota("")));
  EXPECT_TRUE(std::isinf(quota("0::/\n")));
  EXPECT_TRUE(std::isinf(quota("0::/not/here\n")));
  EXPECT_TRUE(std::isinf(quota("nonsense\n\n:\n")));
}

TEST_F(UsableCores, MaxIsNoQuota) {
  write("job/cpu.max", "max 100000");
  EXPECT_TRUE(std::isinf(quota("0::/job\n")));
}

TEST_F(UsableCores, OfAGroupAndTheOnesAboveItTheLeastCounts) {
  write("cpu.max", "1600000 100000");
  write("slice/cpu.max", "250000 100000");
  write("slice/job/cpu.max", "400000 100000");
  EXPECT_DOUBLE_EQ(quota("0::/slice/job\n"), 2.5);
  EXPECT_DOUBLE_EQ(quota("0::/slice\n"), 2.5);
  EXPECT_DOUBLE_EQ(quota("0::/\n"), 16);
  EXPECT_DOUBLE_EQ(quota("0::/elsewhere\n"), 16);
}

TEST_F(UsableCores, VersionOneHasAFolderForEachController) {
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "150000");
  write("cpu,cpuacct/job/cpu.cfs_period_us", "50000");
  write("cpu,cpuacct/cpu.cfs_quota_us", "-1");
  write("cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(quota("5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/job\n"), 3);
  EXPECT_TRUE(std::isinf(quota("4:cpu,cpuacct:/\n")));
  EXPECT_TRUE(std::isinf(quota("3:cpuset:/job\n")));
}

}  // namespace
}  // namespace flashmoe::cpu::usable_cores_test
