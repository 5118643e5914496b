// SPDX-License-Identifier: MIT
#include "patterns/write.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cctype>
#include <sstream>

#include "base/error.h"
#include "patterns/pattern.h"
#include "system/durable_file.h"

namespace dent {
namespace {

toml::array texts(const std::vector<std::string>& from) {
  toml::array list;
  for (const std::string& text : from) list.push_back(text);
  return list;
}

}  // namespace

std::string file_stem(const std::string& title) {
  std::string stem;
  for (const char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      stem += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!stem.empty() && stem.back() != '-') {
      stem += '-';
    }
  }
  while (!stem.empty() && stem.back() == '-') stem.pop_back();
  return stem;
}

std::filesystem::path write_pattern(const std::filesystem::path& project, const Lesson& lesson) {
  const std::string stem = file_stem(lesson.title);
  if (stem.empty()) throw Error(ErrorCode::invalid, "a pattern needs a title with letters in it");
  const auto folder = project / "patterns";
  const auto file = folder / (stem + ".toml");
  if (std::filesystem::exists(file)) {
    throw Error(ErrorCode::invalid, file.string() + " is there already",
                "choose another title, or edit that file");
  }
  toml::table table{{"title", lesson.title}, {"rule", lesson.rule}, {"fix", lesson.fix}};
  const auto put = [&table](const char* key, const std::string& text) {
    if (!text.empty()) table.insert(key, text);
  };
  put("source", lesson.source.empty() ? "this project" : lesson.source);
  put("cost", lesson.cost);
  put("phase", lesson.phase);
  toml::table symptom;
  if (!lesson.bottlenecks.empty()) symptom.insert("bottleneck", texts(lesson.bottlenecks));
  if (!lesson.conditions.empty()) symptom.insert("when", texts(lesson.conditions));
  if (!symptom.empty()) table.insert("symptom", symptom);
  toml::table apply;
  if (!lesson.tunable.empty()) {
    apply.insert("tunable", lesson.tunable);
    apply.insert("change", lesson.change.empty() ? "any" : lesson.change);
  }
  if (!lesson.variant.empty()) apply.insert("variant", lesson.variant);
  if (!apply.empty()) table.insert("apply", apply);

  std::ostringstream text;
  // As short as reads back the same: toml++ would write 1.4 as 1.3999999999999999. Ahead of the sections.
  if (lesson.expected_gain != 0) text << fmt::format("expected_gain = {}\n", lesson.expected_gain);
  text << table << "\n";
  std::filesystem::create_directories(folder);
  write_durably(file, text.str());
  try {
    read_pattern(file);
  } catch (const Error&) {
    std::filesystem::remove(file);
    throw;
  }
  return file;
}

}  // namespace dent
