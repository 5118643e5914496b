// SPDX-License-Identifier: MIT
// dent completion SHELL: a script that completes commands, options and session ids. Made from the commands
// themselves, so it can't be out of date.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "cli/commands.h"

namespace dent::cli {
namespace {

std::string words(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) text += (text.empty() ? "--" : " --") + name;
  }
  return text;
}

std::string bash(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), words(*command));
  }
  return fmt::format(R"~(# bash completion for dent: source <(dent completion bash)
_dent() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "${{COMP_WORDS[1]}}" in
    resume|show|report|compare)
      case "$current" in -*) ;; *) words="latest $(ls .dent/sessions 2>/dev/null)" ;; esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _dent dent
)~",
                     commands, cases);
}

}  // namespace

void add_completion(CLI::App& app, Chosen& chosen) {
  auto shell = std::make_shared<std::string>("bash");
  CLI::App* command =
      app.add_subcommand("completion", "Print a script that completes dent's commands in a shell");
  command->add_option("shell", *shell, "bash, or zsh (through its bash emulation)")
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->capture_default_str();
  set_example(*command, "  source <(dent completion bash)");
  command->callback([shell, &app, &chosen] {
    chosen.action = [shell, &app] {
      const std::string start = *shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
      std::fputs((start + bash(app)).c_str(), stdout);
      return ExitCode::ok;
    };
  });
}

}  // namespace dent::cli
