// SPDX-License-Identifier: MIT
#include "records/line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace dent::line_test {
namespace {

std::string line_of(AnyRecord data) {
  std::string chain;
  return to_line({7, "2026-03-31T14:05:09.123Z", "correctness/tiny", std::move(data)}, chain);
}

Record parsed(const std::string& line) {
  std::string chain;
  return parse_line(line, chain).records.at(0);
}

TEST(Line, GoesThereAndBack) {
  const record::Note note{"two\nlines, \"quoted\""};
  const std::string line = line_of(note);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(line.starts_with(R"({"schema":2,"n":7,"time":"2026-03-31T14:05:09.123Z","kind":"note",)"))
      << line;
  const Record back = parsed(line);
  EXPECT_EQ(back.number, 7);
  EXPECT_EQ(back.step, "correctness/tiny");
  ASSERT_NE(back.as<record::Note>(), nullptr);
  EXPECT_EQ(*back.as<record::Note>(), note);
}

TEST(Line, RefusesNumbersThatJsonLacksAndSaysWhere) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    record::Comparison comparison;
    comparison.ratio = Ratio{1.0, {bad, 1.0}};
    try {
      line_of(comparison);
      FAIL() << bad << " was written";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("ratio.low"), std::string::npos) << error.what();
    }
  }
}

TEST(Line, WritesValuesOfAKernelWhateverTheyAre) {
  record::Correctness wrong;
  wrong.first_bad = record::FirstBad{"y[3]", {std::nan("")}, {-HUGE_VAL}};
  const Record back = parsed(line_of(wrong));
  ASSERT_NE(back.as<record::Correctness>(), nullptr);
  EXPECT_EQ(*back.as<record::Correctness>(), wrong);
}

TEST(Line, TakesLastWordsThatAreNotText) {
  record::Gate gate;
  gate.last_words = "\xff\xfe ok";
  EXPECT_NE(parsed(line_of(gate)).as<record::Gate>()->last_words.find(" ok"), std::string::npos);
}

TEST(Line, RefusesWhatIsNone) {
  for (const char* line : {"", "{", "[]", "{}", "null", R"({"schema":2,"n":1,"time":"t","kind":"note"})",
                           R"({"schema":2,"n":"1","time":"t","kind":"note","data":{"text":"x"}})",
                           R"({"schema":2,"n":1,"time":"t","kind":"note","data":{}})"}) {
    EXPECT_THROW(parsed(line), Error) << line;
  }
}

TEST(Line, NamesTheFieldThatIsMissingOrOfAnotherType) {
  const auto problem_of = [](const char* data) {
    try {
      parsed(std::string(R"({"schema":2,"n":1,"time":"t","kind":"gate","data":)") + data + "}");
      return std::string("read");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(problem_of(R"({"step":"build"})").find("field verdict is missing"), std::string::npos);
  EXPECT_NE(problem_of(R"({"step":7})").find("field step is not a text"), std::string::npos);
  EXPECT_NE(problem_of(R"({"step":"build","verdict":"good"})").find("known are pass, fail, skipped"),
            std::string::npos);
}

TEST(Line, AKindOfALaterDentIsKeptAsItIs) {
  const Record back = parsed(R"({"schema":2,"n":1,"time":"t","kind":"dream","data":{"of":"sheep"}})");
  ASSERT_NE(back.as<record::Unknown>(), nullptr);
  EXPECT_EQ(back.as<record::Unknown>()->kind, "dream");
  EXPECT_EQ(back.as<record::Unknown>()->text, R"({"of":"sheep"})");
}

TEST(Line, RefusesANewerSchemaByName) {
  try {
    parsed(R"({"schema":3,"n":1,"time":"t","kind":"note","data":{"text":"x"}})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("schema 3"), std::string::npos);
  }
}

TEST(Line, RefusesWhatIsNestedTooDeep) {
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  EXPECT_THROW(parsed(R"({"schema":2,"n":1,"time":"t","kind":"note","data":)" + deep + "}"), Error);
}

TEST(Line, TheChainDependsOnEveryByteBeforeIt) {
  std::string one, other = "x";
  to_line({1, "t", "", record::Note{"a"}}, one);
  to_line({1, "t", "", record::Note{"a"}}, other);
  EXPECT_NE(one, other);
  EXPECT_EQ(one.size(), 64U);
}

TEST(Line, TimeIsUtcToTheMillisecond) {
  std::string form = utc_now();
  std::replace_if(
      form.begin(), form.end(), [](char c) { return c >= '0' && c <= '9'; }, 'd');
  EXPECT_EQ(form, "dddd-dd-ddTdd:dd:dd.dddZ");
}

}  // namespace
}  // namespace dent::line_test
