// SPDX-License-Identifier: MIT
// dent completion SHELL: a script that completes commands, options and session ids. Made from the commands
// themselves, so it can't be out of date.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"

namespace dent::cli {
namespace {

std::string words(const Command& command) {
  std::string text;
  for (const std::string& name : command.long_options()) text += (text.empty() ? "--" : " --") + name;
  return text;
}

std::string bash(const Command& dent) {
  std::string commands;
  std::string cases;
  for (const auto& command : dent.commands()) {
    commands += (commands.empty() ? "" : " ") + command->name();
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->name(), words(*command));
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

void add_completion(Command& dent) {
  auto shell = std::make_shared<std::string>("bash");
  Command& command = dent.command("completion", "Print a script that completes dent's commands in a shell");
  command.option("shell", *shell, "bash, or zsh (through its bash emulation)")
      .one_of({"bash", "zsh"})
      .show_default();
  command.examples("  source <(dent completion bash)");
  command.run([shell, &dent] {
    const std::string start = *shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
    std::fputs((start + bash(dent)).c_str(), stdout);
    return ExitCode::ok;
  });
}

}  // namespace dent::cli
