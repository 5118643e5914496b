// SPDX-License-Identifier: MIT
// Control groups: which there are is read from text, for both versions; limits are tried for real where a
// group can be made.
#include "cell/cgroup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/text.h"
#include "cell/cell.h"
#include "ledger/in_child.h"
#include "system/process.h"

namespace dent::cgroup_test {
namespace {

namespace fs = std::filesystem;
constexpr double kLong = 120;  // seconds: far more than anything here takes
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

using Places = std::vector<CgroupPlace>;
const std::vector<std::string> kAll{"memory", "pids", "cpu"};

TEST(OwnCgroups, OfVersion1AreOneForEachController) {
  EXPECT_EQ(own_cgroups("8:pids:/\n4:memory:/jobs/7\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n",
                        "33 25 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
                        "34 33 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
                        "37 33 0:34 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                        "41 33 0:38 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids\n"),
            (Places{{"/sys/fs/cgroup/pids", 1, {"pids"}},
                    {"/sys/fs/cgroup/memory/jobs/7", 1, {"memory"}},
                    {"/sys/fs/cgroup/cpu,cpuacct", 1, {"cpu"}}}));
}

TEST(OwnCgroups, OfVersion2AreAllFromItsOwnUp) {
  EXPECT_EQ(own_cgroups("0::/user.slice/app.slice/term.scope\n",
                        "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"),
            (Places{{"/sys/fs/cgroup/user.slice/app.slice/term.scope", 2, kAll},
                    {"/sys/fs/cgroup/user.slice/app.slice", 2, kAll},
                    {"/sys/fs/cgroup/user.slice", 2, kAll},
                    {"/sys/fs/cgroup", 2, kAll}}));
}

TEST(OwnCgroups, OfAContainerLieBelowWhatItHasMounted) {
  EXPECT_EQ(
      own_cgroups("0::/docker/abc\n", "30 25 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
      (Places{{"/sys/fs/cgroup", 2, kAll}}));
  EXPECT_TRUE(own_cgroups("", "").empty());
}

TEST(CgroupSettings, AreWrittenAsEachVersionWantsThem) {
  const CellLimits limits{.memory_bytes = 512 * kMiB, .processes = 64, .cores = 1.5};
  using Settings = std::vector<CgroupSetting>;
  EXPECT_EQ(cgroup_settings("memory", 1, limits),
            (Settings{{"memory.limit_in_bytes", "536870912"}, {"memory.memsw.limit_in_bytes", "536870912"}}));
  EXPECT_EQ(cgroup_settings("memory", 2, limits),
            (Settings{{"memory.max", "536870912"}, {"memory.swap.max", "0"}}));
  for (const int version : {1, 2})
    EXPECT_EQ(cgroup_settings("pids", version, limits), (Settings{{"pids.max", "64"}}));
  EXPECT_EQ(cgroup_settings("cpu", 1, limits),
            (Settings{{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", "150000"}}));
  EXPECT_EQ(cgroup_settings("cpu", 2, limits), (Settings{{"cpu.max", "150000 100000"}}));
  for (const std::string& controller : kAll) EXPECT_TRUE(cgroup_settings(controller, 1, {}).empty());
}

class CgroupTest : public testing::Test {
 protected:
  const CgroupPlace* place_of(const std::string& controller) {
    for (const CgroupPlace& place : usable_cgroups()) {
      for (const std::string& one : place.controllers) {
        if (one == controller) return &place;
      }
    }
    return nullptr;
  }
  Finished run_within(const CellLimits& limits, const std::string& script) {
    Command command{.argv = {"/bin/sh", "-c", script}, .log = scratch_ / "log"};
    command.limits = make_cgroup(limits, usable_cgroups());
    return run(command, kLong);
  }

  const test::ScratchFolder scratch_;
};

TEST_F(CgroupTest, MemoryIsThatOfAllAndItsEndIsKnown) {
  if (place_of("memory") == nullptr) GTEST_SKIP() << cgroups_in_words();
  const std::string holder = "text=$(head -c 100663296 /dev/zero | tr '\\0' x); echo held";
  EXPECT_EQ(run_within({.memory_bytes = 64 * kMiB}, holder).ending.kind, Ending::Kind::out_of_memory);
  // Files in memory count too, which no look at a process finds.
  EXPECT_FALSE(run_within({.memory_bytes = 64 * kMiB},
                          "head -c 100000000 /dev/zero > /dev/shm/dent-cgroup-test; code=$?; "
                          "rm -f /dev/shm/dent-cgroup-test; exit $code")
                   .ending.clean());
  fs::remove("/dev/shm/dent-cgroup-test");
}

TEST_F(CgroupTest, ProcessesAreCounted) {
  if (place_of("pids") == nullptr) GTEST_SKIP() << cgroups_in_words();
  const std::string bomb = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2 & done; wait";
  EXPECT_TRUE(run_within({.processes = 64}, bomb).ending.clean());
  const Finished bounded = run_within({.processes = 4}, bomb);
  EXPECT_FALSE(bounded.ending.clean());
  EXPECT_NE(bounded.output.find("fork"), std::string::npos) << bounded.output;
}

TEST_F(CgroupTest, CoresAreSetAndTheGroupGoesWithItsLastHolder) {
  const CgroupPlace* place = place_of("cpu");
  if (place == nullptr) GTEST_SKIP() << cgroups_in_words();
  const auto group_of = [&](pid_t process) {
    for (const auto& entry : fs::directory_iterator(place->folder)) {
      if (entry.is_directory() && trimmed(text_of(entry.path() / "cgroup.procs")) == std::to_string(process))
        return entry.path();
    }
    return fs::path();
  };
  fs::path group;
  {
    Command command{.argv = {"/bin/sh", "-c", "exec sleep 1000"}};
    command.limits = make_cgroup({.cores = 0.5}, usable_cgroups());
    Process process(command);
    command.limits.reset();
    group = group_of(process.id());
    ASSERT_TRUE(group.filename().string().starts_with("dent-")) << group;
    EXPECT_EQ(trimmed(text_of(group / (place->version == 1 ? "cpu.cfs_quota_us" : "cpu.max"))).substr(0, 5),
              "50000");
  }
  EXPECT_FALSE(fs::exists(group));
}

TEST_F(CgroupTest, ThatOfADentThatWasKilledIsClearedAwayAndThatOfALiveOneIsNot) {
  if (usable_cgroups().empty()) GTEST_SKIP() << cgroups_in_words();
  CgroupPlace place = usable_cgroups().front();
  place.folder /= "test-" + std::to_string(getpid());  // dents beside this test make groups of their own
  ASSERT_TRUE(fs::create_directory(place.folder));
  if (place.version == 2) {
    for (const std::string& controller : place.controllers)
      std::ofstream(place.folder / "cgroup.subtree_control") << "+" << controller;
  }
  const CellLimits limits{.memory_bytes = 64 * kMiB, .processes = 64, .cores = 1};
  const auto groups = [&] {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(place.folder))
      if (entry.is_directory()) found.push_back(entry.path());
    return found;
  };
  const auto held = make_cgroup(limits, {place});
  const auto live = groups();
  EXPECT_EQ(live.size(), 1U);
  const pid_t child = fork();
  if (child == 0) {
    const auto left = make_cgroup(limits, {place});
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(groups().size(), 2U);
  remove_leftover_cgroups(place.folder);
  EXPECT_EQ(groups(), live);
  for (const fs::path& group : groups()) rmdir(group.c_str());
  rmdir(place.folder.c_str());
}

TEST_F(CgroupTest, WithoutLimitsThereIsNone) { EXPECT_EQ(make_cgroup({}, usable_cgroups()), nullptr); }

}  // namespace
}  // namespace dent::cgroup_test
