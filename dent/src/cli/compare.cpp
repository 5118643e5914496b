// SPDX-License-Identifier: MIT
// dent compare A B: did the kernel get faster or slower between two sessions? Each was measured against the
// baseline of its own session, so the machine's mood on the day falls out.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "project/manifest.h"
#include "report/session_change.h"

namespace dent::cli {
namespace {

struct CompareArguments {
  Common common;
  std::string before;
  std::string after = "latest";
};

ExitCode compare(const CompareArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionStore store(project.directory);
  const SessionView before = load_session(store.find(arguments.before));
  const SessionView after = load_session(store.find(arguments.after));
  const SessionChange found = change_between(before, after, project.performance.same_within);
  const ExitCode code = exit_code(found.verdict);
  const std::string reason = found.mean ? "" : "too few samples for an interval on some shapes";
  if (arguments.common.json) {
    JsonList rows;
    for (const ShapeChange& row : found.shapes)
      rows.add(JsonObject{{"shape", row.shape},
                          {"before", row.before},
                          {"after", row.after},
                          {"change", row.change},
                          {"verdict", name(row.verdict)},
                          {"busy", row.busy}});
    JsonObject document{{"before", before.id},
                        {"after", after.id},
                        {"shapes", rows},
                        {"change", found.mean},
                        {"verdict", name(found.verdict)},
                        {"busy", found.busy}};
    print_json("compare", document.may("reason", reason).add("exit_code", static_cast<int>(code)));
    return code;
  }
  std::string text = fmt::format("{:<14} {:>9} {:>9} {:>9}  {:<18} {}\n", "shape", "before", "after",
                                 "change", "95 % interval", "verdict");
  for (const ShapeChange& row : found.shapes) {
    text += fmt::format(
        "{:<14} {:>8.3f}x {:>8.3f}x {:>8.3f}x  {:<18} {}\n", row.shape, row.before.centre, row.after.centre,
        row.change.centre, fmt::format("{:.3f} to {:.3f}", row.change.interval.low, row.change.interval.high),
        painted(in_words(row.verdict, row.busy, row.too_busy), colour_of(row.verdict), colours(1)));
  }
  const bool stands = found.busy && found.verdict != Verdict::busy_machine;
  text += fmt::format("\n{}{}: ", painted(name(found.verdict), colour_of(found.verdict), colours(1)),
                      stands ? " on a busy machine" : "");
  text += found.mean ? fmt::format("{:.3f}x ({:.3f} to {:.3f}) over {} shapes, {} -> {}\n",
                                   found.mean->centre, found.mean->interval.low, found.mean->interval.high,
                                   found.shapes.size(), before.id, after.id)
                     : reason + "\n";
  std::fputs(text.c_str(), stdout);
  return code;
}

}  // namespace

void add_compare(Command& dent) {
  auto arguments = std::make_shared<CompareArguments>();
  Command& command =
      dent.command("compare", "Compare two sessions; the exit code tells a regression from noise");
  add_common(command, arguments->common);
  command.option("before", arguments->before, "Session to compare with").required();
  command.option("after", arguments->after, "Session to compare").show_default();
  command.examples(
      "  dent compare 20260331-1405 latest\n  dent compare 20260331-1405 latest || echo \"exit code $?\"");
  command.run([arguments] { return compare(*arguments); });
}

}  // namespace dent::cli
