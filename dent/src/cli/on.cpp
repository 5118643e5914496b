// SPDX-License-Identifier: MIT
#include "cli/on.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/session_command.h"
#include "cli/terminal.h"
#include "executors/conduct.h"
#include "executors/machine.h"
#include "executors/shell_words.h"
#include "ledger/project_lock.h"
#include "report/write_reports.h"
#include "session/environment.h"
#include "session/supervise.h"

namespace dent::cli {
namespace {

std::string in_project(const std::string& command, const Common& common) {
  return common.project == "." ? command : fmt::format("{} -p {}", command, quoted_if_needed(common.project));
}

// A job that ended without a verdict of its own.
Conclusion without_verdict(const SentJob& sent, const JobStatus& status, const Common& common) {
  const bool goes_on = status.exit_code == static_cast<int>(ExitCode::interrupted);
  return {
      .id = sent.job().session,
      .verdict = goes_on || status.state == JobState::cancelled ? Verdict::interrupted : Verdict::environment,
      .reason = fmt::format("the job is {} ({}){}", name(status.state), status.word,
                            status.why.empty() ? "" : ": " + status.why),
      .next = goes_on ? in_project("dent attach " + sent.job().id, common) : "",
      .code = status.exit_code ? static_cast<ExitCode>(*status.exit_code) : ExitCode::interrupted};
}

void say_line(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

// The machine behind an executor, where there is one to start and stop: up, and ours for as long as we live.
std::optional<Machine> machine_of(const ExecutorRules& rules, const Project& project) {
  if (!rules.machine) return std::nullopt;
  std::optional<Machine> machine(rules);
  machine->hold();
  machine->bring_up(say_line);
  machine->start_watcher(project.directory);
  return machine;
}

ExitCode see_through(const char* command, const Project& project, SessionStore& store, Executor& executor,
                     SentJob& sent, std::optional<Machine>& machine, const Common& common) {
  const SessionFolder folder = store.find(sent.job().session);
  const ProjectLock lock(folder.folder);  // one dent at a time takes records into it
  const auto plan = make_plan(project, {sent.job().gates, sent.job().shapes, sent.job().options});
  Audience audience(common);
  Session session(project, store, folder, audience);
  std::size_t done = 0;
  for (const Step& step : plan) done += session.facts().finished(step.name) != nullptr ? 1 : 0;
  session.show(plan, done);
  ConductRules rules;
  if (machine)
    rules.bring_up = [&] { return machine->bring_up([&](const std::string& text) { session.say(text); }); };
  const JobStatus status = conduct(executor, sent, session, plan, rules);
  if (machine) machine->book(project, session);
  Conclusion end = without_verdict(sent, status, common);
  if (const auto& verdict = session.facts().verdict()) {
    end.verdict = verdict->verdict;
    end.reason = verdict->reason;
    end.next = verdict->next;
  }
  if (!session.facts().empty()) {
    write_reports(store, folder);
    return finish(command, end, folder, common);
  }
  if (common.json) {  // it did not come to its first record
    print_json(command, {{"session", end.id},
                         {"job", sent.job().id},
                         {"verdict", name(end.verdict)},
                         {"reason", end.reason},
                         {"next", end.next},
                         {"exit_code", static_cast<int>(end.code)}});
  }
  std::fputs(fmt::format("{}: {}\n", name(end.verdict), end.reason).c_str(), stderr);
  return end.code;
}

}  // namespace

void add_executor(Command& command, std::string& executor) {
  command.option("--on", executor, "Where to do it: an executor of dent.toml or of your own config");
}

void add_on(Command& command, On& on) {
  add_executor(command, on.executor);
  command.flag("--detach", on.detach, "With --on: print the job's id and leave it alone");
}

ExitCode run_session_on(const char* command, const Project& project, const PlanRequest& wanted, const On& on,
                        const Common& common) {
  make_plan(project, wanted);  // a mistake in it is no session
  const ExecutorRules rules = find_executor(project, on.executor);
  const auto executor = make_executor(rules, project, say_line);
  SessionStore store(project.directory);
  store.prepare();
  if (!on.detach) run_supervised(in_project("dent attach", common));
  const SessionFolder folder = store.create();
  SentJob sent = JobTable(store.folder())
                     .create({.command = command,
                              .project = project.directory,
                              .gates = wanted.gates,
                              .shapes = wanted.shapes,
                              .options = wanted.options,
                              .setup = rules.setup,
                              .usd_per_hour = rules.usd_per_hour,
                              .cell = project.sandbox == Sandbox::required,
                              .git = environment_snapshot(project.directory).git,
                              .executor = rules.name,
                              .session = folder.id});
  auto machine = machine_of(rules, project);
  if (machine) machine->expect(project.directory, sent.job());
  send(*executor, sent);
  if (!on.detach) return see_through(command, project, store, *executor, sent, machine, common);
  sent.remember(executor->state(sent));
  if (common.json) {
    print_json(command, {{"job", sent.job().id},
                         {"session", folder.id},
                         {"executor", rules.name},
                         {"state", name(sent.status().state)},
                         {"exit_code", 0}});
  } else {
    std::puts(sent.job().id.c_str());
  }
  return ExitCode::ok;
}

void take_price(Project& project, const std::string& executor) {
  if (executor.empty()) return;
  const ExecutorRules rules = find_executor(project, executor);
  if (rules.usd_per_hour > 0) project.rates.device_usd_per_hour = rules.usd_per_hour;
}

std::optional<std::string> job_of_session(const Project& project, const std::string& session) {
  const SessionStore store(project.directory);
  const auto sessions = store.list();
  if (sessions.empty()) return std::nullopt;
  const std::string id = store.find(session).id;
  for (const SentJob& sent : JobTable(store.folder()).list()) {
    if (sent.job().session == id && !sent.job().part) return sent.job().id;
  }
  return std::nullopt;
}

void refresh(SentJob& sent, const Project& project) {
  if (has_ended(sent.status().state)) return;
  try {
    sent.remember(make_executor(find_executor(project, sent.job().executor), project)->state(sent));
  } catch (const std::exception& problem) {
    JobStatus status = sent.status();
    status.why = kLastKnown + in_one_line(problem);
    sent.remember(status);
  }
}

ExitCode attach(const Project& project, const std::string& job, const Common& common) {
  SessionStore store(project.directory);
  SentJob sent = JobTable(store.folder()).find(job);
  if (sent.job().part) {
    throw Error(ErrorCode::invalid,
                fmt::format("job {} is a part of the loop {}", sent.job().id, sent.job().session),
                in_project("dent resume " + sent.job().session, common));
  }
  const ExecutorRules rules = find_executor(project, sent.job().executor);
  const auto executor = make_executor(rules, project, say_line);
  run_supervised(in_project("dent attach " + sent.job().id, common));
  auto machine = machine_of(rules, project);
  if (machine) machine->expect(project.directory, sent.job());
  // Twice is once: one that runs or has come to its end is left alone. One that was cancelled stays so.
  if (sent.noted("cancelled").empty()) send(*executor, sent);
  return see_through("attach", project, store, *executor, sent, machine, common);
}

}  // namespace dent::cli
