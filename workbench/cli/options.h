// SPDX-License-Identifier: MIT
// What every command takes, and how each is entered into the table of commands.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "session/exit_code.h"

namespace dent::cli {

struct Common {
  std::string project = ".";  // folder or manifest
  bool json = false;
  bool quiet = false;
};

// Adds --project, --json and --quiet.
void add_common(CLI::App& command, Common& common);

// A command registers itself in the app and stores what to run when it was chosen.
using Action = std::function<ExitCode()>;
struct Chosen {
  Action action;
};

// The one JSON document of a command, with "schema" and "command" put in front.
void print_json(const char* command, nlohmann::json document);

// Text that follows --help: an example or two.
void set_example(CLI::App& command, const std::string& text);

}  // namespace dent::cli
