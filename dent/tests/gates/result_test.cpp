// SPDX-License-Identifier: MIT
// For every failure of a worker, the gate must fail with the right cause.
#include "gates/result.h"

#include <gtest/gtest.h>

namespace dent::result_test {
namespace {

Cause cause_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::hung:
      return Cause::timeout;
    case FailureKind::cheated:
      return Cause::cheat;
    case FailureKind::no_driver:
      return Cause::environment;
    case FailureKind::crashed:
    case FailureKind::exited:
    case FailureKind::garbage:
    case FailureKind::refused:
    case FailureKind::out_of_memory:
      break;
  }
  return Cause::incorrect;
}

TEST(GateResult, AFailedWorkerIsAFailedGateWithItsCause) {
  for (const Word<FailureKind>& kind : kFailureKindWords) {
    for (const Role judged : {Role::candidate, Role::sanitized, Role::profiled}) {
      const GateResult result =
          failed(Failure{.kind = kind.value, .what = "what", .last_words = "words", .role = judged}, "step");
      ASSERT_NE(result.failed(), nullptr) << kind.word;
      EXPECT_EQ(result.failed()->cause, cause_of(kind.value)) << kind.word;
      EXPECT_EQ(result.failed()->failure, kind.value);
      EXPECT_EQ(result.failed()->last_words, "words");
      EXPECT_NE(result.reason().find("what"), std::string::npos);
      EXPECT_EQ(result.last<record::Cheated>() != nullptr, kind.value == FailureKind::cheated);
    }
  }
}

TEST(GateResult, WhoeverIsComparedWithSaysNothingAboutTheCandidate) {
  for (const Word<FailureKind>& kind : kFailureKindWords) {
    for (const Role other : {Role::baseline, Role::reference, Role::incumbent}) {
      const GateResult result =
          failed(Failure{.kind = kind.value, .what = "what", .last_words = "", .role = other}, "step");
      ASSERT_NE(result.failed(), nullptr);
      EXPECT_EQ(result.failed()->cause, Cause::environment) << name(other) << " " << kind.word;
      EXPECT_NE(result.next().find(name(other)), std::string::npos);
    }
  }
}

TEST(GateResult, EveryCheatIsOnRecordByName) {
  for (const Word<Cheat>& which : kCheatWords) {
    const GateResult result = cheat(which.value, "evidence", "performance/tiny", "tiny");
    EXPECT_EQ(result.failed()->cause, Cause::cheat);
    ASSERT_NE(result.last<record::Cheated>(), nullptr);
    EXPECT_EQ(result.last<record::Cheated>()->cheat, which.value);
    EXPECT_NE(result.reason().find(which.word), std::string::npos);
  }
}

TEST(GateResult, IsTheSameWhenItIsReadBack) {
  GateResult result = failed(Cause::slower, "why", "what next", "last words");
  result.figures = {{"starts", 3, ""}};
  const GateResult again = result_of(to_record(result, "step"));
  ASSERT_NE(again.failed(), nullptr);
  EXPECT_EQ(again.failed()->cause, Cause::slower);
  EXPECT_EQ(again.reason(), "why");
  EXPECT_EQ(again.next(), "what next");
  EXPECT_EQ(again.failed()->last_words, "last words");
  EXPECT_EQ(again.figures, result.figures);
  EXPECT_NE(result_of(to_record(passed("p"), "s")).passed(), nullptr);
  EXPECT_EQ(result_of(to_record(skipped("s"), "s")).verdict(), StepVerdict::skipped);
}

}  // namespace
}  // namespace dent::result_test
