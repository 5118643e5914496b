// SPDX-License-Identifier: MIT
// dent: takes any kernel through gates. Parse, run what was chosen, report, exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "project/strict_table.h"
#include "session/version.h"

namespace {

int fail(const std::string& text, dent::ExitCode code, bool json, const std::string& command) {
  if (json) dent::cli::print_json(command.c_str(), {{"error", text}, {"exit_code", static_cast<int>(code)}});
  std::fputs(("error: " + text + "\n").c_str(), stderr);
  return static_cast<int>(code);
}

std::string in_words(const CLI::App& app, const CLI::ParseError& problem, const std::string& command) {
  std::vector<std::string> names;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(known->get_name());
  }
  if (command.starts_with("-") || std::find(names.begin(), names.end(), command) != names.end()) {
    return std::string(problem.what()) + "\n  try: dent " + (command.starts_with("-") ? "" : command + " ") +
           "--help";
  }
  const auto near = dent::nearest(command, names);
  return "no command is called \"" + command + "\"" + (near ? "; did you mean \"" + *near + "\"?" : "") +
         "\n  try: dent --help";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace dent;
  CLI::App app(
      "dent takes a kernel through gates: is the machine ready, does it build, is it right, is it faster?",
      "dent");
  app.set_version_flag("--version", std::string("dent ") + kDentVersion);
  app.require_subcommand(1);
  app.footer(
      "Start with: dent init attention my-kernel && cd my-kernel && dent run\nExit codes, manifest and JSON: "
      "docs/dent.md");
  cli::Chosen chosen;
  cli::add_run(app, chosen);
  cli::add_single_gates(app, chosen);
  cli::add_optimize(app, chosen);
  cli::add_cost(app, chosen);
  cli::add_log(app, chosen);
  cli::add_show(app, chosen);
  cli::add_compare(app, chosen);
  cli::add_report(app, chosen);
  cli::add_init(app, chosen);
  cli::add_devices(app, chosen);
  cli::add_patterns(app, chosen);
  cli::add_predict(app, chosen);
  cli::add_completion(app, chosen);
  cli::add_evaluate(app, chosen);
  cli::add_mcp(app, chosen);
  bool json = false;
  for (int i = 1; i < argc; ++i) json = json || std::string(argv[i]) == "--json";
  const std::string command = argc > 1 ? argv[1] : "dent";
  try {
    app.parse(argc, argv);
    return static_cast<int>(chosen.action());
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);  // help, version
    if (argc == 1) return std::fputs(app.help().c_str(), stderr), static_cast<int>(ExitCode::usage);
    return fail(in_words(app, problem, command), ExitCode::usage, json, command);
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
