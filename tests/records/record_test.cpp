// SPDX-License-Identifier: MIT
#include "records/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace dent {
namespace {

TEST(Record, GoesToALineAndBack) {
  const Record record{
      7, "2026-03-31T14:05:09.123Z", "note", {{"text", "two\nlines, \"quoted\""}, {"x", 1.5}}};
  const std::string line = to_line(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.rfind(R"({"schema":1,"n":7,"time":"2026-03-31T14:05:09.123Z","kind":"note")", 0), 0u)
      << line;
  const Record back = parse_record(line);
  EXPECT_EQ(back.number, 7);
  EXPECT_EQ(back.kind, "note");
  EXPECT_EQ(back.data, record.data);
}

TEST(Record, RefusesNumbersThatJsonLacksAndSaysWhere) {
  for (double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    try {
      to_line({1, "t", "comparison", {{"ratio", {1.0, bad}}}});
      FAIL() << bad << " was written";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("comparison.ratio.1"), std::string::npos) << error.what();
    }
  }
}

TEST(Record, TakesLastWordsThatAreNotText) {
  const std::string line = to_line({1, "t", "gate", {{"last_words", "\xff\xfe ok"}}});
  EXPECT_NE(parse_record(line).data.at("last_words").get<std::string>().find(" ok"), std::string::npos);
}

TEST(Record, RefusesWhatIsNone) {
  for (const char* line : {"", "{", "[]", "{}", "null", R"({"schema":1,"n":1,"time":"t","kind":"k"})",
                           R"({"schema":1,"n":"1","time":"t","kind":"k","data":{}})"}) {
    EXPECT_THROW(parse_record(line), Error) << line;
  }
}

TEST(Record, RefusesANewerSchemaByName) {
  try {
    parse_record(R"({"schema":2,"n":1,"time":"t","kind":"k","data":{}})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("schema 2"), std::string::npos);
  }
}

TEST(Record, TimeIsUtcToTheMillisecond) {
  std::string form = utc_now();
  std::replace_if(
      form.begin(), form.end(), [](char c) { return c >= '0' && c <= '9'; }, 'd');
  EXPECT_EQ(form, "dddd-dd-ddTdd:dd:dd.dddZ");
}

}  // namespace
}  // namespace dent
