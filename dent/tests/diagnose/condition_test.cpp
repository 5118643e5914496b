// SPDX-License-Identifier: MIT
#include "diagnose/condition.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "records/diagnosis.h"
#include "records/json.h"

namespace dent::condition_test {
namespace {

using Kind = Condition::Answer::Kind;

TEST(Condition, ComparesExpressionsOverQuantities) {
  Quantities q;
  q.set("ctas", 2);
  q.set("sms", 58);
  EXPECT_EQ(Condition("ctas < 4 * sms").ask(q).kind, Kind::yes);
  EXPECT_EQ(Condition("ctas >= sms").ask(q).kind, Kind::no);
  EXPECT_EQ(Condition("max(ctas, sms) == 58").ask(q).kind, Kind::yes);
  EXPECT_EQ(Condition("ctas < 4 * sms").in_numbers(q), "ctas 2 < 4 * sms 232");
}

TEST(Condition, WhatIsMissingOrNoNumberMakesItUnknown) {
  Quantities q;
  q.set("nan", std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(Condition("dram > 5").ask(q).kind, Kind::unknown);
  EXPECT_EQ(Condition("dram > 5").ask(q).absent, "dram");
  EXPECT_EQ(Condition("nan > 5").ask(q).kind, Kind::unknown);
  EXPECT_EQ(Condition("nan <= 5").ask(q).kind, Kind::unknown);
}

TEST(Condition, WhatDoesNotApplyMakesItNotApplicableWhateverElseIsMissing) {
  Quantities q;
  q.not_applicable("l1_hit", "TMA");
  EXPECT_EQ(Condition("l1_hit < 50").ask(q).kind, Kind::not_applicable);
  EXPECT_EQ(Condition("missing + l1_hit < 50").ask(q).kind, Kind::not_applicable);
}

TEST(Condition, ZeroByZeroIsUnknown) {
  Quantities q;
  q.set("zero", 0);
  EXPECT_EQ(Condition("zero / zero < 1").ask(q).kind, Kind::unknown);
}

TEST(Condition, NonsenseIsRefusedWhenItIsRead) {
  for (const char* text :
       {"", "ctas", "ctas <", "< 3", "ctas = 3", "ctas ! 3", "ctas < ) 3", "frob(ctas) < 1"}) {
    EXPECT_THROW(Condition{text}, Error) << text;
  }
}

TEST(Quantities, GoThroughJsonWithTheirAbsences) {
  Quantities q;
  q.set("dram", 71.5);
  q.set("nan", std::numeric_limits<double>::infinity());
  q.not_applicable("l1_hit", "TMA");
  q.put("gone", {Presence::missing, 0, "ncu gave no value"});
  record::Diagnosis record;
  record.metrics = q;
  const Quantities back = from_json_text<record::Diagnosis>(to_json_text(record)).metrics;
  EXPECT_EQ(back["dram"], 71.5);
  for (const char* key : {"nan", "l1_hit", "gone"}) {
    EXPECT_EQ(back.at(key).presence, q.at(key).presence) << key;
    EXPECT_EQ(back.at(key).why, q.at(key).why) << key;
  }
  EXPECT_THROW(back["l1_hit"], Error);
}

}  // namespace
}  // namespace dent::condition_test
