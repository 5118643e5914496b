// SPDX-License-Identifier: MIT
// A lesson as data: by which symptom to know the problem, the rule, the fix, and what it brought where it was
// tried.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/condition.h"
#include "operators/dtype.h"
#include "records/diagnosis.h"

namespace dent {

struct Pattern {
  std::string name;   // of its file, without ".toml": "kv-split"
  std::string title;  // one line
  std::string rule;
  std::string fix;
  std::string phase;  // as in records/phase.h; empty: of the way of working, not of a kernel
  std::vector<std::string> bottlenecks;  // names in the decision tree; empty: any
  std::vector<Condition> conditions;     // over quantities; all must hold
  std::vector<DeviceKind> devices;       // empty: both
  std::vector<std::string> operators;    // by name, or families of operators/family.h; empty: any
  std::vector<DType> dtypes;             // floating-point inputs are of these; empty: any
  int from_arch = 0, to_arch = 0;        // compute capability, 90; 0: no limit
  std::string cost;                      // what it takes to apply, and what it may cost at run time
  std::string source;                    // where the lesson is from
  std::optional<double> expected_gain;   // before there is evidence from here
  // A fix that the loop can apply by itself: tunables that mean this, named in any case and with "_" and "-"
  // alike ("kv_splits"), and how to move one: "up", "down", "any", or the value to set.
  std::optional<record::PatternTunable> tunable;
  std::vector<std::string> variants;   // names of variants that are this fix, compared like tunables' names
  record::PatternEvidence evidence{};  // what ledgers say: gains are over the kernel before the change
  std::filesystem::path file;
  bool own = false;  // the project's, not shipped
};

// Those that come with dent, and the project's own from its dent/patterns/ folder, which win over shipped
// ones of the same name. Throws Error naming file and line.
std::vector<Pattern> load_patterns(const std::filesystem::path& shipped,
                                   const std::filesystem::path& project);

Pattern read_pattern(const std::filesystem::path& file);

// "KV_SPLITS" is "kv-splits".
bool same_name(std::string_view a, std::string_view b);

}  // namespace dent
