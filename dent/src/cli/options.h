// SPDX-License-Identifier: MIT
// What every command takes, and the one JSON document that it prints.
#pragma once

#include <string>

#include "cli/parser.h"
#include "records/json_object.h"

namespace dent::cli {

struct Common {
  std::string project = ".";  // folder or manifest
  bool json = false;
  bool quiet = false;
  int events = -1;  // descriptor for JSON lines about what happens; none
};

// Adds --project, --json and --quiet.
void add_common(Command& command, Common& common);
void add_events(Command& command, Common& common);  // --events, of commands that measure

// The one JSON document of a command, with "schema" and "command" put in front.
void print_json(const std::string& command, const JsonObject& document);

}  // namespace dent::cli
