// SPDX-License-Identifier: MIT
// A suite for people: its table and its score.
#pragma once

#include <span>
#include <string>

#include "suites/score.h"
#include "suites/suite.h"

namespace dent {

std::string row_text(const SuiteRow& row);  // one line, with its end
std::string score_text(const Score& score);
std::string suite_page(const Suite& suite, std::span<const SuiteRow> rows, const Score& score);

struct SuiteFiles {
  std::filesystem::path page, plot;  // plot: empty where nothing was measured
};
SuiteFiles write_suite_report(const Suite& suite, std::span<const SuiteRow> rows, const Score& score);

}  // namespace dent
