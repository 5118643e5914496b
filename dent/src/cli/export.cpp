// SPDX-License-Identifier: MIT
// dent export: a session's results in the formats of others.
#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "project/manifest.h"
#include "report/metrics.h"
#include "suites/trace.h"

namespace dent::cli {
namespace {

struct ExportArguments {
  Common common;
  std::string id = "latest", format;
};

ExitCode run(const ExportArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionView view = load_session(SessionStore(project.directory).find(arguments.id));
  if (arguments.format == "flashinfer-trace") {
    const std::string traces = flashinfer_traces(view, project);
    if (traces.empty()) {
      throw Error(ErrorCode::invalid, "session " + view.id + " has judged no shape of this project",
                  "export one of dent run; dent log lists them");
    }
    std::fputs(traces.c_str(), stdout);
    return ExitCode::ok;
  }
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
  Command& command = dent.command("export", "Print a session's results in the formats of others");
  add_common(command, arguments->common);
  command.option("session", arguments->id, "Its id, the beginning of it, or \"latest\"").show_default();
  command
      .option("--format", arguments->format,
              "bmf: Bencher Metric Format; action-benchmark: github-action-benchmark, customSmallerIsBetter; "
              "flashinfer-trace: FlashInfer-Bench's traces, a line for each shape")
      .required()
      .one_of({"bmf", "action-benchmark", "flashinfer-trace"});
  command.examples(
      "  dent export --format bmf > results.json && bencher run --adapter json --file results.json\n"
      "  dent export --format action-benchmark > output.json\n"
      "  dent export --format flashinfer-trace >> traces/gemm/gemm_n4096_k4096.jsonl");
  command.run([arguments] { return run(*arguments); });
}

}  // namespace dent::cli
