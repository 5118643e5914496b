// SPDX-License-Identifier: MIT
// A TOML table that must be read completely: a key that nobody asked for is an error, with the nearest one
// that somebody did.
#pragma once

#include <toml++/toml.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "operators/expression.h"

namespace dent {

class StrictTable {
 public:
  // `where`: the path of keys to this table, with a dot behind it; `file`: for messages.
  StrictTable(const toml::table& table, std::string where, std::string file = "dent.toml")
      : table_(&table), where_(std::move(where)), file_(std::move(file)) {}

  bool has(std::string_view key);
  std::optional<std::string> text(
      std::string_view key);  // ${NAME} and ${NAME:-default} are replaced from the environment
  std::optional<double> number(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::vector<std::string> texts(std::string_view key);  // a list, or a single string
  std::string text_or_number(std::string_view key);      // a string or a number, as text
  bool is_table(std::string_view key) const;
  std::optional<StrictTable> table(std::string_view key);
  std::vector<StrictTable> tables(std::string_view key);  // a list of tables
  std::vector<std::string> keys() const;                  // all, in the order of the file
  Numbers remaining_numbers();  // every key that was not asked for yet must be a number

  std::string required_text(std::string_view key);
  void done() const;  // throws Error for the first key that was not asked for

  [[noreturn]] void fail(std::string_view key, const std::string& why, const std::string& remedy = {}) const;

 private:
  const toml::node* find(std::string_view key);

  const toml::table* table_;
  std::string where_;
  std::string file_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace dent
