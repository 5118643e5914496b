// SPDX-License-Identifier: MIT
// dent job: does a job that another dent sent, on the machine where its folder lies. For executors, not for
// people.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "executors/job_folder.h"
#include "executors/job_runner.h"
#include "ledger/project_lock.h"
#include "records/json.h"
#include "session/supervise.h"

namespace dent::cli {
namespace {

struct JobArguments {
  std::string folder;
  bool start = false, follow = false, state = false, cancel = false, records = false;
};

void print_line(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void print_status(const JobStatus& status) { print_line(to_json_text(status)); }

// The ledger's lines on stdout while the job is done.
class RecordsOnStdout {
 public:
  explicit RecordsOnStdout(const std::filesystem::path& folder)
      : thread_([this, ledger = folder / "ledger.jsonl"] {
          follow_ledger(ledger, print_line, [this] { return over_.load(); });
        }) {}
  ~RecordsOnStdout() {
    over_ = true;
    thread_.join();
  }
  RecordsOnStdout(const RecordsOnStdout&) = delete;
  RecordsOnStdout& operator=(const RecordsOnStdout&) = delete;

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

ExitCode do_it(const std::filesystem::path& folder, bool records) {
  const ProjectLock lock(folder);
  const auto cancelled = [&] { return std::filesystem::exists(folder / "cancelled"); };
  if (const auto code = noted_exit(folder); code && *code != static_cast<int>(ExitCode::interrupted)) {
    if (records) {
      follow_ledger(folder / "ledger.jsonl", print_line, [] { return true; });
      print_status(status_of_exit(*code, cancelled()));
    }
    return static_cast<ExitCode>(*code);
  }
  take_envs(folder);
  note_process(folder);
  run_supervised("dent job " + folder.string(), {}, [&](int code) {
    note_exit(folder, code);
    if (records) print_status(status_of_exit(code, cancelled()));
  });
  std::optional<RecordsOnStdout> printing;
  if (records) printing.emplace(folder);
  Terminal terminal(false);
  return do_job(folder, terminal).code;
}

ExitCode job(const JobArguments& arguments) {
  const std::filesystem::path folder = std::filesystem::absolute(arguments.folder);
  read_job(folder);  // a folder of something else is nobody's to write into
  if (arguments.start) start_in_background(folder, std::filesystem::read_symlink("/proc/self/exe"));
  if (arguments.cancel) cancel_job(folder);
  if (arguments.follow) {
    follow_ledger(folder / "ledger.jsonl", print_line,
                  [&] { return status_of(folder).state != JobState::running || std::ferror(stdout) != 0; });
  }
  if (arguments.start || arguments.cancel || arguments.follow || arguments.state) {
    print_status(status_of(folder));
    return ExitCode::ok;
  }
  return do_it(folder, arguments.records);
}

}  // namespace

void add_job(Command& dent) {
  auto arguments = std::make_shared<JobArguments>();
  Command& command =
      dent.command("job", "Do a job that another dent sent here, or go on with it (for executors)");
  command.option("folder", arguments->folder, "The job's folder, with its job.json").required();
  command.flag("--records", arguments->records, "Print its records while it is done, and its state at last");
  command.flag("--start", arguments->start, "Do it in the background");
  command.flag("--follow", arguments->follow, "Print its records until it ends, and its state at last");
  command.flag("--state", arguments->state, "Print its state");
  command.flag("--cancel", arguments->cancel, "End it");
  command.examples("  dent job ~/.cache/dent/jobs/0f8fad5b-d9cb-469f-a165-70867728950e");
  command.run([arguments] { return job(*arguments); });
}

}  // namespace dent::cli
