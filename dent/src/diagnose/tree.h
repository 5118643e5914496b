// SPDX-License-Identifier: MIT
// The decision tree: bottlenecks in the order in which they are checked, each with its conditions. Trees are
// data: gpu.toml and cpu.toml in this folder, installed as share/dent/diagnose.
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
  std::string says;               // one line for with_numbers() in diagnosis.h
  std::string phase;              // phase of the loop that deals with it
  std::string advice;             // where to look first
  std::vector<Condition> when;    // all must hold
  std::vector<Condition> unless;  // none may hold
};

// A threshold that healthy kernels meet, for the table in reports.
struct Target {
  std::string quantity;
  std::string label;
  std::string unit;
  std::vector<Condition> good;  // such as "dram >= 70"; none: shown without judgement
};

struct Tree {
  std::vector<Bottleneck> bottlenecks;
  std::vector<Target> targets;
};

// Throws Error naming file and line.
Tree parse_tree(std::string_view toml, const std::string& file);
Tree load_tree(const std::filesystem::path& file);

}  // namespace dent
