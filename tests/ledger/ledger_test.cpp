// SPDX-License-Identifier: MIT
#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "base/error.h"
#include "ledger/in_child.h"

namespace dent {
namespace {

using test::ScratchFolder;

void add_bytes(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::app | std::ios::binary) << bytes;
}

TEST(Ledger, NumbersItsRecordsAndGoesOnWhereItEnded) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  {
    Ledger ledger(file);
    EXPECT_EQ(ledger.append("note", {{"text", "one"}}).number, 1);
    EXPECT_EQ(ledger.append("note", {{"text", "two"}}).number, 2);
  }
  Ledger ledger(file);
  ASSERT_EQ(ledger.records().size(), 2u);
  EXPECT_EQ(ledger.append("note", {{"text", "three"}}).number, 3);
  const auto content = read_ledger(file);
  ASSERT_EQ(content.records.size(), 3u);
  EXPECT_EQ(content.records[2].data.at("text"), "three");
  EXPECT_EQ(content.torn_bytes, 0u);
}

// A line may end anywhere when its writer dies; every one of those ends is tried.
TEST(Ledger, ATornLastLineIsCutOffWhereverItTore) {
  const std::string torn = to_line({3, "2026-01-01T00:00:00.000Z", "note", {{"text", "never finished"}}});
  for (std::size_t length = 1; length <= torn.size(); ++length) {
    ScratchFolder folder;
    const auto file = folder / "ledger.jsonl";
    {
      Ledger ledger(file);
      ledger.append("note", {{"text", "one"}});
      ledger.append("note", {{"text", "two"}});
    }
    add_bytes(file, std::string_view(torn).substr(0, length));
    ASSERT_EQ(read_ledger(file).records.size(), 2u);
    ASSERT_EQ(read_ledger(file).torn_bytes, length) << "reading must not repair";
    Ledger ledger(file);
    ASSERT_EQ(ledger.torn_bytes(), length);
    ASSERT_EQ(ledger.append("note", {{"text", "three"}}).number, 3);
    ASSERT_EQ(read_ledger(file).records.back().data.at("text"), "three");
  }
}

TEST(Ledger, AnEndThatNeverReachedTheDiskIsCutOff) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger(file).append("note", {});
  add_bytes(file, std::string(100, '\0') + "\"}}\n");
  Ledger ledger(file);
  EXPECT_EQ(ledger.records().size(), 1u);
  EXPECT_EQ(ledger.torn_bytes(), 104u);
}

TEST(Ledger, DamageAnywhereElseIsAnErrorAndLeftAlone) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  {
    Ledger ledger(file);
    ledger.append("note", {});
  }
  add_bytes(file, "not a record\n");
  Ledger* never = nullptr;
  try {
    never = new Ledger(file);
    FAIL() << "opened a damaged ledger";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
  }
  delete never;
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find("not a record\n"), std::string::npos);
}

TEST(Ledger, AGapInTheNumbersIsAnError) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger(file).append("note", {});
  add_bytes(file, to_line({3, "t", "note", {}}) + "\n" + to_line({4, "t", "note", {}}) + "\n");
  EXPECT_THROW(read_ledger(file), Error);
}

TEST(Ledger, ARecordOfANewerDentIsNeverCutOff) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger(file).append("note", {});
  add_bytes(file, "{\"schema\":9,\"n\":2,\"time\":\"t\",\"kind\":\"k\",\"data\":{}}\n");
  const auto bytes = std::filesystem::file_size(file);
  EXPECT_THROW(Ledger{file}, Error);
  EXPECT_EQ(std::filesystem::file_size(file), bytes);
}

// A kernel runs with its user's rights, and could write a verdict of its own.
TEST(Ledger, WhatSomeoneElseWroteIsNoticed) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger ledger(file);
  ledger.append("note", {});
  add_bytes(file, to_line({2, "t", "verdict", {{"verdict", "FASTER"}}}) + "\n");
  EXPECT_THROW(ledger.append("note", {}), Error);
  EXPECT_THROW(ledger.append("note", {}), Error) << "and not only once";
}

TEST(Ledger, ARefusedRecordLeavesNoTrace) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger ledger(file);
  ledger.append("note", {});
  EXPECT_THROW(ledger.append("note", {{"x", std::nan("")}}), Error);
  EXPECT_EQ(ledger.append("note", {}).number, 2);
  EXPECT_EQ(read_ledger(file).records.size(), 2u);
}

}  // namespace
}  // namespace dent
