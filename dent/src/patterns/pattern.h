// SPDX-License-Identifier: MIT
// A lesson as data: the symptom by which to recognise the problem, the rule, the fix, and the results of
// trying it.
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
  std::string name;   // file name without ".toml": "kv-split"
  std::string title;  // one line
  std::string rule;
  std::string fix;
  std::string phase;  // see records/phase.h; empty: advice on how to work, not about a kernel
  std::vector<std::string> bottlenecks;  // names from the decision tree; empty: any
  std::vector<Condition> conditions;     // conditions on quantities; all must hold
  std::vector<DeviceKind> devices;       // empty: both
  std::vector<std::string> operators;    // operator names, or families (operators/family.h); empty: any
  std::vector<DType> dtypes;             // types of floating-point inputs; empty: any
  int from_arch = 0, to_arch = 0;        // compute capability, such as 90; 0: no limit
  std::string cost;                      // effort of applying it, and what it may cost at run time
  std::string source;                    // origin of the lesson
  std::optional<double> expected_gain;   // estimate for use without evidence
  // A fix that the loop can apply by itself: names of tunables that implement it (compared without case, "_"
  // equal to "-", such as "kv_splits"), and how to change one: "up", "down", "any", or a value.
  std::optional<record::PatternTunable> tunable;
  std::vector<std::string> variants;   // variants that implement the fix; compared like tunables
  record::PatternEvidence evidence{};  // from ledgers: gains over the kernel before the change
  std::filesystem::path file;
  bool own = false;  // from the project, not shipped with dent
};

// Loads dent's patterns and those of the project's dent/patterns/ folder, which replace shipped ones of the
// same name. Throws Error naming file and line.
std::vector<Pattern> load_patterns(const std::filesystem::path& shipped,
                                   const std::filesystem::path& project);

Pattern read_pattern(const std::filesystem::path& file);

// Compares names without case, "_" equal to "-": "KV_SPLITS" equals "kv-splits".
bool same_name(std::string_view a, std::string_view b);

}  // namespace dent
