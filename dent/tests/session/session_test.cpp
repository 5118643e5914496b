// SPDX-License-Identifier: MIT
// A step is performed once, whatever becomes of the process in between; and one that fails has a cause.
#include "session/session.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "gates/bench.h"

namespace dent::session_test {
namespace {

using test::Bench;

// A gate that does what the test says.
class Scripted : public Gate {
 public:
  explicit Scripted(std::function<GateResult()> script) : script_(std::move(script)) {}
  const GateInfo& info() const override {
    static const GateInfo kInfo{.name = "scripted",
                                .command = "",
                                .question = "What does the test say?",
                                .about = "",
                                .passes_when = "it says so",
                                .uses = Uses::device};
    return kInfo;
  }
  PlanEntry plan(const Project&) const override { return {5, "when it says so"}; }
  GateResult run(GateContext&) const override {
    ++runs;
    return script_();
  }
  mutable int runs = 0;

 private:
  std::function<GateResult()> script_;
};

GateResult measured() {
  GateResult result = passed("1.5x", "go on");
  result.records.emplace_back(
      record::Comparison{.shape = "tiny", .against = Against::incumbent, .reason = "r"});
  result.figures = {{"starts", 3, ""}};
  return result;
}

class SessionTest : public ::testing::Test {
 protected:
  Step step(const Gate& gate, const std::string& name, bool shown = true) const {
    Step step = step_of(gate, bench_.project, name);
    step.shown = shown;
    return step;
  }
  Session session() { return {bench_.project, bench_.store, folder_, nobody_}; }

  Bench bench_{"right"};
  SessionFolder folder_ = bench_.store.create();
  Observer nobody_;
};

TEST_F(SessionTest, AStepIsPerformedOnceAndReadBackWithItsRecords) {
  const Scripted gate(measured);
  for (const bool shown : {true, false}) {
    const std::string name = shown ? "scripted/tiny" : "003/screening/tiny";
    const int before = gate.runs;
    session().perform(step(gate, name, shown), bench_.sides);
    Session again = session();  // as after a kill
    const GateResult result = again.perform(step(gate, name, shown), bench_.sides);
    EXPECT_EQ(gate.runs, before + 1);
    EXPECT_EQ(result.reason(), "1.5x");
    EXPECT_EQ(result.next(), "go on");
    EXPECT_EQ(result.figures, measured().figures);
    ASSERT_NE(result.last<record::Comparison>(), nullptr);
    EXPECT_EQ(result.last<record::Comparison>()->against, Against::incumbent);
    const record::Gate* on_record = again.facts().finished(name);
    ASSERT_NE(on_record, nullptr);
    EXPECT_EQ(on_record->time_box_s, 5);
    EXPECT_EQ(on_record->uses, Uses::device);
    EXPECT_EQ(on_record->seed.size(), 16U);
  }
}

TEST_F(SessionTest, AStepThatWasInterruptedIsRepeated) {
  {
    Ledger ledger(folder_.ledger());
    ledger.append(record::Begin{"scripted"}, "scripted");
    ledger.append(record::Note{"half of it"}, "scripted");
  }
  const Scripted gate([] { return passed("done"); });
  Session again = session();
  EXPECT_EQ(again.perform(step(gate, "scripted"), bench_.sides).reason(), "done");
  EXPECT_EQ(gate.runs, 1);
  EXPECT_TRUE(again.facts().records_of("scripted").empty());
}

TEST_F(SessionTest, AWorkerThatDiesFailsItsStep) {
  const Scripted gate([]() -> GateResult {
    throw KernelFailed(
        {.kind = FailureKind::hung, .what = "no answer", .last_words = "tick", .role = Role::candidate});
  });
  for (int time = 0; time < 2; ++time) {  // also when it is read back
    const GateResult result = session().perform(step(gate, "001/correctness/tiny", false), bench_.sides);
    ASSERT_NE(result.failed(), nullptr);
    EXPECT_EQ(result.failed()->cause, Cause::timeout);
    EXPECT_EQ(result.failed()->failure, FailureKind::hung);
    EXPECT_EQ(result.failed()->last_words, "tick");
  }
  EXPECT_EQ(gate.runs, 1);
}

TEST_F(SessionTest, AStepThatMayFailIsSkipped) {
  const Scripted gate([]() -> GateResult { throw Error(ErrorCode::environment, "no profiler"); });
  Step may = step(gate, "diagnosis/000");
  may.may_fail = true;
  const GateResult result = session().perform(may, bench_.sides);
  EXPECT_EQ(result.verdict(), StepVerdict::skipped);
  EXPECT_NE(result.reason().find("no profiler"), std::string::npos);
}

// What is no failure of a kernel leaves no end on record: the step is done again.
TEST_F(SessionTest, AFaultOfOurOwnIsNoResult) {
  const Scripted gate([]() -> GateResult { throw Error(ErrorCode::environment, "disk full"); });
  Session one = session();
  EXPECT_THROW(one.perform(step(gate, "001/build", false), bench_.sides), Error);
  EXPECT_TRUE(one.records().empty());
}

TEST_F(SessionTest, GoesOnOnlyWithASessionOfItsKind) {
  {
    Session one = session();
    one.open({.command = "optimize"}, bench_.sides);
  }
  EXPECT_EQ(session_to_resume(bench_.store, bench_.project, "latest", "optimize").id, folder_.id);
  for (const char* command : {"run", "evaluate"}) {
    try {
      session_to_resume(bench_.store, bench_.project, folder_.id, command);
      ADD_FAILURE() << command;
    } catch (const Error& error) {
      EXPECT_NE(error.in_one_line().find("dent optimize --resume " + folder_.id), std::string::npos);
    }
  }
  Project changed = bench_.project;
  changed.correctness.seeds += 1;
  EXPECT_THROW(session_to_resume(bench_.store, changed, folder_.id, "optimize"), Error);
}

}  // namespace
}  // namespace dent::session_test
