// SPDX-License-Identifier: MIT
#include "patterns/write.h"

#include <fmt/format.h>

#include <cctype>

#include "base/error.h"
#include "patterns/pattern.h"
#include "records/json.h"
#include "system/durable_file.h"

namespace dent {
namespace {

// Texts as basic strings of TOML, which have the syntax of JSON strings.
std::string value(const std::string& text) { return json_string(text); }
std::string value(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + value(text);
  return "[" + list + "]";
}

template <class T>
void put(std::string& out, const char* key, const T& of) {
  if (!of.empty()) out += fmt::format("{} = {}\n", key, value(of));
}

std::string toml_of(const Lesson& lesson) {
  std::string out;
  put(out, "title", lesson.title);
  put(out, "rule", lesson.rule);
  put(out, "fix", lesson.fix);
  put(out, "source", lesson.source.empty() ? "this project" : lesson.source);
  put(out, "cost", lesson.cost);
  put(out, "phase", lesson.phase);
  if (lesson.expected_gain != 0) out += fmt::format("expected_gain = {}\n", lesson.expected_gain);
  if (!lesson.bottlenecks.empty() || !lesson.conditions.empty()) {
    out += "\n[symptom]\n";
    put(out, "bottleneck", lesson.bottlenecks);
    put(out, "when", lesson.conditions);
  }
  if (!lesson.tunable.empty() || !lesson.variant.empty()) {
    out += "\n[apply]\n";
    put(out, "tunable", lesson.tunable);
    if (!lesson.tunable.empty()) put(out, "change", lesson.change.empty() ? "any" : lesson.change);
    put(out, "variant", lesson.variant);
  }
  return out;
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
  if (stem.empty()) throw Error(ErrorCode::invalid, "a pattern's title must contain letters");
  const auto folder = project / "patterns";
  const auto file = folder / (stem + ".toml");
  if (std::filesystem::exists(file)) {
    throw Error(ErrorCode::invalid, file.string() + " already exists",
                "choose another title, or edit that file");
  }
  std::filesystem::create_directories(folder);
  write_durably(file, toml_of(lesson));
  try {
    read_pattern(file);
  } catch (const Error&) {
    std::filesystem::remove(file);
    throw;
  }
  return file;
}

}  // namespace dent
