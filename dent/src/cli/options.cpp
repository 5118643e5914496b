// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <cstdio>

namespace dent::cli {

void add_common(Command& command, Common& common) {
  command.option("-p,--project", common.project, "Folder with a dent.toml, or the manifest itself")
      .show_default();
  command.flag("--json", common.json, "One JSON document on stdout instead of text");
  command.flag("-q,--quiet", common.quiet, "No progress on stderr");
}

void add_events(Command& command, Common& common) {
  command.option("--events", common.events, "Tell what happens on this file descriptor, as JSON lines");
}

void print_json(const std::string& command, const JsonObject& document) {
  JsonObject whole{{"schema", 1}, {"command", command}};
  whole.add(document);
  std::puts(indented(whole.text(), 2).c_str());
}

}  // namespace dent::cli
