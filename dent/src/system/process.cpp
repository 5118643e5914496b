// SPDX-License-Identifier: MIT
#include "system/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "system/exit_watch.h"
#include "system/keeper.h"
#include "system/process_table.h"
#include "system/spawn.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kMostLogBytes = std::int64_t{16} << 20, kKeptLogBytes = std::int64_t{1} << 20;
constexpr std::int64_t kLookAroundEveryNs = 200'000'000;
constexpr auto kStopWithin = std::chrono::seconds(1);
constexpr int kOftenAwake = 3;
constexpr auto kStopAgainAfter = std::chrono::milliseconds(20);
constexpr std::int64_t kNoRestNs = 50'000;  // more than the kernel charges a thread while it stops
constexpr int kSignals = 64;

std::mutex groups_mutex;
// Groups of live Processes. A program in a sandbox is not our child, so its end is watched separately.
std::map<pid_t, ExitWatch> groups;

std::string signal_name(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV (a wild address)";
    case SIGBUS:
      return "SIGBUS (a wild address)";
    case SIGABRT:
      return "SIGABRT (abort or a failed assertion)";
    case SIGFPE:
      return "SIGFPE (an arithmetic error, such as division by zero)";
    case SIGILL:
      return "SIGILL (an instruction that this machine does not have)";
    case SIGXFSZ:
      return "SIGXFSZ (wrote more than 4 GiB into a file)";
    default:
      return "signal " + std::to_string(number);
  }
}

std::string why_killed(const Ending& ending) {
  if (!ending.system_out_of_memory) return " (killed from outside; the system may have run out of memory)";
  return *ending.system_out_of_memory ? " (the system ran out of memory)" : " (another process killed it)";
}

// Number of processes that the system has killed for lack of memory since boot; -1 if it does not tell.
std::int64_t oom_kills() {
  std::ifstream file("/proc/vmstat");
  std::int64_t value = 0;
  for (std::string key; file >> key >> value;) {
    if (key == "oom_kill") return value;
  }
  return -1;
}

// Memory of a process that no file backs; zero if the process no longer exists.
struct Held {
  std::int64_t anonymous = 0, shared = 0;  // bytes
};
Held held_by(pid_t process) {
  Held held;
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string key; status >> key;) {
    std::int64_t kilobytes = 0;
    if (key == "RssAnon:" && status >> kilobytes) held.anonymous = kilobytes * 1024;
    if (key == "RssShmem:" && status >> kilobytes) {
      held.shared = kilobytes * 1024;
      break;
    }
    status.ignore(1 << 12, '\n');
  }
  return held;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// Removes the beginning of a file that other processes append to. If the file system can punch holes, nothing
// written meanwhile is lost.
void drop_beginning(int file, std::int64_t bytes) {
  struct stat about {};
  if (fstat(file, &about) != 0) return;
  const std::int64_t blocks = bytes / about.st_blksize * about.st_blksize;
  if (fallocate(file, FALLOC_FL_COLLAPSE_RANGE, 0, blocks) == 0) return;
  std::string end;
  char piece[1 << 16];
  for (ssize_t n = 0; (n = pread(file, piece, sizeof piece, bytes + static_cast<off_t>(end.size()))) > 0;)
    end.append(piece, static_cast<std::size_t>(n));
  if (ftruncate(file, 0) != 0) return;
  const FileDescriptor appended(open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_WRONLY | O_APPEND));
  [[maybe_unused]] const ssize_t written = write(appended.get(), end.data(), end.size());
}

}  // namespace

std::string describe(const Ending& ending) {
  switch (ending.kind) {
    case Ending::Kind::exited:
      return "exited with status " + std::to_string(ending.code);
    case Ending::Kind::signalled:
      if (ending.code == SIGKILL) return "died of SIGKILL" + why_killed(ending);
      return "died of " + signal_name(ending.code);
    case Ending::Kind::timed_out:
      return "was stopped at its time limit";
    case Ending::Kind::out_of_memory:
      return "was stopped at its memory limit";
  }
  return {};
}

Process::Process(const Command& command) : command_(command), oom_kills_(oom_kills()) {
  Spawned spawned = spawn(command);
  pid_ = spawned.process;
  if (spawned.listener) supervisor_.emplace(std::move(spawned.listener), pid_);
  const std::lock_guard lock(groups_mutex);
  groups.emplace(pid_, ExitWatch());
}

Process::~Process() {
  if (pid_ > 0 && !ending_) kill(Ending::Kind::signalled);
  const std::lock_guard lock(groups_mutex);
  groups.erase(pid_);
}

bool Process::is_group(pid_t group) {
  const std::lock_guard lock(groups_mutex);
  return groups.contains(group);
}

std::vector<pid_t> Process::members(pid_t group) {
  std::vector<pid_t> members;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process > 0 && getpgid(process) == group) members.push_back(process);
  }
  return members;
}

// Bubblewrap starts an init process for the sandbox, which starts the program. The program is recognised by
// its process id inside the sandbox, since processes that it orphans get the same parent.
pid_t Process::program() {
  if (!in_cell()) return pid_;
  if (program_ > 0) return program_;
  for (const pid_t first : children_of(pid_)) {
    for (const pid_t child : children_of(first)) {
      if (number_in_cell(child) == kProgramInCell) program_ = child;
    }
  }
  if (program_ > 0) {
    const std::lock_guard lock(groups_mutex);
    groups[pid_] = ExitWatch(program_);
  }
  return program_ > 0 ? program_ : pid_;  // bubblewrap has not started it yet
}

std::optional<Ending> Process::poll() {
  if (ending_) return ending_;
  program();  // finds the program, so that its end is watched
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) take(status);
  return ending_;
}

// Drops the group from the keeper: the process id may be reused from now on.
void Process::let_go() const {
  if (in_cell()) drop_group(keeper(), pid_);
}

void Process::take(int status) {
  if (!WIFSIGNALED(status) && !WIFEXITED(status)) return;
  ::kill(-pid_, SIGKILL);  // processes that it left in its group
  let_go();
  shorten_log();
  ending_ = WIFSIGNALED(status) ? Ending{Ending::Kind::signalled, WTERMSIG(status), {}}
                                : Ending{Ending::Kind::exited, WEXITSTATUS(status), {}};
  // Bubblewrap reports a signal as shells do: as exit status 128 + signal. ExitWatch distinguishes a program
  // that exited with such a status from one that was killed, on systems that support it.
  const int signal = ending_->code - 128;
  const auto its_own = [&] {
    const std::lock_guard lock(groups_mutex);
    return groups[pid_].status();
  };
  if (in_cell() && WIFEXITED(status) && signal > 0 && signal <= kSignals &&
      !WIFEXITED(its_own().value_or(signal))) {
    ending_->kind = Ending::Kind::signalled;
    ending_->code = signal;
  }
  if (command_.limits && ending_->code == SIGKILL && command_.limits->ran_out_of_memory())
    ending_->kind = Ending::Kind::out_of_memory;
  const std::int64_t kills = oom_kills();
  if (kills >= 0 && oom_kills_ >= 0) ending_->system_out_of_memory = kills > oom_kills_;
}

Ending Process::wait(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (std::chrono::microseconds nap{200};; nap = std::min(nap * 2, std::chrono::microseconds{20000})) {
    if (const auto ending = poll()) return *ending;
    if (Clock::now() >= end) return kill(Ending::Kind::timed_out);
    if (over_memory()) return kill(Ending::Kind::out_of_memory);
    trespass();
    shorten_log();
    std::this_thread::sleep_for(nap);
  }
}

Ending Process::kill(Ending::Kind why) {
  if (ending_) return *ending_;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // setpgid may not have run yet
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ending_ = Ending{why, SIGKILL, {}};
  let_go();
  shorten_log();
  return *ending_;
}

// The limit counts all processes together: with a limit for the leader only, its children could hold the
// memory, in groups of their own or as orphans. Those are searched for less often, since the search takes
// long.
bool Process::over_memory() {
  if (command_.memory_bytes <= 0 || ending_) return false;
  const pid_t program = this->program();
  Held all = held_by(program);
  const auto over = [&] {
    return all.anonymous + std::max<std::int64_t>(0, all.shared - command_.shared_bytes) >
           command_.memory_bytes;
  };
  if (over() || now_ns() - looked_at_ns_ < kLookAroundEveryNs) return over();
  looked_at_ns_ = now_ns();
  const auto processes = all_processes();
  for (const auto& [id, entry] : processes) {
    if (id == program || id == getpid()) continue;
    const bool orphan =
        entry.parent == getpid() && entry.group != getpgrp() && !is_group(entry.group) && entry.state != 'Z';
    if (entry.group != pid_ && !orphan && !is_below(processes, id, pid_)) continue;
    const Held held = held_by(id);
    all.anonymous += held.anonymous;
    all.shared = std::max(all.shared, held.shared);  // usually the same shared memory in every process
  }
  return over();
}

void Process::shorten_log() const {
  std::error_code none;
  if (command_.log.empty()) return;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(command_.log, none));
  if (none || bytes <= kMostLogBytes) return;
  const FileDescriptor log(open(command_.log.c_str(), O_RDWR | O_CLOEXEC));
  if (!log) return;
  const std::string note = "[dent: it printed more than " + std::to_string(kMostLogBytes >> 20) +
                           " MiB; about " + std::to_string((bytes - kKeptLogBytes) >> 20) +
                           " MiB before this line were dropped]\n";
  drop_beginning(log.get(), bytes - kKeptLogBytes);
  [[maybe_unused]] const ssize_t written = pwrite(log.get(), note.data(), note.size(), 0);
}

void Process::pause() {
  if (!paused_ && !poll()) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG | WCONTINUED) == pid_) take(status);  // reports of our own resume()
    ::kill(-pid_, SIGSTOP);
    wait_until_stopped();
  }
  paused_ = true;
}

// On a busy machine each thread stops only when it gets a processor; until all have, conditions must not be
// compared. A process in a sandbox is not our child, so waitpid() does not report it: the leader's state is
// read from waitpid(), and all threads are checked in /proc.
void Process::wait_until_stopped() {
  when_paused_ = {};
  bool leader = false;
  std::chrono::microseconds nap{10};
  const auto start = Clock::now();
  for (auto again = start + kStopAgainAfter;
       Clock::now() < start + kStopWithin && !ending_ && awake_ < kOftenAwake;) {
    int status = 0;
    const bool event = waitpid(pid_, &status, WNOHANG | WUNTRACED | WCONTINUED) == pid_;
    if (event) {
      take(status);
      leader = WIFSTOPPED(status);
      if (WIFCONTINUED(status)) {  // continued by another process: stop it again
        ++awake_;
        ::kill(-pid_, SIGSTOP);
      }
    }
    if (leader && (!in_cell() || all_threads_stopped(program()))) {
      when_paused_ = conditions_of(program());
      return;
    }
    if (event) continue;
    if (leader && Clock::now() > again) {
      ::kill(-pid_, SIGSTOP);
      again = Clock::now() + kStopAgainAfter;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, std::chrono::microseconds{1000});
  }
}

// The continuing signal proves that it ran; its processor time does not, since a thread that stops may be
// charged for whatever delays it. A process in a sandbox is not our child and its signals are not reported to
// us; there a thread that is no longer stopped, or that used a processor again, is the proof.
std::optional<Process::Disturbance> Process::resume() {
  std::optional<Disturbance> found;
  if (paused_ && !poll()) {
    int status = 0;
    bool awake = waitpid(pid_, &status, WNOHANG | WUNTRACED | WCONTINUED) == pid_;
    if (awake) take(status);
    const Conditions now = conditions_of(program());
    const bool compared = !when_paused_.threads.empty() && !now.threads.empty() && !ending_;
    if (in_cell() && compared) {
      awake = awake || !all_threads_stopped(program()) ||
              (now.runs > when_paused_.runs && now.cpu_ns - when_paused_.cpu_ns > kNoRestNs);
    }
    if ((awake && compared) || awake_ >= kOftenAwake) {
      found = {
          true,
          "a signal continued it while it was paused so that the other kernel could be timed, and it used " +
              std::to_string((now.cpu_ns - when_paused_.cpu_ns) / 1000) + " us of processor time"};
    } else if (const auto changed = difference(when_paused_, now); compared && changed) {
      found = {false, *changed};
    }
  }
  if (paused_ && !poll()) ::kill(-pid_, SIGCONT);
  paused_ = false;
  return found;
}

bool Process::stopped() {
  if (paused_ || ending_) return false;
  const char state = process_entry(program()).state;
  return state == 'T' || state == 't';
}

std::optional<ConfinementSupervisor::Refused> Process::trespass() {
  return supervisor_ ? supervisor_->attend() : std::nullopt;
}

std::string Process::last_words(std::size_t most) const {
  std::ifstream log(command_.log, std::ios::binary | std::ios::ate);
  if (!log) return {};
  const auto size = static_cast<std::size_t>(log.tellg());
  const std::size_t from = size > most ? size - most : 0;
  log.seekg(static_cast<std::streamoff>(from));
  std::string text(size - from, '\0');
  log.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

Finished run(const Command& command, double seconds) {
  const auto start = Clock::now();
  Process process(command);
  Finished finished;
  finished.ending = process.wait(seconds);
  finished.seconds = seconds_since(start);
  finished.output = process.last_words(64 * 1024);
  return finished;
}

}  // namespace dent
