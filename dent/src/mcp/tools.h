// SPDX-License-Identifier: MIT
// What an agent may ask of dent: each tool is one command of dent's own, run as a process of its own.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dent::mcp {

struct Tool {
  std::string name;
  nlohmann::json description;  // as tools/list has it: title, description, schemas, annotations
  bool measures = false;       // takes the machine for itself: one at a time
  bool has_session = false;    // leaves a session behind, whose report is the full answer

  const nlohmann::json& input() const { return description["inputSchema"]; }
};

const std::vector<Tool>& tools();
const Tool* find_tool(const std::string& name);  // null: there is none

// The arguments of dent for a call, without the project. `arguments` keep to the tool's schema. `scratch`: a
// folder for files that the command reads.
std::vector<std::string> command_line(const Tool& tool, const nlohmann::json& arguments,
                                      const std::filesystem::path& scratch);

// The short answer made of the command's JSON document. `full` is where all of it is.
nlohmann::json answer(const Tool& tool, const nlohmann::json& document, const std::filesystem::path& full);

}  // namespace dent::mcp
