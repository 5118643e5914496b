// SPDX-License-Identifier: MIT
// Whatever a kernel does to its process, the parent gets a reply or a failure within the time limit.
#include "workers/worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "cell/bubblewrap.h"
#include "operators/fill.h"

namespace dent::worker_test {
namespace {

constexpr std::int64_t kElements = 37;
constexpr double kSeconds = 20;

protocol::ProblemMessage problem() {
  protocol::ProblemMessage message;
  message.inputs = {{{"x", DType::fp32, {kElements}, {}}, DType::fp32, 0}};
  message.outputs = {{{"y", DType::fp32, {kElements}, {}}, DType::fp32, 0}};
  message.numbers = {{"n", kElements}};
  return message;
}

class Workers : public ::testing::TestWithParam<Sandbox> {
 protected:
  Workers() : pool_("test-inputs", 16384, SharedMemory::Children::only_read) {
    fill({}, DType::fp32, pool_.data(), 4096, 1);
    log_ = std::filesystem::temp_directory_path() / ("dent-worker-test-" + std::to_string(getpid()) + ".log");
    std::filesystem::remove(log_);
  }
  ~Workers() override { std::filesystem::remove(log_); }
  void SetUp() override {
    if (GetParam() != Sandbox::off && !bubblewrap().why_not.empty()) GTEST_SKIP() << bubblewrap().why_not;
  }

  std::unique_ptr<Worker> start(const std::string& entry, std::int64_t memory_bytes = 0,
                                const std::string& set_up = "") {
    WorkerSetup setup;
    setup.argv = {DENT_WORKER};
    setup.load = {.library = DENT_TEST_KERNELS, .entry = entry, .setup = set_up};
    setup.environment = {{"ASAN_OPTIONS", "handle_segv=0"}};  // keeps crashes under ASan
    setup.log = log_;
    setup.memory_bytes = memory_bytes;
    setup.cell = Cell(GetParam());
    setup.view.visible = {DENT_WORKER, DENT_TEST_KERNELS};
    setup.result_bytes = 4096;
    return std::make_unique<Worker>(std::move(setup), pool_);
  }

  Failure failure_of(const std::string& entry, double seconds = kSeconds, std::int64_t memory_bytes = 0) {
    try {
      auto worker = start(entry, memory_bytes);
      double wall_ns = 0;
      worker->set_problem(problem(), kSeconds);
      worker->prepare({{3}}, kSeconds);
      worker->go(seconds, wall_ns);
      worker->keep(0, seconds);
    } catch (const KernelFailed& problem) {
      return problem.failure();
    }
    ADD_FAILURE() << entry << " did not fail";
    return {};
  }

  SharedMemory pool_;
  std::filesystem::path log_;
};

TEST_P(Workers, RunAKernelOnTheWindowThatTheyAreTold) {
  auto worker = start("right");
  double wall_ns = 0;
  worker->set_problem(problem(), kSeconds);
  worker->prepare({{5}, {11}}, kSeconds);
  const auto timed = worker->go(kSeconds, wall_ns);
  EXPECT_EQ(worker->process() == worker->group(), GetParam() == Sandbox::off);
  EXPECT_GT(timed.ns, 0);
  EXPECT_LE(timed.ns, wall_ns);
  const auto kept = worker->keep(1, kSeconds);
  EXPECT_FALSE(kept.late);
  EXPECT_TRUE(kept.inputs.empty());
  EXPECT_TRUE(kept.overruns.empty());
  for (std::size_t i = 0; i < kElements; ++i) {
    EXPECT_EQ(load(DType::fp32, worker->results(), i), 2 * load(DType::fp32, pool_.data(), 11 + i)) << i;
  }
}

TEST_P(Workers, AimEachInputWhenItsCallIsDue) {
  auto worker = start("right");
  double wall_ns = 0;
  auto message = problem();
  message.inputs[0].room = protocol::kRoom;
  worker->set_problem(message, kSeconds);
  std::set<std::size_t> aims;
  for (const std::uint64_t lot : {0U, 7U, 8U}) {
    worker->prepare({{5}, {11}}, kSeconds);
    worker->go(kSeconds, wall_ns, {.lot = lot});
    for (std::size_t call = 0; call < 2; ++call) {
      const auto kept = worker->keep(call, kSeconds);
      EXPECT_TRUE(kept.inputs.empty());
      const std::size_t begin = (call == 0 ? 5 : 11) + protocol::aim(lot, call, 0) / sizeof(float);
      aims.insert(begin);
      for (std::size_t i = 0; i < kElements; ++i) {
        ASSERT_EQ(load(DType::fp32, worker->results(), i), 2 * load(DType::fp32, pool_.data(), begin + i))
            << "lot " << lot << ", call " << call << ", element " << i;
      }
    }
  }
  EXPECT_EQ(aims.size(), 6U);
}

// Two inputs: x from its window, and the constant w.
protocol::ProblemMessage weighted() {
  auto message = problem();
  message.inputs.push_back({{"w", DType::fp32, {kElements}, {}}, DType::fp32, 8192});
  message.inputs[1].tensor.constant = true;
  return message;
}

TEST_P(Workers, SetUpOnceForEachSetOfConstantInputs) {
  auto worker = start("adds_packed", 0, "packs");
  EXPECT_TRUE(worker->loaded().sets_up);
  double wall_ns = 0;
  worker->set_problem(weighted(), kSeconds);
  EXPECT_GT(worker->set_up(kSeconds), 0);
  const auto expect_right = [&](std::size_t offset, double times) {
    worker->prepare({{offset, 0}}, kSeconds);
    worker->go(kSeconds, wall_ns);
    EXPECT_TRUE(worker->keep(0, kSeconds).inputs.empty());
    for (std::size_t i = 0; i + 1 < kElements; ++i) {
      const auto x = static_cast<float>(load(DType::fp32, pool_.data(), offset + i));
      const auto w = static_cast<float>(load(DType::fp32, pool_.data(), 2048 + i));
      ASSERT_EQ(load(DType::fp32, worker->results(), i), x + 4 * w) << i;
    }
    EXPECT_EQ(load(DType::fp32, worker->results(), kElements - 1), times);
  };
  expect_right(5, 1);
  expect_right(11, 1);
  store(DType::fp32, pool_.data(), 2048 + 7, 42);  // changes the weights
  expect_right(5, 2);
  worker->set_problem(weighted(), kSeconds);
  expect_right(5, 3);
}

TEST_P(Workers, WhatASetupWasGivenIsGoneInTheCalls) {
  auto worker = start("reads_what_the_setup_was_given", 0, "packs");
  double wall_ns = 0;
  worker->set_problem(weighted(), kSeconds);
  worker->prepare({{5, 0}}, kSeconds);
  worker->go(kSeconds, wall_ns);
  worker->keep(0, kSeconds);
  for (std::size_t i = 0; i < kElements; ++i)
    EXPECT_TRUE(std::isnan(load(DType::fp32, worker->results(), i))) << i;
}

TEST_P(Workers, SayThatASetupHasFailedOrIsNotThere) {
  const auto failure = [this](const std::string& set_up) -> std::string {
    try {
      auto worker = start("adds_packed", 0, set_up);
      worker->set_problem(weighted(), kSeconds);
      worker->set_up(kSeconds);
    } catch (const KernelFailed& problem) {
      EXPECT_EQ(problem.failure().kind, FailureKind::refused);
      return problem.failure().what;
    }
    return "no failure";
  };
  EXPECT_NE(failure("gives_up").find("the setup returned 3"), std::string::npos) << failure("gives_up");
  EXPECT_NE(failure("absent").find("no function \"absent\""), std::string::npos) << failure("absent");
}

TEST_P(Workers, GiveAnOutputThatIsUpdatedInPlaceItsInputsValues) {
  auto worker = start("in_place");
  double wall_ns = 0;
  auto message = problem();
  message.outputs[0].tensor.updates = 0;
  worker->set_problem(message, kSeconds);
  for (int repeat = 0; repeat < 2; ++repeat) {  // new inputs each time
    worker->prepare({{5}, {11}}, kSeconds);
    worker->go(kSeconds, wall_ns);
    const auto kept = worker->keep(1, kSeconds);
    EXPECT_TRUE(kept.inputs.empty());
    EXPECT_TRUE(kept.overruns.empty());
    for (std::size_t i = 0; i < kElements; ++i) {
      ASSERT_EQ(load(DType::fp32, worker->results(), i), 2 * load(DType::fp32, pool_.data(), 11 + i)) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Workers, ::testing::Values(Sandbox::off, Sandbox::required), [](const auto& one) {
  return std::string(one.param == Sandbox::off ? "InTheOpen" : "InACell");
});

TEST(Protocol, AimsAreAlignedAndSpreadOverTheRoom) {
  std::set<std::size_t> seen;
  for (std::size_t call = 0; call < 1000; ++call) {
    const std::size_t bytes = protocol::aim(1, call, 2);
    EXPECT_EQ(bytes % protocol::kAimBytes, 0U);
    EXPECT_LE(bytes, protocol::kRoom);
    seen.insert(bytes);
  }
  EXPECT_EQ(seen.size(), protocol::kAims);
  EXPECT_EQ(protocol::aim(0, 3, 1), 0U);
}

TEST_P(Workers, CrashIsAResultWithLastWords) {
  const Failure failure = failure_of("crashes");
  EXPECT_EQ(failure.kind, FailureKind::crashed) << failure.what;
  EXPECT_NE(failure.what.find("SIGSEGV"), std::string::npos) << failure.what;
  EXPECT_NE(failure.last_words.find("about to crash"), std::string::npos) << failure.last_words;
}

TEST_P(Workers, HangIsStoppedAtItsTimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  const Failure failure = failure_of("hangs", 0.3);
  EXPECT_EQ(failure.kind, FailureKind::hung) << failure.what;
  EXPECT_NE(failure.last_words.find("about to hang"), std::string::npos) << failure.last_words;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST_P(Workers, EarlyExitIsNoAnswer) {
  const Failure failure = failure_of("leaves");
  EXPECT_EQ(failure.kind, FailureKind::exited) << failure.what;
  EXPECT_NE(failure.what.find("status 0 before it answered"), std::string::npos) << failure.what;
}

TEST_P(Workers, GarbageOnThePipeIsNamed) {
  const Failure failure = failure_of("babbles");
  EXPECT_EQ(failure.kind, FailureKind::garbage) << failure.what;
  EXPECT_NE(failure.what.find("I am a reply"), std::string::npos) << failure.what;
}

TEST_P(Workers, AStatusOtherThanZeroIsARefusal) {
  const Failure failure = failure_of("refuses");
  EXPECT_EQ(failure.kind, FailureKind::refused) << failure.what;
  EXPECT_NE(failure.what.find("returned 7"), std::string::npos) << failure.what;
}

TEST_P(Workers, MemoryIsLimited) {
  const Failure failure = failure_of("hoards", kSeconds, std::int64_t{1} << 29);
  EXPECT_EQ(failure.kind, FailureKind::out_of_memory) << failure.what;
  EXPECT_NE(failure.what.find("512 MiB"), std::string::npos) << failure.what;
}

TEST_P(Workers, AMissingEntryAndAMissingLibraryAreNamed) {
  EXPECT_NE(failure_of("no_such_entry").what.find("no function \"no_such_entry\""), std::string::npos);
  WorkerSetup setup;
  setup.argv = {DENT_WORKER};
  setup.load = {.library = "/no/such/library.so", .entry = "x"};
  setup.log = log_;
  try {
    Worker worker(std::move(setup), pool_);
    FAIL();
  } catch (const KernelFailed& problem) {
    EXPECT_NE(std::string(problem.what()).find("/no/such/library.so"), std::string::npos) << problem.what();
  }
}

TEST_P(Workers, AWriteBeyondTheOutputIsNoticed) {
  auto worker = start("overruns");
  double wall_ns = 0;
  worker->set_problem(problem(), kSeconds);
  worker->prepare({{0}}, kSeconds);
  worker->go(kSeconds, wall_ns);
  EXPECT_EQ(worker->keep(0, kSeconds).overruns, std::vector<std::string>{"y"});
}

}  // namespace
}  // namespace dent::worker_test
