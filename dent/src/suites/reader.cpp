// SPDX-License-Identifier: MIT
#include "suites/reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "cell/cell.h"
#include "records/json.h"
#include "system/capture.h"
#include "system/line_file.h"
#include "system/process.h"
#include "workers/interpreter.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr double kSecondsPerTask = 110;  // beyond the limit that the reader itself has
constexpr auto kReadEvery = std::chrono::milliseconds(20);

// What the reader and the tasks print, for as long as it may be asked for.
struct Log {
  const fs::path path = fs::temp_directory_path() / fmt::format("dent-import-{}.log", getpid());
  ~Log() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const std::size_t before = text.rfind('\n', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end + 1 - begin);
}

Command command_for(const ImportRequest& request, const Interpreter& python, const LineFile& answers,
                    const Log& log) {
  Command command;
  command.log = log.path;
  command.argv = {python.program,
                  "-B",
                  "-u",
                  request.reader.string(),
                  std::string(name(request.device)),
                  fmt::format("{:.0f}", request.memory_gib * static_cast<double>(1LL << 30))};
  CellView view;
  view.visible = python.needs;
  view.visible.push_back(request.reader.parent_path());
  for (const fs::path& task : request.tasks) {
    command.argv.push_back(task.string());
    view.visible.push_back(task);
  }
  view.visible.insert(view.visible.end(), request.visible.begin(), request.visible.end());
  command.directory = request.reader.parent_path();
  command.pass = {answers.descriptor()};
  Cell(Sandbox::automatic).enclose(command, view);
  return command;
}

}  // namespace

void fields(Fields& f, ImportedShape& shape) {
  f("name", shape.name, "its name");
  f("bytes", shape.bytes, "of inputs, weights and outputs together");
  f("needed_gib", shape.needed_gib, "of memory, to measure it");
}

void fields(Fields& f, ImportedTask& task) {
  f("task", task.task, "its file");
  f.may("refused", task.refused, "why there is no project");
  f.may("name", task.name, "of the project");
  f.may("folder", task.folder, "of the project");
  f.may("shapes", task.shapes, "smallest first");
  f.may("notes", task.notes, "what differs from the task");
  f.may("files", task.files, "of the project, by name");
}

void read_tasks(const ImportRequest& request, const std::function<void(ImportedTask)>& each) {
  if (!capture({request.python, "-c", "import torch"}, 60)) {
    throw Error(ErrorCode::environment,
                request.python + " can't import torch, which the tasks are written in",
                "install PyTorch there, or name another Python: DENT_PYTHON=/path/to/python");
  }
  const Interpreter python = ask_interpreter(request.python);
  LineFile answers;
  const Log log;
  Process process(command_for(request, python, answers, log));
  std::size_t read = 0;
  const auto take = [&] {
    for (const std::string& line : answers.fresh()) {
      ImportedTask task;
      ParsedJson(line).read([&task](Fields& f) { fields(f, task); });
      each(std::move(task));
      ++read;
    }
  };
  const auto start = std::chrono::steady_clock::now();
  const auto most =
      std::chrono::duration<double>(60 + kSecondsPerTask * static_cast<double>(request.tasks.size()));
  std::optional<Ending> ending;
  while (!(ending = process.poll())) {
    take();
    if (std::chrono::steady_clock::now() - start > most) {
      ending = process.kill(Ending::Kind::timed_out);
      break;
    }
    std::this_thread::sleep_for(kReadEvery);
  }
  take();
  for (; read < request.tasks.size(); ++read)  // one after the other, in this order
    each({.task = request.tasks[read].string(),
          .refused = fmt::format("its reader {}: {}", describe(*ending), last_line(process.last_words()))});
}

}  // namespace dent
