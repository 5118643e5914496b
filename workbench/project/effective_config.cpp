// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "project/manifest.h"
#include "records/json.h"

namespace dent {
namespace {

using nlohmann::json;

json of(const Kernel& kernel) {
  json out{{"device", name(kernel.device)}};
  if (!kernel.sources.empty()) out["sources"] = kernel.sources;
  for (const auto& [key, value] : {std::pair{"entry", kernel.entry},
                                   {"build", kernel.build},
                                   {"library", kernel.library},
                                   {"python", kernel.python}}) {
    if (!value.empty()) out[key] = value;
  }
  for (const auto& [key, value] :
       {std::pair{"flags", kernel.flags}, {"include", kernel.include}, {"link", kernel.link}}) {
    if (!value.empty()) out[key] = value;
  }
  const LaunchRule& launch = kernel.launch;
  for (const auto& [key, value] : {std::pair{"grid", launch.grid},
                                   {"block", launch.block},
                                   {"smem", launch.smem},
                                   {"cluster", launch.cluster},
                                   {"exps", launch.exps},
                                   {"kernel", launch.kernel},
                                   {"gpu", launch.gpu}}) {
    if (!value.empty()) out["launch"][key] = value;
  }
  if (launch.by_flashmoe) out["launch"]["by"] = "flashmoe";
  return out;
}

json of(const std::vector<TensorRule>& tensors, bool with_fill) {
  json out = json::object();
  for (const TensorRule& tensor : tensors) {
    json& entry = out[tensor.name] = {{"dtype", name(tensor.dtype)}, {"shape", tensor.dims}};
    if (!with_fill) continue;
    const bool normal = tensor.fill.kind == Fill::Kind::normal;
    entry["fill"] = normal ? "normal" : tensor.fill.kind == Fill::Kind::uniform ? "uniform" : "integers";
    entry[normal ? "mean" : "low"] = tensor.fill.low;
    entry[normal ? "deviation" : "high"] = tensor.fill.high;
  }
  return out;
}

json of(const Operator& op) {
  json out{{"name", op.name},
           {"inputs", of(op.inputs, true)},
           {"outputs", of(op.outputs, false)},
           {"parameters", op.parameters}};
  const Reference& reference = op.reference;
  switch (reference.kind) {
    case Reference::Kind::attention:
      out["reference"] = "built in, float64";
      break;
    case Reference::Kind::python:
      out["reference"] = {{"python", reference.entry}, {"dtype", name(reference.dtype)}};
      break;
    case Reference::Kind::library:
      out["reference"] = {{"entry", reference.entry},
                          {reference.source.empty() ? "library" : "source",
                           reference.source.empty() ? reference.library : reference.source},
                          {"dtype", name(reference.dtype)}};
      break;
  }
  json tolerance{{"slack", op.tolerance.slack}};
  if (op.tolerance.absolute) tolerance["absolute"] = *op.tolerance.absolute;
  if (op.tolerance.relative) tolerance["relative"] = *op.tolerance.relative;
  out["tolerance"] = std::move(tolerance);
  if (!op.flops.empty()) out["flops"] = op.flops;
  if (!op.bytes.empty()) out["bytes"] = op.bytes;
  return out;
}

json of(const std::vector<Shape>& shapes) {
  json out = json::array();
  for (const Shape& shape : shapes) {
    json entry(shape.sizes);
    entry["name"] = shape.name;
    out.push_back(std::move(entry));
  }
  return out;
}

template <class T>
void put(json& out, const char* table, const char* key, const T& value) {
  if (value != T{}) out[table][key] = value;
}

void put_loop(json& out, const Project& project) {
  for (const Tunable& tunable : project.tunables) {
    json& entry = out["tunables"][tunable.name] = {{"values", tunable.values}, {"start", tunable.start}};
    if (!tunable.phase.empty()) entry["phase"] = tunable.phase;
    if (!tunable.about.empty()) entry["about"] = tunable.about;
  }
  if (project.first_tunables) out["kernel"]["tunables"] = *project.first_tunables;
  for (const Variant& variant : project.variants) {
    json entry = of(variant.kernel);
    entry["name"] = variant.name;
    entry["tunables"] = variant.tunables;
    if (!variant.phase.empty()) entry["phase"] = variant.phase;
    if (!variant.about.empty()) entry["about"] = variant.about;
    out["variants"].push_back(std::move(entry));
  }
  put(out, "tuned", "variant", project.choice.variant);
  put(out, "tuned", "tunables", project.choice.tunables);
  const OptimizeRules& rules = project.optimize;
  out["optimize"] = {{"min_gain", rules.min_gain},
                     {"shape_loss", rules.shape_loss},
                     {"false_keep", rules.false_keep},
                     {"sanitize_every", rules.sanitize_every},
                     {"patch_lines", rules.patch_lines}};
  put(out, "optimize", "target", rules.target);
  put(out, "optimize", "target_shape", rules.target_shape);
  put(out, "optimize", "files", rules.files);
  put(out, "optimize", "protect", rules.protect);
  put(out, "optimize", "constraints", rules.constraints);
  put(out, "optimize", "proposers", rules.proposers);
  put(out, "optimize", "command", rules.command);
  if (!rules.command.empty()) out["optimize"]["command_seconds"] = rules.command_seconds;
  if (!rules.held_out_shapes.empty()) out["optimize"]["held_out_shapes"] = of(rules.held_out_shapes);
  put(out, "budget", "minutes", project.budget.minutes);
  put(out, "budget", "device_minutes", project.budget.device_minutes);
  put(out, "budget", "iterations", project.budget.iterations);
  put(out, "budget", "usd", project.budget.usd);
  put(out, "rates", "device_usd_per_hour", project.rates.device_usd_per_hour);
  put(out, "rates", "agent_usd_per_hour", project.rates.agent_usd_per_hour);
  put(out, "rates", "engineer_usd_per_hour", project.rates.engineer_usd_per_hour);
}

json config_of(const Project& project) {
  json out{{"version", kManifestVersion},
           {"name", project.name},
           {"kernel", of(project.kernel)},
           {"operator", of(project.op)}};
  for (const Kernel& baseline : project.baselines) out["baseline"][baseline.name] = of(baseline);
  out["shapes"] = of(project.shapes);
  out["correctness"] = {{"seeds", project.correctness.seeds},
                        {"seconds", project.correctness.seconds},
                        {"deterministic", project.correctness.deterministic}};
  const PerformanceRules& rules = project.performance;
  out["performance"] = {{"seconds", rules.seconds},
                        {"precision", rules.precision},
                        {"same_within", rules.same_within},
                        {"stop_below", rules.stop_below},
                        {"profile_below", rules.profile_below},
                        {"flush", rules.flush},
                        {"baseline_within", rules.baseline_within}};
  const Limits& limits = project.limits;
  out["limits"] = {
      {"build_seconds", limits.build_seconds},         {"call_seconds", limits.call_seconds},
      {"load_seconds", limits.load_seconds},           {"memory_gib", limits.memory_gib},
      {"preflight_seconds", limits.preflight_seconds}, {"sanitize_seconds", limits.sanitize_seconds}};
  if (!project.python.empty()) out["interpreter"] = project.python;
  put_loop(out, project);
  return out;
}

}  // namespace

std::string effective_config(const Project& project, int indent) { return config_of(project).dump(indent); }

bool same_project(const std::string& recorded_config, const Project& project) {
  json then = parse_json(recorded_config), now = config_of(project);
  if (!then.is_object()) return false;
  for (const char* may_change : {"budget", "rates"}) {
    then.erase(may_change);
    now.erase(may_change);
  }
  return then == now;
}

}  // namespace dent
