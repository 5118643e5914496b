// SPDX-License-Identifier: MIT
// Adds a lesson to the library: one file in the project's dent/patterns/ folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dent {

struct Lesson {
  std::string title, rule, fix;
  std::string source{}, cost{}, phase{};
  std::vector<std::string> bottlenecks{}, conditions{};
  std::string tunable{}, change{}, variant{};
  double expected_gain = 0;  // 0: not given
};

// "Split K over more CTAs!" -> "split-k-over-more-ctas"
std::string file_stem(const std::string& title);

// Writes <project>/patterns/<stem>.toml and reads it back. Throws Error if the file exists already or is no
// valid pattern.
std::filesystem::path write_pattern(const std::filesystem::path& project, const Lesson& lesson);

}  // namespace dent
