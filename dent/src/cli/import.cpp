// SPDX-License-Identifier: MIT
// dent import: tasks that others have published, as projects.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "executors/shell_words.h"
#include "suites/flashinfer.h"
#include "suites/imported.h"
#include "suites/kernelbench.h"
#include "suites/reader.h"
#include "system/durable_file.h"
#include "workers/resources.h"

namespace dent::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kCpuGib = 2;  // more makes one call take seconds

struct ImportArguments {
  std::string suite, path;
  std::string folder = ".";
  std::string device = "cpu";
  std::optional<double> memory_gib;
  bool json = false;
};

// Of this machine: inputs and expected outputs lie there, whatever the kernel runs on.
double memory_here_gib() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) /
         static_cast<double>(1LL << 30);
}

// `earlier`: that this command has imported.
void write_project(ImportedTask& task, const fs::path& into, const std::vector<fs::path>& named,
                   const std::vector<ImportedTask>& earlier) {
  const fs::path folder = into / task.name;
  task.refused = fault_of(task, folder, named);
  if (!task.refused.empty()) return;
  for (const ImportedTask& other : earlier) {
    if (other.folder != folder.string()) continue;
    task.refused = fmt::format("{} has the same name, {}: import this one alone, with another --into",
                               other.task, task.name);
    return;
  }
  for (const auto& [name, content] : task.files) {
    if (fs::exists(folder / name)) {
      task.refused = (folder / name).string() + " is there already: choose another folder with --into";
      return;
    }
  }
  for (const auto& [name, content] : task.files) {
    fs::create_directories((folder / name).parent_path());
    write_durably(folder / name, content);
  }
  task.folder = folder.string();
}

// Every task of one suite has the same file name in a folder of its own.
std::string name_of(const ImportedTask& task) {
  const fs::path file(task.task);
  return file.filename() == "definition.json" ? file.parent_path().filename().string() : file.stem().string();
}

std::string row_of(const ImportedTask& task) {
  const std::string name = printable(name_of(task));
  if (!task.refused.empty()) return fmt::format("- {:<44} refused: {}\n", name, printable(task.refused));
  std::string shapes;
  for (const ImportedShape& shape : task.shapes)
    shapes +=
        fmt::format("{}{} {:.1f} GiB", shapes.empty() ? "" : ", ", printable(shape.name), shape.needed_gib);
  std::string text = fmt::format("+ {:<44} {}\n", name, shapes);
  for (const std::string& note : task.notes) text += fmt::format("  {:<44} {}\n", "", printable(note));
  return text;
}

ExitCode import_tasks(const ImportArguments& arguments) {
  if (!fs::exists(arguments.path))
    throw Error(ErrorCode::invalid, "there is no " + arguments.path,
                "name a task, or a folder of them, in a checkout of yours");
  const fs::path into = fs::absolute(arguments.folder).lexically_normal();
  const bool flashinfer = arguments.suite == "flashinfer";
  ImportRequest request{
      .tasks = flashinfer ? flashinfer_tasks(arguments.path) : kernelbench_tasks(arguments.path),
      .device = arguments.device == "cuda" ? DeviceKind::cuda : DeviceKind::cpu,
      .python = find_python(into, ""),
      .reader = find_resources().python_worker.parent_path() / ("dent_" + arguments.suite + ".py")};
  if (flashinfer) {
    for (const fs::path& task : request.tasks) {
      const fs::path set = trace_set_of(task);
      if (request.visible.empty() || request.visible.back() != set) request.visible.push_back(set);
    }
  }
  request.memory_gib =
      arguments.memory_gib.value_or(arguments.device == "cuda" ? memory_here_gib() : kCpuGib);
  std::vector<ImportedTask> tasks;
  read_tasks(request, [&](ImportedTask task) {
    if (task.refused.empty()) write_project(task, into, request.visible, tasks);
    task.files.clear();
    std::FILE* rows = arguments.json ? stderr : stdout;  // a level takes minutes, and its document comes last
    std::fputs(row_of(task).c_str(), rows);
    std::fflush(rows);
    tasks.push_back(std::move(task));
  });
  std::size_t imported = 0;
  const ImportedTask* first = nullptr;
  for (const ImportedTask& task : tasks) {
    if (!task.refused.empty()) continue;
    ++imported;
    if (first == nullptr) first = &task;
  }
  if (arguments.json) {
    print_json("import", {{"suite", arguments.suite}, {"imported", imported}, {"tasks", tasks}});
  } else {
    std::fputs(
        fmt::format("\n{} of {} imported; GiB: memory that measuring a shape takes\n", imported, tasks.size())
            .c_str(),
        stdout);
    if (imported == 1)
      std::fputs(fmt::format("next: dent run -p {}\n", quoted_if_needed(first->folder)).c_str(), stdout);
    if (imported > 1) {
      std::string visible;
      for (const fs::path& set : request.visible) visible += " --visible " + quoted_if_needed(set.string());
      std::fputs(fmt::format("next: dent suite run {}{}\n", quoted_if_needed(into.string()), visible).c_str(),
                 stdout);
    }
  }
  return imported > 0 ? ExitCode::ok : ExitCode::usage;
}

}  // namespace

void add_import(Command& dent) {
  auto arguments = std::make_shared<ImportArguments>();
  Command& command = dent.command("import", "Make projects of tasks that others have published");
  command
      .option("suite", arguments->suite,
              "Whose they are; flashinfer: also of SOL-ExecBench, which has the same format")
      .one_of({"kernelbench", "flashinfer"})
      .required();
  command.option("path", arguments->path, "A task, or a folder of them, in a checkout of yours").required();
  command.option("-o,--into", arguments->folder, "Folder for the projects, one folder each").show_default();
  command.option("-d,--device", arguments->device, "Where candidate and baseline run")
      .one_of({"cpu", "cuda"})
      .show_default();
  command.option("--memory-gib", arguments->memory_gib,
                 "What the largest shape may need; 2 for the CPU, else what this machine has");
  command.flag("--json", arguments->json, "One JSON document on stdout instead of text");
  command.examples(
      "  dent import kernelbench KernelBench/level1/19_ReLU.py && dent run -p 19_ReLU\n"
      "  dent import kernelbench KernelBench/level1 --into level1 --device cuda\n"
      "  dent import flashinfer flashinfer-trace --into flashinfer --device cuda");
  command.run([arguments] { return import_tasks(*arguments); });
}

}  // namespace dent::cli
