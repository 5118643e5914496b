// SPDX-License-Identifier: MIT
// dent optimize: the loop.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/on.h"
#include "cli/optimize.h"
#include "cli/terminal.h"
#include "executors/left_running.h"
#include "ledger/facts.h"
#include "ledger/ledger.h"
#include "ledger/project_lock.h"
#include "loop/loop.h"
#include "loop/proposers/standard.h"
#include "project/choice.h"
#include "project/manifest.h"
#include "report/document.h"
#include "session/supervise.h"

namespace dent::cli {
namespace {

constexpr const char* kOptimize = "optimize";  // as the session record has it

constexpr int kMostParallel = 64;

struct OptimizeArguments {
  Common common{};
  LoopOptions loop{};
  bool plan = false;
  bool resume = false;
  std::string session = "latest";
};

ExitCode show_plan(const Project& project, const OptimizeArguments& arguments) {
  const double shapes = static_cast<double>(project.shapes.size());
  const double measured = shapes * project.performance.seconds,
               checked = shapes * project.correctness.seconds;
  std::vector<Step> plan{
      {.name = "start",
       .time_box_s = project.limits.preflight_seconds + checked + measured,
       .stop_rule = "preflight, build, baseline, correctness, performance; stops when the kernel does not "
                    "build or is wrong"},
      {.name = fmt::format("iterations 1 to {}", most_iterations(project, arguments.loop)),
       .time_box_s = checked + 4 * measured,
       .stop_rule =
           fmt::format("each: build, correctness, side by side with the incumbent; kept when a second "
                       "measurement proves it {:g} % faster and no shape loses {:g} %",
                       100 * project.optimize.min_gain, 100 * project.optimize.shape_loss)},
      {.name = "memory checker",
       .time_box_s = project.limits.sanitize_seconds,
       .stop_rule = fmt::format("every {} iterations, and on the winner", project.optimize.sanitize_every)},
      {.name = "winner",
       .time_box_s = checked + 3 * measured,
       .stop_rule = "from a clean checkout, fresh seeds, shapes that no proposer has seen"},
      {.name = "report", .time_box_s = 5, .stop_rule = "always written"}};
  const double target = arguments.loop.target.value_or(project.optimize.target);
  if (target > 0)
    plan[1].threshold =
        fmt::format("until {}x of the baseline{}", target,
                    project.optimize.target_shape.empty() ? "" : " at " + project.optimize.target_shape);
  if (arguments.common.json)
    print_json("optimize", {{"plan", plan_record(plan)}});
  else
    std::fputs(plan_text(plan).c_str(), stdout);
  return ExitCode::ok;
}

std::string history_text(const LoopState& state) {
  std::string text = fmt::format("{:>3}  {:<8} {:<40} {:<9} {:>8}\n", "", "", "change", "gain", "of base");
  for (const Iteration& iteration : state.iterations) {
    if (!iteration.outcome) continue;
    const Outcome& outcome = *iteration.outcome;
    const std::string verdict = outcome.kept ? "kept" : "dropped";
    text += fmt::format("{:>3}  {:<8} {:<40} {:<9} {:>7.3g}x  {}\n", iteration.number,
                        painted(fmt::format("{:<8}", verdict), outcome.kept ? "32" : "33", colours(1)),
                        iteration.proposal.hypothesis.change.substr(0, 40),
                        outcome.gain ? fmt::format("{:.3f}x", outcome.gain->centre) : "-", iteration.speedup,
                        outcome.kept ? "" : name(outcome.stage));
  }
  return text;
}

ExitCode optimize(OptimizeArguments arguments) {
  if (arguments.loop.parallel < 1 || arguments.loop.parallel > kMostParallel)
    throw UsageError(fmt::format("--parallel {}\n  try: 1 to {}", arguments.loop.parallel, kMostParallel));
  if (arguments.loop.parallel > 1 && arguments.loop.executor.empty() && !arguments.resume)
    arguments.loop.executor = "local";
  Project project = read_project(arguments.common.project);
  if (arguments.plan) return show_plan(project, arguments);
  take_price(project, arguments.loop.executor);
  const auto proposer = standard_proposer(project);
  run_supervised("dent optimize --resume", [&] { remove_worktrees(project.directory); });
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  if (!arguments.resume) refuse_beside_left_jobs(store.folder());
  // What a loop has tuned so far may have been taken over meanwhile; what it started with is on record.
  const SessionFolder folder =
      arguments.resume ? session_to_resume(store, project, arguments.session, kOptimize) : store.create();
  if (arguments.resume) take_price(project, state_of(read_ledger(folder.ledger()).records).executor);
  Audience audience(arguments.common);
  Loop loop(project, store, folder, arguments.loop, audience);
  const Conclusion end = loop.run(*proposer);
  if (arguments.common.json) {
    print_json("optimize", {{"session", end.id},
                            {"verdict", name(end.verdict)},
                            {"reason", end.reason},
                            {"next", end.next},
                            {"exit_code", static_cast<int>(end.code)},
                            {"folder", folder.folder.string()},
                            {"branch", loop.state().branch},
                            {"commit", loop.state().incumbent_commit()},
                            {"choice", loop.state().incumbent()},
                            {"speedup", loop.state().speedup()},
                            {"cost", cost_json(loop.cost(), money_of(loop.cost(), project.rates))},
                            {"report", JsonValue::object_in(text_of(folder.folder / "report.json"))}});
    return end.code;
  }
  std::string text = history_text(loop.state()) + "\n" +
                     painted(name(end.verdict), colour_of(end.verdict), colours(1)) + ": " + end.reason +
                     "\n";
  if (loop.state().last_kept() != nullptr) text += "choice: " + describe(loop.state().incumbent()) + "\n";
  if (!end.next.empty()) text += "next: " + end.next + "\n";
  text += "report: " + (folder.folder / "report.html").string() + "\n";
  std::fputs(text.c_str(), stdout);
  return end.code;
}

}  // namespace

ExitCode resume_loop(const std::string& session, const Common& common) {
  return optimize({.common = common, .resume = true, .session = session});
}

void add_optimize(Command& dent) {
  auto arguments = std::make_shared<OptimizeArguments>();
  Command& command = dent.command(
      "optimize", "Try one change after the other, and keep as commits those that are proved faster");
  add_common(command, arguments->common);
  add_events(command, arguments->common);
  command.option("folder", arguments->common.project, "Same as --project");
  const Option target =
      command.option("-t,--target", arguments->loop.target, "Stop at this many times the baseline's speed");
  const Option iterations =
      command.option("-n,--iterations", arguments->loop.iterations, "How many changes to try at most");
  command.option("--minutes", arguments->loop.minutes, "Time budget, resumed ones included");
  add_executor(command, arguments->loop.executor);
  const Option parallel =
      command.option("--parallel", arguments->loop.parallel,
                     "So many candidates at a time; here, by --on local, unless --on says where");
  const Option resume = command
                            .option("--resume", arguments->session,
                                    "Go on with a loop that was interrupted: its id, or the last")
                            .value_optional();
  command.flag("--plan", arguments->plan,
               "Show the steps with their time boxes and stop rules, and do nothing");
  command.flag("--rebaseline", arguments->loop.rebaseline,
               "Forget the baseline that was recorded for this machine");
  command.examples(
      "  dent optimize --target 1.5\n"
      "  dent optimize -n 10 --minutes 5 --json | jq .speedup\n"
      "  dent optimize --on cluster --parallel 16\n"
      "  dent optimize --resume");
  command.run([=] {
    arguments->resume = resume.given();
    for (const auto& [option, name] : {std::pair(target, "--target"), std::pair(iterations, "--iterations"),
                                       std::pair(parallel, "--parallel")}) {
      if (resume.given() && option.given())
        throw UsageError(
            fmt::format("{} with --resume: a loop goes on as it began\n"
                        "  try: dent optimize --resume, with --minutes where it needs more time",
                        name));
    }
    if (arguments->session.empty()) arguments->session = "latest";
    return optimize(*arguments);
  });
}

}  // namespace dent::cli
