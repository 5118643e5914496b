// SPDX-License-Identifier: MIT
// Every kind of record, with all fields filled, is equal after writing and reading; and reading fails if a
// required field is removed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "records/json.h"
#include "records/line.h"

namespace dent::round_trip_test {
namespace {

// Fills every field with a non-default value, and lists the required ones.
class Filler : public Fields {
 public:
  std::vector<std::string> required;  // required fields of the record itself

 private:
  void text(const Field& field, std::string& value) override {
    note(field);
    value = "text " + std::to_string(++count_);
  }
  void number(const Field& field, double& value) override {
    note(field);
    value = ++count_ + 0.5;
  }
  void any_number(const Field& field, double& value) override { number(field, value); }
  void whole(const Field& field, std::int64_t& value) override {
    note(field);
    value = ++count_ % 50 + 1;
  }
  void flag(const Field& field, bool& value) override {
    note(field);
    value = true;
  }
  void word(const Field& field, std::span<const std::string_view> words, std::size_t& chosen) override {
    note(field);
    chosen = words.size() - 1;
  }
  void quantity(const Field& field, Reading& reading) override {
    note(field);
    reading = {Presence::not_applicable, 0, "why " + std::to_string(++count_)};
  }
  bool has(const Field&, bool) override { return true; }
  std::size_t enter(const Field& field, Structure structure, std::size_t) override {
    note(field);
    ++depth_;
    return structure == Structure::object ? 1 : 2;
  }
  void leave() override { --depth_; }
  std::string key(std::size_t i) override { return "key" + std::to_string(i); }
  bool keeps() const override { return false; }

  void note(const Field& field) {
    if (depth_ == 0 && field.required) required.emplace_back(field.name);
  }

  int count_ = 0, depth_ = 0;
};

template <class Kind>
void goes_there_and_back() {
  SCOPED_TRACE(std::string(Kind::kKind));
  Kind filled{};
  Filler filler;
  fields(filler, filled);
  std::string chain, again;
  const std::string line = to_line({1, "t", "a step", filled}, chain);
  const Record back = parse_line(line, again).records.at(0);
  ASSERT_NE(back.as<Kind>(), nullptr);
  EXPECT_EQ(*back.as<Kind>(), filled) << line;
  const auto whole = nlohmann::json::parse(line);
  for (const std::string& field : filler.required) {
    auto without = whole;
    ASSERT_EQ(without["data"].erase(field), 1U) << field;
    try {
      std::string none;
      parse_line(without.dump(), none);
      FAIL() << "read without " << field;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("field " + field + " is missing"), std::string::npos)
          << error.what();
    }
  }
}

template <std::size_t... I>
void every_kind(std::index_sequence<I...>) {
  (goes_there_and_back<std::variant_alternative_t<I, RecordKinds>>(), ...);
}

TEST(RoundTrip, EveryKindIsTheSameAfterALineAndBack) {
  every_kind(std::make_index_sequence<std::variant_size_v<RecordKinds> - 1>());  // the last kind is Unknown
}

}  // namespace
}  // namespace dent::round_trip_test
