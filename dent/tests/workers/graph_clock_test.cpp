// SPDX-License-Identifier: MIT
// The GPU's second clock, on the model of a driver: it reads correct times, and no call gains time for work
// that it has not done.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "operators/fill.h"
#include "workers/input_pool.h"
#include "workers/model_gpu/times.h"
#include "workers/worker.h"

namespace dent::graph_clock_test {
namespace {

using namespace test;

constexpr std::int64_t kElements = 37;
constexpr double kSeconds = 20;
constexpr double kEventsFloor = kLaunchNs + kEventNs;

class GraphClock : public ::testing::Test {
 protected:
  GraphClock() : pool_("test-inputs", 16384, SharedMemory::Children::only_read) {
    fill({}, DType::fp32, pool_.data(), 4096, 1);
    log_ = std::filesystem::temp_directory_path() / ("dent-graph-test-" + std::to_string(getpid()) + ".log");
  }
  ~GraphClock() override { std::filesystem::remove(log_); }

  void start(const std::string& entry, bool flush = true, const std::string& set_up = "") {
    WorkerSetup setup;
    setup.argv = {DENT_WORKER};
    setup.load = {.library = DENT_GPU_KERNELS, .entry = entry, .setup = set_up, .device = DeviceKind::cuda};
    setup.environment = {{"LD_LIBRARY_PATH", DENT_GPU_DRIVER}};
    setup.log = log_;
    setup.result_bytes = 4096;
    worker_ = std::make_unique<Worker>(std::move(setup), pool_);
    protocol::ProblemMessage message;
    message.inputs = {{{"x", DType::fp32, {kElements}, {}}, DType::fp32, 0}};
    message.inputs[0].part = part_;
    message.outputs = {{{"y", DType::fp32, {kElements}, {}}, DType::fp32, 0}};
    message.numbers = {{"n", kElements}};
    message.flush = flush;
    if (!set_up.empty()) {
      message.inputs.push_back({{"w", DType::fp32, {kElements}, {}}, DType::fp32, 8192});
      message.inputs[1].tensor.constant = true;
    }
    worker_->set_problem(message, kSeconds);
  }

  protocol::Timed timed(std::size_t calls, bool in_graph = true) {
    offsets_.clear();
    for (std::size_t c = 0; c < calls; ++c) offsets_.push_back({next_ = (next_ + 5) % 4000});
    worker_->prepare(offsets_, kSeconds);
    double wall_ns = 0;
    return worker_->go(kSeconds, wall_ns, {.in_graph = in_graph});
  }

  // Number of calls with wrong outputs; -1 if an output changed after its call.
  int wrong_calls() {
    int wrong = 0;
    for (std::size_t c = 0; c < offsets_.size(); ++c) {
      if (worker_->keep(c, kSeconds).late) return -1;
      bool right = true;
      for (std::size_t i = 0; i < kElements; ++i) {
        const double expected = 2 * load(DType::fp32, pool_.data(), offsets_[c][0] + i);
        right = right && load(DType::fp32, worker_->results(), i) == expected;  // false for NaN
      }
      wrong += right ? 0 : 1;
    }
    return wrong;
  }

  SharedMemory pool_;
  std::size_t part_ = 4096;
  std::filesystem::path log_;
  std::unique_ptr<Worker> worker_;
  std::vector<protocol::Offsets> offsets_;
  std::size_t next_ = 0;
};

TEST_F(GraphClock, ReadsAKernelWithoutWhatEventsCost) {
  start("honest");
  const auto in_graph = timed(12);
  EXPECT_EQ(in_graph.clock, TimedBy::graph);
  EXPECT_NEAR(in_graph.ns, 12 * (kKernelNs + kNodeNs), 12);
  EXPECT_NEAR(in_graph.floor_ns, kNodeNs, 1);
  EXPECT_EQ(in_graph.not_captured, "");
  EXPECT_EQ(wrong_calls(), 0);
  const auto by_events = timed(12, false);
  EXPECT_EQ(by_events.clock, TimedBy::events);
  EXPECT_NEAR(by_events.ns, 12 * (kKernelNs + kEventsFloor), 12);
  EXPECT_NEAR(by_events.floor_ns, kEventsFloor, 1);
  EXPECT_GT(by_events.host_ns, 0);
  EXPECT_EQ(wrong_calls(), 0);
}

TEST_F(GraphClock, APartOfThePoolIsKeptUntilTheNextProblemIfItStays) {
  for (const bool stays : {true, false}) {
    part_ = stays ? 4096 : 0;
    start("honest");
    for (const bool in_graph : {true, false}) {
      fill({}, DType::fp32, pool_.data(), 4096, 2);
      timed(3, in_graph);
      EXPECT_EQ(wrong_calls(), 0);
      fill({}, DType::fp32, pool_.data(), 4096, 3);
      timed(3, in_graph);
      EXPECT_EQ(wrong_calls(), stays ? 3 : 0);
    }
  }
}

TEST(Parts, AreKeptUnlessTheyAreLarge) {
  Problem problem;
  problem.inputs = {{"x", DType::fp32, {1000}, {}}, {"w", DType::fp32, {50}, {}}};
  problem.inputs[1].constant = true;
  protocol::ProblemMessage message;
  message.inputs.resize(2);
  keep_parts(problem, message);
  EXPECT_GT(message.inputs[0].part, 1000U);  // includes all possible window offsets
  EXPECT_EQ(message.inputs[1].part, 50U);
  problem.inputs[0].sizes = {std::int64_t{1} << 30};
  message.inputs = std::vector<protocol::TensorPlace>(2);
  keep_parts(problem, message);
  EXPECT_EQ(message.inputs[0].part, 0U);
  EXPECT_EQ(message.inputs[1].part, 0U);
}

TEST_F(GraphClock, WhatASetupQueuesIsDoneBeforeTheCallsAndInNoTimeOfTheirs) {
  start("doubles_again", true, "doubles");
  EXPECT_GT(worker_->set_up(kSeconds), 0);
  for (const bool in_graph : {true, false}) {
    worker_->prepare({{5, 0}, {11, 0}}, kSeconds);
    double wall_ns = 0;
    const auto timed = worker_->go(kSeconds, wall_ns, {.in_graph = in_graph});
    EXPECT_NEAR(timed.ns, 2 * (kKernelNs + (in_graph ? kNodeNs : kEventsFloor)), 2);
    for (std::size_t call = 0; call < 2; ++call) {
      worker_->keep(call, kSeconds);
      for (std::size_t i = 0; i < kElements; ++i) {
        const double w = load(DType::fp32, pool_.data(), 2048 + i);
        ASSERT_EQ(load(DType::fp32, worker_->results(), i), 4 * w) << call << ", " << i;
      }
    }
  }
}

TEST_F(GraphClock, ReadsTheSameForFewCallsAndForMany) {
  start("honest");
  EXPECT_NEAR(timed(1).ns, kKernelNs + kNodeNs, 1);
  EXPECT_NEAR(timed(100).ns / 100, kKernelNs + kNodeNs, 1);
}

TEST_F(GraphClock, WarmCallsAreInGraphsThatTheCacheHolds) {
  start("honest", false);  // a cache of 1 MiB, and 296 bytes per call: more than one graph
  EXPECT_NEAR(timed(2000).ns / 2000, kKernelNs + kNodeNs, 1);
  EXPECT_EQ(wrong_calls(), 0);
}

TEST_F(GraphClock, CallsThatQueueNothingLeaveTheirOutputsUnwritten) {
  start("queues_nothing");
  EXPECT_EQ(timed(6).clock, TimedBy::graph);
  EXPECT_EQ(wrong_calls(), 6);
}

TEST_F(GraphClock, ResultsOfEarlierCallsAtTheSamePlaceAreNoResults) {
  start("remembers_by_pointer");
  timed(6);
  EXPECT_EQ(wrong_calls(), 0);
  timed(6);
  EXPECT_EQ(wrong_calls(), 6);
}

TEST_F(GraphClock, WorkOnAnotherStreamSeesNoInputsAndIsOverwritten) {
  start("works_on_another_stream");
  timed(6);
  EXPECT_NE(wrong_calls(), 0);
}

TEST_F(GraphClock, WorkThatIsLeftBehindIsNotInAGraph) {
  start("leaves_work_behind");
  const auto by_events = timed(6);
  EXPECT_EQ(by_events.clock, TimedBy::events);
  EXPECT_NE(by_events.not_captured.find("904"), std::string::npos) << by_events.not_captured;
}

TEST_F(GraphClock, CallsThatWaitForTheGpuAreTimedByEventsAndRight) {
  start("waits_for_the_gpu");
  const auto by_events = timed(6);
  EXPECT_EQ(by_events.clock, TimedBy::events);
  EXPECT_NE(by_events.not_captured, "");
  EXPECT_NEAR(by_events.ns, 6 * (kKernelNs + kEventsFloor), 6);
  EXPECT_EQ(wrong_calls(), 0);
}

TEST_F(GraphClock, CallsThatWorkForOthersAreCountedInFull) {
  start("works_for_others");
  const auto in_graph = timed(6);
  EXPECT_NEAR(in_graph.ns, 6 * (kKernelNs + kNodeNs), 6);
}

}  // namespace
}  // namespace dent::graph_clock_test
