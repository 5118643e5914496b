// SPDX-License-Identifier: MIT
// dent mcp: the workbench as tools for an AI agent, on stdin and stdout.
#include <filesystem>

#include "cli/commands.h"
#include "mcp/server.h"

namespace dent::cli {

void add_mcp(Command& dent) {
  auto root = std::make_shared<std::string>(".");
  Command& command =
      dent.command("mcp", "Serve the gates as tools to an AI agent (Model Context Protocol, stdio)");
  command
      .option("-p,--project", *root,
              "The folder that the agent may work in: a project, or one with projects below")
      .show_default()
      .existing_folder();
  command.examples("  dent mcp -p my-kernel      # as the command of an MCP server in your agent's settings");
  command.run([root] {
    mcp::serve(std::filesystem::read_symlink("/proc/self/exe"), std::filesystem::canonical(*root));
    return ExitCode::ok;
  });
}

}  // namespace dent::cli
