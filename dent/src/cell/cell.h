// SPDX-License-Identifier: MIT
// The walls around code that is not trusted: a candidate, what it is compared with, a reference, a build, a
// proposer. Inside there are the system's programs and the paths that are listed, all read-only, a temporary
// folder of its own, no network, no other process, no right of root's. Bubblewrap puts them up; where it
// can't, code runs without, as the user, and that is on record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cell/cgroup.h"
#include "records/sandbox.h"
#include "system/process.h"

namespace dent {

// What is there besides the system. Paths that don't exist are left out.
struct CellView {
  std::vector<std::filesystem::path> visible{};   // read-only, at the place where they are outside
  std::vector<std::filesystem::path> writable{};  // the same, and changes stay
  std::vector<std::filesystem::path> hidden{};    // folders within visible ones that are empty inside
  std::vector<std::string> variables{};           // names of environment variables, besides the usual ones
  bool network = false;
  std::int64_t room_bytes = std::int64_t{1} << 30;  // of its temporary folder
  CellLimits limits{};                              // of all that runs inside, where the system has them

  void add(const CellView& more);
};

class Cell {
 public:
  // Throws Error (environment) where there must be one and can't be.
  explicit Cell(Sandbox wanted);

  bool stands() const { return why_not_.empty(); }
  const std::string& why_not() const { return why_not_; }
  const std::string& remedy() const { return remedy_; }
  // For the record: "bubblewrap 0.8.0", or why there is none.
  std::string in_words() const;
  std::string limits_in_words() const;

  // Puts a command into a cell, where one stands. Limits hold also where none does, unless it is switched
  // off.
  void enclose(Command& command, const CellView& view) const;

 private:
  bool wanted_;
  std::string why_not_, remedy_;  // "" where it stands; the remedy also where nothing is to be mended
};

}  // namespace dent
