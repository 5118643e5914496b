// SPDX-License-Identifier: MIT
// dent run, dent resume: a whole session.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/session_command.h"
#include "project/manifest.h"
#include "project/untrusted.h"

namespace dent::cli {
namespace {

struct RunArguments {
  Common common;
  std::vector<std::string> with, without, shapes;  // gates, gates, shapes
  GateOptions options;
  On on;
  bool sanitize = false;
  bool plan = false;
  bool dump_config = false;
  bool untrusted = false;
  std::vector<std::string> visible;  // where it is untrusted
};

// For this process and those that it starts.
void set_untrusted(const RunArguments& arguments) {
  const std::filesystem::path named = arguments.common.project;
  const auto folder =
      std::filesystem::is_directory(named) ? named : std::filesystem::absolute(named).parent_path();
  read_all_as_untrusted(folder, {arguments.visible.begin(), arguments.visible.end()});
}

ExitCode run(const RunArguments& arguments) {
  if (!arguments.untrusted && !arguments.visible.empty())
    throw UsageError(
        "--visible needs --untrusted\n  try: visible = [...] in dent.toml, where the project is yours");
  if (arguments.untrusted) set_untrusted(arguments);
  const Project project = read_project(arguments.common.project);
  if (arguments.dump_config) {
    std::puts(effective_config(project, 2).c_str());
    return ExitCode::ok;
  }
  std::vector<std::string> with = arguments.with;
  if (arguments.sanitize) with.emplace_back(sanitize_gate().info().name);
  const PlanRequest wanted{gates_of_run(with, arguments.without), arguments.shapes, arguments.options};
  if (arguments.plan) {
    const auto plan = make_plan(project, wanted);
    if (arguments.common.json)
      print_json("run", {{"plan", plan_record(plan)}});
    else
      std::fputs(plan_text(plan).c_str(), stdout);
    return ExitCode::ok;
  }
  return run_session("run", project, wanted, arguments.common, arguments.on);
}

}  // namespace

void add_run(Command& dent) {
  auto arguments = std::make_shared<RunArguments>();
  Command& command = dent.command("run", "Take the kernel through every gate and write a report");
  add_common(command, arguments->common);
  add_events(command, arguments->common);
  add_on(command, arguments->on);
  command.option("-s,--shape", arguments->shapes, "Only this shape (may be given several times)");
  command.option("--with", arguments->with, "This gate too (may be given several times)");
  command.option("--without", arguments->without, "Not this gate (may be given several times)");
  command.flag("--plan", arguments->plan,
               "Show the steps with their time boxes and stop rules, and do nothing");
  command.flag("--dump-config", arguments->dump_config,
               "Show the manifest with every default filled in, and do nothing");
  command.flag(
      "--untrusted", arguments->untrusted,
      "The project is another author's: its manifest may say what to compute and nothing else, and a "
      "cell is required");
  command.option("--visible", arguments->visible,
                 "With --untrusted: a folder that its code may see (may be given several times)");
  command.flag("--sanitize", arguments->sanitize, "Also run the memory checker: --with sanitize");
  for (const Gate* gate : gates()) add_options(command, gate->info(), arguments->options);
  command.examples(
      "  dent run -p dent/examples/attention-cpu\n"
      "  dent run --shape tiny --json | jq .verdict\n"
      "  dent run --plan");
  command.run([arguments] { return run(*arguments); });

  auto resumed = std::make_shared<RunArguments>();
  auto id = std::make_shared<std::string>("latest");
  Command& resume = dent.command("resume", "Go on with a session that was interrupted");
  add_common(resume, resumed->common);
  add_events(resume, resumed->common);
  resume.option("session", *id, "Its id, the beginning of it, or \"latest\"").show_default();
  resume.examples("  dent resume\n  dent resume 20260331-1405");
  resume.run(
      [resumed, id] { return resume_session(read_project(resumed->common.project), *id, resumed->common); });
}

}  // namespace dent::cli
