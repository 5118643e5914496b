// SPDX-License-Identifier: MIT
#include "cpu/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cpu/kernels.h"

namespace flashmoe::cpu::plan_test {
namespace {

ForwardProblem problem(int64_t batch, int64_t q_heads, int64_t kv_heads, int64_t q_rows, int64_t kv_rows,
                       int64_t head_dim = 64, Mask mask = Mask::none) {
  return {.batch = batch,
          .q_heads = q_heads,
          .kv_heads = kv_heads,
          .q_rows = q_rows,
          .kv_rows = kv_rows,
          .head_dim = head_dim,
          .mask = mask,
          .scale = 0.125F};
}

Plan plan_of(const ForwardProblem& p, int threads) { return make_plan(p, choose_kernel(p), threads); }

TEST(Plan, CoversEveryRowAndKeyExactlyOnce) {
  for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
    for (int threads : {1, 2, 3, 8, 64}) {
      for (auto [q_rows, kv_rows] :
           {std::pair{1, 1}, {1, 5000}, {3, 577}, {577, 3}, {129, 4097}, {2500, 2500}}) {
        for (int64_t group : {1, 3, 8}) {
          const ForwardProblem p = problem(2, 2 * group, 2, q_rows, kv_rows, 64, mask);
          const Plan plan = plan_of(p, threads);
          std::map<std::tuple<int64_t, int64_t>, int64_t>
              keys_of;  // (head, row block) -> keys so far, in order
          std::map<int64_t, int64_t> rows_of;
          for (int64_t task = 0; task < plan.tasks(); ++task) {
            const TaskPlace place = place_of(plan, p, task);
            ASSERT_LT(place.row_begin, place.row_end);
            ASSERT_LT(place.kv_begin, place.kv_end);
            ASSERT_LE(place.row_end - place.row_begin, plan.rows_per_task);
            // All heads of a task are of one batch entry.
            ASSERT_EQ(place.head / p.kv_heads, (place.head + plan.heads_per_task - 1) / p.kv_heads);
            for (int64_t head = place.head; head < place.head + plan.heads_per_task; ++head) {
              int64_t& keys = keys_of[{head, place.row_block}];
              ASSERT_EQ(place.kv_begin, keys);
              keys = place.kv_end;
              if (place.split == 0) rows_of[head] += place.row_end - place.row_begin;
            }
          }
          ASSERT_EQ(rows_of.size(), static_cast<std::size_t>(p.batch * p.kv_heads));
          for (const auto& [head, rows] : rows_of) ASSERT_EQ(rows, group * q_rows);
          for (const auto& [block, keys] : keys_of) ASSERT_EQ(keys, p.visible_to_any().end);
        }
      }
    }
  }
}

TEST(Plan, HeadsGoTogetherAsFarAsNoThreadIdles) {
  Kernel kernel = portable_kernel();
  const ForwardProblem p = problem(1, 8, 8, 1, 300);
  EXPECT_EQ(make_plan(p, kernel, 1).heads_per_task, 1);
  kernel.takes_heads = true;
  EXPECT_EQ(make_plan(p, kernel, 1).heads_per_task, 8);
  EXPECT_EQ(make_plan(p, kernel, 2).heads_per_task, 4);
  EXPECT_EQ(make_plan(p, kernel, 3).heads_per_task, 1);  // two and two leave one for later
  EXPECT_EQ(make_plan(p, kernel, 16).heads_per_task, 1);
}

TEST(Plan, OneRowAgainstManyKeysUsesEveryThread) {
  for (int threads : {2, 3, 8, 16}) {
    const Plan plan = plan_of(problem(1, 1, 1, 1, 65536), threads);
    EXPECT_EQ(plan.threads, threads);
    EXPECT_GE(plan.splits, threads);
    EXPECT_GE(plan.keys_per_split, 512);
  }
}

TEST(Plan, DoesNotSplitKeysWhereHeadsAndRowsAreEnough) {
  EXPECT_EQ(plan_of(problem(1, 8, 8, 2048, 2048), 2).splits, 1);
  EXPECT_EQ(plan_of(problem(1, 32, 8, 1, 8192), 2).splits, 1);
  EXPECT_EQ(plan_of(problem(1, 1, 1, 65536, 65536), 16).splits, 1);
  EXPECT_EQ(plan_of(problem(1, 1, 1, 1, 100), 16).splits, 1);
}

TEST(Plan, MemoryGrowsWithThreadsAndTilesOnly) {
  const ForwardProblem large = problem(1, 1, 1, 65536, 65536, 128, Mask::causal);
  for (int threads : {1, 2, 16}) {
    EXPECT_LE(plan_of(large, threads).workspace_bytes, static_cast<std::size_t>(threads) << 21)
        << "2 MiB a thread";
  }
}

TEST(Plan, LongestTasksComeFirstUnderACausalMask) {
  const ForwardProblem p = problem(1, 4, 4, 4096, 4096, 64, Mask::causal);
  const Plan plan = plan_of(p, 2);
  ASSERT_GT(plan.row_blocks, 1);
  int64_t before = p.kv_rows;
  for (int64_t task = 0; task < plan.tasks(); ++task) {
    const int64_t keys = p.visible(place_of(plan, p, task).row_end - 1).end;
    EXPECT_LE(keys, before);
    before = keys;
  }
}

// Half of a square is masked, but a panel of rows is worked on as far as its last row sees: two short tasks
// for each head end before one long one.
TEST(Plan, ASmallCausalSquareIsCutForThreadsThatWouldIdle) {
  Kernel kernel = portable_kernel();
  kernel.panel_rows = 32;
  kernel.packing_rows = 12;
  for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
    EXPECT_EQ(make_plan(problem(1, 8, 8, 64, 64, 128, mask), kernel, 16).row_blocks, 2);
  }
}

// Cores are uneven: one long task for each thread ends with the slowest of them.
TEST(Plan, ThreadsHaveSeveralTasksWhereRowsAreMany) {
  Kernel kernel = portable_kernel();
  kernel.panel_rows = 32;
  kernel.packing_rows = 12;
  for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
    for (int64_t rows : {512, 1024, 2048, 4096}) {
      EXPECT_GE(make_plan(problem(1, 8, 8, rows, rows, 128, mask), kernel, 16).tasks(), 4 * 16) << rows;
    }
  }
  EXPECT_EQ(make_plan(problem(1, 8, 8, 1024, 1024), kernel, 1).row_blocks, 1)
      << "one thread waits for nobody";
}

// The keys behind the last query are seen by no row: tasks are as long as in the square.
TEST(Plan, KeysThatNoRowSeesDoNotChangeTheCut) {
  const Plan square = plan_of(problem(1, 4, 4, 700, 700, 64, Mask::causal_top_left), 8);
  const Plan wide = plan_of(problem(1, 4, 4, 700, 2000, 64, Mask::causal_top_left), 8);
  EXPECT_EQ(wide.rows_per_task, square.rows_per_task);
}

TEST(Plan, NeverUsesMoreThreadsThanAskedOrThanThereAreTasks) {
  for (int threads : {1, 2, 5, 200}) {
    for (int64_t rows : {1, 40, 3000}) {
      const Plan plan = plan_of(problem(1, 2, 2, rows, rows), threads);
      EXPECT_GE(plan.threads, 1);
      EXPECT_LE(plan.threads, threads);
      EXPECT_LE(plan.threads, plan.tasks());
    }
  }
}

TEST(Plan, SaysWhatItDoesInWords) {
  const ForwardProblem p = problem(1, 1, 1, 1, 65536);
  const std::string text = describe(plan_of(p, 4), p);
  for (const char* part : {"cpu: ", "tasks: ", "threads: 4", "key split", "workspace: "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in:\n" << text;
  }
}

}  // namespace
}  // namespace flashmoe::cpu::plan_test
