// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace dent::cli {

void add_common(CLI::App& command, Common& common) {
  command.add_option("-p,--project", common.project, "Folder with a dent.toml, or the manifest itself")
      ->capture_default_str();
  command.add_flag("--json", common.json, "One JSON document on stdout instead of text");
  command.add_flag("-q,--quiet", common.quiet, "No progress on stderr");
}

void print_json(const char* command, nlohmann::json document) {
  nlohmann::ordered_json out{{"schema", 1}, {"command", command}};
  for (const auto& [key, value] : document.items()) out[key] = value;
  std::fputs((out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n").c_str(),
             stdout);
}

void set_example(CLI::App& command, const std::string& text) { command.footer("Examples:\n" + text); }

}  // namespace dent::cli
