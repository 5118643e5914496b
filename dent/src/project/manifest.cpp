// SPDX-License-Identifier: MIT
#include "project/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "operators/attention.h"
#include "project/choice.h"
#include "project/read_operator.h"
#include "project/read_optimize.h"
#include "project/strict_table.h"
#include "project/untrusted.h"

namespace dent {
namespace {

void read_rules(StrictTable& root, Project& project) {
  if (auto table = root.table("correctness")) {
    double seeds = project.correctness.seeds;
    read_positive(*table, "seeds", seeds);
    project.correctness.seeds = static_cast<int>(seeds);
    read_positive(*table, "seconds", project.correctness.seconds);
    project.correctness.deterministic = table->flag("deterministic").value_or(true);
    table->done();
  }
  if (auto table = root.table("performance")) {
    PerformanceRules& rules = project.performance;
    read_positive(*table, "seconds", rules.seconds);
    read_positive(*table, "precision", rules.precision);
    read_positive(*table, "same_within", rules.same_within);
    read_positive(*table, "stop_below", rules.stop_below);
    read_positive(*table, "profile_below", rules.profile_below);
    read_positive(*table, "baseline_within", rules.baseline_within);
    rules.flush = table->flag("flush").value_or(rules.flush);
    table->done();
  }
  if (auto table = root.table("limits")) {
    read_positive(*table, "build_seconds", project.limits.build_seconds);
    read_positive(*table, "call_seconds", project.limits.call_seconds);
    read_positive(*table, "load_seconds", project.limits.load_seconds);
    read_positive(*table, "memory_gib", project.limits.memory_gib);
    double processes = project.limits.processes;
    read_positive(*table, "processes", processes);
    project.limits.processes = static_cast<int>(processes);
    read_positive(*table, "cores", project.limits.cores);
    read_positive(*table, "preflight_seconds", project.limits.preflight_seconds);
    read_positive(*table, "sanitize_seconds", project.limits.sanitize_seconds);
    table->done();
  }
}

}  // namespace

Project parse_project(std::string_view text, const std::filesystem::path& directory) {
  StrictTable root = StrictTable::parse(text);
  const auto version = root.number("version");
  if (version != kManifestVersion) {
    root.fail("version",
              fmt::format("is {}; this dent reads version {}",
                          version ? fmt::format("{}", *version) : "missing", kManifestVersion),
              "put \"version = 1\" on the first line");
  }
  Project project;
  project.directory = directory;
  project.name = root.text("name").value_or(directory.filename().string());
  project.python = root.text("interpreter").value_or("");
  project.sandbox = read_sandbox(root, "sandbox").value_or(project.sandbox);
  project.visible = root.texts("visible");
  auto kernel = root.table("kernel");
  if (!kernel) root.fail("kernel", "is missing", "a table [kernel] with sources and entry, or python");
  project.kernel = project.first_rung = read_kernel(*kernel, {.name = kFirstRung});
  if (kernel->has("tunables")) project.first_tunables = kernel->texts("tunables");
  kernel->done();
  if (auto baselines = root.table("baseline")) {
    for (const std::string& key : baselines->keys()) {
      if (!is_folder_name(key)) baselines->fail(key, "is no name: it becomes a folder's", kFolderNames);
      auto table = baselines->table(key);
      project.baselines.push_back(read_kernel(*table, {.name = key, .device = project.kernel.device}));
      table->done();
    }
  }
  if (project.baselines.empty()) {
    root.fail("baseline", "there must be at least one",
              "a table [baseline.NAME] with sources and entry, or python");
  }
  auto op = root.table("operator");
  if (!op)
    root.fail("operator", "is missing", "operator = { kind = \"attention.forward\", dtype = \"fp32\" }");
  project.op = read_operator(*op);
  project.shapes = read_shapes(root, "shapes");
  if (project.shapes.empty())
    root.fail("shapes", "there must be at least one", "shapes = [{ name = \"tiny\", S = 32 }]");
  if (std::none_of(project.shapes.begin(), project.shapes.end(), [](const Shape& s) { return s.timed(); }))
    root.fail("shapes", "all have weight 0, so nothing would be timed",
              "leave out the weight of one of them");
  read_rules(root, project);
  read_optimize(root, project);
  project.executors = read_executors(root, kManifestName);
  root.done();
  for (const Shape& shape : project.shapes)
    make_problem(project.op, shape);  // throws where something is missing
  for (const Shape& shape : project.optimize.held_out_shapes) make_problem(project.op, shape);
  project.kernel = kernel_of(project, project.choice);
  return project;
}

Project read_project(const std::filesystem::path& where) {
  std::error_code ignored;
  const auto file = std::filesystem::is_directory(where, ignored) ? where / kManifestName : where;
  const auto text = read_text(file);
  if (!text) {
    throw Error(ErrorCode::invalid, "no manifest " + file.string(),
                "go to a folder with a dent.toml, name one, or write one: dent init attention");
  }
  const auto directory = std::filesystem::absolute(file).lexically_normal().parent_path();
  if (const auto vouched = vouched_by_environment()) return read_untrusted_project(directory, *vouched);
  Project project = parse_project(*text, directory);
  if (const char* word = std::getenv("DENT_SANDBOX"); word != nullptr && *word != '\0') {
    const auto sandbox = parse_word<Sandbox>(word);
    if (!sandbox) {
      throw Error(ErrorCode::invalid, fmt::format("DENT_SANDBOX is \"{}\"", word),
                  "set it to auto, required or off");
    }
    project.sandbox = *sandbox;
  }
  take_tuned(project);
  return project;
}

void take_tuned(Project& project) {
  const auto tuned = read_text(project.directory / kTunedName);
  if (!tuned) return;
  project.choice = parse_tuned(*tuned, project);
  project.kernel = kernel_of(project, project.choice);
}

}  // namespace dent
