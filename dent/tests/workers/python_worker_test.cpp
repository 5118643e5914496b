// SPDX-License-Identifier: MIT
// Who is blamed when the worker for Python functions raises an exception.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "operators/fill.h"
#include "workers/resources.h"
#include "workers/worker.h"

namespace dent::python_worker_test {
namespace {

constexpr double kSeconds = 60;

// `broken` makes the worker's own code raise, as a bug in it would.
constexpr const char* kModule = R"(
import math

import dent_copies

DENT_FRAMEWORK = "numpy"

def right(x):
    return 2 * x

def raises(x):
    return x[math.nan]

def broken(x):
    dent_copies.Copies.same_bits = None
    return 2 * x
)";

class PythonWorker : public ::testing::Test {
 protected:
  PythonWorker() : pool_("test-inputs", 16384, SharedMemory::Children::only_read) {
    fill({}, DType::fp32, pool_.data(), 4096, 1);
    folder_ = std::filesystem::temp_directory_path() / ("dent-python-worker-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "kernels.py") << kModule;
  }
  ~PythonWorker() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    const std::string command = "'" + python() + "' -c 'import numpy' >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << python() << " can't import numpy";
  }

  std::string python() const { return find_python(folder_, ""); }

  void run(const std::string& function, Role role) {
    WorkerSetup setup;
    setup.role = role;
    setup.argv = {python(), "-u", DENT_PYTHON_WORKER};
    setup.load = {.function = "kernels:" + function};
    setup.environment = {{"PYTHONDONTWRITEBYTECODE", "1"}};
    setup.directory = folder_;
    setup.log = folder_ / "log";
    setup.result_bytes = 4096;
    Worker worker(std::move(setup), pool_);
    protocol::ProblemMessage problem;
    problem.inputs = {{{"x", DType::fp32, {37}, {}}, DType::fp32, 0}};
    problem.outputs = {{{"y", DType::fp32, {37}, {}}, DType::fp32, 0}};
    double wall_ns = 0;
    worker.set_problem(problem, kSeconds);
    worker.prepare({{3}}, kSeconds);
    worker.go(kSeconds, wall_ns);
    worker.keep(0, kSeconds);
  }

  SharedMemory pool_;
  std::filesystem::path folder_;
};

TEST_F(PythonWorker, ControlAFunctionThatIsRightPasses) { EXPECT_NO_THROW(run("right", Role::baseline)); }

TEST_F(PythonWorker, TheirFolderHasNoNumpyForUs) {
  std::ofstream(folder_ / "numpy.py") << "raise ImportError('theirs')\n";
  EXPECT_NO_THROW(run("right", Role::candidate));
}

TEST_F(PythonWorker, WhatTheFunctionRaisesIsItsOwnFault) {
  for (Role role : {Role::candidate, Role::baseline, Role::reference}) {
    try {
      run("raises", role);
      ADD_FAILURE() << "nothing was raised";
    } catch (const KernelFailed& failed) {
      EXPECT_EQ(failed.failure().kind, FailureKind::refused);
      EXPECT_EQ(failed.failure().role, role);
      EXPECT_NE(failed.failure().what.find("IndexError"), std::string::npos) << failed.failure().what;
      EXPECT_EQ(failed.failure().what.find("dent's own worker"), std::string::npos) << failed.failure().what;
    }
  }
}

TEST_F(PythonWorker, AMistakeOfOursIsNotTheBaselinesFault) {
  for (Role role : {Role::baseline, Role::reference}) {
    try {
      run("broken", role);
      ADD_FAILURE() << "nothing was raised";
    } catch (const Error& problem) {
      EXPECT_EQ(problem.code(), ErrorCode::internal);
      EXPECT_NE(std::string(problem.what()).find("dent's own worker failed: TypeError"), std::string::npos)
          << problem.what();
    }
  }
}

// A candidate can break dent's worker code. That ends its own trial, not the session.
TEST_F(PythonWorker, ACandidateDoesNotEndTheSessionByBreakingItsWorker) {
  try {
    run("broken", Role::candidate);
    ADD_FAILURE() << "nothing was raised";
  } catch (const KernelFailed& failed) {
    EXPECT_EQ(failed.failure().kind, FailureKind::refused);
    EXPECT_NE(failed.failure().what.find("dent's own worker failed"), std::string::npos)
        << failed.failure().what;
  }
}

// Workers run in their own folders, so paths must be absolute.
TEST(FindPython, APathIsWhole) {
  const char* before = std::getenv("DENT_PYTHON");
  const std::string kept = before != nullptr ? before : "";
  setenv("DENT_PYTHON", "env/bin/python", 1);
  EXPECT_EQ(find_python("/project", ""), (std::filesystem::current_path() / "env/bin/python").string());
  EXPECT_EQ(find_python("/project", "env/bin/python"), "/project/env/bin/python");
  setenv("DENT_PYTHON", "python3.11", 1);
  EXPECT_EQ(find_python("/project", ""), "python3.11");
  before != nullptr ? setenv("DENT_PYTHON", kept.c_str(), 1) : unsetenv("DENT_PYTHON");
}

}  // namespace
}  // namespace dent::python_worker_test
