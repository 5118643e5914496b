// SPDX-License-Identifier: MIT
// Each verdict of a session whose kernels take the time that a script says: by exit code, in JSON, and in the
// report.
#include <gtest/gtest.h>

#include <string>

#include "ledger/session_store.h"
#include "session/dent_program.h"

namespace dent::verdict_test {
namespace {

using test::Ran;
using test::ScratchProject;

struct Expected {
  const char* entry;  // compared with `right`
  int code;
  std::string verdict;
  double ratio;
  std::string shape_verdict{};  // where the session's is another
};

// A share of what is expected, for the script's own spread.
constexpr double kSpread = 0.01;

void expect(const Expected& expected, const std::string& before = {}) {
  SCOPED_TRACE(std::string(expected.entry) + " " + before);
  const ScratchProject project;
  project.write_scale_manifest(expected.entry, "[performance]\nseconds = 0.3\nstop_below = 0.01\n");
  const Ran ran = project.dent({"run", "-q", "--json", "--without", "profile"}, 600, before);
  EXPECT_EQ(ran.code, expected.code) << ran.out << ran.err;
  const auto document = ran.json();
  ASSERT_TRUE(document.is_object()) << ran.out << ran.err;
  EXPECT_EQ(document.value("verdict", ""), expected.verdict) << ran.out;
  const auto& shapes = document.at("report").at("comparisons");
  ASSERT_EQ(shapes.size(), 2U);
  for (const auto& shape : shapes) {
    EXPECT_EQ(shape.at("verdict"),
              expected.shape_verdict.empty() ? expected.verdict : expected.shape_verdict);
    const auto& ratio = shape.at("ratio");
    EXPECT_LE(ratio.at("low"), expected.ratio * (1 + kSpread)) << shape.dump(1);
    EXPECT_GE(ratio.at("high"), expected.ratio / (1 + kSpread)) << shape.dump(1);
  }
  const std::string report = text_of(SessionStore(project.folder()).find("latest").folder / "report.md");
  EXPECT_NE(report.find(expected.verdict), std::string::npos) << report;
}

TEST(Verdict, Faster) { expect({"quick", 0, "FASTER", 2}); }
TEST(Verdict, Same) { expect({"right", 0, "SAME", 1}); }
TEST(Verdict, Slower) { expect({"slow", 6, "SLOWER", 0.2}); }
TEST(Verdict, Ambiguous) { expect({"unsteady", 8, "AMBIGUOUS", 1}); }

// A small difference is one over several starts.
TEST(Verdict, SlowerByLittle) { expect({"takes_115", 6, "SLOWER", 200.0 / 230}); }

TEST(Verdict, BusyMachine) {
  expect({"right", 15, "BUSY MACHINE", 1, "AMBIGUOUS"}, "DENT_SCRIPTED_OTHERS=1.5 DENT_SCRIPTED_WAITED=0.3");
}

// The real dent takes its kernels' times from a clock, whatever a library says of itself.
TEST(Verdict, TheRealDentKnowsNoScript) {
  const ScratchProject project(DENT_REAL);
  project.write_scale_manifest("quick", "[performance]\nseconds = 0.3\nstop_below = 0.001\n");
  const Ran ran = project.dent({"bench", "-q", "--json", "--shape", "tiny"}, 600, "DENT_SCRIPTED_OTHERS=1.5");
  const auto document = ran.json();
  ASSERT_TRUE(document.is_object()) << ran.out << ran.err;
  const auto& shape = document.at("report").at("comparisons").at(0);
  EXPECT_LT(shape.at("candidate_ns"), 50e3) << shape.dump(1);  // 37 elements; its script says 100 us
}

}  // namespace
}  // namespace dent::verdict_test
