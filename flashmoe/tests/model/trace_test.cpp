// SPDX-License-Identifier: MIT
// Traces of a kernel whose steps are all known; and tracing must not change results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "kernels/on_model.h"
#include "model/on_machine.h"
#include "model/run_options.h"
#include "primitives/barrier.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/model/trace.h"
#include "primitives/shuffle.h"

namespace flashmoe::test::trace_test {
namespace {

using model::TraceEvent;

// Warp 1 arrives late at the barrier, and its odd lanes take a different path.
void meeting(float* out) {
  if (gpu::warp_index() == 1) {
    gpu::sync_warp();
    if (gpu::lane_index() % 2 == 1) gpu::store_global(out + gpu::lane_index(), 1.0F);
  }
  gpu::sync_block();
}

std::vector<TraceEvent> traced(uint64_t seed) {
  std::vector<float> out(32);
  model::start_trace();
  EXPECT_EQ(said(&meeting, {.kernel = "meeting", .threads = 64}, {.seed = seed}, out.data()), "");
  return model::stop_trace();
}

std::vector<TraceEvent> of(const std::vector<TraceEvent>& events, const std::string& what, int warp) {
  std::vector<TraceEvent> found;
  std::copy_if(events.begin(), events.end(), std::back_inserter(found),
               [&](const TraceEvent& e) { return e.what == what && e.warp == warp; });
  return found;
}

TEST(Trace, HasOneEventForLanesThatGoTogether) {
  const auto events = traced(0);
  ASSERT_EQ(of(events, "sync_block", 0).size(), 1U);
  EXPECT_EQ(of(events, "sync_block", 0)[0].lanes, 0xFFFFFFFFU);
  ASSERT_EQ(of(events, "store_global", 1).size(), 1U);
  EXPECT_EQ(of(events, "store_global", 1)[0].lanes, 0xAAAAAAAAU);
  EXPECT_EQ(of(events, "store_global", 0).size(), 0U);
  EXPECT_EQ(of(events, "sync_warp", 1).size(), 1U);
}

TEST(Trace, AWaitLastsUntilTheLastOneComes) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto events = traced(seed);
    const auto waits = of(events, "sync_block", 0);
    const auto others = of(events, "sync_block", 1);
    ASSERT_FALSE(waits.empty());
    ASSERT_FALSE(others.empty());
    for (const TraceEvent& wait : waits) {
      EXPECT_TRUE(!wait.waited || wait.end >= others.back().begin) << "seed " << seed;
    }
    uint32_t lanes = 0;  // under every schedule each lane waits once
    for (const TraceEvent& wait : waits) {
      EXPECT_EQ(lanes & wait.lanes, 0U) << "seed " << seed;
      lanes |= wait.lanes;
    }
    EXPECT_EQ(lanes, 0xFFFFFFFFU) << "seed " << seed;
  }
}

TEST(Trace, AsTextNamesStepWarpLanesAndLine) {
  const std::string text = model::as_text(traced(0));
  EXPECT_TRUE(contains(text, "kernel meeting"));
  EXPECT_TRUE(contains(text, "1      0xaaaaaaaa  store_global  flashmoe/tests/model/trace_test.cpp:"));
  EXPECT_TRUE(contains(text, "sync_block, waits"));
}

// Events of one track of a timeline must not overlap, since viewers would drop them.
TEST(Trace, AsTimelineHasTracksWithoutOverlaps) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    std::istringstream lines(model::as_timeline(traced(seed)));
    std::map<std::pair<int, int>, long> ends;
    int events = 0;
    for (std::string line; std::getline(lines, line);) {
      int pid = 0;
      int tid = 0;
      if (std::sscanf(line.c_str(), R"({"ph":"X","pid":%d,"tid":%d)", &pid, &tid) != 2) continue;
      const auto begin = std::atol(line.c_str() + line.find("\"ts\":") + 5);
      const auto length = std::atol(line.c_str() + line.find("\"dur\":") + 6);
      EXPECT_GT(length, 0);
      EXPECT_LE((ends[{pid, tid}]), begin) << line;
      ends[{pid, tid}] = begin + length;
      ++events;
    }
    EXPECT_GE(events, 4) << "seed " << seed;
  }
}

TEST(Trace, ChangesNeitherResultsNorSchedules) {
  const Shape shape{.q_rows = 40, .kv_rows = 100, .dtype = DType::fp16, .mask = Mask::causal};
  const auto run = [&](bool trace) {
    Problem problem(shape);
    if (trace) model::start_trace();
    const uint64_t before = model::statistics().switches;
    run_on_model(problem, {.settings = {.seed = 3}});
    if (trace) {
      EXPECT_GT(model::stop_trace().size(), 100U);
    }
    return std::pair(problem.output_bytes(), model::statistics().switches - before);
  };
  EXPECT_EQ(run(false), run(true));
}

TEST(RunOptions, AreReadFromWords) {
  const auto options = parse_run_options({"--kernel", "decode_forward", "--shape", "2,8,4,1,100,128",
                                          "--causal", "--late", "stores", "--seed", "7", "--trace", "t"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->choice.kernel, dispatch::ForwardKernel::decode_forward);
  EXPECT_EQ(options->shape.kv_heads, 4);
  EXPECT_EQ(options->shape.kv_rows, 100);
  EXPECT_EQ(options->shape.mask, Mask::causal);
  EXPECT_EQ(options->settings.copies, model::CopyTime::early);
  EXPECT_EQ(options->settings.stores, model::CopyTime::late);
  EXPECT_EQ(options->settings.seed, 7U);
  EXPECT_FALSE(parse_run_options({"--help"}));
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--kernel", "fast"},
                                                {"--shape", "1,2"},
                                                {"--shape", "1,1,x,64"},
                                                {"--seed"},
                                                {"--late", "copies,never"},
                                                {"--speed", "1"}}) {
    EXPECT_THROW(parse_run_options(wrong), std::invalid_argument) << wrong.back();
  }
}

}  // namespace
}  // namespace flashmoe::test::trace_test
