// SPDX-License-Identifier: MIT
#include "patterns/pattern.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "project/strict_table.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

int read_arch(StrictTable& table, const char* key) { return static_cast<int>(table.number(key).value_or(0)); }

void read_symptom(StrictTable& root, Pattern& pattern) {
  auto symptom = root.table("symptom");
  if (!symptom) return;
  pattern.bottlenecks = symptom->texts("bottleneck");
  for (const std::string& text : symptom->texts("when")) {
    try {
      pattern.conditions.emplace_back(text);
    } catch (const Error& problem) {
      symptom->fail("when", problem.what());
    }
  }
  symptom->done();
}

void read_where(StrictTable& root, Pattern& pattern) {
  auto where = root.table("where");
  if (!where) return;
  pattern.operators = where->texts("operator");
  pattern.from_arch = read_arch(*where, "from_arch");
  pattern.to_arch = read_arch(*where, "to_arch");
  for (const std::string& dtype : where->texts("dtype")) {
    try {
      pattern.dtypes.push_back(parse_dtype(dtype));
    } catch (const Error& problem) {
      where->fail("dtype", problem.what());
    }
  }
  for (const std::string& device : where->texts("device")) {
    const auto known = parse_word<DeviceKind>(device);
    if (!known) where->fail("device", "is \"" + device + "\"; it must be cuda or cpu");
    pattern.devices.push_back(*known);
  }
  where->done();
}

void read_apply(StrictTable& root, Pattern& pattern) {
  auto apply = root.table("apply");
  if (!apply) return;
  pattern.variants = apply->texts("variant");
  if (apply->has("tunable")) {
    pattern.tunable = record::PatternTunable{apply->texts("tunable"), apply->text("change").value_or("any")};
  }
  apply->done();
}

}  // namespace

Pattern read_pattern(const fs::path& file) {
  const auto text = read_text(file);
  if (!text)
    throw Error(ErrorCode::environment, "can't read " + file.string(), "check the file's permissions");
  StrictTable root = StrictTable::parse(*text, file.filename().string(), file.string());
  Pattern pattern;
  pattern.name = file.stem().string();
  pattern.file = file;
  pattern.title = root.required_text("title");
  pattern.rule = root.required_text("rule");
  pattern.fix = root.required_text("fix");
  pattern.cost = root.text("cost").value_or("");
  pattern.source = root.required_text("source");
  pattern.phase = root.text("phase").value_or("");
  pattern.expected_gain = root.number("expected_gain");
  if (pattern.expected_gain && !(*pattern.expected_gain > 0)) root.fail("expected_gain", "must be above 0");
  read_symptom(root, pattern);
  read_where(root, pattern);
  read_apply(root, pattern);
  root.done();
  return pattern;
}

namespace {

void read_folder(const fs::path& folder, bool own, std::map<std::string, Pattern>& into) {
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    if (entry.path().extension() != ".toml") continue;
    Pattern pattern = read_pattern(entry.path());
    pattern.own = own;
    into[pattern.name] = std::move(pattern);
  }
}

}  // namespace

std::vector<Pattern> load_patterns(const fs::path& shipped, const fs::path& project) {
  std::map<std::string, Pattern> found;
  read_folder(shipped, false, found);
  if (!project.empty()) read_folder(project / "patterns", true, found);
  std::vector<Pattern> patterns;
  for (auto& [name, pattern] : found) patterns.push_back(std::move(pattern));
  return patterns;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return plain(x) == plain(y); });
}

}  // namespace dent
