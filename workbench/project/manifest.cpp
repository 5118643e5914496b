// SPDX-License-Identifier: MIT
#include "project/manifest.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "error.h"
#include "operators/attention_forward.h"
#include "project/read_operator.h"
#include "project/strict_table.h"

namespace dent {
namespace {

DeviceKind read_device(StrictTable& table, DeviceKind otherwise) {
  const auto text = table.text("device");
  if (!text) return otherwise;
  if (*text == "cpu") return DeviceKind::cpu;
  if (*text == "cuda") return DeviceKind::cuda;
  table.fail("device", "is \"" + *text + "\"; accepted are cpu, cuda");
}

bool is_cuda_source(const std::string& file) { return std::filesystem::path(file).extension() == ".cu"; }

LaunchRule read_launch(StrictTable table) {
  LaunchRule launch;
  launch.grid = table.text("grid").value_or("");
  launch.block = table.text("block").value_or("");
  launch.smem = table.text("smem").value_or("");
  launch.cluster = table.text("cluster").value_or("");
  launch.exps = table.text("exps").value_or("");
  launch.kernel = table.text("kernel").value_or("");
  launch.gpu = table.text("gpu").value_or("");
  if (const auto by = table.text("by")) {
    if (*by != "flashmoe") table.fail("by", "is \"" + *by + "\"; accepted is flashmoe");
    launch.by_flashmoe = true;
  }
  if (launch.by_flashmoe == !launch.grid.empty() || launch.grid.empty() != launch.block.empty()) {
    table.fail("grid", "a launch has grid and block, or by = \"flashmoe\"",
               "grid = \"ceil(S/64), B*H\" and block = \"256\", as expressions over a shape's sizes");
  }
  table.done();
  return launch;
}

Kernel read_kernel(StrictTable table, std::string name, DeviceKind device) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.sources = table.texts("sources");
  kernel.entry = table.text("entry").value_or("");
  kernel.flags = table.texts("flags");
  kernel.include = table.texts("include");
  kernel.link = table.texts("link");
  kernel.build = table.text("build").value_or("");
  kernel.library = table.text("library").value_or("");
  kernel.python = table.text("python").value_or("");
  for (const std::string& source : kernel.sources) {
    if (is_cuda_source(source)) device = DeviceKind::cuda;
  }
  kernel.device = read_device(table, device);
  if (auto launch = table.table("launch")) kernel.launch = read_launch(*launch);
  const int origins = (kernel.python.empty() ? 0 : 1) + (kernel.library.empty() ? 0 : 1) +
                      (!kernel.sources.empty() && kernel.library.empty() ? 1 : 0);
  if (origins != 1) {
    table.fail("sources", "a kernel has one of sources, library and python",
               "sources = [\"kernel.cpp\"], or build and library, or python = \"module:function\"");
  }
  if (!kernel.python.empty() && kernel.python.find(':') == std::string::npos) {
    table.fail("python", "is \"" + kernel.python + "\"; it must be \"module:function\"");
  }
  if (kernel.python.empty() && kernel.entry.empty()) {
    table.fail("entry", "is missing",
               "the name of a function as in dent/kernel.h, or the declaration of any C++ function");
  }
  table.done();
  return kernel;
}

std::vector<Shape> read_shapes(StrictTable& root) {
  std::vector<Shape> shapes;
  for (StrictTable& table : root.tables("shapes")) {
    Shape shape;
    shape.name = table.required_text("name");
    shape.sizes = table.remaining_numbers();
    for (const Shape& other : shapes) {
      if (other.name == shape.name) table.fail("name", "\"" + shape.name + "\" is there twice");
    }
    shapes.push_back(std::move(shape));
  }
  if (shapes.empty())
    root.fail("shapes", "there must be at least one", "shapes = [{ name = \"tiny\", S = 32 }]");
  return shapes;
}

void read_positive(StrictTable& table, const char* key, double& value) {
  if (const auto number = table.number(key)) {
    if (!(*number > 0)) table.fail(key, fmt::format("is {}; it must be above 0", *number));
    value = *number;
  }
}

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
    read_positive(*table, "preflight_seconds", project.limits.preflight_seconds);
    read_positive(*table, "sanitize_seconds", project.limits.sanitize_seconds);
    table->done();
  }
  if (auto table = root.table("budget")) {
    read_positive(*table, "minutes", project.budget_minutes);
    table->done();
  }
  if (auto table = root.table("tunables")) {
    for (const std::string& key : table->keys()) project.tunables.emplace_back(key, table->texts(key));
  }
}

Project build_project(const toml::table& toml, const std::filesystem::path& directory) {
  StrictTable root(toml, "");
  const double version = root.number("version").value_or(0);
  if (version != kManifestVersion) {
    root.fail("version", fmt::format("is {}; this dent reads version {}", version, kManifestVersion),
              "put \"version = 1\" on the first line");
  }
  Project project;
  project.directory = directory;
  project.name = root.text("name").value_or(directory.filename().string());
  project.python = root.text("interpreter").value_or("");
  auto kernel = root.table("kernel");
  if (!kernel) root.fail("kernel", "is missing", "a table [kernel] with sources and entry, or python");
  project.kernel = read_kernel(*kernel, "kernel", DeviceKind::cpu);
  if (auto baselines = root.table("baseline")) {
    for (const std::string& key : baselines->keys()) {
      auto table = baselines->table(key);
      project.baselines.push_back(read_kernel(*table, key, project.kernel.device));
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
  project.shapes = read_shapes(root);
  read_rules(root, project);
  root.done();
  for (const Shape& shape : project.shapes)
    make_problem(project.op, shape);  // throws where something is missing
  return project;
}

}  // namespace

Project parse_project(std::string_view text, const std::filesystem::path& directory) {
  try {
    return build_project(toml::parse(text), directory);
  } catch (const toml::parse_error& problem) {
    throw Error(ErrorCode::invalid, fmt::format("dent.toml, line {}: {}", problem.source().begin.line,
                                                std::string(problem.description())));
  }
}

Project read_project(const std::filesystem::path& where) {
  std::error_code ignored;
  const auto file = std::filesystem::is_directory(where, ignored) ? where / kManifestName : where;
  std::ifstream stream(file);
  if (!stream) {
    throw Error(ErrorCode::invalid, "no manifest " + file.string(),
                "go to a folder with a dent.toml, name one, or write one: dent init attention");
  }
  std::ostringstream text;
  text << stream.rdbuf();
  const auto directory = std::filesystem::absolute(file).lexically_normal().parent_path();
  return parse_project(text.str(), directory);
}

}  // namespace dent
