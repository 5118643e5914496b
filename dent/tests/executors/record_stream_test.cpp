// SPDX-License-Identifier: MIT
#include "executors/record_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "records/line.h"

namespace dent::record_stream_test {
namespace {

std::vector<std::string> three_lines() {
  std::vector<std::string> lines;
  std::string chain;
  for (int i = 1; i <= 3; ++i)
    lines.push_back(
        to_line({i, "2026-03-31T14:05:09.123Z", "", record::Note{"note " + std::to_string(i)}}, chain));
  return lines;
}

TEST(RecordStream, TakesLinesInOrderAndMayBeginAnew) {
  const auto lines = three_lines();
  RecordStream stream;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Record record = stream.take(lines[i]);
      EXPECT_EQ(record.number, static_cast<std::int64_t>(i) + 1);
      ASSERT_NE(record.as<record::Note>(), nullptr);
    }
  }
}

TEST(RecordStream, RefusesAGapALineTwiceAndAnEdit) {
  const auto lines = three_lines();
  RecordStream gap, twice, edited, torn;
  gap.take(lines[0]);
  EXPECT_THROW(gap.take(lines[2]), Error);
  twice.take(lines[0]);
  twice.take(lines[1]);
  EXPECT_THROW(twice.take(lines[1]), Error);
  std::string other = lines[0];
  other.replace(other.find("note 1"), 6, "note 7");
  EXPECT_THROW(edited.take(other), Error);
  EXPECT_THROW(torn.take(std::string_view(lines[0]).substr(0, 20)), Error);
}

TEST(RecordStream, StaysWhereItWasAfterAnError) {
  const auto lines = three_lines();
  RecordStream stream;
  stream.take(lines[0]);
  EXPECT_THROW(stream.take("{"), Error);
  EXPECT_EQ(stream.take(lines[1]).number, 2);
}

}  // namespace
}  // namespace dent::record_stream_test
