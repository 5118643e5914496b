// SPDX-License-Identifier: MIT
// dent log: the sessions of a project, newest first.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/on.h"
#include "cli/terminal.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "report/session_view.h"

namespace dent::cli {
namespace {

struct LogArguments {
  Common common;
  std::size_t most = 20;
};

// The job of a session that has not ended, there where it runs or waits; null: there is none.
const SentJob* unfinished_job(const Project& project, std::vector<SentJob>& jobs,
                              const std::string& session) {
  for (SentJob& sent : jobs) {
    if (sent.job().session != session) continue;
    refresh(sent, project);
    if (!has_ended(sent.status().state)) return &sent;
  }
  return nullptr;
}

// "on l4-dev (job 0f8fad5b)"
std::string where(const SentJob& sent) {
  const JobStatus& now = sent.status();
  std::string text = fmt::format("on {} (job {})", sent.job().executor, sent.job().id.substr(0, 8));
  if (now.state != JobState::running) text += fmt::format(": {}", name(now.state));
  return now.why.starts_with(kLastKnown) ? text + ", " + now.why : text;
}

// One that is done elsewhere has no ledger here before somebody attaches to it.
SessionView view_of(const SessionFolder& folder) {
  if (std::filesystem::exists(folder.ledger())) return load_session(folder);
  return view_session(folder.id, {});
}

ExitCode log(const LogArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionStore store(project.directory);
  const auto sessions = store.list();
  const bool busy = is_locked(store.folder());
  std::vector<SentJob> jobs = JobTable(store.folder()).list();
  JsonList list;
  std::string text;
  const bool colour = colours(1);
  for (std::size_t i = 0; i < sessions.size() && i < arguments.most; ++i) {
    const SessionFolder& folder = sessions[sessions.size() - 1 - i];
    try {
      const SessionView view = view_of(folder);
      const SentJob* elsewhere = view.end ? nullptr : unfinished_job(project, jobs, folder.id);
      const std::string& command =
          view.records == 0 && elsewhere != nullptr ? elsewhere->job().command : view.session.command;
      const bool running = elsewhere != nullptr || (i == 0 && busy && !view.end);
      const std::string_view verdict = running ? "RUNNING" : name(view.verdict);
      const std::string reason = elsewhere != nullptr ? where(*elsewhere)
                                 : running            ? "a dent works on it"
                                 : view.records == 0  ? "it ended before its first record"
                                                      : view.reason;
      JsonObject entry{{"session", view.id},
                       {"started", view.started},
                       {"command", command},
                       {"verdict", verdict},
                       {"reason", reason}};
      if (view.mean()) entry.add("speedup", view.mean()->centre);
      list.add(entry);
      text += fmt::format("{}  {:<9} {}  {}\n", view.id, command,
                          painted(fmt::format("{:<12}", verdict), colour_of(view.verdict), colour), reason);
    } catch (const std::exception& problem) {  // one broken session hides no other
      list.add(JsonObject{{"session", folder.id}, {"error", in_one_line(problem)}});
      text += fmt::format("{}  unreadable: {}\n", folder.id, in_one_line(problem));
    }
  }
  if (arguments.common.json)
    print_json("log", {{"sessions", list}});
  else
    std::fputs(text.empty() ? "no sessions yet: dent run\n" : text.c_str(), stdout);
  return ExitCode::ok;
}

}  // namespace

void add_log(Command& dent) {
  auto arguments = std::make_shared<LogArguments>();
  Command& command = dent.command("log", "List the sessions of a project, newest first");
  add_common(command, arguments->common);
  command.option("-n,--most", arguments->most, "How many").show_default();
  command.examples("  dent log\n  dent log -n 5 --json");
  command.run([arguments] { return log(*arguments); });
}

}  // namespace dent::cli
