// SPDX-License-Identifier: MIT
#include "cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <span>

#include "base/nearest.h"

namespace dent::cli {
namespace {

// `words`: those that follow the command's own name. `full_name`: "dent suite".
std::string usage_text(const Command& command, const CLI::ParseError& problem, const std::string& full_name,
                       std::span<const char* const> words) {
  const std::string first = words.empty() ? "-" : words.front();
  if (!first.starts_with("-") && !command.commands().empty()) {
    std::vector<std::string> names;
    for (const auto& inner : command.commands()) {
      if (inner->name() == first)
        return usage_text(*inner, problem, full_name + " " + first, words.subspan(1));
      names.push_back(inner->name());
    }
    const auto near = nearest(first, names);
    return "no command is called \"" + first + "\"" + (near ? "; did you mean \"" + *near + "\"?" : "") +
           "\n  try: " + full_name + " --help";
  }
  return std::string(problem.what()) + "\n  try: " + full_name + " --help";
}

}  // namespace

Option& Option::required() { return option_->required(), *this; }
Option& Option::show_default() { return option_->capture_default_str(), *this; }
Option& Option::value_optional() { return option_->expected(0, 1), *this; }
Option& Option::split_at(char delimiter) { return option_->delimiter(delimiter), *this; }
Option& Option::group(const std::string& heading) { return option_->group(heading), *this; }
Option& Option::one_of(std::initializer_list<std::string> words) {
  return option_->check(CLI::IsMember(words)), *this;
}
Option& Option::between(int low, int high) { return option_->check(CLI::Range(low, high)), *this; }
Option& Option::existing_folder() { return option_->check(CLI::ExistingDirectory), *this; }
bool Option::given() const { return option_->count() > 0; }

Command& Command::command(const std::string& name, const std::string& about) {
  commands_.push_back(std::make_unique<Command>(*app_.add_subcommand(name, about)));
  return *commands_.back();
}

Option Command::option(const std::string& names, std::string& value, const std::string& about) {
  return Option(*app_.add_option(names, value, about));
}
Option Command::option(const std::string& names, std::vector<std::string>& value, const std::string& about) {
  CLI::Option* option = app_.add_option(names, value, about);
  if (!option->get_positional()) option->allow_extra_args(false);  // what follows its value is no second one
  return Option(*option);
}
Option Command::option(const std::string& names, int& value, const std::string& about) {
  return Option(*app_.add_option(names, value, about));
}
Option Command::option(const std::string& names, std::int64_t& value, const std::string& about) {
  return Option(*app_.add_option(names, value, about));
}
Option Command::option(const std::string& names, std::size_t& value, const std::string& about) {
  return Option(*app_.add_option(names, value, about));
}
Option Command::option(const std::string& names, double& value, const std::string& about) {
  return Option(*app_.add_option(names, value, about));
}
Option Command::option(const std::string& names, std::optional<int>& value, const std::string& about) {
  return Option(*app_.add_option(names, value, about));
}
Option Command::option(const std::string& names, std::optional<double>& value, const std::string& about) {
  return Option(*app_.add_option(names, value, about));
}
Option Command::flag(const std::string& names, bool& value, const std::string& about) {
  return Option(*app_.add_flag(names, value, about));
}

void Command::examples(const std::string& lines) { app_.footer("Examples:\n" + lines); }

void Command::needs_a_command() { app_.require_subcommand(1); }

const std::string& Command::name() const { return app_.get_name(); }

std::vector<std::string> Command::long_options() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_.get_options({})) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return names;
}

const Command& Command::chosen() const {
  for (const auto& command : commands_) {
    if (command->app_.parsed()) return command->chosen();
  }
  return *this;
}

Parser::Parser(const std::string& name, const std::string& about, const std::string& version,
               const std::string& footer)
    : app_(std::make_unique<CLI::App>(about, name)), root_(std::make_unique<Command>(*app_)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->footer(footer);
}

Parser::~Parser() = default;

Action Parser::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) {
      app_->exit(problem);  // prints what --help or --version asked for
      return [] { return ExitCode::ok; };
    }
    if (argc == 1) {
      return [help = app_->help()] { return std::fputs(help.c_str(), stderr), ExitCode::usage; };
    }
    const std::span words(argv, static_cast<std::size_t>(argc));
    throw UsageError(usage_text(*root_, problem, root_->name(), words.subspan(1)));
  }
  return root_->chosen().action_;
}

}  // namespace dent::cli
