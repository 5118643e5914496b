// SPDX-License-Identifier: MIT
// dent ci: is the kernel of this tree right, and is it slower than that of another commit?
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/session_command.h"
#include "cli/terminal.h"
#include "commits/committed_project.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "report/comment.h"
#include "session/run.h"
#include "session/supervise.h"

namespace dent::cli {
namespace {

struct CiArguments {
  Common common;
  std::string base, comment, link;
  std::vector<std::string> shapes;
};

void write_comment(const std::string& file, const std::string& text) {
  if (file == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream out(file);
  out << text << std::flush;
  if (!out) throw Error(ErrorCode::environment, "can't write " + file);
}

Conclusion measure(const Project& project, SessionStore& store, const SessionFolder& folder,
                   std::vector<std::string> gates, const CiArguments& arguments) {
  Audience audience(arguments.common);
  const SessionRequest request{"ci", make_plan(project, {gates, arguments.shapes, {}}), gates,
                               arguments.shapes};
  return run_plan(project, store, folder, request, audience);
}

bool failed_at(const SessionFolder& folder, std::string_view step) {
  for (const StepView& one : load_session(folder).steps) {
    if (one.gate && one.gate->verdict == StepVerdict::fail) return one.step == step;
  }
  return false;
}

ExitCode ci(const CiArguments& arguments) {
  if (arguments.common.json && arguments.comment == "-") {
    throw Error(ErrorCode::invalid, "--comment - and --json would both write to stdout",
                "name a file for the comment: dent ci --comment comment.md --json");
  }
  const Project project = read_project(arguments.common.project);
  run_supervised("dent ci starts anew", [&] { remove_worktrees(project.directory); });
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  const Repository repository(project.directory, store.folder(), kManifestName);
  const std::string base = commit_named(repository, arguments.base);
  const CommittedProject before(repository, store.folder() / "worktrees" / "base", base);
  SessionFolder folder = store.create();
  Conclusion end = measure(against(project, before.kernel(), fmt::format("{:.12}", base)), store, folder,
                           gates_of_run({}, {"profile"}), arguments);
  std::string about_before = in_short(repository, base);
  if (end.verdict == Verdict::environment && failed_at(folder, "baseline")) {
    // A change that mends it is right or wrong by itself.
    about_before += fmt::format(" ({}; not compared)", end.reason);
    std::fputs(fmt::format("{}\n", about_before).c_str(), stderr);
    folder = store.create();
    end = measure(project, store, folder, gates_of_command(gate_named("correctness")), arguments);
  }
  if (end.verdict == Verdict::slower) {
    end.verdict = Verdict::regressed;
    end.code = exit_code(end.verdict);
  }
  if (!arguments.comment.empty()) {
    const bool clean = repository.git({"status", "--porcelain", "--untracked-files=no"}).out.empty();
    write_comment(arguments.comment,
                  comment_on(load_session(folder),
                             {.before = about_before,
                              .after = in_short(repository, "HEAD") + (clean ? "" : ", with changes"),
                              .verdict = end.verdict,
                              .link = arguments.link}));
    if (arguments.comment == "-") return end.code;
  }
  return finish("ci", end, folder, arguments.common);
}

}  // namespace

void add_ci(Command& dent) {
  auto arguments = std::make_shared<CiArguments>();
  Command& command = dent.command(
      "ci", "Is the kernel right, and is it slower than at another commit? Both are measured in turn");
  add_common(command, arguments->common);
  add_events(command, arguments->common);
  command.option("--base", arguments->base, "The commit to compare with, as git names it").required();
  command.option("-s,--shape", arguments->shapes, "Only this shape (may be given several times)");
  command.option("--comment", arguments->comment,
                 "Write Markdown for a comment on a pull request into this file; -: on stdout");
  command.option("--link", arguments->link, "Where the report will be, for the comment");
  command.examples(
      "  dent ci --base origin/main\n"
      "  dent ci --base HEAD~1 --comment comment.md\n"
      "  dent ci --base origin/main || [ $? = 8 ]   # can't be told: no failure");
  command.run([arguments] { return ci(*arguments); });
}

}  // namespace dent::cli
