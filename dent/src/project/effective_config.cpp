// SPDX-License-Identifier: MIT
#include <cmath>

#include "project/manifest.h"
#include "records/json_object.h"

namespace dent {
namespace {

JsonObject of(const LaunchRule& launch) {
  JsonObject out;
  out.may("grid", launch.grid).may("block", launch.block).may("smem", launch.smem);
  out.may("cluster", launch.cluster).may("exps", launch.exps).may("kernel", launch.kernel);
  out.may("gpu", launch.gpu);
  if (launch.by_flashmoe) out.add("by", "flashmoe");
  return out;
}

JsonObject of(const Kernel& kernel) {
  JsonObject out{{"device", name(kernel.device)}};
  out.may("sources", kernel.sources).may("entry", kernel.entry).may("setup", kernel.setup);
  out.may("build", kernel.build);
  out.may("library", kernel.library).may("python", kernel.python).may("flags", kernel.flags);
  return out.may("include", kernel.include).may("link", kernel.link).may("launch", of(kernel.launch));
}

void add_fill(JsonObject& entry, const Fill& fill) {
  switch (fill.kind) {
    case Fill::Kind::normal:
      entry.add("fill", "normal").add("mean", fill.low).add("deviation", fill.high);
      return;
    case Fill::Kind::uniform:
    case Fill::Kind::integers:
      entry.add("fill", fill.kind == Fill::Kind::uniform ? "uniform" : "integers");
      entry.add("low", fill.low).add("high", fill.high);
      return;
    case Fill::Kind::python:
      entry.add("fill", "python");
      return;
    case Fill::Kind::constant:  // JSON has no infinite numbers
      if (std::isfinite(fill.low))
        entry.add("fill", fill.low);
      else
        entry.add("fill", fill.low < 0 ? "-inf" : "inf");
      return;
  }
}

JsonObject of(const std::vector<TensorRule>& tensors, bool with_fill) {
  JsonObject out;
  for (const TensorRule& tensor : tensors) {
    JsonObject entry{{"dtype", name(tensor.dtype)}, {"shape", tensor.dims}};
    if (with_fill) add_fill(entry, tensor.fill);
    if (tensor.constant) entry.add("constant", true);
    out.add(tensor.name, entry);
  }
  return out;
}

JsonValue of(const Reference& reference) {
  switch (reference.kind) {
    case Reference::Kind::attention:
      break;
    case Reference::Kind::python:
      return JsonObject{{"python", reference.entry}, {"dtype", name(reference.dtype)}};
    case Reference::Kind::library:
      return JsonObject{{"entry", reference.entry},
                        {reference.source.empty() ? "library" : "source",
                         reference.source.empty() ? reference.library : reference.source},
                        {"dtype", name(reference.dtype)}};
  }
  return "built in, float64";
}

JsonObject of(const Operator& op) {
  JsonObject out{{"name", op.name},
                 {"family", name(op.family)},
                 {"inputs", of(op.inputs, true)},
                 {"outputs", of(op.outputs, false)},
                 {"parameters", op.parameters},
                 {"reference", of(op.reference)},
                 {"tolerance", JsonObject{{"slack", op.tolerance.slack},
                                          {"absolute", op.tolerance.absolute},
                                          {"relative", op.tolerance.relative}}}};
  if (!op.inputs_from.empty()) out.add("inputs_from", JsonObject{{"python", op.inputs_from}});
  if (!op.scratch.empty()) out.add("scratch", of(op.scratch, false));
  return out.may("flops", op.flops).may("bytes", op.bytes).may("reduction", op.reduction);
}

JsonList of(const std::vector<Shape>& shapes) {
  JsonList out;
  for (const Shape& shape : shapes) {
    JsonObject entry{{"name", shape.name}};
    for (const auto& [size, value] : shape.sizes) entry.add(size, value);
    if (shape.weight != 1) entry.add("weight", shape.weight);
    out.add(entry);
  }
  return out;
}

JsonObject of(const CorrectnessRules& rules) {
  return {{"seeds", rules.seeds}, {"seconds", rules.seconds}, {"deterministic", rules.deterministic}};
}

JsonObject of(const PerformanceRules& rules) {
  return {{"seconds", rules.seconds},
          {"precision", rules.precision},
          {"same_within", rules.same_within},
          {"stop_below", rules.stop_below},
          {"profile_below", rules.profile_below},
          {"flush", rules.flush},
          {"baseline_within", rules.baseline_within}};
}

JsonObject of(const Limits& limits) {
  JsonObject out{
      {"build_seconds", limits.build_seconds},         {"call_seconds", limits.call_seconds},
      {"load_seconds", limits.load_seconds},           {"memory_gib", limits.memory_gib},
      {"preflight_seconds", limits.preflight_seconds}, {"sanitize_seconds", limits.sanitize_seconds}};
  if (limits.processes != Limits().processes) out.add("processes", limits.processes);
  if (limits.cores > 0) out.add("cores", limits.cores);
  return out;
}

JsonObject of(const Tunable& tunable) {
  JsonObject out{{"values", tunable.values}, {"start", tunable.start}};
  return out.may("phase", tunable.phase).may("about", tunable.about);
}

JsonObject of(const Variant& variant) {
  JsonObject out = of(variant.kernel);
  out.add("name", variant.name).add("tunables", variant.tunables);
  return out.may("phase", variant.phase).may("about", variant.about);
}

JsonObject of(const OptimizeRules& rules) {
  JsonObject out{{"min_gain", rules.min_gain},
                 {"shape_loss", rules.shape_loss},
                 {"false_keep", rules.false_keep},
                 {"sanitize_every", rules.sanitize_every},
                 {"patch_lines", rules.patch_lines}};
  out.may("target", rules.target).may("target_shape", rules.target_shape).may("files", rules.files);
  out.may("protect", rules.protect).may("constraints", rules.constraints);
  out.may("proposers", rules.proposers).may("command", rules.command);
  if (!rules.command.empty()) out.add("command_seconds", rules.command_seconds);
  if (rules.command_sandbox) out.add("command_sandbox", name(*rules.command_sandbox));
  if (rules.command_network) out.add("command_network", true);
  out.may("command_paths", rules.command_paths).may("command_env", rules.command_env);
  if (!rules.held_out_shapes.empty()) out.add("held_out_shapes", of(rules.held_out_shapes));
  return out;
}

JsonObject of(const Budget& budget) {
  JsonObject out;
  out.may("minutes", budget.minutes).may("device_minutes", budget.device_minutes);
  return out.may("iterations", budget.iterations).may("usd", budget.usd);
}

JsonObject of(const Rates& rates) {
  JsonObject out;
  out.may("device_usd_per_hour", rates.device_usd_per_hour);
  out.may("agent_usd_per_hour", rates.agent_usd_per_hour);
  return out.may("engineer_usd_per_hour", rates.engineer_usd_per_hour);
}

JsonObject config_of(const Project& project) {
  JsonObject kernel = of(project.kernel), baselines, tunables, tuned;
  kernel.add("tunables", project.first_tunables);
  for (const Kernel& baseline : project.baselines) baselines.add(baseline.name, of(baseline));
  for (const Tunable& tunable : project.tunables) tunables.add(tunable.name, of(tunable));
  JsonList variants;
  for (const Variant& variant : project.variants) variants.add(of(variant));
  tuned.may("variant", project.choice.variant).may("tunables", project.choice.tunables);

  JsonObject out{{"version", kManifestVersion},
                 {"name", project.name},
                 {"kernel", kernel},
                 {"operator", of(project.op)}};
  out.may("baseline", baselines).add("shapes", of(project.shapes));
  out.add("correctness", of(project.correctness)).add("performance", of(project.performance));
  out.add("limits", of(project.limits)).may("interpreter", project.python);
  out.add("sandbox", name(project.sandbox)).may("visible", project.visible);
  out.may("tunables", tunables);
  if (!project.variants.empty()) out.add("variants", variants);
  out.may("tuned", tuned).add("optimize", of(project.optimize));
  return out.may("budget", of(project.budget)).may("rates", of(project.rates));
}

}  // namespace

std::string effective_config(const Project& project, int indent) {
  return indented(config_of(project).text(), indent);
}

bool same_project(const std::string& recorded_config, const Project& project) {
  return same_json(recorded_config, config_of(project).text(), {"budget", "rates", "sandbox"});
}

}  // namespace dent
