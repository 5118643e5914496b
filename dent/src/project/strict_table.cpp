// SPDX-License-Identifier: MIT
#include "project/strict_table.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"

namespace dent {
namespace {

std::string with_environment(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find("${", at);
    const std::size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) return result + text.substr(at);
    result += text.substr(at, open - at);
    const std::string inside = text.substr(open + 2, close - open - 2);
    const std::size_t fallback = inside.find(":-");
    const char* value = std::getenv(inside.substr(0, fallback).c_str());
    if (value != nullptr && *value != '\0')
      result += value;
    else if (fallback != std::string::npos)
      result += inside.substr(fallback + 2);
    at = close + 1;
  }
  return result;
}

std::string kind_of(const toml::node& node) {
  std::ostringstream text;
  text << node.type();
  return text.str();
}

thread_local std::set<std::string>* all_asked = nullptr;

std::string as_toml(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

toml::table parsed(std::string_view text, std::string_view file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& problem) {
    throw Error(ErrorCode::invalid, fmt::format("{}, line {}: {}", file, problem.source().begin.line,
                                                std::string(problem.description())));
  }
}

void take_texts(const toml::node& node, std::vector<std::string>& texts) {
  if (node.is_string()) texts.push_back(*node.value<std::string>());
  if (!node.is_array()) return;
  for (const toml::node& element : *node.as_array()) take_texts(element, texts);
}

void take_values(const toml::table& table, const std::vector<std::string>& above,
                 std::vector<ManifestValue>& values) {
  for (const auto& [key, node] : table) {
    std::vector<std::string> path = above;
    path.emplace_back(key.str());
    const toml::array* list = node.as_array();
    if (node.is_table()) {
      take_values(*node.as_table(), path, values);
    } else if (list != nullptr && !list->empty() && list->front().is_table()) {
      for (const toml::node& element : *list) {
        if (element.is_table()) take_values(*element.as_table(), path, values);
      }
    } else {
      ManifestValue value{
          .path = path, .texts = {}, .written = as_toml(node), .line = key.source().begin.line};
      take_texts(node, value.texts);
      values.push_back(std::move(value));
    }
  }
}

}  // namespace

bool is_folder_name(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  const auto harmful = [](unsigned char c) { return c == '/' || c < ' ' || c == 0x7F; };
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         std::ranges::none_of(name, harmful);
}

std::vector<ManifestValue> every_value(std::string_view text, const std::string& file) {
  std::vector<ManifestValue> values;
  take_values(parsed(text, file), {}, values);
  std::ranges::stable_sort(values, {}, &ManifestValue::line);
  return values;
}

struct StrictTable::Table {
  std::shared_ptr<const toml::table> document;  // keeps `table` alive
  const toml::table* table;

  const toml::node* find(std::string_view key, StrictTable& asking) const {
    asking.asked_.emplace(key);
    if (all_asked != nullptr) all_asked->insert(asking.where_ + std::string(key));
    return table->get(key);
  }
};

void StrictTable::note_asked_keys(std::set<std::string>* keys) { all_asked = keys; }

StrictTable StrictTable::parse(std::string_view text, std::string file, std::string_view path) {
  auto document =
      std::make_shared<const toml::table>(parsed(text, path.empty() ? std::string_view(file) : path));
  const toml::table* table = document.get();
  return {std::make_shared<const Table>(Table{std::move(document), table}), "", std::move(file)};
}

void StrictTable::fail(std::string_view key, const std::string& why, const std::string& remedy) const {
  const toml::node* node = table_->table->get(key);
  const auto line = node != nullptr ? node->source().begin.line : table_->table->source().begin.line;
  throw Error(ErrorCode::invalid, fmt::format("{}, line {}: {}{}: {}", file_, line, where_, key, why),
              remedy);
}

bool StrictTable::has(std::string_view key) { return table_->find(key, *this) != nullptr; }

std::optional<std::string> StrictTable::text(std::string_view key) {
  const toml::node* node = table_->find(key, *this);
  if (node == nullptr) return std::nullopt;
  if (!node->is_string()) fail(key, "is " + kind_of(*node) + "; it must be a string");
  return with_environment(*node->value<std::string>());
}

std::optional<double> StrictTable::number(std::string_view key) {
  const toml::node* node = table_->find(key, *this);
  if (node == nullptr) return std::nullopt;
  if (!node->is_number()) fail(key, "is " + kind_of(*node) + "; it must be a number");
  return node->value<double>();
}

std::optional<bool> StrictTable::flag(std::string_view key) {
  const toml::node* node = table_->find(key, *this);
  if (node == nullptr) return std::nullopt;
  if (!node->is_boolean()) fail(key, "is " + kind_of(*node) + "; it must be true or false");
  return node->value<bool>();
}

std::vector<std::string> StrictTable::texts(std::string_view key) {
  const toml::node* node = table_->find(key, *this);
  if (node == nullptr) return {};
  if (node->is_string()) return {with_environment(*node->value<std::string>())};
  std::vector<std::string> result;
  if (!node->is_array()) fail(key, "is " + kind_of(*node) + "; it must be a list of strings");
  for (const toml::node& element : *node->as_array()) {
    if (element.is_string())
      result.push_back(with_environment(*element.value<std::string>()));
    else if (element.is_integer())
      result.push_back(std::to_string(*element.value<std::int64_t>()));
    else
      fail(key, "holds " + kind_of(element) + "; it must be a list of strings");
  }
  return result;
}

std::string StrictTable::text_or_number(std::string_view key) {
  const toml::node* node = table_->find(key, *this);
  if (node != nullptr && node->is_integer()) return std::to_string(*node->value<std::int64_t>());
  if (node != nullptr && node->is_number()) return fmt::format("{:g}", *node->value<double>());
  return text(key).value_or("");
}

bool StrictTable::is_table(std::string_view key) const {
  const toml::node* node = table_->table->get(key);
  return node != nullptr && node->is_table();
}

bool StrictTable::is_number(std::string_view key) const {
  const toml::node* node = table_->table->get(key);
  return node != nullptr && node->is_number();
}

std::optional<StrictTable> StrictTable::table(std::string_view key) {
  const toml::node* node = table_->find(key, *this);
  if (node == nullptr) return std::nullopt;
  if (!node->is_table()) fail(key, "is " + kind_of(*node) + "; it must be a table");
  return StrictTable(std::make_shared<const Table>(Table{table_->document, node->as_table()}),
                     fmt::format("{}{}.", where_, key), file_);
}

std::vector<StrictTable> StrictTable::tables(std::string_view key) {
  const toml::node* node = table_->find(key, *this);
  std::vector<StrictTable> result;
  if (node == nullptr) return result;
  if (!node->is_array()) fail(key, "is " + kind_of(*node) + "; it must be a list of tables");
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_table()) fail(key, "holds " + kind_of(element) + "; it must be a list of tables");
    result.push_back(StrictTable(std::make_shared<const Table>(Table{table_->document, element.as_table()}),
                                 fmt::format("{}{}[{}].", where_, key, result.size()), file_));
  }
  return result;
}

std::vector<std::string> StrictTable::keys() const {
  std::vector<std::pair<toml::source_position, std::string>> found;
  for (const auto& [key, node] : *table_->table)
    found.emplace_back(key.source().begin, std::string(key.str()));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (auto& [place, key] : found) result.push_back(std::move(key));
  return result;
}

Numbers StrictTable::remaining_numbers() {
  Numbers numbers;
  for (const std::string& key : keys()) {
    if (asked_.count(key) == 0) numbers[key] = *number(key);
  }
  return numbers;
}

std::string StrictTable::required_text(std::string_view key) {
  auto value = text(key);
  if (!value) fail(key, "is missing");
  return *value;
}

void StrictTable::done() const {
  for (const std::string& key : keys()) {
    if (asked_.count(key) > 0) continue;
    const std::vector<std::string> known(asked_.begin(), asked_.end());
    const std::string near = did_you_mean(key, known);
    fail(key, "no such key",
         near.empty() ? fmt::format("accepted here are {}", fmt::join(known, ", ")) : near);
  }
}

}  // namespace dent
