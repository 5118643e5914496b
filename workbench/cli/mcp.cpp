// SPDX-License-Identifier: MIT
// dent mcp: the workbench as tools for an AI agent, on stdin and stdout.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/commands.h"
#include "mcp/server.h"

namespace dent::cli {

void add_mcp(CLI::App& app, Chosen& chosen) {
  auto root = std::make_shared<std::string>(".");
  CLI::App* command =
      app.add_subcommand("mcp", "Serve the gates as tools to an AI agent (Model Context Protocol, stdio)");
  command
      ->add_option("-p,--project", *root,
                   "The folder that the agent may work in: a project, or one with projects below")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
  set_example(*command,
              "  dent mcp -p my-kernel      # as the command of an MCP server in your agent's settings");
  command->callback([root, &chosen] {
    chosen.action = [root] {
      mcp::serve(std::filesystem::read_symlink("/proc/self/exe"), std::filesystem::canonical(*root));
      return ExitCode::ok;
    };
  });
}

}  // namespace dent::cli
