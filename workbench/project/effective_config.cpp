// SPDX-License-Identifier: MIT
#include "project/manifest.h"

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

}  // namespace

json effective_config(const Project& project) {
  json out{{"version", kManifestVersion},
           {"name", project.name},
           {"kernel", of(project.kernel)},
           {"operator", of(project.op)}};
  for (const Kernel& baseline : project.baselines) out["baseline"][baseline.name] = of(baseline);
  for (const Shape& shape : project.shapes) {
    json entry(shape.sizes);
    entry["name"] = shape.name;
    out["shapes"].push_back(std::move(entry));
  }
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
  if (project.budget_minutes > 0) out["budget"] = {{"minutes", project.budget_minutes}};
  if (!project.python.empty()) out["interpreter"] = project.python;
  for (const auto& [macro, values] : project.tunables) out["tunables"][macro] = values;
  return out;
}

}  // namespace dent
