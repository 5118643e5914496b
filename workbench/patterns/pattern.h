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

namespace dent {

// A fix that the loop can apply by itself: a tunable to move, where the project has one of that kind.
struct TunableFix {
  std::vector<std::string>
      names;           // of tunables that mean this, in any case and with "_" and "-" alike: "kv_splits"
  std::string change;  // "up", "down", "any", or the value to set
};

// What ledgers say about it. A gain is the speed-up over the kernel before the change.
struct Evidence {
  int tries = 0;
  int kept = 0;
  int failures = 0;                   // did not build, wrong, or slower
  std::optional<double> median_gain;  // of the tries that were measured
};

struct Pattern {
  std::string name;   // of its file, without ".toml": "kv-split"
  std::string title;  // one line
  std::string rule;
  std::string fix;
  std::string phase;                     // as in loop/phase.h; empty: of the way of working, not of a kernel
  std::vector<std::string> bottlenecks;  // names in the decision tree; empty: any
  std::vector<Condition> conditions;     // over quantities; all must hold
  std::vector<std::string> devices;      // "cuda", "cpu"; empty: both
  std::vector<std::string> operators;    // operators of projects; empty: any
  int from_arch = 0, to_arch = 0;        // compute capability, 90; 0: no limit
  std::string cost;                      // what it takes to apply, and what it may cost at run time
  std::string source;                    // where the lesson is from
  std::optional<double> expected_gain;   // before there is evidence from here
  std::optional<TunableFix> tunable;
  std::vector<std::string> variants;  // names of variants that are this fix, compared like tunables' names
  Evidence evidence{};
  std::filesystem::path file;
  bool own = false;  // the project's, not shipped
};

// Those that come with dent, and the project's own from its patterns/ folder, which win over shipped ones of
// the same name. Throws Error naming file and line.
std::vector<Pattern> load_patterns(const std::filesystem::path& shipped,
                                   const std::filesystem::path& project);

Pattern read_pattern(const std::filesystem::path& file);

// "KV_SPLITS" is "kv-splits".
bool same_name(std::string_view a, std::string_view b);

}  // namespace dent
