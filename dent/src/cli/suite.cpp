// SPDX-License-Identifier: MIT
// dent suite run, resume, show: many projects, one table, one score.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cell/cell.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "executors/shell_words.h"
#include "ledger/project_lock.h"
#include "session/environment.h"
#include "session/plan.h"
#include "session/supervise.h"
#include "suites/suite_report.h"
#include "suites/suite_run.h"

namespace dent::cli {
namespace {

namespace fs = std::filesystem;

struct SuiteArguments {
  std::string folder = ".", id = "latest";
  std::vector<std::string> with, without;
  int parallel = 0, per_gpu = 1;
  std::vector<std::string> visible;
  bool again = false, trust = false, json = false, quiet = false;
};

fs::path folder_of(const SuiteArguments& arguments) {
  fs::path folder = fs::absolute(arguments.folder).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (!fs::is_directory(folder))
    throw Error(ErrorCode::invalid, folder.string() + " is no folder", "name a folder with projects in it");
  return folder;
}

// What is wrong is worse than what could not be judged; how fast the rest is, the score says.
ExitCode code_of(const Score& score) {
  if (score.wrong > 0) return ExitCode::incorrect;
  return score.not_judged > 0 ? ExitCode::environment : ExitCode::ok;
}

ExitCode tell(const Suite& suite, const SuiteArguments& arguments) {
  const auto rows = suite.rows();
  const Score score = score_of(rows);
  const SuiteFiles files = write_suite_report(suite, rows, score);
  const ExitCode code = code_of(score);
  if (arguments.json) {
    JsonObject document{
        {"suite", suite.id()}, {"folder", suite.folder().string()}, {"score", score}, {"rows", rows}};
    document.add("report", files.page.string()).may("plot", files.plot.string());
    print_json("suite", document.add("exit_code", static_cast<int>(code)));
    return code;
  }
  std::string text;
  for (const SuiteRow& row : rows) text += row_text(row);
  text += "\n" + score_text(score) + "report: " + files.page.string() + "\n";
  std::fputs(text.c_str(), stdout);
  return code;
}

ExitCode carry_through(const Suite& suite, const SuiteArguments& arguments) {
  SuiteRunRules rules{.program = fs::read_symlink("/proc/self/exe"),
                      .gpus = visible_gpus(),
                      .per_gpu = arguments.per_gpu,
                      .again = arguments.again,
                      .trusted = arguments.trust,
                      .visible = {arguments.visible.begin(), arguments.visible.end()}};
  if (const Cell cell(Sandbox::automatic); !rules.trusted && !cell.stands()) {
    throw Error(ErrorCode::environment, "no cell for the kernels of other authors: " + cell.why_not(),
                cell.remedy() + "; or, where the projects are your own: --trust");
  }
  if (rules.gpus.size() < 2) rules.gpus.clear();  // then the environment is as it should be
  if (arguments.parallel > 0 && rules.gpus.size() > static_cast<std::size_t>(arguments.parallel))
    rules.gpus.resize(static_cast<std::size_t>(arguments.parallel));
  {
    Terminal terminal(arguments.quiet);
    run_suite(suite, rules, terminal, [&](const SuiteRow& row, std::size_t done) {
      const std::string line = row_text(row);
      terminal.note(fmt::format("[{}/{}] {}", done, suite.plan().projects.size(), trimmed(line, "\n")));
    });
  }
  return tell(suite, arguments);
}

std::string how_to_go_on(const fs::path& folder, const SuiteArguments& arguments) {
  std::string command = "dent suite resume " + quoted_if_needed(folder.string());
  if (arguments.trust) command += " --trust";
  for (const std::string& seen : arguments.visible) command += " --visible " + quoted_if_needed(seen);
  return command;
}

ExitCode run(const SuiteArguments& arguments) {
  const fs::path folder = folder_of(arguments);
  gates_of_run(arguments.with, arguments.without);  // a mistake in them is no suite
  SuitePlan plan{projects_below(folder), arguments.with, arguments.without};
  run_supervised(how_to_go_on(folder, arguments));
  const ProjectLock lock(suites_folder(folder));
  return carry_through(Suite::create(folder, std::move(plan)), arguments);
}

ExitCode resume(const SuiteArguments& arguments) {
  const fs::path folder = folder_of(arguments);
  const Suite suite = Suite::open(folder, arguments.id);
  run_supervised(how_to_go_on(folder, arguments));
  const ProjectLock lock(suites_folder(folder));
  return carry_through(suite, arguments);
}

void add_shared(Command& command, SuiteArguments& arguments) {
  command.option("folder", arguments.folder, "The projects lie in it or below").show_default();
  command.flag("--json", arguments.json, "One JSON document on stdout instead of text");
}

void add_running(Command& command, SuiteArguments& arguments) {
  command.flag("-q,--quiet", arguments.quiet, "No progress on stderr");
  command.flag("--trust", arguments.trust,
               "The projects are your own: run them as their manifests say, also without a cell");
  command.option("--visible", arguments.visible,
                 "A folder that code of other authors may see (may be given several times)");
  command.option("--parallel", arguments.parallel, "GPUs to use at the same time, a project each; 0: all")
      .between(0, 1024)
      .show_default();
  command
      .option(
          "--per-gpu", arguments.per_gpu,
          "Projects at a time on each GPU: they take turns on it, and start, compile and check side by side")
      .between(1, 64)
      .show_default();
}

}  // namespace

void add_suite(Command& dent) {
  Command& suite = dent.command("suite", "Take many projects through dent run: one table, one score");
  suite.examples(
      "  dent suite run level1\n"
      "  dent suite resume level1             # after a kill\n"
      "  dent suite show level1 --json | jq .score");
  suite.needs_a_command();

  auto running = std::make_shared<SuiteArguments>();
  Command& run_it = suite.command("run", "Every project below a folder, from the start");
  add_shared(run_it, *running);
  add_running(run_it, *running);
  run_it.option("--with", running->with, "This gate too (may be given several times)");
  run_it.option("--without", running->without, "Not this gate (may be given several times)");
  run_it.examples("  dent suite run level1\n  dent suite run level1 --without profile --json");
  run_it.run([running] { return run(*running); });

  auto resumed = std::make_shared<SuiteArguments>();
  Command& resume_it = suite.command("resume", "Go on with a suite that was interrupted");
  add_shared(resume_it, *resumed);
  add_running(resume_it, *resumed);
  resume_it.option("--suite", resumed->id, "Its id, or the beginning of it").show_default();
  resume_it.flag("--again", resumed->again,
                 "Also projects that could not be judged, or were measured on a busy machine");
  resume_it.examples("  dent suite resume level1\n  dent suite resume level1 --again");
  resume_it.run([resumed] { return resume(*resumed); });

  auto shown = std::make_shared<SuiteArguments>();
  Command& show_it = suite.command("show", "The table and the score of a suite, as far as it has come");
  add_shared(show_it, *shown);
  show_it.option("--suite", shown->id, "Its id, or the beginning of it").show_default();
  show_it.examples("  dent suite show level1");
  show_it.run([shown] { return tell(Suite::open(folder_of(*shown), shown->id), *shown); });
}

}  // namespace dent::cli
