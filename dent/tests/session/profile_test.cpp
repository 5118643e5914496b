// SPDX-License-Identifier: MIT
// The profile gate in whole sessions, on the CPU: it always answers, says when it is degraded, and follows
// what is slow.
#include <gtest/gtest.h>

#include <fstream>

#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "session/dent_program.h"

namespace dent::profile_test {
namespace {

using test::Ran;
using test::ScratchProject;

// The last record of a kind; `step`: of that step alone.
template <class Kind>
const Kind* last(const std::vector<Record>& records, const std::string& step = {}) {
  const Kind* found = nullptr;
  for (const Record& record : records) {
    if (record.as<Kind>() != nullptr && (step.empty() || record.step == step)) found = record.as<Kind>();
  }
  return found;
}

TEST(DentProfile, NamesOneBottleneckWithItsNumbers) {
  const ScratchProject project;
  project.write_scale_manifest("right");
  const Ran ran = project.dent({"profile", "--shape", "small", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  const auto report = ran.json().at("report");
  ASSERT_EQ(report.at("diagnoses").size(), 1U) << ran.out;
  const auto& diagnosis = report.at("diagnoses").at(0);
  EXPECT_EQ(diagnosis.at("shape"), "small");
  EXPECT_EQ(diagnosis.at("device"), "cpu");
  EXPECT_EQ(diagnosis.at("operator"), "scale");
  EXPECT_EQ(diagnosis.at("family"), "other");
  EXPECT_EQ(diagnosis.at("dtypes").at(0), "fp32");
  EXPECT_EQ(diagnosis.at("metrics").at("flops_share").at("absent"), "not applicable");  // it declares none
  EXPECT_TRUE(diagnosis.contains("bottleneck") != diagnosis.contains("refusal")) << diagnosis.dump(1);
  EXPECT_GT(diagnosis.at("metrics").at("duration_us").get<double>(), 0);
  EXPECT_FALSE(diagnosis.at("targets").empty());
  if (diagnosis.at("degraded").get<bool>()) {
    EXPECT_FALSE(diagnosis.at("why").get<std::string>().empty());
    EXPECT_EQ(diagnosis.at("metrics").at("ipc").at("absent"), "not applicable");
  }
  const auto session = SessionStore(project.folder()).find("latest");
  EXPECT_NE(text_of(session.folder / "report.html").find("Diagnosis of small"), std::string::npos);
  EXPECT_NE(text_of(session.folder / "report.md").find("## Diagnosis of small"), std::string::npos);
}

TEST(DentProfile, IsTakenOfTheSlowestShapeWhenOneIsSlow) {
  const ScratchProject project;
  // Whatever it measures, 50x of the baseline is asked for.
  project.write_scale_manifest("slow",
                               "[performance]\nseconds = 0.5\nstop_below = 0.001\nprofile_below = 50\n");
  const Ran ran = project.dent({"run", "--shape", "small"});
  EXPECT_EQ(ran.code, 6) << ran.out << ran.err;
  const auto session = SessionStore(project.folder()).find("latest");
  const auto records = read_ledger(session.ledger()).records;
  const auto* gate = last<record::Gate>(records, "profile");
  ASSERT_NE(gate, nullptr);
  EXPECT_EQ(gate->verdict, StepVerdict::pass) << gate->reason;  // although performance failed before it
  const auto* diagnosis = last<record::Diagnosis>(records);
  ASSERT_NE(diagnosis, nullptr);
  EXPECT_EQ(diagnosis->shape, "small");
  ASSERT_NE(last<record::Verdict>(records), nullptr);
  EXPECT_EQ(last<record::Verdict>(records)->verdict, Verdict::slower);
}

TEST(DentProfile, OfAWrongKernelIsNotTaken) {
  const ScratchProject project;
  project.write_scale_manifest("wrong");
  const Ran ran = project.dent({"profile", "--shape", "tiny"});
  EXPECT_EQ(ran.code, 5) << ran.out;
  const auto records = read_ledger(SessionStore(project.folder()).find("latest").ledger()).records;
  EXPECT_EQ(last<record::Diagnosis>(records), nullptr);
}

TEST(DentPatterns, AreListedMatchedAndAdded) {
  const ScratchProject project;
  project.write_scale_manifest("right");
  ASSERT_EQ(project.dent({"profile", "--shape", "small", "-q"}).code, 0);
  const auto bottleneck = [&] {
    const auto records = read_ledger(SessionStore(project.folder()).find("latest").ledger()).records;
    return last<record::Diagnosis>(records)->finding.bottleneck;
  }();
  const Ran added = project.dent({"patterns", "add", "--title", "Keep it small!", "--rule", "less is more",
                                  "--fix", "write less", "--bottleneck", bottleneck, "--gain", "1.5"});
  ASSERT_EQ(added.code, 0) << added.err;
  EXPECT_TRUE(std::filesystem::exists(project.folder() / "patterns/keep-it-small.toml"));
  EXPECT_EQ(project.dent({"patterns", "add", "--title", "keep it small", "--rule", "r", "--fix", "f"}).code,
            2);
  EXPECT_EQ(
      project.dent({"patterns", "add", "--title", "bad", "--rule", "r", "--fix", "f", "--when", "no"}).code,
      2);
  EXPECT_FALSE(std::filesystem::exists(project.folder() / "patterns/bad.toml"));
  const Ran matched = project.dent({"patterns", "match", "latest", "--json"});
  ASSERT_EQ(matched.code, 0) << matched.err;
  EXPECT_NE(matched.out.find("keep-it-small"), std::string::npos) << matched.out;
  const auto listed = project.dent({"patterns", "--json"}).json();
  EXPECT_GT(listed.at("patterns").size(), 26U);
}

}  // namespace
}  // namespace dent::profile_test
