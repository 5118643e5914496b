// SPDX-License-Identifier: MIT
// dent bundle: a session as an archive. dent verify: is it what its author made, and does it hold here?
#include "bundle/bundle.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "bundle/verify.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "executors/shell_words.h"
#include "project/manifest.h"
#include "report/document.h"
#include "report/format.h"
#include "session/supervise.h"
#include "system/temporary_folder.h"

namespace dent::cli {
namespace {

namespace fs = std::filesystem;

struct BundleArguments {
  Common common;
  std::string session = "latest", file;
  bool anyway = false;
};

ExitCode bundle(const BundleArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionFolder session = SessionStore(project.directory).find(arguments.session);
  const auto changed = changed_since(project, session);
  if (!changed.empty() && !arguments.anyway) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} of the project's files changed after session {}, the first: {}",
                            changed.size(), session.id, changed.front()),
                "measure the project as it is: dent run; or, where they don't matter: dent bundle --anyway");
  }
  const Bundle made = write_bundle(project, session, arguments.file);
  const auto bytes = fs::file_size(made.file);
  if (arguments.common.json) {
    print_json("bundle", {{"session", session.id},
                          {"file", fs::absolute(made.file).string()},
                          {"id", made.id},
                          {"bytes", bytes},
                          {"files", made.list.files},
                          {"changed", changed}});
  } else {
    std::fputs(fmt::format("{}: {} files, {}\nid: {}\nnext: dent verify {} --id {}\n", made.file.string(),
                           made.list.files.size(), show_bytes(static_cast<double>(bytes)), made.id,
                           quoted_if_needed(made.file.string()), made.id)
                   .c_str(),
               stdout);
  }
  return ExitCode::ok;
}

struct VerifyArguments {
  Common common;
  std::string file, id;
  bool only_check = false, trust = false;
};

std::string change_table(const SessionChange& change) {
  std::string text = fmt::format("{:<14} {:>9} {:>9} {:>9}  {:<18} {}\n", "shape", "there", "here", "change",
                                 "95 % interval", "verdict");
  for (const ShapeChange& row : change.shapes) {
    text += fmt::format("{:<14} {:>8.3f}x {:>8.3f}x {:>8.3f}x  {:<18} {}\n", row.shape, row.before.centre,
                        row.after.centre, row.change.centre,
                        fmt::format("{:.3f} to {:.3f}", row.change.interval.low, row.change.interval.high),
                        name(row.verdict));
  }
  return text + "\n";
}

ExitCode tell_tampered(const CheckedBundle& checked, const VerifyArguments& arguments) {
  if (arguments.common.json) {
    print_json("verify", {{"id", checked.id},
                          {"verdict", "TAMPERED"},
                          {"faults", checked.faults},
                          {"exit_code", static_cast<int>(ExitCode::usage)}});
    return ExitCode::usage;
  }
  std::string text;
  for (const std::string& fault : checked.faults) text += "- " + fault + "\n";
  std::fputs((text + "\nTAMPERED: it is not what its author made; nothing of it was run\n").c_str(), stdout);
  return ExitCode::usage;
}

ExitCode tell_intact(const CheckedBundle& checked, const SessionView& there,
                     const VerifyArguments& arguments) {
  const std::string reason =
      fmt::format("{} files and {} records are as listed; session {} ended with {}",
                  checked.list.files.size(), there.records, there.id, name(there.verdict));
  if (arguments.common.json) {
    print_json("verify", {{"id", checked.id},
                          {"session", there.id},
                          {"verdict", name(Verdict::pass)},
                          {"reason", reason},
                          {"there", json_report(there, {})},
                          {"exit_code", 0}});
  } else {
    std::fputs(fmt::format("id: {}\n{}: {}; nothing of it was run\n", checked.id, name(Verdict::pass), reason)
                   .c_str(),
               stdout);
  }
  return ExitCode::ok;
}

ExitCode tell_measured(const CheckedBundle& checked, const Remeasured& found,
                       const VerifyArguments& arguments) {
  const ExitCode code = exit_code(found.verdict);
  if (arguments.common.json) {
    JsonObject document{{"id", checked.id},
                        {"session", found.there.id},
                        {"verdict", name(found.verdict)},
                        {"reason", found.reason},
                        {"same_hardware", found.machines.same_hardware},
                        {"differs", found.machines.words}};
    if (found.change) document.add("change", found.change->mean);
    document.add("there", json_report(found.there, {})).add("here", json_report(found.here, {}));
    print_json("verify", document.add("exit_code", static_cast<int>(code)));
    return code;
  }
  std::string text = fmt::format("id: {}\n", checked.id);
  for (const std::string& words : found.machines.words) text += "differs: " + words + "\n";
  if (found.change && !found.change->shapes.empty()) text += change_table(*found.change);
  text += fmt::format("{}: {}\n", painted(name(found.verdict), colour_of(found.verdict), colours(1)),
                      found.reason);
  std::fputs(text.c_str(), stdout);
  return code;
}

ExitCode verify(const VerifyArguments& arguments) {
  const fs::path archive = fs::absolute(arguments.file);
  const TemporaryFolder folder("dent-verify");
  run_supervised("dent verify starts anew", [&] { fs::remove_all(folder.path()); });
  unpack_bundle(archive, folder.path());
  CheckedBundle checked = check_bundle(folder.path());
  if (!arguments.id.empty() && !checked.id.starts_with(arguments.id))
    checked.faults.push_back(fmt::format("its id is {}, not {}", checked.id, arguments.id));
  if (!checked.faults.empty()) return tell_tampered(checked, arguments);
  if (arguments.only_check) {
    const SessionFolder session{checked.list.session, folder.path() / "session"};
    return tell_intact(checked, load_session(session), arguments);
  }
  Audience audience(arguments.common);
  return tell_measured(checked, measure_again(folder.path(), checked.list, arguments.trust, audience),
                       arguments);
}

}  // namespace

void add_bundle(Command& dent) {
  auto arguments = std::make_shared<BundleArguments>();
  Command& command =
      dent.command("bundle", "Put a session with its sources into an archive that others can verify");
  add_common(command, arguments->common);
  command.option("session", arguments->session, "Its id, the beginning of it, or \"latest\"").show_default();
  command.option("-o,--output", arguments->file, "The archive; default: <project>-<session>.tar here");
  command.flag("--anyway", arguments->anyway, "Also where files are newer than the session");
  command.examples("  dent bundle\n  dent bundle 20260331-1405 -o result.tar && zstd result.tar");
  command.run([arguments] { return bundle(*arguments); });

  auto verified = std::make_shared<VerifyArguments>();
  Command& checking = dent.command("verify", "Check a bundle, and measure it again on this machine");
  checking.option("bundle", verified->file, "The archive, also a compressed one that tar can read")
      .required();
  checking.option("--id", verified->id,
                  "That its author has published; else a bundle that was made anew passes");
  checking.flag("--only-check", verified->only_check, "Run nothing of it");
  checking.flag("--trust", verified->trust, "Run it as its manifest says, also without a cell");
  checking.flag("--json", verified->common.json, "One JSON document on stdout instead of text");
  checking.flag("-q,--quiet", verified->common.quiet, "No progress on stderr");
  checking.examples("  dent verify result.tar --id 3f0c2a\n  dent verify result.tar.zst --only-check --json");
  checking.run([verified] { return verify(*verified); });
}

}  // namespace dent::cli
