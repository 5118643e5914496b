// SPDX-License-Identifier: MIT
#include "diagnose/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"

namespace dent::tree_test {
namespace {

std::string refusal(const std::string& toml) {
  try {
    parse_tree(toml, "x.toml");
  } catch (const Error& problem) {
    return problem.what();
  }
  return "";
}

TEST(Tree, TheShippedOnesAreWellFormed) {
  for (const char* file : {"gpu.toml", "degraded.toml", "cpu.toml"}) {
    const Tree tree = load_tree(std::string(DENT_TREES) + "/" + file);
    EXPECT_GE(tree.bottlenecks.size(), 8U) << file;
    EXPECT_FALSE(tree.targets.empty()) << file;
    for (const Bottleneck& b : tree.bottlenecks) {
      static const std::set<std::string> kPhases{"parallelism", "tensor cores", "memory", "compute",
                                                 "tuning"};
      EXPECT_TRUE(kPhases.contains(b.phase)) << file << ", " << b.name << ": " << b.phase;
      EXPECT_FALSE(b.advice.empty()) << file << ", " << b.name;
    }
  }
}

TEST(Tree, OfGpusAsksAboutParallelismFirstAndInTheOrderThatWasAgreed) {
  const Tree tree = load_tree(std::string(DENT_TREES) + "/gpu.toml");
  std::vector<std::string> names;
  for (const Bottleneck& b : tree.bottlenecks) names.push_back(b.name);
  const std::vector<std::string> order{"few_ctas",   "atomics",     "tail",           "launch",
                                       "divergence", "tensor",      "fp64",           "dram",
                                       "l2",         "uncoalesced", "bank_conflicts", "occupancy",
                                       "spills",     "barrier",     "balanced",       "waiting"};
  auto at = names.begin();
  for (const std::string& name : order) {
    at = std::find(at, names.end(), name);
    ASSERT_NE(at, names.end()) << name << " is missing or out of order";
  }
}

TEST(Tree, MistakesAreNamedWithFileAndLine) {
  EXPECT_NE(refusal("[[bottleneck]]\nname = \"a\"\ntitle = \"b\"\nsays = \"c\"\nwen = [\"x < 1\"]\n")
                .find("x.toml, line 5"),
            std::string::npos);
  EXPECT_NE(refusal("[[bottleneck]]\nname = \"a\"\ntitle = \"b\"\nsays = \"c\"\nwhen = [\"x\"]\n")
                .find("not a condition"),
            std::string::npos);
  EXPECT_NE(refusal("[[bottleneck]\n").find("line 1"), std::string::npos);
  const std::string row = "[[bottleneck]]\nname = \"a\"\ntitle = \"b\"\nsays = \"c\"\n";
  EXPECT_NE(refusal(row + row).find("twice"), std::string::npos);
  EXPECT_NE(refusal(row + "when = [\"x < 1\"]\n").find("no conditions"), std::string::npos);
  EXPECT_EQ(refusal(row), "");
}

TEST(Tree, AFileThatIsNotThereIsAnError) { EXPECT_THROW(load_tree("/nowhere/gpu.toml"), Error); }

}  // namespace
}  // namespace dent::tree_test
