// SPDX-License-Identifier: MIT
// What baselines took on which machine: .dent/baselines.json.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "records/fields.h"

namespace dent {

// What a baseline can do when nothing disturbs it, which is what must reproduce.
struct Fastest {
  double ns = 0;      // of a call, in the quickest stretch of all starts
  double spread = 0;  // by how much more the quickest stretch of another start took, as a share; at most

  void add_start(double fastest_ns);
  bool operator==(const Fastest&) const = default;
};

enum class Reproduced { yes, faster, slower };

// `within`: the share that it may differ by, on top of what starts differ by anyhow.
Reproduced reproduced(const Fastest& before, const Fastest& now, double within);

using FastestByShape = std::map<std::string, Fastest>;
struct Book {
  std::map<std::string, FastestByShape> baselines;  // by machine, baseline and versions
};
void fields(Fields& f, Fastest& fastest);
void fields(Fields& f, Book& book);

Book read_book(const std::filesystem::path& file);  // empty where there is none that can be read
void write_book(const std::filesystem::path& file, Book book);

}  // namespace dent
