// SPDX-License-Identifier: MIT
#include "executors/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "base/sha256.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "ledger/project_lock.h"
#include "ledger/session_store.h"
#include "project/manifest.h"
#include "records/line.h"
#include "report/write_reports.h"
#include "session/observer.h"
#include "system/detached.h"
#include "system/durable_file.h"
#include "system/streams.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Calendar = std::chrono::system_clock;
constexpr double kStatusSeconds = 60;
constexpr const char* kLast = "last";  // who pays: a project's folder, and in the last line a session's id

CommandAnswer shell(const std::string& command, double seconds) {
  return ask({.argv = {"/bin/sh", "-c", command}}, seconds);
}

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  return (cache != nullptr && *cache == '/' ? fs::path(cache)
                                            : fs::path(home != nullptr ? home : "/tmp") / ".cache") /
         "dent" / "machines";
}

}  // namespace

Machine::Machine(ExecutorRules rules)
    : rules_(std::move(rules)),
      folder_(cache_folder() /
              (rules_.name + "-" +
               sha256(rules_.machine.value().status + rules_.machine.value().start).substr(0, 12))),
      uptime_(folder_ / "uptime.json", rules_.name) {
  fs::create_directories(folder_ / "jobs");
}

std::string Machine::status() const {
  const CommandAnswer answer = shell(rules_.machine->status, kStatusSeconds);
  if (!answer.ending.clean()) {
    throw Error(ErrorCode::environment,
                fmt::format("machine.status of executor {} {}: {}", rules_.name, describe(answer.ending),
                            trimmed(answer.err)),
                "correct it in " + rules_.from);
  }
  return trimmed(first_line(answer.out));
}

bool Machine::bring_up(const Say& say) {
  if (is_up()) {
    was_up_ = true;
    if (uptime_.found_up(Calendar::now()))
      say(fmt::format("the machine of executor {} was found running; its time counts from now on",
                      rules_.name));
    return false;
  }
  // While we use it, it is seen to be gone soon after it is.
  uptime_.found_down(std::exchange(was_up_, false) ? std::optional(Calendar::now()) : std::nullopt);
  say(fmt::format("starting the machine of executor {}", rules_.name));
  const auto start = Clock::now();
  const auto since = Calendar::now();
  const CommandAnswer started = shell(rules_.machine->start, rules_.machine->start_seconds);
  if (!started.ending.clean()) {
    throw Error(ErrorCode::environment,
                fmt::format("machine.start of executor {} {}: {}", rules_.name, describe(started.ending),
                            trimmed(started.err.empty() ? started.out : started.err)),
                "spot machines are not always to be had: try again later, or in another zone");
  }
  while (!is_up()) {
    if (seconds_since(start) > rules_.machine->start_seconds) {
      throw Error(ErrorCode::environment,
                  fmt::format("the machine of executor {} is not up after {:.0f} s", rules_.name,
                              rules_.machine->start_seconds),
                  "look at it by hand, or raise machine.start_seconds");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  uptime_.started(since);
  was_up_ = true;
  say(fmt::format("the machine of executor {} was started in {:.0f} s", rules_.name, seconds_since(start)));
  return true;
}

void Machine::hold() {
  held_ = open_file(folder_ / "in use", O_RDWR | O_CREAT, "can't open");
  flock(held_.get(), LOCK_SH);
}

void Machine::expect(const fs::path& project, const Job& job) const {
  std::ofstream(folder_ / "jobs" / job.id) << project.string();
  write_durably(folder_ / kLast, project.string() + "\n" + job.session);
}

void Machine::book(const Project& project, Session& session) const {
  if (session.facts().empty()) return;
  uptime_.book(Calendar::now(), [&](record::Uptime uptime) {
    uptime.usd_per_hour = rules_.usd_per_hour > 0 ? rules_.usd_per_hour : project.rates.device_usd_per_hour;
    session.append(std::move(uptime));
  });
}

// A session that is at work pays when it ends; one that is gone or has no record can't.
void Machine::book_to_the_last() const {
  const std::string last = text_of(folder_ / kLast);
  const Project project = read_project(last.substr(0, last.rfind('\n')));
  SessionStore store(project.directory);
  const SessionFolder folder = store.find(last.substr(last.rfind('\n') + 1));
  const ProjectLock lock(folder.folder);
  Observer nobody;
  Session session(project, store, folder, nobody);
  book(project, session);
  write_reports(store, folder);
}

Machine::Use Machine::use() const {
  const FileDescriptor file = open_file(folder_ / "in use", O_RDWR | O_CREAT, "can't open");
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return Use::busy;
  Use use = Use::idle;
  for (const auto& entry : fs::directory_iterator(folder_ / "jobs")) {
    try {
      const Project project = read_project(text_of(entry.path()));
      SentJob sent = JobTable(project.directory / ".dent").find(entry.path().filename().string());
      if (has_ended(make_executor(rules_, project)->state(sent).state))
        fs::remove(entry.path());
      else
        use = Use::busy;
    } catch (const Unreachable&) {
      if (use == Use::idle) use = Use::out_of_reach;  // it may run there
    } catch (const Error&) {
      fs::remove(entry.path());  // its project is gone
    }
  }
  return use;
}

void Machine::watch() {
  const FileDescriptor alone = open_file(folder_ / "watcher", O_RDWR | O_CREAT, "can't open");
  if (flock(alone.get(), LOCK_EX | LOCK_NB) != 0) return;
  const double idle_s = 60 * rules_.machine->idle_minutes;
  const auto look = std::chrono::duration<double>(std::clamp(idle_s / 10, 0.1, 30.0));
  auto last_used = Clock::now();
  for (;; std::this_thread::sleep_for(look)) {
    const Use now = use();
    if (now != Use::idle) last_used = Clock::now();
    if (now != Use::out_of_reach) uptime_.in_use(Calendar::now());
    if (seconds_since(last_used) < idle_s) continue;
    const CommandAnswer stopped = shell(rules_.machine->stop, rules_.machine->start_seconds);
    std::ofstream(folder_ / "log", std::ios::app)
        << utc_now() << " stop: " << describe(stopped.ending) << " " << trimmed(stopped.err) << "\n";
    if (stopped.ending.clean()) {
      uptime_.stopped(Calendar::now());
      try {
        book_to_the_last();
      } catch (const Error& problem) {  // the next one who uses the machine pays
        std::ofstream(folder_ / "log", std::ios::app) << problem.in_one_line() << "\n";
      }
      return;
    }
    last_used = Clock::now();  // it is tried again after another idle time
  }
}

void Machine::start_watcher(const fs::path& project) const {
  if (rules_.machine->stop.empty()) return;
  const fs::path program = fs::read_symlink("/proc/self/exe");
  start_detached({program, "machine", rules_.name, "--watch", "-p", project}, folder_, folder_ / "log");
}

}  // namespace dent
