// SPDX-License-Identifier: MIT
// A step is performed once, whatever becomes of the process in between.
#include "loop/steps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

class StepsTest : public ::testing::Test {
 protected:
  StepsTest() : folder_(fs::temp_directory_path() / ("dent steps " + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~StepsTest() override { fs::remove_all(folder_); }
  fs::path file() const { return folder_ / "ledger.jsonl"; }

  fs::path folder_;
  Display nobody_;
};

GateResult measured() {
  GateResult result = passed("1.5x", "go on");
  result.records.emplace_back(
      record::Comparison{.shape = "tiny", .against = Against::incumbent, .reason = "r"});
  result.figures = {{"starts", 3, ""}};
  return result;
}

TEST_F(StepsTest, ATrialIsPerformedOnceAndReadBackWithItsRecords) {
  int runs = 0;
  const auto gate = [&runs] {
    ++runs;
    return measured();
  };
  {
    Ledger ledger(file());
    Steps steps(ledger, nobody_, 1);
    steps.trial("003/screening/tiny", gate);
    const auto& records = ledger.records();
    ASSERT_EQ(records.size(), 3U);
    EXPECT_NE(records[0].as<record::Begin>(), nullptr);
    EXPECT_NE(records[2].as<record::Gate>(), nullptr);
    for (const Record& record : records) EXPECT_EQ(record.step, "003/screening/tiny");
  }
  Ledger ledger(file());  // as after a kill
  Steps steps(ledger, nobody_, 1);
  const GateResult again = steps.trial("003/screening/tiny", gate);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(again.reason(), "1.5x");
  EXPECT_EQ(again.next(), "go on");
  EXPECT_EQ(again.figures, measured().figures);
  ASSERT_NE(again.last<record::Comparison>(), nullptr);
  EXPECT_EQ(again.last<record::Comparison>()->against, Against::incumbent);
  EXPECT_EQ(ledger.records().size(), 3U);
  steps.trial("004/screening/tiny", gate);  // the same trial of another candidate
  EXPECT_EQ(runs, 2);
}

TEST_F(StepsTest, AStepThatWasInterruptedIsRepeated) {
  {
    Ledger ledger(file());
    ledger.append(record::Begin{"build"}, "build");
    ledger.append(record::Note{"half of it"}, "build");
  }
  Ledger ledger(file());
  Steps steps(ledger, nobody_, 1);
  int runs = 0;
  const GateResult result = steps.perform({.name = "build", .time_box_s = 5}, [&runs](const Progress&) {
    ++runs;
    return passed("built");
  });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(result.reason(), "built");
  ASSERT_NE(steps.facts().finished("build"), nullptr);
  EXPECT_EQ(steps.facts().finished("build")->time_box_s, 5);
  EXPECT_TRUE(steps.facts().records_of("build").empty());
}

// Whoever dies is a failed gate with a cause, also when it is read back.
TEST_F(StepsTest, AWorkerThatDiesFailsItsStep) {
  Ledger ledger(file());
  Steps steps(ledger, nobody_, 1);
  const auto dies = []() -> GateResult {
    throw KernelFailed(
        {.kind = FailureKind::hung, .what = "no answer", .last_words = "tick", .role = Role::candidate});
  };
  for (int time = 0; time < 2; ++time) {
    const GateResult result = steps.trial("001/correctness/tiny", dies);
    ASSERT_NE(result.failed(), nullptr);
    EXPECT_EQ(result.failed()->cause, Cause::timeout);
    EXPECT_EQ(result.failed()->failure, FailureKind::hung);
    EXPECT_EQ(result.failed()->last_words, "tick");
  }
}

// What is no failure of a kernel leaves nothing on record: the loop stops, and the step is done again.
TEST_F(StepsTest, AFaultOfOurOwnIsNoResult) {
  Ledger ledger(file());
  Steps steps(ledger, nobody_, 1);
  EXPECT_THROW(
      steps.trial("001/build", []() -> GateResult { throw Error(ErrorCode::environment, "disk full"); }),
      Error);
  EXPECT_TRUE(ledger.records().empty());
}

}  // namespace
}  // namespace dent
