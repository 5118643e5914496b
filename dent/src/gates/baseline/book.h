// SPDX-License-Identifier: MIT
// Recorded times of baselines on each machine: .dent/baselines.json.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "records/fields.h"

namespace dent {

// Times of a baseline that nothing disturbs; a later session must reproduce them.
struct Fastest {
  double ns = 0;      // of a call, in the fastest batch of all starts
  double spread = 0;  // largest share by which the fastest batch of another start took longer

  void add_start(double fastest_ns);
  bool operator==(const Fastest&) const = default;
};

enum class Reproduced { yes, faster, slower };

// `within`: share by which times may differ in addition to the spread of the starts.
Reproduced reproduced(const Fastest& before, const Fastest& now, double within);

using FastestByShape = std::map<std::string, Fastest>;
struct Book {
  std::map<std::string, FastestByShape> baselines;  // by machine, baseline and versions
};
void fields(Fields& f, Fastest& fastest);
void fields(Fields& f, Book& book);

Book read_book(const std::filesystem::path& file);  // empty if the file is missing or unreadable
void write_book(const std::filesystem::path& file, Book book);

}  // namespace dent
