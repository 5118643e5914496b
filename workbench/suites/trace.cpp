// SPDX-License-Identifier: MIT
#include "suites/trace.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "records/json.h"
#include "records/json_object.h"

namespace dent {
namespace {

// Of workloads.json, as `dent import flashinfer` writes it. A workload is given back as it was read.
struct Origin {
  std::string definition, solution;
  std::map<std::string, std::string> workloads;  // by shape, as JSON
};

Origin origin_of(const Project& project) {
  Origin origin{.definition = project.op.name, .solution = {}, .workloads = {}};
  const auto definition = read_text(project.directory / "definition.json");
  const auto workloads = read_text(project.directory / "workloads.json");
  if (!definition || !workloads) return origin;
  read_json(*definition, [&](Fields& f) { f("name", origin.definition, "of the definition"); });
  read_json(*workloads, [&](Fields& f) {
    f.may("solution", origin.solution, "that the candidate is");
    f("traced", origin.workloads, "the workloads, each as text");
  });
  return origin;
}

// The same for the same project and shape: 8-4-4-4-12 digits, as a UUID is written.
std::string uuid_of(const std::string& text) {
  std::string digits = sha256(text).substr(0, 32);
  for (const std::size_t at : {8, 13, 18, 23}) digits.insert(at, "-");
  return digits;
}

std::string workload_of(const Origin& origin, const Project& project, const std::string& shape) {
  if (const auto found = origin.workloads.find(shape); found != origin.workloads.end()) return found->second;
  JsonObject axes, inputs;
  for (const Shape& known : project.shapes) {
    if (known.name != shape) continue;
    for (const auto& [name, value] : known.sizes) axes.add(name, static_cast<std::int64_t>(value));
  }
  for (const auto& input : project.op.inputs) inputs.add(input.name, JsonObject{{"type", "random"}});
  for (const auto& [name, value] : project.op.parameters)
    inputs.add(name, JsonObject{{"type", "scalar"}, {"value", value}});
  return JsonObject{{"uuid", uuid_of(project.name + "/" + shape)}, {"axes", axes}, {"inputs", inputs}}.text();
}

JsonObject environment_of(const SessionView& session) {
  std::map<std::string, std::string> libraries;
  if (session.build) libraries = session.build->compilers;
  libraries["dent"] = DENT_VERSION;
  return {{"hardware", session.device()}, {"libs", libraries}};
}

JsonObject evaluation_of(const SessionView& session, const record::Correctness& right) {
  const bool passed = right.verdict == StepVerdict::pass;
  JsonObject evaluation{{"status", passed ? "PASSED" : "INCORRECT_NUMERICAL"},
                        {"environment", environment_of(session)},
                        {"timestamp", session.started},
                        {"log", session.reason}};
  // dent has a bound for each element and no relative error: "NaN" says so in the format's own words.
  evaluation.add(
      "correctness",
      JsonObject{{"max_relative_error", "NaN"},
                 {"max_absolute_error", right.max_error},
                 {"extra", JsonObject{{"share_of_bound", right.share_of_bound}, {"bad", right.bad}}}});
  const record::Comparison* speed = session.comparison(right.shape);
  if (passed && speed != nullptr) {
    evaluation.add("performance",
                   JsonObject{{"latency_ms", speed->candidate_ns / 1e6},
                              {"reference_latency_ms", speed->baseline_ns / 1e6},
                              {"speedup_factor", speed->ratio ? speed->ratio->centre
                                                              : speed->baseline_ns / speed->candidate_ns}});
  }
  return evaluation;
}

}  // namespace

std::string flashinfer_traces(const SessionView& session, const Project& project) {
  const Origin origin = origin_of(project);
  std::string solution = origin.solution;
  if (solution.empty()) {
    solution = project.name;
    if (session.build) solution += "_" + session.build->source_hash.substr(0, 12);
  }
  std::string lines;
  for (const record::Correctness& right : session.correctness) {
    const bool passed = right.verdict == StepVerdict::pass;
    if (passed && session.comparison(right.shape) == nullptr) continue;  // checked, not timed
    lines += JsonObject{{"definition", origin.definition},
                        {"workload", JsonValue::object_in(workload_of(origin, project, right.shape))},
                        {"solution", solution},
                        {"evaluation", evaluation_of(session, right)}}
                 .text() +
             "\n";
  }
  return lines;
}

}  // namespace dent
