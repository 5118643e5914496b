// SPDX-License-Identifier: MIT
// Every mistake must be caught, by the model or by the oracle, in the two runs of each case that CI makes;
// and exact copies of the kernels must pass all of them.
#include <gtest/gtest.h>

#include <cctype>
#include <iostream>

#include "model/mutants/caught.h"
#include "model/mutants/taken_out.h"

namespace flashmoe::test {
namespace {

class Mutants : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutants, AreCaught) {
  const Mutant& mutant = mutants()[GetParam()];
  const std::string what = caught(mutant);
  if (mutant.mistake == "none") {
    EXPECT_EQ(what, "") << "a false alarm about an exact copy of " << mutant.kernel;
  } else {
    EXPECT_NE(what, "") << mutant.kernel << " with this mistake passes everything: " << mutant.mistake;
    std::cout << mutant.kernel << ", " << mutant.mistake << ": " << what.substr(0, what.find('\n')) << "\n";
  }
}

std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = mutants()[info.param].kernel + "_" + mutants()[info.param].mistake;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

std::vector<std::size_t> those(bool each_line) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < mutants().size(); ++i) {
    if ((mutants()[i].mistake == "each line") == each_line) indices.push_back(i);
  }
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Model, Mutants, testing::ValuesIn(those(false)), test_name);

TEST(MutantsCount, IsAtLeastAHundred) { EXPECT_GE(mutants().size(), 120U); }  // with exact copies

class Synchronisation : public testing::TestWithParam<std::size_t> {};

// Every statement of the kernel that orders what its threads do, and that its cases come to, is needed.
TEST_P(Synchronisation, IsNeededLineByLine) {
  const Mutant& mutant = mutants()[GetParam()];
  reached_lines().clear();
  ASSERT_EQ(caught(mutant), "") << "a false alarm about an exact copy of " << mutant.kernel;
  const std::set<Line> lines = reached_lines();
  EXPECT_GE(lines.size(), 4U);
  for (const Line& line : lines) {
    const std::string where = line.file + ":" + std::to_string(line.number) + " " + line.text;
    if (const std::string why = why_harmless(mutant.kernel, lines, line); !why.empty()) {
      std::cout << where << ": harmless, " << why << "\n";
      continue;
    }
    const WithoutLine without(line);
    const std::string what = caught(mutant);
    EXPECT_NE(what, "") << mutant.kernel << " without " << where << " passes everything";
    std::cout << where << ": " << what.substr(0, what.find('\n')) << "\n";
  }
}

INSTANTIATE_TEST_SUITE_P(Model, Synchronisation, testing::ValuesIn(those(true)), test_name);

}  // namespace
}  // namespace flashmoe::test
