// SPDX-License-Identifier: MIT
#include "cli/session_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "ledger/facts.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "records/json.h"
#include "report/diagnosis_view.h"
#include "report/session_view.h"

namespace dent::cli {
namespace {

std::string speed_table(const SessionView& view) {
  if (view.comparisons.empty()) return {};
  std::string text = fmt::format("{:<14} {:>12} {:>12} {:>9}  {:<18} {}\n", "shape", "baseline", "candidate",
                                 "speed", "95 % interval", "verdict");
  const bool colour = colours(1);
  for (const record::Comparison& shape : view.comparisons) {
    const auto us = [](double ns) { return fmt::format("{:.1f} us", ns / 1e3); };
    text += fmt::format(
        "{:<14} {:>12} {:>12} {:>9}  {:<18} {}\n", shape.shape, us(shape.baseline_ns), us(shape.candidate_ns),
        shape.ratio ? fmt::format("{:.3f}x", shape.ratio->centre) : "-",
        shape.ratio ? fmt::format("{:.3f} to {:.3f}", shape.ratio->interval.low, shape.ratio->interval.high)
                    : "-",
        painted(name(shape.verdict), colour_of(shape.verdict), colour));
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

// As short as it can be said from the folder that the user is in.
std::string from_here(const std::filesystem::path& file) {
  std::error_code problem;
  const auto relative = std::filesystem::proximate(file, problem);
  if (problem || relative.begin() == relative.end() || *relative.begin() == "..") return file.string();
  return relative.string();
}

ExitCode finish(const char* command, const SessionEnd& end, const SessionFolder& folder,
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
  text += painted(name(end.verdict), colour_of(end.verdict), colours(1)) + ": " + end.reason + "\n";
  if (!end.next.empty()) text += "next: " + end.next + "\n";
  text += "report: " + from_here(folder.folder / "report.html") + "\n";
  std::fputs(text.c_str(), stdout);
  return end.code;
}

}  // namespace

ExitCode run_session(const char* command, const Project& project, RunOptions options, const Common& common) {
  options.command = command;
  make_plan(project, options.plan);  // mistakes first: they are no session
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  const SessionFolder folder = store.create();
  Terminal terminal(common.quiet);
  const SessionEnd end = Runner(project, store, folder, std::move(options), terminal).run();
  return finish(command, end, folder, common);
}

ExitCode resume_session(const Project& project, const std::string& id, const Common& common) {
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  const SessionFolder folder = store.find(id);
  const SessionFacts facts(read_ledger(folder.ledger()).records);
  if (facts.empty()) {
    throw Error(ErrorCode::invalid,
                "session " + folder.id + " ended before its first record; there is nothing to go on with",
                "start a new one: dent run");
  }
  const record::Session& session = facts.session();
  if (session.command == "optimize" || session.command == "evaluate") {
    throw Error(ErrorCode::invalid, "session " + folder.id + " is one of dent " + session.command,
                session.command == "optimize" ? "go on with it: dent optimize --resume " + folder.id
                                              : "go on with it: dent evaluate --session " + folder.id);
  }
  if (!same_project(session.manifest, project)) {
    throw Error(ErrorCode::invalid, "dent.toml has changed since session " + folder.id + " began",
                "undo the change to go on with it, or start a new one: dent run");
  }
  RunOptions options;
  options.command = session.command.empty() ? "run" : session.command;
  options.plan = options_of(session.gates, session.shapes);
  Terminal terminal(common.quiet);
  const SessionEnd end = Runner(project, store, folder, std::move(options), terminal).run();
  return finish("resume", end, folder, common);
}

}  // namespace dent::cli
