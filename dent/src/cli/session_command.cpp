// SPDX-License-Identifier: MIT
#include "cli/session_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "cli/optimize.h"
#include "cli/terminal.h"
#include "executors/left_running.h"
#include "executors/shell_words.h"
#include "ledger/facts.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "records/json.h"
#include "report/clock_words.h"
#include "report/diagnosis_view.h"
#include "report/format.h"
#include "report/rates.h"
#include "report/session_view.h"
#include "session/run.h"
#include "session/supervise.h"

namespace dent::cli {
namespace {

constexpr std::size_t kTableWidth = 80;

// What to type after an interruption.
std::string how_to_go_on(const Common& common) {
  return common.project == "." ? "dent resume" : "dent resume -p " + quoted_if_needed(common.project);
}

std::string speed_table(const SessionView& view) {
  if (view.comparisons.empty()) return {};
  std::string text = fmt::format("{:<14} {:>12} {:>12} {:>9}  {:<18} {}\n", "shape", "baseline", "candidate",
                                 "speed", "95 % interval", "verdict");
  const bool colour = colours(1);
  const bool narrow = width_of(1).value_or(kTableWidth) < kTableWidth;
  if (narrow) text.clear();  // a line or two for each shape instead of a row
  for (const record::Comparison& shape : view.comparisons) {
    const auto us = [](double ns) {
      return ns > 0 ? fmt::format("{:.{}f} us", ns / 1e3, ns < 10e3 ? 2 : 1) : "-";
    };
    if (narrow) {
      text += fmt::format("{}: {} {}\n  {}, baseline {}\n", shape.shape,
                          shape.ratio ? fmt::format("{:.3f}x", shape.ratio->centre) : "-",
                          painted(verdict_words(shape), colour_of(shape.verdict), colour),
                          us(shape.candidate_ns), us(shape.baseline_ns));
      if (shape.ratio)
        text +=
            fmt::format("  {:.3f} to {:.3f} (95 %)\n", shape.ratio->interval.low, shape.ratio->interval.high);
      continue;
    }
    text += fmt::format(
        "{:<14} {:>12} {:>12} {:>9}  {:<18} {}\n", shape.shape, us(shape.baseline_ns), us(shape.candidate_ns),
        shape.ratio ? fmt::format("{:.3f}x", shape.ratio->centre) : "-",
        shape.ratio ? fmt::format("{:.3f} to {:.3f}", shape.ratio->interval.low, shape.ratio->interval.high)
                    : "-",
        painted(verdict_words(shape), colour_of(shape.verdict), colour));
  }
  if (const std::string weights = show_weights(view.comparisons); !weights.empty())
    text += "weights: " + weights + "\n";
  for (const record::Comparison& shape : view.comparisons) {
    if (const std::string rates = show_rates(shape); !rates.empty())
      text += fmt::format("rates, {}: {}\n", shape.shape, rates);
  }
  for (const record::Comparison& shape : view.comparisons) {
    if (shape.clock) text += fmt::format("clock, {}: {}\n", shape.shape, clock_in_words(*shape.clock));
  }
  return text + "\n";
}

char mark_of(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::pass:
      return '+';
    case StepVerdict::fail:
      return '-';
    case StepVerdict::skipped:
      break;
  }
  return ' ';
}

// What was found, and what to do about it where something can be.
std::string check_list(const SessionView& view) {
  std::string text;
  for (const record::Check& check : view.checks) {
    text += fmt::format("{} {}: {}\n", mark_of(check.verdict), check.name, check.found);
    if (check.verdict != StepVerdict::pass && !check.fix.empty()) text += fmt::format("    {}\n", check.fix);
  }
  return text.empty() ? text : text + "\n";
}

constexpr std::size_t kLastLines = 6;

// What a kernel's process printed last before it failed, where it printed anything.
std::string last_lines(const SessionView& view) {
  for (const StepView& step : view.steps) {
    if (!step.gate || !step.gate->failure || step.gate->last_words.empty()) continue;
    std::vector<std::string> lines;
    std::istringstream words(step.gate->last_words);
    for (std::string line; std::getline(words, line);) {
      if (!trimmed(line).empty()) lines.push_back(line);
    }
    std::string text;
    for (std::size_t i = lines.size() > kLastLines ? lines.size() - kLastLines : 0; i < lines.size(); ++i)
      text += "  | " + lines[i] + "\n";
    return text;
  }
  return {};
}

// As short as it can be said from the folder that the user is in.
std::string from_here(const std::filesystem::path& file) {
  std::error_code problem;
  const auto relative = std::filesystem::proximate(file, problem);
  if (problem || relative.begin() == relative.end() || *relative.begin() == "..") return file.string();
  return relative.string();
}

// New or resumed: from where the ledger ends.
ExitCode carry_through(const char* command, const Project& project, SessionStore& store,
                       const SessionFolder& folder, const SessionRequest& request, const Common& common) {
  Audience audience(common);
  return finish(command, run_plan(project, store, folder, request, audience), folder, common);
}

bool is_of_optimize(const Project& project, const std::string& id) {
  const SessionStore store(project.directory);
  if (store.list().empty()) return false;
  const SessionFolder folder = store.find(id);
  if (!std::filesystem::exists(folder.ledger())) return false;
  const SessionFacts facts(read_ledger(folder.ledger()).records);
  return !facts.empty() && facts.session().command == "optimize";
}

}  // namespace

ExitCode finish(const char* command, const Conclusion& end, const SessionFolder& folder,
                const Common& common) {
  if (common.json) {
    print_json(command, {{"session", end.id},
                         {"verdict", name(end.verdict)},
                         {"reason", end.reason},
                         {"next", end.next},
                         {"exit_code", static_cast<int>(end.code)},
                         {"folder", folder.folder.string()},
                         {"report", JsonValue::object_in(text_of(folder.folder / "report.json"))}});
    return end.code;
  }
  const SessionView view = load_session(folder);
  std::string text = std::string_view(command) == "preflight" ? check_list(view) : speed_table(view);
  for (const record::Diagnosis& diagnosis : view.diagnoses) text += diagnosis_text(diagnosis) + "\n";
  text += last_lines(view);
  text += painted(name(end.verdict), colour_of(end.verdict), colours(1)) + ": " + end.reason + "\n";
  if (!end.next.empty()) text += "next: " + end.next + "\n";
  text += "report: " + from_here(folder.folder / "report.html") + "\n";
  std::fputs(text.c_str(), stdout);
  return end.code;
}

void add_options(Command& command, const GateInfo& gate, GateOptions& options) {
  for (const GateOption& option : gate.options)
    command.flag("--" + std::string(option.name), options.*option.flag, std::string(option.about));
}

ExitCode run_session(const char* command, const Project& project, const PlanRequest& wanted,
                     const Common& common, const On& on) {
  if (!on.executor.empty()) return run_session_on(command, project, wanted, on, common);
  if (on.detach) throw UsageError("--detach needs --on\n  try: --on local --detach");
  // The plan first: a mistake in it is no session.
  const SessionRequest request{command, make_plan(project, wanted), wanted.gates, wanted.shapes};
  run_supervised(how_to_go_on(common));
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  refuse_beside_left_jobs(store.folder());
  return carry_through(command, project, store, store.create(), request, common);
}

ExitCode resume_session(const Project& project, const std::string& id, const Common& common) {
  if (const auto job = job_of_session(project, id)) return attach(project, *job, common);
  if (is_of_optimize(project, id)) return resume_loop(id, common);
  run_supervised(how_to_go_on(common));
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  const SessionFolder folder = session_to_resume(store, project, id, "run");
  const record::Session begun = SessionFacts(read_ledger(folder.ledger()).records).session();
  const SessionRequest request{begun.command,
                               make_plan(project, {.gates = begun.gates, .shapes = begun.shapes}),
                               begun.gates, begun.shapes};
  return carry_through("resume", project, store, folder, request, common);
}

}  // namespace dent::cli
