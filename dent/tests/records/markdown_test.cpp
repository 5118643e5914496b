// SPDX-License-Identifier: MIT
// dent/docs/dent-records.md must list the kinds as records/markdown.h prints them. To write it again:
//   DENT_WRITE_DOCS=1 dent_records_test --gtest_filter='RecordsPage.*'
#include "records/markdown.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/text.h"

namespace dent::markdown_test {
namespace {

const std::string kBegin = "<!-- printed by records/markdown.cpp: begin -->\n";
const std::string kEnd = "<!-- printed by records/markdown.cpp: end -->\n";

TEST(RecordsPage, ListsTheKindsAsTheyAre) {
  const std::string page = text_of(DENT_RECORDS_PAGE);
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string wanted = page.substr(0, begin) + kBegin + kinds_in_markdown() + page.substr(end);
  if (std::getenv("DENT_WRITE_DOCS") != nullptr) {
    std::ofstream(DENT_RECORDS_PAGE) << wanted;
    GTEST_SKIP() << "written again";
  }
  EXPECT_TRUE(page == wanted)
      << "dent/docs/dent-records.md is out of date: DENT_WRITE_DOCS=1 writes it again";
}

TEST(RecordsPage, SaysOfEachFieldWhatItIs) {
  const std::string page = kinds_in_markdown();
  for (const char* row :
       {"### gate\n", "| `step` | text | always | step that ends |",
        "| `verdict` | `pass`, `fail`, `skipped` | always | result of the step |",
        "| `next` | text | may | what to do next |", "| `cpu` | object | always | the processor |",
        "| `cpu.cores` | whole number | always | cores that are online |",
        "| `kernels[].registers` | whole number | always | registers per thread |",
        "| `baseline_ns` | list: number | always |",
        "| `figures` | list: object | may | numbers that the gate found |",
        "| `figures[].unit` | text | may |", "| `choice.tunables` | by name: text | always |"}) {
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace dent::markdown_test
