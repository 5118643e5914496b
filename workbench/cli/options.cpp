// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <fmt/format.h>

#include <cstdio>

namespace dent::cli {

void add_common(Command& command, Common& common) {
  command.option("-p,--project", common.project, "Folder with a dent.toml, or the manifest itself")
      .show_default();
  command.flag("--json", common.json, "One JSON document on stdout instead of text");
  command.flag("-q,--quiet", common.quiet, "No progress on stderr");
}

void print_json(const char* command, nlohmann::json document) {
  const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  // What it is comes first: behind the document's "{\n".
  std::fputs(fmt::format("{{\n  \"schema\": 1,\n  \"command\": {},\n{}\n", nlohmann::json(command).dump(),
                         text.substr(2))
                 .c_str(),
             stdout);
}

}  // namespace dent::cli
