// SPDX-License-Identifier: MIT
#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "base/error.h"
#include "ledger/in_child.h"
#include "records/line.h"

namespace dent::ledger_test {
namespace {

using test::ScratchFolder;

void add_bytes(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::app | std::ios::binary) << bytes;
}

std::string text_in(const Record& record) {
  const auto* note = record.as<record::Note>();
  return note != nullptr ? note->text : "no note";
}

TEST(Ledger, NumbersItsRecordsAndGoesOnWhereItEnded) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  {
    Ledger ledger(file);
    ledger.append(record::Note{"one"});
    ledger.append(record::Note{"two"});
    EXPECT_EQ(ledger.records().back().number, 2);
  }
  Ledger ledger(file);
  ASSERT_EQ(ledger.records().size(), 2u);
  ledger.append(record::Note{"three"});
  EXPECT_EQ(ledger.records().back().number, 3);
  const auto content = read_ledger(file);
  ASSERT_EQ(content.records.size(), 3u);
  EXPECT_EQ(text_in(content.records[2]), "three");
  EXPECT_EQ(content.chain, ledger.chain());
  EXPECT_EQ(content.torn_bytes, 0u);
}

// A line may be cut anywhere if its writer dies; this tests every position.
TEST(Ledger, ATornLastLineIsCutOffWhereverItTore) {
  std::string chain;
  const std::string torn =
      to_line({3, "2026-01-01T00:00:00.000Z", "", record::Note{"never finished"}}, chain);
  for (std::size_t length = 1; length <= torn.size(); ++length) {
    ScratchFolder folder;
    const auto file = folder / "ledger.jsonl";
    {
      Ledger ledger(file);
      ledger.append(record::Note{"one"});
      ledger.append(record::Note{"two"});
    }
    add_bytes(file, std::string_view(torn).substr(0, length));
    ASSERT_EQ(read_ledger(file).records.size(), 2u);
    ASSERT_EQ(read_ledger(file).torn_bytes, length) << "reading must not repair";
    Ledger ledger(file);
    ASSERT_EQ(ledger.torn_bytes(), length);
    ledger.append(record::Note{"three"});
    ASSERT_EQ(ledger.records().back().number, 3);
    ASSERT_EQ(text_in(read_ledger(file).records.back()), "three");
  }
}

TEST(Ledger, AnEndThatNeverReachedTheDiskIsCutOff) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger(file).append(record::Note{});
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
    ledger.append(record::Note{});
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
  Ledger(file).append(record::Note{});
  std::string chain = read_ledger(file).chain;
  add_bytes(file, to_line({3, "t", "", record::Note{}}, chain) + "\n");
  add_bytes(file, to_line({4, "t", "", record::Note{}}, chain) + "\n");
  EXPECT_THROW(read_ledger(file), Error);
}

TEST(Ledger, ARecordOfANewerDentIsNeverCutOff) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger(file).append(record::Note{});
  add_bytes(file, "{\"schema\":9,\"n\":2,\"time\":\"t\",\"kind\":\"k\",\"data\":{}}\n");
  const auto bytes = std::filesystem::file_size(file);
  EXPECT_THROW(Ledger{file}, Error);
  EXPECT_EQ(std::filesystem::file_size(file), bytes);
}

// A kernel runs with its user's rights, so it could write a verdict into the ledger.
TEST(Ledger, WhatSomeoneElseWroteIsNoticed) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger ledger(file);
  ledger.append(record::Note{});
  std::string chain = ledger.chain();
  add_bytes(file, to_line({2, "t", "", record::Verdict{.verdict = Verdict::faster, .reason = "", .next = ""}},
                          chain) +
                      "\n");
  EXPECT_THROW(ledger.append(record::Note{}), Error);
  EXPECT_THROW(ledger.append(record::Note{}), Error) << "and not only once";
}

TEST(Ledger, ARefusedRecordLeavesNoTrace) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger ledger(file);
  ledger.append(record::Note{});
  EXPECT_THROW(ledger.append(record::Roofline{"", std::nan(""), 0, PeakSource::table}), Error);
  ledger.append(record::Note{});
  EXPECT_EQ(ledger.records().back().number, 2);
  EXPECT_EQ(read_ledger(file).records.size(), 2u);
}

// A changed number, a removed line, two swapped lines: each error names its line.
TEST(Ledger, WhatWasEditedInPlaceIsNamedByItsLine) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  {
    Ledger ledger(file);
    for (const char* text : {"one", "two", "three", "four"}) ledger.append(record::Note{text});
  }
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const auto problem_of = [&](const std::vector<std::string>& forged) {
    std::ofstream out(file, std::ios::trunc);
    for (const std::string& line : forged) out << line << '\n';
    out.close();
    try {
      read_ledger(file);
      return std::string();
    } catch (const Error& error) {
      return error.in_one_line();
    }
  };
  EXPECT_EQ(problem_of(lines), "");
  auto forged = lines;
  forged[1].replace(forged[1].find("two"), 3, "TWO");
  EXPECT_NE(problem_of(forged).find("line 2: the hash chain is broken"), std::string::npos);
  forged = lines;
  forged[2].replace(forged[2].rfind('"') - 1, 1, "?");
  EXPECT_NE(problem_of(forged).find("line 3: the hash chain is broken"), std::string::npos);
  forged = lines;
  forged.erase(forged.begin() + 1);
  EXPECT_NE(problem_of(forged).find("line 2"), std::string::npos);
  forged = lines;
  std::swap(forged[1], forged[2]);
  EXPECT_NE(problem_of(forged).find("line 2"), std::string::npos);
}

TEST(Ledger, ACutEndIsNamed) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  std::uintmax_t one_line = 0;
  {
    Ledger ledger(file);
    ledger.append(record::Note{"one"});
    one_line = std::filesystem::file_size(file);
    ledger.append(record::Note{"two"});
    ledger.append(record::Note{"three"});
  }
  EXPECT_EQ(read_ledger(file).lines, 3);
  std::filesystem::resize_file(file, one_line);
  for (const bool for_writing : {false, true}) {
    try {
      if (for_writing)
        Ledger{file};
      else
        read_ledger(file);
      FAIL() << "took a ledger whose end was cut off";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("2 of 3 records are missing"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Ledger, AnEndThatWasWrittenAnewIsNamed) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  {
    Ledger ledger(file);
    ledger.append(record::Note{"one"});
  }
  const auto begin = std::filesystem::file_size(file);
  const std::string chain = read_ledger(file).chain;
  Ledger(file).append(record::Note{"SLOWER"});
  std::filesystem::resize_file(file, begin);
  std::string other = chain;
  add_bytes(file, to_line({2, "2026-01-01T00:00:00.000Z", "", record::Note{"FASTER"}}, other) + "\n");
  try {
    read_ledger(file);
    FAIL() << "took another end than the one that was sealed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is not the line that was sealed"), std::string::npos)
        << error.what();
  }
}

// A power cut between a line and its seal: the ledger is ahead, and whole.
TEST(Ledger, ASealThatIsBehindIsNoFault) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  {
    Ledger ledger(file);
    ledger.append(record::Note{"one"});
  }
  std::filesystem::copy_file(seal_of(file), folder / "kept");
  Ledger(file).append(record::Note{"two"});
  std::filesystem::copy_file(folder / "kept", seal_of(file),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(read_ledger(file).lines, 2);
  Ledger(file).append(record::Note{"three"});
  EXPECT_EQ(read_ledger(file).lines, 3);
}

// If the seal was removed too, only a reader that knows the chain's last hash notices a missing end.
TEST(Ledger, ACutEndDoesNotHaveTheChainThatWasSaid) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger ledger(file);
  ledger.append(record::Note{"one"});
  const std::string before = ledger.chain();
  ledger.append(record::Note{"two"});
  EXPECT_NE(ledger.chain(), before);
  EXPECT_EQ(read_ledger(file).chain, ledger.chain());
}

TEST(Ledger, ASessionThatAnOlderDentBeganGoesOnAndIsChainedFromThere) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  add_bytes(file, R"({"schema":1,"n":1,"time":"t","kind":"begin","data":{"step":"build"}})"
                  "\n");
  add_bytes(file, R"({"schema":1,"n":2,"time":"t","kind":"note","data":{"text":"old"}})"
                  "\n");
  Ledger(file).append(record::Note{"new"}, "build");
  auto content = read_ledger(file);
  ASSERT_EQ(content.records.size(), 3U);
  EXPECT_EQ(content.records[1].step, "build") << "lines of schema 1 don't say to which step they belong";
  std::string text;
  {
    std::ifstream in(file);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  text.replace(text.find("old"), 3, "OLD");
  std::ofstream(file, std::ios::trunc) << text;
  EXPECT_THROW(read_ledger(file), Error) << "the first chained line covers all that was there before";
}

TEST(Ledger, AStepsRecordsAreThereTogetherOrNotAtAll) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger ledger(file);
  EXPECT_THROW(
      ledger.append({record::Note{"fine"}, record::Roofline{"", std::nan(""), 0, PeakSource::table}}, "a"),
      Error);
  EXPECT_EQ(read_ledger(file).records.size(), 0U);
  ledger.append({record::Note{"one"}, record::Note{"two"}}, "a");
  EXPECT_EQ(read_ledger(file).records.back().number, 2);
}

}  // namespace
}  // namespace dent::ledger_test
