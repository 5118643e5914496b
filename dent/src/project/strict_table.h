// SPDX-License-Identifier: MIT
// A TOML table that is read completely: a key that dent does not read is an error, with the nearest one
// that it does read.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/expression.h"

namespace dent {

class StrictTable {
 public:
  // The whole of a document. `file`: what messages call it; `path`: what errors of syntax call it, where that
  // is not the same. Throws Error.
  static StrictTable parse(std::string_view text, std::string file = "dent.toml", std::string_view path = {});

  bool has(std::string_view key);
  // ${NAME} and ${NAME:-default} are replaced from the environment.
  std::optional<std::string> text(std::string_view key);
  std::optional<double> number(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::vector<std::string> texts(std::string_view key);  // a list, or a single string
  std::string text_or_number(std::string_view key);      // a string or a number, as text
  bool is_table(std::string_view key) const;
  bool is_number(std::string_view key) const;
  std::optional<StrictTable> table(std::string_view key);
  std::vector<StrictTable> tables(std::string_view key);  // a list of tables
  std::vector<std::string> keys() const;                  // all, in the order of the file
  Numbers remaining_numbers();  // every key that was not asked for yet must be a number

  std::string required_text(std::string_view key);
  void done() const;  // throws Error for the first key that was not asked for

  // From now on every key that this thread asks any table for is put there: "baseline.plain.sources",
  // "variants[0].name". For the test that knows them all; nullptr ends it.
  static void note_asked_keys(std::set<std::string>* keys);

  [[noreturn]] void fail(std::string_view key, const std::string& why, const std::string& remedy = {}) const;

 private:
  struct Table;  // of the library that parses; strict_table.cpp alone knows it

  StrictTable(std::shared_ptr<const Table> table, std::string where, std::string file)
      : table_(std::move(table)), where_(std::move(where)), file_(std::move(file)) {}

  std::shared_ptr<const Table> table_;
  std::string where_;  // the path of keys to this table, with a dot behind it
  std::string file_;
  std::set<std::string, std::less<>> asked_;
};

// Whether a name that a manifest chooses can be that of a folder in another folder.
bool is_folder_name(std::string_view name);
inline constexpr const char* kFolderNames = "a name without / that does not begin with a dot";

// One value of a document: the keys that lead to it, its strings as they are written, all of it as TOML, and
// where it is. Elements of lists of tables have the keys of the list.
struct ManifestValue {
  std::vector<std::string> path;
  std::vector<std::string> texts;
  std::string written;
  std::size_t line = 0;
};
std::vector<ManifestValue> every_value(std::string_view text, const std::string& file);

}  // namespace dent
