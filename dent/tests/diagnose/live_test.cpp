// SPDX-License-Identifier: MIT
// Profiles every planted bottleneck on this machine's GPU with the command line of the profile gate.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "diagnose/diagnosis.h"
#include "diagnose/ncu.h"
#include "diagnose/ncu_metrics.h"
#include "diagnose/profile.h"
#include "system/capture.h"
#include "system/process.h"

namespace dent::live_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

int arch_here() {
  const auto told = capture({"nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"}, 10);
  int major = 0, minor = 0;
  if (!told || std::sscanf(told->c_str(), "%d.%d", &major, &minor) != 2) return 0;
  return 10 * major + minor;
}

// ncu's output for a program's launches; stored in DENT_RECORD's folder, if set.
std::string profiled(const NcuTool& tool, int arch, const std::vector<std::string>& program,
                     const std::string& name) {
  const char* keep = std::getenv("DENT_RECORD");
  const fs::path folder =
      keep != nullptr ? fs::path(keep) : fs::temp_directory_path() / ("live" + std::to_string(getpid()));
  fs::create_directories(folder);
  const NcuRequest request{.arch = arch,
                           .report = folder / (name + ".ncu-rep"),
                           .csv = folder / (name + ".csv"),
                           .most_launches = 64};
  std::vector<std::string> command = ncu_prefix(tool, request);
  command.insert(command.end(), program.begin(), program.end());
  const Finished finished = run({.argv = command, .log = folder / (name + ".log")}, 300);
  EXPECT_TRUE(finished.ending.clean()) << finished.output << text_of(request.csv);
  std::printf("%s: %.1f s\n", name.c_str(), finished.seconds);
  std::string csv = text_of(request.csv);
  if (csv.find("\"Kernel Name\"") == std::string::npos) {
    std::printf("%s: no CSV beside the report; importing it\n", name.c_str());
    run({.argv = ncu_import(tool, request.report), .log = request.csv}, 60);
    csv = text_of(request.csv);
  }
  if (keep == nullptr) fs::remove_all(folder);
  return csv;
}

// Profiles every kernel of a program that lists its kernels with their bottlenecks; stores the output as
// `recording`.
void expect_all_named(const std::vector<std::string>& program, const std::string& recording,
                      std::size_t at_least) {
  const int arch = arch_here();
  if (arch == 0) GTEST_SKIP() << "no GPU that nvidia-smi knows";
  NcuTool tool;
  try {
    tool = find_ncu();
  } catch (const Error& problem) {
    GTEST_SKIP() << problem.what();
  }
  const auto with = [&program](const char* option) {
    std::vector<std::string> command = program;
    command.emplace_back(option);
    return command;
  };
  std::map<std::string, std::string> expected;
  const auto told = capture(with("--list"), 60);
  if (!told) GTEST_SKIP() << program.front() << " can't list the kernels";
  std::istringstream list(*told);
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string name, bottleneck, more;
    if (words >> name >> bottleneck && !(words >> more)) expected["planted_" + name] = bottleneck;
  }
  ASSERT_GE(expected.size(), at_least);

  const std::string csv = profiled(tool, arch, with("--all"), recording);
  const auto trouble = trouble_in(csv);
  if (trouble && trouble->no_counters) GTEST_SKIP() << trouble->what << "; " << trouble->fix;
  const Tree tree = load_tree(std::string(DENT_TREES) + "/gpu.toml");
  std::size_t seen = 0;
  for (const ProfiledLaunch& launch : parse_ncu_csv(csv).launches) {
    const std::string name = short_name(launch.kernel);
    const Diagnosis diagnosis = diagnose(tree, quantities_of(launch));
    std::printf("%-32s %-18s %s\n", name.c_str(), diagnosis.bottleneck.c_str(),
                (diagnosis.says + diagnosis.refusal).c_str());
    EXPECT_EQ(absent_metrics(launch, arch), std::vector<std::string>{}) << name;
    EXPECT_EQ(diagnosis.bottleneck, expected[name]) << name;
    ++seen;
  }
  EXPECT_EQ(seen, expected.size());
}

TEST(Live, EveryPlantedBottleneckIsNamedRightly) {
  expect_all_named({DENT_BOTTLENECKS_PROGRAM}, "planted", 50);
}

TEST(Live, EveryPlantedBottleneckInTritonIsNamedRightly) {
  const char* python = std::getenv("DENT_PYTHON");
  const std::vector<std::string> program{python != nullptr ? python : "python3", DENT_TRITON_PROGRAM};
  if (!capture({program[0], "-c", "import torch, triton; torch.zeros(1, device='cuda')"}, 120)) {
    GTEST_SKIP() << program[0] << " has no Triton, or sees no GPU; DENT_PYTHON names another Python";
  }
  expect_all_named(program, "triton", 7);
}

TEST(Live, OurOwnKernelsGetAnAnswer) {
  const int arch = arch_here();
  if (arch == 0) GTEST_SKIP() << "no GPU that nvidia-smi knows";
  if (arch != 90) GTEST_SKIP() << "one of them is for Hopper";
  NcuTool tool;
  try {
    tool = find_ncu();
  } catch (const Error& problem) {
    GTEST_SKIP() << problem.what();
  }
  const std::string csv = profiled(tool, arch, {DENT_ATTENTION_PROGRAM}, "attention");
  const auto trouble = trouble_in(csv);
  if (trouble && trouble->no_counters) GTEST_SKIP() << trouble->what;
  const Tree tree = load_tree(std::string(DENT_TREES) + "/gpu.toml");
  for (const ProfiledLaunch& launch : parse_ncu_csv(csv).launches) {
    const Diagnosis diagnosis = diagnose(tree, quantities_of(launch));
    std::printf("%-30s %-16s %s\n", short_name(launch.kernel).c_str(), diagnosis.bottleneck.c_str(),
                (diagnosis.says + diagnosis.refusal).c_str());
    EXPECT_FALSE(diagnosis.refused()) << diagnosis.refusal;
  }
}

}  // namespace
}  // namespace dent::live_test
