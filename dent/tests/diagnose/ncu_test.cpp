// SPDX-License-Identifier: MIT
#include "diagnose/ncu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace dent::ncu_test {
namespace {

constexpr const char* kVersion =
    "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\nVersion "
    "2025.3.1.0 "
    "(build 36398880) (public-release)\n";

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& problem) {
    return problem.what();
  }
  return "no error";
}

TEST(Ncu, KnownVersionsAreTakenAsTheyAre) {
  const NcuTool tool = understand_version("/opt/ncu", kVersion);
  EXPECT_EQ(tool.version, "2025.3.1");
  EXPECT_EQ(tool.note, "");
}

TEST(Ncu, ANewerOneIsTriedWithANote) {
  const NcuTool tool = understand_version("/opt/ncu", "Version 2031.1.0.0 (build 1)");
  EXPECT_NE(tool.note.find("2031.1.0 is newer than"), std::string::npos) << tool.note;
}

TEST(Ncu, AnOldOneAndAStrangerAreRefusedWithTheFix) {
  EXPECT_NE(message_of([] { understand_version("/opt/ncu", "Version 2019.5.0"); }).find("too old"),
            std::string::npos);
  const std::string stranger = message_of([] { understand_version("/bin/true", "hello"); });
  EXPECT_NE(stranger.find("DENT_NCU"), std::string::npos) << stranger;
}

TEST(Ncu, AChosenOneThatCannotRunIsNamed) {
  setenv("DENT_NCU", "/nowhere/ncu", 1);
  const std::string message = message_of([] { find_ncu(); });
  unsetenv("DENT_NCU");
  EXPECT_NE(message.find("/nowhere/ncu"), std::string::npos) << message;
}

TEST(Ncu, AChosenOneIsAskedForItsVersion) {
  const auto program = std::filesystem::temp_directory_path() / ("ncu-" + std::to_string(getpid()));
  std::ofstream(program) << "#!/bin/sh\necho 'Version 2024.2.0.0 (build 7)'\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  setenv("DENT_NCU", program.c_str(), 1);
  const NcuTool tool = find_ncu();
  unsetenv("DENT_NCU");
  std::filesystem::remove(program);
  EXPECT_EQ(tool.version, "2024.2.0");
}

TEST(Ncu, ClocksAreLeftAloneAndOnlyTheCallIsProfiled) {
  const auto words =
      ncu_prefix({"/opt/ncu", "2025.3.1"}, {.arch = 90, .report = "a.ncu-rep", .csv = "a.csv"});
  const auto after = [&words](const char* option) {
    const auto at = std::find(words.begin(), words.end(), option);
    return at == words.end() ? std::string() : *(at + 1);
  };
  EXPECT_EQ(after("--clock-control"), "none");
  EXPECT_EQ(after("--profile-from-start"), "off");
  EXPECT_EQ(after("--export"), "a.ncu-rep");
  EXPECT_NE(after("--metrics").find("launch__grid_size"), std::string::npos);
}

TEST(Ncu, EveryComplaintHasItsFix) {
  struct Case {
    const char* said;
    const char* fix;
    bool no_counters;
  };
  for (const Case& c : {
           Case{"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
                "Performance "
                "Counters on the target device 0.",
                "NVreg_RestrictProfilingToAdminUsers=0", true},
           Case{"==ERROR== Failed to initialize the profiler: LibraryNotLoaded", "direct access", true},
           Case{"==WARNING== No kernels were profiled.\nAvailable Kernels:\n1. fill", "launch a kernel",
                false},
           Case{"==ERROR== Profiling is not supported on this device", "newest CUDA toolkit", true},
       }) {
    const auto trouble = trouble_in(c.said);
    ASSERT_TRUE(trouble.has_value()) << c.said;
    EXPECT_NE(trouble->fix.find(c.fix), std::string::npos) << trouble->fix;
    EXPECT_EQ(trouble->no_counters, c.no_counters);
  }
  EXPECT_FALSE(trouble_in("==PROF== Connected to process 9896").has_value());
}

}  // namespace
}  // namespace dent::ncu_test
