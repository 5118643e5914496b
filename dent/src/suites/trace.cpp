// SPDX-License-Identifier: MIT
#include "suites/trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

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

// What became of one shape, in the format's words.
enum class Status { passed, incorrect_numerical, runtime_error, compile_error, timeout };
constexpr Word<Status> kStatusWords[] = {{Status::passed, "PASSED"},
                                         {Status::incorrect_numerical, "INCORRECT_NUMERICAL"},
                                         {Status::runtime_error, "RUNTIME_ERROR"},
                                         {Status::compile_error, "COMPILE_ERROR"},
                                         {Status::timeout, "TIMEOUT"}};
constexpr std::span<const Word<Status>> words(Status) { return kStatusWords; }

const record::Gate* failed_step(const SessionView& session, const std::string& step) {
  for (const StepView& one : session.steps) {
    if (one.step == step && one.gate && one.gate->verdict == StepVerdict::fail) return &*one.gate;
  }
  return nullptr;
}

const record::Correctness* correctness_of(const SessionView& session, const std::string& shape) {
  for (const record::Correctness& one : session.correctness) {
    if (one.shape == shape) return &one;
  }
  return nullptr;
}

struct Became {
  Status status = Status::passed;
  std::string log;
};

// Nothing for a shape about which the session says nothing: it was not reached, or checked and not timed.
std::optional<Became> became(const SessionView& session, const std::string& shape) {
  if (const auto* build = failed_step(session, "build")) {
    if (build->cause != Cause::build) return std::nullopt;  // there was no compiler
    return Became{Status::compile_error, build->reason};
  }
  const record::Correctness* right = correctness_of(session, shape);
  for (const char* gate : {"correctness/", "performance/"}) {
    const auto* failed = failed_step(session, gate + shape);
    if (failed == nullptr) continue;
    const Cause cause = failed->cause.value_or(Cause::environment);
    if (cause == Cause::timeout) return Became{Status::timeout, failed->reason};
    if (cause == Cause::incorrect && right != nullptr && right->bad > 0)
      return Became{Status::incorrect_numerical, failed->reason};
    if (cause == Cause::incorrect || cause == Cause::cheat)
      return Became{Status::runtime_error, failed->reason};
  }
  if (right == nullptr || session.comparison(shape) == nullptr) return std::nullopt;
  return Became{Status::passed, session.reason};
}

// The format's own words where a number is none.
JsonValue number_or_word(double value) {
  if (std::isnan(value)) return "NaN";
  return std::isfinite(value) ? JsonValue(value) : JsonValue("Infinity");
}

// Where an output is not finite, there is no error to tell; nor is a relative one in an old ledger.
JsonObject correctness_of(const record::Correctness& right) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const bool lost = right.first_bad && !std::isfinite(right.first_bad->got.value);
  return {{"max_relative_error", number_or_word(lost ? kNone : right.max_relative_error.value_or(kNone))},
          {"max_absolute_error", number_or_word(lost ? kNone : right.max_error)},
          {"extra", JsonObject{{"share_of_bound", right.share_of_bound}, {"bad", right.bad}}}};
}

JsonObject evaluation_of(const SessionView& session, const std::string& shape, const Became& became) {
  JsonObject evaluation{{"status", name(became.status)},
                        {"environment", environment_of(session)},
                        {"timestamp", session.started},
                        {"log", became.log}};
  const bool passed = became.status == Status::passed;
  if (passed || became.status == Status::incorrect_numerical)
    evaluation.add("correctness", correctness_of(*correctness_of(session, shape)));
  if (passed) {
    const record::Comparison& speed = *session.comparison(shape);
    evaluation.add("performance",
                   JsonObject{{"latency_ms", speed.candidate_ns / 1e6},
                              {"reference_latency_ms", speed.baseline_ns / 1e6},
                              {"speedup_factor",
                               speed.ratio ? speed.ratio->centre : speed.baseline_ns / speed.candidate_ns}});
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
  for (const Shape& shape : project.shapes) {
    const auto what = became(session, shape.name);
    if (!what) continue;
    lines += JsonObject{{"definition", origin.definition},
                        {"workload", JsonValue::object_in(workload_of(origin, project, shape.name))},
                        {"solution", solution},
                        {"evaluation", evaluation_of(session, shape.name, *what)}}
                 .text() +
             "\n";
  }
  return lines;
}

}  // namespace dent
