// SPDX-License-Identifier: MIT
#include "loop/state/brief.h"

#include "project/choice.h"

namespace dent {
namespace {

using nlohmann::json;

json of(const BudgetLeft& left) {
  json out = json::object();
  if (left.seconds) out["seconds"] = *left.seconds;
  if (left.device_seconds) out["device_seconds"] = *left.device_seconds;
  if (left.usd) out["usd"] = *left.usd;
  if (left.iterations) out["iterations"] = *left.iterations;
  return out;
}

json of(const Choice& choice) {
  return {{"variant", choice.variant.empty() ? kFirstRung : choice.variant}, {"tunables", choice.tunables}};
}

json tunables_json(const Project& project, const Choice& incumbent) {
  json out = json::array();
  for (const Tunable* tunable : tunables_of(project, incumbent)) {
    out.push_back({{"name", tunable->name},
                   {"values", tunable->values},
                   {"now", value_of(*tunable, incumbent)},
                   {"phase", tunable->phase},
                   {"about", tunable->about}});
  }
  return out;
}

json variants_json(const Project& project) {
  json out = json::array();
  for (const Variant& variant : project.variants) {
    out.push_back({{"name", variant.name}, {"phase", variant.phase}, {"about", variant.about}});
  }
  return out;
}

json history_json(const std::vector<PastIteration>& history) {
  json out = json::array();
  for (const PastIteration& past : history) {
    json entry = to_json(past.proposal);
    entry.erase("spend");
    entry["iteration"] = past.number;
    entry["outcome"] = to_json(past.outcome);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

json to_json(const Brief& brief) {
  json shapes = json::array();
  for (const ShapeNow& now : brief.shapes) {
    shapes.push_back({{"name", now.shape.name},
                      {"sizes", now.shape.sizes},
                      {"baseline_ns", now.baseline_ns},
                      {"incumbent_ns", now.incumbent_ns}});
  }
  json out{{"schema", 1},
           {"iteration", brief.iteration},
           {"goal", brief.goal},
           {"speedup", brief.speedup},
           {"budget_left", of(brief.left)},
           {"phase", name(brief.phase)},
           {"incumbent", of(brief.incumbent)},
           {"shapes", std::move(shapes)},
           {"history", history_json(brief.history)},
           {"allowed_files", brief.allowed_files},
           {"protected_files", brief.protected_files},
           {"patch_lines", brief.patch_lines},
           {"worktree", brief.worktree.string()}};
  if (brief.target > 0) out["target"] = brief.target;
  if (!brief.diagnosis.is_null()) out["diagnosis"] = brief.diagnosis;
  if (!brief.patterns.is_null()) out["patterns"] = brief.patterns;
  if (brief.project != nullptr) {
    out["tunables"] = tunables_json(*brief.project, brief.incumbent);
    out["variants"] = variants_json(*brief.project);
  }
  return out;
}

}  // namespace dent
