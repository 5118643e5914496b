// SPDX-License-Identifier: MIT
// The workbench for an AI agent: a server of the Model Context Protocol on stdin and stdout.
#pragma once

#include <filesystem>

namespace dent::mcp {

// Serves until the client closes stdin; then kills what still runs. `program`: dent itself.
void serve(const std::filesystem::path& program, const std::filesystem::path& root);

}  // namespace dent::mcp
