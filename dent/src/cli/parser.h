// SPDX-License-Identifier: MIT
// dent's command line: commands, their options, help and usage errors. parser.cpp alone knows the library
// that parses, whose headers take longer to compile than any command.
//
//   auto arguments = std::make_shared<LogArguments>();
//   Command& log = dent.command("log", "List the sessions of a project, newest first");
//   log.option("-n,--most", arguments->most, "How many").show_default();
//   log.examples("  dent log -n 5 --json");
//   log.run([arguments] { return list_sessions(*arguments); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "session/exit_code.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dent::cli {

using Action = std::function<ExitCode()>;

// What stands on the command line can't be right. what() is the text for people, with what to try.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option or positional of a command, to say more about it. A handle: it may be copied and kept while the
// parser lives.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option& required();
  Option& show_default();    // help shows the value that it has now
  Option& value_optional();  // --name alone is fine too, and gives ""
  Option& split_at(char delimiter);
  Option& group(const std::string& heading);  // of the help
  Option& one_of(std::initializer_list<std::string> words);
  Option& between(int low, int high);
  Option& existing_folder();

  bool given() const;  // true after parsing, when it stood on the command line

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command& command(const std::string& name, const std::string& about);  // one below this one

  // `names` is "-n,--most", or a name without dashes for a positional. `value` has the default, and outlives
  // the parser. A list takes an option that is given several times.
  Option option(const std::string& names, std::string& value, const std::string& about);
  Option option(const std::string& names, std::vector<std::string>& value, const std::string& about);
  Option option(const std::string& names, int& value, const std::string& about);
  Option option(const std::string& names, std::int64_t& value, const std::string& about);
  Option option(const std::string& names, std::size_t& value, const std::string& about);
  Option option(const std::string& names, double& value, const std::string& about);
  Option option(const std::string& names, std::optional<int>& value, const std::string& about);
  Option option(const std::string& names, std::optional<double>& value, const std::string& about);
  Option flag(const std::string& names, bool& value, const std::string& about);

  void examples(const std::string& lines);  // stand below the options in --help
  void needs_a_command();                   // one of those below it
  void run(Action action) { action_ = std::move(action); }

  // What there is, in the order in which it was added: for completion.
  const std::string& name() const;
  const std::vector<std::unique_ptr<Command>>& commands() const { return commands_; }
  std::vector<std::string> long_options() const;  // without their dashes

 private:
  friend class Parser;
  const Command& chosen() const;  // after parsing: this one, or the one below that was named

  CLI::App& app_;
  Action action_;
  std::vector<std::unique_ptr<Command>> commands_;
};

class Parser {
 public:
  // `footer` stands below the list of commands in --help; --version prints `version`.
  Parser(const std::string& name, const std::string& about, const std::string& version,
         const std::string& footer);
  ~Parser();

  Command& root() { return *root_; }

  // What the command line asks for. --help and --version are printed here and leave nothing to do. Throws
  // UsageError.
  Action parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Command> root_;
};

}  // namespace dent::cli
