// SPDX-License-Identifier: MIT
// dent executors, jobs, attach, cancel: work that is done elsewhere.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/on.h"
#include "executors/executor.h"
#include "executors/machine.h"
#include "ledger/session_store.h"
#include "project/manifest.h"

namespace dent::cli {
namespace {

ExitCode list_executors(const Common& common) {
  const Project project = read_project(common.project);
  JsonList list;
  std::string text = fmt::format("{:<16} {:<8} {:<28} {}\n", "name", "kind", "where", "state");
  for (const ExecutorRules& rules : known_executors(project)) {
    std::string state;
    try {
      state = make_executor(rules, project)->look();
    } catch (const std::exception& problem) {  // one that is down hides no other
      state = in_one_line(problem);
    }
    const std::string where = rules.host.empty() ? "here" : rules.host;
    JsonObject entry{
        {"name", rules.name}, {"kind", name(rules.kind)}, {"state", state}, {"from", rules.from}};
    entry.may("host", rules.host).may("accelerators", rules.accelerators);
    entry.may("usd_per_hour", rules.usd_per_hour);
    list.add(entry);
    text += fmt::format("{:<16} {:<8} {:<28} {}\n", rules.name, name(rules.kind), where, state);
  }
  if (common.json)
    print_json("executors", {{"executors", list}});
  else
    std::fputs(text.c_str(), stdout);
  return ExitCode::ok;
}

// What it is at; else the system's own word.
std::string how_it_is(const SentJob& sent) {
  const JobStatus& status = sent.status();
  const std::string part = sent.job().part ? sent.job().part->name + "  " : "";
  if (status.state != JobState::running || status.doing.empty()) return part + status.word;
  return fmt::format("{}{}  {}", part, status.where, status.doing);
}

ExitCode list_jobs(const Common& common) {
  const Project project = read_project(common.project);
  JsonList list;
  std::string text;
  auto jobs = JobTable(SessionStore(project.directory).folder()).list();
  for (auto sent = jobs.rbegin(); sent != jobs.rend(); ++sent) {
    refresh(*sent, project);
    const Job& job = sent->job();
    JsonObject entry{{"job", job.id},
                     {"session", job.session},
                     {"executor", job.executor},
                     {"command", job.command},
                     {"created", job.created}};
    if (job.part) entry.add("part", job.part->name);
    entry.add(JsonObject(sent->status()));
    list.add(entry);
    text += fmt::format("{}  {:<12} {:<9} {:<10} {}  {}\n", job.id.substr(0, 8), job.executor, job.command,
                        name(sent->status().state), job.session, how_it_is(*sent));
  }
  if (common.json)
    print_json("jobs", {{"jobs", list}});
  else
    std::fputs(text.empty() ? "no jobs yet: dent run --on EXECUTOR\n" : text.c_str(), stdout);
  return ExitCode::ok;
}

ExitCode cancel(const std::string& id, const Common& common) {
  const Project project = read_project(common.project);
  SentJob sent = JobTable(SessionStore(project.directory).folder()).find(id);
  const auto executor = make_executor(find_executor(project, sent.job().executor), project);
  sent.note("cancelled", "yes");
  executor->cancel(sent);
  sent.remember(executor->state(sent));
  if (common.json) {
    print_json("cancel", JsonObject{{"job", sent.job().id}}.add(JsonObject(sent.status())));
  } else {
    std::fputs(fmt::format("{}: told to end; {}\n", sent.job().id, name(sent.status().state)).c_str(),
               stdout);
  }
  return ExitCode::ok;
}

ExitCode machine(const std::string& executor, bool watch, const Common& common) {
  const ExecutorRules rules = find_executor(read_project(common.project), executor);
  if (!rules.machine) {
    throw Error(ErrorCode::invalid, "executor " + executor + " has no machine of its own",
                "[executor." + executor + ".machine] with status, start and stop");
  }
  Machine known(rules);
  if (watch) {
    known.watch();
    return ExitCode::ok;
  }
  const std::string state = known.status();
  if (common.json)
    print_json("machine", {{"executor", executor}, {"state", state}, {"exit_code", 0}});
  else
    std::puts(state.c_str());
  return ExitCode::ok;
}

}  // namespace

void add_jobs(Command& dent) {
  auto executors = std::make_shared<Common>();
  Command& list = dent.command("executors", "List where work can be done, and whether it is ready");
  add_common(list, *executors);
  list.examples("  dent executors");
  list.run([executors] { return list_executors(*executors); });

  auto jobs = std::make_shared<Common>();
  Command& all = dent.command("jobs", "List the jobs that this project has sent out, newest first");
  add_common(all, *jobs);
  all.examples("  dent jobs");
  all.run([jobs] { return list_jobs(*jobs); });

  auto followed = std::make_shared<Common>();
  auto id = std::make_shared<std::string>("latest");
  Command& attached = dent.command("attach", "Follow a job to its end; one that was interrupted goes on");
  add_common(attached, *followed);
  add_events(attached, *followed);
  attached.option("job", *id, "Its id, the beginning of it, its session's id, or \"latest\"").show_default();
  attached.examples("  dent attach\n  dent attach 0f8fad5b");
  attached.run([followed, id] { return attach(read_project(followed->project), *id, *followed); });

  auto ended = std::make_shared<Common>();
  auto which = std::make_shared<std::string>("latest");
  Command& cancelled = dent.command("cancel", "End a job");
  add_common(cancelled, *ended);
  cancelled.option("job", *which, "Its id, the beginning of it, its session's id, or \"latest\"")
      .show_default();
  cancelled.examples("  dent cancel 0f8fad5b");
  cancelled.run([ended, which] { return cancel(*which, *ended); });

  auto of = std::make_shared<Common>();
  auto executor = std::make_shared<std::string>();
  auto watch = std::make_shared<bool>(false);
  Command& asked = dent.command("machine", "Say whether an executor's machine is up");
  add_common(asked, *of);
  asked.option("executor", *executor, "Its name").required();
  asked.flag("--watch", *watch, "Stop it when it has been idle for long enough (dent starts this itself)");
  asked.examples("  dent machine l4-dev");
  asked.run([of, executor, watch] { return machine(*executor, *watch, *of); });
}

}  // namespace dent::cli
