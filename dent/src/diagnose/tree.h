// SPDX-License-Identifier: MIT
// The decision tree: bottlenecks in the order in which they are asked about, each with the conditions that
// make it one. It is data: gpu.toml and cpu.toml in this folder, installed as share/dent/diagnose.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/condition.h"

namespace dent {

struct Bottleneck {
  std::string name;               // "few_ctas"
  std::string title;              // "too few CTAs"
  std::string says;               // one line, for with_numbers() of diagnosis.h
  std::string phase;              // of the loop that attends to it
  std::string advice;             // what to look at first
  std::vector<Condition> when;    // all must hold
  std::vector<Condition> unless;  // none may hold
};

// What a healthy kernel shows: the user's thresholds, for the table in reports.
struct Target {
  std::string quantity;
  std::string label;
  std::string unit;
  std::vector<Condition> good;  // "dram >= 70"; none: shown without judgement
};

struct Tree {
  std::vector<Bottleneck> bottlenecks;
  std::vector<Target> targets;
};

// Throws Error naming file and line.
Tree parse_tree(std::string_view toml, const std::string& file);
Tree load_tree(const std::filesystem::path& file);

}  // namespace dent
