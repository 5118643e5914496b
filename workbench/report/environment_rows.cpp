// SPDX-License-Identifier: MIT
#include "report/environment_rows.h"

#include "report/format.h"

namespace dent {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string show_value(const std::string& key, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number() && key.ends_with("_bytes")) return show_bytes(value.get<double>());
  return value.dump();
}

// Names read as words: memory_bytes -> memory, max_clock_mhz -> max clock (MHz).
std::string show_key(std::string key) {
  static const std::pair<const char*, const char*> kUnits[] = {
      {"_bytes", ""}, {"_mhz", " (MHz)"}, {"_mib", " (MiB)"}, {"_w", " (W)"}};
  for (const auto& [ending, unit] : kUnits) {
    if (key.ends_with(ending)) {
      key = key.substr(0, key.size() - std::string(ending).size()) + unit;
      break;
    }
  }
  for (char& c : key) c = c == '_' ? ' ' : c;
  return key;
}

void add(Rows& rows, const std::string& prefix, const nlohmann::json& value, const std::string& key) {
  if (value.is_object()) {
    for (const auto& [inner, v] : value.items()) add(rows, prefix + " " + show_key(inner), v, inner);
  } else if (value.is_array()) {
    std::size_t i = 0;
    for (const auto& v : value) add(rows, prefix + " " + std::to_string(i++), v, key);
  } else {
    rows.emplace_back(prefix, show_value(key, value));
  }
}

}  // namespace

Rows environment_rows(const nlohmann::json& environment) {
  Rows rows;
  for (const auto& [key, value] : environment.items()) add(rows, show_key(key), value, key);
  return rows;
}

}  // namespace dent
