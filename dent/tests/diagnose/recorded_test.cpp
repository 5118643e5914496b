// SPDX-License-Identifier: MIT
// Every planted bottleneck must be named correctly from Nsight Compute's output on an H200.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "diagnose/diagnosis.h"
#include "diagnose/ncu_metrics.h"
#include "diagnose/profile.h"
#include "diagnose/recorded.h"

namespace dent::test::recorded_test {
namespace {

const Tree& gpu_tree() {
  static const Tree kTree = load_tree(std::string(DENT_TREES) + "/gpu.toml");
  return kTree;
}

std::string all_of(const Diagnosis& diagnosis, const Quantities& quantities) {
  std::string text = diagnosis.says + diagnosis.refusal;
  for (const auto& [name, reading] : quantities.all())
    text += "\n  " + name + " " + std::to_string(reading.value);
  return text;
}

using Expected = std::map<std::string, std::string>;  // kernel -> bottleneck

// Reads the table in dent/tests/bottlenecks/planted.h ({"name", "bottleneck", function},) or in
// planted_triton.py ("name": "bottleneck",).
Expected planted_in(const char* file) {
  std::istringstream source(text_of_file(std::string(DENT_BOTTLENECKS) + "/" + file));
  Expected expected;
  for (std::string line; std::getline(source, line);) {
    std::istringstream row(line);
    std::string part[5];
    for (std::string& text : part) std::getline(row, text, '"');
    const bool in_cuda = part[0].ends_with('{') && part[2] == ", " && part[4].starts_with(", ");
    const bool in_triton = part[0] == "    " && part[2] == ": " && part[4] == ",";
    if (in_cuda || in_triton) expected["planted_" + part[1]] = part[3];
  }
  return expected;
}
Expected planted() { return planted_in("planted.h"); }

void expect_all_named(const Expected& expected, const NcuReport& report) {
  std::size_t seen = 0;
  for (const ProfiledLaunch& launch : report.launches) {
    const std::string name = short_name(launch.kernel);
    ASSERT_TRUE(expected.contains(name)) << name;
    const Quantities quantities = quantities_of(launch);
    const Diagnosis diagnosis = diagnose(gpu_tree(), quantities);
    EXPECT_EQ(diagnosis.bottleneck, expected.at(name)) << name << ": " << all_of(diagnosis, quantities);
    ++seen;
  }
  EXPECT_EQ(seen, expected.size());
}

TEST(Recorded, EveryPlantedBottleneckIsNamedRightly) {
  ASSERT_GE(planted().size(), 50U);
  expect_all_named(planted(), recorded("planted_h200.csv"));
}

TEST(Recorded, EveryPlantedBottleneckInTritonIsNamedRightly) {
  const Expected expected = planted_in("planted_triton.py");
  ASSERT_GE(expected.size(), 7U);
  expect_all_named(expected, recorded("triton_h200.csv"));
}

TEST(Recorded, EveryBottleneckOfTheTreeButTheVagueIsPlantedSomewhere) {
  std::set<std::string> seen;
  for (const auto& [kernel, bottleneck] : planted()) seen.insert(bottleneck);
  for (const Bottleneck& bottleneck : gpu_tree().bottlenecks) {
    const bool vague = bottleneck.name == "balanced" || bottleneck.name == "dependency";
    EXPECT_TRUE(vague || seen.contains(bottleneck.name)) << bottleneck.name;
  }
}

Diagnosis diagnosis_of(const char* kernel) {
  for (const ProfiledLaunch& launch : recorded("planted_h200.csv").launches) {
    if (short_name(launch.kernel) == kernel) return diagnose(gpu_tree(), quantities_of(launch));
  }
  return {};
}

TEST(Recorded, WhereNothingIsBusyItSaysWhatTheWarpsWaitFor) {
  const Diagnosis diagnosis = diagnosis_of("planted_sleepers");
  EXPECT_EQ(diagnosis.title, "nothing is busy");
  EXPECT_NE(diagnosis.says.find("for the end of their sleep"), std::string::npos) << diagnosis.says;
}

TEST(Recorded, AccidentalDoublesAreNotToldAboutExponentials) {
  const Diagnosis diagnosis = diagnosis_of("planted_double_literals");
  EXPECT_EQ(diagnosis.title, "double precision");
  EXPECT_EQ(diagnosis.advice.find("exp"), std::string::npos) << diagnosis.advice;
}

TEST(Recorded, StoresAreCalledStores) {
  EXPECT_EQ(diagnosis_of("planted_naive_transpose").title, "uncoalesced stores");
  EXPECT_EQ(diagnosis_of("planted_struct_fields").title, "uncoalesced loads");
}

TEST(Recorded, EveryAnswerHasItsNumbersAndWhatWouldOverturnIt) {
  for (const ProfiledLaunch& launch : recorded("planted_h200.csv").launches) {
    const Diagnosis diagnosis = diagnose(gpu_tree(), quantities_of(launch));
    if (diagnosis.bottleneck != "waiting") {  // the last bottleneck has no conditions
      EXPECT_FALSE(diagnosis.decided.empty()) << launch.kernel;
      EXPECT_FALSE(diagnosis.overturned.empty()) << launch.kernel;
    }
    EXPECT_FALSE(diagnosis.phase.empty()) << launch.kernel;
    EXPECT_EQ(diagnosis.says.find('?'), std::string::npos) << diagnosis.says;
    EXPECT_EQ(diagnosis.says.find('{'), std::string::npos) << diagnosis.says;
  }
}

TEST(Recorded, EveryRequestedCounterCameBack) {
  for (const char* file : {"planted_h200.csv", "triton_h200.csv", "attention_h200.csv"}) {
    for (const ProfiledLaunch& launch : recorded(file).launches) {
      EXPECT_EQ(launch.arch, 90);
      EXPECT_EQ(launch.device, "NVIDIA H200");
      EXPECT_EQ(absent_metrics(launch, 90), std::vector<std::string>{}) << launch.kernel;
    }
  }
}

TEST(Recorded, TwoCtasAreNamedAsTheUserWouldHaveNeededIt) {
  const auto report = recorded("planted_h200.csv");
  const Diagnosis diagnosis = diagnose(gpu_tree(), quantities_of(report.launches.front()));
  EXPECT_EQ(diagnosis.says, "2 CTAs on 132 SMs: 1.52 % of the GPU gets work");
  EXPECT_EQ(diagnosis.phase, "parallelism");
}

TEST(Recorded, OurOwnKernelsAreDiagnosedSensibly) {
  std::vector<std::string> named;
  for (const ProfiledLaunch& launch : recorded("attention_h200.csv").launches) {
    named.push_back(diagnose(gpu_tree(), quantities_of(launch)).bottleneck);
  }
  // naive, ampere and small at S = 128 (2, 1 and 16 CTAs); naive with one CTA per SM; ampere without a single
  // bottleneck; hopper limited by tensor cores; causal at 2k, where SMs finish early; decode with 64 CTAs.
  const std::vector<std::string> expected{"few_ctas", "few_ctas", "few_ctas", "small_grid",
                                          "balanced", "tensor",   "tail",     "few_ctas"};
  EXPECT_EQ(named, expected);
}

TEST(Recorded, PlantedBottlenecksAreNamedAlsoWhereNcuDoesNotCountIdealSectors) {
  const auto expected = planted();
  auto report = recorded("planted_h200.csv");
  for (ProfiledLaunch& launch : report.launches) {
    launch.metrics.put("memory_l2_theoretical_sectors_global", {});
    launch.metrics.put("memory_l2_theoretical_sectors_global_ideal", {});
    EXPECT_EQ(diagnose(gpu_tree(), quantities_of(launch)).bottleneck, expected.at(short_name(launch.kernel)))
        << launch.kernel;
  }
}

TEST(Recorded, WasteThatNobodyCountedIsMissing) {
  auto report = recorded("planted_h200.csv");
  ProfiledLaunch& launch = report.launches.front();
  launch.metrics.put("memory_l2_theoretical_sectors_global", {});
  launch.metrics.put("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", {});
  const Quantities quantities = quantities_of(launch);
  for (const char* name : {"wasted_sectors", "store_waste", "dram_excess"}) {
    EXPECT_EQ(quantities.at(name).presence, Presence::missing) << name;
  }
}

TEST(Recorded, LoadsByTmaAreNoUncoalescedLoads) {
  const auto report = recorded("attention_h200.csv");
  const Quantities hopper = quantities_of(report.launches.at(5));
  EXPECT_EQ(hopper.at("sectors_per_load").presence, Presence::not_applicable);
  EXPECT_EQ(hopper.at("l1_hit").presence, Presence::not_applicable);
  EXPECT_NE(hopper.at("l1_hit").why.find("TMA"), std::string::npos);
}

// ncu once gave such a rate for two CTAs, because a rate's counters come from different passes.
TEST(Recorded, AHitRateAboveAllIsNoNumber) {
  auto report = recorded("planted_h200.csv");
  report.launches.front().metrics.set("lts__t_sector_hit_rate.pct", 193.2);
  const Quantities quantities = quantities_of(report.launches.front());
  EXPECT_EQ(quantities.at("l2_hit").presence, Presence::not_a_number);
  EXPECT_EQ(diagnose(gpu_tree(), quantities).bottleneck, "few_ctas");  // does not depend on the rate
}

TEST(Recorded, TheLimiterOfOccupancyIsNamed) {
  for (const ProfiledLaunch& launch : recorded("planted_h200.csv").launches) {
    const std::string name = short_name(launch.kernel);
    if (name == "planted_registers_limit") {
      EXPECT_EQ(occupancy_limiter(launch), "registers");
    } else if (name == "planted_shared_memory_limits") {
      EXPECT_EQ(occupancy_limiter(launch), "shared memory");
    }
  }
}

}  // namespace
}  // namespace dent::test::recorded_test
