// SPDX-License-Identifier: MIT
// dent: takes any kernel through gates. Parse, run what was chosen, report, exit code.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "session/version.h"

namespace {

int fail(const std::string& text, dent::ExitCode code, bool json, const std::string& command) {
  if (json) dent::cli::print_json(command, {{"error", text}, {"exit_code", static_cast<int>(code)}});
  std::fputs(("error: " + text + "\n").c_str(), stderr);
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace dent;
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error with a message, not a death
  cli::Parser parser(
      "dent",
      "dent takes a kernel through gates: is the machine ready, does it build, is it right, is it faster?",
      std::string("dent ") + kDentVersion,
      "Start with: dent init attention my-kernel && cd my-kernel && dent run\nExit codes, manifest and JSON: "
      "dent/docs/dent.md");
  cli::Command& commands = parser.root();
  cli::add_run(commands);
  cli::add_single_gates(commands);
  cli::add_optimize(commands);
  cli::add_cost(commands);
  cli::add_log(commands);
  cli::add_show(commands);
  cli::add_watch(commands);
  cli::add_compare(commands);
  cli::add_ci(commands);
  cli::add_bisect(commands);
  cli::add_track(commands);
  cli::add_export(commands);
  cli::add_bundle(commands);
  cli::add_report(commands);
  cli::add_init(commands);
  cli::add_import(commands);
  cli::add_suite(commands);
  cli::add_devices(commands);
  cli::add_patterns(commands);
  cli::add_predict(commands);
  cli::add_completion(commands);
  cli::add_evaluate(commands);
  cli::add_mcp(commands);
  cli::add_jobs(commands);
  cli::add_job(commands);
  cli::add_slot(commands);
  bool json = false;
  for (int i = 1; i < argc; ++i) json = json || std::string(argv[i]) == "--json";
  const std::string command = argc > 1 ? argv[1] : "dent";
  try {
    return static_cast<int>(parser.parse(argc, argv)());
  } catch (const cli::UsageError& problem) {
    return fail(problem.what(), ExitCode::usage, json, command);
  } catch (const Error& problem) {
    return fail(problem.what(), exit_code(problem.code()), json, command);
  } catch (const std::filesystem::filesystem_error& problem) {
    return fail(std::string(problem.what()) +
                    "\n  try: check that the disk has room (df -h) and that you may write there",
                ExitCode::environment, json, command);
  } catch (const std::exception& problem) {
    return fail(std::string("dent itself: ") + problem.what(), ExitCode::internal, json, command);
  }
}
