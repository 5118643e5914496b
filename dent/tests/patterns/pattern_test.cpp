// SPDX-License-Identifier: MIT
#include "patterns/pattern.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "diagnose/diagnosis.h"
#include "diagnose/ncu_metrics.h"
#include "diagnose/profile.h"
#include "diagnose/recorded.h"
#include "ledger/ledger.h"
#include "patterns/evidence.h"
#include "patterns/match.h"
#include "patterns/write.h"

namespace dent::pattern_test {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("patterns " + std::to_string(getpid()))) {
    fs::create_directories(path_ / "patterns");
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  void write(const char* name, const std::string& text) const {
    std::ofstream(path_ / "patterns" / name) << text;
  }

 private:
  fs::path path_;
};

std::vector<Pattern> shipped() { return load_patterns(DENT_PATTERNS, {}); }

Situation situation(const ProfiledLaunch& launch) {
  const Tree tree = load_tree(std::string(DENT_TREES) + "/gpu.toml");
  const Quantities quantities = quantities_of(launch);
  const Diagnosis diagnosis = diagnose(tree, quantities);
  return {.bottleneck = diagnosis.bottleneck,
          .runner_up = diagnosis.runner_up_holds ? diagnosis.runner_up : "",
          .quantities = quantities,
          .device = DeviceKind::cuda,
          .op = "attention.forward",
          .family = Family::attention,
          .dtypes = {DType::fp16},
          .arch = launch.arch};
}

std::vector<std::string> names(const std::vector<PatternMatch>& matches) {
  std::vector<std::string> all;
  for (const PatternMatch& match : matches) all.push_back(match.pattern->name);
  return all;
}

TEST(Patterns, TheElevenRulesAndManyMoreAreShipped) {
  const auto patterns = shipped();
  int rules = 0, kernels = 0;
  for (const Pattern& p : patterns) {
    EXPECT_FALSE(p.rule.empty() || p.fix.empty() || p.source.empty()) << p.name;
    (p.bottlenecks.empty() ? rules : kernels) += 1;
    EXPECT_EQ(p.bottlenecks.empty(), p.phase.empty()) << p.name;
  }
  EXPECT_EQ(rules, 11);
  EXPECT_GE(kernels, 15);
  std::set<std::string> there;
  for (const Pattern& p : patterns) there.insert(p.name);
  for (const char* name :
       {"kv-split", "cluster-merge", "cp-async-staging", "tma", "swizzle", "vector-loads", "persistent-grid",
        "heaviest-first", "exp2-folding", "register-cap", "warp-specialisation", "gqa-packing",
        "graph-capture", "fused-epilogue", "l2-order"}) {
    EXPECT_TRUE(there.contains(name)) << name;
  }
}

TEST(Patterns, SpeakOfBottlenecksAndQuantitiesThatExist) {
  std::set<std::string> bottlenecks, quantities;
  for (const char* file : {"gpu.toml", "cpu.toml", "degraded.toml"}) {
    for (const Bottleneck& b : load_tree(std::string(DENT_TREES) + "/" + file).bottlenecks)
      bottlenecks.insert(b.name);
  }
  const auto report = test::recorded("planted_h200.csv");
  const Quantities known = quantities_of(report.launches.front());
  for (const auto& [name, reading] : known.all()) quantities.insert(name);
  for (const Pattern& p : shipped()) {
    for (const std::string& b : p.bottlenecks) EXPECT_TRUE(bottlenecks.contains(b)) << p.name << ": " << b;
    for (const Condition& c : p.conditions) {
      for (const std::string& q : c.names()) EXPECT_TRUE(quantities.contains(q)) << p.name << ": " << q;
    }
  }
}

TEST(Patterns, EveryPlantedBottleneckButTheHealthyHasACure) {
  const auto patterns = shipped();
  const std::map<std::string, std::string> first{{"planted_atomic_sum", "reduce-before-atomics"},
                                                 {"planted_tiny_ctas", "whole-warps"},
                                                 {"planted_divergent_switch", "sort-by-branch"},
                                                 {"planted_naive_transpose", "coalesce"},
                                                 {"planted_huge_code", "less-code"},
                                                 {"planted_two_ctas", "kv-split"},
                                                 {"planted_wave_tail", "tile-fits-waves"},
                                                 {"planted_uneven_work", "tile-fits-waves"},
                                                 {"planted_launch_bound", "graph-capture"},
                                                 {"planted_strided_loads", "coalesce"},
                                                 {"planted_row_per_thread", "coalesce"},
                                                 {"planted_spills", "end-spills"},
                                                 {"planted_barrier_heavy", "warp-reductions"}};
  for (const ProfiledLaunch& launch : test::recorded("planted_h200.csv").launches) {
    const auto matches = match(patterns, situation(launch));
    if (short_name(launch.kernel) == "planted_sleepers") continue;  // no pattern fits its waiting
    ASSERT_FALSE(matches.empty()) << launch.kernel;
    const auto expected = first.find(short_name(launch.kernel));
    if (expected == first.end()) continue;
    EXPECT_EQ(matches.front().pattern->name, expected->second) << launch.kernel;
    for (std::size_t i = 1; i < matches.size(); ++i) EXPECT_FALSE(matches[i].why.empty());
  }
}

// Wider loads don't help if a whole warp loads one number.
TEST(Patterns, WideLoadsAreForLoadsSideBySide) {
  const auto patterns = shipped();
  for (const ProfiledLaunch& launch : test::recorded("planted_h200.csv").launches) {
    if (short_name(launch.kernel) != "planted_pointer_chase") continue;
    const auto found = names(match(patterns, situation(launch)));
    EXPECT_EQ(std::find(found.begin(), found.end(), "vector-loads"), found.end());
    EXPECT_FALSE(found.empty());
  }
}

TEST(Patterns, OfOneArchitectureStayThere) {
  const auto patterns = shipped();
  Situation s{.bottleneck = "few_ctas",
              .runner_up = "",
              .quantities = {},
              .device = DeviceKind::cuda,
              .op = "attention.forward",
              .family = Family::attention,
              .dtypes = {DType::fp16},
              .arch = 90};
  const auto hopper = names(match(patterns, s));
  EXPECT_NE(std::find(hopper.begin(), hopper.end(), "cluster-merge"), hopper.end());
  s.arch = 89;
  const auto ada = names(match(patterns, s));
  EXPECT_EQ(std::find(ada.begin(), ada.end(), "cluster-merge"), ada.end());
  s.device = DeviceKind::cpu;
  EXPECT_TRUE(match(patterns, s).empty());
}

TEST(Patterns, AConditionOnWhatIsNotKnownDoesNotHold) {
  const auto patterns = shipped();
  const Situation s{.bottleneck = "few_ctas",
                    .runner_up = "",
                    .quantities = {},
                    .device = DeviceKind::cuda,
                    .op = "attention.forward",
                    .family = Family::attention};
  const auto found = names(match(patterns, s));
  EXPECT_EQ(std::find(found.begin(), found.end(), "kv-split"), found.end());  // it needs ctas and sms
}

TEST(Patterns, EvidenceOutranksPromises) {
  auto patterns = shipped();
  std::vector<record::PatternTried> tried;
  for (const double gain : {1.02, 0.97, 1.01})
    tried.push_back({"kv-split", "few_ctas", gain < 1 ? Tried::dropped : Tried::kept, gain});
  tried.push_back({"kv-split", "few_ctas", Tried::failed, {}});
  for (const double gain : {2.4, 2.6, 2.5})
    tried.push_back({"smaller-query-tiles", "few_ctas", Tried::kept, gain});
  learn(patterns, tried);
  const auto kv =
      std::find_if(patterns.begin(), patterns.end(), [](const Pattern& p) { return p.name == "kv-split"; });
  EXPECT_EQ(kv->evidence.tries, 4);
  EXPECT_EQ(kv->evidence.kept, 2);
  EXPECT_EQ(kv->evidence.failures, 2);
  EXPECT_DOUBLE_EQ(*kv->evidence.median_gain, 1.01);
  Situation s{.bottleneck = "few_ctas",
              .runner_up = "",
              .quantities = {},
              .device = DeviceKind::cuda,
              .op = "attention.forward",
              .family = Family::attention,
              .dtypes = {DType::fp16},
              .arch = 90};
  s.quantities.set("ctas", 2);
  s.quantities.set("sms", 132);
  const auto matches = match(patterns, s);
  EXPECT_EQ(matches.front().pattern->name, "smaller-query-tiles");
  EXPECT_NEAR(matches.front().expected_gain, 2.5, 1e-9);
  EXPECT_EQ(matches.back().pattern->name, "kv-split");
}

TEST(Patterns, TheRunnerUpsComeBehind) {
  const auto patterns = shipped();
  Situation s{.bottleneck = "spills",
              .runner_up = "few_ctas",
              .quantities = {},
              .device = DeviceKind::cuda,
              .op = "attention.forward",
              .family = Family::attention,
              .dtypes = {DType::fp16},
              .arch = 90};
  s.quantities.set("ctas", 2);
  s.quantities.set("sms", 132);
  const auto found = names(match(patterns, s));
  EXPECT_EQ(found.front(), "end-spills");
  EXPECT_EQ(found.at(1), "kv-split");
}

TEST(Patterns, TheProjectsOwnWinOverShippedOnes) {
  const Folder project;
  project.write("kv-split.toml", "title = \"ours\"\nrule = \"r\"\nfix = \"f\"\nsource = \"s\"\n");
  for (const Pattern& p : load_patterns(DENT_PATTERNS, project.path())) {
    EXPECT_EQ(p.own, p.name == "kv-split");
    EXPECT_TRUE(p.name != "kv-split" || p.title == "ours");
  }
}

TEST(Patterns, MistakesAreNamedWithFileAndLine) {
  const Folder project;
  const auto refusal = [&](const std::string& text) -> std::string {
    project.write("x.toml", text);
    try {
      load_patterns({}, project.path());
    } catch (const Error& problem) {
      return problem.what();
    }
    return "";
  };
  const std::string good = "title = \"t\"\nrule = \"r\"\nfix = \"f\"\nsource = \"s\"\n";
  EXPECT_EQ(refusal(good), "");
  EXPECT_NE(refusal("title = \"t\"\n").find("rule: is missing"), std::string::npos);
  EXPECT_NE(refusal(good + "expectd_gain = 2\n").find("x.toml, line 5"), std::string::npos);
  EXPECT_NE(refusal(good + "[symptom]\nwhen = [\"ctas\"]\n").find("not a condition"), std::string::npos);
  EXPECT_NE(refusal(good + "[where]\ndevice = \"tpu\"\n").find("cuda or cpu"), std::string::npos);
  EXPECT_NE(refusal(good + "expected_gain = -1\n").find("above 0"), std::string::npos);
  EXPECT_NE(refusal("title = \n").find("line 1"), std::string::npos);
}

TEST(Patterns, NamesAreComparedWithoutCaseAndDashes) {
  EXPECT_TRUE(same_name("KV_SPLITS", "kv-splits"));
  EXPECT_FALSE(same_name("kv", "kv-splits"));
  EXPECT_EQ(file_stem("Split K, twice!"), "split-k-twice");
}

TEST(Patterns, ALessonIsWrittenAsItWasSaid) {
  const Folder project;
  Lesson lesson{
      .title = "Split twice", .rule = "\"r\"", .fix = "f", .bottlenecks = {"tail"}, .expected_gain = 1.4};
  const auto file = write_pattern(project.path(), lesson);
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_NE(text.find("expected_gain = 1.4\n"), std::string::npos) << text;
  const Pattern pattern = read_pattern(file);
  EXPECT_EQ(pattern.expected_gain, 1.4);
  EXPECT_EQ(pattern.rule, "\"r\"");
  EXPECT_EQ(pattern.bottlenecks, lesson.bottlenecks);

  lesson.title = "whole";
  lesson.expected_gain = 2;
  EXPECT_EQ(read_pattern(write_pattern(project.path(), lesson)).expected_gain, 2);
  lesson.title = "less than nothing";
  lesson.expected_gain = -2;
  EXPECT_THROW(write_pattern(project.path(), lesson), Error);
  EXPECT_FALSE(fs::exists(project.path() / "patterns/less-than-nothing.toml"));
}

// A proposer needs no more about a match than its hint in the diagnosis record.
TEST(Patterns, AHintSaysWhatAMatchDoes) {
  const auto patterns = shipped();
  record::Diagnosis diagnosis;
  diagnosis.device = DeviceKind::cuda;
  diagnosis.op = "attention.forward";
  diagnosis.arch = 90;
  diagnosis.finding.bottleneck = "few_ctas";
  diagnosis.finding.runner_up = "spills";  // its conditions do not hold
  diagnosis.metrics.set("ctas", 2);
  diagnosis.metrics.set("sms", 132);
  const auto matches = match(patterns, situation_of(diagnosis));
  ASSERT_FALSE(matches.empty());
  const auto list = hints(matches);
  ASSERT_EQ(list.size(), matches.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].pattern, matches[i].pattern->name);
    EXPECT_EQ(list[i].tunable, matches[i].pattern->tunable);
    EXPECT_EQ(list[i].expected_gain, matches[i].expected_gain);
    EXPECT_NE(list[i].pattern, "end-spills");
  }
}

TEST(Evidence, ComesFromEveryLedgerOfAProject) {
  const Folder project;
  SessionStore store(project.path());
  store.prepare();
  for (const double gain : {1.2, 1.4}) {
    Ledger ledger(store.create().ledger());
    ledger.append(record::PatternTried{"swizzle", "bank_conflicts", Tried::kept, gain});
    ledger.append(record::Note{"x"});
  }
  std::ofstream(store.create().ledger()) << "no ledger at all\n";
  auto patterns = shipped();
  learn(patterns, store);
  for (const Pattern& p : patterns) {
    EXPECT_EQ(p.evidence.tries, p.name == "swizzle" ? 2 : 0) << p.name;
    EXPECT_NEAR(p.evidence.median_gain.value_or(1.3), 1.3, 1e-12);
  }
}

}  // namespace
}  // namespace dent::pattern_test
