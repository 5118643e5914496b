// SPDX-License-Identifier: MIT
// dent init: a new project that runs as it is.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "cli/commands.h"
#include "executors/shell_words.h"
#include "project/templates.h"
#include "system/durable_file.h"

namespace dent::cli {
namespace {

namespace fs = std::filesystem;

struct InitArguments {
  Common common;
  std::string kind = "attention";
  std::string folder = ".";
  std::string language;
};

ExitCode init(const InitArguments& arguments) {
  const fs::path folder = fs::absolute(arguments.folder).lexically_normal();
  const std::string name =
      folder.filename().empty() ? folder.parent_path().filename().string() : folder.filename().string();
  const auto files = project_template(arguments.kind, arguments.language, name);
  for (const TemplateFile& file : files) {
    if (fs::exists(folder / file.name)) {
      throw Error(ErrorCode::invalid, (folder / file.name).string() + " is there already",
                  "choose an empty folder: dent init " + arguments.kind + " NAME");
    }
  }
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem)
    throw Error(ErrorCode::environment,
                fmt::format("can't make the folder {}: {}", folder.string(), problem.message()));
  std::vector<std::string> names;
  for (const TemplateFile& file : files) {
    write_durably(folder / file.name, file.content);
    names.push_back((folder / file.name).string());
  }
  if (arguments.common.json)
    print_json("init", {{"files", names}});
  else
    std::fputs(
        fmt::format("{}\nnext: dent run -p {}\n", fmt::join(names, "\n"), quoted_if_needed(arguments.folder))
            .c_str(),
        stdout);
  return ExitCode::ok;
}

}  // namespace

void add_init(Command& dent) {
  auto arguments = std::make_shared<InitArguments>();
  Command& command = dent.command("init", "Write a project that runs as it is, to start from");
  command
      .option("template", arguments->kind,
              "attention, attention-backward, custom (an operator that the manifest describes), or triton")
      .show_default();
  command.option("folder", arguments->folder, "Where to write it").show_default();
  command.option("-l,--language", arguments->language, "cpp (the default) or cuda; triton has none");
  command.flag("--json", arguments->common.json, "One JSON document on stdout instead of text");
  command.examples(
      "  dent init attention my-kernel\n  dent init custom my-softmax --language cuda\n  dent init triton "
      "my-kernel");
  command.run([arguments] { return init(*arguments); });
}

}  // namespace dent::cli
