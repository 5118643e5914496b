// SPDX-License-Identifier: MIT
#include "records/json_object.h"

#include <gtest/gtest.h>

#include <limits>

#include "records/session.h"

namespace dent::json_object_test {
namespace {

TEST(JsonObject, WritesEachKindOfValueInTheOrderGiven) {
  const JsonObject object{{"text", "a \"b\"\n"},
                          {"whole", 42},
                          {"number", 1.5},
                          {"flag", true},
                          {"list", std::vector<std::string>{"x", "y"}},
                          {"map", std::map<std::string, double>{{"n", 37}}},
                          {"object", JsonObject{{"inner", 1}}},
                          {"record", record::Note{"hello"}}};
  EXPECT_EQ(object.text(),
            R"({"text":"a \"b\"\n","whole":42,"number":1.5,"flag":true,"list":["x","y"],"map":{"n":37},)"
            R"("object":{"inner":1},"record":{"text":"hello"}})");
}

TEST(JsonObject, LeavesOutWhatIsNotThere) {
  JsonObject object{{"nothing", std::optional<double>()}, {"something", std::optional<int>(3)}};
  object.may("empty", std::string()).may("zero", 0.0).may("no", false).may("none", std::vector<int>());
  object.may("full", std::string("x"));
  EXPECT_EQ(object.text(), R"({"something":3,"full":"x"})");
  EXPECT_EQ(JsonObject().text(), "{}");
  EXPECT_EQ(JsonList().text(), "[]");
}

TEST(JsonObject, TakesTheMembersOfAnother) {
  JsonObject object{{"a", 1}};
  object.add(JsonObject()).add(JsonObject(record::Note{"n"})).add({{"b", 2}});
  EXPECT_EQ(object.text(), R"({"a":1,"text":"n","b":2})");
}

TEST(JsonObject, WhatHasNoPlaceInJsonIsNullOrReplaced) {
  EXPECT_EQ(JsonValue(std::numeric_limits<double>::quiet_NaN()).text(), "null");
  EXPECT_EQ(JsonValue(std::numeric_limits<double>::infinity()).text(), "null");
  EXPECT_EQ(JsonValue("\xff").text(), "\"\xef\xbf\xbd\"");
}

TEST(JsonObject, TextOfAnotherFileIsTakenOnlyWhereItIsAnObject) {
  EXPECT_EQ(JsonValue::object_in(" {\"a\": 1}\n").text(), "{\"a\": 1}");
  for (const char* text : {"", "{", "[1]", "{\"a\": 1} more"})
    EXPECT_EQ(JsonValue::object_in(text).text(), "{}");
}

TEST(Json, IsIndentedAsItStands) {
  EXPECT_EQ(indented(R"({"b":[1,{"c":"x, {y}: \"z\""}],"a":{},"d":[ ]})", 2),
            "{\n  \"b\": [\n    1,\n    {\n      \"c\": \"x, {y}: \\\"z\\\"\"\n    }\n  ],\n  \"a\": {},\n"
            "  \"d\": []\n}");
  EXPECT_EQ(indented("{\n \"a\": 1\n}"), "{\n \"a\": 1\n}");
}

TEST(Json, IsComparedByValueButForSomeMembers) {
  EXPECT_TRUE(same_json(R"({"a":1,"b":[2.0],"c":3})", R"({"b":[2],"c":4,"a":1.0})", {"c"}));
  EXPECT_FALSE(same_json(R"({"a":1})", R"({"a":2})", {"c"}));
  EXPECT_FALSE(same_json(R"({"a":1})", "no JSON", {"a"}));
}

TEST(Json, ThatIsParsedOnceIsReadOften) {
  const ParsedJson parsed(R"({"id": 7, "do": "load"})");
  for (int pass = 0; pass < 2; ++pass) {
    int id = 0;
    parsed.read([&id](Fields& f) { f("id", id, ""); });
    EXPECT_EQ(id, 7);
  }
  EXPECT_FALSE(ParsedJson("nonsense").is_object());
  EXPECT_ANY_THROW(ParsedJson("nonsense").read([](Fields&) {}));
}

}  // namespace
}  // namespace dent::json_object_test
