// SPDX-License-Identifier: MIT
// dent export: a session's times for services that keep them over commits.
#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "project/manifest.h"
#include "report/metrics.h"

namespace dent::cli {
namespace {

struct ExportArguments {
  Common common;
  std::string id = "latest", format;
};

ExitCode run(const ExportArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionView view = load_session(SessionStore(project.directory).find(arguments.id));
  if (view.comparisons.empty()) {
    throw Error(ErrorCode::invalid, "session " + view.id + " has measured no speed",
                "export one of dent run, dent bench or dent ci; dent log lists them");
  }
  std::puts((arguments.format == "bmf" ? bencher_metrics(view) : action_benchmark(view)).c_str());
  return ExitCode::ok;
}

}  // namespace

void add_export(Command& dent) {
  auto arguments = std::make_shared<ExportArguments>();
  Command& command =
      dent.command("export", "Print a session's times for services that keep them over commits");
  add_common(command, arguments->common);
  command.option("session", arguments->id, "Its id, the beginning of it, or \"latest\"").show_default();
  command
      .option("--format", arguments->format,
              "bmf: Bencher Metric Format; action-benchmark: github-action-benchmark, customSmallerIsBetter")
      .required()
      .one_of({"bmf", "action-benchmark"});
  command.examples(
      "  dent export --format bmf > results.json && bencher run --adapter json --file results.json\n"
      "  dent export --format action-benchmark > output.json");
  command.run([arguments] { return run(*arguments); });
}

}  // namespace dent::cli
