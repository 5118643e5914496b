// SPDX-License-Identifier: MIT
#include "executors/job_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "base/text.h"
#include "executors/doing.h"
#include "ledger/project_lock.h"
#include "records/json.h"
#include "session/exit_code.h"
#include "system/detached.h"
#include "system/durable_file.h"
#include "system/file_descriptor.h"

namespace dent {

// Who does a job. Not in the unnamed namespace: Fields looks for fields() here.
struct Doer {
  std::int64_t process = 0;
  std::string boot{};  // of the machine, that it belongs to
};
static void fields(Fields& f, Doer& doer) {
  f("process", doer.process, "its number");
  f("boot", doer.boot, "id of the machine's boot");
}

namespace {

namespace fs = std::filesystem;
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kStartWithin = std::chrono::seconds(20);
constexpr std::size_t kLastWords = 1000;

// Changes when the machine starts anew, whatever its clock says.
std::string boot_id() {
  const char* file = std::getenv("DENT_BOOT_ID_FILE");  // for tests, which can't start a machine anew
  return trimmed(text_of(file != nullptr ? file : "/proc/sys/kernel/random/boot_id"));
}

std::optional<Doer> doer_of(const fs::path& folder) {
  const auto text = read_text(folder / "process.json");
  if (!text) return std::nullopt;
  return from_json_text<Doer>(*text);
}

std::string end_of_log(const fs::path& folder) {
  const std::string log = trimmed(text_of(folder / "log"));
  return log.size() <= kLastWords ? log : "..." + log.substr(log.size() - kLastWords);
}

}  // namespace

std::optional<int> noted_exit(const fs::path& folder) {
  const auto text = read_text(folder / "exit_code");
  int code = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), code).ec != std::errc())
    return std::nullopt;
  return code;
}

JobStatus status_of(const fs::path& folder) {
  const bool cancelled = fs::exists(folder / "cancelled");
  if (is_locked(folder)) {
    JobStatus status{.state = JobState::running, .word = "at work"};
    add_doing(status, folder);
    return status;
  }
  if (const auto code = noted_exit(folder)) {
    JobStatus status = status_of_exit(*code, cancelled);
    if (status.state == JobState::failed) status.why = end_of_log(folder);
    return status;
  }
  if (const auto doer = doer_of(folder)) {
    const bool rebooted = doer->boot != boot_id();
    return {.state = cancelled  ? JobState::cancelled
                     : rebooted ? JobState::preempted
                                : JobState::failed,
            .word = "lost",
            .exit_code = static_cast<int>(ExitCode::interrupted),
            .why = rebooted ? "the machine was started anew" : "its process was killed"};
  }
  return {.state = cancelled ? JobState::cancelled : JobState::pending, .word = "not started"};
}

void start_in_background(const fs::path& folder, const fs::path& program) {
  const JobStatus before = status_of(folder);
  const bool goes_on = before.exit_code == static_cast<int>(ExitCode::interrupted);
  if (before.state == JobState::running || (has_ended(before.state) && !goes_on)) return;
  std::error_code ignored;
  fs::remove(folder / "cancelled", ignored);
  fs::remove(folder / "exit_code", ignored);
  fs::remove(folder / "process.json", ignored);
  start_detached({program, "job", folder}, folder, folder / "log");
  // So that who asks for its state next does not find it not started.
  const auto end = std::chrono::steady_clock::now() + kStartWithin;
  while (!fs::exists(folder / "process.json") && !fs::exists(folder / "exit_code")) {
    if (std::chrono::steady_clock::now() > end) {
      throw Error(ErrorCode::environment, fmt::format("{} did not start", program.string()),
                  end_of_log(folder));
    }
    std::this_thread::sleep_for(kLook);
  }
}

void cancel_job(const fs::path& folder) {
  write_durably(folder / "cancelled", "");
  const auto doer = doer_of(folder);
  // Its lock is held, so the number is still its own.
  if (doer && doer->boot == boot_id() && is_locked(folder))
    ::kill(static_cast<pid_t>(doer->process), SIGTERM);
}

void follow_ledger(const fs::path& ledger, const TakeLine& take, const std::function<bool()>& over) {
  FileDescriptor file;
  std::string rest;
  std::string buffer(std::size_t{1} << 16, '\0');
  for (bool last = false;;) {
    if (!file) file = FileDescriptor(open(ledger.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t n = file ? read(file.get(), buffer.data(), buffer.size()) : 0;
    if (n > 0) {
      rest.append(buffer.data(), static_cast<std::size_t>(n));
      std::size_t begin = 0;
      for (std::size_t end = 0; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
        take(std::string_view(rest).substr(begin, end - begin));
      rest.erase(0, begin);
      continue;
    }
    struct stat now {};
    if (file && fstat(file.get(), &now) == 0 && now.st_size < lseek(file.get(), 0, SEEK_CUR)) {
      // Who went on with the job has cut a torn line off. From the first line again: they have numbers.
      file = {};
      rest.clear();
      continue;
    }
    if (last) return;
    last = over();  // what was written before it ended is read once more
    if (!last) std::this_thread::sleep_for(kLook);
  }
}

std::string envs_text(const Variables& envs) {
  std::map<std::string, std::string> all(envs.begin(), envs.end());
  return write_json([&](Fields& f) { f("envs", all, "variables"); });
}

void write_envs(const fs::path& folder, const Variables& envs) {
  const fs::path file = folder / "envs";
  std::error_code ignored;
  fs::remove(file, ignored);
  if (envs.empty()) return;
  const FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out) refuse("can't write", file, errno);
  write_all(out.get(), envs_text(envs), file);
}

void take_envs(const fs::path& folder) {
  const auto text = read_text(folder / "envs");
  if (!text) return;
  std::map<std::string, std::string> all;
  read_json(*text, [&](Fields& f) { f("envs", all, "variables"); });
  for (const auto& [key, value] : all) setenv(key.c_str(), value.c_str(), 1);
  fs::remove(folder / "envs");
}

void note_process(const fs::path& folder) {
  std::error_code ignored;
  fs::remove(folder / "exit_code", ignored);
  write_durably(folder / "process.json", to_json_text(Doer{getpid(), boot_id()}) + "\n");
}

void note_exit(const fs::path& folder, int exit_code) {
  write_durably(folder / "exit_code", fmt::format("{}\n", exit_code));
}

}  // namespace dent
