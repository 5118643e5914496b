// SPDX-License-Identifier: MIT
#include "diagnose/diagnosis.h"
#include "records/json.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dent::diagnosis_test {
namespace {

Tree small_tree() {
  return parse_tree(R"(
[[bottleneck]]
name = "few"
title = "too few"
says = "{ctas} of {sms}"
when = ["ctas < sms"]
[[bottleneck]]
name = "memory"
title = "memory"
says = "{dram} %"
when = ["dram >= 60"]
unless = ["waste > 50"]
[[bottleneck]]
name = "waste"
title = "waste"
says = "{waste} %"
when = ["waste > 50"]
[[bottleneck]]
name = "balanced"
title = "nothing"
says = "-"
[[target]]
quantity = "dram"
label = "DRAM"
good = ["dram > 70"]
)",
                    "test.toml");
}

Quantities with(std::initializer_list<std::pair<const char*, double>> values) {
  Quantities q;
  for (const auto& [name, value] : values) q.set(name, value);
  return q;
}

TEST(Diagnosis, TheFirstThatHoldsIsTheAnswerAndTheNextTheRunnerUp) {
  const auto d = diagnose(small_tree(), with({{"ctas", 2}, {"sms", 58}, {"dram", 80}, {"waste", 0}}));
  EXPECT_EQ(d.bottleneck, "few");
  EXPECT_EQ(d.says, "2 of 58");
  EXPECT_EQ(d.decided, std::vector<std::string>{"ctas 2 < sms 58"});
  EXPECT_EQ(d.runner_up, "memory");
  EXPECT_TRUE(d.runner_up_holds);
}

TEST(Diagnosis, UnlessKeepsAnAnswerOut) {
  const auto d = diagnose(small_tree(), with({{"ctas", 99}, {"sms", 58}, {"dram", 80}, {"waste", 70}}));
  EXPECT_EQ(d.bottleneck, "waste");
}

TEST(Diagnosis, AMissingQuantityIsARefusalThatNamesIt) {
  const auto d = diagnose(small_tree(), with({{"ctas", 99}, {"sms", 58}, {"waste", 0}}));
  EXPECT_TRUE(d.refused());
  EXPECT_EQ(d.missing, std::vector<std::string>{"dram"});
  EXPECT_NE(d.refusal.find("dram"), std::string::npos);
}

TEST(Diagnosis, WhatIsMissingFurtherDownDoesNotMatterAboveIt) {
  EXPECT_EQ(diagnose(small_tree(), with({{"ctas", 2}, {"sms", 58}})).bottleneck, "few");
}

TEST(Diagnosis, AMissingQuantityDoesNotMatterWhereAnotherConditionSaysNo) {
  // waste is high, which rules out memory for every value of dram
  EXPECT_EQ(diagnose(small_tree(), with({{"ctas", 99}, {"sms", 58}, {"waste", 70}})).bottleneck, "waste");
}

TEST(Diagnosis, WhatDoesNotApplyIsNoAnswerAndNoObstacle) {
  Quantities q = with({{"ctas", 99}, {"sms", 58}, {"dram", 80}});
  q.not_applicable("waste", "TMA");
  EXPECT_EQ(diagnose(small_tree(), q).bottleneck, "memory");
}

TEST(Diagnosis, SaysWhatWouldOverturnIt) {
  const auto d = diagnose(small_tree(), with({{"ctas", 60}, {"sms", 58}, {"dram", 80}, {"waste", 0}}));
  EXPECT_EQ(d.bottleneck, "memory");
  ASSERT_EQ(d.overturned.size(), 2U);
  EXPECT_EQ(d.overturned[0], "not dram >= 60; now dram 80");
  EXPECT_EQ(d.overturned[1], "ctas < sms (then: too few); now ctas 60, sms 58");
  EXPECT_FALSE(d.runner_up_holds);
  EXPECT_EQ(d.runner_up_says, "too few, if ctas < sms; now ctas 60, sms 58");
}

TEST(Diagnosis, NothingInParticularIsAnAnswerToo) {
  EXPECT_EQ(diagnose(small_tree(), with({{"ctas", 99}, {"sms", 58}, {"dram", 3}, {"waste", 0}})).bottleneck,
            "balanced");
}

// 64 query rows per CTA, S = 128, B = H = 1 on an L4.
TEST(Diagnosis, WithoutCountersStillNamesTheTwoCtas) {
  const Tree tree = load_tree(std::string(DENT_TREES) + "/degraded.toml");
  Quantities q = with({{"ctas", 2}, {"sms", 58}, {"chip_share", 100 * 2 / 58.0}, {"duration_us", 579}});
  const auto d = diagnose(tree, q);
  EXPECT_EQ(d.bottleneck, "few_ctas");
  EXPECT_EQ(d.says, "2 CTAs on 58 SMs: 3.45 % of the GPU gets work");
}

// As measured on an H200 for hopper_forward: counters name a small grid, so the launch alone must too.
TEST(Diagnosis, WithoutCountersAGridThatNearlyCoversTheSmsIsSmallAndNotTooFew) {
  const Tree tree = load_tree(std::string(DENT_TREES) + "/degraded.toml");
  const auto d = diagnose(tree, with({{"ctas", 128},
                                      {"cta_threads", 384},
                                      {"sms", 132},
                                      {"chip_share", 97},
                                      {"waves", 0.4848},
                                      {"empty_share", 51.5},
                                      {"duration_us", 32},
                                      {"bytes_share", 5.5},
                                      {"flops_share", 27}}));
  EXPECT_EQ(d.bottleneck, "small_grid") << d.refusal;
}

TEST(Diagnosis, WithoutCountersAndLaunchesOnlyTheTimeSpeaks) {
  const Tree tree = load_tree(std::string(DENT_TREES) + "/degraded.toml");
  Quantities q = with({{"duration_us", 579}, {"flops_share", 3}, {"bytes_share", 2}});
  for (const char* key :
       {"ctas", "sms", "chip_share", "waves", "empty_share", "local_bytes", "occupancy_possible"}) {
    q.not_applicable(key, "its launches are not known");
  }
  EXPECT_EQ(diagnose(tree, q).bottleneck, "undecided");
  q.set("bytes_share", 80);
  EXPECT_EQ(diagnose(tree, q).bottleneck, "dram");
}

TEST(Diagnosis, OfACpuKernelNeedsNoCounters) {
  const Tree tree = load_tree(std::string(DENT_TREES) + "/cpu.toml");
  Quantities q = with({{"duration_us", 900},
                       {"cores", 8},
                       {"threads_used", 1},
                       {"flops_share", 2},
                       {"bytes_share", 3},
                       {"vector_share", 5}});
  for (const char* key : {"ipc", "misses_per_kilo", "branch_miss_share"}) q.not_applicable(key, "a sandbox");
  EXPECT_EQ(diagnose(tree, q).bottleneck, "few_threads");
  q.set("threads_used", 7.5);
  EXPECT_EQ(diagnose(tree, q).bottleneck, "scalar_code");
  q.set("vector_share", 80);
  EXPECT_EQ(diagnose(tree, q).bottleneck, "balanced");
  q.set("ipc", 0.8);
  q.set("misses_per_kilo", 1);
  EXPECT_EQ(diagnose(tree, q).bottleneck, "dependency");
}

// A manifest need not give the number of operations.
TEST(Diagnosis, AbsentFiguresAreAbsentAndNotZero) {
  for (const char* file : {"cpu.toml", "degraded.toml"}) {
    const Tree tree = load_tree(std::string(DENT_TREES) + "/" + file);
    Quantities q = with({{"duration_us", 900}, {"cores", 8}, {"threads_used", 7.5}, {"bytes_share", 3}});
    for (const char* key : {"ipc", "misses_per_kilo", "branch_miss_share", "flops_share", "ctas", "sms",
                            "chip_share", "waves", "empty_share", "local_bytes", "occupancy_possible"}) {
      q.not_applicable(key, "nobody knows");
    }
    q.set("vector_share", 5);
    if (tree.bottlenecks.back().name == "balanced") {
      EXPECT_EQ(diagnose(tree, q).bottleneck, "scalar_code");
    }
    q.set("vector_share", 80);
    const auto d = diagnose(tree, q);
    EXPECT_EQ(d.bottleneck, tree.bottlenecks.back().name);
    EXPECT_EQ(d.says.find("operations"), std::string::npos) << d.says;
    EXPECT_EQ(d.says.find_first_of("?[]{}"), std::string::npos) << d.says;
    EXPECT_NE(d.says.find("3 % of its bytes"), std::string::npos) << d.says;
    for (const Judged& judged : judge_targets(tree, q)) {
      if (judged.target->quantity != "flops_share") continue;
      EXPECT_EQ(judged.reading.presence, Presence::not_applicable);
    }
  }
}

TEST(Diagnosis, WordsInBracketsNeedTheirNumbers) {
  Quantities q = with({{"a", 1}});
  q.put("c", {Presence::value, 7, "the drain"});
  EXPECT_EQ(with_numbers("{a}[, {b} of b][, {a} of a]; {c} % for {why c}", q),
            "1, 1 of a; 7 % for the drain");
  EXPECT_EQ(with_numbers("{b} {", q), "? ?");
}

TEST(Diagnosis, GoesThroughJson) {
  const auto d = diagnose(small_tree(), with({{"ctas", 2}, {"sms", 58}, {"dram", 80}, {"waste", 0}}));
  const auto back = from_json_text<Diagnosis>(to_json_text(d));
  EXPECT_EQ(back.bottleneck, d.bottleneck);
  EXPECT_EQ(back.decided, d.decided);
  EXPECT_EQ(back.overturned, d.overturned);
  EXPECT_EQ(back.runner_up_holds, d.runner_up_holds);
}

TEST(Diagnosis, TargetsAreJudgedAndAbsentOnesAreNot) {
  const Tree tree = small_tree();
  EXPECT_EQ(judge_targets(tree, with({{"dram", 80}}))[0].verdict, Judged::Verdict::good);
  EXPECT_EQ(judge_targets(tree, with({{"dram", 70}}))[0].verdict, Judged::Verdict::bad);
  EXPECT_EQ(judge_targets(tree, {})[0].verdict, Judged::Verdict::none);
}

}  // namespace
}  // namespace dent::diagnosis_test
