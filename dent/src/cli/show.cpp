// SPDX-License-Identifier: MIT
// dent show ID: one session, as its report tells it. dent report ID: writes the reports again.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "report/document.h"
#include "report/history.h"
#include "report/markdown.h"
#include "report/write_reports.h"

namespace dent::cli {
namespace {

struct ShowArguments {
  Common common;
  std::string id = "latest";
};

ExitCode show(const ShowArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionStore store(project.directory);
  const SessionFolder folder = store.find(arguments.id);
  const SessionView view = load_session(folder);
  const auto history = history_before(store, view.id);
  if (arguments.common.json) {
    print_json("show", {{"session", view.id}, {"report", json_report(view, history)}});
  } else {
    std::fputs(markdown_report(view, history).c_str(), stdout);
  }
  if (view.end || is_locked(store.folder())) return ExitCode::ok;
  std::fputs(
      fmt::format("session {} has no verdict: it was interrupted\nnext: dent resume {}\n", view.id, view.id)
          .c_str(),
      stderr);
  return ExitCode::interrupted;
}

ExitCode report(const ShowArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionStore store(project.directory);
  const SessionFolder folder = store.find(arguments.id);
  const ReportFiles files = write_reports(store, folder);
  if (arguments.common.json) {
    print_json("report", {{"session", folder.id},
                          {"markdown", files.markdown.string()},
                          {"html", files.html.string()},
                          {"json", files.json.string()}});
  } else {
    std::fputs(fmt::format("{}\n{}\n{}\n", files.markdown.string(), files.html.string(), files.json.string())
                   .c_str(),
               stdout);
  }
  return ExitCode::ok;
}

void add(Command& dent, const char* name, const char* about, const char* example,
         ExitCode (*action)(const ShowArguments&)) {
  auto arguments = std::make_shared<ShowArguments>();
  Command& command = dent.command(name, about);
  add_common(command, arguments->common);
  command.option("session", arguments->id, "Its id, the beginning of it, or \"latest\"").show_default();
  command.examples(example);
  command.run([=] { return action(*arguments); });
}

}  // namespace

void add_show(Command& dent) {
  add(dent, "show", "Show one session", "  dent show\n  dent show 20260331-1405 --json", show);
}

void add_report(Command& dent) {
  add(dent, "report", "Write report.md, report.html and report.json of a session again",
      "  dent report latest", report);
}

}  // namespace dent::cli
